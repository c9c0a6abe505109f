"""What the missed visual concepts of many prompts have in common: their words, and kinds of them (appendix C.4)."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from askew.prompts.wording import content_words

TERMS = 20
"""Words that are listed."""


def missed_terms(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How many prompts miss a word, and how many a kind of thing, the most frequent first; None without prompts.

    A prompt counts once for a word that any of its missed concepts holds and the prompt itself does not.
    """
    found = {entry["prompt"]: _own_words(entry) for entry in entries if entry.get("missed_visual_concepts")}
    if not found:
        return None
    terms = Counter(word for words in found.values() for word in words)
    kinds = Counter(name for words in found.values() for name in _kinds(words))
    return {"prompts": len(found), "terms": _ranked(terms)[:TERMS], "categories": _ranked(kinds)}


def _own_words(entry: Mapping[str, Any]) -> set[str]:
    missed = {word for text in entry["missed_visual_concepts"] for word in content_words(text)}
    return missed - set(content_words(entry["prompt"]))


def _kinds(words: Iterable[str]) -> list[str]:
    present = set(words)
    return [name for name, terms in categories().items() if present & terms]


def _ranked(counts: Counter[str]) -> list[list[str | int]]:
    return [[name, count] for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


@lru_cache
def categories() -> Mapping[str, frozenset[str]]:
    """Kinds of things by name, with the words that tell them."""
    text = (files("askew") / "data" / "bias_categories.toml").read_text(encoding="utf-8")
    return {name: frozenset(words) for name, words in tomllib.loads(text).items()}
