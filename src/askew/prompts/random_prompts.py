"""Prompts about anything, by the lexicon: a subject of MineTheGap's three areas, and a few details that suit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from askew.prompts.grammar import article
from askew.prompts.noun_phrases import parse_prompt
from askew.prompts.open_details import MONOCHROME, STYLE, Detail, Knows, main_phrase, open_details, say_all
from askew.prompts.phrases import Group, group_of, topics
from askew.prompts.targets import CLOTHING, Target, named, nouns_of
from askew.prompts.vocabulary import nouns
from askew.prompts.writer import Words, has_length

_FRAMED, _SEVERAL, _ADJECTIVE = 0.2, 0.12, 0.35
"""How often a prompt opens with "a photo of", names two of a thing, or has an adjective."""

_AXES = 0.4
"""How many values of axes a prompt states on average, if there are phrases to say something else with."""


def invent(target: Target, words: Words, knows: Knows | None, rng: Random) -> Iterator[str]:
    """Prompts without end; those that come out too long or too short are left out, so some tries yield nothing ("")."""
    areas: dict[str, list[Group]] = {}
    for group in target.groups:
        areas.setdefault(group.area, []).append(group)
    pool = {group.name: nouns_of(group, knows) for group in target.groups}
    while True:
        group = rng.choice(areas[rng.choice(list(areas))])
        subject = named(target.words) if target.words else _subject(group, pool[group.name], knows, rng)
        opening = "a photo of " if rng.random() < _FRAMED and words[1] >= 6 else ""
        text = _with_details(opening + subject, rng.randint(*words), target, knows, rng)
        yield text if has_length(text, words) and target.has(text) else ""


def _subject(group: Group, pool: Sequence[str], knows: Knows | None, rng: Random) -> str:
    noun = rng.choice(pool)
    adjectives = [word for word in group.before if knows is None or knows(f"{word} {noun}")]
    adjective = f"{rng.choice(adjectives)} " if adjectives and rng.random() < _ADJECTIVE else ""
    several = f"two {adjective}{nouns()[noun].plural}"
    if rng.random() < _SEVERAL and (knows is None or knows(several)):
        return several
    return f"{article(adjective + noun)} {adjective}{noun}"


def _with_details(text: str, length: int, target: Target, knows: Knows | None, rng: Random) -> str:
    """The prompt with details that go together, one after another as long as it stays within `length` words."""
    group = group_of(main_phrase(parse_prompt(text)))
    found = open_details(text, knows)
    options = {aspect: some for aspect, some in found.items() if aspect in group.varies or some[0].phrase}
    chosen: list[Detail] = []
    for aspect in _order(options, target, rng):
        fitting = [one for one in options[aspect] if one.goes_with(chosen)]
        longer = [*chosen, rng.choice(fitting)] if fitting else chosen
        if len(say_all(text, longer).split()) <= length:
            chosen = longer
    return say_all(text, chosen)


def _order(options: dict[str, list[Detail]], target: Target, rng: Random) -> list[str]:
    """Aspects to speak of: phrases first, axes seldom, styles never; what the target asks for before all."""
    phrases = [aspect for aspect, details in options.items() if details[0].phrase]
    silent = (*phrases, STYLE, MONOCHROME)
    axes = [aspect for aspect in options if aspect not in silent]
    wanted = (_AXES if len(phrases) > 2 else 1.5) / max(len(axes), 1)
    axes = [aspect for aspect in axes if rng.random() < wanted or _steered(aspect, target)]
    rng.shuffle(phrases)
    rng.shuffle(axes)
    order = [*axes, *phrases] if rng.random() < 0.5 else [*phrases, *axes]
    return sorted(order, key=lambda aspect: not _steered(aspect, target))


def _steered(aspect: str, target: Target) -> bool:
    """Whether every prompt should speak of this."""
    return target.name == CLOTHING and "wearing" in topics(aspect)
