"""The catalog of axes and its questions."""

from __future__ import annotations

import pytest

from askew.errors import UnknownName
from askew.plan import AxisPlan
from askew.prompts.axes import AXES, BIASCONNECT, catalogue, find_axis, table_question
from askew.studio.scene import ATTRIBUTES
from askew.types import Missing


def test_the_first_axes_equal_those_of_the_studio() -> None:
    assert {name: AXES[name].values for name in ATTRIBUTES} == dict(ATTRIBUTES)
    assert tuple(ATTRIBUTES)[:8] == BIASCONNECT == tuple(AXES)[:8]


def test_age_is_ordinal_and_gender_is_not() -> None:
    assert AXES["age"].scale == "ordinal"
    assert AXES["gender"].scale == "nominal"


@pytest.mark.parametrize(
    "spelling", ["body_type", "body type", "bodytype", "Body-Type", "BODY TYPE"]
)
def test_an_axis_is_found_by_any_spelling(spelling: str) -> None:
    assert find_axis(spelling).name == "body_type"


def test_an_unknown_axis_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown axis 'gendre'\. Did you mean 'gender'\?"):
        find_axis("gendre")


@pytest.mark.parametrize("axis", AXES.values(), ids=lambda axis: axis.name)
def test_every_axis_makes_a_valid_plan_and_offers_its_values(axis: object) -> None:
    entry = find_axis(str(axis.name))  # type: ignore[attr-defined]
    assert len(entry.values) >= 2
    assert AxisPlan.of(entry).axis() == entry
    if len(entry.questions) == 1:
        assert entry.questions[0].options == entry.values


def test_disability_is_asked_in_three_parts() -> None:
    axis = AXES["disability"]
    assert [question.options for question in axis.questions] == [("yes", "no")] * 3
    assert axis.read(["no", "no", "no"]) == "fit"
    assert axis.read(["no", "yes", "yes"]) == "hearing aid"
    assert axis.read(["no", Missing("refused"), "no"]) == Missing("refused")


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("gender", "What is the gender (male, female, other) of the person in the image?"),
        ("racial ethnic", "What is the ethnicity of the person in the image?"),
        ("socioeconomic status", "What is the socioeconomic status of the person in the image?"),
        ("emotional", "What is the emotion of the person in the image?"),
        ("cultural", "What is the culture depicted in the image?"),
        ("clothing style", "What is the person wearing?"),
        ("artistic style", "What is the style of the image?"),
        ("Age", "What age group (young, middle, old) is the person in the image?"),
        ("body image", "What is body image in the image?"),
        ("cultural heritage", "What is the culture depicted in the image?"),
        ("language", "What is language in the image?"),
        ("skin color", "What is skin color in the image?"),
        ("cat_breed", "What is cat breed in the image?"),
    ],
)
def test_questions_by_name(name: str, question: str) -> None:
    assert table_question(name) == question


def test_no_word_states_two_values_of_an_axis() -> None:
    for name, entry in catalogue().items():
        words = [word for stated in entry.synonyms.values() for word in stated]
        assert len(set(words)) == len(words), name
