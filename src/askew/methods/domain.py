"""TIBET over a domain of prompts (section 5.2): mean CAS per value, and its difference between values per prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from askew.types import Axis, Estimate


def domain(entries: Sequence[dict[str, Any]], axes: Sequence[Sequence[Axis]], level: float) -> list[dict[str, Any]]:
    """Entries of `domain` in results.json, one per axis that at least two prompts share with the same values.

    `entries` are those of `tibet`, `axes` the axes of each, in the same order.
    """
    shared: dict[tuple[str, tuple[str, ...]], list[dict[str, Any]]] = {}
    for entry, own in zip(entries, axes, strict=True):
        for axis in own:
            scores = entry["axes"].get(axis.name)
            if scores is not None and all(isinstance(e, Estimate) for e in scores["cas"].values()):
                shared.setdefault((axis.name, tuple(scores["cas"])), []).append(entry)
    return [_axis(name, values, rows, level) for (name, values), rows in shared.items() if len(rows) > 1]


def _axis(name: str, values: tuple[str, ...], rows: Sequence[dict[str, Any]], level: float) -> dict[str, Any]:
    cas = {value: _mean([row["axes"][name]["cas"][value].value for row in rows], level) for value in values}
    pairs = [row["axes"][name]["difference"] for row in rows]
    differences = [
        {"prompt": row["prompt"], "values": list(values[:2]), "estimate": estimate}
        for row, estimate in zip(rows, pairs, strict=True)
        if isinstance(estimate, Estimate)
    ]
    return {"axis": name, "cas": cas, "differences": differences}


def _mean(scores: Sequence[float], level: float) -> Estimate:
    """Mean over the prompts of a domain with Student's t interval; prompts are the sample."""
    mean, error = float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
    reach = float(stats.t.ppf((1 + level) / 2, len(scores) - 1)) * error
    return Estimate(mean, mean - reach, mean + reach, level, "t over prompts", len(scores))
