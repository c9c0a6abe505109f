"""Results in plain language. What is said never goes further than the q-value and the interval allow."""

from __future__ import annotations

from askew.report.formatting import (
    Record,
    axis_label,
    capital,
    plural,
    probability,
    quote,
    shorten,
)
from askew.report.reading import (
    SIGNIFICANCE,
)


def missing_pictures_sentence(entry: Record) -> str | None:
    """On which value of an axis pictures are missing most often, None if chance would do the same."""
    if entry["q"] >= SIGNIFICANCE:
        return None
    counts = entry["counts"]
    rates = {value: count["missing"] / count["planned"] for value, count in counts.items()}
    often, seldom = (
        f"{shorten(value, 40)} ({counts[value]['missing']} of {counts[value]['planned']})"
        for value in (max(rates, key=lambda v: rates[v]), min(rates, key=lambda v: rates[v]))
    )
    return (
        f"{capital(axis_label(entry['axis']))}: {_hidden(entry)} are missing more often for "
        f"{often} than for {seldom}; {probability(entry['q'], 'q')}. "
        "What is missing may differ from what is left, and no score can correct that."
    )


def missing_lines(results: Record) -> list[str]:
    """How many pictures are missing, and where more often than elsewhere; nothing if all are there."""
    missing = sum(sum((s.get("missing") or {}).values()) for s in results["sets"])
    uneven = map(missing_pictures_sentence, results.get("missing_pictures") or ())
    counted = [f"Missing: {plural(missing, 'picture')}; the report says which and why."] if missing else []
    return counted + [f"Warning: {sentence}" for sentence in uneven if sentence]


def _hidden(entry: Record) -> str:
    if entry["prompt"] is not None:
        return f"pictures of {quote(entry['prompt'])}"
    towards = entry["targets"]
    return "sources" if towards is None else f"edits towards {shorten(towards, 30)}, any of a source,"


def set_label(name: str) -> str:
    """A picture set in words: "the initial pictures", or its condition."""
    return "the initial pictures" if name == "initial" else shorten(name.removeprefix("condition: "), 60)
