"""The lexicon's words, and rules of English grammar for rewriting prompts.

The rules form plurals, choose articles, and make words agree in number.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

_NO_GENDER = ("human", "german", "roman", "norman", "ottoman", "shaman", "talisman", "fireman")
"""Words that end in "-man" but imply no gender. The studio uses "fireman" for any firefighter."""

NounKind = Literal["person", "animal", "object", "place", "nature", "event"]


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun, and the values that it implies.

    Attributes
    ----------
    singular, plural
        Singular and plural form.
    kind
        Kind of person or thing that the noun refers to.
    implies
        Values that the noun implies, keyed by axis. For example, "boy" implies the gender "male"
        and the age "young".
    counterparts
        For each axis, the noun that replaces this noun in a prompt that must state another value.
    """

    singular: str
    plural: str
    kind: NounKind
    implies: Mapping[str, str] = field(default_factory=dict)
    counterparts: Mapping[str, str] = field(default_factory=dict)


class _Entry(NamedTuple):
    """An entry in a word list; `tag` is the heading above it, or "" if there is none."""

    tag: str
    singular: str
    plural: str


def read_data(name: str) -> str:
    """Return the text of a data file in this package."""
    return (files("askew.prompts") / "data" / name).read_text(encoding="utf-8")


@lru_cache
def nouns() -> Mapping[str, Noun]:
    """Return all known nouns, keyed by their singular and plural forms in lower case.

    If two nouns share a form, the first noun is used.
    """
    table: dict[str, Noun] = {}
    for noun in _all_nouns():
        forms = [noun.singular, noun.plural]
        if noun.singular.endswith("person"):  # "sales persons" as well as "sales people"
            forms.append(f"{noun.singular}s")
        for form in forms:
            table.setdefault(form, noun)
    return table


def _all_nouns() -> Iterator[Noun]:
    """Yield the nouns in all word lists, in order of priority."""
    for line in _lines("people.txt"):
        yield _person(line)
    for entry in _entries("occupations.txt"):
        yield occupation_noun(entry.singular, entry.plural)
    for entry in _entries("animals.txt"):
        yield Noun(entry.singular, entry.plural, "animal")
    for entry in _entries("places.txt"):
        yield _place(entry)
    for entry in _entries("objects.txt"):
        yield Noun(entry.singular, entry.plural, "object")
    for entry in _entries("nature.txt"):
        yield Noun(entry.singular, entry.plural, "nature")
    for entry in _entries("further_people.txt"):
        yield Noun(entry.singular, entry.plural, "person")
    for entry in _entries("events.txt"):
        yield Noun(entry.singular, entry.plural, "event")


def _person(line: str) -> Noun:
    """Return the noun that a line in people.txt defines."""
    singular, many, gender, age, counterpart, ageless = (cell.strip() for cell in line.split("|"))
    implied = {"gender": gender, "age": age}
    counterparts = {"gender": counterpart, "age": ageless}
    return Noun(
        singular=singular,
        plural=many or plural(singular),
        kind="person",
        implies={axis: value for axis, value in implied.items() if value},
        counterparts={axis: noun for axis, noun in counterparts.items() if noun},
    )


def occupation_noun(singular: str, plural_form: str) -> Noun:
    """Return the noun for a person with an occupation; "-man" and "-woman" imply a gender."""
    implies = {"occupation": singular}
    counterparts = {"occupation": "person"}
    gendered = re.fullmatch(r"(.+?)(wo)?man", singular)
    if gendered and not singular.endswith(_NO_GENDER):
        stem = gendered.group(1)
        implies["gender"] = "female" if gendered.group(2) else "male"
        counterparts["gender"] = f"{stem}man" if gendered.group(2) else f"{stem}woman"
    return Noun(
        singular=singular,
        plural=plural_form,
        kind="person",
        implies=implies,
        counterparts=counterparts,
    )


def _place(entry: _Entry) -> Noun:
    implies = {"setting": entry.singular}
    if entry.tag in ("indoors", "outdoors", "landscape"):
        implies["environment"] = "indoors" if entry.tag == "indoors" else "outdoors"
    elif entry.tag in ("region", "elsewhere"):
        implies["geography"] = entry.singular
    kind: NounKind = "nature" if entry.tag in ("landscape", "elsewhere") else "place"
    return Noun(entry.singular, entry.plural, kind, implies)


@lru_cache
def adjectives() -> frozenset[str]:
    """Return the known adjectives."""
    return frozenset(entry.singular for entry in _entries("adjectives.txt"))


@lru_cache
def occupations() -> tuple[str, ...]:
    """Return all known occupations, in the singular."""
    return tuple(entry.singular for entry in _entries("occupations.txt"))


def _entries(name: str) -> Iterator[_Entry]:
    """Yield the entries in a file of comma-separated words."""
    tag = ""
    for text in re.sub(r"\n(?=\w+:)", ",", "\n".join(_lines(name))).split(","):
        word = " ".join(text.split())
        if ": " in word:
            tag, word = word.split(": ")
        singular, _, many = word.partition("/")
        if singular:
            yield _Entry(tag, singular, many or plural(singular))


def _lines(name: str) -> list[str]:
    """Return the lines in a data file, excluding comments and blank lines."""
    lines = read_data(name).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


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
"""Letters and digits whose names begin with a vowel sound: "an X-ray", "an HD photo"."""


def plural(noun: str) -> str:
    """Return the plural of a noun, which may consist of more than one word."""
    word = noun.split(" ")[-1]
    if word in _IRREGULAR:
        many = _IRREGULAR[word]
    elif word.endswith(("man", "woman")) and word not in ("human", "german", "roman", "shaman"):
        many = word[:-2] + "en"
    elif word.endswith("person"):
        many = word[:-6] + "people"
    elif re.search(r"(s|x|z|ch|sh)$", word):
        many = word + "es"
    elif re.search(r"[^aeiou]y$", word):
        many = word[:-1] + "ies"
    else:
        many = word + "s"
    return noun.removesuffix(word) + many


def article(words: str) -> str:
    """Return the article "a" or "an", depending on the sound of the first word."""
    word = re.match(r"\w*", words).group()  # type: ignore[union-attr]  # this matches anything
    if (word.isupper() and len(word) in (2, 3)) or word[:1] == "8":
        return "an" if word[0] in _SPOKEN_VOWEL else "a"
    return "an" if _VOWEL_SOUND.match(words) else "a"


def contains_word(text: str, word: str) -> bool:
    """Check whether a text contains a word as a whole word. Letter case does not matter."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def replace(text: str, start: int, end: int, words: str) -> str:
    """Replace `text[start:end]`, and correct the spaces and the article around the new words.

    The result has no double or trailing spaces, and an article before the new words agrees with
    them.

    Parameters
    ----------
    text
        Text to change.
    start, end
        Range of characters to replace.
    words
        New words; "" to remove the characters.

    Returns
    -------
    str
        The changed text.
    """
    before = text[:start]
    after = text[end:]
    if not words:
        closes = not after.strip() or bool(re.match(r"\s*[,.;:!?]", after))
        if closes:
            before = before.rstrip()
        if closes or not before[-1:].strip():
            after = after.lstrip()
    return _agreeing_article(before, words + after) + words + after


def _agreeing_article(before: str, following: str) -> str:
    """Adapt the final "a" or "an" of `before` to the text that follows, and return the result."""
    match = re.search(r"\b(an?)(\s+)$", before, re.I)
    if match is None:
        return before
    new_article = article(following)
    if match[1][0].isupper():
        new_article = new_article.capitalize()
    return before[: match.start()] + new_article + match[2]


def agree(phrase: str) -> str:
    """Convert a phrase about one person to a phrase about several people.

    "who is blind" becomes "who are blind", and "with a hat" becomes "with hats".
    """
    phrase = re.sub(r"^who is\b", "who are", phrase)
    match = re.search(r"\ban? (?=\S+( \S+)?$)", phrase)
    return phrase[: match.start()] + plural(phrase[match.end() :]) if match else phrase
