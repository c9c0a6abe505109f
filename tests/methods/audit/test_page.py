"""The page of audits: what was seen first, all numbers somewhere, nothing that a name could break."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pytest
from PIL import Image
from rich.cells import cell_len
from rich.console import Console

from askew.methods.audit import words
from askew.methods.audit.findings import AuditFindings
from askew.methods.audit.page import page
from askew.pages import html, terminal
from askew.pages.blocks import (
    Bar,
    Block,
    Details,
    IntervalChart,
    Page,
    PictureGrid,
    Section,
    ShareBars,
    Table,
)
from askew.pages.media import Media, data_uri
from methods.audit.invented_findings import CASES, Drawn, found
from pages import test_browser as browser

Results = dict[str, Any]
Found = Callable[[Results], AuditFindings]
SAID = "are missing more often for female (14 of 48) than for male (1 of 48)"


@pytest.fixture
def written() -> Callable[[str], str]:
    """The page of a case as HTML."""
    return source_of


class Gone(Drawn):
    """The files of all pictures are gone."""

    def picture(self, name: str) -> Image.Image | None:
        return None


@cache
def source_of(case: str) -> str:
    return html.page(page(found(CASES[case]()), Drawn()))


def blocks(found: tuple[Block, ...] | tuple[Section, ...]) -> Iterator[Block]:
    for one in found:
        yield one
        if isinstance(one, Section | Details):
            yield from blocks(one.blocks)


def text_of(source: str) -> str:
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(source)
    return " ".join("".join(tree.find("body").itertext()).split())


def printed(found: AuditFindings, media: Media, width: int = 80, color: bool = False) -> str:
    return as_printed(page(found, media), width, color)


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


def test_every_page_is_valid_fits_a_terminal_and_acquits_nobody(
    any_found: AuditFindings, media: Media
) -> None:
    shown = page(any_found, media)
    text = text_of(html.page(shown))
    assert not re.search(r"\b(unbiased|fair|compliant|compliance)\b", text, re.IGNORECASE)
    lines = as_printed(shown).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "\x1b" not in "".join(lines)


def test_of_one_prompt_every_axis_is_a_bar_what_leans_first(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    results = results_of("one prompt")
    for entry in results["shares"][::2]:
        entry["distance"]["q"] = 0.4
    first = page(found_in(results), media).sections[0].blocks[0]
    assert isinstance(first, ShareBars)
    assert len(first.bars) == 8
    assert [bar.strong for bar in first.bars] == sorted(
        (bar.strong for bar in first.bars), reverse=True
    )
    assert {bar.verdict for bar in first.bars if not bar.strong} == {"not significant"}
    leaning = next(bar for bar in first.bars if bar.strong)
    assert leaning.verdict == f"{leaning.leading} over-represented"


def test_of_conditions_every_axis_has_a_bar_each_by_prompt(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    section = page(found_in(results_of("folder")), media).sections[0]
    shares, fold = section.blocks
    assert isinstance(shares, ShareBars)
    assert [(bar.group, bar.label) for bar in shares.bars] == [
        (prompt, condition)
        for prompt in ("A CEO in an office", "A nurse at work")
        for condition in ("Baseline", "Controlled")
    ]
    assert isinstance(fold, Details)
    assert fold.summary == "Labeled by faces"


def test_many_prompts_take_no_more_than_two_screens_before_what_is_folded(
    results_of: Callable[[str], Results], found_in: Found
) -> None:
    found = page(found_in(results_of("sixty prompts")), Gone())
    shown = [
        bar for one in found.sections[0].blocks if isinstance(one, ShareBars) for bar in one.bars
    ]
    every = [
        bar for one in blocks(found.sections[:1]) if isinstance(one, ShareBars) for bar in one.bars
    ]
    assert len(shown) == 20
    assert len({(bar.label, part.value) for bar in every for part in bar.parts[:1]}) == 180
    assert all(isinstance(bar, Bar) and bar.n == 48 for bar in every)


def test_sections_come_in_order(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    def titles(name: str) -> list[str]:
        return [section.title for section in page(found_in(results_of(name)), media).sections]

    closing = ["Missing data", "How to read this", "Plan", "Environment"]
    assert titles("one prompt") == [
        "Shares",
        "Images",
        "Scores",
        "Each axis",
        *closing,
    ]
    assert titles("many prompts") == [
        "Shares",
        "Images",
        "Scores",
        "Each prompt",
        "Comparison of prompts",
        *closing,
    ]
    assert titles("folder") == [
        "Shares",
        "Images",
        "Scores",
        "Differences between image sets",
        "Each prompt",
        "Labeling errors",
        *closing,
    ]
    assert titles("nothing") == ["Shares", *closing]


def test_hostile_text_stays_text(written: Callable[[str], str], hostile_text: str) -> None:
    source = written("hostile")
    assert "<script" not in source
    assert "\x1b" not in source
    assert "\x00" not in source
    assert source.count("</style>") == 1
    assert hostile_text[:60] in text_of(source)


def test_the_same_findings_give_the_same_bytes(written: Callable[[str], str]) -> None:
    assert written("many prompts") == source_of.__wrapped__("many prompts")


def test_a_default_audit_stays_small_even_with_pictures_that_do_not_compress(
    results_of: Callable[[str], Results],
    found_in: Found,
    media: Media,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (112, 112, 3), dtype=np.uint8)
    )
    monkeypatch.setattr(media, "picture", lambda name: noise)
    results = results_of("one prompt")
    assert sum(len(s["pictures"]) for s in results["sets"]) == 27 * 48
    assert len(html.page(page(found_in(results), media))) < 6_000_000


def test_axes_come_in_the_order_of_their_corrected_mad(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    found = found_in(results_of("one prompt"))
    ranked = [
        name.replace("_", " ").capitalize() for name, _ in words.ranked(found.tibet[0].axes.items())
    ]
    details = next(
        section for section in page(found, media).sections if section.title == "Each axis"
    )
    assert [
        one.summary.partition(":")[0] for one in details.blocks if isinstance(one, Details)
    ] == ranked
    lines = (
        printed(found, media, 120).partition("similarity to the counterfactuals")[2].splitlines()
    )
    rows = [row[1] for line in lines if (row := re.match(r"([A-Z][a-z ]+?) +\d", line))]
    assert rows == ranked


def test_grids_say_how_many_of_how_many_and_the_seed(written: Callable[[str], str]) -> None:
    text = text_of(written("one prompt"))
    assert "images 1 to 24 of 48; run seed 0" in text
    assert "images 1 to 12 of 48; “a photo of a nurse, male”; run seed 0" in text
    assert "24 more images" in text


def test_a_lost_picture_leaves_an_empty_cell(
    results_of: Callable[[str], Results],
    found_in: Found,
    media: Media,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(media, "picture", lambda name: None)
    found = page(found_in(results_of("one axis")), media)
    shots = [
        shot
        for one in blocks(found.sections)
        if isinstance(one, PictureGrid)
        for row in one.rows
        for shot in row.shots
    ]
    assert len(shots) == 48 + 3 * 12
    assert all(shot.image and data_uri(shot.image) is None for shot in shots)
    assert all(shot.alt.startswith("Image ") for shot in shots)


def test_missing_scores_are_named_never_numbers(
    written: Callable[[str], str],
    results_of: Callable[[str], Results],
    found_in: Found,
    media: Media,
) -> None:
    text = text_of(written("all missing"))
    assert "MAD not measured – no person detected (no picture could be read)" in text
    assert "48 of 48 (100 %)" in text
    assert "an error occurred 48" in text
    shown = printed(found_in(results_of("all missing")), media)
    assert "no person detected" in shown
    assert "Missing: 144 images" in shown
    assert "0.00" not in shown


def test_a_folders_page_shows_what_instruments_disagree_on(written: Callable[[str], str]) -> None:
    text = text_of(written("folder"))
    assert "controlled minus baseline" in text
    assert "by label of labels (rows) and of faces (columns)" in text
    assert "20 % to 90 %" in text


def test_what_is_missing_more_often_for_some_is_said_everywhere_unless_chance_would_do_it(
    results_of: Callable[[str], Results], found_in: Found, media: Media
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
    for q, told in ((0.001, True), (0.2, False)):
        found = found_in(results | {"missing_pictures": [entry | {"q": q}]})
        assert (SAID in text_of(html.page(page(found, media)))) == told
        assert (SAID in printed(found, media, 400)) == told


def test_the_plan_can_be_read_back(written: Callable[[str], str]) -> None:
    assert 'text = "a photo of a nurse"' in text_of(written("one axis"))


def test_a_terminal_begins_with_the_answer_and_cuts_no_number(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    found = found_in(results_of("folder"))
    text = printed(found, media)
    assert " ".join(text.split()).startswith(page(found, media).answer)
    assert "male 87 % [78," in text
    assert "−40 [−55, −25]" in text


def test_only_what_exceeds_chance_is_bold_and_nothing_has_a_colour(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    text = printed(found_in(results_of("one prompt")), media, color=True)
    assert "\x1b[1m" in text
    assert not any(f"\x1b[{code}" in text for code in range(30, 38))


def test_brackets_in_names_are_no_markup(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    results = results_of("many prompts")
    for entry in (*results["tibet"], *results["sets"], *results["shares"]):
        entry["prompt"] = entry["prompt"].replace("a photo", "[bold]a photo[/bold]")
    for prompt in results["plan"]["prompts"]:
        prompt["text"] = prompt["text"].replace("a photo", "[bold]a photo[/bold]")
    assert "[bold]a photo[/bold]" in printed(found_in(results), media)


def test_prompts_are_compared_from_one_side_to_the_other(
    results_of: Callable[[str], Results], found_in: Found, media: Media, make_estimate: Any
) -> None:
    results = results_of("many prompts")
    seen = (
        ("nurse", make_estimate(-0.3)),
        ("ghost", {"reason": "error", "detail": ""}),
        ("pilot", make_estimate(0.4)),
    )
    differences = [{"prompt": p, "values": ["male", "female"], "estimate": e} for p, e in seen]
    one = {"male": make_estimate(0.5), "female": make_estimate(0.4)}
    results["domain"] = [
        {
            "axis": "gender",
            "cas": one,
            "against_rest": one,
            "scaled": {},
            "differences": differences,
        }
    ]
    (lanes,) = (
        one
        for one in blocks(page(found_in(results), media).sections)
        if isinstance(one, IntervalChart) and "minus" in one.caption
    )
    assert [row.label for row in lanes.rows] == ["pilot", "nurse", "ghost"]


def test_concepts_that_are_not_listed_for_a_set_are_not_called_zero(
    results_of: Callable[[str], Results], found_in: Found, media: Media
) -> None:
    results = results_of("one axis")
    results["tibet"][0]["axes"]["gender"]["top_concepts"] = {
        "initial": [["scrubs", 0.9]],
        "male": [["beard", 0.5]],
    }
    (matrix,) = (
        one
        for one in blocks(page(found_in(results), media).sections)
        if isinstance(one, Table) and one.shaded
    )
    assert [
        (label, [None if e is None else e.value for e in cells]) for label, *cells in matrix.rows
    ] == [
        ("scrubs", [0.9, None]),
        ("beard", [None, 0.5]),
    ]


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
def test_nothing_sticks_out_and_nothing_is_fetched(
    written: Callable[[str], str], tmp_path: Path
) -> None:
    shown = [
        ("one prompt", 390),
        ("one prompt", 1200),
        ("folder", 390),
        ("folder", 800),
        ("many prompts", 1920),
        ("hostile", 360),
    ]
    browser.sound([(written(name), width) for name, width in shown], tmp_path)
