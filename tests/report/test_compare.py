from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import html5lib
import pytest
from rich.console import Console

from askew.report.compare import ComparedModel, CompareReading
from askew.report.compare_page import render_comparison, write_comparison
from askew.report.compare_sentences import change_sentence, pair_sentence
from askew.report.compare_table import comparison_table
from askew.report.formatting import measured, points

Comparison = tuple[list[ComparedModel], list[dict[str, Any]], list[str]]
Named = Callable[[str], Comparison]


def tree_of(comparison: Comparison) -> Any:
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(render_comparison(*comparison))


def printed(comparison: Comparison, color: bool = False) -> str:
    console = Console(file=StringIO(), width=80, force_terminal=color, color_system="standard" if color else None)
    console.print(comparison_table(*comparison))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_table_fits_80_columns(any_comparison: Comparison) -> None:
    assert max(map(len, printed(any_comparison).splitlines())) <= 80


def test_the_table_begins_with_the_answer_and_has_no_colours(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    reading = CompareReading(*comparison)
    text = " ".join(printed(comparison).split())
    assert text.startswith(pair_sentence(reading, reading.pairs[0]))
    coloured = printed(comparison, color=True)
    assert "\x1b[1m" in coloured
    assert not any(f"\x1b[{code}" in coloured for code in range(30, 38))


def test_what_differs_beyond_chance_comes_first_then_the_largest(comparison_named: Named) -> None:
    reading = CompareReading(*comparison_named("comparison"))
    changes = reading.changes(reading.pairs[0])
    keys = [(not change.differs, -change.size) for change in changes]
    assert keys == sorted(keys)
    assert len(changes) == 9
    assert all(change.lean["score"] == "mad" for change in changes if change.lean)


@pytest.mark.parametrize("name", ["comparison", "comparison of folders", "comparison of six"])
def test_the_share_that_is_called_the_largest_is(comparison_named: Named, name: str) -> None:
    reading = CompareReading(*comparison_named(name))
    for pair in reading.pairs:
        differing = [change.share["difference"] for change in reading.changes(pair) if change.differs and change.share]
        if len(differing) > 1:
            largest = max(differing, key=lambda difference: abs(difference["value"]))
            assert differing[0] == largest
            text = pair_sentence(reading, pair)
            assert f"{measured(largest, points)} points" in text.split("The largest of these differences")[1]


def test_folders_lean_by_distance(comparison_named: Named) -> None:
    reading = CompareReading(*comparison_named("comparison of folders"))
    changes = reading.changes(reading.pairs[0])
    assert {change.lean["score"] for change in changes if change.lean} == {"distance"}
    assert {change.set for change in changes} == {"condition: baseline", "condition: controlled"}
    assert not reading.is_paired


def test_pictures_of_one_seed_stand_together(comparison_named: Named) -> None:
    comparison = comparison_named("comparison of six")
    stacks = tree_of(comparison).findall(".//ol[@class='stacks']")
    assert stacks
    first = stacks[0].findall("li")
    assert [len(column.findall("img")) for column in first] == [6] * len(first)
    assert [image.get("alt") for image in first[2].findall("img")] == [f"Picture 3 of {x}" for x in "ABCDEF"]


def test_a_missing_picture_leaves_its_place_empty(comparison_named: Named) -> None:
    comparison = comparison_named("comparison")
    picture_set = comparison[0][1].results["sets"][0]
    picture_set["pictures"][1] = picture_set["seeds"][1] = None
    column = tree_of(comparison).find(".//ol[@class='stacks']").findall("li")[1]
    assert len(column.findall("img")) == 1
    assert column.find("span[@role='img']").get("aria-label") == "Picture 2 of B is missing"


def test_without_common_seeds_pictures_stand_by_run(comparison_named: Named) -> None:
    tree = tree_of(comparison_named("comparison of folders"))
    assert tree.find(".//ol[@class='stacks']") is None
    assert len(tree.findall(".//div[@class='grid']")) >= 3


def test_sections_come_in_order(any_comparison: Comparison) -> None:
    headings = [h.get("id") for h in tree_of(any_comparison).iter("h2")]
    assert headings == ["where", "pictures", "missing", "reading", "method", "runs"]


def test_what_was_not_measured_says_why_and_is_no_number(comparison_named: Named) -> None:
    comparison = comparison_named("comparison of nothing")
    reading = CompareReading(*comparison)
    (change,) = reading.changes(reading.pairs[0])
    assert "no person" in change_sentence(reading, reading.pairs[0], change)
    assert "could not be compared" in pair_sentence(reading, reading.pairs[0])
    assert "0.00" not in printed(comparison)


def test_a_lean_is_settled_only_if_the_interval_says_so(comparison_named: Named) -> None:
    reading = CompareReading(*comparison_named("comparison"))
    pair = reading.pairs[0]
    change = next(c for c in reading.changes(pair) if c.differs and c.lean and c.lean["difference"]["q"] < 0.05)
    assert change.lean is not None
    change.lean["difference"].update(value=-0.2, low=-0.3, high=-0.1)
    assert "B is less one-sided than A." in change_sentence(reading, pair, change)
    change.lean["difference"].update(low=-0.3, high=0.1)
    assert "not settled" in change_sentence(reading, pair, change)
    change.lean["difference"].update(value=0.2, low=0.1)
    assert "B is more one-sided than A." in change_sentence(reading, pair, change)


@pytest.mark.parametrize("name", ["comparison", "comparison of folders"])
def test_the_same_comparison_gives_the_same_bytes(
    comparison_named: Named, name: str, report_pages: dict[str, Path], tmp_path: Path
) -> None:
    again = write_comparison(*comparison_named(name), tmp_path / "again.html")
    assert again.read_bytes() == report_pages[name].read_bytes()


def test_hostile_names_stay_text(report_pages: dict[str, Path]) -> None:
    source = report_pages["hostile comparison"].read_text(encoding="utf-8")
    assert "<script" not in source
    assert source.count("</style>") == 1
    assert "\x1b" not in source
