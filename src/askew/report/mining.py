"""Reading the results of a search: which prompts come first, which search is shown, and what its scores say."""

from __future__ import annotations

from collections.abc import Sequence

from askew.report.formatting import Record
from askew.report.reading import exceeds_chance, is_estimate

BIAS = "bias"


def is_bias(section: Record) -> bool:
    """Whether the search was for bias, not for any other objective."""
    return bool(section["objective"] == BIAS)


def by_fresh_score(best: Sequence[Record]) -> list[Record]:
    """The prompts found, each once, the lowest loss on fresh seeds first, those without a score last."""
    ordered = sorted(best, key=lambda entry: entry["fresh_score"].get("value", float("inf")))
    first: dict[str, Record] = {}
    for entry in ordered:
        first.setdefault(entry["prompt"], entry)
    return list(first.values())


def shown_run(section: Record) -> int:
    """The search whose course is drawn: the one that found the first prompt."""
    ordered = by_fresh_score(section["best"])
    return int(ordered[0]["run"]) if ordered else 0


def one_sided(best: Sequence[Record]) -> list[Record]:
    """The prompts found that score lower on fresh seeds than chance explains."""
    return [e for e in by_fresh_score(best) if is_estimate(e["fresh_score"]) and exceeds_chance(e["fresh_score"])]


def evaluated(section: Record) -> int:
    """How many prompts the searches evaluated."""
    return sum(len(entry["prompts"]) for entry in section["history"])
