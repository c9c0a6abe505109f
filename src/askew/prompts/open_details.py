"""Details that suit a prompt's subject, details that a prompt leaves open, and topics.

A topic restricts prompts to an area such as people or nature, to a group of things such as food, or
to a subject that the user describes in words.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

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
"""Places where a detail can be shown: anywhere, only indoors or only outdoors."""

STYLE = "style"
MONOCHROME = "monochrome"
PEOPLE = "people"
CLOTHING = "clothing"
WEARING = "wearing "
STYLES = ("style", "styles")
ANYTHING = "anything"
"""Name of the group for nouns that belong to no other group."""

Knows = Callable[[str], bool]
"""A function that checks whether a model's vocabulary includes all words of a text."""


def anything(text: str) -> bool:
    """Return True for every text, as if a model knew every word."""
    return True


_PLACED = re.compile(
    r"\b(?:in|on|at|under|above|over|near|beside|inside|between|by|behind|against|next to|indoors"
    r"|outdoors)\b",
    re.I,
)
"""Words that state a place if they follow a noun for a thing."""

_DOES = re.compile(
    r"\b(?!(?:wearing|morning|evening|spring|building|wedding|living|ring|wing|king|shopping|swimming)"
    r"\b)\w+ing\b",
    re.I,
)
"""Words that state an activity if they follow a noun for a person."""

_VIEW = re.compile(r"(?:an? |the )?(?:[\w-]+ )?(?:close-?up|view|shot|scene)\b", re.I)
"""Openings of prompts, such as "a close-up", to which no other frame can be added."""

_ORDER = (
    "doing acting environment people where beside setting geography culture when weather "
    "time_of_day season era palette lighting viewpoint"
).split()
"""Order of the aspects whose details are added at the same position in a prompt.

Other aspects follow these aspects.
"""

_PLACES: tuple[FormPlace, ...] = get_args(FormPlace)


@dataclass(frozen=True, slots=True)
class Detail:
    """A detail to add to a prompt: a value of an axis, a phrase, or a frame such as "a sketch".

    Attributes
    ----------
    aspect
        Name of the axis, or of the kind of phrase or frame.
    form
        Words for the detail and their position.
    side
        Setting in which the detail can be shown; one of `SIDES`.
    value
        Value of the axis; None for a phrase or a frame.
    """

    aspect: str
    form: ValueForm
    side: str = "anywhere"
    value: str | None = None

    @property
    def is_phrase(self) -> bool:
        """Check whether the detail is a phrase, not a value of an axis or a frame."""
        return self.value is None and self.form.place != "frame"

    @property
    def is_wearing(self) -> bool:
        """Check whether the detail describes what a person is wearing."""
        return self.form.words.startswith(WEARING)


@dataclass(frozen=True, slots=True, eq=False)
class NounGroup:
    """Nouns for things that occur in the same places, and details that suit these things.

    Each group is a single object, so groups are compared by identity. Hashing hundreds of details
    would make every lookup slow.

    Attributes
    ----------
    name
        Name of the group.
    area
        Area of the group: people, objects or nature.
    nouns
        The nouns, in the singular.
    adjectives
        Adjectives that suit all nouns.
    details
        Details that suit all nouns.
    varied_axes
        Axes whose values variations can state.
    person_axes
        Axes about a person's identity; empty for things.
    """

    name: str
    area: str
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    details: tuple[Detail, ...]
    varied_axes: tuple[str, ...]
    person_axes: tuple[str, ...]


@lru_cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(read_data("phrases.toml"))


@lru_cache
def themes(aspect: str) -> frozenset[str]:
    """Return the themes of an aspect, or its name if phrases.toml lists no theme for it."""
    listed = _data()["topics"].items()
    names = frozenset(name for name, aspects in listed if aspect in aspects)
    return names or frozenset((aspect,))


@lru_cache
def groups() -> Mapping[str, NounGroup]:
    """Return all noun groups, keyed by name."""
    return {name: _group(name, table) for name, table in _data()["groups"].items()}


def _group(name: str, table: Mapping[str, Any]) -> NounGroup:
    """Return the noun group that a table in phrases.toml defines."""
    listed = [" ".join(noun.split()) for noun in table["nouns"].split(",") if noun.strip()]
    if listed == ["occupations"]:  # a police officer, but not "a police"
        listed = [noun for noun in occupations() if nouns()[noun].plural != noun]
    unknown = [noun for noun in listed if noun not in nouns()]
    if unknown:
        raise ValueError(f"phrases.toml: unknown nouns of the group {name}: {', '.join(unknown)}")
    varied_axes = tuple(table.get("varies", ()))
    person_axes = tuple(table.get("who", ()))
    axes = tuple(dict.fromkeys((*person_axes, *varied_axes)))
    return NounGroup(
        name=name,
        area=table["area"],
        nouns=tuple(listed),
        adjectives=tuple(table.get("before", ())),
        details=tuple(_details(table["phrases"], axes)),
        varied_axes=varied_axes,
        person_axes=person_axes,
    )


def _details(sorts: Sequence[str], axes: Sequence[str]) -> Iterator[Detail]:
    """Yield phrases (except those that state values), then values of axes, then frames."""
    axis_words = set[str]()
    for axis in axes:
        axis_words |= {form.words for form in find_catalogue_axis(axis).plain_forms.values()}
    for sort in sorts:
        for detail in _phrases(sort):
            if detail.form.words not in axis_words:
                yield detail
    for axis in axes:
        if axis != STYLE:
            yield from _values(axis)
    if STYLE in axes:
        yield from _frames(STYLE, "styles")
        yield from _frames(MONOCHROME, "monochrome")


def _frames(aspect: str, key: str) -> Iterator[Detail]:
    """Yield the frames in a list from phrases.toml."""
    for words in _data()[key]:
        yield Detail(aspect, ValueForm("frame", words))


def _phrases(sort: str) -> Iterator[Detail]:
    """Yield the phrases in a table from phrases.toml."""
    table = _data()["phrases"][sort]
    place: FormPlace = "after" if table.get("place") == "noun" else "clause"
    for side in SIDES:
        for words in table.get(side, ()):
            yield Detail(sort.partition("_")[0], ValueForm(place, words), side)


def _values(axis: str) -> Iterator[Detail]:
    """Yield a detail for each value of a catalog axis."""
    for value, form in find_catalogue_axis(axis).plain_forms.items():
        side = value if value in SIDES else "anywhere"
        yield Detail(aspect=axis, form=form, side=side, value=value)


def group_of(phrase: NounPhrase | None) -> NounGroup:
    """Return the noun group for a phrase.

    If no group contains the noun, the group of the most closely related noun is used. If no noun is
    related, the group depends on the kind of the noun.
    """
    noun = phrase.noun if phrase else None
    if noun is None:
        return groups()[ANYTHING]
    if noun.kind == "person":
        return groups()[PEOPLE]
    table = _group_by_noun()
    for name in (noun.singular, *kin(noun)):
        if name in table:
            return table[name]
    return groups()["landscapes" if noun.kind in ("place", "nature") else ANYTHING]


def kin(noun: Noun) -> tuple[str, ...]:
    """Return the nouns that WordNet relates most closely to a noun, closest noun first.

    The result is empty for a noun that is not in WordNet.
    """
    return _kin_table().get(noun.singular, ())


@lru_cache
def _kin_table() -> Mapping[str, tuple[str, ...]]:  # see tools/build_kin.py
    lines = read_data("kin.txt").splitlines()
    pairs = [line.split(": ") for line in lines if not line.startswith("#")]
    return {noun: tuple(nearest.split(", ")) for noun, nearest in pairs}


@lru_cache
def _group_by_noun() -> Mapping[str, NounGroup]:
    """Map each noun to the first group that lists it."""
    table: dict[str, NounGroup] = {}
    for group in groups().values():
        for noun in group.nouns:
            table.setdefault(noun, group)
    return table


def say(prompt: str, detail: Detail) -> str:
    """Add a detail to a prompt.

    Raises
    ------
    UsageError
        If nothing in the prompt can have the detail.
    """
    if detail.form.place == "frame":
        return reframe(prompt, detail.form.words)
    if detail.value is not None:
        return counterfactual(prompt, detail.aspect, detail.value, detail.form)
    parsed = parse_prompt(prompt)
    subjects = parsed.subjects({"person"}) or list(parsed.phrases[:1])
    edit = phrase_edit(parsed, detail.form, subjects)
    return f"{prompt[: edit.start]}{edit.words}{prompt[edit.start :]}"


def say_all(prompt: str, details: Iterable[Detail]) -> str:
    """Add details to a prompt in the usual English order."""
    for detail in sorted(details, key=_insertion_order):
        prompt = say(prompt, detail)
    return prompt


def _insertion_order(detail: Detail) -> tuple[int, bool, int]:
    """Return a sort key; details that belong closer to the noun come first."""
    is_value_after_noun = detail.form.place == "after" and detail.value is not None
    place = _PLACES.index(detail.form.place)
    return place, is_value_after_noun, [*_ORDER, detail.aspect].index(detail.aspect)


def go_together(detail: Detail, others: Iterable[Detail]) -> bool:
    """Check whether a detail can be combined with all other details.

    Combined details have different themes and the same setting, and "wearing" occurs at most once.
    """
    return all(_are_compatible(detail, other) for other in others)


def _are_compatible(first: Detail, second: Detail) -> bool:
    same_theme = not themes(first.aspect).isdisjoint(themes(second.aspect))
    same_side = "anywhere" in (first.side, second.side) or first.side == second.side
    return same_side and not same_theme and not (first.is_wearing and second.is_wearing)


def open_details(prompt: str, knows: Knows = anything) -> dict[str, list[Detail]]:
    """Return all details that a prompt leaves open, keyed by aspect.

    Parameters
    ----------
    prompt
        Any prompt.
    knows
        Function that checks whether a model's vocabulary includes all words of a text.

    Returns
    -------
    dict[str, list[Detail]]
        Details, keyed by aspect. Aspects without an open detail are omitted.
    """
    details: dict[str, list[Detail]] = {}
    for detail in _open_to_all(" ".join(prompt.split())):
        if knows(f"person {detail.form.words}"):
            details.setdefault(detail.aspect, []).append(detail)
    return details


@lru_cache(maxsize=4096)
def _open_to_all(prompt: str) -> tuple[Detail, ...]:
    """Return the details that a prompt leaves open, for a model that knows all words.

    A search requests mutations of the same few prompts many times.
    """
    subject = _DescribedSubject.of(parse_prompt(prompt))
    closed: dict[str, bool] = {}
    details = []
    for detail in group_of(subject.phrase).details:
        if not subject.suits(detail):
            continue
        if detail.aspect not in closed:
            closed[detail.aspect] = subject.settles(detail)
        if subject.leaves_room(detail) and not closed[detail.aspect]:
            details.append(detail)
    return tuple(details)


@dataclass(frozen=True, slots=True)
class _DescribedSubject:
    """The subject of a prompt, and what the prompt states about it.

    Attributes
    ----------
    parsed
        The prompt.
    phrase
        The main phrase.
    following
        Text after the main phrase; the entire text if there is no main phrase.
    side
        Setting that the prompt states: "indoors", "outdoors", or "anywhere" for a place that can be
        either; None if the prompt states no place.
    """

    parsed: ParsedPrompt
    phrase: NounPhrase | None
    following: str
    side: str | None

    @classmethod
    def of(cls, parsed: ParsedPrompt) -> "_DescribedSubject":
        phrase = main_phrase(parsed)
        start = parsed.words[phrase.end - 1].end if phrase else 0
        following = parsed.text[start:]
        return cls(
            parsed=parsed,
            phrase=phrase,
            following=following,
            side=_side(parsed, phrase, following),
        )

    def suits(self, detail: Detail) -> bool:
        """Check whether a detail suits this kind of subject."""
        kind = self.phrase.noun.kind if self.phrase and self.phrase.noun else None
        if kind is None or not detail.value:
            return True
        kinds = find_catalogue_axis(detail.aspect).subject_kinds
        return not kinds.isdisjoint({kind, "any"})

    def settles(self, detail: Detail) -> bool:
        """Check whether the prompt already states the aspect of a detail."""
        if detail.value is not None and states(self.parsed.text, detail.aspect):
            return True
        return any(self._settles_theme(theme) for theme in themes(detail.aspect))

    def _settles_theme(self, theme: str) -> bool:
        if theme == "where":
            return self.side is not None
        if theme == STYLE and _VIEW.match(self.parsed.text):
            return True
        if theme == "doing" and _DOES.search(self.following):
            return True
        axes = [axis for axis in catalogue() if theme in themes(axis) and axis != "behavior"]
        return any(states(self.parsed.text, axis) for axis in axes)

    def leaves_room(self, detail: Detail) -> bool:
        """Check whether a detail fits the setting and the clothes in the prompt."""
        if self.side is not None and detail.side not in ("anywhere", self.side):
            return False
        return not (detail.is_wearing and WEARING in self.parsed.text.lower())


def main_phrase(parsed: ParsedPrompt) -> NounPhrase | None:
    """Return the first noun phrase about a person or, if there is none, the first noun phrase."""
    return next(iter(parsed.subjects({"person"}) or parsed.phrases), None)


def _implied_sides(parsed: ParsedPrompt, subject: NounPhrase | None) -> list[str]:
    """Return the setting implied by each noun except the subject; "" if a noun implies none."""
    others = [phrase.noun for phrase in parsed.phrases if phrase != subject and phrase.noun]
    return [noun.implies.get("environment", "") for noun in others]


def _side(parsed: ParsedPrompt, subject: NounPhrase | None, following: str) -> str | None:
    """Return the setting that a prompt states; see `_DescribedSubject.side`."""
    entry = find_catalogue_axis("environment")
    statements = find_statements(parsed, entry, [subject] if subject else [])
    values = [statement.value for statement in statements]
    for value in (*values, *_implied_sides(parsed, subject)):
        if value in SIDES:
            return value
    if subject and subject.noun and subject.noun.kind == "person":
        is_placed = states(parsed.text, "environment") or states(parsed.text, "setting")
    else:
        is_placed = bool(_PLACED.search(following))
    return "anywhere" if is_placed else None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic for prompts.

    Attributes
    ----------
    name
        Name of the topic; None for any topic.
    groups
        Groups of nouns that belong to the topic.
    words
        Words that each prompt must contain; None if the topic consists of groups of nouns.
    """

    name: str | None
    groups: tuple[NounGroup, ...]
    words: str | None = None

    def covers(self, phrase: NounPhrase | None) -> bool:
        """Check whether a subject belongs to the topic."""
        return self.name is None or self.name in STYLES or group_of(phrase) in self.groups

    def has(self, prompt: str) -> bool:
        """Check whether a prompt is about the topic.

        For the topic "clothing", a prompt about people must state their clothes.
        """
        if self.words is not None:
            return self.words.lower() in prompt.lower()
        phrase = main_phrase(parse_prompt(prompt))
        if not self.covers(phrase):
            return False
        needs_clothes = self.name == CLOTHING and bool(group_of(phrase).person_axes)
        return not needs_clothes or states(prompt, CLOTHING)

    def wants(self, detail: Detail, group: NounGroup) -> bool:
        """Check whether variations on this topic should state a detail that fits a noun group."""
        if self.name in STYLES:
            return detail.aspect in (STYLE, MONOCHROME, "palette", "lighting", "viewpoint")
        if self.name == PEOPLE and group.person_axes:
            return detail.aspect in group.person_axes
        if self.name == CLOTHING and group.person_axes:
            return "wearing" in themes(detail.aspect)
        return detail.value is None or detail.aspect in group.varied_axes


def find_topic(name: str | None, knows: Knows = anything) -> Topic:
    """Return the topic with this name, in any spelling.

    Parameters
    ----------
    name
        Name of the topic: people, clothing, style, a group or area in phrases.toml, or any other
        words; None for any topic.
    knows
        Function that checks whether a model's vocabulary includes all words of a text. Groups whose
        nouns are all missing from the model's vocabulary are omitted.

    Returns
    -------
    Topic
        The topic.

    Raises
    ------
    UsageError
        If the topic is empty or is not in the vocabulary.
    """
    spelled = None if name is None else " ".join(name.lower().split())
    if spelled == "":
        raise UsageError(
            "the topic is empty; name people, clothing, style, food, nature, or any words"
        )
    listed = _groups_of_topic(spelled)
    known = tuple(group for group in listed if nouns_of(group, knows))
    if known:
        return Topic(spelled, known)
    if listed or (spelled and not knows(spelled)):
        raise UsageError(
            f"the model's vocabulary has no words for the topic {name!r}; use another topic"
        )
    subject = main_phrase(parse_prompt(spelled or ""))
    group = group_of(subject) if subject else groups()[ANYTHING]
    return Topic(name=spelled, groups=(group,), words=" ".join((name or "").split()))


def _groups_of_topic(name: str | None) -> list[NounGroup]:
    """Return the groups of a topic, or all groups if there is no topic or the topic is style."""
    if name == CLOTHING:
        return [groups()[key] for key in groups() if key in (PEOPLE, "clothes")]
    if name in ("animals", "animal"):
        return [group for group in groups().values() if _has_animals(group)]
    with_nouns = [group for group in groups().values() if group.nouns]
    if name is None or name in STYLES:
        return with_nouns
    return [
        group
        for group in with_nouns
        if name in (group.area, group.name, group.name.replace("_", " "))
    ]


def _has_animals(group: NounGroup) -> bool:
    return any(nouns()[noun].kind == "animal" for noun in group.nouns)


@lru_cache(maxsize=256)
def nouns_of(group: NounGroup, knows: Knows) -> tuple[str, ...]:
    """Return the nouns in a group that are in a model's vocabulary."""
    return tuple(noun for noun in group.nouns if knows(noun))


def with_article(words: str) -> str:
    """Add an article to the words of a topic if the words need an article.

    "red shoe" becomes "a red shoe"; "shoes", "footwear" and "scientists in Nigeria" are unchanged.
    """
    parsed = parse_prompt(words)
    subject = parsed.phrases[0] if parsed.phrases else None
    noun = subject.noun if subject else None
    if subject is None or noun is None or noun.singular == noun.plural or subject.plural:
        return words
    if words.split()[0] in DETERMINERS:
        return words
    return f"{article(words)} {words}"
