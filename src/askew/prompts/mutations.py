"""What the lexicon writes: prompts about anything, mutations of one, and readings of one (MineTheGap, sections 3, 4.1).

Mutations exchange nouns for their kin, change settings, add details or leave some out. Variations say what a prompt
leaves open, each thing equally often. New prompts have a subject of MineTheGap's three areas, and details that suit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

from askew.prompts.axes import find_entry
from askew.prompts.base import Words, has_length
from askew.prompts.counterfactuals import clause_end
from askew.prompts.noun_phrases import NounPhrase, ParsedPrompt, parse_prompt
from askew.prompts.open_details import (
    CLOTHING,
    STYLES,
    Knows,
    Target,
    go_together,
    main_phrase,
    named,
    nouns_of,
    open_details,
    place_statement,
    say,
    say_all,
)
from askew.prompts.phrases import MONOCHROME, STYLE, Detail, Group, group_of, kin, topics
from askew.prompts.vocabulary import article, nouns, replace

Change = Callable[[str, Target, Knows | None, Random], str]
"""From a prompt to one changed, or to the same where there is nothing to change."""

T = TypeVar("T")


def mutate(prompt: str, target: Target, words: Words, knows: Knows | None, rng: Random) -> Iterator[str]:
    """Mutations without end, "" for a try that came to nothing. Most have another subject, some more than that."""
    text = " ".join(prompt.split())
    recipes: tuple[tuple[Change, ...], ...] = (
        (_other_subject,), (_other_subject,), (_other_subject, _other_place), (_other_subject, _other_detail),
        (_shorter, _other_subject), (_other_noun,), (_other_place,), (_other_detail,), (_shorter, _other_detail),
    )  # fmt: skip
    while True:
        changed = text
        for change in rng.choice(recipes):
            changed = change(changed, target, knows, rng)
        yield changed if changed != text and has_length(changed, words) and target.has(changed) else ""


def _other_subject(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """The main noun exchanged for a near one, or for one that the target asks for."""
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase is None or (target.words is not None and target.has(text)):
        return text
    if target.words is not None:
        return _put(parsed, phrase.start, phrase.end, named(target.words))
    if target.covers(phrase):
        return _exchanged(parsed, phrase, knows, rng)
    return _renamed(parsed, phrase, rng.choice(nouns_of(rng.choice(target.groups), knows)))


def _other_noun(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Any noun but the main one exchanged for a near one."""
    parsed = parse_prompt(text)
    others = [phrase for phrase in parsed.phrases if phrase != main_phrase(parsed) and phrase.noun]
    return _exchanged(parsed, rng.choice(others), knows, rng) if others else text


def _other_place(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """The place exchanged for another, or one given."""
    told = place_statement(parse_prompt(text))
    without = text if told is None else replace(text, *told, "")
    options = open_details(without, knows)
    aspects = [aspect for aspect in ("where", "environment", "when", "weather") if aspect in options]
    return say(without, rng.choice(options[aspects[0]])) if aspects else without


def _other_detail(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Something said that was open."""
    group = group_of(main_phrase(parse_prompt(text)))
    silent = () if target.name in STYLES else (STYLE, MONOCHROME)
    options = {
        aspect: found
        for aspect, found in open_details(text, knows).items()
        if aspect not in silent and all(target.wants(one, group) for one in found)
    }
    aspects = rng.sample(list(options), len(options))
    return say(text, rng.choice(options[aspects[0]])) if aspects else text


def _shorter(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Adjectives of the subject left out, or all that follows it in its clause."""
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase is None:
        return text
    if phrase.first < phrase.head and rng.random() < 0.5:
        return _put(parsed, phrase.first, phrase.head, "")
    return text[: parsed.words[phrase.end - 1].end] + text[clause_end(parsed, phrase.end) :]


def _exchanged(parsed: ParsedPrompt, phrase: NounPhrase, knows: Knows | None, rng: Random) -> str:
    if phrase.noun is None:
        return parsed.text
    near = [name for name in kin(phrase.noun) if name in nouns() and (knows is None or knows(name))]
    same = [name for name in nouns_of(group_of(phrase), knows) if name != phrase.noun.singular]
    pool = near if near and rng.random() < 0.75 else same or near
    return _renamed(parsed, phrase, rng.choice(pool)) if pool else parsed.text


def _renamed(parsed: ParsedPrompt, phrase: NounPhrase, name: str) -> str:
    """The text with another noun in the place of the phrase's, in the same number."""
    return _put(parsed, phrase.head, phrase.end, nouns()[name].plural if phrase.plural else name)


def _put(parsed: ParsedPrompt, first: int, end: int, words: str) -> str:
    return replace(parsed.text, *parsed.span(first, end), words)


DETAILS = 2
"""How many open aspects a variation says something about."""


def vary(prompt: str, target: Target, words: Words, knows: Knows | None, rng: Random) -> Iterator[str]:
    """Variations without end, "" for a try that came to nothing. Nothing at all if the prompt leaves nothing open.

    Aspects take turns, and so do the values of each: among any few variations in a row every aspect is spoken of
    about equally often, and every value of an aspect.
    """
    text = " ".join(prompt.split())
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase and phrase.noun and (phrase.noun.singular, phrase.plural) == ("police", False):
        text = _put(parsed, phrase.head, phrase.end, "police officer") if phrase.first > phrase.start else text
    group = group_of(phrase)
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
            room = words[1] - len(text.split()) - sum(map(_length, chosen))
            fitting = {
                aspect: [one for one in found if _length(one) <= room and go_together(one, chosen)]
                for aspect, found in details.items()
            }
            if any(fitting.values()):
                aspect = _next(aspects, list(details), [name for name, found in fitting.items() if found], rng)
                chosen.append(_next(values[aspect], details[aspect], fitting[aspect], rng))
        varied = say_all(text, chosen)
        yield varied if has_length(varied, words) else ""


def _length(detail: Detail) -> int:
    """At most so many words come with a detail: frames bring an "of", some values a "working"."""
    return len(detail.form.words.split()) + (not detail.is_phrase and detail.form.place != "before")


def _next(queue: list[T], items: Sequence[T], fitting: Sequence[T], rng: Random) -> T:
    """The first in the queue that is fitting; if none is, all items queue up once more, in another order."""
    if not any(one in fitting for one in queue):
        queue += rng.sample(items, len(items))
    found = next(one for one in queue if one in fitting)
    queue.remove(found)
    return found


_FRAMED, _SEVERAL, _ADJECTIVE = 0.2, 0.12, 0.35
"""How often a prompt opens with "a photo of", names two of a thing, or has an adjective."""

_AXES = 2.0
"""How many axes a prompt may speak of on average, if there is room, and phrases to say something else with."""


def invent(target: Target, words: Words, knows: Knows | None, rng: Random) -> Iterator[str]:
    """Prompts without end; those that come out too long or too short are left out, so some tries yield nothing ("")."""
    areas: dict[str, list[Group]] = {}
    for group in target.groups:
        areas.setdefault(group.area, []).append(group)
    while True:
        group = rng.choice(areas[rng.choice(list(areas))])
        subject = named(target.words) if target.words else _subject(group, knows, rng)
        opening = "a photo of " if rng.random() < _FRAMED and words[1] >= 6 else ""
        text = _with_details(opening + subject, words, target, knows, rng)
        yield text if has_length(text, words) and target.has(text) else ""


def _subject(group: Group, knows: Knows | None, rng: Random) -> str:
    noun = rng.choice(nouns_of(group, knows))
    adjectives = [word for word in group.before if knows is None or knows(f"{word} {noun}")]
    adjective = f"{rng.choice(adjectives)} " if adjectives and rng.random() < _ADJECTIVE else ""
    several = f"two {adjective}{nouns()[noun].plural}"
    if rng.random() < _SEVERAL and (knows is None or knows(several)):
        return several
    return f"{article(adjective + noun)} {adjective}{noun}"


def _with_details(text: str, words: Words, target: Target, knows: Knows | None, rng: Random) -> str:
    """The prompt with details that go together, one after another until it has a length drawn at random.

    Phrases come first, axes seldom, styles never; what the target asks for before all. An axis is spoken of only where
    each of its values could be said: so no value is said more often because it is short, or fits a place.
    """
    length = rng.randint(*words)
    group = group_of(main_phrase(parse_prompt(text)))
    found = open_details(text, knows)
    options = {aspect: some for aspect, some in found.items() if aspect in group.varies or some[0].is_phrase}

    def steered(aspect: str) -> bool:
        return target.name == CLOTHING and "wearing" in topics(aspect)

    phrases = [aspect for aspect, details in options.items() if details[0].is_phrase]
    axes = [aspect for aspect in options if aspect not in (*phrases, STYLE, MONOCHROME)]
    wanted = (_AXES if len(phrases) > 2 else 1.5) / max(len(axes), 1)
    axes = [aspect for aspect in axes if rng.random() < wanted or steered(aspect)]
    rng.shuffle(phrases)
    rng.shuffle(axes)
    order = [*axes, *phrases] if rng.random() < 0.5 else [*phrases, *axes]
    chosen: list[Detail] = []
    for aspect in sorted(order, key=lambda aspect: not steered(aspect)):
        if len(say_all(text, chosen).split()) >= length:
            break
        fitting = [one for one in options[aspect] if go_together(one, chosen)]
        fitting = [one for one in fitting if len(say_all(text, [*chosen, one]).split()) <= words[1]]
        whole = options[aspect][0].is_phrase or len(fitting) == len(find_entry(aspect).spoken)
        if fitting and (whole or steered(aspect)):
            chosen.append(rng.choice(fitting))
    return say_all(text, chosen)
