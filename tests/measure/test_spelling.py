"""Spellings of labels: a hyphen inside a label is spelling, a sign is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import UsageError
from askew.measure.spelling import Spelling, aliases_of, key, ordered, repeated_keys

SIGNS = ["-", "−", "–", "+", "--", "++"]


@pytest.mark.parametrize(
    "spellings",
    [
        ["Middle-Aged", "middle_aged", " middle  aged", "MIDDLE - AGED", "middle‑aged"],
        ["0-2", "0–2", "0 - 2", "0_2", "0 2"],
        ["-1", "−1", " –1 "],
    ],
)
def test_spellings_of_a_label_share_a_key(spellings: list[str]) -> None:
    assert len(set(map(key, spellings))) == 1


@pytest.mark.parametrize(
    "labels",
    [
        ["-1", "1", "+1"],
        ["-2", "-1", "0", "1", "2"],
        ["A", "A-", "A+", "A--", "A++"],
        ["level -1", "level 1"],
        ["rh -", "rh +", "rh"],
        ["-", "+", ""],
        ["-0.5", "0.5"],
        ["-a-b", "a-b", "a-b-"],
    ],
)
def test_labels_that_differ_in_a_sign_have_different_keys(labels: list[str]) -> None:
    assert len(set(map(key, labels))) == len(labels)
    assert repeated_keys(labels) == []


@given(st.text(alphabet="aB1 _", min_size=1).filter(lambda text: text.strip(" _")))
def test_a_sign_before_or_after_any_label_stays(label: str) -> None:
    for sign in SIGNS:
        assert key(sign + label.strip(" _")) != key(label)
        assert key(label.strip(" _") + sign) != key(label)


@given(st.text())
def test_a_key_is_its_own_key(label: str) -> None:
    assert key(key(label)) == key(label)


def test_values_are_in_the_order_of_their_numbers() -> None:
    assert ordered(["1", "-1", "2", "-2", "0"]) == ("-2", "-1", "0", "1", "2")
    assert ordered(["20-29", "3-9", "0-2"]) == ("0-2", "3-9", "20-29")
    assert ordered(["b", "C", "a"]) == ("a", "b", "C")


@pytest.mark.parametrize("values", [["a b", "a-b"], ["A", "a"], ["-1", "−1"]])
def test_values_that_differ_only_in_spelling_are_refused(values: list[str]) -> None:
    with pytest.raises(UsageError, match=r"differ only in spelling.*--values"):
        Spelling("grade", values, {})


def test_aliases_of_two_spellings_must_agree() -> None:
    assert aliases_of("gender", {"Both": "missing", "both": "missing"}) == {"both": "missing"}
    assert aliases_of("gender", {"both": "missing", "gender:Both": "male"}) == {"both": "male"}
    with pytest.raises(UsageError, match=r"--alias Both=male and --alias both=female"):
        aliases_of("gender", {"Both": "male", "both": "female"})


def test_a_label_with_a_sign_has_its_own_alias() -> None:
    spelling = Spelling("gender", ["male", "female"], {"1": "male", "-1": "female"})
    assert [spelling.read(label) for label in ("1", "-1", "−1", "+1")] == [
        "male",
        "female",
        "female",
        None,
    ]
