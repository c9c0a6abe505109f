"""Answers of language models, read tolerantly: the papers' formats, thoughts and slips."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.prompts.answers import UnusableAnswer, parse, read_axes, read_texts
from askew.prompts.llm import Completion

PAIRS = (("female", "a female nurse"), ("male", "a male nurse"))
TEXTS = ["a red boat", "two cats"]


@pytest.mark.parametrize(
    "text",
    [
        '{"axes": [{"name": "gender", "kind": "Societal", "counterfactuals": '
        '[{"value": "Female", "prompt": "a female nurse", "why": 1}, {"value": "male", "prompt": "a male  nurse"}]}]}',
        'Sure:\n```json\n[{"axis": "gender", "type": "societal", "counterfactuals": '
        '{"female": "a female nurse", "male": "a male nurse",},}]\n```',
        "<think>{maybe [age]?}</think>{'gender': {'female': 'a female nurse', 'male': 'a male nurse'}}",
        '{"axes": {"gender": [{"female": "a female nurse"}, {"male": "a male nurse"}]}}',
        '{"name": "gender", "counterfactuals": [{"value": "female", "prompt": "a female nurse"}, '
        '{"value": "male", "prompt": "a male nurse"}]} I hope that this helps [1].',
    ],
)
def test_axes_are_read_in_many_forms(text: str) -> None:
    (axis,) = read_axes(parse(Completion(text)))
    assert (axis.name, axis.counterfactuals) == ("gender", PAIRS)
    assert axis.kind in ("societal", "")


def test_the_format_of_tibet_names_no_values() -> None:
    (axis,) = read_axes(parse(Completion('{"Gender": ["a female nurse", "a male nurse"]}')))
    assert axis.counterfactuals == (("", "a female nurse"), ("", "a male nurse"))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"prompts": TEXTS}),
        "['a red boat', 'two cats',]",
        "Here they are:\n1. a red boat\n2) two cats\n",
        "- a red boat.\n- two cats",
        '{"1": "a red boat", "2": "two cats"}',
        '[{"prompt": "a red boat"}, {"prompt": "two cats"}]',
    ],
)
def test_texts_are_read_in_many_forms(text: str) -> None:
    assert read_texts(Completion(text)) == TEXTS


@given(st.text(alphabet="{}[]\"\\',: ab1<think>/\n", max_size=80))
def test_any_answer_is_read_or_unusable(text: str) -> None:
    for read in (read_texts, lambda answer: read_axes(parse(answer))):
        with suppress(UnusableAnswer):
            read(Completion(text))


@pytest.mark.parametrize("text", ['{"gender": [null]}', "{0: [[]]}", '{"gender": [["a"], 3, {}]}'])
def test_texts_that_are_not_prompts_are_left_out(text: str) -> None:
    (axis,) = read_axes(parse(Completion(text)))
    assert not [prompt for _, prompt in axis.counterfactuals if prompt]
