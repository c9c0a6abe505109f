"""Many tests at once: a q-value beside every p of a family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askew.stats.multiple import benjamini_hochberg
from askew.types import Estimate


def add_q(entries: Sequence[dict[str, Any]], key: str) -> None:
    """Give every estimate with a p-value at `key` of `entries`, one family, its Benjamini-Hochberg q."""
    add_q_at([(entry, key) for entry in entries])


def add_q_at(places: Sequence[tuple[dict[str, Any], str]]) -> None:
    """The same for a family whose estimates stand at other keys: pairs of a dictionary and its key."""
    tested = [(e, key) for e, key in places if isinstance(e[key], Estimate) and e[key].p is not None]
    if not tested:
        return
    for (entry, key), q in zip(tested, benjamini_hochberg(np.array([e[key].p for e, key in tested])), strict=True):
        entry[key] = replace(entry[key], q=float(q))


def by_instrument(entries: Sequence[dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> None:
    """q-values of the distances of the wanted `shares` or `differences`, one family per instrument."""
    for instrument in sorted({e["instrument"] for e in entries}):
        add_q([e for e in entries if e["instrument"] == instrument and wanted(e)], "distance")
