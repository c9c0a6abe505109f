"""The words that the lexicon knows: people, occupations, animals, places, objects and nature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from askew.prompts.grammar import plural

NounKind = Literal["person", "animal", "object", "place", "nature"]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun, what saying it settles ("boy": gender male, age young), and the nouns that leave that open.

    `swap` maps an axis to the noun to take when another value of that axis is wanted.
    """

    singular: str
    plural: str
    kind: NounKind
    says: Mapping[str, str] = field(default_factory=dict)
    swap: Mapping[str, str] = field(default_factory=dict)


def read_data(name: str) -> str:
    """The text of a data file of this package."""
    return (files("askew.prompts") / "data" / name).read_text(encoding="utf-8")


@lru_cache
def nouns() -> Mapping[str, Noun]:
    """Every known noun by its lower-case forms, singular and plural. The first entry of a form wins."""
    found = [*_people()]
    for _, one, many in _entries("occupations.txt"):
        found.append(Noun(one, many, "person", {"occupation": one}, {"occupation": "person"}))
    found += [Noun(one, many, "animal") for _, one, many in _entries("animals.txt")]
    found += [_place(*entry) for entry in _entries("places.txt")]
    found += [Noun(one, many, "object") for _, one, many in _entries("objects.txt")]
    found += [Noun(one, many, "nature") for _, one, many in _entries("nature.txt")]
    table: dict[str, Noun] = {}
    for noun in found:
        other = [f"{noun.singular}s"] if noun.singular.endswith("person") else []  # "sales persons", "sales people"
        for form in (noun.singular, noun.plural, *other):
            table.setdefault(form, noun)
    return table


@lru_cache
def adjectives() -> frozenset[str]:
    """Known adjectives."""
    return frozenset(word for _, word, _ in _entries("adjectives.txt"))


@lru_cache
def occupations() -> tuple[str, ...]:
    """Every known occupation, in the singular."""
    return tuple(one for _, one, _ in _entries("occupations.txt"))


def _people() -> Iterator[Noun]:
    for line in _lines("people.txt"):
        one, many, gender, age, counterpart, ageless = (cell.strip() for cell in line.split("|"))
        says = {axis: value for axis, value in (("gender", gender), ("age", age)) if value}
        swap = {axis: noun for axis, noun in (("gender", counterpart), ("age", ageless)) if noun}
        yield Noun(one, many or plural(one), "person", says, swap)


def _place(tag: str, one: str, many: str) -> Noun:
    says = {"setting": one}
    if tag in ("indoors", "outdoors", "landscape"):
        says["environment"] = "indoors" if tag == "indoors" else "outdoors"
    elif tag in ("region", "elsewhere"):
        says["geography"] = one
    return Noun(one, many, "nature" if tag in ("landscape", "elsewhere") else "place", says)


def _entries(name: str) -> Iterator[tuple[str, str, str]]:
    """(tag, singular, plural) of each entry in a file of comma-separated words."""
    tag = ""
    for entry in re.sub(r"\n(?=\w+:)", ",", "\n".join(_lines(name))).split(","):
        word = " ".join(entry.split())
        if ": " in word:
            tag, word = word.split(": ")
        one, _, many = word.partition("/")
        if one:
            yield tag, one, many or plural(one)


def _lines(name: str) -> list[str]:
    return [line for line in read_data(name).splitlines() if line.strip() and not line.startswith("#")]
