"""Variations of a prompt, by the lexicon: readings that say what it leaves open, each thing equally often.

MineTheGap, section 4.1: variations stand for all that people could mean by the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from askew.prompts.noun_phrases import parse_prompt
from askew.prompts.open_details import BEFORE, Detail, Knows, main_phrase, open_details, say_all
from askew.prompts.phrases import group_of
from askew.prompts.targets import Target
from askew.prompts.writer import Words, has_length

T = TypeVar("T")

DETAILS = 2
"""How many open aspects a variation says something about."""


def vary(prompt: str, target: Target, words: Words, knows: Knows | None, rng: Random) -> Iterator[str]:
    """Variations without end, "" for a try that came to nothing. Nothing at all if the prompt leaves nothing open.

    Aspects take turns, and so do the values of each: among any few variations in a row every aspect is spoken of
    about equally often, and every value of an aspect.
    """
    text = " ".join(prompt.split())
    group = group_of(main_phrase(parse_prompt(text)))
    details = {
        aspect: wanted
        for aspect, found in open_details(text, knows).items()
        if (wanted := [one for one in found if target.wants(one, group)])
    }
    aspects: list[str] = []
    values: dict[str, list[Detail]] = {aspect: [] for aspect in details}
    while details:
        chosen: list[Detail] = []
        for _ in range(DETAILS):
            fits = _fitting(text, chosen, words[1])
            aspect = _next(aspects, list(details), partial(_has_fitting, details, fits), rng)
            detail = None if aspect is None else _next(values[aspect], details[aspect], fits, rng)
            chosen += [] if detail is None else [detail]
        varied = say_all(text, chosen)
        yield varied if has_length(varied, words) else ""


def _fitting(text: str, chosen: Sequence[Detail], most: int) -> Callable[[Detail], bool]:
    """Whether a detail can be said beside those chosen, in at most `most` words."""
    left = most - len(text.split()) - sum(map(_length, chosen))
    others = tuple(chosen)
    return lambda detail: detail.goes_with(others) and _length(detail) <= left


def _has_fitting(details: Mapping[str, Sequence[Detail]], fits: Callable[[Detail], bool], aspect: str) -> bool:
    """Whether anything can be said about an aspect."""
    return any(map(fits, details[aspect]))


def _length(detail: Detail) -> int:
    """At most so many words come with a detail: frames bring an "of", some values a "working"."""
    return len(detail.words.split()) + (detail.phrase is None and detail.rank != BEFORE)


def _next(queue: list[T], items: Sequence[T], fits: Callable[[T], bool], rng: Random) -> T | None:
    """The first in the queue that fits; if none does, all items queue up once more, in another order."""
    if not any(map(fits, queue)):
        if not any(map(fits, items)):
            return None
        queue += rng.sample(items, len(items))
    found = next(filter(fits, queue))
    queue.remove(found)
    return found
