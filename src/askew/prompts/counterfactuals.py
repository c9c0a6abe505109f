"""Counterfactual prompts: the same text with one concept changed.

A value is said by an adjective before the noun, a phrase after it, a phrase at the end of the
clause, or a frame ("a sketch of"), as the catalogue has it; the phrases of the first eight axes are
BiasConnect's (appendix, table 2). Words that already state another value of the axis give way to
it.
"""

import re
from collections.abc import Iterator

from askew.errors import UnknownName, UsageError
from askew.prompts.axes import CatalogueAxis, ValueForm, catalogue, find_catalogue_axis
from askew.prompts.base import normalize_prompt
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
    "size wealth socioeconomic condition age body_type disability pose behavior facial_hair headwear hair skin_tone "
    "color fur_color ethnicity nationality religion domestication animal_breed material gender"
).split()
"""Axes said by adjectives, in the order in which English puts them."""

Edit = tuple[int, int, str]
"""Characters from, to, and the words that take their place."""


def counterfactuals(prompt: str, axis: str) -> dict[str, str]:
    """One counterfactual text per value of `axis`, in the order of its values. Errors as in
    `counterfactual`.
    """
    return {
        value: counterfactual(prompt, axis, value)
        for value in find_catalogue_axis(axis).axis.values
    }


def counterfactual(prompt: str, axis: str, value: str, form: ValueForm | None = None) -> str:
    """`prompt` changed in one concept, so that it states `value`; unchanged if that is what it
    states already.

    "A photo of a doctor", gender, female -> "A photo of a female doctor". Several people joined by
    "and" change together. `form` says the value in other words than the catalogue's. Raises
    UnknownName for an axis or value that is not in the catalogue, and UsageError for an empty
    prompt or one in which there is nothing that could have the value.
    """
    entry = find_catalogue_axis(axis)
    UnknownName.unless_known(f"value of axis {entry.axis.name!r}:", value, entry.axis.values)
    text = normalize_prompt(prompt)
    if text.isupper() and " " in text and not text.lower().isupper():
        return counterfactual(text.lower(), axis, value, form).upper()
    form = form or entry.forms[value]
    if form.place == "frame":
        return framed(text, form.words)
    changed = text
    edits = _edits(parse_prompt(text), entry, value, form)
    for start, end, words in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        rest = (
            _uncapitalised(changed) if start == end == 0 else changed[end:]
        )  # it no longer opens the sentence
        changed = replace(changed[:end] + rest, start, end, words)
    return as_opened(text, changed)


def _edits(
    parsed: ParsedPrompt, entry: CatalogueAxis, value: str, form: ValueForm
) -> Iterator[Edit]:
    axis = entry.axis.name
    subjects = _subjects(parsed, entry)
    found = list(find_statements(parsed, entry, subjects))
    rivals = [statement for statement in found if statement.value != value]
    said = [statement for statement in found if statement.value == value]
    for phrase in subjects:
        noun = (
            phrase.noun.counterparts.get(axis)
            if phrase.noun and phrase.noun.implies.get(axis) != value
            else None
        )
        if noun and phrase.plural:
            noun = nouns()[noun].plural if noun in nouns() else plural(noun)
        if noun:  # "man" in the place of "woman"
            yield (*parsed.span(phrase.noun_start, phrase.end), noun)
        if form.place == "before":
            shown = nouns().get(noun) if noun else phrase.noun
            already = bool(shown and shown.implies.get(axis) == value)
            already = already or any(
                not one.before or _modifies(parsed, one, phrase) for one in said
            )
            own = [rival for rival in rivals if rival.before and _modifies(parsed, rival, phrase)]
            for number, rival in enumerate(own):
                yield rival.start, rival.end, form.words if number == 0 and not already else ""
            if (
                not own and not already
            ):  # before the noun, and before adjectives that English wants nearer to it
                later = (
                    _ADJECTIVE_ORDER[_ADJECTIVE_ORDER.index(axis) + 1 :]
                    if axis in _ADJECTIVE_ORDER
                    else []
                )
                nearer = [
                    one
                    for name in later
                    for one in find_statements(parsed, catalogue()[name], [phrase])
                ]
                at = min(
                    [parsed.words[phrase.head].start, *(one.start for one in nearer if one.before)]
                )
                yield at, at, f"{form.words} "
    elsewhere = [rival for rival in rivals if not rival.before]
    if form.place == "before":
        yield from ((rival.start, rival.end, "") for rival in elsewhere)
        return
    already = bool(said) or any(
        one.noun and one.noun.implies.get(axis) == value for one in subjects
    )
    for rival in rivals:
        at_work = (
            f"{form.at_work} " if parsed.text.startswith(form.at_work or " ", rival.start) else ""
        )
        replaces = not already and rival in elsewhere[:1]
        yield rival.start, rival.end, at_work + _agreed(form, subjects) if replaces else ""
    if not already and not elsewhere:
        yield phrase_edit(parsed, form, subjects)


def _subjects(parsed: ParsedPrompt, entry: CatalogueAxis) -> list[NounPhrase]:
    """The phrases that an axis changes. An unknown noun may be anything; an animal may stand for a
    person.
    """
    subjects = parsed.subjects(entry.subject_kinds) or (
        parsed.subjects({"animal"}) if "person" in entry.subject_kinds else []
    )
    subjects = subjects or [phrase for phrase in parsed.phrases if phrase.noun is None][:1]
    if not subjects and "any" not in entry.subject_kinds:
        raise UsageError(
            f"axis {entry.axis.name!r} cannot be varied in the prompt {parsed.text!r}: it names no "
            f"{' or '.join(sorted(entry.subject_kinds))}; leave the axis out, or name one"
        )
    return subjects or list(parsed.phrases[:1])


def _modifies(parsed: ParsedPrompt, statement: Statement, phrase: NounPhrase) -> bool:
    """Whether a statement stands among the modifiers of this phrase."""
    return parsed.words[phrase.first].start <= statement.start < parsed.words[phrase.head].start


def phrase_edit(parsed: ParsedPrompt, form: ValueForm, subjects: list[NounPhrase]) -> Edit:
    """Where a phrase about these goes: after their noun and its "of …", or to the end of their
    clause.
    """
    after = subjects[-1].end if subjects else len(parsed.words)
    if subjects and parsed.lower(after) == "of":
        belongs = [
            other.end for other in parsed.phrases if after < other.end and other.start == after + 1
        ]
        after = belongs[0] if belongs else min(after + 2, len(parsed.words))
    at = parsed.words[after - 1].end if after else 0
    words = _agreed(form, subjects)
    if (
        form.place == "clause"
        or not subjects
        or (form.at_work and parsed.lower(after).endswith("ing"))
    ):
        at = clause_end(parsed, after)
    elif (
        words.startswith("who ")
        and parsed.lower(after) == "who"
        and parsed.lower(after + 1) in ("is", "are")
    ):
        at = parsed.words[after + 1].end
        words = f"{words.split(' ', 2)[2]} and"
    elif re.match(r"who\b|\w+ing\b", words):
        goes_on = (
            parsed.lower(after).endswith("ing")
            and not parsed.text[at : parsed.words[after].start].strip()
        )
        words += " and" if goes_on else ""
    elif (
        form.at_work and subjects[-1].noun is not None and "occupation" in subjects[-1].noun.implies
    ):
        words = f"{form.at_work} {words}"
    return at, at, f" {words}"


def _agreed(form: ValueForm, subjects: list[NounPhrase]) -> str:
    several = len(subjects) > 1 or (bool(subjects) and subjects[-1].plural)
    return agree(form.words) if form.place == "after" and several else form.words


def clause_end(parsed: ParsedPrompt, after: int) -> int:
    """The character at which the clause of word `after` ends: at its comma, full stop, or the end
    of the text.
    """
    start = parsed.words[after - 1].end if after else 0
    return re.compile(r"\s*[,.;:!?|](?=\s|$)|\s*$").search(parsed.text, start).start()  # type: ignore[union-attr]


def framed(text: str, words: str) -> str:
    """The text in another style, such as "an oil painting": its frame exchanged, or a frame put
    before it.
    """
    frame = FRAME.match(text)
    noun = words.split(" ", 1)[1]
    if frame is None:
        return as_opened(text, f"{article(noun)} {noun} of {_uncapitalised(text)}")
    kind, _, medium = noun.rpartition(" ")
    if frame["medium"].lower() in PHOTOS and medium == "photo":
        noun = f"{kind} {frame['medium'].lower()}"
    noun = (
        re.sub(rf"\b(?:{MEDIA}) ", "", STYLE_WORDS.sub("", frame["adjectives"]), flags=re.I) + noun
    )
    opening = (frame["article"] or "").lower()
    opening = f"{article(noun)} " if opening.startswith("a") else opening
    return as_opened(text, f"{opening}{noun}{frame['link']}{text[frame.end() :]}")


def as_opened(text: str, changed: str) -> str:
    """`changed` with a capital where `text` begins with one."""
    return changed[:1].upper() + changed[1:] if text[0].isupper() else changed


def _uncapitalised(text: str) -> str:
    """The text to stand in mid-sentence: a capital is kept on a name."""
    parsed = parse_prompt(text)
    first = parsed.lower(0)
    common = first in nouns() or first in DETERMINERS or first in adjectives()
    return (
        text[:1].lower() + text[1:] if common and not parsed.words[0].text[1:].isupper() else text
    )
