"""Requests for labels, and labels in the answers of models, in the spellings of many models."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from askew.measure.labeling import (
    CANNOT_TELL,
    UNDECIDED,
    image_part,
    messages_of,
    read_answers,
    request_text,
    schema_of,
    shuffled,
)
from askew.prompts.llm import Completion
from askew.types import Missing, Picture, Question

GENDER = Question("What is the gender?", ("male", "female"), "gender")
GLASSES = Question("Is the person wearing glasses?", ("yes", "no"), "glasses")
COLOR = Question("What color is it?", (), "color")


def picture_of(number: int) -> Picture:
    return Picture(f"{number:064x}", "", "a nurse", None)


def label(text: str, question: Question = GENDER, **fields: bool) -> str | Missing:
    (answer,) = read_answers(Completion(text=text, **fields), [question])
    return answer


@pytest.mark.parametrize(
    "text",
    [
        '{"q1": "female"}',
        '```json\n{"q1": "Female"}\n```',
        'The answer is {"q1": "female"}, as the hair shows.',
        "<think>male? no</think>female",
        'it could be {"q1": "male"} </think> {"q1": "female"}',
        '{"gender": "female"}',
        '["female"]',
        '{"q1": {"answer": "female"}}',
        "female",
        " Female.\n",
        '"female"',
    ],
)
def test_a_label_is_read(text: str) -> None:
    assert label(text) == "female"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would say that this person is female",
        "not female",
        '{"q1": "woman"}',
        '{"q1": ["male", "female"]}',
        '{"q1": null}',
        '{"q2": "x", "q3": "female"}',
        '{"q1": {"question": "What is the gender?", "options": ["male", "female"]}}',
        '{"q1": "fem',
        "[[[[",
    ],
)
def test_anything_else_is_unparseable(text: str) -> None:
    answer = label(text)
    assert isinstance(answer, Missing)
    assert answer.reason == "unparseable"


@pytest.mark.parametrize("text", ['{"q1": "cannot tell"}', "Can't tell.", '{"q1": "CANNOT_TELL"}'])
def test_cannot_tell_is_a_reason_of_its_own(text: str) -> None:
    assert label(text) == UNDECIDED
    assert label(text, COLOR) == UNDECIDED


def test_a_refusal_keeps_its_words() -> None:
    answer = label("I cannot identify people", refused=True)
    assert answer == Missing("refused", "I cannot identify people")


def test_a_cut_answer_is_unparseable_even_if_it_begins_like_an_option() -> None:
    answer = label("female", truncated=True)
    assert isinstance(answer, Missing)
    assert "cut off" in answer.detail


def test_answers_to_several_questions_are_read_by_their_keys() -> None:
    text = json.dumps({"q2": True, "q1": "male", "q3": "dark  red"})
    answers = read_answers(Completion(text=text), [GENDER, GLASSES, COLOR])
    assert answers == ["male", "yes", "dark red"]


def test_a_lost_answer_does_not_shift_the_others() -> None:
    answers = read_answers(Completion(text='{"q2": "no"}'), [GENDER, GLASSES])
    assert isinstance(answers[0], Missing)
    assert answers[1] == "no"


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    answer = label(text)
    assert isinstance(answer, Missing) or answer in GENDER.options


@given(st.sampled_from(["male", "female", CANNOT_TELL]))
def test_what_the_schema_allows_is_read(text: str) -> None:
    field = schema_of([GENDER])["properties"]["q1"]
    assert text in field["enum"]
    answer = label(json.dumps({"q1": text}))
    assert answer == (UNDECIDED if text == CANNOT_TELL else text)


def test_each_option_is_first_equally_often_and_the_order_is_reproducible() -> None:
    question = Question("Which?", ("a", "b", "c"))
    orders = [shuffled(picture_of(number), question).options for number in range(600)]
    assert orders == [shuffled(picture_of(number), question).options for number in range(600)]
    first = [order[0] for order in orders]
    counts = [first.count(option) for option in question.options]
    assert sum(counts) == 600
    assert scipy.stats.chisquare(counts).pvalue > 0.001
    assert {tuple(sorted(order)) for order in orders} == {question.options}


def test_the_request_contains_the_questions_as_json_with_the_option_cannot_tell() -> None:
    entries = json.loads(request_text([GENDER, COLOR]).partition("\n")[2])
    assert entries["q1"] == {"question": GENDER.text, "options": ["male", "female", CANNOT_TELL]}
    assert entries["q2"] == {"question": COLOR.text}
    assert schema_of([GENDER, COLOR])["required"] == ["q1", "q2"]
    roles = [message["role"] for message in messages_of([GENDER], {"type": "image"})]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(
    ("before", "size", "after"),
    [((600, 300), 128, (128, 64)), ((64, 40), 128, (64, 40)), ((10, 999), 100, (1, 100))],
)
def test_images_are_sent_at_the_stated_size_and_never_enlarged(
    tmp_path: Path, before: tuple[int, int], size: int, after: tuple[int, int]
) -> None:
    path = tmp_path / "image.png"
    Image.effect_noise(before, 50).convert("RGB").save(path)
    part = image_part(Picture("0" * 64, str(path), "", None), size, "low")
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert part["image_url"]["detail"] == "low"
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert image.size == after
        assert image.mode == "RGB"


def test_no_metadata_leaves_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "image.jpg"
    image = Image.effect_noise((32, 32), 50).convert("RGB")
    exif = Image.Exif()
    exif[0x010E] = "secret words"
    image.save(path, exif=exif, comment=b"secret words")
    part = image_part(Picture("0" * 64, str(path), "", None), 512, "")
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    assert b"secret" not in data
    with Image.open(io.BytesIO(data)) as sent:
        assert not sent.getexif()
        assert not sent.info
