"""The catalogue of axes: their values, their questions, and how a prompt says each value."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from askew.errors import UnknownName
from askew.prompts.vocabulary import read_data
from askew.types import Axis, Question

OTHER = "other"
"""The key under which words for values that an axis does not list are kept."""

TABLE_QUESTIONS: Mapping[str, str] = tomllib.loads(
    (files("askew.prompts") / "questions.toml").read_text(encoding="utf-8")
)
"""TIBET's questions for common axes (table 4), those about people first; "ethnic", "cultural" and
"colour" are ours.
"""

_BODY_WORDS = frozenset("skin hair eye eyes body facial life".split())
"""An axis named with one of these is not about the picture's color or style as a whole."""

PHRASE_START = re.compile(
    r"(?:in|with|wearing|who|on|at|full|without|under|seen|indoors?|outdoors?|downtown)(?!\S)", re.I
)
"""What the words that stand after a noun begin with; all others are adjectives."""

FormPlace = Literal["after", "clause", "before", "frame"]


@dataclass(frozen=True, slots=True)
class ValueForm:
    """Where a prompt says a value, and in which words. `at_work` is said only of people at work."""

    place: FormPlace
    words: str
    at_work: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueAxis:
    """An axis of the catalogue with its language.

    `plain_forms` is `forms` in better English, where those are a paper's; `synonyms` lists, by value, the
    words that say it besides its form; `mentions` matches text that settles the axis.
    """

    axis: Axis
    subject_kinds: frozenset[str]
    forms: Mapping[str, ValueForm]
    plain_forms: Mapping[str, ValueForm]
    synonyms: Mapping[str, tuple[str, ...]]
    mentions: re.Pattern[str] | None


def table_question(axis_name: str) -> str:
    """The question about an axis by its name alone, as TIBET asks it (appendix 9.2).

    An axis belongs to a row of `TABLE_QUESTIONS` if one of its words is the row's, or begins with
    it where the row's word has five letters or more ("emotional", but not "agency"); else the
    question is "What is NAME in the image?".
    """
    words = re.findall(r"[a-z]+", axis_name.lower())
    for row, question in TABLE_QUESTIONS.items():
        about_picture = row in ("color", "colour", "style") and _BODY_WORDS & set(words)
        if not about_picture and any(
            word == row or (len(row) > 4 and word.startswith(row)) for word in words
        ):
            return question
    return f"What is {' '.join(re.split(r'[_ ]+', axis_name.strip()))} in the image?"


def find_axis(name: str) -> Axis:
    """The axis that `name` spells ("body_type", "Body type" or "bodytype"). Raises UnknownName,
    with the nearest.
    """
    return find_catalogue_axis(name).axis


def find_catalogue_axis(name: str) -> CatalogueAxis:
    """The axis that `name` spells, with its language. Raises UnknownName."""
    known = canonical_name(name)
    if known not in catalogue():
        raise UnknownName("axis", name, catalogue())
    return catalogue()[known]


@lru_cache(maxsize=1024)
def canonical_name(name: str) -> str:
    """The catalogue's name of the axis that `name` spells, by a second name too ("sexes"); `name`
    where it has none.
    """
    spelled = re.sub(r"[\W_]+", "", name).lower()
    for known, table in _tables().items():
        if {spelled, spelled.removesuffix("s"), spelled.removesuffix("es")} & {
            other.replace("_", "") for other in (known, *table.get("also", ()))
        }:
            return known
    return name


@lru_cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(read_data("axes.toml"))


@lru_cache
def catalogue() -> Mapping[str, CatalogueAxis]:
    """Every axis of the catalogue with its language, by name, in the order of proposal."""
    return {name: _entry(name, table) for name, table in _tables().items()}


@lru_cache
def value_words() -> frozenset[str]:
    """Every word of the adjectives by which the catalogue says its values."""
    phrases = [
        words
        for entry in catalogue().values()
        for stated in entry.synonyms.values()
        for words in stated
    ]
    phrases += [
        form.words
        for entry in catalogue().values()
        for form in entry.forms.values()
        if form.place == "before"
    ]
    return frozenset(
        word.lower() for words in phrases if not PHRASE_START.match(words) for word in words.split()
    )


def _entry(name: str, table: Mapping[str, Any]) -> CatalogueAxis:
    values = table["values"]
    questions = [Question(text, ("yes", "no"), name) for text in table.get("questions", ())]
    questions = questions or [
        Question(table.get("question") or table_question(name), tuple(values), name)
    ]
    scale: Literal["ordinal", "nominal"] = "ordinal" if table.get("ordinal") else "nominal"
    return CatalogueAxis(
        axis=Axis(name, tuple(values), table.get("kind", "societal"), scale, tuple(questions)),
        subject_kinds=frozenset(table["about"]),
        forms={value: _form(text) for value, text in values.items()},
        plain_forms={
            value: _form(text) for value, text in (values | table.get("spoken", {})).items()
        },
        synonyms={
            value: tuple(table.get("stated", {}).get(value, ())) for value in (*values, OTHER)
        },
        mentions=re.compile(rf"\b(?:{'|'.join(table['mentions'])})\b", re.I)
        if "mentions" in table
        else None,
    )


def _form(text: str) -> ValueForm:
    if text.startswith("... "):
        return ValueForm("clause", text[4:])
    if text.endswith(" ..."):
        return ValueForm("frame", text.removesuffix(" of ..."))
    if text.endswith(" _"):
        return ValueForm("before", text[:-2])
    found = re.fullmatch(r"_ (?:\[(\w+)\] )?(.+)", text)
    if found is None:
        raise ValueError(f"cannot read the form {text!r}")
    return ValueForm("after", found[2], found[1] or "")


AXES: Mapping[str, Axis] = {name: entry.axis for name, entry in catalogue().items()}
"""Every axis of the catalogue by name, in the order in which they are proposed."""

BIASCONNECT: tuple[str, ...] = tuple(AXES)[:8]
"""The eight axes of BiasConnect (appendix A.1, table 2)."""
