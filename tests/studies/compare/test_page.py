"""The page of comparisons, from findings that were made up: runs beside each other, the largest
difference first.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import html5lib
import pytest
from PIL import Image
from rich.cells import cell_len
from rich.console import Console

from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.pages import html, terminal
from askew.pages.blocks import Block, Details, IntervalChart, PictureGrid, Section, ShareBars
from askew.pages.words import measured
from askew.studies.compare.comparison import Comparison
from askew.studies.compare.findings import ComparisonFindings, ScoreDifference, changes
from askew.studies.compare.page import ComparisonView, change_sentence, page, pair_sentence
from askew.types import Estimate, Missing
from methods.audit.invented_findings import CASES, HOSTILE, audit_findings, draw
from pages import test_browser as browser

Named = Callable[[str], Comparison]


class Run(AuditResult):
    """A run whose pictures were never made."""

    def picture(self, name: str) -> Image.Image | None:
        return draw(name)


def run_of(case: str, name: str, seeds: bool) -> AuditResult:
    results = CASES[case]()
    for s in results["sets"]:
        s["seeds"] = [
            k + 1 if seeds and picture else None for k, picture in enumerate(s["pictures"])
        ]
    made = audit_findings(results)
    return Run(METHOD, made.plan, Path("runs") / name, Path("store"), made)


def own_differences(found: AuditFindings, runs: tuple[str, str]) -> Iterator[ScoreDifference]:
    """A run's own scores in the place of differences."""
    for s in found.shares:
        for value, one in {**s.shares, None: s.distance}.items():
            name = "share" if value else "distance"
            yield ScoreDifference(name, s.prompt, s.axis, s.set, value, s.instrument, runs, one)
    for entry in found.tibet:
        for axis, scores in entry.axes.items():
            for value, one in {None: scores.mad, **scores.cas}.items():
                yield ScoreDifference(
                    "cas" if value else "mad", entry.prompt, axis, None, value, "studio", runs, one
                )


def moved(entry: ScoreDifference, shift: float) -> ScoreDifference:
    if isinstance(entry.difference, Missing):
        return entry
    low = shift - 0.15
    high = shift + 0.15
    q = 0.004 if shift < -0.1 else 0.6
    return replace(
        entry,
        difference=Estimate(shift, low, high, 0.95, "test inversion", 48, max=1.0, p=0.002, q=q),
    )


def compared(case: str, runs: int = 2, seeds: bool = True) -> Comparison:
    """Runs that have the findings of one case, and differences that a generator of random numbers
    made up.
    """
    name = HOSTILE if case == "hostile" else "run"
    made = {f"{name} {k}": run_of(case, f"run {k}", seeds) for k in range(runs)}
    found = next(iter(made.values())).findings
    rng = random.Random(3)
    pairs = [(a, b) for i, a in enumerate(made) for b in list(made)[i + 1 :]]
    entries = tuple(
        moved(e, rng.uniform(-0.5, 0.3)) for pair in pairs for e in own_differences(found, pair)
    )
    return Comparison(
        Path("comparison"), made, entries, [f"unknown word {HOSTILE}"] if case == "hostile" else []
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    "comparison": lambda: compared("many prompts"),
    "comparison of six": lambda: compared("one axis", runs=6),
    "comparison of folders": lambda: compared("folder", runs=3, seeds=False),
    "comparison of nothing": lambda: compared("all missing"),
    "hostile comparison": lambda: compared("hostile"),
}


@pytest.fixture(params=COMPARISONS)
def any_comparison(request: pytest.FixtureRequest) -> Comparison:
    """Each comparison in turn."""
    return made(request.param)


@pytest.fixture
def comparison_named() -> Named:
    """A comparison by its name."""
    return made


@cache
def made(name: str) -> Comparison:
    """A comparison and its page, which no test changes."""
    return COMPARISONS[name]()


@cache
def source_of(name: str) -> str:
    """Its page as HTML."""
    return html.page(page(made(name)))


def blocks(some: tuple[Block, ...] | tuple[Section, ...]) -> Iterator[Block]:
    for one in some:
        yield one
        if isinstance(one, Section | Details):
            yield from blocks(one.blocks)


def pictures(comparison: Comparison) -> list[PictureGrid]:
    return [
        one
        for one in blocks(page(comparison).sections)
        if isinstance(one, PictureGrid) and one.rows
    ]


def printed(comparison: Comparison, color: bool = False) -> str:
    console = Console(
        file=StringIO(), width=80, force_terminal=color, color_system="standard" if color else None
    )
    console.print(terminal.screen(page(comparison)))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def first_sentence(comparison: ComparisonFindings, k: int = 0) -> str:
    view = ComparisonView(comparison)
    return pair_sentence(view.pairs[k], view.changes[view.pairs[k]], view.own)


def test_every_page_is_valid_and_fits_a_terminal(any_comparison: Comparison) -> None:
    html5lib.HTMLParser(strict=True).parse(html.page(page(any_comparison)))
    assert max(map(cell_len, printed(any_comparison).splitlines())) <= 80


def test_it_begins_with_the_answer_and_has_no_colours(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    assert " ".join(printed(comparison).split()).startswith(first_sentence(comparison))
    coloured = printed(comparison, color=True)
    assert "\x1b[1m" in coloured
    assert not any(f"\x1b[{code}" in coloured for code in range(30, 38))


def test_what_differs_beyond_chance_comes_first_then_the_largest(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    order = changes(comparison.entries, ComparisonView(comparison).pairs[0])
    keys = [(not change.differs, -change.size) for change in order]
    assert keys == sorted(keys)
    assert len(order) == 9
    assert all(change.lean.score == "mad" for change in order if change.lean)


@pytest.mark.parametrize("name", ["comparison", "comparison of folders", "comparison of six"])
def test_the_share_that_is_called_the_largest_is(comparison_named: Named, name: str) -> None:
    view = ComparisonView(comparison_named(name))
    for k, pair in enumerate(view.pairs):
        shares = [
            change.share.difference
            for change in view.changes[pair]
            if change.differs and change.share
        ]
        differing = [one for one in shares if isinstance(one, Estimate)]
        if len(differing) > 1:
            largest = max(differing, key=lambda difference: abs(difference.value))
            assert differing[0] == largest
            text = first_sentence(view.comparison, k)
            assert (
                f"{measured(largest, 'points')} points"
                in text.split("The largest of these differences")[1]
            )


def test_shares_come_with_counts_and_a_score_of_one_set_once(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    assert re.search(
        r"\(\d+ %, \d+ of \d+, against \d+ %, \d+ of \d+\)", first_sentence(comparison)
    )
    scores = [
        one
        for one in blocks(page(comparison).sections)
        if isinstance(one, IntervalChart) and one.caption.startswith("Scores of")
    ]
    assert scores
    assert all(len({row.label for row in one.rows}) == len(one.rows) for one in scores)


def test_folders_lean_by_distance(comparison_named: Named) -> None:
    view = ComparisonView(comparison_named("comparison of folders"))
    order = view.changes[view.pairs[0]]
    assert {change.lean.score for change in order if change.lean} == {"distance"}
    assert {change.set for change in order} == {"condition: baseline", "condition: controlled"}
    assert not view.paired


def test_what_was_seen_has_a_bar_a_run_in_its_colour(comparison_named: Named) -> None:
    section = page(comparison_named("comparison")).sections[0]
    assert section.title == "What was seen"
    assert isinstance(section.blocks[0], ShareBars)
    bars = section.blocks[0].bars
    assert [(bar.label, bar.series) for bar in bars[:4]] == [("A: run 0", 0), ("B: run 1", 1)] * 2
    assert bars[0].group == bars[1].group != bars[2].group


def test_pictures_of_one_seed_stand_together(comparison_named: Named) -> None:
    first = pictures(comparison_named("comparison of six"))[0]
    assert first.aligned
    assert [row.series for row in first.rows] == [0, 1, 2, 3, 4, 5]
    assert [row.shots[2].alt for row in first.rows] == [f"Image 3 of run {k}" for k in range(6)]


def test_a_missing_picture_leaves_its_place_empty(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    name, run = list(comparison.runs.items())[1]
    first, *others = run.findings.sets
    holed = replace(
        first,
        pictures=(first.pictures[0], None, *first.pictures[2:]),
        seeds=(first.seeds[0], None, *first.seeds[2:]),
    )
    found = replace(run.findings, sets=(holed, *others))
    holey = replace(comparison, runs={**comparison.runs, name: replace(run, findings=found)})
    own = next(one for one in pictures(holey) if one.rows[1].shots[1].image is None)
    assert own.aligned
    assert own.rows[0].shots[1].image is not None


def test_without_common_seeds_pictures_stand_by_run(comparison_named: Named) -> None:
    found = pictures(comparison_named("comparison of folders"))
    assert found
    assert not any(one.aligned for one in found)


def test_sections_come_in_order(any_comparison: Comparison) -> None:
    titles = [section.title for section in page(any_comparison).sections]
    assert titles == [
        "What was seen",
        "Where they differ",
        "The pictures",
        "Each prompt and axis",
        "Missing data",
        "How to read this",
        "Runs",
    ]


def test_what_was_not_measured_says_why_and_is_no_number(comparison_named: Named) -> None:
    comparison = comparison_named("comparison of nothing")
    view = ComparisonView(comparison)
    (change,) = view.changes[view.pairs[0]]
    assert "no person" in change_sentence(change, "A", "B", view.own)
    assert "could not be compared" in first_sentence(comparison)
    assert "0.00" not in printed(comparison)


def test_a_lean_is_settled_only_if_the_interval_says_so(comparison_named: Named) -> None:
    view = ComparisonView(comparison_named("comparison"))
    change = next(
        c
        for c in view.changes[view.pairs[0]]
        if c.differs
        and c.lean
        and isinstance(c.lean.difference, Estimate)
        and (c.lean.difference.q or 1) < 0.05
    )

    def said(**fields: Any) -> str:
        assert change.lean
        assert isinstance(change.lean.difference, Estimate)
        lean = replace(change.lean, difference=replace(change.lean.difference, **fields))
        return change_sentence(replace(change, lean=lean), "A", "B", view.own)

    assert "B is significantly less biased than A." in said(value=-0.2, low=-0.3, high=-0.1)
    assert "B differs significantly from A." in said(value=-0.2, low=-0.3, high=0.1)
    assert "B is significantly more biased than A." in said(value=0.2, low=0.1, high=0.3)


def test_what_is_said_not_to_differ_does_not_in_the_table(comparison_named: Named) -> None:
    """Beside the verdict of the shares, scores of other families and shares read by others may be
    beyond chance.
    """
    comparison = comparison_named("comparison")
    near = Estimate(0.3, 0.1, 0.5, 0.95, "test inversion", 48, p=0.01, q=0.018)
    entries = [
        replace(one, difference=replace(near, q=0.6) if one.score == "share" else near)
        for one in comparison.entries
    ]
    others = [
        replace(one, instrument="another", difference=near)
        for one in entries
        if one.score == "share"
    ]
    for own, by in ((entries, "shares"), ([*entries, *others], "shares labeled by studio")):
        one = replace(comparison, entries=tuple(own))
        assert first_sentence(one).endswith(
            f"do not differ significantly with this number of images (compared by {by})."
        )
        folds = [
            fold
            for fold in blocks(page(one).sections)
            if isinstance(fold, Details) and "(compared by" in fold.summary
        ]
        assert len(folds) == 9
        for fold in folds:
            said, *tables = fold.blocks
            assert fold.summary.endswith(f"no significant difference (compared by {by})")
            assert f"with this number of images (compared by {by})" in str(said)
            qs = {
                (by in table.caption or "read by studio" in table.caption, row.score.q)
                for table in tables
                if isinstance(table, IntervalChart)
                for row in table.rows
                if isinstance(row.score, Estimate)
            }
            assert qs == {(True, 0.6), (False, 0.018)}


def test_hostile_names_stay_text(comparison_named: Named) -> None:
    source = source_of("hostile comparison")
    assert "<script" not in source
    assert source.count("</style>") == 1
    assert "\x1b" not in source


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
def test_nothing_sticks_out_and_nothing_is_fetched(comparison_named: Named, tmp_path: Path) -> None:
    shown = [
        ("comparison", 390),
        ("comparison", 1200),
        ("comparison of six", 800),
        ("comparison of folders", 1920),
        ("hostile comparison", 390),
    ]
    browser.sound([(source_of(name), width) for name, width in shown], tmp_path)
