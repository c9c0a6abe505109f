"""The little English that rewriting a prompt needs: plurals, articles, capital letters."""

from __future__ import annotations

import re

_IRREGULAR = {"person": "people", "child": "children", "foot": "feet", "tooth": "teeth", "half": "halves"}
_VOWEL_SOUND = re.compile(
    r"(?!eu|ew|uni(?!n|m)|use|usu|uti|ura|ubi|one\b|once\b|u\b)[aeiou]|hour|honest|honou?r|heir", re.I
)
_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.I)
_SPOKEN_VOWEL = frozenset("AEFHILMNORSX8")
"""Letters and the digit whose names begin with a vowel sound: "an X-ray", "an HD photo"."""


def plural(noun: str) -> str:
    """The plural of a noun, by its last word."""
    head, _, last = noun.rpartition(" ")
    return f"{head} {_plural_word(last)}".strip()


def article(words: str) -> str:
    """ "a" or "an", as the first word sounds."""
    first = re.match(r"\w*", words)
    word = first.group() if first else ""
    if (word.isupper() and len(word) in (2, 3)) or word[:1] == "8":
        return "an" if word[0] in _SPOKEN_VOWEL else "a"
    return "an" if _VOWEL_SOUND.match(words) else "a"


def replace(text: str, start: int, end: int, words: str) -> str:
    """`text` with `words` in the place of `text[start:end]`, and an article right before it made to fit."""
    before, after = text[:start], text[end:]
    if not words:
        before, after = _closed(before, after)
    found = _ARTICLE.search(before)
    if found:
        wanted = article(words + after)
        wanted = wanted.capitalize() if found[1][0].isupper() else wanted
        before = before[: found.start()] + wanted + found[2]
    return before + words + after


def capitalised(words: str) -> str:
    """The same words with the first letter in upper case."""
    return words[:1].upper() + words[1:]


def lowered(words: str) -> str:
    """The same words with the first letter in lower case."""
    return words[:1].lower() + words[1:]


def agree(phrase: str) -> str:
    """A phrase about one, said of several: "who is blind" -> "who are blind", "with a hat" -> "with hats"."""
    phrase = re.sub(r"^who is\b", "who are", phrase)
    found = re.search(r"\ban? (?=\S+( \S+)?$)", phrase)
    return phrase[: found.start()] + plural(phrase[found.end() :]) if found else phrase


def _plural_word(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith(("man", "woman")) and word not in ("human", "german", "roman", "shaman"):
        return word[:-2] + "en"
    if word.endswith("person"):
        return word[:-6] + "people"
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


def _closed(before: str, after: str) -> tuple[str, str]:
    """Text around a removed word without a double or dangling space."""
    if not after.strip() or re.match(r"\s*[,.;:!?]", after):
        return before.rstrip(), after.lstrip()
    return before, after.lstrip() if not before or before[-1].isspace() else after
