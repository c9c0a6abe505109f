"""WordNet's senses of single words, from the table that ships with askew (made by tools/build_synonyms.py)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files

_ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""), ("er", ""), ("est", ""), ("er", "e"),
    ("est", "e"),
)  # fmt: skip
"""WordNet's rules of detachment: an inflected ending, and the ending of the base form."""


@lru_cache(maxsize=65536)
def senses(word: str) -> tuple[str, ...]:
    """The synsets of a lower-case word in WordNet 3.0, the most frequent first; () for a word it does not know.

    A synset is named by part of speech and offset, such as "n10287213". An inflected form ("doctors") that is no word
    of its own has the senses of its base form. Of the later senses, only those that another word shares are listed.
    """
    for form in (word, *_base_forms(word)):
        if form in _table():
            return tuple(_table()[form].split())
    return ()


def _base_forms(word: str) -> Iterator[str]:
    for ending, base in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            yield word[: -len(ending)] + base


@lru_cache
def _table() -> Mapping[str, str]:
    """The senses of each word, as one string."""
    packed = (files("askew.measure") / "data" / "synonyms.txt.gz").read_bytes()
    table = {}
    for line in gzip.decompress(packed).decode().split("\n"):
        word, _, synsets = line.partition(" ")
        table[word] = synsets
    return table
