"""The occupations of the studio world.

They are all that the five papers name: BiasConnect's 26, BiasMap's 20, TIBET's 11, the 10 and 4 of the
study of downstream tasks, and MineTheGap's 40. The order is the planted one: the share of women at bias 1
rises evenly from .05 at the first to .95 at the last. It follows common stereotypes and says nothing about
any real trade. `place` and `attire` are where, and how formally, the planted model likes to show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askew.studio.paths import rows


@dataclass(frozen=True, slots=True)
class Occupation:
    """One occupation: its name, other words for it, and the planted leanings of its portraits."""

    name: str
    aliases: tuple[str, ...]
    place: str
    attire: str


OCCUPATIONS: Mapping[str, Occupation] = {
    name: Occupation(name, tuple(filter(None, aliases.split(", "))), place, attire)
    for name, aliases, place, attire in rows("occupations.txt")
}


def spread(count: int) -> list[str]:
    """Names of `count` occupations at even distances in the planted order, the first and the last among them."""
    names = list(OCCUPATIONS)
    return [names[round(k * (len(names) - 1) / max(1, count - 1))] for k in range(count)]
