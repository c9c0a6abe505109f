"""The page of comparisons, from invented findings: runs side by side, largest differences first."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import combinations
from pathlib import Path
from statistics import fmean

import html5lib
import pytest
from PIL import Image
from rich.cells import cell_len
from rich.console import Console

from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.pages import html, terminal
from askew.pages.blocks import (
    Block,
    ChangeChart,
    Details,
    IntervalChart,
    PictureGrid,
    Section,
    SortedImages,
    Table,
    ValueChart,
)
from askew.pages.words import measured
from askew.stats.significance import is_significant
from askew.studies.compare.comparison import Comparison
from askew.studies.compare.findings import (
    AxisDifference,
    ComparisonFindings,
    ScoreDifference,
    axis_differences,
)
from askew.studies.compare.page import ComparisonView, page
from askew.studies.compare.sentences import axis_sentence, pair_sentence
from askew.types import Estimate, Missing
from methods.audit.invented_findings import CASES, HOSTILE, audit_findings, draw
from pages import test_browser as browser

Named = Callable[[str], Comparison]


class Run(AuditResult):
    """A run with drawn images."""

    def picture(self, name: str) -> Image.Image | None:
        return draw(name)


def run_of(case: str, name: str, seeds: bool) -> AuditResult:
    results = CASES[case]()
    for s in results["sets"]:
        s["seeds"] = [
            k + 1 if seeds and picture else None for k, picture in enumerate(s["pictures"])
        ]
    findings = audit_findings(results)
    return Run(METHOD, findings.plan, Path("runs") / name, Path("store"), findings)


def scores_as_differences(
    findings: AuditFindings, runs: tuple[str, str]
) -> Iterator[ScoreDifference]:
    """Yield the scores of a run as if they were differences."""
    for s in findings.shares:
        scores = [("share", value, score) for value, score in s.shares.items()]
        scores += [("distance", None, s.distance), ("run_distance", None, s.distance)]
        for name, value, score in scores:
            yield ScoreDifference(name, s.prompt, s.axis, s.set, value, s.instrument, runs, score)
    for entry in findings.tibet:
        for axis, scores in entry.axes.items():
            for value, score in {None: scores.mad, **scores.cas}.items():
                name = "cas" if value else "mad"
                yield ScoreDifference(name, entry.prompt, axis, None, value, "studio", runs, score)


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
    """Return runs with the findings of one case, and random differences."""
    name = HOSTILE if case == "hostile" else "run"
    by_name = {f"{name} {k}": run_of(case, f"run {k}", seeds) for k in range(runs)}
    findings = next(iter(by_name.values())).findings
    rng = random.Random(3)
    entries = [
        moved(entry, rng.uniform(-0.5, 0.3))
        for pair in combinations(by_name, 2)
        for entry in scores_as_differences(findings, pair)
    ]
    warnings = [f"unknown word {HOSTILE}"] if case == "hostile" else []
    return Comparison(Path("comparison"), by_name, tuple(entries), warnings)


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
    return cached_comparison(request.param)


@pytest.fixture
def comparison_named() -> Named:
    """A comparison by its name."""
    return cached_comparison


@cache
def cached_comparison(name: str) -> Comparison:
    """Return a comparison that no test changes."""
    return COMPARISONS[name]()


@cache
def source_of(name: str) -> str:
    """Return its page as HTML."""
    return html.page(page(cached_comparison(name)))


def nested(blocks: tuple[Block, ...] | tuple[Section, ...]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Section | Details):
            yield from nested(block.blocks)


def blocks_of(comparison: ComparisonFindings) -> Iterator[Block]:
    return nested(page(comparison).sections)


def pictures(comparison: Comparison) -> list[PictureGrid]:
    grids = [block for block in blocks_of(comparison) if isinstance(block, PictureGrid)]
    return [grid for grid in grids if grid.rows]


def printed(comparison: Comparison, color: bool = False) -> str:
    console = Console(
        file=StringIO(), width=80, force_terminal=color, color_system="standard" if color else None
    )
    console.print(terminal.screen(page(comparison)))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def first_sentence(comparison: ComparisonFindings, k: int = 0) -> str:
    view = ComparisonView(comparison)
    pair = view.pairs[k]
    return pair_sentence(pair, view.by_pair[pair], view.run_score)


def first_pair(view: ComparisonView) -> list[AxisDifference]:
    return view.by_pair[view.pairs[0]]


def test_every_page_is_valid_and_fits_a_terminal(any_comparison: Comparison) -> None:
    html5lib.HTMLParser(strict=True).parse(html.page(page(any_comparison)))
    assert max(map(cell_len, printed(any_comparison).splitlines())) <= 80


def test_it_begins_with_the_answer_and_has_no_colors(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    assert " ".join(printed(comparison).split()).startswith(first_sentence(comparison))
    colored = printed(comparison, color=True)
    assert "\x1b[1m" in colored
    assert not any(f"\x1b[{code}" in colored for code in range(30, 38))


def test_significant_differences_come_first_then_the_largest(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    order = axis_differences(comparison.entries, ComparisonView(comparison).pairs[0])
    keys = [(not difference.differs, -difference.size) for difference in order]
    assert keys == sorted(keys)
    assert len(order) == 9
    assert {difference.bias.score for difference in order if difference.bias} == {"mad"}


@pytest.mark.parametrize("name", ["comparison", "comparison of folders", "comparison of six"])
def test_the_share_that_is_called_the_largest_is(comparison_named: Named, name: str) -> None:
    view = ComparisonView(comparison_named(name))
    for k, pair in enumerate(view.pairs):
        differing = [difference for difference in view.by_pair[pair] if difference.differs]
        shares = [difference.share.difference for difference in differing if difference.share]
        estimates = [share for share in shares if isinstance(share, Estimate)]
        if len(estimates) > 1:
            largest = max(estimates, key=lambda estimate: abs(estimate.value))
            assert estimates[0] == largest
            sentence = first_sentence(view.comparison, k)
            _, evidence = sentence.split("The largest of these differences")
            assert f"{measured(largest, 'points')} points" in evidence


def test_shares_come_with_counts_and_a_score_of_one_set_once(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    assert re.search(
        r"\(\d+ %, \d+ of \d+, against \d+ %, \d+ of \d+\)", first_sentence(comparison)
    )
    charts = [block for block in blocks_of(comparison) if isinstance(block, IntervalChart)]
    scores = [chart for chart in charts if chart.caption.startswith("Scores of")]
    assert scores
    for chart in scores:
        assert len({row.label for row in chart.rows}) == len(chart.rows)


def test_the_bias_of_folders_is_the_deviation_of_shares(comparison_named: Named) -> None:
    view = ComparisonView(comparison_named("comparison of folders"))
    order = first_pair(view)
    assert {difference.bias.score for difference in order if difference.bias} == {"distance"}
    assert {difference.set for difference in order} == {
        "condition: baseline",
        "condition: controlled",
    }
    assert not view.paired


def test_the_shares_have_a_row_for_each_run(comparison_named: Named) -> None:
    section = page(comparison_named("comparison")).sections[1]
    assert section.title == "Shares"
    assert isinstance(section.blocks[0], ValueChart)
    groups = section.blocks[0].groups
    assert [group.label for group in groups[:4]] == ["A: run 0", "B: run 1"] * 2
    assert groups[0].group == groups[1].group != groups[2].group


def test_a_comparison_shows_no_verdict_of_the_separate_runs(any_comparison: Comparison) -> None:
    """The comparison has its own family of tests, which would contradict those of the runs."""
    charts = [block for block in blocks_of(any_comparison) if isinstance(block, ValueChart)]
    groups = [group for chart in charts for group in chart.groups]
    assert groups
    assert not any(group.verdict or group.significant for group in groups)
    text = printed(any_comparison)
    assert "verdict" not in text
    for words in ("over-represented", "under-represented", "too few images to detect"):
        assert words not in text


def test_the_distance_between_the_runs_is_shown_with_the_q_of_its_test(
    comparison_named: Named,
) -> None:
    comparison = comparison_named("comparison")
    view = ComparisonView(comparison)
    for difference in first_pair(view):
        if difference.test and isinstance(difference.test.difference, Estimate):
            sentence = axis_sentence(difference, "A", "B", view.run_score)
            assert sentence.count("istance between the runs") == 1
            assert f"q = {difference.test.difference.q}" in sentence


def test_images_of_the_same_seed_are_aligned(comparison_named: Named) -> None:
    first = pictures(comparison_named("comparison of six"))[0]
    assert first.aligned
    assert [row.series for row in first.rows] == [0, 1, 2, 3, 4, 5]
    assert [row.shots[2].alt for row in first.rows] == [f"Image 3 of run {k}" for k in range(6)]


def test_a_missing_image_leaves_its_place_empty(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    name, run = list(comparison.runs.items())[1]
    first, *others = run.findings.sets
    incomplete = replace(
        first,
        pictures=(first.pictures[0], None, *first.pictures[2:]),
        seeds=(first.seeds[0], None, *first.seeds[2:]),
    )
    findings = replace(run.findings, sets=(incomplete, *others))
    runs = {**comparison.runs, name: replace(run, findings=findings)}
    grids = pictures(replace(comparison, runs=runs))
    grid = next(grid for grid in grids if grid.rows[1].shots[1].image is None)
    assert grid.aligned
    assert grid.rows[0].shots[1].image is not None


def test_without_common_seeds_images_are_not_aligned(comparison_named: Named) -> None:
    grids = pictures(comparison_named("comparison of folders"))
    assert grids
    assert not any(grid.aligned for grid in grids)


def test_sections_come_in_order(any_comparison: Comparison) -> None:
    titles = [section.title for section in page(any_comparison).sections]
    order = [
        "Differences",
        "Shares",
        "Images",
        "Each prompt and axis",
        "Missing data",
        "How to read this",
        "Runs",
    ]
    assert titles == [title for title in order if title in titles]
    assert {*order} - {*titles} <= {"Missing data"}


def test_a_missing_difference_has_a_reason_and_no_number(comparison_named: Named) -> None:
    comparison = comparison_named("comparison of nothing")
    view = ComparisonView(comparison)
    (difference,) = first_pair(view)
    assert "no person" in axis_sentence(difference, "A", "B", view.run_score)
    assert "could not be compared" in first_sentence(comparison)
    assert "0.00" not in printed(comparison)


def test_the_direction_of_bias_is_determined_only_if_the_interval_excludes_zero(
    comparison_named: Named,
) -> None:
    view = ComparisonView(comparison_named("comparison"))
    difference = next(
        difference
        for difference in first_pair(view)
        if difference.differs and difference.bias and is_significant(difference.bias.difference)
    )

    def sentence(value: float, low: float, high: float) -> str:
        assert difference.bias
        estimate = difference.bias.difference
        assert isinstance(estimate, Estimate)
        bias = replace(
            difference.bias, difference=replace(estimate, value=value, low=low, high=high)
        )
        return axis_sentence(replace(difference, bias=bias), "A", "B", view.run_score)

    assert "B is significantly less biased than A." in sentence(-0.2, low=-0.3, high=-0.1)
    assert "B differs significantly from A." in sentence(-0.2, low=-0.3, high=0.1)
    assert "B is significantly more biased than A." in sentence(0.2, low=0.1, high=0.3)


def test_a_verdict_that_is_not_significant_agrees_with_the_table(comparison_named: Named) -> None:
    """Scores of other families, and shares by further instruments, show no q beside the verdict."""
    comparison = comparison_named("comparison")
    near = Estimate(0.3, 0.1, 0.5, 0.95, "test inversion", 48, p=0.01, q=0.018)
    entries = []
    other_labels = []
    for entry in comparison.entries:
        if entry.score in ("share", "run_distance"):
            entries.append(replace(entry, difference=replace(near, q=0.6)))
            other_labels.append(replace(entry, instrument="another", difference=near))
        else:
            entries.append(replace(entry, difference=near))
    check_not_significant(replace(comparison, entries=tuple(entries)), "shares")
    check_not_significant(
        replace(comparison, entries=(*entries, *other_labels)), "shares labeled by studio"
    )


def check_not_significant(comparison: Comparison, scores: str) -> None:
    """Check that no verdict is significant, and that no other score shows a small q."""
    compared_by = f"with this number of images (compared by {scores})"
    assert first_sentence(comparison).endswith(f"do not differ significantly {compared_by}.")
    all_details = [block for block in blocks_of(comparison) if isinstance(block, Details)]
    verdicts = [details for details in all_details if "(compared by" in details.summary]
    assert len(verdicts) == 9
    for details in verdicts:
        sentence, *charts = details.blocks
        assert details.summary.endswith(f"no significant difference (compared by {scores})")
        assert compared_by in str(sentence)
        q_values = set()
        for chart in charts:
            if isinstance(chart, IntervalChart):
                decides = scores in chart.caption or "labeled by studio" in chart.caption
                estimates = [row.score for row in chart.rows if isinstance(row.score, Estimate)]
                q_values |= {(decides, estimate.q) for estimate in estimates}
        assert q_values == {(True, None), (False, None)}


def test_hostile_names_stay_text(comparison_named: Named) -> None:
    source = source_of("hostile comparison")
    assert "<script" not in source
    assert source.count("</style>") == 1
    assert "\x1b" not in source


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
@pytest.mark.slow
def test_nothing_sticks_out_and_nothing_is_fetched(comparison_named: Named, tmp_path: Path) -> None:
    shown = [
        ("comparison", 390),
        ("comparison", 1200),
        ("comparison of six", 800),
        ("comparison of folders", 1920),
        ("hostile comparison", 390),
    ]
    browser.sound([(source_of(name), width) for name, width in shown], tmp_path)


def test_several_runs_begin_with_the_pair_that_differs_most() -> None:
    """The headline names a pair that differs, and a table has the mean bias of every run."""
    several = cached_comparison("comparison of folders")
    equal, *others = ComparisonView(several).pairs
    calm = tuple(moved(entry, 0.01) if entry.runs == equal else entry for entry in several.entries)
    comparison = replace(several, entries=calm)
    view = ComparisonView(comparison)
    assert view.main_pair in others
    shown = page(comparison)
    assert shown.answer.startswith(f"{view.main_pair[1]} differs significantly")
    assert shown.detail.endswith("The runs differ significantly in 2 of 3 pairs.")
    assert shown.first
    _, table = shown.first.chart
    assert isinstance(table, Table)
    assert table.columns == ("Axis", "Score", "A", "B", "C")
    share = next(iter(comparison.runs.values())).findings.shares[0]
    scores = []
    for entry in calm:
        same = (entry.axis, entry.instrument) == (share.axis, share.instrument)
        if entry.runs == equal and entry.score == "distance" and same:
            scores.append(view.run_score(equal[0], entry))
    mean = fmean(score.mark for score in scores if score)
    first_row = next(row for row in table.rows if row[0] == share.axis.capitalize())
    assert first_row[1:3] == ("Deviation", f"{mean:.2f}")


def test_several_runs_that_do_not_differ_are_all_named() -> None:
    several = cached_comparison("comparison of folders")
    calm = tuple(moved(entry, 0.01) for entry in several.entries)
    answer = page(replace(several, entries=calm)).answer
    assert answer.startswith("run 0, run 1 and run 2 do not differ significantly")


def test_the_first_screen_compares_both_runs(comparison_named: Named) -> None:
    """Rows have both shares and the verdict on their axis; images have no verdict of a run."""
    comparison = comparison_named("comparison")
    first = page(comparison).first
    assert first
    (chart,) = first.chart
    assert isinstance(chart, ChangeChart)
    assert (chart.before, chart.after) == ("A", "B")
    differences = first_pair(ComparisonView(comparison))
    assert len(chart.rows) == min(12, len([entry for entry in differences if entry.share]))
    for row, difference in zip(chart.rows, differences, strict=False):
        assert row.verdict.startswith("significant") == difference.differs
        assert difference.differs or row.deviation == "none"
    for images in first.images:
        assert isinstance(images, SortedImages)
        assert [column.label[:2] for column in images.columns] == ["A:", "B:"]
        groups = [group for column in images.columns for group in column.groups]
        assert {group.deviation for group in groups} == {"none"}
