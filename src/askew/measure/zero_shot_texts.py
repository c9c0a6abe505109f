"""How a picture's caption would say each possible answer: the texts that a zero-shot instrument compares it with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from askew.measure.base import PERSON
from askew.prompts.axes import Entry, catalogue
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.grammar import article
from askew.studio.caption import NO_OCCUPATION
from askew.types import Question

OCCUPATION = "occupation"
FRAMES = ("a photo of", "a picture of", "an image of")

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "person": ("a person", "a man", "a woman"),
    "animal": ("an animal", "a dog"),
    "object": ("an object", "a thing"),
    "place": ("a place", "a building"),
    "nature": ("a landscape", "a forest"),
    "any": ("a scene", "a person"),
}
"""What may be seen, by the kinds that the catalogue's axes are about. Men and women, so that gender cancels out."""

SIGHTS: Mapping[str, tuple[str, ...]] = {
    "person": ("a person", "people", "a man", "a woman", "somebody", "the face of a person"),
    "animal": ("an animal", "a dog", "a bird"),
    "object": ("an object", "a thing", "furniture", "food", "a vehicle"),
    "place": ("an empty room", "a building", "an empty street", "a place without people"),
    "nature": ("a landscape", "plants", "the sky", "nature without people"),
}
"""What a picture may show above all."""

Texts = dict[str, tuple[str, ...]]
"""Texts by answer."""


def sight_texts() -> Texts:
    """Texts for a picture of a person, and for pictures of anything else, by kind."""
    return {kind: _framed(words) for kind, words in SIGHTS.items()}


def option_texts(question: Question) -> Texts:
    """Texts for every option of a multiple-choice question, or for every value of its axis if it is open.

    Values of the catalogue's axes are said as in counterfactual prompts, other occupations as who is seen; further
    options stand in general templates.
    Empty for an open question about an axis without known values.
    """
    entry = _entry(question.axis)
    options = question.options or (entry.axis.values if entry else ())
    if entry is not None and set(options) <= set(entry.forms):
        return {option: _said(entry, option) for option in options}
    said = _job if question.axis == OCCUPATION else partial(_general, axis=question.axis)
    return {option: said(option) for option in options}


def asked_value(question: Question) -> tuple[str, Texts] | None:
    """For a yes/no question of an axis that asks several: the value it asks for, and texts for all values.

    None for other yes/no questions.
    """
    entry = _entry(question.axis)
    if entry is None:
        return None
    texts = [known.text for known in entry.axis.questions]
    if question.text not in texts or len(texts) < 2:
        return None
    value = entry.axis.values[1 + texts.index(question.text)]
    return value, {known: _said(entry, known) for known in entry.axis.values}


def is_yes_or_no(question: Question) -> bool:
    """Whether the answer is yes or no."""
    return set(question.options) == {"yes", "no"}


def is_about_a_person(question: Question) -> bool:
    """Whether the question can only be answered where a person is seen."""
    entry = _entry(question.axis)
    return entry is not None and entry.about == {"person"} and question != PERSON


def _entry(axis: str | None) -> Entry | None:
    return catalogue().get(axis or "")


def _said(entry: Entry, value: str) -> tuple[str, ...]:
    subjects = [subject for kind in sorted(entry.about) for subject in SUBJECTS[kind]]
    return _distinct(counterfactual(text, entry.axis.name, value) for text in _framed(subjects))


def _general(option: str, axis: str | None) -> tuple[str, ...]:
    named = (f"{axis.replace('_', ' ')}: {option}",) if axis else ()
    return (*_framed((option,)), option, *named)


def _job(option: str) -> tuple[str, ...]:
    """Whoever has an occupation is called by it, whoever has none a person."""
    return _framed(SUBJECTS["person"] if option == NO_OCCUPATION else (f"{article(option)} {option}",))


def _framed(subjects: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{frame} {subject}" for frame in FRAMES for subject in subjects)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
