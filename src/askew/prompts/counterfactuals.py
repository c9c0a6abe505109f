"""Counterfactual prompts, which repeat a prompt with one concept changed.

The catalog expresses a value as an adjective before the noun, as a phrase after the noun, as a
phrase at the end of the clause, or as a frame ("a sketch of"). The wording for the first eight axes
is taken from BiasConnect (appendix, table 2). If words of the prompt state another value of the
axis, askew replaces or removes them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from askew.errors import UnknownName, UsageError
from askew.prompts.axes import CatalogueAxis, ValueForm, catalogue, find_catalogue_axis
from askew.prompts.base import normalize_prompt
from askew.prompts.pronouns import with_pronouns
from askew.prompts.statements import (
    DETERMINERS,
    FRAME,
    MEDIA,
    PHOTOS,
    STYLE_WORDS,
    NounPhrase,
    ParsedPrompt,
    Statement,
    find_statements,
    parse_prompt,
)
from askew.prompts.vocabulary import adjectives, agree, article, nouns, plural, replace

_ADJECTIVE_ORDER = (
    "size wealth socioeconomic condition age body_type disability pose behavior facial_hair "
    "headwear hair skin_tone color fur_color ethnicity nationality religion domestication "
    "animal_breed material gender"
).split()
"""Axes whose values are adjectives, in the usual order of English adjectives."""

INDEFINITE_PRONOUNS = frozenset("somebody someone anybody anyone".split())
"""Pronouns for people. Adjectives follow these pronouns, as in "someone old"."""

_CLAUSE_END = re.compile(r"\s*[,.;:!?|](?=\s|$)|\s*$")


class Edit(NamedTuple):
    """An edit to a text: the characters from `start` to `end` are replaced by `words`."""

    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True)
class _Change:
    """A prompt to change, and its statements that match or contradict the new value."""

    parsed: ParsedPrompt
    entry: CatalogueAxis
    value: str
    form: ValueForm
    subjects: Sequence[NounPhrase]
    matching: Sequence[Statement]
    conflicting: Sequence[Statement]

    @property
    def conflicting_phrases(self) -> list[Statement]:
        """Return the statements that contradict the new value, except adjectives before a noun."""
        return [statement for statement in self.conflicting if not statement.before]


def counterfactuals(prompt: str, axis: str) -> dict[str, str]:
    """Return one counterfactual prompt for each value of an axis, in the order of the values.

    Parameters
    ----------
    prompt
        Prompt to change.
    axis
        Name of an axis in the catalog.

    Returns
    -------
    dict[str, str]
        Counterfactual prompts, keyed by value.

    Raises
    ------
    UnknownName, UsageError
        For the same reasons as in `counterfactual`.
    """
    values = find_catalogue_axis(axis).axis.values
    return {value: counterfactual(prompt, axis, value) for value in values}


def counterfactual(prompt: str, axis: str, value: str, form: ValueForm | None = None) -> str:
    """Return a prompt in which one concept is changed so that the prompt states a value.

    For example, "A photo of a doctor" with the value "female" becomes "A photo of a female doctor".
    If a prompt joins several people with "and", the change applies to all of them.

    Parameters
    ----------
    prompt
        Prompt to change.
    axis
        Name of an axis in the catalog.
    value
        Value that the changed prompt must state.
    form
        Words for the value; None to use the words in the catalog.

    Returns
    -------
    str
        The changed prompt, or the original prompt if it already states the value.

    Raises
    ------
    UnknownName
        If the axis or the value is not in the catalog.
    UsageError
        If the prompt is empty or has no noun that can have the value.
    """
    entry = find_catalogue_axis(axis)
    UnknownName.unless_known(f"value of axis {entry.axis.name!r}:", value, entry.axis.values)
    text = normalize_prompt(prompt)
    if _is_in_capitals(text):
        return counterfactual(text.lower(), axis, value, form).upper()
    form = form or entry.forms[value]
    if form.place == "frame":
        return reframe(text, form.words)
    change = _change(parse_prompt(text), entry, value, form)
    changed = _apply(text, _edits(change))
    if entry.axis.name == "gender":
        changed = with_pronouns(changed, value)
    return _match_capital(text, changed)


def _is_in_capitals(text: str) -> bool:
    """Check whether a text has more than one word, all in capital letters."""
    return text.isupper() and " " in text and not text.lower().isupper()


def _apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits from the end of the text to its beginning, so that positions stay valid."""
    changed = text
    for start, end, words in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        rest = changed[end:]
        if start == end == 0:
            # The text's first word is no longer the first word of the sentence.
            rest = _lower_first(changed)
        changed = replace(changed[:end] + rest, start, end, words)
    return changed


def _change(parsed: ParsedPrompt, entry: CatalogueAxis, value: str, form: ValueForm) -> _Change:
    subjects = _subjects(parsed, entry)
    statements = list(find_statements(parsed, entry, subjects))
    return _Change(
        parsed=parsed,
        entry=entry,
        value=value,
        form=form,
        subjects=subjects,
        matching=[statement for statement in statements if statement.value == value],
        conflicting=[statement for statement in statements if statement.value != value],
    )


def _edits(change: _Change) -> Iterator[Edit]:
    """Yield edits that make the prompt state the value, and no other value of the axis."""
    for phrase in change.subjects:
        yield from _noun_edits(change, phrase)
    if change.form.place == "before":
        for statement in change.conflicting_phrases:
            yield Edit(statement.start, statement.end, "")
    else:
        yield from _phrase_edits(change)


def _noun_edits(change: _Change, phrase: NounPhrase) -> Iterator[Edit]:
    """Yield the edits for one subject, which change its noun or adjectives."""
    noun = _counterpart(change, phrase)
    if noun:  # "man" replaces "woman"
        start, end = change.parsed.span(phrase.noun_start, phrase.end)
        yield Edit(start, end, noun)
    if change.form.place == "before":
        yield from _adjective_edits(change, phrase, noun)


def _counterpart(change: _Change, phrase: NounPhrase) -> str | None:
    """Return the noun to use instead of a phrase's noun; None to keep the noun.

    The new noun is plural if the phrase is plural.
    """
    axis = change.entry.axis.name
    if phrase.noun is None or phrase.noun.implies.get(axis) == change.value:
        return None
    noun = phrase.noun.counterparts.get(axis)
    if noun is None or not phrase.plural:
        return noun
    return nouns()[noun].plural if noun in nouns() else plural(noun)


def _adjective_edits(change: _Change, phrase: NounPhrase, noun: str | None) -> Iterator[Edit]:
    """Yield the edits for a subject's adjectives; `noun` is the subject's new noun, if any."""
    is_stated = _states_value(change, phrase, noun)
    conflicting = [
        statement
        for statement in change.conflicting
        if statement.before and _modifies(change.parsed, statement, phrase)
    ]
    for number, statement in enumerate(conflicting):
        words = change.form.words if number == 0 and not is_stated else ""
        yield Edit(statement.start, statement.end, words)
    if not conflicting and not is_stated:
        yield _added_adjective(change, phrase)


def _added_adjective(change: _Change, phrase: NounPhrase) -> Edit:
    """Return the edit that adds an adjective, before a noun or after a pronoun ("someone")."""
    if phrase.noun is not None and phrase.noun.singular in INDEFINITE_PRONOUNS:
        end = change.parsed.words[phrase.end - 1].end
        return Edit(end, end, f" {change.form.words}")
    start = _adjective_start(change, phrase)
    return Edit(start, start, f"{change.form.words} ")


def _states_value(change: _Change, phrase: NounPhrase, noun: str | None) -> bool:
    """Check whether the noun or other words already state that the subject has the value."""
    if noun and noun not in nouns():
        return True
    known = nouns().get(noun) if noun else phrase.noun
    if known and known.implies.get(change.entry.axis.name) == change.value:
        return True
    return any(
        not statement.before or _modifies(change.parsed, statement, phrase)
        for statement in change.matching
    )


def _adjective_start(change: _Change, phrase: NounPhrase) -> int:
    """Return the position for a new adjective, based on the usual order of adjectives."""
    starts = [change.parsed.words[phrase.head].start]
    axis = change.entry.axis.name
    later_axes = []
    if axis in _ADJECTIVE_ORDER:
        later_axes = _ADJECTIVE_ORDER[_ADJECTIVE_ORDER.index(axis) + 1 :]
    for name in later_axes:
        statements = find_statements(change.parsed, catalogue()[name], [phrase])
        starts += [statement.start for statement in statements if statement.before]
    return min(starts)


def _phrase_edits(change: _Change) -> Iterator[Edit]:
    """Yield the edits that add a phrase, and replace or remove conflicting statements."""
    is_stated = bool(change.matching) or _is_implied(change)
    replaceable = change.conflicting_phrases[:1]
    for statement in change.conflicting:
        words = ""
        if not is_stated and statement in replaceable:
            words = _agreeing_words(change.form, change.subjects)
            verb = change.form.at_work
            if verb and change.parsed.text.startswith(verb, statement.start):
                words = f"{verb} {words}"
        yield Edit(statement.start, statement.end, words)
    if not is_stated and not replaceable:
        yield phrase_edit(change.parsed, change.form, change.subjects)


def _is_implied(change: _Change) -> bool:
    """Check whether a subject's noun implies the value."""
    axis = change.entry.axis.name
    known_nouns = [phrase.noun for phrase in change.subjects if phrase.noun]
    return any(noun.implies.get(axis) == change.value for noun in known_nouns)


def _subjects(parsed: ParsedPrompt, entry: CatalogueAxis) -> list[NounPhrase]:
    """Return the noun phrases that can have a value of an axis.

    If the prompt mentions no person, axes about people apply to animals. If no noun fits, the axis
    applies to the first unknown noun, which could name anything.
    """
    subjects = parsed.subjects(entry.subject_kinds)
    if not subjects and "person" in entry.subject_kinds:
        subjects = parsed.subjects({"animal"})
    if not subjects:
        subjects = [phrase for phrase in parsed.phrases if phrase.noun is None][:1]
    if not subjects and "any" not in entry.subject_kinds:
        kinds = " or ".join(sorted(entry.subject_kinds))
        raise UsageError(
            f"axis {entry.axis.name!r} cannot be varied in the prompt {parsed.text!r}, "
            f"which mentions no {kinds}; remove the axis, or mention a {kinds} in the prompt"
        )
    return subjects or list(parsed.phrases[:1])


def _modifies(parsed: ParsedPrompt, statement: Statement, phrase: NounPhrase) -> bool:
    """Check whether a statement is an adjective between the article and the noun of a phrase."""
    return parsed.words[phrase.first].start <= statement.start < parsed.words[phrase.head].start


def phrase_edit(parsed: ParsedPrompt, form: ValueForm, subjects: Sequence[NounPhrase]) -> Edit:
    """Return the edit that inserts a phrase about the subjects.

    The phrase is inserted after the last subject and its "of …" phrase, or at the end of the
    clause.

    Parameters
    ----------
    parsed
        Prompt to change.
    form
        Words and position of the phrase.
    subjects
        Noun phrases that the phrase describes; empty if it describes the entire prompt.

    Returns
    -------
    Edit
        Insertion of a space and the phrase.
    """
    after = _noun_end(parsed, subjects)
    words = _agreeing_words(form, subjects)
    next_word = parsed.lower(after)
    before_verb = bool(form.at_work) and next_word.endswith("ing")
    if form.place == "clause" or not subjects or before_verb:
        start = clause_end(parsed, after)
        return Edit(start, start, f" {words}")
    start = parsed.words[after - 1].end if after else 0
    if _joins_other_clause(parsed, words, after):  # "is sad and", after "who"
        start = parsed.words[after].end
        words = f"{words.split(' ', 1)[1]} and"
    elif _joins_relative_clause(parsed, words, after):  # "who is sad and", after "who is"
        start = parsed.words[after + 1].end
        words = f"{words.split(' ', 2)[2]} and"
    elif re.match(r"who\b|\w+ing\b", words):
        words += " and" if _continues_with_verb(parsed, after) else ""
    elif form.at_work and _is_occupation(subjects[-1]):
        words = f"{form.at_work} {words}"
    return Edit(start, start, f" {words}")


def _noun_end(parsed: ParsedPrompt, subjects: Sequence[NounPhrase]) -> int:
    """Return the index of the first word after the last subject and its "of …" phrase."""
    if not subjects:
        return len(parsed.words)
    after = subjects[-1].end
    if parsed.lower(after) != "of":
        return after
    for phrase in parsed.phrases:
        if after < phrase.end and phrase.start == after + 1:
            return phrase.end
    return min(after + 2, len(parsed.words))


def _continues_with_verb(parsed: ParsedPrompt, after: int) -> bool:
    """Check whether a participle such as "smiling" follows, without a comma before it."""
    return parsed.lower(after).endswith("ing") and (after == 0 or parsed.is_adjacent(after))


def _joins_relative_clause(parsed: ParsedPrompt, words: str, after: int) -> bool:
    """Check whether "who is" is at index `after`, and the new words also begin with "who"."""
    is_relative = parsed.lower(after) == "who" and parsed.lower(after + 1) in ("is", "are")
    return is_relative and words.startswith("who ")


def _joins_other_clause(parsed: ParsedPrompt, words: str, after: int) -> bool:
    """Check whether a clause such as "who sings" follows, and the new words begin with "who"."""
    is_relative = parsed.lower(after) == "who" and parsed.lower(after + 1) not in ("is", "are", "")
    return is_relative and words.startswith("who ")


def _is_occupation(phrase: NounPhrase) -> bool:
    return phrase.noun is not None and "occupation" in phrase.noun.implies


def _agreeing_words(form: ValueForm, subjects: Sequence[NounPhrase]) -> str:
    """Return the words of a form, in the plural if there is more than one subject."""
    several = len(subjects) > 1 or (bool(subjects) and subjects[-1].plural)
    return agree(form.words) if form.place == "after" and several else form.words


def clause_end(parsed: ParsedPrompt, after: int) -> int:
    """Return the character index of the end of the clause with the word before index `after`.

    A clause ends at the next comma or other punctuation mark, or at the end of the text.
    """
    start = parsed.words[after - 1].end if after else 0
    return _CLAUSE_END.search(parsed.text, start).start()  # type: ignore[union-attr]


def reframe(text: str, words: str) -> str:
    """Return a prompt in another style: a new frame replaces the old frame, if any.

    Parameters
    ----------
    text
        Prompt, such as "a photo of a doctor".
    words
        Frame without its "of", such as "an oil painting".

    Returns
    -------
    str
        The prompt with the new frame, such as "an oil painting of a doctor".
    """
    frame = FRAME.match(text)
    noun = words.split(" ", 1)[1]
    if frame is None:
        return _match_capital(text, f"{article(noun)} {noun} of {_lower_first(text)}")
    style, _, medium = noun.rpartition(" ")
    if frame["medium"].lower() in PHOTOS and medium == "photo":
        noun = f"{style} {frame['medium'].lower()}"
    kept_adjectives = STYLE_WORDS.sub("", frame["adjectives"])
    noun = re.sub(rf"\b(?:{MEDIA}) ", "", kept_adjectives, flags=re.I) + noun
    opening = (frame["article"] or "").lower()
    if opening.startswith("a"):
        opening = f"{article(noun)} "
    return _match_capital(text, f"{opening}{noun}{frame['link']}{text[frame.end() :]}")


def _match_capital(text: str, changed: str) -> str:
    """Capitalize the first letter of `changed` if `text` begins with a capital letter."""
    return changed[:1].upper() + changed[1:] if text[0].isupper() else changed


def _lower_first(text: str) -> str:
    """Return a text with its first letter in lower case, unless the first word may be a name."""
    parsed = parse_prompt(text)
    first = parsed.lower(0)
    is_common = first in nouns() or first in DETERMINERS or first in adjectives()
    if is_common and not parsed.words[0].text[1:].isupper():
        return text[:1].lower() + text[1:]
    return text
