"""The catalog of axes, with their values, their questions and the words for each value."""

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
"""Key for words that state a value other than the values listed for the axis."""

TABLE_QUESTIONS: Mapping[str, str] = tomllib.loads(
    (files("askew.prompts") / "questions.toml").read_text(encoding="utf-8")
)
"""TIBET's questions for common axes (table 4), with questions about people first.

askew adds the rows "ethnic", "cultural" and "colour".
"""

_BODY_WORDS = frozenset("skin hair eye eyes body facial life".split())
"""Words indicating that an axis describes only a part of an image: "hair" in "hair color"."""

PHRASE_START = re.compile(
    r"(?:in|with|wearing|who|on|at|full|without|under|seen|indoors?|outdoors?|downtown)(?!\S)", re.I
)
"""Pattern for the first word of a phrase that follows a noun. All other phrases are adjectives."""

FormPlace = Literal["after", "clause", "before", "frame"]
"""Position of a value's words in a prompt.

- after: the words follow the noun
- clause: the words are at the end of the clause
- before: the words precede the noun
- frame: the words precede the entire prompt, as in "a sketch of a nurse"
"""


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
        Verb to put before the words if the subject is a person at work; "" for no verb.
    """

    place: FormPlace
    words: str
    at_work: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueAxis:
    """An axis of the catalog and the words for its values.

    Attributes
    ----------
    axis
        The axis.
    subject_kinds
        Kinds of nouns that can have a value of the axis; "any" for all nouns.
    forms
        Wording of each value in counterfactual prompts, keyed by value.
    plain_forms
        The same forms, but in natural English where a paper's wording is awkward.
    synonyms
        Other words for each value. The key `OTHER` has words for values that the axis does not
        list.
    mentions
        Pattern that matches texts that state any value of the axis; None if there is no pattern.
    """

    axis: Axis
    subject_kinds: frozenset[str]
    forms: Mapping[str, ValueForm]
    plain_forms: Mapping[str, ValueForm]
    synonyms: Mapping[str, tuple[str, ...]]
    mentions: re.Pattern[str] | None


def table_question(axis_name: str) -> str:
    """Return the question that TIBET asks about an axis (appendix 9.2).

    An axis belongs to a row of `TABLE_QUESTIONS` if a word of its name equals the row's word. If
    the row's word has five or more letters, words in the name that begin with it also match:
    "emotional" matches "emotion", but "agency" does not match "age".

    Parameters
    ----------
    axis_name
        Name of an axis, which need not be in the catalog.

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
    """Check whether an axis name, split into words, belongs to a row of `TABLE_QUESTIONS`."""
    if row in ("color", "colour", "style") and _BODY_WORDS & set(words):
        return False
    return row in words or (len(row) > 4 and any(word.startswith(row) for word in words))


def find_axis(name: str) -> Axis:
    """Return the axis with this name, which may be spelled "body_type", "Body type" or "bodytype".

    Raises
    ------
    UnknownName
        If the name is unknown. The error message suggests the nearest known axis.
    """
    return find_catalogue_axis(name).axis


def find_catalogue_axis(name: str) -> CatalogueAxis:
    """Return the catalog's entry for an axis name in any spelling.

    Raises
    ------
    UnknownName
        If the name is unknown. The error message suggests the nearest known axis.
    """
    known = canonical_name(name)
    if known not in catalogue():
        raise UnknownName("axis", name, catalogue())
    return catalogue()[known]


@lru_cache(maxsize=1024)
def canonical_name(name: str) -> str:
    """Return the catalog's name for an axis, given any spelling or an alias such as "sexes".

    A name that is not in the catalog is returned unchanged.
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
    """Return all catalog entries, keyed by axis name, in the order in which askew proposes axes."""
    return {name: _catalogue_axis(name, table) for name, table in _tables().items()}


@lru_cache
def value_words() -> frozenset[str]:
    """Return all words that occur in the adjectives for the catalog's values."""
    words: set[str] = set()
    for entry in catalogue().values():
        for synonyms in entry.synonyms.values():
            words |= _adjective_words(synonyms)
        words |= _adjective_words(
            form.words for form in entry.forms.values() if form.place == "before"
        )
    return frozenset(words)


def _adjective_words(phrases: Iterable[str]) -> set[str]:
    """Return all words, in lower case, that occur in phrases that precede a noun."""
    adjectives = [phrase for phrase in phrases if not PHRASE_START.match(phrase)]
    return {word.lower() for adjective in adjectives for word in adjective.split()}


def _catalogue_axis(name: str, table: Mapping[str, Any]) -> CatalogueAxis:
    """Return the catalog entry that a table in axes.toml defines."""
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
    """Parse a form in axes.toml, where _ stands for the noun and ... for the entire prompt."""
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
"""All axes in the catalog, keyed by name, in the order in which askew proposes them."""

BIASCONNECT: tuple[str, ...] = tuple(AXES)[:8]
"""The eight axes of BiasConnect (appendix A.1, table 2)."""
