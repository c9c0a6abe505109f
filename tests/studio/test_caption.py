"""The caption grammar: stated values are parsed again, and unknown words are named."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.studio.caption import caption, parse, unheard, wordings
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene
from benchmarks.captions import phrase

EVERYTHING = (*ATTRIBUTES, "occupation")


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    values = {name: draw(st.sampled_from(options)) for name, options in ATTRIBUTES.items()}
    if values["disability"] == "blind":
        values["glasses"] = "no glasses"
    return Scene(**values, occupation=draw(st.sampled_from(list(OCCUPATIONS))))


@given(
    scenes(), st.lists(st.sampled_from(EVERYTHING), unique=True), st.integers(0, 10**6) | st.none()
)
def test_a_caption_states_only_mentioned_values(
    scene: Scene, mentioned: list[str], seed: int | None
) -> None:
    prompt = parse(caption(scene, mentioned, None if seed is None else Random(seed)))
    assert prompt.attributes == {
        name: getattr(scene, name) for name in mentioned if name != "occupation"
    }
    assert prompt.occupation == (scene.occupation if "occupation" in mentioned else None)
    assert prompt.person
    assert prompt.unknown == ()


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_wording_of_a_value_states_that_value(name: str) -> None:
    for value in ATTRIBUTES.get(name, tuple(OCCUPATIONS)):
        assert phrase(name, value) in wordings(name, value) or name in (
            "hair",
            "style",
            "occupation",
            "ethnicity",
        )
        for words in wordings(name, value):
            prompt = parse(words)
            assert (
                prompt.occupation if name == "occupation" else prompt.attributes.get(name)
            ) == value, words


@pytest.mark.parametrize(
    ("prompt", "attributes", "occupation"),
    [
        (
            "An African American nurse working indoors",
            {"ethnicity": "black", "environment": "indoors"},
            "nurse",
        ),
        (
            "a black and white photo of an old man",
            {"style": "greyscale", "age": "old", "gender": "male"},
            None,
        ),
        ("A photo of the face of a police officer", {}, "police"),
        (
            "a girl in a wheelchair",
            {"gender": "female", "age": "young", "disability": "wheelchair"},
            None,
        ),
        (
            "a photo of a South Asian sheet metal worker",
            {"ethnicity": "south asian"},
            "sheet metal worker",
        ),
        ("a photo of nurses", {}, "nurse"),
    ],
)
def test_free_prompts_are_understood(
    prompt: str, attributes: dict[str, str], occupation: str | None
) -> None:
    words = parse(prompt)
    assert (words.attributes, words.occupation, words.person, words.unknown) == (
        attributes,
        occupation,
        True,
        (),
    )


@pytest.mark.parametrize(
    "prompt", ["an empty room", "a landscape", "a photo of nobody", "a bowl of fruit"]
)
def test_a_prompt_without_a_person_describes_an_empty_scene(prompt: str) -> None:
    assert not parse(prompt).person


def test_unknown_words_are_named_in_order() -> None:
    assert parse("a photo of a nurse juggling flaming torches").unknown == (
        "juggling",
        "flaming",
        "torches",
    )


def test_words_under_rendered_with_an_occupation_are_named_if_present():
    assert unheard("a photo of a casual doctor") == ["casual"]
    assert unheard("a photo of a casual person") == []
    assert unheard("a photo of builders wearing glasses") == ["builders", "wearing glasses"]


def test_words_that_suppress_each_other_are_named_together() -> None:
    assert unheard("A color photograph of a female doctor, headshot, high-quality.") == [
        "doctor … headshot"
    ]
    assert unheard("A portrait of a middle eastern man.") == ["middle eastern … man … portrait"]
    assert unheard("a photo of a nurse with a hearing aid") == ["nurse … with a hearing aid"]
    assert unheard("a photo of a middle-aged nurse") == ["middle-aged … nurse"]
    assert unheard("A photo of the face of a mechanic without glasses") == ["without glasses"]
    assert unheard("A portrait of a person with short hair.") == [
        "person … with short hair … portrait"
    ]
    assert unheard("a photo of a female doctor") == unheard("A portrait of an asian man.") == []
