"""Captions for each axis of the catalog, different for each value."""

from __future__ import annotations

import pytest

from askew.measure.base import PERSON
from askew.measure.clip import asked_value, is_about_a_person, option_texts
from askew.prompts.axes import AXES
from askew.types import Question


@pytest.mark.parametrize("name", AXES)
def test_every_value_has_different_captions(name: str) -> None:
    captions = option_texts(Question("?", AXES[name].values, name))
    assert tuple(captions) == AXES[name].values
    assert all(len(texts) >= 2 for texts in captions.values())
    everything = [text for texts in captions.values() for text in texts]
    assert len(set(everything)) == len(everything)


def test_captions_read_as_people_write_them() -> None:
    captions = option_texts(Question("?", ("female",), "gender"))["female"]
    assert "a photo of a woman" in captions
    assert "a picture of a female person" in captions
    assert "a photo of an old man" in option_texts(Question("?", (), "age"))["old"]
    assert option_texts(Question("?", (), "style"))["sketch"] == (
        "a sketch of a scene",
        "a sketch of a person",
    )


def test_other_options_are_inserted_into_general_templates() -> None:
    captions = option_texts(Question("?", ("a hard hat", "no hat"), "work_clothes"))
    assert "a photo of a hard hat" in captions["a hard hat"]
    assert "work clothes: no hat" in captions["no hat"]
    assert option_texts(Question("What?", (), "work_clothes")) == {}


def test_other_occupations_are_called_by_their_name_and_none_is_a_person() -> None:
    captions = option_texts(Question("?", ("CEO", "engineer", "no occupation"), "occupation"))
    assert captions["CEO"] == ("a photo of a CEO", "a picture of a CEO", "an image of a CEO")
    assert "a photo of an engineer" in captions["engineer"]
    assert {"a photo of a person", "a photo of a man", "a photo of a woman"} <= set(
        captions["no occupation"]
    )
    assert not any("occupation" in text for texts in captions.values() for text in texts)


def test_a_yes_or_no_question_asks_for_one_value() -> None:
    values = [asked_value(question) for question in AXES["disability"].questions]
    assert [asked and asked[0] for asked in values] == list(AXES["disability"].values[1:])
    assert asked_value(PERSON) is None
    assert asked_value(Question("Is it fit (yes or no)?", ("yes", "no"), "disability")) is None


def test_questions_about_a_person_are_recognized() -> None:
    assert is_about_a_person(AXES["gender"].questions[0])
    assert not is_about_a_person(AXES["style"].questions[0])
    assert not is_about_a_person(PERSON)
    assert not is_about_a_person(Question("?", ("a", "b"), "work_clothes"))
