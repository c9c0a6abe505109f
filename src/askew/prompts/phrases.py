"""What the lexicon makes prompts from: groups of nouns found in the same places, and phrases that suit them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from askew.prompts.noun_phrases import NounPhrase
from askew.prompts.vocabulary import Noun, nouns, occupations, read_data

Side = Literal["indoors", "outdoors", "anywhere"]

ANYTHING = "anything"
"""The group of what belongs to no other."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words about a subject, the side of the door on which they are said, and whether they follow its noun at once."""

    words: str
    sort: str
    side: Side
    after_noun: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Nouns that are found in the same places. `varies` and `who` name axes of the catalogue."""

    name: str
    area: str
    nouns: tuple[str, ...]
    before: tuple[str, ...]
    phrases: tuple[Phrase, ...]
    varies: tuple[str, ...]
    who: tuple[str, ...]


@lru_cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(read_data("phrases.toml"))


@lru_cache
def styles() -> tuple[str, ...]:
    """Frames that show the same thing in another way, with colors."""
    return tuple(_data()["styles"])


@lru_cache
def monochrome() -> tuple[str, ...]:
    """Frames that show the same thing without colors."""
    return tuple(_data()["monochrome"])


@lru_cache
def topics(aspect: str) -> frozenset[str]:
    """What an aspect speaks about; itself if phrases.toml does not say."""
    return frozenset(name for name, aspects in _data()["topics"].items() if aspect in aspects) or frozenset((aspect,))


@lru_cache
def groups() -> Mapping[str, Group]:
    """All groups by name."""
    phrases = {name: tuple(_phrases(name, table)) for name, table in _data()["phrases"].items()}
    return {name: _group(name, table, phrases) for name, table in _data()["groups"].items()}


def group_of(phrase: NounPhrase | None) -> Group:
    """The group of a noun: its own, that of its nearest kin that has one, or that of its kind."""
    noun = phrase.noun if phrase else None
    if noun is None:
        return groups()[ANYTHING]
    if noun.kind == "person":
        return groups()["people"]
    for name in (noun.singular, *kin(noun)):
        if name in _group_by_noun():
            return groups()[_group_by_noun()[name]]
    return groups()["landscapes" if noun.kind in ("place", "nature") else ANYTHING]


def kin(noun: Noun) -> tuple[str, ...]:
    """The nouns nearest to this one in WordNet, the nearest first; () for one that WordNet does not know."""
    return _kin_table().get(noun.singular, ())


@lru_cache
def _kin_table() -> Mapping[str, tuple[str, ...]]:
    """See tools/build_kin.py."""
    table = {}
    for line in read_data("kin.txt").splitlines():
        if not line.startswith("#"):
            noun, _, near = line.partition(": ")
            table[noun] = tuple(near.split(", "))
    return table


@lru_cache
def _group_by_noun() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, group in groups().items():
        for noun in group.nouns:
            found.setdefault(noun, name)
    return found


def _phrases(sort: str, table: Mapping[str, Any]) -> Iterator[Phrase]:
    sides: tuple[Side, ...] = ("anywhere", "indoors", "outdoors")
    for side in sides:
        for words in table.get(side, ()):
            yield Phrase(words, sort.partition("_")[0], side, table.get("place") == "noun")


def _group(name: str, table: Mapping[str, Any], phrases: Mapping[str, tuple[Phrase, ...]]) -> Group:
    listed = [" ".join(noun.split()) for noun in table["nouns"].split(",") if noun.strip()]
    known = occupations() if listed == ["occupations"] else tuple(listed)
    unknown = [noun for noun in known if noun not in nouns()]
    if unknown:
        raise ValueError(f"phrases.toml: {name} lists what the lexicon does not know: {', '.join(unknown)}")
    return Group(
        name,
        table["area"],
        known,
        tuple(table["before"]),
        tuple(phrase for sort in table["phrases"] for phrase in phrases[sort]),
        tuple(table["varies"]),
        tuple(table.get("who", ())),
    )
