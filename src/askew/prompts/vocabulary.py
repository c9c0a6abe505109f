"""The words that the lexicon knows, and what English rewriting a prompt needs: plurals, articles,
agreement.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Literal

NounKind = Literal["person", "animal", "object", "place", "nature"]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun, what saying it settles ("boy": gender male, age young), and the nouns that leave that
    open.

    `counterparts` maps an axis to the noun to take when another value of that axis is wanted.
    """

    singular: str
    plural: str
    kind: NounKind
    implies: Mapping[str, str] = field(default_factory=dict)
    counterparts: Mapping[str, str] = field(default_factory=dict)


def read_data(name: str) -> str:
    """The text of a data file of this package."""
    return (files("askew.prompts") / "data" / name).read_text(encoding="utf-8")


@lru_cache
def nouns() -> Mapping[str, Noun]:
    """Every known noun by its lower-case forms, singular and plural. The first entry of a form
    wins.
    """
    found = []
    for line in _lines("people.txt"):
        one, many, gender, age, counterpart, ageless = (cell.strip() for cell in line.split("|"))
        says = {axis: value for axis, value in (("gender", gender), ("age", age)) if value}
        swap = {axis: noun for axis, noun in (("gender", counterpart), ("age", ageless)) if noun}
        found.append(Noun(one, many or plural(one), "person", says, swap))
    for _, one, many in _entries("occupations.txt"):
        found.append(Noun(one, many, "person", {"occupation": one}, {"occupation": "person"}))
    found += [Noun(one, many, "animal") for _, one, many in _entries("animals.txt")]
    for tag, one, many in _entries("places.txt"):
        says = {"setting": one}
        if tag in ("indoors", "outdoors", "landscape"):
            says["environment"] = "indoors" if tag == "indoors" else "outdoors"
        elif tag in ("region", "elsewhere"):
            says["geography"] = one
        found.append(
            Noun(one, many, "nature" if tag in ("landscape", "elsewhere") else "place", says)
        )
    found += [Noun(one, many, "object") for _, one, many in _entries("objects.txt")]
    found += [Noun(one, many, "nature") for _, one, many in _entries("nature.txt")]
    table: dict[str, Noun] = {}
    for noun in found:
        other = (
            [f"{noun.singular}s"] if noun.singular.endswith("person") else []
        )  # "sales persons", "sales people"
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
    return [
        line for line in read_data(name).splitlines() if line.strip() and not line.startswith("#")
    ]


_IRREGULAR = {
    "person": "people",
    "child": "children",
    "foot": "feet",
    "tooth": "teeth",
    "half": "halves",
}
_VOWEL_SOUND = re.compile(
    r"(?!eu|ew|uni(?!n|m)|use|usu|uti|ura|ubi|one\b|once\b|u\b)[aeiou]|hour|honest|honou?r|heir",
    re.I,
)
_SPOKEN_VOWEL = frozenset("AEFHILMNORSX8")
"""Letters and the digit whose names begin with a vowel sound: "an X-ray", "an HD photo"."""


def plural(noun: str) -> str:
    """The plural of a noun, by its last word."""
    word = noun.split(" ")[-1]
    if word in _IRREGULAR:
        many = _IRREGULAR[word]
    elif word.endswith(("man", "woman")) and word not in ("human", "german", "roman", "shaman"):
        many = word[:-2] + "en"
    elif word.endswith("person"):
        many = word[:-6] + "people"
    elif re.search(r"(s|x|z|ch|sh)$", word):
        many = word + "es"
    else:
        many = word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"
    return noun.removesuffix(word) + many


def article(words: str) -> str:
    """ "a" or "an", as the first word sounds."""
    word = re.match(r"\w*", words).group()  # type: ignore[union-attr]  # this matches anything
    if (word.isupper() and len(word) in (2, 3)) or word[:1] == "8":
        return "an" if word[0] in _SPOKEN_VOWEL else "a"
    return "an" if _VOWEL_SOUND.match(words) else "a"


def replace(text: str, start: int, end: int, words: str) -> str:
    """`text` with `words` in the place of `text[start:end]`, no double or dangling space, and an
    article that fits.
    """
    before = text[:start]
    after = text[end:]
    if not words:
        closes = not after.strip() or bool(re.match(r"\s*[,.;:!?]", after))
        before = before.rstrip() if closes else before
        after = after.lstrip() if closes or not before[-1:].strip() else after
    found = re.search(r"\b(an?)(\s+)$", before, re.I)
    if found:
        wanted = article(words + after)
        before = (
            before[: found.start()]
            + (wanted.capitalize() if found[1][0].isupper() else wanted)
            + found[2]
        )
    return before + words + after


def agree(phrase: str) -> str:
    """A phrase about one, said of several: "who is blind" -> "who are blind", "with a hat" -> "with
    hats".
    """
    phrase = re.sub(r"^who is\b", "who are", phrase)
    found = re.search(r"\ban? (?=\S+( \S+)?$)", phrase)
    return phrase[: found.start()] + plural(phrase[found.end() :]) if found else phrase
