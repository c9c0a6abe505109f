"""Detection of the values that a text states, based on the meanings of its words.

Language models write "elderly" or "in her seventies" where the catalog writes "old". The words for
a value come from the catalog, from meanings.toml, and from nouns that imply the value ("woman").
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from askew.prompts.axes import OTHER, CatalogueAxis, catalogue
from askew.prompts.vocabulary import nouns

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset("a an the".split())
_MAX_NOUN_WORDS = 3
"""Maximum number of words in a noun that can be a value."""

_AXES_OF_NOUNS = ("gender", "age")
"""Axes whose values are stated by nouns for people, such as "woman" and "child"."""

_MEANINGS: Mapping[str, Any] = tomllib.loads(
    (files("askew.prompts") / "meanings.toml").read_text(encoding="utf-8")
)


class Token(NamedTuple):
    """A word in lower case, and its range of characters in a text."""

    text: str
    start: int
    end: int


class ValueMention(NamedTuple):
    """The words in a text that state a value.

    Attributes
    ----------
    value
        The value, in the catalog's spelling if the catalog lists it.
    start, end
        Range of characters that the words occupy.
    """

    value: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Return the words of a text, without articles. A hyphen separates two words."""
    words = [
        Token(text=match.group().lower(), start=match.start(), end=match.end())
        for match in _TOKEN.finditer(text)
    ]
    return [word for word in words if word.text not in _ARTICLES]


def find_mentions(axis: str, text: str) -> list[ValueMention]:
    """Find the words in a text that state known values of an axis.

    If more than one value matches at a position, the longest match is used.

    Parameters
    ----------
    axis
        Name of an axis in the catalog.
    text
        Any text.

    Returns
    -------
    list[ValueMention]
        The mentions of values, in the order of the text. They do not overlap.
    """
    words = tokens(text)
    spellings = _spellings(axis)
    longest = max(map(len, spellings), default=0)
    mentions = []
    index = 0
    while index < len(words):
        length = _matching_length(words, index, spellings, longest)
        if length:
            part = words[index : index + length]
            value = spellings[tuple(word.text for word in part)]
            mentions.append(ValueMention(value=value, start=part[0].start, end=part[-1].end))
        index += length or 1
    return mentions


def _matching_length(
    words: Sequence[Token], index: int, spellings: Collection[tuple[str, ...]], longest: int
) -> int:
    """Return the number of words in the longest value at an index; 0 if there is no value."""
    for length in range(longest, 0, -1):
        spelling = tuple(word.text for word in words[index : index + length])
        if len(spelling) == length and spelling in spellings:
            return length
    return 0


def find_words(value: str, text: str) -> ValueMention | None:
    """Return a part of a text that contains all words of a value; None if a word is missing."""
    words = tokens(text)
    matches = []
    for needed in tokens(value):
        alike = [word for word in words if is_alike(needed.text, word.text)]
        if not alike:
            return None
        matches.append(alike[0])
    if not matches:
        return None
    start = min(word.start for word in matches)
    return ValueMention(value=value, start=start, end=max(word.end for word in matches))


def canonical_value(axis: str, value: str) -> str:
    """Return the catalog's spelling of a value, such as "old" for "elderly" (axis `age`).

    Parameters
    ----------
    axis
        Name of an axis, which need not be in the catalog.
    value
        A value in lower case.

    Returns
    -------
    str
        The value as spelled in the catalog or in meanings.toml. A text that is in neither of
        these sources, or that states more than one value, is returned unchanged.
    """
    if axis not in catalogue() or value in catalogue()[axis].axis.values:
        return value
    values = {mention.value for mention in find_mentions(axis, value)}
    return values.pop() if len(values) == 1 else value


def is_known_value(axis: str, value: str) -> bool:
    """Check whether a text contains words for a known value of the axis, or a suitable noun."""
    if find_mentions(axis, value):
        return True
    kinds = set(_meaning(axis).get("kinds", ()))
    return any(noun_kind in kinds for noun_kind in _noun_kinds(value))


def is_closed(axis: str) -> bool:
    """Check whether askew should doubt unknown values of this axis."""
    return axis in catalogue() and bool(_meaning(axis).get("closed"))


def value_kinds(axis: str) -> frozenset[str]:
    """Return the kinds of nouns that can be values of an axis, such as places for "setting"."""
    return frozenset(_meaning(axis).get("kinds", ()))


def is_alike(first: str, second: str) -> bool:
    """Check whether two words are equal or differ only in their endings: "rain" and "rainy"."""
    short, long = sorted((first, second), key=len)
    if first == second:
        return True
    return len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 3


def _meaning(axis: str) -> Mapping[str, Any]:
    meaning: Mapping[str, Any] = _MEANINGS.get(axis, {})
    return meaning


def _noun_kinds(text: str) -> Iterator[str]:
    """Yield the kinds of the known nouns in a text."""
    words = [word.text for word in tokens(text)]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _MAX_NOUN_WORDS, len(words)) + 1):
            noun = nouns().get(" ".join(words[start:end]))
            if noun:
                yield noun.kind


@lru_cache
def _spellings(axis: str) -> Mapping[tuple[str, ...], str]:
    """Map spellings of an axis's values to the values; the catalog's spellings take precedence."""
    table: dict[tuple[str, ...], str] = {}
    for words, value in _worded_values(axis, catalogue()[axis]):
        spelling = tuple(token.text for token in tokens(words))
        if spelling:
            table.setdefault(spelling, value)
    return table


def _worded_values(axis: str, entry: CatalogueAxis) -> Iterator[tuple[str, str]]:
    """Yield pairs (words, value), in which the words state the value."""
    meaning = _meaning(axis)
    for value in entry.axis.values:
        yield value, value
        yield from ((words, value) for words in entry.synonyms.get(value, ()))
        yield entry.forms[value].words.removeprefix("who is "), value
        yield entry.plain_forms[value].words, value
    for section in ("says", "known"):
        for value, spellings in meaning.get(section, {}).items():
            yield from ((words, value) for words in spellings)
    yield from ((words, words) for words in entry.synonyms.get(OTHER, ()))
    if meaning.get("by_nation"):
        yield from ((nation, nation) for nation in _MEANINGS["nations"]["demonyms"].split())
    if axis in _AXES_OF_NOUNS:
        for form, noun in nouns().items():
            if axis in noun.implies:
                yield form, noun.implies[axis]
