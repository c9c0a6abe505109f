"""The truth of the studio: which of two occupations the planted bias makes likelier, given what a group's name says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from askew.studio.caption import parse, phrase
from askew.studio.planted import joint

BIAS: Mapping[str, float] = {"studio": 1.0, "studio/balanced": 0.0}
"""The planted bias of each studio model that has a diffusion pipeline."""


def planted_preference(group: str, a: str, b: str, bias: float) -> float | None:
    """P(a | {a, b}, group): which occupation a fair observer of the planted world would think of, in [0, 1].

    Both occupations are as frequent. None where the studio does not know the group's or an occupation's words.
    """
    likely = [_likelihood(group, occupation, bias) for occupation in (a, b)]
    if likely[0] is None or likely[1] is None:
        return None
    return likely[0] / (likely[0] + likely[1])


@lru_cache(maxsize=4096)
def _likelihood(group: str, occupation: str, bias: float) -> float | None:
    """P(what the group's name says | occupation)."""
    said, meant = parse(group), parse(occupation).occupation
    if not said.attributes or said.unknown or said.occupation or meant is None:
        return None
    names = tuple(said.attributes)
    table = joint(phrase("occupation", meant), names, bias)
    return table[tuple(said.attributes[name] for name in names)]
