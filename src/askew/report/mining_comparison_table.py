"""A comparison of searches as tables for a terminal of 80 columns."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.formatting import Record, measured, probability, shorten
from askew.report.mining_comparison import MiningComparisonReading, headline, own_sentence
from askew.report.mining_sentences import score
from askew.report.reading import exceeds_chance

NAME = 30
"""Characters of a model's name."""

COLUMNS = 4
"""Sets of prompts that a table of 80 columns has room for."""


def mining_comparison_table(results: Record) -> RenderableType:
    """The answer, the ranking with each model's score on every set, and the differences over all prompts."""
    reading = MiningComparisonReading(results)
    parts: list[RenderableType] = [Text(headline(reading), style="bold"), _scores(reading)]
    if own := own_sentence(reading):
        parts += [Text(own), Text()]
    return Group(*parts, _differences(reading))


def _scores(reading: MiningComparisonReading) -> Table:
    shown = reading.sets[:COLUMNS] if len(reading.sets) > 1 else []
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(reading.vary or "model", overflow="fold", max_width=NAME)
    table.add_column("all prompts", justify="right", no_wrap=True)
    for k, _ in enumerate(shown):
        table.add_column(f"for {k + 1}", justify="right", no_wrap=True)
    for entry in reading.ranking:
        cells = [score(reading.cell(entry["model"], name)["score"].get("value")) for name in shown]
        table.add_row(Text(shorten(entry["model"], 2 * NAME)), measured(entry["score"], score), *cells)
    if shown:
        table.caption = Text("; ".join(f"{k + 1}: mined for {shorten(n, NAME)}" for k, n in enumerate(shown)))
    return table


def _differences(reading: MiningComparisonReading) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("less", overflow="fold", max_width=NAME)
    table.add_column("from", overflow="fold", max_width=NAME - 10)
    for header in ("difference", "q"):
        table.add_column(header, justify="right", no_wrap=True)
    for entry in reading.differences():
        first, second = entry["models"]
        difference = entry["difference"]
        style = "bold" if exceeds_chance(difference) else ""
        table.add_row(
            *(Text(cell, style=style) for cell in (
                shorten(first, 2 * NAME), shorten(second, 2 * NAME), measured(difference, score),
                probability(difference.get("q")),
            ))
        )  # fmt: skip
    return table
