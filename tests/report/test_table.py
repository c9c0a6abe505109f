from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

from rich.console import Console

from askew.report import headline, terminal_table
from askew.report.formatting import axis_label, capital
from askew.report.reading import Reading, ranked_axes

Results = dict[str, Any]


def printed(results: Results, width: int = 80, color: bool = False) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=color, color_system="standard" if color else None)
    console.print(terminal_table(results))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_every_case_fits_80_columns(any_results: Results) -> None:
    text = printed(any_results)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_numbers_are_whole_at_80_columns(results_of: Callable[[str], Results]) -> None:
    text = printed(results_of("folder"))
    assert "…" not in text
    assert "[−0.06, 0.06]" in text


def test_the_order_is_that_of_the_report(results_of: Callable[[str], Results]) -> None:
    results = results_of("one prompt")
    labels = [capital(axis_label(name)) for name, _ in ranked_axes(results["tibet"][0])]
    lines = printed(results).splitlines()
    found = [next(k for k, line in enumerate(lines) if line.startswith(f"{label}  ")) for label in labels]
    assert found == sorted(found)
    prompts = [entry["prompt"] for entry in Reading(results_of("many prompts")).tibet]
    places = [printed(results_of("many prompts")).index(f"\n{prompt}") for prompt in prompts]
    assert places == sorted(places)


def test_it_starts_with_the_answer(results_of: Callable[[str], Results]) -> None:
    text = " ".join(printed(results_of("one axis")).split())
    assert text.startswith(headline(results_of("one axis")))


def test_missing_scores_say_why(results_of: Callable[[str], Results]) -> None:
    text = printed(results_of("all missing"))
    assert "no person" in text
    assert "Missing: 144 pictures" in text
    assert "0.00" not in text


def test_only_what_exceeds_chance_is_bold_and_nothing_has_a_colour(results_of: Callable[[str], Results]) -> None:
    text = printed(results_of("one prompt"), color=True)
    assert "\x1b[1m" in text
    assert not any(f"\x1b[{code}" in text for code in range(30, 38))


def test_brackets_in_names_are_no_markup(results_of: Callable[[str], Results]) -> None:
    results = results_of("many prompts")
    for part in ("tibet", "sets", "shares"):
        for entry in results[part]:
            entry["prompt"] = entry["prompt"].replace("a photo", "[bold]a photo[/bold]")
    assert "[bold]a photo[/bold]" in printed(results)
