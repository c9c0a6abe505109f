"""Counterfactual prompts differ in one concept and are good English."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import UnknownName, UsageError
from askew.prompts.axes import AXES, BIASCONNECT, catalogue
from askew.prompts.counterfactuals import counterfactual, counterfactuals
from askew.prompts.statements import states
from askew.prompts.vocabulary import agree, article, nouns, plural

BIASCONNECT_TABLE = {
    ("gender", "female"): "A photo of a female chef",
    ("age", "old"): "A photo of an old chef",
    ("age", "middle-aged"): "A photo of a middle-aged chef",
    ("ethnicity", "black"): "A photo of an african american chef",
    ("ethnicity", "south asian"): "A photo of a south asian chef",
    ("body_type", "obese"): "A photo of an obese chef",
    ("environment", "outdoors"): "A photo of a chef working outdoors",
    ("clothing", "informal"): "A photo of a chef in informal attire",
    ("emotion", "sad"): "A photo of a chef who is sad",
    ("disability", "fit"): "A photo of a chef who is fit",
    ("disability", "blind"): "A photo of a blind chef",
    ("disability", "hearing aid"): "A photo of a chef with a hearing aid",
    ("disability", "wheelchair"): "A photo of a chef on a wheelchair",
    ("glasses", "glasses"): "A photo of a chef wearing glasses",
    ("glasses", "no glasses"): "A photo of a chef without glasses",
    ("hair", "short"): "A photo of a chef with short hair",
    ("hair", "bald"): "A photo of a bald chef",
    ("style", "color"): "A color photo of a chef",
    ("style", "greyscale"): "A greyscale photo of a chef",
    ("style", "sketch"): "A sketch of a chef",
}


@pytest.mark.parametrize(("change", "text"), BIASCONNECT_TABLE.items())
def test_the_templates_of_an_occupation(change: tuple[str, str], text: str) -> None:
    assert counterfactual("A photo of a chef", *change) == text


@pytest.mark.parametrize(
    ("prompt", "axis", "value", "text"),
    [
        # articles
        ("a photo of an engineer", "gender", "male", "a photo of a male engineer"),
        ("a photo of a chef", "ethnicity", "asian", "a photo of an asian chef"),
        ("a photo of an old man", "age", "young", "a photo of a young man"),
        ("An unhappy nurse", "emotion", "happy", "A nurse who is happy"),
        ("AN ENGINEER AT WORK", "gender", "female", "A FEMALE ENGINEER AT WORK"),
        ("the engineer", "age", "old", "the old engineer"),
        # nouns of several words, and unknown ones
        ("a computer programmer", "gender", "female", "a female computer programmer"),
        ("a sheet metal worker", "disability", "blind", "a blind sheet metal worker"),
        ("a bird photographer", "gender", "male", "a male bird photographer"),
        ("a photo of a paladin", "gender", "male", "a photo of a male paladin"),
        ("a photo of paladins", "emotion", "sad", "a photo of paladins who are sad"),
        ("a CEO", "gender", "female", "a female CEO"),
        # adjectives in English order
        ("a smart person", "gender", "male", "a smart male person"),
        ("a black doctor", "age", "young", "a young black doctor"),
        ("an old man", "ethnicity", "hispanic", "an old hispanic man"),
        # several people
        ("two writers at a lab", "gender", "female", "two female writers at a lab"),
        (
            "two writers at a lab.",
            "disability",
            "hearing aid",
            "two writers with hearing aids at a lab.",
        ),
        ("two writers at a lab", "emotion", "tired", "two writers who are tired at a lab"),
        ("a doctor and a nurse", "gender", "male", "a male doctor and a male nurse"),
        ("a doctor and a nurse", "emotion", "happy", "a doctor and a nurse who are happy"),
        ("a group of doctors", "disability", "wheelchair", "a group of doctors on wheelchairs"),
        # capital letters
        ("Sailor on a sinking ship", "gender", "female", "Female sailor on a sinking ship"),
        (
            "Musicians in a festival",
            "ethnicity",
            "black",
            "African american musicians in a festival",
        ),
        ("Sailor on a ship", "style", "sketch", "A sketch of sailor on a ship"),
        ("Mario", "age", "old", "Old mario"),
        # people in mid-sentence
        ("a street with a dancer, 4k", "gender", "female", "a street with a female dancer, 4k"),
        ("a library where a student reads", "age", "old", "a library where an old student reads"),
        ("a police car chasing a thief", "gender", "female", "a police car chasing a female thief"),
        ("a king of france", "emotion", "sad", "a king of france who is sad"),
        ("a man working on a laptop", "emotion", "sad", "a man who is sad and working on a laptop"),
        (
            "a designer working on a car",
            "environment",
            "indoors",
            "a designer working on a car indoors",
        ),
        ("a boy at a museum", "environment", "outdoors", "a boy outdoors at a museum"),
        # words that state another value are replaced
        ("a young woman at a church", "age", "old", "an old woman at a church"),
        ("a young woman at a church", "gender", "male", "a young man at a church"),
        ("a boy at a museum", "age", "old", "an old man at a museum"),
        ("a boy at a museum", "gender", "female", "a girl at a museum"),
        ("two boys", "gender", "female", "two girls"),
        ("a photo of children", "age", "old", "a photo of old people"),
        ("a woman doctor", "gender", "male", "a male doctor"),
        ("a person who is angry", "emotion", "happy", "a person who is happy"),
        ("a person who is angry", "disability", "fit", "a person who is fit and angry"),
        ("a nurse working indoors", "environment", "outdoors", "a nurse working outdoors"),
        ("a nurse wearing glasses", "glasses", "no glasses", "a nurse without glasses"),
        ("a nurse in a wheelchair", "disability", "blind", "a blind nurse"),
        ("a tailor in China", "geography", "africa", "a tailor in Africa"),
        ("a smart doctor", "occupation", "farmer", "a smart person who is a farmer"),
        ("a black and white photo of a nurse", "style", "color", "a color photo of a nurse"),
        ("a painting of a nurse", "style", "greyscale", "a greyscale photo of a nurse"),
        # a value that is stated already stays
        ("a young woman", "age", "young", "a young woman"),
        ("a girl", "gender", "female", "a girl"),
        # no people
        ("a wooden chair", "material", "metal", "a metal chair"),
        ("a chair", "color", "red", "a red chair"),
        ("Photo of a cat on a table", "fur_color", "black", "Photo of a black cat on a table"),
        (
            "a mountain lake, oil on canvas",
            "season",
            "winter",
            "a mountain lake in winter, oil on canvas",
        ),
        ("a city street.", "time_of_day", "night", "a city street at night."),
        ("two writers at a lab", "setting", "city", "two writers in a city"),
    ],
)
def test_counterfactual(prompt: str, axis: str, value: str, text: str) -> None:
    assert counterfactual(prompt, axis, value) == text


def test_values_come_in_the_order_of_the_axis() -> None:
    assert tuple(counterfactuals("a nurse", "age")) == AXES["age"].values


def test_capitals_without_small_letters_stay_as_they_are() -> None:
    assert counterfactual("𝔸 𝔹", "viewpoint", "above") == "𝔸 𝔹 seen from above"


def test_errors_name_the_fault() -> None:
    with pytest.raises(UsageError, match="the prompt is empty"):
        counterfactual("  ", "gender", "male")
    with pytest.raises(UnknownName, match=r"'femal'. Did you mean 'female'"):
        counterfactual("a nurse", "gender", "femal")
    with pytest.raises(UsageError, match=r"axis 'gender' cannot be varied .* mentions no person"):
        counterfactual("a wooden chair", "gender", "male")


PEOPLE = sorted(
    {
        noun.singular
        for noun in nouns().values()
        if noun.kind == "person" and not noun.implies.keys() & {"age"}
    }
)
OPENINGS = ("a photo of {}", "{} at work", "A portrait of {}, detailed", "{}", "a street with {}")


@given(st.sampled_from(PEOPLE), st.sampled_from(OPENINGS), st.sampled_from(BIASCONNECT), st.data())
def test_an_open_axis_adds_only_its_words(
    noun: str, opening: str, axis: str, data: st.DataObject
) -> None:
    prompt = opening.format(f"{article(noun)} {noun}")
    if states(prompt, axis):
        return
    value = data.draw(st.sampled_from(AXES[axis].values))
    before, after = (
        Counter(re.findall(r"[\w-]+", text.lower()))
        for text in (prompt, counterfactual(prompt, axis, value))
    )
    form = catalogue()[axis].forms[value]
    assert not +(before - after) - Counter(("a", "an")), "no word is lost but an article"
    added = +(after - before) - Counter(("a", "an"))
    assert 0 < added.total() <= Counter(f"{form.at_work} {form.words}".split()).total()
    assert set(added) <= set(f"{form.at_work} {form.words}".split())


@given(st.sampled_from(PEOPLE), st.sampled_from(BIASCONNECT))
def test_a_counterfactual_states_its_axis_and_replacing_it_leads_back(noun: str, axis: str) -> None:
    texts = counterfactuals(f"a photo of {article(noun)} {noun}", axis)
    assert len(set(texts.values())) == len(texts)
    for text in texts.values():
        assert states(text, axis)
        assert counterfactuals(text, axis)[AXES[axis].values[0]] == texts[AXES[axis].values[0]]


@given(st.text(max_size=60), st.sampled_from(sorted(AXES)))
def test_any_text_gives_counterfactuals_or_a_usage_error(text: str, axis: str) -> None:
    try:
        texts = counterfactuals(text, axis)
    except UsageError:
        return
    assert all(each.strip() for each in texts.values())
    assert texts == counterfactuals(text, axis)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("engineer", "an"),
        ("university", "a"),
        ("unusual view", "an"),
        ("hour", "an"),
        ("house", "a"),
        ("MRI", "an"),
        ("one-eyed cat", "a"),
        ("european", "a"),
        ("8-bit cat", "an"),
        ("US flag", "a"),
        ("uninvited guest", "an"),
    ],
)
def test_article(words: str, expected: str) -> None:
    assert article(words) == expected


@pytest.mark.parametrize(
    ("singular", "many"),
    [
        ("nurse", "nurses"),
        ("fireman", "firemen"),
        ("human", "humans"),
        ("sales person", "sales people"),
        ("coach", "coaches"),
        ("secretary", "secretaries"),
        ("boy", "boys"),
        ("child", "children"),
    ],
)
def test_plural(singular: str, many: str) -> None:
    assert plural(singular) == many


def test_agree() -> None:
    assert agree("who is an artist") == "who are artists"
    assert agree("with a hearing aid") == "with hearing aids"
    assert agree("in formal attire") == "in formal attire"
