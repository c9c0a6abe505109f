"""Checks that askew applies to texts written by a language model.

askew accepts a counterfactual prompt only if it states that the subject has the intended value, and
changes only one concept. askew accepts a variation only if it keeps everything in the prompt.
Values are compared by meaning (see `askew.prompts.meanings`), so "an elderly nurse" states the
value "old".
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from askew.prompts.answers import REMARK
from askew.prompts.axes import CatalogueAxis, catalogue
from askew.prompts.base import simplify
from askew.prompts.languages import is_english
from askew.prompts.meanings import (
    ValueMention,
    find_mentions,
    find_words,
    is_alike,
    is_closed,
    is_known_value,
    tokens,
    value_kinds,
)
from askew.prompts.open_details import kin, main_phrase, themes
from askew.prompts.pronouns import genders_of_pronouns
from askew.prompts.statements import (
    DETERMINERS,
    FRAME,
    FUNCTION_WORDS,
    MEDIA,
    NounPhrase,
    ParsedPrompt,
    find_statements,
    parse_prompt,
    states,
)
from askew.prompts.vocabulary import Noun, nouns

MAX_ADDED_WORDS = 5
"""Maximum number of words that a counterfactual prompt may add, besides the words for its value."""

_MAX_EXCHANGED = 3
"""Maximum number of adjacent key words in the prompt that words for a value can replace."""

_LEAST_SHARED = 0.4
"""Minimum similarity, in [0, 1], between a non-English prompt and its counterfactual prompt."""

_SMALL_WORDS = frozenset(
    "of in on at by for with to and or from into who which that is are was were has have his her "
    "their its this some while wearing working being as photo picture image portrait person people "
    "someone".split()
)
_ADDRESS = re.compile(r"\?|\byours?\b|\byou\b|\bplease\b", re.I)
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget)\b.*\b(?:instructions?|previous|above|prompts?|everything)\b"
    r"|\b(?:make sure|note that|the model|your task)\b"
    r"|^(?:generate|create|draw|produce|render|depict)\b(?! by\b)",
    re.I,
)
_REQUEST = re.compile(
    r"(?:instead of [^,]+, )?(?:please )?(?:generate|create|draw|make|show|produce|render) (?:me )?"
    rf"(?P<frame>(?:an? |the )?(?:{MEDIA}) (?:of|showing|depicting) )(?P<content>\S.*)",
    re.I,
)
"""Pattern for a request such as "Instead of X, generate an image of Y" (TIBET, figure 23)."""

_NEGATORS = frozenset(
    "no not never without non hardly barely scarcely neither nor lacking isn't aren't doesn't don't "
    "wasn't nobody nothing except unlike".split()
)
_EXCLUSION = re.compile(
    r"\b(?:anything but|other than|rather than|instead of|the opposite of|far from) (?:\w+ )?$",
    re.I,
)
_REACH_OF_NEGATORS = 4
"""Maximum distance, in words, between a negator such as "not" and the value that it denies."""

_SAME_PERSON = re.compile(r"\s+who\s+(?:is|are)\s+", re.I)
_BREAK = re.compile(r"[,.;:!?|]")
_ATTRIBUTES = frozenset(
    "accent age appearance attire background beard body build clothes clothing color complexion "
    "descent disability dress ethnicity expression eyes face features figure frame gender hair "
    "heritage identity leg legs arm arms limb limbs look mood origin outfit person physique skin "
    "smile tone uniform wear tones".split()
)
"""Nouns whose adjectives describe a person. "With a sad expression" describes a sad person."""

_HIDDEN = frozenset("\u200b\u200e\u200f\u2028\u2029\ufeff")
_JOINERS = frozenset("\u200c\u200d")
"""Format characters (Unicode category Cf) that some writing systems require."""


def prompt_fault(text: str) -> str | None:
    """Return the reason why a text cannot be a prompt; None if it can be a prompt.

    Questions, texts that address or instruct the reader, texts with control characters, and texts
    that repeat a word three times are not prompts.
    """
    if any(map(_is_control_character, text)):
        return "a text contained a control character"
    words = simplify(text).split()
    if REMARK.match(text) or _ADDRESS.search(text):
        return "a text was a remark or a question, not a prompt"
    if _INSTRUCTION.search(text):
        return "a text was an instruction, not a prompt"
    counts = Counter(word for word in words if word not in _SMALL_WORDS)
    if max(counts.values(), default=0) >= 3:
        return "a text repeated a word three times"
    return None


def _is_control_character(character: str) -> bool:
    """Check whether a character cannot be displayed, or changes how a text is displayed."""
    if character in _HIDDEN:
        return True
    return unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in _JOINERS


def requested_content(prompt: str, text: str) -> str:
    """Extract the prompt from a request for an image; return any other text unchanged.

    "Instead of a nurse, generate an image of a male nurse" becomes "a male nurse", or "an image of
    a male nurse" if the original prompt begins with words such as "an image of".
    """
    request = _REQUEST.fullmatch(text)
    if request is None:
        return text
    content = request["content"].rstrip(".")
    if FRAME.match(prompt):
        return f"{request['frame']}{content}"
    return content[:1].upper() + content[1:] if prompt[:1].isupper() else content


def variation_fault(prompt: str, text: str) -> str | None:
    """Return the reason why a text is not a variation of a prompt; None if it is a variation.

    A variation keeps each key word of the prompt or replaces it with a related word from WordNet.
    """
    words = key_words(text)
    lost = [word for word in key_words(prompt) if not _is_kin_of_any(word, words)]
    fault = prompt_fault(text)
    if fault is None and lost:
        fault = f"a text lost {lost[0]!r}"
    return fault


def _is_kin_of_any(word: str, others: Collection[str]) -> bool:
    return any(_is_kin(word, other) for other in others)


def _is_kin(first: str, second: str) -> bool:
    """Check whether two words are similar, or closely related in WordNet."""
    table = nouns()
    return (
        is_alike(first, second)
        or (first in table and second in kin(table[first]))
        or (second in table and first in kin(table[second]))
    )


class WordChanges(NamedTuple):
    """Key words that occur in a prompt but not in a text, and vice versa."""

    lost: list[str]
    gained: list[str]

    @classmethod
    def between(cls, prompt: str, text: str) -> "WordChanges":
        """Return the key words in which a text differs from its prompt."""
        before = Counter(key_words(prompt))
        after = Counter(key_words(text))
        return cls(lost=list((before - after).elements()), gained=list((after - before).elements()))


def is_read_back(prompt: str, axis: str, value: str) -> bool:
    """Check whether the language model must confirm that a text states the value.

    Confirmation is required if the prompt is not in English, the axis is not in the catalog, or
    askew does not know the value.
    """
    return not is_english(prompt) or axis not in catalogue() or not is_known_value(axis, value)


def counterfactual_fault(
    prompt: str,
    axis: str,
    value: str,
    text: str,
    values: Sequence[str],
    *,
    stated: bool = False,
    doubtful: bool = False,
) -> str | None:
    """Return the reason why a counterfactual prompt is rejected; None if it is accepted.

    A counterfactual prompt must state that the subject has the value, and state no other value of
    the axis. A counterfactual prompt must also keep the subject (unless the axis changes the
    subject), change only one thing, and stay short. If the prompt is not in English, askew checks
    only how much of the prompt is kept.

    Parameters
    ----------
    prompt
        Original prompt.
    axis
        Name of an axis, which need not be in the catalog.
    value
        Value that the text should state.
    text
        Counterfactual prompt.
    values
        All values of the axis.
    stated
        Whether the original prompt is allowed to state a value of the axis. If True, words for the
        new value can replace the words for the old value.
    doubtful
        Whether to accept a value even if askew does not know it as a value of the axis.

    Returns
    -------
    str or None
        The reason, such as "the text repeats the prompt".
    """
    if simplify(text) == simplify(prompt):
        return "the text repeats the prompt"
    fault = prompt_fault(text)
    if fault or not is_english(prompt):
        return fault or _similarity_fault(prompt, text)
    if not doubtful and is_closed(axis) and not is_known_value(axis, value):
        return f"the value {value!r} is not a known value of {axis.replace('_', ' ')}"
    stated_values = _stated_values(axis, text, (value, *values))
    return (
        _value_fault(value, stated_values)
        or _subject_fault(prompt, axis, text)
        or _lost_fault(prompt, text, axis, stated=stated)
        or _added_fault(prompt, axis, text, stated_values.words_of(value))
        or _pronoun_fault(axis, value, text)
    )


def stated_value(axis: str, text: str) -> str | None:
    """Return the value of a catalog axis that a text states about its subject.

    Returns
    -------
    str or None
        The value; None if askew finds no value or more than one value.
    """
    if axis not in catalogue():
        return None
    stated = _stated_values(axis, text, ())
    values = {mention.value for mention, _ in stated.accepted}
    return values.pop() if len(values) == 1 else None


def settles(axis: str, text: str) -> bool:
    """Check whether a text states or denies that its subject has a value of a catalog axis."""
    stated = _stated_values(axis, text, ())
    return bool(stated.accepted or stated.denied)


def _similarity_fault(prompt: str, text: str) -> str | None:
    """Return a fault if a text, in any language, has too little in common with its prompt."""
    matcher = SequenceMatcher(None, prompt.lower(), text.lower(), autojunk=False)
    return None if matcher.ratio() >= _LEAST_SHARED else "the text lacks words of the prompt"


class _StatedValues(NamedTuple):
    """Values of an axis that a text states or denies.

    Attributes
    ----------
    accepted
        Values that the text states about its subject, with the words that state them.
    denied
        Values that the text denies.
    elsewhere
        Values that the text states for something other than its subject.
    """

    accepted: list[tuple[ValueMention, str]]
    denied: set[str]
    elsewhere: set[str]

    def words_of(self, value: str) -> list[str]:
        """Return the words that state a value."""
        listed = [words for mention, words in self.accepted if mention.value == value]
        return [token.text for words in listed for token in tokens(words)]


def _stated_values(axis: str, text: str, values: Sequence[str]) -> _StatedValues:
    """Find the given values, and the catalog's values of the axis, in a text."""
    entry = catalogue().get(axis)
    mentions = find_mentions(axis, text) if entry else []
    known = {mention.value for mention in mentions}
    for value in dict.fromkeys(values):
        mention = find_words(value, text) if value not in known else None
        if mention:
            mentions.append(mention)
    stated = _StatedValues(accepted=[], denied=set(), elsewhere=set())
    parsed = parse_prompt(text)
    for mention in mentions:
        if _is_denied(text, mention):
            stated.denied.add(mention.value)
        elif entry and not _is_about_subject(parsed, mention, entry):
            stated.elsewhere.add(mention.value)
        else:
            stated.accepted.append((mention, text[mention.start : mention.end]))
    return stated


def _is_denied(text: str, mention: ValueMention) -> bool:
    """Check whether a negator precedes the mention in its clause, or "-free" follows it."""
    opening = _BREAK.split(text[: mention.start])[-1]
    words = [token.text for token in tokens(opening)][-_REACH_OF_NEGATORS:]
    if _EXCLUSION.search(opening):
        return True
    if "but" in words:
        words = words[words.index("but") :]
    return not _NEGATORS.isdisjoint(words) or text[mention.end :].lower().startswith("-free")


def _is_about_subject(parsed: ParsedPrompt, mention: ValueMention, entry: CatalogueAxis) -> bool:
    """Check whether a mention describes the subject, not another person or thing in the text."""
    subjects = parsed.subjects(entry.subject_kinds) or list(parsed.phrases[:1])
    is_of_image = any(form.place in ("frame", "clause") for form in entry.forms.values())
    if is_of_image or not subjects or "person" not in entry.subject_kinds:
        return True
    spans = [parsed.span(phrase.start, phrase.end) for phrase in subjects]
    if any(start <= mention.start and mention.end <= end for start, end in spans):
        return True
    if mention.start < spans[0][0]:  # "blind since birth, a nurse"
        return True
    head = _modified_word(parsed, mention)
    is_attribute = head in _ATTRIBUTES or _is_value_noun(head, entry.axis.name)
    if head and not is_attribute:
        return False
    return not _follows_other_person(parsed, mention, spans[-1][1])


def _is_value_noun(word: str, axis: str) -> bool:
    noun = nouns().get(word)
    return noun is not None and noun.kind in value_kinds(axis)


def _modified_word(parsed: ParsedPrompt, mention: ValueMention) -> str:
    """Return the last of the nouns that directly follow a mention; "" if no noun follows."""
    following = [index for index, word in enumerate(parsed.words) if word.start >= mention.end]
    head = ""
    for index in following:
        word = parsed.lower(index)
        is_end = word in FUNCTION_WORDS or word in DETERMINERS or word.endswith(("ing", "ly"))
        if is_end or not parsed.is_adjacent(index):
            break
        head = word
    return head


def _follows_other_person(parsed: ParsedPrompt, mention: ValueMention, end: int) -> bool:
    """Check whether the text mentions another person between its subject and a value."""
    for phrase in parsed.phrases:
        start, phrase_end = parsed.span(phrase.start, phrase.end)
        if _SAME_PERSON.fullmatch(parsed.text[end:start]):
            continue
        is_person = phrase.noun is not None and phrase.noun.kind in ("person", "animal")
        is_between = start >= end and phrase_end <= mention.start
        is_around = start >= end and start <= mention.start < phrase_end
        if is_person and (is_between or is_around):
            return True
    return False


def _value_fault(value: str, stated: _StatedValues) -> str | None:
    """Return a fault if a text does not state the intended value, or also states another value."""
    accepted = {mention.value for mention, _ in stated.accepted}
    if value not in accepted:
        if value in stated.denied:
            return "the text denies its value"
        if value in stated.elsewhere:
            return "the text states its value about something other than the subject"
        return "the text does not state its value"
    value_words = {token.text for token in tokens(value)}
    for other in accepted - {value}:
        if not {token.text for token in tokens(other)} < value_words:
            return "the text also states another value"
    return None


def _subject_fault(prompt: str, axis: str, text: str) -> str | None:
    """Return a fault if a text changes the subject or the number of subjects, or adds people."""
    before = parse_prompt(prompt)
    after = parse_prompt(text)
    subject = main_phrase(before)
    new_subject = main_phrase(after)
    if subject is None or new_subject is None or None in (subject.noun, new_subject.noun):
        return None
    if axis in catalogue() and subject.plural != new_subject.plural:
        return "the text changes the number of subjects"
    if axis in catalogue() and not _is_same_subject(subject, new_subject, axis):
        return "the text changes the subject"
    if axis != "family" and _people(after) > _people(before):
        return "the text adds a person"
    return None


def _is_same_subject(subject: NounPhrase, new_subject: NounPhrase, axis: str) -> bool:
    """Check whether two phrases name the same subject; values of the axis may differ."""
    if subject.noun is None or new_subject.noun is None or _replaceable_noun(subject, axis):
        return True
    if subject.noun.singular == new_subject.noun.singular:
        return True
    return _differs_only_in(axis, subject.noun, new_subject)


def _differs_only_in(axis: str, noun: Noun, phrase: NounPhrase | None) -> bool:
    """Check whether the second noun only adds a value of the axis, as "girl" does to "child"."""
    new_noun = phrase.noun if phrase else None
    if new_noun is None or axis not in new_noun.implies or noun.kind != new_noun.kind:
        return False
    implied = dict(new_noun.implies)
    del implied[axis]
    return implied == {name: value for name, value in noun.implies.items() if name != axis}


def _people(parsed: ParsedPrompt) -> int:
    """Count the phrases about people, except in clauses such as "who is a woman"."""
    count = 0
    for phrase in parsed.phrases:
        opening = (parsed.lower(phrase.start - 2), parsed.lower(phrase.start - 1))
        is_clause = opening in (("who", "is"), ("who", "are"))
        is_person = phrase.noun is not None and phrase.noun.kind == "person"
        count += is_person and not is_clause
    return count


def _pronoun_fault(axis: str, value: str, text: str) -> str | None:
    """Return a fault if the text should state a gender, but its pronouns state another gender."""
    genders = genders_of_pronouns(text)
    if axis == "gender" and value in ("male", "female") and genders and value not in genders:
        return "the pronouns state another gender"
    return None


def _added_fault(prompt: str, axis: str, text: str, stating: Sequence[str]) -> str | None:
    """Return a fault if a text adds more to its prompt than the words for the value (`stating`)."""
    value_words = [*stating, *key_words(axis.replace("_", " ")), *_axis_words(text, axis)]
    gained = WordChanges.between(prompt, text).gained
    extra = [word for word in gained if not _is_alike_any_part(word, value_words)]
    longest = len(prompt.split()) + len(stating) + MAX_ADDED_WORDS
    if len(extra) > 2 or len(text.split()) > longest:
        return "the text adds more than its value"
    if not _is_title(prompt) and any(_is_name(word, text) for word in extra):
        return "the text adds a name"
    other_words = [
        word
        for word in text.split()
        if word.lower() not in stating and not _shares_word(word, value_words)
    ]
    other_axis = _other_axis_stated(prompt, axis, text, " ".join(other_words))
    if other_axis:
        return f"the text also states something about {other_axis.replace('_', ' ')}"
    return None


def _is_name(word: str, text: str) -> bool:
    """Check whether a word is capitalized in the middle of a text and is not a known noun."""
    if word in nouns():
        return False
    return re.search(rf"(?<=[a-z] ){re.escape(word.capitalize())}\b", text) is not None


def _is_title(text: str) -> bool:
    """Check whether most words in a text begin with a capital letter, as in a title."""
    words = text.split()
    return sum(word[0].isupper() for word in words) > len(words) / 2


def _shares_word(text: str, words: Collection[str]) -> bool:
    """Check whether any key word of a text is similar to any of the given words."""
    return any(_is_alike_any_part(word, words) for word in key_words(text))


def _is_alike_any_part(word: str, others: Collection[str]) -> bool:
    """Check whether a word, or each part of a hyphenated word, is similar to one of `others`."""
    parts = re.split(r"-", word)
    return _is_alike_any(word, others) or all(_is_alike_any(part, others) for part in parts)


def _other_axis_stated(prompt: str, axis: str, text: str, rest: str) -> str | None:
    """Return the name of another axis if the text, but not the prompt, states a value of that axis.

    `rest` is the text without the words for the intended value.
    """
    subject = main_phrase(parse_prompt(prompt))
    kinds = {"any", subject.noun.kind if subject and subject.noun else "person"}
    for name, entry in catalogue().items():
        is_related = name == axis or not themes(name).isdisjoint(themes(axis))
        if is_related or entry.subject_kinds.isdisjoint(kinds):
            continue
        if states(rest, name) and states(text, name) and not states(prompt, name):
            return name
    return None


def _lost_fault(prompt: str, text: str, axis: str, *, stated: bool) -> str | None:
    """Return a fault if a text omits words of the prompt that are unrelated to the axis."""
    parsed = parse_prompt(prompt)
    subject = main_phrase(parsed)
    new_subject = main_phrase(parse_prompt(text))
    replaceable = {*_axis_words(prompt, axis), *_replaceable_noun(subject, axis)}
    if subject and subject.noun and _differs_only_in(axis, subject.noun, new_subject):
        replaceable.add(subject.noun.singular)
    lost = WordChanges.between(prompt, text).lost
    text_words = key_words(text)
    missing = [word for word in lost if word not in replaceable and not _is_split(word, text_words)]
    if not missing:
        return None
    is_exchange = stated and _is_exchange(prompt, text)
    subject_words = key_words(parsed.words[subject.end - 1].text) if subject else []
    lost_subject = [word for word in subject_words if word in missing]
    if lost_subject and (axis in catalogue() or not is_exchange):
        return "the text lacks the subject"
    return None if is_exchange else "the text lacks a word of the prompt"


def _is_split(word: str, words: Collection[str]) -> bool:
    """Check whether all parts of a hyphenated word are among the given words."""
    parts = word.split("-")
    return len(parts) > 1 and set(parts) <= set(words)


def _replaceable_noun(subject: NounPhrase | None, axis: str) -> list[str]:
    """Return a list with the last word of the subject's noun, or [] if the noun must not change."""
    noun = subject.noun if subject else None
    if noun is None:
        return []
    is_value = noun.kind in value_kinds(axis)
    if not (is_value or axis in noun.implies or axis in noun.counterparts):
        return []
    return [noun.singular.split()[-1]]


def _is_exchange(prompt: str, text: str) -> bool:
    """Check whether a text replaces or omits only a few neighboring words of the prompt.

    Repeated words count as one concept: "Indian" may be replaced in both "Indian astronauts" and
    "Indian buffet".
    """
    before = simplify(prompt).split()
    after = simplify(text).split()
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    lost_parts = []
    for operation, start, end, _, _ in codes:
        if operation in ("replace", "delete") and key_words(" ".join(before[start:end])):
            lost_parts.append(key_words(" ".join(before[start:end])))
    is_short = all(len(part) <= _MAX_EXCHANGED for part in lost_parts)
    is_one_concept = bool(set.intersection(*map(set, lost_parts))) if lost_parts else False
    keeps_words = any(operation == "equal" for operation, *_ in codes)
    return is_short and is_one_concept and keeps_words


def _axis_words(text: str, axis: str) -> list[str]:
    """Return the key words in a text that state a value of an axis in the catalog."""
    entry = catalogue().get(axis)
    if entry is None:
        return []
    parsed = parse_prompt(text)
    subjects = parsed.subjects(entry.subject_kinds)
    statements = find_statements(parsed, entry, subjects)
    parts = [text[statement.start : statement.end] for statement in statements]
    parts += [
        parsed.words[phrase.end - 1].text
        for phrase in subjects
        if phrase.noun and axis in phrase.noun.implies
    ]
    return key_words(" ".join(parts))


def key_words(text: str) -> list[str]:
    """Return the meaningful words of a text in the singular, without its frame ("a photo of")."""
    frame = FRAME.match(text)
    words = simplify(text[frame.end() :] if frame else text).split()
    return [_singular(word) for word in words if word not in _SMALL_WORDS]


def _singular(word: str) -> str:
    if word in nouns():
        return nouns()[word].singular
    return re.sub(r"(?<=[^su]{3})s$", "", word)


def _is_alike_any(word: str, others: Collection[str]) -> bool:
    return any(is_alike(word, other) for other in others)


def values_agree(value: str, answer: str, others: Collection[str]) -> bool:
    """Check whether the value that a language model found in a text is the intended value.

    Parameters
    ----------
    value
        Value that the text should state.
    answer
        Value that the model found in the text.
    others
        The other values of the axis.

    Returns
    -------
    bool
        True if the answer contains at least one word of the value, and does not contain more words
        of any other value.
    """
    shared = _shared_words(value, answer)
    return shared > 0 and all(_shared_words(other, answer) <= shared for other in others)


def _shared_words(value: str, answer: str) -> int:
    """Count the words of a value that occur in an answer."""
    if simplify(value) == simplify(answer):
        return len(answer)
    if not value.isascii() and value.lower() in answer.lower():  # no spaces between words
        return len(value)
    answered = [token.text for token in tokens(answer)]
    return sum(_is_alike_any(token.text, answered) for token in tokens(value))
