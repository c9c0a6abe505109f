"""The noun phrases of a prompt, and which of them are people, animals, objects, places."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from askew.prompts.axes import value_words
from askew.prompts.vocabulary import Noun, adjectives, nouns, plural
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
_PLURAL = frozenset("two three four five six seven eight nine ten several many few some these those both".split())
DETERMINERS = SINGULAR | _PLURAL | frozenset("the my your his her its our their no any all".split())
_FUNCTION_WORDS = frozenset(
    "of at in on by for from with without to into onto over under above below near next beside behind between among "
    "around through across against along during inside outside up down off out as and or but nor than like that who "
    "whom whose which where when while is are was were be been being am has have had do does did can will would "
    "should not it he she they them him we you i photo photograph picture image portrait indoors outdoors".split()
)
_ADJECTIVE_ENDING = re.compile(r"(?:ful|less|ous|ish|ive|able|ible|ic|ed|ing|looking|esque|like)$|^(?:non|un)-?\w+ed$")
_DOER_ENDING = re.compile(r"(?:[^e]er|or|ist|ian|man|woman|ess|eer|smith|person)s?$|(?:men|people)$")
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")


class Word(NamedTuple):
    """A word and where it stands in its text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands before it; all numbers are positions in the prompt's words.

    start, first, head, noun_start, end: the determiner (if any), the first modifier, the noun with the nouns
    compounded into it ("bird photographer"), the noun itself, and the word after. `noun` None is an unknown one.
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
            between = self.text[self.words[found[count - 1].end - 1].end : self.words[found[count].start].start]
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
    found = (phrase.noun.says.get("occupation") for phrase in parse_prompt(text).phrases if phrase.noun)
    return [one for one in found if one]


@lru_cache(maxsize=4096)
def parse_prompt(text: str) -> ParsedPrompt:
    """A prompt taken apart. An opening noun phrase of unknown words is guessed from its form."""
    parsed = ParsedPrompt(text, tuple(Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)), ())
    phrases, guess = _known_phrases(parsed), _guess(parsed)
    if guess and (not phrases or (guess.end <= phrases[0].start and parsed.lower(guess.end) != "of")):
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
            if noun and not (end < len(parsed.words) and form in adjectives() and parsed.touch(end)):
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


def _phrase(parsed: ParsedPrompt, place: tuple[int, int], end: int, noun: Noun | None) -> NounPhrase:
    """The phrase of a noun. `place`: the first word that may belong to it, the first word of the noun."""
    floor, at = place
    start = head = at
    while start > floor and _is_modifier(parsed, start - 1):
        start -= 1
        word, known = parsed.lower(start), nouns().get(parsed.lower(start))
        describes = known.says.keys() & {"gender", "age"} if known else _ADJECTIVE_ENDING.search(word)
        if head == start + 1 and word not in adjectives() | value_words() and not describes:
            head = start  # part of the noun ("bird photographer") rather than an adjective or a person
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
    before = parsed.lower(at - 1)  # what makes "smiling" an adjective, as in "a smiling", and no verb
    return before in DETERMINERS | _FUNCTION_WORDS | adjectives() or bool(_ADJECTIVE_ENDING.search(before))


def _guess(parsed: ParsedPrompt) -> NounPhrase | None:
    """The first run of words after the frame that can be a noun phrase."""
    small = DETERMINERS | _FUNCTION_WORDS
    start = parsed.frame_words()
    while parsed.lower(start) in small:
        start += 1
    if start == len(parsed.words):
        return None
    end = start + 1
    while end < len(parsed.words) and (word := parsed.lower(end)) not in small and parsed.touch(end):
        if word.endswith("ing") or (word.endswith("ed") and parsed.lower(end + 1) in small):
            break
        end += 1
    word, noun = parsed.lower(end - 1), None
    if len(word) >= 5 and _DOER_ENDING.search(word):  # its ending names a person: "falconer"
        one = word[:-1] if word.endswith("s") and not word.endswith("ess") else word
        noun = Noun(one, plural(one), "person", {"occupation": one}, {"occupation": "person"})
    return _phrase(parsed, (0, end - 1), end, noun)
