"""What the lexicon makes prompts from: groups of nouns found in the same places, and phrases that suit them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from askew.prompts.axes import Form, find_entry
from askew.prompts.noun_phrases import NounPhrase
from askew.prompts.vocabulary import Noun, nouns, occupations, read_data

Side = Literal["indoors", "outdoors", "anywhere"]

SIDES: tuple[Side, ...] = ("anywhere", "indoors", "outdoors")

STYLE, MONOCHROME = "style", "monochrome"

ANYTHING = "anything"
"""The group of what belongs to no other."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What may be said of a subject: a value of the axis `aspect`, or else a phrase, or a frame such as "a sketch"."""

    aspect: str
    form: Form
    side: Side = "anywhere"
    value: str | None = None

    @property
    def is_phrase(self) -> bool:
        """Whether it is words about a subject that state no value."""
        return self.value is None and self.form.place != "frame"


@dataclass(frozen=True, slots=True)
class Group:
    """Nouns that are found in the same places. `varies` and `who` name axes of the catalogue.

    `details` is all that may be said of them, whatever a prompt says.
    """

    name: str
    area: str
    nouns: tuple[str, ...]
    before: tuple[str, ...]
    details: tuple[Detail, ...]
    varies: tuple[str, ...]
    who: tuple[str, ...]


@lru_cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(read_data("phrases.toml"))


@lru_cache
def topics(aspect: str) -> frozenset[str]:
    """What an aspect speaks about; itself if phrases.toml does not say."""
    return frozenset(name for name, aspects in _data()["topics"].items() if aspect in aspects) or frozenset((aspect,))


@lru_cache
def groups() -> Mapping[str, Group]:
    """All groups by name."""
    found = {}
    for name, table in _data()["groups"].items():
        listed = [" ".join(noun.split()) for noun in table["nouns"].split(",") if noun.strip()]
        if listed == ["occupations"]:  # a police officer, but no "a police"
            listed = [noun for noun in occupations() if nouns()[noun].plural != noun]
        if unknown := [noun for noun in listed if noun not in nouns()]:
            raise ValueError(f"phrases.toml: {name} lists what the lexicon does not know: {', '.join(unknown)}")
        before, varies, who = (tuple(table.get(key, ())) for key in ("before", "varies", "who"))
        details = _details(table["phrases"], tuple(dict.fromkeys((*who, *varies))))
        found[name] = Group(name, table["area"], tuple(listed), before, tuple(details), varies, who)
    return found


def _details(sorts: Sequence[str], axes: Sequence[str]) -> Iterator[Detail]:
    """Phrases, then values of axes, then frames; a phrase that an axis says is the axis's."""
    said = {form.words for axis in axes for form in find_entry(axis).spoken.values()}
    for sort in sorts:
        table = _data()["phrases"][sort]
        place: Literal["after", "clause"] = "after" if table.get("place") == "noun" else "clause"
        for side in SIDES:
            for words in table.get(side, ()):
                if words not in said:
                    yield Detail(sort.partition("_")[0], Form(place, words), side)
    for axis in axes:
        for value, form in find_entry(axis).spoken.items() if axis != STYLE else ():
            yield Detail(axis, form, next((side for side in SIDES if side == value), "anywhere"), value)
    for aspect, key in ((STYLE, "styles"), (MONOCHROME, "monochrome")) if STYLE in axes else ():
        yield from (Detail(aspect, Form("frame", words)) for words in _data()[key])


def group_of(phrase: NounPhrase | None) -> Group:
    """The group of a noun: its own, that of its nearest kin that has one, or that of its kind."""
    noun = phrase.noun if phrase else None
    if noun is None:
        return groups()[ANYTHING]
    if noun.kind == "person":
        return groups()["people"]
    for name in (noun.singular, *kin(noun)):
        if name in _group_by_noun():
            return _group_by_noun()[name]
    return groups()["landscapes" if noun.kind in ("place", "nature") else ANYTHING]


def kin(noun: Noun) -> tuple[str, ...]:
    """The nouns nearest to this one in WordNet, the nearest first; () for one that WordNet does not know."""
    near = _kin_table().get(noun.singular)
    return tuple(near.split(", ")) if near else ()


@lru_cache
def _kin_table() -> Mapping[str, str]:
    """See tools/build_kin.py."""
    lines = (line for line in read_data("kin.txt").splitlines() if not line.startswith("#"))
    return dict(line.split(": ") for line in lines)


@lru_cache
def _group_by_noun() -> Mapping[str, Group]:
    """By noun, the first group that lists it."""
    return {noun: group for group in reversed([*groups().values()]) for noun in group.nouns}
