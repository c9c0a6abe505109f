"""Mutations of a prompt, by the lexicon: nouns exchanged for their kin, settings changed, details added or left out.

MineTheGap, section 3: substitutions of the subject, omissions and modifications that alter what is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from askew.prompts import grammar
from askew.prompts.counterfactuals import clause_end
from askew.prompts.noun_phrases import NounPhrase, ParsedPrompt, parse_prompt
from askew.prompts.open_details import (
    MONOCHROME,
    STYLE,
    Knows,
    choose_details,
    main_phrase,
    open_details,
    place_statement,
    say_all,
)
from askew.prompts.phrases import group_of, kin
from askew.prompts.targets import STYLES, Target, named, nouns_of
from askew.prompts.vocabulary import nouns
from askew.prompts.writer import Words, has_length

Change = Callable[[str, Target, Knows | None, Random], str]
"""From a prompt to one changed, or to the same where there is nothing to change."""


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
    if phrase is None:
        return text
    if target.words is not None:
        return text if target.has(text) else _put(parsed, phrase.start, phrase.end, named(target.words))
    if target.covers(phrase):
        return _exchanged(parsed, phrase, knows, rng)
    group = rng.choice(target.groups)
    return _renamed(parsed, phrase, rng.choice(nouns_of(group, knows)))


def _other_noun(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Any noun but the main one exchanged for a near one."""
    parsed = parse_prompt(text)
    others = [phrase for phrase in parsed.phrases if phrase != main_phrase(parsed) and phrase.noun]
    return _exchanged(parsed, rng.choice(others), knows, rng) if others else text


def _other_place(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """The place exchanged for another, or one given."""
    parsed = parse_prompt(text)
    told = place_statement(parsed)
    without = text if told is None else grammar.replace(text, *told, "")
    options = open_details(without, knows)
    aspects = [aspect for aspect in ("where", "environment", "when", "weather") if aspect in options]
    return say_all(without, choose_details(options, aspects, 1, rng))


def _other_detail(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Something said that was open."""
    options = open_details(text, knows)
    group = group_of(main_phrase(parse_prompt(text)))
    silent = () if target.name in STYLES else (STYLE, MONOCHROME)
    options = {
        aspect: found
        for aspect, found in options.items()
        if aspect not in silent and all(target.wants(one, group) for one in found)
    }
    return say_all(text, choose_details(options, rng.sample(list(options), len(options)), 1, rng))


def _shorter(text: str, target: Target, knows: Knows | None, rng: Random) -> str:
    """Adjectives of the subject left out, or all that follows it in its clause."""
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase is None:
        return text
    if phrase.first < phrase.head and rng.random() < 0.5:
        return _put(parsed, phrase.first, phrase.head, "")
    end = parsed.words[phrase.end - 1].end
    return text[:end] + text[clause_end(parsed, phrase.end) :]


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
    return grammar.replace(parsed.text, *parsed.span(first, end), words)
