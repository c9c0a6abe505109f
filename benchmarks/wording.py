"""What benchmarks ask of the studio: captions of one thing each, and some of its occupations."""

from __future__ import annotations

from askew.studio.caption import wordings
from askew.studio.scene import OCCUPATIONS


def phrase(attribute: str, value: str) -> str:
    """A caption that says this one thing, in the first wording."""
    return wordings(attribute, value)[0]


def spread(count: int) -> list[str]:
    """Names of `count` occupations at even distances in the planted order, the first and the last
    among them.
    """
    names = list(OCCUPATIONS)
    return [names[round(k * (len(names) - 1) / max(1, count - 1))] for k in range(count)]
