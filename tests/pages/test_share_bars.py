"""Share bars: each interval and reference is drawn where it can be compared with its share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askew.pages import figures, share_bars, words
from askew.pages.blocks import Bar, Page, Section, ShareBars, ShareSegment
from askew.stats.intervals import ends
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

SMALLEST_DIFFERENCE = 1e-4
"""Smallest difference of positions that the rounding of a drawing keeps."""

GONE = Missing("no_person", "no person in the image")


@dataclass(frozen=True)
class Drawn:
    """Positions of the marks of a drawing in percent."""

    description: str
    references: list[float]
    edges: list[tuple[float, float]]


def _drawn(description: str, marks: str) -> Drawn:
    return Drawn(
        description=description,
        references=[x for x, _ in _lines("reference", marks)],
        edges=_lines("edge", marks),
    )


def _lines(kind: str, marks: str) -> list[tuple[float, float]]:
    lines = re.findall(rf'<line class="{kind}" x1="([-\d.]+)%" x2="([-\d.]+)%"', marks)
    return [(float(first), float(second)) for first, second in lines]


def value_drawings(row: Bar) -> list[Drawn]:
    page = share_bars.value_bars(row)
    return [
        _drawn(description, marks)
        for description, marks in re.findall(r"<desc>(.*?)</desc>(.*?)</svg>", page)
    ]


def bar(counts: Sequence[int], references: Sequence[float]) -> Bar:
    total = sum(counts)
    parts = [
        ShareSegment(f"value {place}", share, count, reference)
        for place, (share, count, reference) in enumerate(
            zip(share_intervals(counts), counts, references, strict=True)
        )
    ]
    return Bar("Axis", tuple(parts), total)


@st.composite
def bars(draw: st.DrawFn, smallest: int = 3, largest: int = 7) -> Bar:
    number = draw(st.integers(smallest, largest))
    counts = draw(st.lists(st.integers(0, 60), min_size=number, max_size=number))
    weights = draw(st.lists(st.integers(1, 20), min_size=number, max_size=number))
    assume(sum(counts) > 0)
    return bar(counts, [weight / sum(weights) for weight in weights])


@given(row=bars())
def test_every_value_has_its_own_interval_and_reference(row: Bar) -> None:
    drawings = value_drawings(row)
    assert len(drawings) == len(row.parts)
    for drawing, part in zip(drawings, row.parts, strict=True):
        assert isinstance(part.share, Estimate)
        assert part.share.low is not None
        assert part.share.high is not None
        assert part.reference is not None
        assert drawing.references == [pytest.approx(100 * part.reference, abs=0.01)]
        whole = drawing.edges[0]
        assert whole == pytest.approx((100 * part.share.low, 100 * part.share.high), abs=0.01)


@given(row=st.one_of(bars(), bars(2, 2)))
def test_no_mark_leaves_the_plot(row: Bar) -> None:
    page = share_bars.shares(ShareBars("c", (row,)), {})
    positions = [float(x) for x in re.findall(r'(?:x|x1|x2|width)="([-\d.]+)%"', page)]
    assert positions
    assert min(positions) >= 0
    assert max(positions) <= 100


@given(row=bars())
def test_the_interval_of_a_value_covers_its_reference_only_if_it_contains_it(row: Bar) -> None:
    for drawing, part in zip(value_drawings(row), row.parts, strict=True):
        assert covers(drawing) == contains(part)


@given(row=bars(2, 2))
def test_the_interval_of_a_boundary_covers_the_reference_only_if_it_contains_it(row: Bar) -> None:
    marks = share_bars.stacked_marks(row)
    leading = words.leading(row)
    assert leading is not None
    assert marks.interval is not None
    assert marks.reference is not None
    low, high = marks.interval
    assert (low < marks.reference < high) == contains(leading)


def covers(drawing: Drawn) -> bool:
    low, high = drawing.edges[0]
    return low < drawing.references[0] < high


def contains(part: ShareSegment) -> bool:
    """Check whether the interval of a share contains its reference; assume a visible difference."""
    assert isinstance(part.share, Estimate)
    assert part.reference is not None
    low, high = ends(part.share)
    nearest = min(abs(low - part.reference), abs(high - part.reference))
    assume(nearest > SMALLEST_DIFFERENCE)
    return low < part.reference < high


def test_an_interval_inside_the_bar_does_not_hide_a_significant_share() -> None:
    """A stacked bar drew the interval of the last of three values over the sum of two references."""
    row = bar([20, 18, 58], [1 / 3] * 3)
    last = value_drawings(row)[-1]
    assert last.edges[0][0] > last.references[0]
    assert "; reference 33" in last.description


def test_a_large_share_after_other_values_is_not_cut_at_100_percent() -> None:
    """A stacked bar drew the interval of the middle value from the start of its part."""
    middle = value_drawings(bar([30, 60, 6], [1 / 3] * 3))[1]
    low, high = middle.edges[0]
    assert low < 62.5 < high < 100


@pytest.mark.parametrize(
    ("parts", "stacked"),
    [
        ((Estimate(0.3), Estimate(0.7)), True),
        ((Estimate(0.3), Estimate(0.6)), False),
        ((Estimate(0.3), GONE), False),
        ((GONE, GONE), True),
        ((Estimate(1.0),), False),
        ((Estimate(0.2), Estimate(0.2), Estimate(0.6)), False),
    ],
)
def test_only_two_shares_of_all_images_are_stacked(
    parts: tuple[Estimate | Missing, ...], stacked: bool
) -> None:
    segments = tuple(ShareSegment(f"value {k}", share) for k, share in enumerate(parts))
    assert share_bars.is_stacked(Bar("Axis", segments, 10)) is stacked


def test_the_interval_of_the_second_of_two_values_is_mirrored() -> None:
    parts = (
        ShareSegment("male", Estimate(0.2, 0.1, 0.35), 10, 0.4),
        ShareSegment("female", Estimate(0.8, 0.65, 0.9), 40, 0.6),
    )
    marks = share_bars.stacked_marks(Bar("Gender", parts, 50))
    assert marks.interval == pytest.approx((0.1, 0.35))
    assert marks.reference == 0.4


def test_a_value_without_a_share_has_a_row_without_a_bar() -> None:
    parts = (
        ShareSegment("young", Estimate(0.5, 0.4, 0.6), 10, 1 / 3),
        ShareSegment("middle-aged", GONE, None, 1 / 3),
        ShareSegment("old", Estimate(0.5, 0.4, 0.6), 10, 1 / 3),
    )
    page = share_bars.shares(ShareBars("c", (Bar("Age", parts, 20),)), {})
    assert "middle-aged" in page
    assert len(re.findall('<line class="reference"', page)) == 3


def test_the_legend_names_the_marks_that_appear() -> None:
    without = Bar("Age", tuple(ShareSegment(name, Estimate(1 / 3)) for name in "abc"), 9)
    assert 'class="legend"' not in share_bars.shares(ShareBars("c", (without,)), {})
    page = share_bars.shares(ShareBars("c", (bar([3, 3, 3], [1 / 3] * 3),)), {})
    assert "confidence interval</span>" in page
    assert "two values" not in page
    page = share_bars.shares(ShareBars("c", (bar([3, 3], [0.5, 0.5]),)), {})
    assert "in a bar of two values, of the value named on the right" in page


def test_a_figure_has_a_row_for_each_value() -> None:
    pytest.importorskip("matplotlib")
    chart = ShareBars("c", (bar([30, 60, 6], [1 / 3] * 3), bar([10, 20], [0.5, 0.5])))
    page = Page("k", "t", "The answer.", (), (Section("Only", (chart,)),))
    panel = figures.figure(page).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == ["Axis: value 0", "Axis: value 1", "Axis: value 2", "Axis"]
    starts = [patch.get_x() for patch in panel.patches[:3]]  # type: ignore[attr-defined]
    assert starts == [0, 0, 0]
