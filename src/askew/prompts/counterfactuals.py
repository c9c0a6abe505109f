"""Counterfactual prompts: the same text with one concept changed.

A value is said by an adjective before the noun, a phrase after it, a phrase at the end of the clause, or a frame
("a sketch of"), as the catalogue has it; the phrases of the first eight axes are BiasConnect's (appendix, table 2).
Words that already state another value of the axis give way to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from askew.errors import UnknownName, UsageError
from askew.prompts import grammar
from askew.prompts.axes import Entry, Form, catalogue, find_entry
from askew.prompts.noun_phrases import DETERMINERS, FRAME, NounPhrase, ParsedPrompt, parse_prompt
from askew.prompts.statements import PHOTOS, STYLE_WORDS, Statement, statements
from askew.prompts.vocabulary import adjectives, nouns

_ADJECTIVE_ORDER = (
    "size socioeconomic condition age body_type disability pose facial_hair headwear hair skin_tone color ethnicity "
    "nationality religion material gender"
).split()
"""Axes said by adjectives, in the order in which English puts them."""


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    words: str


def counterfactuals(prompt: str, axis: str) -> dict[str, str]:
    """One counterfactual text per value of `axis`, in the order of its values. Errors as in `counterfactual`."""
    entry = find_entry(axis)
    return {value: counterfactual(prompt, axis, value) for value in entry.axis.values}


def counterfactual(prompt: str, axis: str, value: str) -> str:
    """`prompt` changed in one concept, so that it states `value`; unchanged if that is what it states already.

    "A photo of a doctor", gender, female -> "A photo of a female doctor". Several people joined by "and" change
    together. Raises UnknownName for an axis or value that is not in the catalogue, and UsageError for an empty prompt
    or one in which there is nothing that could have the value.
    """
    entry = find_entry(axis)
    if value not in entry.axis.values:
        raise UnknownName(f"value of axis {entry.axis.name!r}:", value, entry.axis.values)
    text = " ".join(prompt.split())
    if not text:
        raise UsageError("the prompt is empty; it should describe a picture, such as 'a photo of a doctor'")
    if text.isupper() and " " in text and not text.lower().isupper():
        return counterfactual(text.lower(), axis, value).upper()
    if entry.forms[value].place == "frame":
        return framed(text, entry.forms[value].words)
    changed = text
    for edit in sorted(_edits(parse_prompt(text), entry, value), key=lambda edit: (edit.start, edit.end), reverse=True):
        changed = _apply(changed, edit)
    return as_opened(text, changed)


def _apply(text: str, edit: _Edit) -> str:
    """The text after one edit. A word that no longer opens the sentence loses its capital."""
    rest = text[edit.end :]
    if edit.start == edit.end == 0:
        rest = _uncapitalised(rest)
    return grammar.replace(text[: edit.end] + rest, edit.start, edit.end, edit.words)


def _edits(parsed: ParsedPrompt, entry: Entry, value: str) -> Iterator[_Edit]:
    subjects = subjects_of(parsed, entry)
    form = entry.forms[value]
    found = list(statements(parsed, entry, subjects))
    rivals = [statement for statement in found if statement.value != value]
    said = [statement for statement in found if statement.value == value]
    for phrase in subjects:
        noun = _renamed(phrase, entry.axis.name, value)
        if noun:
            yield _Edit(*parsed.span(phrase.noun_start, phrase.end), noun)
        if form.place == "before":
            already = _says(phrase, noun, entry.axis.name, value) or any(_belongs(parsed, s, phrase) for s in said)
            yield from _before(parsed, entry.axis.name, form.words, phrase, rivals, already)
    if form.place == "before":
        yield from (_Edit(rival.start, rival.end, "") for rival in rivals if not rival.before)
    else:
        already = bool(said) or any(_says(phrase, None, entry.axis.name, value) for phrase in subjects)
        yield from _elsewhere(parsed, form, subjects, rivals, already)


def subjects_of(parsed: ParsedPrompt, entry: Entry) -> list[NounPhrase]:
    """The phrases that an axis changes. An unknown noun may be anything; an animal may stand for a person."""
    subjects = parsed.subjects(entry.about)
    if not subjects and "person" in entry.about:
        subjects = parsed.subjects({"animal"})
    if not subjects:
        subjects = [phrase for phrase in parsed.phrases if phrase.noun is None][:1]
    if not subjects and "any" not in entry.about:
        wanted = " or ".join(sorted(entry.about))
        raise UsageError(
            f"axis {entry.axis.name!r} cannot be varied in the prompt {parsed.text!r}: it names no {wanted}; "
            "leave the axis out, or name one"
        )
    return subjects or list(parsed.phrases[:1])


def _renamed(phrase: NounPhrase, axis: str, value: str) -> str | None:
    """The noun in place of one that states another value: "man" for "woman"."""
    noun = phrase.noun
    if noun is None or axis not in noun.swap or noun.says.get(axis) == value:
        return None
    other = noun.swap[axis]
    known = nouns().get(other)
    return (known.plural if known else grammar.plural(other)) if phrase.plural else other


def _says(phrase: NounPhrase, renamed: str | None, axis: str, value: str) -> bool:
    """Whether the phrase's noun, or the one that takes its place, says the value."""
    noun = nouns().get(renamed) if renamed else phrase.noun
    return noun is not None and noun.says.get(axis) == value


def _belongs(parsed: ParsedPrompt, statement: Statement, phrase: NounPhrase) -> bool:
    """Whether a statement is about this phrase: among its modifiers, or behind all phrases."""
    start, end = parsed.words[phrase.first].start, parsed.words[phrase.head].start
    return not statement.before or start <= statement.start < end


def _before(
    parsed: ParsedPrompt, axis: str, words: str, phrase: NounPhrase, rivals: list[Statement], said: bool
) -> Iterator[_Edit]:
    """An adjective before the noun, in the place of the words that state another value."""
    own = [rival for rival in rivals if rival.before and _belongs(parsed, rival, phrase)]
    for number, rival in enumerate(own):
        yield _Edit(rival.start, rival.end, words if number == 0 and not said else "")
    if not own and not said:
        at = parsed.words[_adjective_place(parsed, axis, phrase)].start
        yield _Edit(at, at, f"{words} ")


def _adjective_place(parsed: ParsedPrompt, axis: str, phrase: NounPhrase) -> int:
    """The word before which an adjective goes: the noun, or adjectives that English wants nearer to the noun."""
    place = phrase.head
    later = _ADJECTIVE_ORDER[_ADJECTIVE_ORDER.index(axis) + 1 :] if axis in _ADJECTIVE_ORDER else []
    for name in later:
        for statement in statements(parsed, catalogue()[name], [phrase]):
            if statement.before:
                place = min(place, next(i for i, word in enumerate(parsed.words) if word.start == statement.start))
    return place


def _elsewhere(
    parsed: ParsedPrompt, form: Form, subjects: list[NounPhrase], rivals: list[Statement], said: bool
) -> Iterator[_Edit]:
    """A phrase after the noun or at the end of the clause, in the place of a phrase that states another value."""
    several = len(subjects) > 1 or (bool(subjects) and subjects[-1].plural)
    words = grammar.agree(form.words) if form.place == "after" and several else form.words
    given_way = [rival for rival in rivals if not rival.before]
    for rival in rivals:
        replaces = not said and rival in given_way[:1]
        at_work = f"{form.at_work} " if parsed.text.startswith(form.at_work or " ", rival.start) else ""
        yield _Edit(rival.start, rival.end, at_work + words if replaces else "")
    if said or given_way:
        return
    after = word_after(parsed, subjects[-1]) if subjects else len(parsed.words)
    if form.place == "clause" or not subjects or (form.at_work and parsed.lower(after).endswith("ing")):
        end = clause_end(parsed, after)
        yield _Edit(end, end, f" {words}")
    elif words.startswith("who "):
        yield _clause(parsed, words, after)
    else:
        at = parsed.words[after - 1].end
        works = form.at_work and subjects[-1].noun is not None and "occupation" in subjects[-1].noun.says
        yield _Edit(at, at, f" {form.at_work} {words}" if works else f" {words}")


def _clause(parsed: ParsedPrompt, words: str, after: int) -> _Edit:
    """A clause such as "who is happy" before word `after`, joined by "and" to one that stands there already."""
    if parsed.lower(after) == "who" and parsed.lower(after + 1) in ("is", "are"):
        at = parsed.words[after + 1].end
        return _Edit(at, at, f" {words.split(' ', 2)[2]} and")
    at = parsed.words[after - 1].end
    goes_on = parsed.lower(after).endswith("ing") and not parsed.text[at : parsed.words[after].start].strip()
    return _Edit(at, at, f" {words} and" if goes_on else f" {words}")


def word_after(parsed: ParsedPrompt, phrase: NounPhrase) -> int:
    """The word before which a phrase about the noun goes: past an "of ..." that belongs to it."""
    if parsed.lower(phrase.end) != "of":
        return phrase.end
    belongs = [other.end for other in parsed.phrases if phrase.end < other.end and other.start == phrase.end + 1]
    return belongs[0] if belongs else min(phrase.end + 2, len(parsed.words))


def clause_end(parsed: ParsedPrompt, after: int) -> int:
    """The character at which the clause of word `after` ends: at its comma, full stop, or the end of the text."""
    start = parsed.words[after - 1].end if after else 0
    found = re.search(r"\s*[,.;:!?|](?=\s|$)|\s*$", parsed.text[start:])
    return start + (found.start() if found else len(parsed.text) - start)


def framed(text: str, words: str) -> str:
    """The text in another style, such as "an oil painting": its frame exchanged, or a frame put before it."""
    frame = FRAME.match(text)
    noun = words.split(" ", 1)[1]
    if frame is None:
        return as_opened(text, f"{grammar.article(noun)} {noun} of {_uncapitalised(text)}")
    kind, _, medium = noun.rpartition(" ")
    if frame["medium"].lower() in PHOTOS and medium == "photo":
        noun = f"{kind} {frame['medium'].lower()}"
    noun = STYLE_WORDS.sub("", frame["adjectives"]) + noun
    article = frame["article"] or ""
    if article.lower().startswith("a"):
        article = f"{grammar.article(noun)} "
    return as_opened(text, f"{article.lower()}{noun}{frame['link']}{text[frame.end() :]}")


def as_opened(text: str, changed: str) -> str:
    """`changed` with a capital where `text` begins with one."""
    return grammar.capitalised(changed) if text[0].isupper() else changed


def _uncapitalised(text: str) -> str:
    """The text to stand in mid-sentence: a capital is kept on a name."""
    parsed = parse_prompt(text)
    first = parsed.lower(0)
    common = first in nouns() or first in DETERMINERS or first in adjectives()
    return grammar.lowered(text) if common and not parsed.words[0].text[1:].isupper() else text
