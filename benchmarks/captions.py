"""Captions with a single statement, and occupations of the studio, for benchmarks."""

from __future__ import annotations

from askew.studio.caption import wordings
from askew.studio.scene import OCCUPATIONS


def phrase(attribute: str, value: str) -> str:
    """Return a caption that states a single value, in the first wording."""
    return wordings(attribute, value)[0]


def spread(count: int) -> list[str]:
    """Return occupations at equal distances in the planted order, including first and last.

    Parameters
    ----------
    count
        Number of occupations.
    """
    names = list(OCCUPATIONS)
    return [names[round(k * (len(names) - 1) / max(1, count - 1))] for k in range(count)]
