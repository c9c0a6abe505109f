"""What can be said about a prompt's subject: details that suit it, and those that the prompt leaves
open.

And what a topic steers prompts to: an area such as people or nature, a group of things such as
food, or any words.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from askew.errors import UsageError
from askew.prompts.axes import FormPlace, ValueForm, catalogue, find_catalogue_axis
from askew.prompts.counterfactuals import counterfactual, phrase_edit, reframe
from askew.prompts.statements import (
    DETERMINERS,
    NounPhrase,
    ParsedPrompt,
    find_statements,
    parse_prompt,
    states,
)
from askew.prompts.vocabulary import Noun, article, nouns, occupations, read_data

SIDES = ("anywhere", "indoors", "outdoors")
"""Of the door, on which something is."""

STYLE = "style"
MONOCHROME = "monochrome"
PEOPLE = "people"
CLOTHING = "clothing"
WEARING = "wearing "
STYLES = ("style", "styles")
ANYTHING = "anything"
"""The group of what belongs to no other."""

Knows = Callable[[str], bool]
"""Whether a text stays inside a model's vocabulary."""


def anything(text: str) -> bool:
    """The vocabulary of a model that knows every word."""
    return True


_PLACED = re.compile(
    r"\b(?:in|on|at|under|above|over|near|beside|inside|between|by|behind|against|next to|indoors|outdoors)\b",
    re.I,
)
"""Words after a thing that tell where it is."""

_DOES = re.compile(
    r"\b(?!(?:wearing|morning|evening|spring|building|wedding|living|ring|wing|king|shopping|swimming)\b)\w+ing\b",
    re.I,
)
"""Words after somebody that tell what is done."""

_VIEW = re.compile(r"(?:an? |the )?(?:[\w-]+ )?(?:close-?up|view|shot|scene)\b", re.I)
"""Openings that another frame before them would turn into nonsense."""

_ORDER = (
    "doing acting environment people where beside setting geography culture when weather time_of_day season era "
    "palette lighting viewpoint"
).split()
"""Aspects of the same place, in the order in which they are said; others come after them."""

_PLACES: tuple[FormPlace, ...] = get_args(FormPlace)


@dataclass(frozen=True, slots=True)
class Detail:
    """What may be said of a subject: a value of the axis `aspect`, or else a phrase, or a frame
    such as "a sketch".
    """

    aspect: str
    form: ValueForm
    side: str = "anywhere"
    value: str | None = None

    @property
    def is_phrase(self) -> bool:
        """Whether it is words about a subject that state no value."""
        return self.value is None and self.form.place != "frame"


@dataclass(frozen=True, slots=True)
class NounGroup:
    """Nouns that are found in the same places, and all that is said of them; `varies` and `who`
    name axes.
    """

    name: str
    area: str
    nouns: tuple[str, ...]
    before: tuple[str, ...]
    details: tuple[Detail, ...]
    varies: tuple[str, ...]
    who: tuple[str, ...]


@lru_cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(read_data("phrases.toml"))


@lru_cache
def themes(aspect: str) -> frozenset[str]:
    """What an aspect speaks about; itself if phrases.toml does not say."""
    return frozenset(
        name for name, aspects in _data()["topics"].items() if aspect in aspects
    ) or frozenset((aspect,))


@lru_cache
def groups() -> Mapping[str, NounGroup]:
    """All groups by name."""
    found = {}
    for name, table in _data()["groups"].items():
        listed = [" ".join(noun.split()) for noun in table["nouns"].split(",") if noun.strip()]
        if listed == ["occupations"]:  # a police officer, but no "a police"
            listed = [noun for noun in occupations() if nouns()[noun].plural != noun]
        unknown = [noun for noun in listed if noun not in nouns()]
        if unknown:
            raise ValueError(
                f"phrases.toml: {name} lists what the lexicon does not know: {', '.join(unknown)}"
            )
        before, varies, who = (tuple(table.get(key, ())) for key in ("before", "varies", "who"))
        details = _details(table["phrases"], tuple(dict.fromkeys((*who, *varies))))
        found[name] = NounGroup(
            name, table["area"], tuple(listed), before, tuple(details), varies, who
        )
    return found


def _details(sorts: Sequence[str], axes: Sequence[str]) -> Iterator[Detail]:
    """Phrases, then values of axes, then frames; a phrase that an axis says is the axis's."""
    said = {form.words for axis in axes for form in find_catalogue_axis(axis).plain_forms.values()}
    for sort in sorts:
        table = _data()["phrases"][sort]
        place: Literal["after", "clause"] = "after" if table.get("place") == "noun" else "clause"
        for side in SIDES:
            for words in table.get(side, ()):
                if words not in said:
                    yield Detail(sort.partition("_")[0], ValueForm(place, words), side)
    for axis in axes:
        for value, form in find_catalogue_axis(axis).plain_forms.items() if axis != STYLE else ():
            yield Detail(axis, form, value if value in SIDES else "anywhere", value)
    for aspect, key in ((STYLE, "styles"), (MONOCHROME, "monochrome")) if STYLE in axes else ():
        yield from (Detail(aspect, ValueForm("frame", words)) for words in _data()[key])


def group_of(phrase: NounPhrase | None) -> NounGroup:
    """The group of a noun: its own, that of its nearest kin that has one, or that of its kind."""
    noun = phrase.noun if phrase else None
    if noun is None:
        return groups()[ANYTHING]
    if noun.kind == "person":
        return groups()[PEOPLE]
    table = _group_by_noun()
    kind = groups()["landscapes" if noun.kind in ("place", "nature") else ANYTHING]
    return next((table[name] for name in (noun.singular, *kin(noun)) if name in table), kind)


def kin(noun: Noun) -> tuple[str, ...]:
    """The nouns nearest to this one in WordNet, the nearest first; () for one that WordNet does not
    know.
    """
    return _kin_table().get(noun.singular, ())


@lru_cache
def _kin_table() -> Mapping[str, tuple[str, ...]]:  # see tools/build_kin.py
    lines = (
        line.split(": ") for line in read_data("kin.txt").splitlines() if not line.startswith("#")
    )
    return {noun: tuple(near.split(", ")) for noun, near in lines}


@lru_cache
def _group_by_noun() -> Mapping[str, NounGroup]:
    """By noun, the first group that lists it."""
    return {noun: group for group in reversed([*groups().values()]) for noun in group.nouns}


def say(prompt: str, detail: Detail) -> str:
    """The prompt with the detail. Raises UsageError where nothing in the prompt could have it."""
    if detail.form.place == "frame":
        return reframe(prompt, detail.form.words)
    if detail.value is not None:
        return counterfactual(prompt, detail.aspect, detail.value, detail.form)
    parsed = parse_prompt(prompt)
    at, _, words = phrase_edit(
        parsed, detail.form, parsed.subjects({"person"}) or list(parsed.phrases[:1])
    )
    return f"{prompt[:at]}{words}{prompt[at:]}"


def say_all(prompt: str, details: Iterable[Detail]) -> str:
    """The prompt with several details: those said first come to stand nearer to the noun, or
    further inside.
    """

    def order(one: Detail) -> tuple[int, bool, int]:
        after = one.form.place == "after" and one.value is not None
        return _PLACES.index(one.form.place), after, [*_ORDER, one.aspect].index(one.aspect)

    for detail in sorted(details, key=order):
        prompt = say(prompt, detail)
    return prompt


def go_together(one: Detail, others: Iterable[Detail]) -> bool:
    """Whether a detail can be said beside others: of another topic, on the same side of the door,
    "wearing" once.
    """
    return all(
        not themes(one.aspect) & themes(other.aspect)
        and ("anywhere" in (one.side, other.side) or one.side == other.side)
        and not (one.form.words.startswith(WEARING) and other.form.words.startswith(WEARING))
        for other in others
    )


def open_details(prompt: str, knows: Knows = anything) -> dict[str, list[Detail]]:
    """By aspect, all that the prompt leaves open. With `knows`, only what stays inside a model's
    vocabulary.
    """
    parsed = parse_prompt(" ".join(prompt.split()))
    subject = main_phrase(parsed)
    rest = parsed.text[parsed.words[subject.end - 1].end :] if subject else parsed.text
    kind = subject.noun.kind if subject and subject.noun else None
    side = _side(parsed, subject, rest)

    def spoken(topic: str) -> bool:
        if topic == "where":
            return side is not None
        if (topic == STYLE and _VIEW.match(parsed.text)) or (
            topic == "doing" and _DOES.search(rest)
        ):
            return True
        return any(
            topic in themes(axis) and axis != "behavior" and states(parsed.text, axis)
            for axis in catalogue()
        )

    closed: dict[str, bool] = {}
    found: dict[str, list[Detail]] = {}
    for detail in group_of(subject).details:
        if (
            detail.value
            and kind
            and not find_catalogue_axis(detail.aspect).subject_kinds & {kind, "any"}
        ):
            continue
        if detail.aspect not in closed:
            said = detail.value is not None and states(parsed.text, detail.aspect)
            closed[detail.aspect] = said or any(map(spoken, themes(detail.aspect)))
        there = side is None or detail.side in ("anywhere", side)
        there = there and not (
            detail.form.words.startswith(WEARING) and WEARING in parsed.text.lower()
        )
        if there and not closed[detail.aspect] and knows(f"person {detail.form.words}"):
            found.setdefault(detail.aspect, []).append(detail)
    return found


def main_phrase(parsed: ParsedPrompt) -> NounPhrase | None:
    """The phrase that the prompt is about: the first person, else the first noun."""
    return next(iter(parsed.subjects({"person"}) or parsed.phrases), None)


def _side(parsed: ParsedPrompt, subject: NounPhrase | None, rest: str) -> str | None:
    """The side of the door that the prompt tells, "anywhere" for a place that may lie on either,
    None if none.
    """
    entry = find_catalogue_axis("environment")
    said = [found.value for found in find_statements(parsed, entry, [subject] if subject else [])]
    said += [
        one.noun.implies.get("environment", "")
        for one in parsed.phrases
        if one != subject and one.noun
    ]
    side = next((value for value in said if value in SIDES), None)
    if side:
        return side
    if subject and subject.noun and subject.noun.kind == "person":
        told = any(states(parsed.text, axis) for axis in ("environment", "setting"))
    else:
        told = bool(_PLACED.search(rest))
    return "anywhere" if told else None


@dataclass(frozen=True, slots=True)
class Topic:
    """What prompts are to be about. `words` is None unless the topic is a thing named in words of
    its own.
    """

    name: str | None
    groups: tuple[NounGroup, ...]
    words: str | None = None

    def covers(self, phrase: NounPhrase | None) -> bool:
        """Whether a subject is one of those that the topic names."""
        return self.name is None or self.name in STYLES or group_of(phrase) in self.groups

    def has(self, prompt: str) -> bool:
        """Whether a prompt is about the topic. One about people tells their clothes if clothing is
        asked for.
        """
        if self.words is not None:
            return self.words in prompt.lower()
        phrase = main_phrase(parse_prompt(prompt))
        dressed = self.name != CLOTHING or not group_of(phrase).who or states(prompt, CLOTHING)
        return self.covers(phrase) and dressed

    def wants(self, detail: Detail, group: NounGroup) -> bool:
        """Whether variations of a prompt about this group should say such a detail."""
        if self.name in STYLES:
            return detail.aspect in (STYLE, MONOCHROME, "palette", "lighting", "viewpoint")
        if self.name == PEOPLE and group.who:
            return detail.aspect in group.who
        if self.name == CLOTHING and group.who:
            return "wearing" in themes(detail.aspect)
        return detail.value is None or detail.aspect in group.varies


def find_topic(name: str | None, knows: Knows = anything) -> Topic:
    """The topic that `name` spells. With `knows`, only groups that a model can show.

    Raises UsageError for a topic without words, and for one of which nothing stays inside the
    vocabulary.
    """
    spoken = None if name is None else " ".join(name.lower().split())
    if spoken == "":
        raise UsageError(
            "the topic is empty; name people, clothing, style, food, nature, or any words"
        )
    if spoken is None or spoken in STYLES:
        found = [group for group in groups().values() if group.nouns]
    elif spoken == CLOTHING:
        found = [group for name, group in groups().items() if name in (PEOPLE, "clothes")]
    elif spoken in ("animals", "animal"):
        found = [
            group
            for group in groups().values()
            if any(nouns()[noun].kind == "animal" for noun in group.nouns)
        ]
    else:
        found = [
            group
            for group in groups().values()
            if group.nouns and spoken in (group.area, group.name, group.name.replace("_", " "))
        ]
    known = tuple(group for group in found if nouns_of(group, knows))
    if found and known:
        return Topic(spoken, known)
    if found or (spoken and not knows(spoken)):
        raise UsageError(
            f"nothing of the topic {name!r} stays inside the vocabulary that was asked for"
        )
    subject = main_phrase(parse_prompt(spoken or ""))
    return Topic(spoken, (group_of(subject) if subject else groups()[ANYTHING],), spoken)


@lru_cache(maxsize=256)
def nouns_of(group: NounGroup, knows: Knows) -> tuple[str, ...]:
    """The group's nouns that stay inside the vocabulary."""
    return tuple(noun for noun in group.nouns if knows(noun))


def named(words: str) -> str:
    """Words of a topic as a prompt names them: "red shoe" -> "a red shoe", "shoes" and "footwear"
    as they are.
    """
    noun = nouns().get(words.split()[-1])
    counted = noun is not None and words.endswith(noun.singular) and noun.singular != noun.plural
    return f"{article(words)} {words}" if counted and words.split()[0] not in DETERMINERS else words
