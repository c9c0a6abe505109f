"""The page in a terminal: within its width, in the page's order, with all numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.console import Console

from askew.pages import terminal
from askew.pages.blocks import Details, IntervalChart, IntervalRow, Page, Paragraph, Section, Table
from pages.gallery import (
    GONE,
    LONG_PROMPT,
    by_model,
    estimate,
    gallery,
    network,
    one_prompt,
    paper_table,
    prompt_matrix,
)


def shown(page: Page, width: int = 80, within: int | None = None) -> str:
    console = Console(width=width, record=True, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        console.print(terminal.screen(page, within))
    return captured.get()


def page(*blocks: object, **more: object) -> Page:
    return Page("k", "t", "The answer.", "", (Section("Only", blocks),), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    assert max(len(line.rstrip()) for line in shown(gallery(), width).splitlines()) <= width


def test_lines_fit_a_given_width() -> None:
    assert max(len(line.rstrip()) for line in shown(gallery(), 200, 80).splitlines()) <= 80


@pytest.mark.parametrize("width", [80, 160])
def test_cuts_no_number(width: int) -> None:
    text = shown(page(paper_table()), width)
    assert len(re.findall(r"\d\.\d\d \[−?\d\.\d\d, \d\.\d\d\]", text)) == 4 * 6
    assert text.count("↑ 4.20 [1.0, 7.4]") == 4


def test_shows_interval_and_null_mean_of_every_series() -> None:
    rows = [line for line in shown(page(by_model()), 120).splitlines() if "[0.24, 0.36]" in line]
    assert any("studio" in row and "0.30" in row and "0.18" in row for row in rows)


def test_follows_the_order_of_the_page() -> None:
    text = shown(gallery())
    places = [
        text.index(part)
        for part in ("42 of 48", "Share of the 48", "Perceived gender", "How unequally", "Bold:")
    ]
    assert places == sorted(places)


def test_shares_show_the_interval_of_the_largest_share() -> None:
    text = shown(page(one_prompt()), 200)
    assert "female 88 % [76, 98], male 12 %" in text
    assert re.search(r"Clothing +formal 100 % \[88, 100\] +[–\d %]+ 45 of 48 formal alone", text)
    assert "none of 48 labeled: no person detected 48" in text


def test_cells_of_a_matrix_that_are_not_significant_say_so() -> None:
    text = shown(page(prompt_matrix()), 200)
    assert "middle-aged 40 % (n.s.)" in text or "old 40 % (n.s.)" in text
    assert not re.search(r"young \d+ % \(n\.s\.\)", text)
    assert "not significant" in text


def test_a_graph_is_a_table_of_its_edges() -> None:
    text = shown(page(network()), 100)
    assert re.search(
        r"Gender +emotion +\+0\.30 +\[0\.25, 0\.35\] +0\.0 +< 0\.001 +smaller deviation", text
    )
    assert text.index("−0.33") < text.index("+0.30") < text.index("+0.12")  # the strongest first


def test_no_line_ends_between_a_number_and_its_percent_sign_or_a_value_and_its_name() -> None:
    sentence = (
        "Female 17 % of 48 pictures, no more than chance gives (p = 0.64), then 83 % "
        "(q < 0.001); IS +0.25 [−0.20, +0.30] as before. " * 3
    )
    table = Table("c", ("what", "told"), (("one", sentence), (f"two {sentence}", "x")))
    for width in range(40, 120):
        text = shown(
            page(Paragraph(sentence, "Of 17 % (n = 48):", (sentence,)), table, notes=(sentence,)),
            width,
        )
        assert "17 %" in text
        assert "p = 0.64" in text
        parts = re.split(r"\n|  +", text)
        assert not [part for part in parts if re.match(r"%|[=<] ?\d|[+−]?0\.\d+[\])]", part)]
        assert not re.search("[\u00a0\u202f]", text)
        assert not [part for part in parts if re.search(r"\b[pqn]( [=<])?$", part)]
        assert re.search(r"^- Female", text, re.MULTILINE)


def test_states_why_a_score_is_missing() -> None:
    text = shown(page(IntervalChart("c", "Axis", (IntervalRow("age", GONE),), "MAD")), 220)
    assert "no person detected (nobody is seen in 48 of 48 pictures)" in text


def test_significant_results_are_bold() -> None:
    console = Console(width=80, force_terminal=True, color_system="standard")
    lanes = IntervalChart(
        "c",
        "Axis",
        (IntervalRow("age", estimate(0.5, q=0.01)), IntervalRow("sex", estimate(0.4, q=0.4))),
        "MAD",
    )
    with console.capture() as captured:
        console.print(terminal.screen(page(lanes)))
    assert "\x1b[1m0.50" in captured.get()
    assert "\x1b[1m0.40" not in captured.get()


def test_counts_the_rows_it_leaves_out() -> None:
    rows = tuple((f"row {k}", k) for k in range(30))
    assert "… and 6 more in the report" in shown(page(Table("t", ("name", "n"), rows)))


def test_details_and_sections_only_for_the_page_are_left_out() -> None:
    document = Page(
        "k",
        "t",
        "a",
        "",
        (
            Section("s", (Details("f", (Paragraph("folded"),)),)),
            Section("h", (Paragraph("hidden"),), False),
        ),
    )
    assert "folded" not in shown(document)
    assert "hidden" not in shown(document)


def test_sends_no_control_characters() -> None:
    blocks = (Paragraph("a \x1b[31m b"), Table("c \x07", ("d",), (("e \x9b",),)))
    document = page(*blocks, warnings=("w \x1b]0;x\x07",), notes=("n \x1b",))
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown(replace(document, answer="an \x1b[2J answer"))
    )


def test_counts_warnings_of_many() -> None:
    assert "… and 3 more warnings." in shown(
        page(warnings=tuple(f"{k}: {LONG_PROMPT}" for k in range(15)))
    )
