"""The catalogue of axes: their values, their questions, and the words for each value."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from askew.errors import UnknownName
from askew.prompts.vocabulary import read_data
from askew.types import Axis, Question

OTHER = "other"
"""Key of the words for values that an axis does not list."""

TABLE_QUESTIONS: Mapping[str, str] = tomllib.loads(
    (files("askew.prompts") / "questions.toml").read_text(encoding="utf-8")
)
"""TIBET's questions for common axes (table 4), questions about people first.

The questions for "ethnic", "cultural" and "colour" are askew's.
"""

_BODY_WORDS = frozenset("skin hair eye eyes body facial life".split())
"""Words in the name of an axis that does not describe color or style of the complete image."""

PHRASE_START = re.compile(
    r"(?:in|with|wearing|who|on|at|full|without|under|seen|indoors?|outdoors?|downtown)(?!\S)", re.I
)
"""First words of phrases that follow a noun; other phrases are adjectives."""

FormPlace = Literal["after", "clause", "before", "frame"]
"""Position of a value: after the noun, at the end of the clause, before the noun, or as a frame."""


@dataclass(frozen=True, slots=True)
class ValueForm:
    """The words for a value in a prompt.

    Attributes
    ----------
    place
        Position of the words.
    words
        The words.
    at_work
        Verb before the words if the subject is a person at work; "" for no verb.
    """

    place: FormPlace
    words: str
    at_work: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueAxis:
    """An axis of the catalogue with its language.

    Attributes
    ----------
    axis
        The axis.
    subject_kinds
        Kinds of nouns to which a value can apply; "any" for all nouns.
    forms
        Form by value, as counterfactual prompts use it.
    plain_forms
        Form by value in better English, if `forms` contains the forms of a paper.
    synonyms
        Words that state a value in addition to its form, by value; `OTHER` for values that are not
        listed.
    mentions
        Pattern of texts that state any value of the axis; None for no pattern.
    """

    axis: Axis
    subject_kinds: frozenset[str]
    forms: Mapping[str, ValueForm]
    plain_forms: Mapping[str, ValueForm]
    synonyms: Mapping[str, tuple[str, ...]]
    mentions: re.Pattern[str] | None


def table_question(axis_name: str) -> str:
    """Return the question about an axis by its name, as TIBET asks it (appendix 9.2).

    An axis belongs to a row of `TABLE_QUESTIONS` if a word of its name equals the row's word. If
    the row's word has five or more letters, a common beginning is enough ("emotional", but not
    "agency").

    Parameters
    ----------
    axis_name
        Any name of an axis.

    Returns
    -------
    str
        The question of the row, or "What is NAME in the image?".
    """
    words = re.findall(r"[a-z]+", axis_name.lower())
    for row, question in TABLE_QUESTIONS.items():
        if _belongs_to_row(words, row):
            return question
    return f"What is {' '.join(re.split(r'[_ ]+', axis_name.strip()))} in the image?"


def _belongs_to_row(words: list[str], row: str) -> bool:
    """Check whether the words of an axis name belong to a row of the table of questions."""
    if row in ("color", "colour", "style") and _BODY_WORDS & set(words):
        return False
    return row in words or (len(row) > 4 and any(word.startswith(row) for word in words))


def find_axis(name: str) -> Axis:
    """Return the axis of a name in any spelling: "body_type", "Body type" or "bodytype".

    Raises
    ------
    UnknownName
        For an unknown name; the error names the nearest known axis.
    """
    return find_catalogue_axis(name).axis


def find_catalogue_axis(name: str) -> CatalogueAxis:
    """Return the axis of a name in any spelling, with its language.

    Raises
    ------
    UnknownName
        For an unknown name; the error names the nearest known axis.
    """
    known = canonical_name(name)
    if known not in catalogue():
        raise UnknownName("axis", name, catalogue())
    return catalogue()[known]


@lru_cache(maxsize=1024)
def canonical_name(name: str) -> str:
    """Return the catalogue's name of an axis for another spelling or an alias ("sexes").

    A name that the catalogue does not have is returned as it is.
    """
    spelled = re.sub(r"[\W_]+", "", name).lower()
    spellings = {spelled, spelled.removesuffix("s"), spelled.removesuffix("es")}
    for known, table in _tables().items():
        names = (known, *table.get("also", ()))
        if not spellings.isdisjoint(alias.replace("_", "") for alias in names):
            return known
    return name


@lru_cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(read_data("axes.toml"))


@lru_cache
def catalogue() -> Mapping[str, CatalogueAxis]:
    """Return every axis of the catalogue with its language, by name, in the order of proposal."""
    return {name: _catalogue_axis(name, table) for name, table in _tables().items()}


@lru_cache
def value_words() -> frozenset[str]:
    """Return all words of adjectives for values of the catalogue."""
    words: set[str] = set()
    for entry in catalogue().values():
        for synonyms in entry.synonyms.values():
            words |= _adjective_words(synonyms)
        words |= _adjective_words(
            form.words for form in entry.forms.values() if form.place == "before"
        )
    return frozenset(words)


def _adjective_words(phrases: Iterable[str]) -> set[str]:
    """Return the words of phrases before a noun, in lower case."""
    adjectives = [phrase for phrase in phrases if not PHRASE_START.match(phrase)]
    return {word.lower() for adjective in adjectives for word in adjective.split()}


def _catalogue_axis(name: str, table: Mapping[str, Any]) -> CatalogueAxis:
    """Return the axis that a table of axes.toml defines."""
    values = table["values"]
    synonyms = table.get("stated", {})
    mentions = None
    if "mentions" in table:
        mentions = re.compile(rf"\b(?:{'|'.join(table['mentions'])})\b", re.I)
    return CatalogueAxis(
        axis=_axis(name, table),
        subject_kinds=frozenset(table["about"]),
        forms=_forms(values),
        plain_forms=_forms(values | table.get("spoken", {})),
        synonyms={value: tuple(synonyms.get(value, ())) for value in (*values, OTHER)},
        mentions=mentions,
    )


def _axis(name: str, table: Mapping[str, Any]) -> Axis:
    values = tuple(table["values"])
    questions = [Question(text, ("yes", "no"), name) for text in table.get("questions", ())]
    if not questions:
        questions = [Question(table.get("question") or table_question(name), values, name)]
    scale: Literal["ordinal", "nominal"] = "ordinal" if table.get("ordinal") else "nominal"
    return Axis(name, values, table.get("kind", "societal"), scale, tuple(questions))


def _forms(texts: Mapping[str, str]) -> dict[str, ValueForm]:
    return {value: _form(text) for value, text in texts.items()}


def _form(text: str) -> ValueForm:
    """Return the form of a text of axes.toml, in which _ is the noun and ... the whole prompt."""
    if text.startswith("... "):
        return ValueForm("clause", text[4:])
    if text.endswith(" ..."):
        return ValueForm("frame", text.removesuffix(" of ..."))
    if text.endswith(" _"):
        return ValueForm("before", text[:-2])
    match = re.fullmatch(r"_ (?:\[(\w+)\] )?(.+)", text)
    if match is None:
        raise ValueError(f"axes.toml: {text!r} is not a form of a value")
    return ValueForm("after", match[2], match[1] or "")


AXES: Mapping[str, Axis] = {name: entry.axis for name, entry in catalogue().items()}
"""Every axis of the catalogue by name, in the order in which they are proposed."""

BIASCONNECT: tuple[str, ...] = tuple(AXES)[:8]
"""The eight axes of BiasConnect (appendix A.1, table 2)."""
