"""Matrices and images sorted by label: counts, shades, links and alternative texts."""

from __future__ import annotations

import re

import pytest

from askew.pages import html, panels
from askew.pages.blocks import (
    Details,
    FirstScreen,
    MatrixCell,
    MatrixRow,
    Page,
    Paragraph,
    ScoreMatrix,
    Section,
)
from pages.gallery import effect_matrix, prompt_matrix, sorted_pictures


def shown(*blocks: object, images: tuple[object, ...] = ()) -> str:
    first = FirstScreen(blocks, images)  # type: ignore[arg-type]
    details = Details("Gender", (Paragraph("told"),), anchor="gender")
    return html.page(Page("k", "t", "a", "m", (Section("More", (details,)),), first))


def test_groups_show_all_their_images_with_counts() -> None:
    page = shown(sorted_pictures())
    assert re.search(r"<b><bdi>female</bdi> 44</b><span> of 48; reference 24</span>", page)
    assert page.count('class="iso over"') == 1
    assert page.count('class="iso under"') == 1
    assert len(re.findall(r'<ul class="tiles">', page)) == 2


def test_two_sets_stand_side_by_side() -> None:
    page = shown(sorted_pictures(2))
    assert '<div class="pair">' in page
    assert "Column 1" in page


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (0.0, ""),
        (0.1, "over-1"),
        (0.3, "over-2"),
        (1.0, "over-4"),
        (2.0, "over-4"),
        (-0.6, "under-3"),
    ],
)
def test_shades_grow_with_the_deviation(level: float, name: str) -> None:
    assert panels.shade(level) == name


def test_cells_link_to_their_details_and_repeat_their_column_in_cards() -> None:
    page = shown(prompt_matrix())
    assert '<a href="#gender">' in page
    assert '<span class="lab" aria-hidden="true">Age</span>' in page
    assert page.count('class="ramp"') == 2


def test_effects_are_framed_where_a_direction_is_determined() -> None:
    page = shown(effect_matrix())
    assert page.count('class="framed under-4"') == 15
    assert page.count('class="self"') == 6


def test_what_was_not_measured_is_a_dash() -> None:
    rows = (MatrixRow("a", (None, MatrixCell("x"))),)
    page = shown(ScoreMatrix("c", "Prompt", ("A", "B"), rows))
    assert re.search(r"<td><span[^>]*>A</span>–</td>", page)


def test_images_beside_the_chart_follow_it() -> None:
    page = shown(prompt_matrix(), images=(sorted_pictures(),))
    assert page.index('class="chart-side"') < page.index('class="image-side"')
    assert 'class="first chart-first"' in page
    assert 'class="first"' in shown(prompt_matrix())
