"""What a prompt already says about an axis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from askew.prompts.axes import OTHER, PHRASE_START, Entry, catalogue, find_entry
from askew.prompts.noun_phrases import FRAME, NounPhrase, ParsedPrompt, parse_prompt
from askew.prompts.vocabulary import agree

PHOTOS = frozenset("photo photograph picture image snapshot shot".split())
"""Openings that say photograph and no more."""

STYLE_WORDS = re.compile(
    r"\b(?:colou?r(?:ed)?|gr[ae]y-?scale|monochrome|sepia|pencil|black[- ]and[- ]white|oil|digital|cartoon)\b ?", re.I
)
"""Words before "photo of" and the like that settle the style."""

_OPEN_MEDIA = PHOTOS | {"portrait", "headshot"}


@dataclass(frozen=True, slots=True)
class Statement:
    """Characters `start` to `end` of a text state a value; `before` where they are adjectives before a noun.

    `value` is `OTHER` for a value that the axis does not list.
    """

    start: int
    end: int
    value: str
    before: bool


@lru_cache(maxsize=8192)
def states(prompt: str, axis: str) -> bool:
    """Whether the prompt itself settles the axis, so that it makes no sense to ask which way a model leans on it.

    Raises UnknownName for an axis that is not in the catalogue.
    """
    entry = find_entry(axis)
    parsed = parse_prompt(" ".join(prompt.split()))
    if any(form.place == "frame" for form in entry.forms.values()):
        frame = FRAME.match(parsed.text)
        return bool(frame and (STYLE_WORDS.search(frame["adjectives"]) or frame["medium"].lower() not in _OPEN_MEDIA))
    subjects = parsed.subjects(entry.about) or parsed.subjects({one.noun.kind for one in parsed.phrases if one.noun})
    places = [phrase for phrase in parsed.phrases if phrase.noun and "setting" in phrase.noun.says]
    return (
        any(entry.axis.name in phrase.noun.says for phrase in [*subjects, *places] if phrase.noun)
        or any(True for _ in statements(parsed, entry, subjects))
        or (entry.mentions is not None and bool(entry.mentions.search(parsed.text)))
    )


def values_said(text: str, axis: str) -> set[str]:
    """The values of an axis of the catalogue that a text says, by a noun ("woman") or by words of their own."""
    entry = catalogue()[axis]
    found = {one.noun.says[axis] for one in parse_prompt(text).phrases if one.noun and axis in one.noun.says}
    words = f" {re.sub(r'[^a-z0-9-]+', ' ', text.lower())} "
    for value in entry.axis.values:
        spelled = {value, *entry.stated.get(value, ()), entry.forms[value].words}
        if any(f" {one.lower()} " in words for one in spelled):
            found.add(value)
    return found


def statements(parsed: ParsedPrompt, entry: Entry, subjects: Sequence[NounPhrase]) -> Iterator[Statement]:
    """Every place that states a value: modifiers of the subjects, and phrases after the first of them."""
    for phrase in subjects:
        start, end = parsed.words[phrase.first].start, parsed.words[phrase.head].start
        yield from _matches(parsed.text, entry, True, start, end)
    start = parsed.words[subjects[0].end - 1].end if subjects else 0
    found = list(_matches(parsed.text, entry, False, start, len(parsed.text)))
    yield from found
    if not any(form.place == "clause" for form in entry.forms.values()):
        return
    for phrase in parsed.phrases:  # places such as "in China" and "at a museum"
        value = phrase.noun.says.get(entry.axis.name) if phrase.noun else None
        if value and parsed.lower(phrase.start - 1) in ("in", "on", "at"):
            start, end = parsed.span(phrase.start - 1, phrase.end)
            if not any(other.start <= start < other.end for other in found):
                yield Statement(start, end, value if value in entry.axis.values else OTHER, False)


def _matches(text: str, entry: Entry, before: bool, start: int, end: int) -> Iterator[Statement]:
    values = list(entry.stated)
    for found in _pattern(entry.axis.name, before).finditer(text, start, end):
        yield Statement(found.start(), found.end(), values[int((found.lastgroup or "v0")[1:])], before)


@lru_cache
def _pattern(axis: str, before: bool) -> re.Pattern[str]:
    """Matches the words that state a value before a noun, or after it; a group per value in the order of `stated`."""
    entry, groups = catalogue()[axis], []
    for number, (value, stated) in enumerate(entry.stated.items()):
        form = entry.forms.get(value)
        words = {word for word in stated if not PHRASE_START.match(word)}
        if form and (form.place == "before" or form.words.startswith("who is ")):
            words.add(form.words.removeprefix("who is "))
        if not before:
            after = {word for word in stated if PHRASE_START.match(word)}
            if form and form.place != "before":
                after |= {form.words} | ({f"{form.at_work} {form.words}"} if form.at_work else set())
            words = {f"who {be} {word}" for word in words for be in ("is", "are")} | after | set(map(agree, after))
        listed = sorted(words, key=lambda word: (-len(word), word))
        groups.append(f"(?P<v{number}>{'|'.join(map(re.escape, listed)) or '(?!)'})")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(groups)})(?![\w-])", re.I)
