"""Counts and shares of charts, which must be numbers of the same things."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from askew.pages.blocks import Block, Details, FirstScreen, Page, Section, ValueChart, ValueGroup
from askew.types import Estimate


def value_groups(page: Page) -> list[ValueGroup]:
    """Return the groups of all charts of values of a page, also of folded charts."""
    charts = [block for block in _blocks(page) if isinstance(block, ValueChart)]
    return [group for chart in charts for group in chart.groups]


def _blocks(node: Page | Block) -> Iterator[Block]:
    inner: tuple[Block | None, ...] = ()
    if isinstance(node, Page):
        inner = (node.first, *node.sections)
    elif isinstance(node, FirstScreen):
        inner = (*node.chart, *node.images)
    elif isinstance(node, Section | Details):
        inner = tuple(node.blocks)
    for block in inner:
        if block is not None:
            yield block
            yield from _blocks(block)


def check_counts(group: ValueGroup) -> None:
    """Check that each share of a group is its count divided by the number beside it."""
    counts = [value.count for value in group.values]
    assert None not in counts, f"{group.label}: a share without its count"
    assert sum(filter(None, counts)) == group.n
    for value in group.values:
        if isinstance(value.share, Estimate):
            assert value.share.n == group.n
            assert value.count == pytest.approx(value.share.value * group.n)
