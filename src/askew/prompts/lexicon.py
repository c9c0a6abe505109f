"""The built-in writer: axes from a catalogue, texts by rule and word list. It needs no language
model.

Mutations exchange nouns for their kin, change settings, add details or leave some out. Variations
say what a prompt leaves open, each thing equally often. New prompts have a subject of MineTheGap's
three areas, and details that suit it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from random import Random
from typing import TypeVar

from askew.errors import UsageError
from askew.prompts import open_details as d
from askew.prompts.axes import BIASCONNECT, catalogue, find_axis, find_catalogue_axis
from askew.prompts.base import (
    AxesOn,
    AxisProposal,
    Kind,
    Words,
    checked_length,
    has_length,
    normalize_prompt,
    simplify,
)
from askew.prompts.counterfactuals import clause_end, counterfactuals
from askew.prompts.llm import CompletionCache
from askew.prompts.statements import NounPhrase, ParsedPrompt, find_statements, parse_prompt, states
from askew.prompts.vocabulary import article, nouns, replace
from askew.types import grouped

_VERSION = 3  # to be raised whenever a change of code changes what is written
_OTHER_AXES = 6  # proposed for a prompt without people
_TRIES = 40  # texts that are written at most for each one wanted, before fewer are returned


class LexiconWriter:
    """Writes from word lists: the same prompt and seed always get the same texts.

    For a prompt with people it proposes BiasConnect's eight axes, for any other the first six of
    the catalogue that fit it, or `axes` of them; without those that the prompt settles itself, or
    with `on` "stated" only these. `knows` says whether a text stays inside a model's vocabulary,
    which `vocabulary` names: what is written adds no other words.
    """

    concurrency = 1

    def __init__(
        self,
        axes: int | None = None,
        knows: d.Knows = d.anything,
        vocabulary: str = "",
        on: AxesOn = "unstated",
    ) -> None:
        if axes is not None and axes < 1:
            raise UsageError(
                f"the lexicon was asked for {axes} axes; the number must be at least 1"
            )
        self.axes = axes
        self._on = on
        self.name = f"lexicon/{vocabulary}" if vocabulary else "lexicon"
        self.fingerprint = f"{self.name}-{_VERSION}-{_data_hash()}"
        self._knows = knows

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`. `seed` changes nothing."""
        text = normalize_prompt(prompt)
        if axes is None:
            kinds = [
                phrase.noun.kind if phrase.noun else "any" for phrase in parse_prompt(text).phrases
            ]
            people = "person" in kinds
            about = {"any", "person" if people else next(iter(kinds), "any")}
            fitting = [name for name, entry in catalogue().items() if entry.subject_kinds & about]
            stated = [name for name in fitting if states(prompt, name)]
            free = [name for name in fitting if name not in stated]
            usual = [name for name in free if name in BIASCONNECT] if people else free[:_OTHER_AXES]
            free = usual if self.axes is None else free
            axes = {"unstated": free, "stated": stated, "all": [*stated, *free]}[self._on][
                : self.axes
            ]
        return [AxisProposal(find_axis(name), counterfactuals(prompt, name)) for name in axes]

    def write(
        self,
        kind: Kind,
        prompt: str,
        count: int,
        *,
        seed: int,
        topic: str | None = None,
        words: Words | None = None,
    ) -> list[str]:
        """Random prompts about things, people and nature in equal parts, mutations or variations;
        see `Writer`.

        Variations of another topic fill up where a prompt leaves too few open, as one that tells
        clothes does of them.
        """
        words = checked_length(kind, prompt, count, words)
        if kind == "random prompts":
            rng = Random(f"{kind} {seed} {topic}")
            return _distinct(
                invent(d.find_topic(topic, self._knows), words, self._knows, rng), count
            )
        if kind == "mutations":
            rng = Random(f"{kind} {seed} {topic} {prompt}")
            return _distinct(
                mutate(prompt, d.find_topic(topic, self._knows), words, self._knows, rng),
                count,
                prompt,
            )
        found: list[str] = []
        for aim in dict.fromkeys((topic, None)):
            if len(found) < count:
                rng = Random(f"{kind} {seed} {aim} {prompt}")
                more = _distinct(
                    vary(prompt, d.find_topic(aim), words, self._knows, rng), count, prompt
                )
                found = _distinct(iter([*found, *more]), count, prompt)
        return found


def create(
    name: str = "",
    *,
    axes: int | None = None,
    axes_on: AxesOn = "unstated",
    cache: CompletionCache | None = None,
) -> LexiconWriter:
    """The writer that `--llm lexicon` names; it has nothing to keep in the `cache`. Raises
    UsageError for a name.
    """
    if name:
        raise UsageError(
            f"'lexicon/{name}' means nothing; write 'lexicon', or 'lexicon/studio' for the studio's words"
        )
    return LexiconWriter(axes, on=axes_on)


def _distinct(texts: Iterator[str], count: int, prompt: str = "") -> list[str]:
    """The first `count` different texts that are not the prompt itself, or as many as there are
    among many tries.
    """
    found: dict[str, str] = {}
    for text in islice(texts, count * _TRIES):
        if text and simplify(text) != simplify(prompt):
            found.setdefault(simplify(text), text)
        if len(found) == count:
            break
    return list(found.values())


@lru_cache
def _data_hash() -> str:
    parts = sorted((files("askew.prompts") / "data").iterdir(), key=lambda part: part.name)
    content = b"".join(part.read_bytes() for part in parts if part.name.endswith((".txt", ".toml")))
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:12]


T = TypeVar("T")


def mutate(prompt: str, topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Mutations without end, "" for a try that came to nothing. Most have another subject, some
    more than that.
    """
    text = " ".join(prompt.split())
    recipes = (
        (_other_subject,),
        (_other_subject,),
        (_other_subject, _other_place),
        (_other_subject, _other_detail),
        (_shorter, _other_subject),
        (_other_noun,),
        (_other_place,),
        (_other_detail,),
        (_shorter, _other_detail),
    )
    while True:
        changed = text
        for change in rng.choice(recipes):
            changed = change(changed, topic, knows, rng)
        yield (
            changed if changed != text and has_length(changed, words) and topic.has(changed) else ""
        )


def _other_subject(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """The main noun exchanged for a near one, or for one that the topic asks for."""
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase is None or (topic.words is not None and topic.has(text)):
        return text
    if topic.words is not None:
        return parsed.replace_words(phrase.start, phrase.end, d.named(topic.words))
    if topic.covers(phrase):
        return _exchanged(parsed, phrase, knows, rng)
    return _renamed(parsed, phrase, rng.choice(d.nouns_of(rng.choice(topic.groups), knows)))


def _other_noun(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Any noun but the main one exchanged for a near one."""
    parsed = parse_prompt(text)
    others = [
        phrase for phrase in parsed.phrases if phrase != d.main_phrase(parsed) and phrase.noun
    ]
    return _exchanged(parsed, rng.choice(others), knows, rng) if others else text


def _other_place(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """The place exchanged for another, or one given."""
    parsed = parse_prompt(text)
    without = text
    subject = d.main_phrase(parsed)
    told = [
        one
        for axis in ("setting", "environment")
        for one in find_statements(parsed, find_catalogue_axis(axis), [subject] if subject else [])
    ]
    place = next((one for one in told if not one.before), None)
    if place:
        without = replace(text, place.start, place.end, "")
    options = d.open_details(without, knows)
    aspects = [
        aspect for aspect in ("where", "environment", "when", "weather") if aspect in options
    ]
    return d.say(without, rng.choice(options[aspects[0]])) if aspects else without


def _other_detail(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Something said that was open."""
    group = d.group_of(d.main_phrase(parse_prompt(text)))
    silent = () if topic.name in d.STYLES else (d.STYLE, d.MONOCHROME)
    options = {
        aspect: found
        for aspect, found in d.open_details(text, knows).items()
        if aspect not in silent and all(topic.wants(one, group) for one in found)
    }
    aspects = rng.sample(list(options), len(options))
    return d.say(text, rng.choice(options[aspects[0]])) if aspects else text


def _shorter(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Adjectives of the subject left out, or all that follows it in its clause."""
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase is None:
        return text
    if phrase.first < phrase.head and rng.random() < 0.5:
        return parsed.replace_words(phrase.first, phrase.head, "")
    return text[: parsed.words[phrase.end - 1].end] + text[clause_end(parsed, phrase.end) :]


def _exchanged(parsed: ParsedPrompt, phrase: NounPhrase, knows: d.Knows, rng: Random) -> str:
    if phrase.noun is None:
        return parsed.text
    near = [name for name in d.kin(phrase.noun) if name in nouns() and knows(name)]
    same = [name for name in d.nouns_of(d.group_of(phrase), knows) if name != phrase.noun.singular]
    pool = near if near and rng.random() < 0.75 else same or near
    return _renamed(parsed, phrase, rng.choice(pool)) if pool else parsed.text


def _renamed(parsed: ParsedPrompt, phrase: NounPhrase, name: str) -> str:
    """The text with another noun in the place of the phrase's, in the same number."""
    return parsed.replace_words(
        phrase.head, phrase.end, nouns()[name].plural if phrase.plural else name
    )


DETAILS = 2
"""How many open aspects a variation says something about."""


def vary(prompt: str, topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Variations without end, "" for a try that came to nothing. Nothing at all if the prompt
    leaves nothing open.

    Aspects take turns, and so do the values of each: among any few variations in a row every aspect
    is spoken of about equally often, and every value of an aspect.
    """
    text = " ".join(prompt.split())
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase and phrase.noun and (phrase.noun.singular, phrase.plural) == ("police", False):
        text = (
            parsed.replace_words(phrase.head, phrase.end, "police officer")
            if phrase.first > phrase.start
            else text
        )
    group = d.group_of(phrase)
    details = {
        aspect: wanted
        for aspect, found in d.open_details(text, knows).items()
        if (wanted := [one for one in found if topic.wants(one, group)])
    }
    aspects: list[str] = []
    values: dict[str, list[d.Detail]] = {aspect: [] for aspect in details}
    while details:
        chosen: list[d.Detail] = []
        for _ in range(DETAILS):
            room = words[1] - len(text.split()) - sum(map(_length, chosen))
            fitting = {
                aspect: [
                    one for one in found if _length(one) <= room and d.go_together(one, chosen)
                ]
                for aspect, found in details.items()
            }
            if any(fitting.values()):
                aspect = _next(
                    aspects, list(details), [name for name, found in fitting.items() if found], rng
                )
                chosen.append(_next(values[aspect], details[aspect], fitting[aspect], rng))
        varied = d.say_all(text, chosen)
        yield varied if has_length(varied, words) else ""


def _length(detail: d.Detail) -> int:
    """At most so many words come with a detail: frames bring an "of", some values a "working"."""
    return len(detail.form.words.split()) + (not detail.is_phrase and detail.form.place != "before")


def _next(queue: list[T], items: Sequence[T], fitting: Sequence[T], rng: Random) -> T:
    """The first in the queue that is fitting; if none is, all items queue up once more, in another
    order.
    """
    if not any(one in fitting for one in queue):
        queue += rng.sample(items, len(items))
    found = next(one for one in queue if one in fitting)
    queue.remove(found)
    return found


_FRAMED = 0.2
_SEVERAL = 0.12
_ADJECTIVE = 0.35
"""How often a prompt opens with "a photo of", names two of a thing, or has an adjective."""
_AXES = 2.0
"""How many axes a prompt may speak of on average, if there is room, and phrases to say something
else with.
"""


def invent(topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Prompts without end; those that come out too long or too short are left out, so some tries
    yield nothing ("").
    """
    areas = grouped(topic.groups, lambda group: group.area)
    while True:
        group = rng.choice(areas[rng.choice(list(areas))])
        subject = d.named(topic.words) if topic.words else ""
        if not subject:
            noun = rng.choice(d.nouns_of(group, knows))
            adjectives = [word for word in group.before if knows(f"{word} {noun}")]
            adjective = (
                f"{rng.choice(adjectives)} " if adjectives and rng.random() < _ADJECTIVE else ""
            )
            several = f"two {adjective}{nouns()[noun].plural}"
            subject = f"{article(adjective + noun)} {adjective}{noun}"
            subject = several if rng.random() < _SEVERAL and knows(several) else subject
        opening = "a photo of " if rng.random() < _FRAMED and words[1] >= 6 else ""
        text = _with_details(opening + subject, words, topic, knows, rng)
        yield text if has_length(text, words) and topic.has(text) else ""


def _with_details(text: str, words: Words, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """The prompt with details that go together, as many as a length drawn at random has room for;
    styles never.

    An axis is spoken of only where each of its values could be said: none is said more often
    because it is short.
    """
    length = rng.randint(*words)
    group = d.group_of(d.main_phrase(parse_prompt(text)))
    found = d.open_details(text, knows)
    options = {
        aspect: some
        for aspect, some in found.items()
        if aspect in group.varies or some[0].is_phrase
    }
    steered = {
        aspect for aspect in options if topic.name == d.CLOTHING and "wearing" in d.themes(aspect)
    }
    phrases = [aspect for aspect, details in options.items() if details[0].is_phrase]
    axes = [aspect for aspect in options if aspect not in (*phrases, d.STYLE, d.MONOCHROME)]
    wanted = (_AXES if len(phrases) > 2 else 1.5) / max(len(axes), 1)
    axes = [aspect for aspect in axes if rng.random() < wanted or aspect in steered]
    rng.shuffle(phrases)
    rng.shuffle(axes)
    order = [*axes, *phrases] if rng.random() < 0.5 else [*phrases, *axes]
    chosen: list[d.Detail] = []
    for aspect in sorted(order, key=lambda aspect: aspect not in steered):
        if len(d.say_all(text, chosen).split()) >= length:
            break
        fitting = [one for one in options[aspect] if d.go_together(one, chosen)]
        fitting = [
            one for one in fitting if len(d.say_all(text, [*chosen, one]).split()) <= words[1]
        ]
        whole = options[aspect][0].is_phrase or len(fitting) == len(
            find_catalogue_axis(aspect).plain_forms
        )
        if fitting and (whole or aspect in steered):
            chosen.append(rng.choice(fitting))
    return d.say_all(text, chosen)
