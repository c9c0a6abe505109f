"""Parser for the noun phrases in a prompt, and for the axis values that the prompt states."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from askew.prompts.axes import (
    OTHER,
    PHRASE_START,
    CatalogueAxis,
    ValueForm,
    catalogue,
    find_catalogue_axis,
    value_words,
)
from askew.prompts.pronouns import states_gender
from askew.prompts.vocabulary import Noun, adjectives, agree, nouns, occupation_noun, plural
from askew.prompts.vocabulary import replace as replace_text

MEDIA = (
    "photo|photograph|picture|image|portrait|headshot|snapshot|shot|polaroid|painting|drawing|sketch|"
    "illustration|render|rendering|cartoon|wallpaper|poster|concept art|digital art|art|comic|"
    "watercolou?r"
)

FRAME = re.compile(
    rf"(?P<article>an? |the )?(?P<adjectives>(?:[\w-]+ ){{0,3}}?)(?P<medium>{MEDIA})"
    r"(?P<link> of | depicting | showing )",
    re.I,
)
"""Opening of a prompt before its subject: "a photo of", "an image depicting"."""

SINGULAR = frozenset("a an one this that each every another".split())
_PLURAL = frozenset(
    "two three four five six seven eight nine ten several many few some these those both".split()
)
DETERMINERS = SINGULAR | _PLURAL | frozenset("the my your his her its our their no any all".split())
FUNCTION_WORDS = frozenset(
    "of at in on by for from with without to into onto over under above below near next "
    "beside behind between among around through across against along during inside outside up "
    "down off out as and or but nor than like that who whom whose which where when while is "
    "are was were be been being am has have had do does did can will would should not it he "
    "she they them him we you i photo photograph picture image portrait indoors outdoors".split()
)
_ADJECTIVE_ENDING = re.compile(
    r"(?:ful|less|ous|ish|ive|able|ible|ic|ed|ing|looking|esque|like)$|^(?:non|un)-?\w+ed$"
)
DOER_ENDING = re.compile(r"(?:[^e]er|or|ist|ian|man|woman|ess|eer|smith|person)s?$|(?:men|people)$")
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")


class Word(NamedTuple):
    """A word and its range of characters in a text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun and the words that precede it in its phrase.

    All positions are word indices in the prompt.

    Attributes
    ----------
    start
        Index of the determiner; equal to `first` if there is no determiner.
    first
        Index of the first modifier; equal to `head` if there is no modifier.
    head
        Index of the noun, or of the first noun of a compound such as "bird photographer".
    noun_start
        Index of the noun itself.
    end
        Index of the word after the noun.
    plural
        Whether the phrase refers to more than one thing.
    noun
        The noun; None for an unknown noun.
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
    """A prompt with its words and its noun phrases.

    Attributes
    ----------
    text
        The prompt.
    words
        The words of the prompt.
    phrases
        The noun phrases in the prompt, in order.
    """

    text: str
    words: tuple[Word, ...]
    phrases: tuple[NounPhrase, ...]

    def subjects(self, kinds: Collection[str]) -> list[NounPhrase]:
        """Return the first phrase of these kinds, and all phrases joined to it by "and" or a comma."""
        phrases = [phrase for phrase in self.phrases if phrase.noun and phrase.noun.kind in kinds]
        for count in range(1, len(phrases)):
            start = self.words[phrases[count - 1].end - 1].end
            end = self.words[phrases[count].start].start
            if not re.fullmatch(r"\s*(,|,?\s*(and|or|&))\s*", self.text[start:end], re.I):
                return phrases[:count]
        return phrases

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return the character range of the words from `first` up to but not including `end`."""
        return self.words[first].start, self.words[end - 1].end

    def replace_words(self, first: int, end: int, words: str) -> str:
        """Replace the words from `first` up to but not including `end`, and return the new text."""
        return replace_text(self.text, *self.span(first, end), words)

    def lower(self, index: int) -> str:
        """Return the word at an index in lower case, or "" if the text has no such word."""
        return self.words[index].text.lower() if 0 <= index < len(self.words) else ""

    def lower_text(self, first: int, end: int) -> str:
        """Return the words from `first` up to but not including `end`, in lower case."""
        return self.text[slice(*self.span(first, end))].lower()

    def is_adjacent(self, index: int) -> bool:
        """Check whether only whitespace separates a word from the word before it."""
        return not self.text[self.words[index - 1].end : self.words[index].start].strip()

    def frame_words(self) -> int:
        """Return the number of words in the text's frame, such as "a photo of"."""
        frame = FRAME.match(self.text)
        if frame is None:
            return 0
        return sum(word.end <= frame.end() for word in self.words)


def occupations_in(text: str) -> list[str]:
    """Return the occupations that a prompt mentions."""
    phrases = parse_prompt(text).phrases
    implied = [phrase.noun.implies.get("occupation") for phrase in phrases if phrase.noun]
    return [occupation for occupation in implied if occupation]


@lru_cache(maxsize=4096)
def parse_prompt(text: str) -> ParsedPrompt:
    """Parse a prompt into words and noun phrases.

    If a prompt begins with unknown words, askew guesses from their form which words are a noun
    phrase.
    """
    words = tuple(Word(match.group(), *match.span()) for match in _WORD.finditer(text))
    parsed = ParsedPrompt(text=text, words=words, phrases=())
    phrases = _known_phrases(parsed)
    guess = _guessed_phrase(parsed)
    if guess and _precedes(parsed, guess, phrases):
        phrases = [guess, *phrases]
    return replace(parsed, phrases=tuple(phrases))


def has_known_word(text: str) -> bool:
    """Check whether a text contains a known English noun or adjective, an axis value or an article."""
    parsed = parse_prompt(text)
    if _known_phrases(parsed):
        return True
    known = {"a", "an", "the"} | adjectives() | value_words()
    return any(parsed.lower(index) in known for index in range(len(parsed.words)))


def _precedes(parsed: ParsedPrompt, guess: NounPhrase, phrases: Sequence[NounPhrase]) -> bool:
    """Check whether a guessed phrase precedes all known phrases and has no "of" after it."""
    if not phrases:
        return True
    return guess.end <= phrases[0].start and parsed.lower(guess.end) != "of"


def _known_phrases(parsed: ParsedPrompt) -> list[NounPhrase]:
    """Return the phrases with known nouns.

    In a series of nouns, only the last noun forms a phrase.
    """
    phrases: list[NounPhrase] = []
    opening = parsed.frame_words()
    index = opening
    while index < len(parsed.words):
        end = _known_noun_end(parsed, index)
        if end is None:
            index += 1
            continue
        if phrases and phrases[-1].end == index and parsed.is_adjacent(index):
            phrases.pop()
        floor = phrases[-1].end if phrases else opening
        phrase = _phrase(parsed, floor, index, end, _known_noun(parsed, index, end))
        if phrases and _counts_people(parsed, phrases[-1], phrase):
            phrases.pop()
        phrases.append(phrase)
        index = phrase.end
    return phrases


def _known_noun_end(parsed: ParsedPrompt, start: int) -> int | None:
    """Return the end of the longest known noun that begins at `start`; None if there is none."""
    for end in range(min(start + 4, len(parsed.words)), start, -1):
        if _known_noun(parsed, start, end) and not _is_adjective_before_word(parsed, start, end):
            return end
    return None


def _known_noun(parsed: ParsedPrompt, start: int, end: int) -> Noun | None:
    return nouns().get(" ".join(parsed.lower_text(start, end).split()))


def _is_adjective_before_word(parsed: ParsedPrompt, start: int, end: int) -> bool:
    """Check whether the words form an adjective that directly precedes another word."""
    is_followed = end < len(parsed.words) and parsed.is_adjacent(end)
    return is_followed and parsed.lower_text(start, end) in adjectives()


def _counts_people(parsed: ParsedPrompt, counting: NounPhrase, phrase: NounPhrase) -> bool:
    """Check whether a noun only counts the people that follow, as in "a couple of nurses"."""
    is_joined = phrase.start - counting.end == 1 and parsed.lower(phrase.start - 1) == "of"
    nouns_of_both = (counting.noun, phrase.noun)
    return (
        is_joined
        and phrase.plural
        and all(noun is not None and noun.kind == "person" for noun in nouns_of_both)
    )


def _phrase(
    parsed: ParsedPrompt, floor: int, noun_start: int, end: int, noun: Noun | None
) -> NounPhrase:
    """Return the noun phrase that contains a noun, excluding all words before the index `floor`."""
    first = noun_start
    head = noun_start
    while first > floor and _is_modifier(parsed, first - 1):
        first -= 1
        if head == first + 1 and _is_compounded(parsed.lower(first)):
            head = first
    start = first
    while start > floor and parsed.lower(start - 1) in DETERMINERS and parsed.is_adjacent(start):
        start -= 1
    determiners = {parsed.lower(index) for index in range(start, first)}
    noun_text = parsed.lower_text(noun_start, end)
    return NounPhrase(
        start=start,
        first=first,
        head=head,
        noun_start=noun_start,
        end=end,
        plural=_is_plural(noun_text, noun, determiners),
        noun=noun,
    )


def _is_compounded(word: str) -> bool:
    """Check whether a word forms a compound with the noun after it ("bird photographer")."""
    if word in adjectives() or word in value_words():
        return False
    known = nouns().get(word)
    if known:
        return known.implies.keys().isdisjoint({"gender", "age"})
    return not _ADJECTIVE_ENDING.search(word)


def _is_plural(text: str, noun: Noun | None, determiners: Collection[str]) -> bool:
    """Check whether a noun is plural, based on its form and its determiners."""
    if not SINGULAR.isdisjoint(determiners):
        return False
    if noun and noun.singular != noun.plural:
        return text != noun.singular
    return not _PLURAL.isdisjoint(determiners) or bool(re.search(r"[^su]s$", text))


def _is_modifier(parsed: ParsedPrompt, index: int) -> bool:
    """Check whether a word modifies the word after it."""
    word = parsed.lower(index)
    is_small = word in FUNCTION_WORDS or word in DETERMINERS or word.isdigit()
    if is_small or not parsed.is_adjacent(index + 1):
        return False
    if not word.endswith("ing") or index == 0:
        return True
    # The word before shows that "smiling" is an adjective, as in "a smiling", and not a verb.
    before = parsed.lower(index - 1)
    is_known = before in DETERMINERS or before in FUNCTION_WORDS or before in adjectives()
    return is_known or bool(_ADJECTIVE_ENDING.search(before))


def _guessed_phrase(parsed: ParsedPrompt) -> NounPhrase | None:
    """Return the first words after the frame as a noun phrase; None if only function words follow."""
    small_words = DETERMINERS | FUNCTION_WORDS
    start = parsed.frame_words()
    while parsed.lower(start) in small_words:
        start += 1
    if start == len(parsed.words):
        return None
    end = start + 1
    while end < len(parsed.words) and _continues_phrase(parsed, end):
        end += 1
    noun = _person_by_ending(parsed.lower(end - 1))
    return _phrase(parsed, floor=0, noun_start=end - 1, end=end, noun=noun)


def _continues_phrase(parsed: ParsedPrompt, index: int) -> bool:
    """Check whether a word can continue the guessed noun phrase before it."""
    small_words = DETERMINERS | FUNCTION_WORDS
    word = parsed.lower(index)
    if word in small_words or not parsed.is_adjacent(index):
        return False
    is_verb = word.endswith("ed") and parsed.lower(index + 1) in small_words
    return not word.endswith("ing") and not is_verb


def _person_by_ending(word: str) -> Noun | None:
    """Return a noun for a person if an unknown word ends like "falconer"; else return None."""
    if len(word) < 5 or not DOER_ENDING.search(word):
        return None
    is_plural = word.endswith("s") and not word.endswith("ess")
    singular = word[:-1] if is_plural else word
    return occupation_noun(singular, plural(singular))


PHOTOS = frozenset("photo photograph picture image snapshot shot".split())
"""Media, such as "photo", that do not state a style of the image."""

STYLE_WORDS = re.compile(
    r"\b(?:colou?r(?:ed)?|gr[ae]y-?scale|monochrome|sepia|pencil|black[- ]and[- ]white|oil|digital|"
    r"cartoon)\b ?",
    re.I,
)
"""Words in frames that state a style."""

_OPEN_MEDIA = PHOTOS | {"portrait", "headshot"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a text that states a value.

    Attributes
    ----------
    start, end
        Range of characters.
    value
        The value; `OTHER` for a value that the axis does not list.
    before
        Whether the words are adjectives before a noun.
    """

    start: int
    end: int
    value: str
    before: bool


@lru_cache(maxsize=8192)
def states(prompt: str, axis: str) -> bool:
    """Check whether a prompt states a value of an axis.

    If the prompt states a value, bias on this axis is not meaningful.

    Parameters
    ----------
    prompt
        Any prompt.
    axis
        Name of an axis in the catalog.

    Returns
    -------
    bool
        True if the prompt states a value, whether or not the axis lists that value.

    Raises
    ------
    UnknownName
        If the axis is not in the catalog.
    """
    entry = find_catalogue_axis(axis)
    parsed = parse_prompt(" ".join(prompt.split()))
    if any(form.place == "frame" for form in entry.forms.values()):
        return _frame_states_style(parsed.text)
    subjects = parsed.subjects(entry.subject_kinds)
    if not subjects:
        subjects = parsed.subjects({phrase.noun.kind for phrase in parsed.phrases if phrase.noun})
    if _is_implied(parsed, entry, subjects) or any(find_statements(parsed, entry, subjects)):
        return True
    if entry.axis.name == "gender" and states_gender(parsed.text):
        return True
    return entry.mentions is not None and bool(entry.mentions.search(parsed.text))


def _frame_states_style(text: str) -> bool:
    """Check whether a prompt has a frame that states the style of the image."""
    frame = FRAME.match(text)
    if frame is None:
        return False
    has_style_word = STYLE_WORDS.search(frame["adjectives"]) is not None
    return has_style_word or frame["medium"].lower() not in _OPEN_MEDIA


def _is_implied(parsed: ParsedPrompt, entry: CatalogueAxis, subjects: Sequence[NounPhrase]) -> bool:
    """Check whether the noun for a subject or a place implies a value of the axis."""
    axis = entry.axis.name
    subject_nouns = [phrase.noun for phrase in subjects]
    place_nouns = [
        phrase.noun for phrase in parsed.phrases if phrase.noun and "setting" in phrase.noun.implies
    ]
    return any(noun and axis in noun.implies for noun in (*subject_nouns, *place_nouns))


def stated_values(text: str, axis: str) -> set[str]:
    """Return the values of an axis that a text states with nouns ("woman") or other words.

    Parameters
    ----------
    text
        Any text.
    axis
        Name of an axis in the catalog's spelling.

    Returns
    -------
    set[str]
        The stated values, including values that nouns imply.
    """
    entry = catalogue()[axis]
    phrases = parse_prompt(text).phrases
    values = {
        phrase.noun.implies[axis]
        for phrase in phrases
        if phrase.noun and axis in phrase.noun.implies
    }
    words = f" {re.sub(r'[^a-z0-9-]+', ' ', text.lower())} "
    for value in entry.axis.values:
        spellings = {value, *entry.synonyms.get(value, ()), entry.forms[value].words}
        if any(f" {spelling.lower()} " in words for spelling in spellings):
            values.add(value)
    return values


def find_statements(
    parsed: ParsedPrompt, entry: CatalogueAxis, subjects: Sequence[NounPhrase]
) -> Iterator[Statement]:
    """Yield all statements in a prompt that assign a value of an axis to the subjects.

    Statements are modifiers of the subjects, or phrases after the first subject.

    Parameters
    ----------
    parsed
        Prompt to search.
    entry
        Catalog entry of the axis.
    subjects
        Noun phrases that the statements describe; empty to search the entire prompt.

    Yields
    ------
    Statement
        Adjectives in the order of the subjects, then phrases, then places such as "in China".
    """
    for phrase in subjects:
        start = parsed.words[phrase.first].start
        end = parsed.words[phrase.head].start
        yield from _matches(parsed.text, entry, before=True, start=start, end=end)
    start = parsed.words[subjects[0].end - 1].end if subjects else 0
    phrases = list(_matches(parsed.text, entry, before=False, start=start, end=len(parsed.text)))
    yield from phrases
    if any(form.place == "clause" for form in entry.forms.values()):
        for statement in _place_statements(parsed, entry):
            if not any(other.start <= statement.start < other.end for other in phrases):
                yield statement


def _place_statements(parsed: ParsedPrompt, entry: CatalogueAxis) -> Iterator[Statement]:
    """Yield a statement for each place that implies a value, such as "in China"."""
    for phrase in parsed.phrases:
        value = phrase.noun.implies.get(entry.axis.name) if phrase.noun else None
        if value and parsed.lower(phrase.start - 1) in ("in", "on", "at"):
            start, end = parsed.span(phrase.start - 1, phrase.end)
            listed_value = value if value in entry.axis.values else OTHER
            yield Statement(start=start, end=end, value=listed_value, before=False)


def _matches(
    text: str, entry: CatalogueAxis, *, before: bool, start: int, end: int
) -> Iterator[Statement]:
    """Yield statements of values by words before or after a noun, from `start` to `end`."""
    values = list(entry.synonyms)
    for match in _pattern(entry.axis.name, before).finditer(text, start, end):
        number = int((match.lastgroup or "v0")[1:])
        yield Statement(start=match.start(), end=match.end(), value=values[number], before=before)


@lru_cache
def _pattern(axis: str, before: bool) -> re.Pattern[str]:
    """Return a pattern for words that state a value before or after a noun.

    The pattern has one group per value, in the order of `CatalogueAxis.synonyms`.
    """
    entry = catalogue()[axis]
    groups = []
    for number, (value, synonyms) in enumerate(entry.synonyms.items()):
        form = entry.forms.get(value)
        words = _adjectives_of(form, synonyms)
        if not before:
            words = _phrases_of(form, synonyms, words)
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        alternatives = "|".join(map(re.escape, longest_first)) or "(?!)"
        groups.append(f"(?P<v{number}>{alternatives})")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(groups)})(?![\w-])", re.I)


def _adjectives_of(form: ValueForm | None, synonyms: Sequence[str]) -> set[str]:
    """Return the adjectives that state a value."""
    words = {word for word in synonyms if not PHRASE_START.match(word)}
    if form and (form.place == "before" or form.words.startswith("who is ")):
        words.add(form.words.removeprefix("who is "))
    return words


def _phrases_of(
    form: ValueForm | None, synonyms: Sequence[str], value_adjectives: Collection[str]
) -> set[str]:
    """Return the phrases that state a value after a singular or plural noun."""
    phrases = {word for word in synonyms if PHRASE_START.match(word)}
    if form and form.place != "before":
        phrases.add(form.words)
        if form.at_work:
            phrases.add(f"{form.at_work} {form.words}")
    clauses = {f"who {verb} {word}" for word in value_adjectives for verb in ("is", "are")}
    return clauses | phrases | set(map(agree, phrases))
