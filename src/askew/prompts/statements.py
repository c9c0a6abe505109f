"""A prompt taken apart: its noun phrases, and what it already says about an axis."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from askew.prompts.axes import (
    OTHER,
    PHRASE_START,
    CatalogueAxis,
    catalogue,
    find_catalogue_axis,
    value_words,
)
from askew.prompts.vocabulary import Noun, adjectives, agree, nouns, plural
from askew.prompts.vocabulary import replace as exchange

MEDIA = (
    "photo|photograph|picture|image|portrait|headshot|snapshot|shot|polaroid|painting|drawing|sketch|illustration|"
    "render|rendering|cartoon|wallpaper|poster|concept art|digital art|art|comic|watercolou?r"
)

FRAME = re.compile(
    rf"(?P<article>an? |the )?(?P<adjectives>(?:[\w-]+ ){{0,3}}?)(?P<medium>{MEDIA})"
    r"(?P<link> of | depicting | showing )",
    re.I,
)
"""What a prompt may open with before it comes to its subject: "a photo of", "an image depicting"."""

SINGULAR = frozenset("a an one this that each every another".split())
_PLURAL = frozenset(
    "two three four five six seven eight nine ten several many few some these those both".split()
)
DETERMINERS = SINGULAR | _PLURAL | frozenset("the my your his her its our their no any all".split())
_FUNCTION_WORDS = frozenset(
    "of at in on by for from with without to into onto over under above below near next beside behind between among "
    "around through across against along during inside outside up down off out as and or but nor than like that who "
    "whom whose which where when while is are was were be been being am has have had do does did can will would "
    "should not it he she they them him we you i photo photograph picture image portrait indoors outdoors".split()
)
_ADJECTIVE_ENDING = re.compile(
    r"(?:ful|less|ous|ish|ive|able|ible|ic|ed|ing|looking|esque|like)$|^(?:non|un)-?\w+ed$"
)
_DOER_ENDING = re.compile(
    r"(?:[^e]er|or|ist|ian|man|woman|ess|eer|smith|person)s?$|(?:men|people)$"
)
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")


class Word(NamedTuple):
    """A word and where it stands in its text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands before it; all numbers are positions in the prompt's words.

    start, first, head, noun_start, end: the determiner (if any), the first modifier, the noun with
    the nouns compounded into it ("bird photographer"), the noun itself, and the word after. `noun`
    None is an unknown one.
    """

    start: int
    first: int
    head: int
    noun_start: int
    end: int
    plural: bool
    noun: Noun | None


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """A prompt taken apart. `phrases` are in the order of the text."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[NounPhrase, ...]

    def subjects(self, kinds: Collection[str]) -> list[NounPhrase]:
        """The first phrase of these kinds, with those joined to it by "and" or a comma."""
        found = [phrase for phrase in self.phrases if phrase.noun and phrase.noun.kind in kinds]
        for count in range(1, len(found)):
            between = self.text[
                self.words[found[count - 1].end - 1].end : self.words[found[count].start].start
            ]
            if not re.fullmatch(r"\s*(,|,?\s*(and|or|&))\s*", between, re.I):
                return found[:count]
        return found

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Where the words `first` to `end` stand in the text."""
        return self.words[first].start, self.words[end - 1].end

    def put(self, first: int, end: int, words: str) -> str:
        """The text with other words in the place of the words `first` to `end`."""
        return exchange(self.text, *self.span(first, end), words)

    def lower(self, at: int) -> str:
        """Word `at` in lower case, "" outside of the text."""
        return self.words[at].text.lower() if 0 <= at < len(self.words) else ""

    def form(self, first: int, end: int) -> str:
        """The words `first` to `end` in lower case, as they are spaced."""
        return self.text[slice(*self.span(first, end))].lower()

    def touch(self, at: int) -> bool:
        """Whether nothing but space stands between word `at` and the word before it."""
        return not self.text[self.words[at - 1].end : self.words[at].start].strip()

    def frame_words(self) -> int:
        """The number of words in the text's frame, such as "a photo of"."""
        frame = FRAME.match(self.text)
        return sum(word.end <= frame.end() for word in self.words) if frame else 0


def occupations_in(text: str) -> list[str]:
    """The occupations that a prompt names."""
    found = (
        phrase.noun.implies.get("occupation")
        for phrase in parse_prompt(text).phrases
        if phrase.noun
    )
    return [one for one in found if one]


@lru_cache(maxsize=4096)
def parse_prompt(text: str) -> ParsedPrompt:
    """A prompt taken apart. An opening noun phrase of unknown words is guessed from its form."""
    parsed = ParsedPrompt(
        text, tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)), ()
    )
    phrases = _known_phrases(parsed)
    guess = _guess(parsed)
    if guess and (
        not phrases or (guess.end <= phrases[0].start and parsed.lower(guess.end) != "of")
    ):
        phrases = [guess, *phrases]
    return replace(parsed, phrases=tuple(phrases))


def _known_phrases(parsed: ParsedPrompt) -> list[NounPhrase]:
    """Phrases around known nouns. Of nouns in a row ("police car") the last is the head."""
    found: list[NounPhrase] = []
    at = opening = parsed.frame_words()
    while at < len(parsed.words):
        match = None
        for end in range(min(at + 4, len(parsed.words)), at, -1):
            form = parsed.form(at, end)
            noun = nouns().get(" ".join(form.split()))
            if noun and not (
                end < len(parsed.words) and form in adjectives() and parsed.touch(end)
            ):
                match = end, noun
                break
        if match is None:
            at += 1
            continue
        if found and found[-1].end == at and parsed.touch(at):
            found.pop()
        phrase = _phrase(parsed, (found[-1].end if found else opening, at), *match)
        people = all(one.noun and one.noun.kind == "person" for one in (*found[-1:], phrase))
        between = phrase.start - found[-1].end if found else 0
        if people and phrase.plural and between == 1 and parsed.lower(phrase.start - 1) == "of":
            found.pop()  # "a couple of nurses": people counted by people
        found.append(phrase)
        at = phrase.end
    return found


def _phrase(
    parsed: ParsedPrompt, place: tuple[int, int], end: int, noun: Noun | None
) -> NounPhrase:
    """The phrase of a noun. `place`: the first word that may belong to it, the first word of the
    noun.
    """
    floor, at = place
    start = head = at
    while start > floor and _is_modifier(parsed, start - 1):
        start -= 1
        word = parsed.lower(start)
        known = nouns().get(parsed.lower(start))
        describes = (
            known.implies.keys() & {"gender", "age"} if known else _ADJECTIVE_ENDING.search(word)
        )
        if head == start + 1 and word not in adjectives() | value_words() and not describes:
            head = (
                start  # part of the noun ("bird photographer") rather than an adjective or a person
            )
    first = start
    while start > floor and parsed.lower(start - 1) in DETERMINERS and parsed.touch(start):
        start -= 1
    determiners = {parsed.lower(k) for k in range(start, first)}
    several = bool(determiners & _PLURAL or re.search(r"[^su]s$", parsed.form(at, end)))
    if noun and noun.singular != noun.plural:
        several = parsed.form(at, end) != noun.singular
    return NounPhrase(start, first, head, at, end, several and not determiners & SINGULAR, noun)


def _is_modifier(parsed: ParsedPrompt, at: int) -> bool:
    word = parsed.lower(at)
    if word in _FUNCTION_WORDS | DETERMINERS or word.isdigit() or not parsed.touch(at + 1):
        return False
    if not word.endswith("ing") or at == 0:
        return True
    before = parsed.lower(
        at - 1
    )  # what makes "smiling" an adjective, as in "a smiling", and no verb
    return before in DETERMINERS | _FUNCTION_WORDS | adjectives() or bool(
        _ADJECTIVE_ENDING.search(before)
    )


def _guess(parsed: ParsedPrompt) -> NounPhrase | None:
    """The first run of words after the frame that can be a noun phrase."""
    small = DETERMINERS | _FUNCTION_WORDS
    start = parsed.frame_words()
    while parsed.lower(start) in small:
        start += 1
    if start == len(parsed.words):
        return None
    end = start + 1
    while (
        end < len(parsed.words) and (word := parsed.lower(end)) not in small and parsed.touch(end)
    ):
        if word.endswith("ing") or (word.endswith("ed") and parsed.lower(end + 1) in small):
            break
        end += 1
    word = parsed.lower(end - 1)
    noun = None
    if len(word) >= 5 and _DOER_ENDING.search(word):  # its ending names a person: "falconer"
        one = word[:-1] if word.endswith("s") and not word.endswith("ess") else word
        noun = Noun(one, plural(one), "person", {"occupation": one}, {"occupation": "person"})
    return _phrase(parsed, (0, end - 1), end, noun)


PHOTOS = frozenset("photo photograph picture image snapshot shot".split())
"""Openings that say photograph and no more."""

STYLE_WORDS = re.compile(
    r"\b(?:colou?r(?:ed)?|gr[ae]y-?scale|monochrome|sepia|pencil|black[- ]and[- ]white|oil|digital|cartoon)\b ?",
    re.I,
)
"""Words before "photo of" and the like that settle the style."""

_OPEN_MEDIA = PHOTOS | {"portrait", "headshot"}


@dataclass(frozen=True, slots=True)
class Statement:
    """Characters `start` to `end` of a text state a value; `before` where they are adjectives
    before a noun.

    `value` is `OTHER` for a value that the axis does not list.
    """

    start: int
    end: int
    value: str
    before: bool


@lru_cache(maxsize=8192)
def states(prompt: str, axis: str) -> bool:
    """Whether the prompt itself settles the axis, so that it makes no sense to ask which way a
    model leans on it.

    Raises UnknownName for an axis that is not in the catalogue.
    """
    entry = find_catalogue_axis(axis)
    parsed = parse_prompt(" ".join(prompt.split()))
    if any(form.place == "frame" for form in entry.forms.values()):
        frame = FRAME.match(parsed.text)
        return bool(
            frame
            and (
                STYLE_WORDS.search(frame["adjectives"])
                or frame["medium"].lower() not in _OPEN_MEDIA
            )
        )
    subjects = parsed.subjects(entry.subject_kinds) or parsed.subjects(
        {one.noun.kind for one in parsed.phrases if one.noun}
    )
    places = [
        phrase for phrase in parsed.phrases if phrase.noun and "setting" in phrase.noun.implies
    ]
    return (
        any(
            entry.axis.name in phrase.noun.implies for phrase in [*subjects, *places] if phrase.noun
        )
        or any(True for _ in find_statements(parsed, entry, subjects))
        or (entry.mentions is not None and bool(entry.mentions.search(parsed.text)))
    )


def stated_values(text: str, axis: str) -> set[str]:
    """The values of an axis of the catalogue that a text says, by a noun ("woman") or by words of
    their own.
    """
    entry = catalogue()[axis]
    found = {
        one.noun.implies[axis]
        for one in parse_prompt(text).phrases
        if one.noun and axis in one.noun.implies
    }
    words = f" {re.sub(r'[^a-z0-9-]+', ' ', text.lower())} "
    for value in entry.axis.values:
        spelled = {value, *entry.synonyms.get(value, ()), entry.forms[value].words}
        if any(f" {one.lower()} " in words for one in spelled):
            found.add(value)
    return found


def find_statements(
    parsed: ParsedPrompt, entry: CatalogueAxis, subjects: Sequence[NounPhrase]
) -> Iterator[Statement]:
    """Every place that states a value: modifiers of the subjects, and phrases after the first of
    them.
    """
    for phrase in subjects:
        start = parsed.words[phrase.first].start
        end = parsed.words[phrase.head].start
        yield from _matches(parsed.text, entry, True, start, end)
    start = parsed.words[subjects[0].end - 1].end if subjects else 0
    found = list(_matches(parsed.text, entry, False, start, len(parsed.text)))
    yield from found
    if not any(form.place == "clause" for form in entry.forms.values()):
        return
    for phrase in parsed.phrases:  # places such as "in China" and "at a museum"
        value = phrase.noun.implies.get(entry.axis.name) if phrase.noun else None
        if value and parsed.lower(phrase.start - 1) in ("in", "on", "at"):
            start, end = parsed.span(phrase.start - 1, phrase.end)
            if not any(other.start <= start < other.end for other in found):
                yield Statement(start, end, value if value in entry.axis.values else OTHER, False)


def _matches(
    text: str, entry: CatalogueAxis, before: bool, start: int, end: int
) -> Iterator[Statement]:
    values = list(entry.synonyms)
    for found in _pattern(entry.axis.name, before).finditer(text, start, end):
        yield Statement(
            found.start(), found.end(), values[int((found.lastgroup or "v0")[1:])], before
        )


@lru_cache
def _pattern(axis: str, before: bool) -> re.Pattern[str]:
    """Matches the words that state a value before a noun, or after it; a group per value in the
    order of `stated`.
    """
    entry = catalogue()[axis]
    groups = []
    for number, (value, stated) in enumerate(entry.synonyms.items()):
        form = entry.forms.get(value)
        words = {word for word in stated if not PHRASE_START.match(word)}
        if form and (form.place == "before" or form.words.startswith("who is ")):
            words.add(form.words.removeprefix("who is "))
        if not before:
            after = {word for word in stated if PHRASE_START.match(word)}
            if form and form.place != "before":
                after |= {form.words} | (
                    {f"{form.at_work} {form.words}"} if form.at_work else set()
                )
            words = (
                {f"who {be} {word}" for word in words for be in ("is", "are")}
                | after
                | set(map(agree, after))
            )
        listed = sorted(words, key=lambda word: (-len(word), word))
        groups.append(f"(?P<v{number}>{'|'.join(map(re.escape, listed)) or '(?!)'})")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(groups)})(?![\w-])", re.I)
