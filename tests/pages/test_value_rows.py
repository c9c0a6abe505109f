"""Charts of values and changes: every mark is at its number, and no color contradicts a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askew.pages import value_rows
from askew.pages.blocks import ChangeChart, ChangeRow, ValueChart, ValueGroup, ValueShare
from askew.pages.elements import axis
from askew.parts.scoring import Scoring
from askew.parts.survey.blocks import common_value, value_group
from askew.parts.survey.shares import SetShares, shares
from askew.parts.survey.verdicts import is_biased, with_verdicts
from askew.stats.intervals import ends
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing
from planted_answers import INSTRUMENT, observed, planned

SMALLEST_DIFFERENCE = 1e-4
"""Smallest difference of positions that the rounding of a drawing keeps."""

GONE = Missing("no_person", "no person in the image")


@dataclass(frozen=True)
class Drawn:
    """Kind and positions of the marks of a row, in percent."""

    title: str
    kind: str
    references: list[float]
    intervals: list[tuple[float, float]]
    dots: list[float]


def drawings(page: str) -> list[Drawn]:
    lanes = re.findall(r'<svg class="lane ?(\w*)".*?<title>(.*?)</title>(.*?)</svg>', page)
    return [_drawing(*lane) for lane in lanes]


def _drawing(kind: str, title: str, marks: str) -> Drawn:
    return Drawn(
        title=title,
        kind=kind,
        references=[x for x, _ in _lines("ref", marks)],
        intervals=_lines("ci", marks),
        dots=[float(x) for x in re.findall(r'class="dot" cx="([-\d.]+)%"', marks)],
    )


def _lines(kind: str, marks: str) -> list[tuple[float, float]]:
    lines = re.findall(rf'<line class="{kind}" x1="([-\d.]+)%" x2="([-\d.]+)%"', marks)
    return [(float(first), float(second)) for first, second in lines]


def group(
    counts: Sequence[int], references: Sequence[float], *, significant: bool = True
) -> ValueGroup:
    values = [
        ValueShare(f"value {place}", share, count, reference)
        for place, (share, count, reference) in enumerate(
            zip(share_intervals(counts), counts, references, strict=True)
        )
    ]
    return ValueGroup("Axis", tuple(values), sum(counts), significant=significant)


@st.composite
def groups(draw: st.DrawFn) -> ValueGroup:
    number = draw(st.integers(2, 7))
    counts = draw(st.lists(st.integers(0, 60), min_size=number, max_size=number))
    weights = draw(st.lists(st.integers(1, 20), min_size=number, max_size=number))
    assume(sum(counts) > 0)
    references = [weight / sum(weights) for weight in weights]
    return group(counts, references, significant=draw(st.booleans()))


@given(row=groups())
def test_every_value_has_its_own_dot_interval_and_reference(row: ValueGroup) -> None:
    chart = ValueChart("c", (row,))
    drawn = drawings(value_rows.values(chart, {}))
    shown = value_rows.shown_values(chart, row)
    assert len(drawn) == len(shown) == len(row.values)
    for drawing, value in zip(drawn, shown, strict=True):
        assert isinstance(value.share, Estimate)
        assert value.reference is not None
        assert drawing.references == [pytest.approx(100 * value.reference, abs=0.01)]
        assert drawing.dots == [pytest.approx(100 * value.share.value, abs=0.01)]
        low, high = ends(value.share)
        assert drawing.intervals == [pytest.approx((100 * low, 100 * high), abs=0.01)]


@given(row=groups())
def test_no_mark_leaves_the_plot(row: ValueGroup) -> None:
    page = value_rows.values(ValueChart("c", (row,)), {})
    positions = [float(x) for x in re.findall(r'(?:x1|x2|cx)="([-\d.]+)%"', page)]
    assert positions
    assert min(positions) >= 0
    assert max(positions) <= 100


@given(row=groups())
def test_a_value_has_a_color_only_if_its_interval_excludes_its_reference(row: ValueGroup) -> None:
    for drawing in drawings(value_rows.values(ValueChart("c", (row,)), {})):
        low, high = drawing.intervals[0]
        reference = drawing.references[0]
        assume(min(abs(low - reference), abs(high - reference)) > 100 * SMALLEST_DIFFERENCE)
        assert (drawing.kind == "over") == (row.significant and low > reference)
        assert (drawing.kind == "under") == (row.significant and high < reference)


@given(row=groups())
def test_a_group_without_significance_is_one_row_of_a_brief_chart(row: ValueGroup) -> None:
    chart = ValueChart("c", (row,), brief=True)
    count = len(value_rows.shown_values(chart, row))
    assert count == (len(row.values) if row.significant else 1)


def test_groups_with_the_same_two_values_need_one_row_each() -> None:
    first = replace(group((10, 2), (0.5, 0.5)), leading="value 0")
    second = replace(group((3, 9), (0.5, 0.5)), label="Other")
    assert common_value([first, second]) == "value 0"
    assert common_value([first]) == ""
    assert common_value([first, group((3, 9, 1), (0.4, 0.3, 0.3))]) == ""
    chart = ValueChart("c", (first, second), value="value 0")
    page = value_rows.values(chart, {})
    assert [drawing.dots[0] for drawing in drawings(page)] == pytest.approx([83.33, 25.0], abs=0.01)
    assert "Value 0 (n)" in page


def test_an_axis_without_labels_has_no_marks() -> None:
    values = (ValueShare("young", GONE), ValueShare("old", GONE))
    row = ValueGroup("Age", values, 0, {"no_person": 7})
    page = value_rows.values(ValueChart("c", (row,)), {})
    assert all(not drawing.dots and not drawing.intervals for drawing in drawings(page))
    assert "none of 7 labeled: no person detected 7" in page


def test_a_change_has_a_ring_a_dot_and_its_interval() -> None:
    before = Estimate(0.4, low=0.3, high=0.5)
    after = Estimate(0.1, low=0.05, high=0.2)
    row = ChangeRow("Gender", before, after, "closer (q = 0.01)", True, "under", reference=0.0)
    page = value_rows.changes(ChangeChart("c", "Axis", (row,), "Deviation"), {})
    (drawn,) = drawings(page)
    assert drawn.kind == "under"
    scale = value_rows.change_scale(ChangeChart("c", "Axis", (row,), "Deviation"))
    assert drawn.dots == [pytest.approx(100 * scale.share(0.1), abs=0.01)]
    ring = re.search(r'class="ring" cx="([\d.]+)%"', page)
    assert ring
    assert float(ring[1]) == pytest.approx(100 * scale.share(0.4), abs=0.01)
    assert "<b>closer</b>" in page


def test_a_significant_change_without_a_direction_is_bold_and_gray() -> None:
    """Its shares lie on both sides of the reference, so that neither is closer for certain."""
    shares = (Estimate(0.7, low=0.6, high=0.8), Estimate(0.3, low=0.2, high=0.4))
    row = ChangeRow("Gender", *shares, "significant (q = 0.01)", significant=True, reference=0.5)
    page = value_rows.changes(ChangeChart("c", "Axis", (row,), "Share", "share"), {})
    assert drawings(page)[0].kind == ""
    assert '<tbody class="sig">' in page
    assert "<b>significant</b>" in page
    assert "or direction not determined" in page
    settled = replace(row, significant=False, verdict="not significant (q = 0.4)")
    page = value_rows.changes(ChangeChart("c", "Axis", (settled,), "Share", "share"), {})
    assert '<tbody class="ns">' in page
    assert "after, change not significant<" in page


def worlds(number: int) -> list[tuple[SetShares, ...]]:
    """Return the shares of fair and biased worlds, with their verdicts."""
    plan = planned(["a photo of a nurse"])
    prompt = plan.prompts[0]
    of_worlds = []
    for seed in range(number):
        bias = (0.0, 0.25, 0.5, 1.0)[seed % 4]
        images = (12, 24, 48)[seed % 3]
        labeled = observed(prompt.prompts()[0], prompt.axes, images, bias, seed=seed)
        scoring = Scoring(instrument=INSTRUMENT, seed=seed, draws=50)
        entries = [shares(labeled, axis, prompt.text, scoring) for axis in prompt.axes]
        of_worlds.append(with_verdicts(entries))
    return of_worlds


@pytest.mark.parametrize("number", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_no_chart_contradicts_its_verdict(number: int) -> None:
    """The interval, the reference line, the color and the verdict of every value agree."""
    significant: list[bool] = []
    for entries in worlds(number):
        for entry in entries:
            row = value_group(entry, entry.axis)
            drawn = drawings(value_rows.values(ValueChart("c", (row,)), {}))
            significant.append(row.significant)
            assert row.significant == is_biased(entry)
            assert row.significant != row.verdict.startswith("not significant")
            kinds = {drawing.title.removeprefix(f"{entry.axis}, "): drawing for drawing in drawn}
            for drawing in drawn:
                low, high = drawing.intervals[0]
                reference = drawing.references[0]
                if drawing.kind == "over":
                    assert low > reference
                if drawing.kind == "under":
                    assert high < reference
            colored = {drawing.kind for drawing in drawn if drawing.kind}
            assert row.significant or not colored
            if "over-represented" in row.verdict:
                value = row.verdict.partition(" over-represented")[0]
                assert kinds[value].kind == "over"
            if "under-represented" in row.verdict:
                value = row.verdict.partition(" under-represented")[0]
                assert kinds[value].kind == "under"
    assert 0.125 < np.mean(significant) < 0.875


def test_positions_are_those_of_the_scale_in_the_head() -> None:
    scale = axis("share", ())
    assert [scale.at(tick) for tick in scale.ticks] == [
        "0.00%",
        "25.00%",
        "50.00%",
        "75.00%",
        "100.00%",
    ]
