"""The little English that rewriting a prompt needs: plurals, articles, agreement."""

from __future__ import annotations

import re

_IRREGULAR = {"person": "people", "child": "children", "foot": "feet", "tooth": "teeth", "half": "halves"}
_VOWEL_SOUND = re.compile(
    r"(?!eu|ew|uni(?!n|m)|use|usu|uti|ura|ubi|one\b|once\b|u\b)[aeiou]|hour|honest|honou?r|heir", re.I
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
    """`text` with `words` in the place of `text[start:end]`, no double or dangling space, and an article that fits."""
    before, after = text[:start], text[end:]
    if not words:
        closes = not after.strip() or bool(re.match(r"\s*[,.;:!?]", after))
        before = before.rstrip() if closes else before
        after = after.lstrip() if closes or not before[-1:].strip() else after
    if found := re.search(r"\b(an?)(\s+)$", before, re.I):
        wanted = article(words + after)
        before = before[: found.start()] + (wanted.capitalize() if found[1][0].isupper() else wanted) + found[2]
    return before + words + after


def agree(phrase: str) -> str:
    """A phrase about one, said of several: "who is blind" -> "who are blind", "with a hat" -> "with hats"."""
    phrase = re.sub(r"^who is\b", "who are", phrase)
    found = re.search(r"\ban? (?=\S+( \S+)?$)", phrase)
    return phrase[: found.start()] + plural(phrase[found.end() :]) if found else phrase
