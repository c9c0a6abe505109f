"""Selection of the axes that fit a prompt, and checks for prompts that the lexicon cannot handle.

A group such as "a family" has no gender and no age. If a prompt mentions a person by name, the
lexicon proposes no axes about people. In both cases, askew displays a note.
"""

import re

from askew.errors import UsageError
from askew.messages import report_message
from askew.prompts.acceptance import settles
from askew.prompts.axes import catalogue, value_words
from askew.prompts.statements import (
    DETERMINERS,
    DOER_ENDING,
    FUNCTION_WORDS,
    NounPhrase,
    ParsedPrompt,
    parse_prompt,
    states,
)
from askew.prompts.vocabulary import adjectives, nouns

COLLECTIVES = frozenset(
    "audience band choir class couple crew crowd family gang group jury mob orchestra pair team trio "
    "triplets twins".split()
)
"""Nouns for groups of people."""

_AXES_OF_ONE_PERSON = ("gender", "age", "body_type", "disability")
"""Axes whose values describe individuals. For example, an "old family" can have young members."""

_TITLES = frozenset(
    "king queen president prince princess pope saint sir lord emperor empress".split()
)
_PRONOUNS = frozenset("he she they it i we".split())
_NO_NAME = re.compile(r"(?:ing|ed|ly|s)$|^\d")
_SHORTEST_DOER = 5


def fitting_axes(prompt: str) -> list[str]:
    """Return the names of all catalog axes that apply to a prompt, including axes that it states.

    Parameters
    ----------
    prompt
        English prompt with single spaces.

    Returns
    -------
    list[str]
        Names in the order of the catalog.
    """
    parsed = parse_prompt(prompt)
    subject = next(iter(parsed.phrases), None)
    name = find_name(prompt)
    if name is not None:
        report_message(
            f"the prompt {prompt!r} seems to name {name!r}, so the lexicon proposes no axes "
            "about people. Choose axes with --axes, or let a language model propose them with --llm"
        )
        return [axis for axis in _axes_of_kind("any") if axis != "culture"]
    kinds = [phrase.noun.kind if phrase.noun else "any" for phrase in parsed.phrases]
    axes = _axes_of_kind("person" if "person" in kinds else next(iter(kinds), "any"))
    if _is_collective(parsed, subject):
        axes = [axis for axis in axes if axis not in _AXES_OF_ONE_PERSON]
        report_message(
            f"the prompt {prompt!r} names a group, so the lexicon omits axes about individual "
            f"people: {', '.join(_AXES_OF_ONE_PERSON)}"
        )
    if _has_possessive(parsed, subject):
        axes = [axis for axis in axes if not _is_adjective(axis)]
    if parsed.lower(0) in _PRONOUNS:
        axes = [axis for axis in axes if axis != "style"]
    return axes


def is_stated(prompt: str, axis: str) -> bool:
    """Check whether a prompt states or denies a value of an axis."""
    return states(prompt, axis) or settles(axis, prompt)


def find_name(prompt: str) -> str | None:
    """Return the name of a person or place at the start of a prompt; None if there is no name.

    A name consists of two unknown words without an article ("marie curie"), or of a title and an
    unknown word ("queen elizabeth").
    """
    parsed = parse_prompt(prompt)
    start = parsed.frame_words()
    if start + 1 >= len(parsed.words) or not parsed.is_adjacent(start + 1):
        return None
    is_titled = parsed.lower(start) in _TITLES
    may_be_name = is_titled or _is_name_word(parsed.lower(start))
    if may_be_name and _is_name_word(parsed.lower(start + 1)):
        return parsed.text[slice(*parsed.span(start, start + 2))]
    return None


def _is_name_word(word: str) -> bool:
    """Check whether a word is unknown and does not end like a verb, an adverb or a plural."""
    if _is_known(word) or _NO_NAME.search(word):
        return False
    return word not in DETERMINERS and word not in FUNCTION_WORDS


def _is_known(word: str) -> bool:
    return word in nouns() or word in adjectives() or word in value_words()


def check_people(prompt: str) -> None:
    """Raise an error if an unknown noun for a person directly follows a known noun.

    For example, "a street vendor" is about a person, although the lexicon only knows "street".

    Raises
    ------
    UsageError
        If an unknown noun for a person directly follows a known noun.
    """
    parsed = parse_prompt(prompt)
    subject = next(iter(parsed.phrases), None)
    if subject is None or subject.noun is None or subject.end >= len(parsed.words):
        return
    word = parsed.lower(subject.end)
    is_doer = len(word) >= _SHORTEST_DOER and DOER_ENDING.search(word)
    if subject.noun.kind == "person" or not is_doer or _is_known(word):
        return
    if parsed.is_adjacent(subject.end) and word not in FUNCTION_WORDS:
        raise UsageError(
            f"the lexicon does not know {word!r} in the prompt {prompt!r}. Name the axes, such as "
            "--axes gender,age, or let a language model propose axes with --llm openai/MODEL"
        )


def _is_collective(parsed: ParsedPrompt, subject: NounPhrase | None) -> bool:
    """Check whether the subject is a group such as "a family", but not "a crowd of protesters"."""
    if subject is None or parsed.lower(subject.end) == "of":
        return False
    return parsed.lower(subject.end - 1) in COLLECTIVES


def _has_possessive(parsed: ParsedPrompt, subject: NounPhrase | None) -> bool:
    """Check whether the subject has an owner, as in "a poor person's house"."""
    if subject is None:
        return False
    return re.search(r"['’]s?\b", parsed.lower_text(0, subject.end)) is not None


def _is_adjective(axis: str) -> bool:
    """Check whether any value of an axis is written as an adjective before the noun."""
    return any(form.place == "before" for form in catalogue()[axis].forms.values())


def _axes_of_kind(kind: str) -> list[str]:
    """Return the names of the axes that apply to a kind of noun."""
    return [
        name
        for name, entry in catalogue().items()
        if not entry.subject_kinds.isdisjoint({"any", kind})
    ]
