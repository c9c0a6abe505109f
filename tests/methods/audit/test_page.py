"""The page of audits: counts first, all numbers present, and no damage by hostile names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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

from askew.methods.audit import words
from askew.methods.audit.findings import AuditFindings
from askew.methods.audit.page import page
from askew.pages import html, terminal
from askew.pages.blocks import (
    Block,
    Details,
    IntervalChart,
    Page,
    PictureGrid,
    Section,
    Table,
    ValueChart,
    ValueGroup,
)
from askew.pages.media import TOTAL, Media, data_uri
from methods.audit.invented_findings import CASES, Drawn, audit_findings
from pages import test_browser as browser

Results = dict[str, Any]
ReadFindings = Callable[[Results], AuditFindings]
MISSING_MORE_OFTEN = "are missing more often for female (14 of 48) than for male (1 of 48)"


@pytest.fixture
def written() -> Callable[[str], str]:
    """The page of a case as HTML."""
    return source_of


class NoFiles(Drawn):
    """A store whose image files were all deleted."""

    def picture(self, name: str) -> Image.Image | None:
        return None


@cache
def source_of(case: str) -> str:
    return html.page(page(audit_findings(CASES[case]()), Drawn()))


def blocks(outer: tuple[Block, ...] | tuple[Section, ...]) -> Iterator[Block]:
    for block in outer:
        yield block
        if isinstance(block, Section | Details):
            yield from blocks(block.blocks)


def text_of(source: str) -> str:
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(source)
    return " ".join("".join(tree.find("body").itertext()).split())


def printed(findings: AuditFindings, media: Media, width: int = 80, color: bool = False) -> str:
    return as_printed(page(findings, media), width, color)


def as_printed(shown: Page, width: int = 80, color: bool = False) -> str:
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
    )
    console.print(terminal.screen(shown))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_every_page_is_valid_fits_a_terminal_and_calls_no_model_unbiased(
    any_findings: AuditFindings, media: Media
) -> None:
    shown = page(any_findings, media)
    text = text_of(html.page(shown))
    assert not re.search(r"\b(unbiased|fair|compliant|compliance)\b", text, re.IGNORECASE)
    lines = as_printed(shown).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert not re.search("[\x1b\u00a0\u202f]", "".join(lines)), "spaces that hinder grep"
    answer = replace(shown, sections=(), notes=(), screen_notes=(), warnings=())
    assert len(as_printed(answer).splitlines()) <= 30


def test_one_prompt_has_a_group_per_axis_biased_axes_first(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    results = results_of("one prompt")
    for entry in results["shares"][::2]:
        entry["distance"]["q"] = 0.4
    first = page(read_findings(results), media).first
    assert first
    chart = first.chart[0]
    assert isinstance(chart, ValueChart)
    assert len(chart.groups) == 8
    assert [group.significant for group in chart.groups] == sorted(
        (group.significant for group in chart.groups), reverse=True
    )
    for group in chart.groups:
        assert group.significant != group.verdict.startswith("not significant")
    biased = next(group for group in chart.groups if group.significant)
    assert biased.verdict.startswith(f"{biased.leading} over-represented")


def test_every_axis_has_a_row_per_condition_grouped_by_prompt(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    section = page(read_findings(results_of("folder")), media).sections[0]
    shares, details = section.blocks
    assert isinstance(shares, ValueChart)
    assert [(group.group, group.label) for group in shares.groups] == [
        (prompt, condition)
        for prompt in ("A CEO in an office", "A nurse at work")
        for condition in ("Baseline", "Controlled")
    ]
    assert isinstance(details, Details)
    assert details.summary == "Labeled by faces"


def test_many_prompts_show_twenty_groups_and_fold_the_rest(
    results_of: Callable[[str], Results], read_findings: ReadFindings
) -> None:
    sections = page(read_findings(results_of("sixty prompts")), NoFiles()).sections
    shown = groups_in(sections[0].blocks)
    all_groups = groups_in(blocks(sections[:1]))
    assert len(shown) == 20
    assert len({(group.label, group.values[0].value) for group in all_groups}) == 180
    assert all(group.n == 48 for group in all_groups)


def groups_in(shown: Iterable[Block]) -> list[ValueGroup]:
    return [group for block in shown if isinstance(block, ValueChart) for group in block.groups]


def test_sections_come_in_order(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    def titles(name: str) -> list[str]:
        return [section.title for section in page(read_findings(results_of(name)), media).sections]

    closing = ["How to read this", "Reproduce this run"]
    assert titles("one prompt") == [
        "All values",
        "Association (MAD)",
        "Images",
        "Each axis",
        *closing,
    ]
    assert titles("many prompts") == [
        "All values",
        "Association (MAD)",
        "Images",
        "Each prompt",
        "Comparison of prompts",
        *closing,
    ]
    assert titles("folder") == [
        "All values",
        "Deviations from the reference",
        "Differences between image sets",
        "Images",
        "Each prompt",
        "Labelers",
        "Labeling errors",
        "Missing data",
        *closing,
    ]
    assert titles("nothing") == ["All values", *closing]


def test_hostile_text_is_escaped(written: Callable[[str], str], hostile_text: str) -> None:
    source = written("hostile")
    assert "<script" not in source
    assert "\x1b" not in source
    assert "\x00" not in source
    assert source.count("</style>") == 1
    assert hostile_text[:60] in text_of(source)


def test_the_same_findings_give_the_same_bytes(written: Callable[[str], str]) -> None:
    assert written("many prompts") == source_of.__wrapped__("many prompts")


@pytest.mark.parametrize(
    ("case", "images"),
    [
        ("one prompt", 27 * 48),
        ("many prompts", 24 * 48),
        pytest.param("sixty prompts", 480 * 48, marks=pytest.mark.slow),
    ],
)
def test_a_page_embeds_few_images_of_many(case: str, images: int) -> None:
    """Count the images, since 500 copies of photographs take 2.3 MB."""
    results = CASES[case]()
    assert sum(len(image_set["pictures"]) for image_set in results["sets"]) == images
    assert 0 < source_of(case).count("data:image/webp") <= TOTAL


def test_axes_are_sorted_by_corrected_mad(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    findings = read_findings(results_of("one prompt"))
    scores = findings.tibet[0].axes.items()
    ranked = [name.replace("_", " ").capitalize() for name, _ in words.ranked(scores)]
    sections = {section.title: section for section in page(findings, media).sections}
    details = [block for block in sections["Each axis"].blocks if isinstance(block, Details)]
    assert [block.summary.partition(":")[0] for block in details] == ranked
    table = printed(findings, media, 120).partition("similarity to the counterfactuals")[2]
    rows = [re.match(r"([A-Z][a-z ]+?) +\d", line) for line in table.splitlines()]
    assert [row[1] for row in rows if row] == ranked


def test_grids_state_the_number_of_images_and_the_seed(written: Callable[[str], str]) -> None:
    text = text_of(written("one prompt"))
    assert "images 1 to 24 of 48; run seed 0" in text
    assert "images 1 to 12 of 48; “a photo of a nurse, male”; run seed 0" in text
    assert "24 more images" in text


def test_a_deleted_image_leaves_an_empty_cell(
    results_of: Callable[[str], Results],
    read_findings: ReadFindings,
    media: Media,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(media, "picture", lambda name: None)
    sections = page(read_findings(results_of("one axis")), media).sections
    grids = [block for block in blocks(sections) if isinstance(block, PictureGrid)]
    rows = [row for grid in grids for row in grid.rows]
    shots = [shot for row in rows for shot in row.shots]
    assert len(shots) == 48 + 3 * 12
    assert all(shot.image and data_uri(shot.image) is None for shot in shots)
    assert all(shot.alt.startswith("Image ") for shot in shots)


def test_missing_scores_have_a_reason_and_no_number(
    written: Callable[[str], str],
    results_of: Callable[[str], Results],
    read_findings: ReadFindings,
    media: Media,
) -> None:
    text = text_of(written("all missing"))
    assert "MAD not measured – no person detected (no picture could be read)" in text
    assert "48 of 48 (100 %)" in text
    assert "an error occurred 48" in text
    shown = printed(read_findings(results_of("all missing")), media)
    assert "no person detected" in shown
    assert "Missing: 144 images" in shown
    assert "0.00" not in shown


def test_the_page_of_a_folder_shows_disagreement_between_instruments(
    written: Callable[[str], str],
) -> None:
    text = text_of(written("folder"))
    assert "controlled minus baseline" in text
    assert "by label from labels (rows) and label from faces (columns)" in text
    assert "20 % to 90 %" in text


def test_differences_name_the_instrument_if_there_are_several(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    results = results_of("folder")
    first = results["differences"][0]
    assert "labeled by" not in printed_differences(read_findings(results), media)
    results["differences"] = [first, first | {"instrument": "faces"}]
    text = printed_differences(read_findings(results), media)
    for instrument in (first["instrument"], "faces"):
        assert f", labeled by {instrument}. Perceived gender: male is less frequent" in text


def printed_differences(findings: AuditFindings, media: Media) -> str:
    """Return the items of the section on differences, as the terminal shows them."""
    lines = printed(findings, media, 400).splitlines()
    return "\n".join(line for line in lines if "less frequent" in line or "more frequent" in line)


def test_a_significant_difference_in_missing_data_is_reported_on_page_and_terminal(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    results = results_of("one axis")
    results["sets"][0]["missing"] = {"blank_image": 15}
    counts = {"male": {"missing": 1, "planned": 48}, "female": {"missing": 14, "planned": 48}}
    entry = {
        "prompt": "a photo of a nurse",
        "axis": "gender",
        "counts": counts,
        "chi2": 9.0,
        "dof": 1,
        "p": 0.001,
        "draws": 0,
        "cramers_v": 0.4,
        "q": 0.001,
    }
    for q, is_reported in ((0.001, True), (0.2, False)):
        findings = read_findings(results | {"missing_pictures": [entry | {"q": q}]})
        assert (MISSING_MORE_OFTEN in text_of(html.page(page(findings, media)))) == is_reported
        assert (MISSING_MORE_OFTEN in printed(findings, media, 400)) == is_reported


def test_the_page_contains_the_plan(written: Callable[[str], str]) -> None:
    assert 'text = "a photo of a nurse"' in text_of(written("one axis"))


def test_the_terminal_begins_with_the_answer_and_cuts_no_number(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    findings = read_findings(results_of("folder"))
    text = printed(findings, media)
    assert " ".join(text.split()).startswith(page(findings, media).answer)
    assert "male 87 %" in text
    assert "−40 [−55, −25]" in text


def test_significant_results_are_bold_and_no_text_has_a_color(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    text = printed(read_findings(results_of("one prompt")), media, color=True)
    assert "\x1b[1m" in text
    assert not any(f"\x1b[{code}" in text for code in range(30, 38))


def test_brackets_in_names_are_not_markup(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    results = results_of("many prompts")
    for entry in (*results["tibet"], *results["sets"], *results["shares"]):
        entry["prompt"] = entry["prompt"].replace("a photo", "[bold]a photo[/bold]")
    for prompt in results["plan"]["prompts"]:
        prompt["text"] = prompt["text"].replace("a photo", "[bold]a photo[/bold]")
    assert "[bold]a photo[/bold]" in printed(read_findings(results), media)


def test_prompts_are_sorted_by_their_difference(
    results_of: Callable[[str], Results],
    read_findings: ReadFindings,
    media: Media,
    make_estimate: Any,
) -> None:
    results = results_of("many prompts")
    measured = (
        ("nurse", make_estimate(-0.3)),
        ("ghost", {"reason": "error", "detail": ""}),
        ("pilot", make_estimate(0.4)),
    )
    differences = [{"prompt": p, "values": ["male", "female"], "estimate": e} for p, e in measured]
    scores = {"male": make_estimate(0.5), "female": make_estimate(0.4)}
    results["domain"] = [
        {
            "axis": "gender",
            "cas": scores,
            "against_rest": scores,
            "scaled": {},
            "differences": differences,
        }
    ]
    (chart,) = (
        block
        for block in blocks(page(read_findings(results), media).sections)
        if isinstance(block, IntervalChart) and "minus" in block.caption
    )
    assert [row.label for row in chart.rows] == ["pilot", "nurse", "ghost"]


def test_a_concept_that_is_not_listed_for_a_set_has_an_empty_cell(
    results_of: Callable[[str], Results], read_findings: ReadFindings, media: Media
) -> None:
    results = results_of("one axis")
    results["tibet"][0]["axes"]["gender"]["top_concepts"] = {
        "initial": [["scrubs", 0.9]],
        "male": [["beard", 0.5]],
    }
    (matrix,) = (
        block
        for block in blocks(page(read_findings(results), media).sections)
        if isinstance(block, Table) and block.shaded
    )
    frequencies = {}
    for concept, *cells in matrix.rows:
        frequencies[concept] = [None if cell is None else cell.value for cell in cells]
    assert list(frequencies.items()) == [("scrubs", [0.9, None]), ("beard", [None, 0.5])]


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
@pytest.mark.slow
def test_pages_fit_the_window_and_fetch_no_files(
    written: Callable[[str], str], tmp_path: Path
) -> None:
    shown = [
        ("one prompt", 390),
        ("one prompt", 1200),
        ("hostile", 360),
        ("folder", 390),
        ("folder", 800),
        ("many prompts", 1920),
    ]
    browser.sound([(written(name), width) for name, width in shown], tmp_path)


def test_a_column_without_content_is_left_out() -> None:
    columns = {}
    for case in ("one prompt", "all missing"):
        shown = page(audit_findings(CASES[case]()), Drawn())
        charts = [block for block in blocks(shown.sections) if isinstance(block, IntervalChart)]
        (mad,) = [chart for chart in charts if chart.name == "MAD"]
        columns[case] = (mad.more, {row.more for row in mad.rows})
    assert columns["one prompt"][0] == ("most similar to",)
    assert columns["all missing"] == ((), {()})
