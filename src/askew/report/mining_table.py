"""What a search found, as a table for a terminal of 80 columns."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.formatting import Record, measured, probability, shorten
from askew.report.mining import by_fresh_score
from askew.report.mining_sentences import headline, random_sentence, score
from askew.report.reading import is_estimate

ROWS = 12


def mining_table(results: Record) -> RenderableType:
    """The prompts found, the lowest loss on fresh seeds first, and how they compare with random ones."""
    section = results["minethegap"]
    parts: list[RenderableType] = [Text(headline(results), style="bold"), _table(section)]
    if section["random"]:
        parts.append(Text(random_sentence(results)))
    return Group(*parts)


def _table(section: Record) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("prompt", overflow="fold")
    for header in ("found", "fresh seeds", "chance", "q"):
        table.add_column(header, justify="right", no_wrap=True)
    for entry in by_fresh_score(section["best"])[:ROWS]:
        found, fresh = entry["score"], entry["fresh_score"]
        table.add_row(
            Text(shorten(entry["prompt"], 60)),
            score(found.get("value")),
            measured(fresh, score) if is_estimate(fresh) else "–",
            score(fresh.get("null")),
            probability(fresh.get("q")),
        )
    return table
