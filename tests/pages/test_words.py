"""The text of numbers, scores, reasons, and shortened foreign text."""

from __future__ import annotations

import pytest

from askew.pages import html, words
from askew.pages.blocks import IntervalChart, IntervalRow, Page, Section, TableCell
from askew.types import MISSING_REASONS, Estimate, Missing
from pages.gallery import GONE, estimate, group


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (0.714, "unit", "0.71"),
        (-0.714, "unit", "−0.71"),
        (-0.001, "unit", "0.00"),
        (None, "unit", "–"),
        (0.125, "share", "12 %"),
        (0.031, "points", "+3"),
        (-0.031, "points", "−3"),
        (0.001, "points", "0"),
        (0.05, "signed", "+0.05"),
        (5.06, "degrees", "+5.1°"),
        (0.61234, "range", "0.612"),
    ],
)
def test_values_on_their_scale(value: float | None, scale: str, text: str) -> None:
    assert words.format_value(value, scale) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "scale", "text"),
    [
        (estimate(0.7), "unit", "0.70 [0.64, 0.76]"),
        (estimate(0.7, None), "unit", "0.70"),
        (GONE, "unit", "–"),
        (None, "unit", "–"),
        (estimate(0.7), "share", "70 % [64, 76]"),
        (estimate(0.1), "points", "+10 [+4, +16]"),
        (estimate(0.1), "signed", "+0.10 [0.04, 0.16]"),
        (estimate(5.0, 1.0), "degrees", "+5.0° [4.0, 6.0]"),
    ],
)
def test_scores_with_their_interval(
    score: Estimate | Missing | None, scale: str, text: str
) -> None:
    assert words.measured(score, scale) == text  # type: ignore[arg-type]


def test_q_is_not_written_as_p() -> None:
    assert words.part(estimate(0.7, p=0.04), "q") == "–"
    assert words.part(estimate(0.7, p=0.04), "p") == "0.040"
    assert words.part(estimate(0.7, p=0.04, q=0.0001), "q") == "< 0.001"
    assert words.part(estimate(0.7), "q") == "–"
    assert words.probability(0.0001, "q") == "q < 0.001"


def test_the_null_mean_is_shown_with_its_score() -> None:
    score = Estimate(0.31, 0.0, 0.61, 0.95, "inverted", 24, null=0.3, debiased=0.0)
    text = "MAD 0.31; expected by chance 0.30; bias-corrected estimate 0.00 [0.00, 0.61]"
    assert words.describe_score(score, "MAD") == text
    lanes = IntervalChart("MAD", "Axis", (IntervalRow("Gender", score),), "MAD")
    assert "MAD, bias-corrected estimate" in html.page(
        Page("k", "t", "a", (), (Section("s", (lanes,)),))
    )


def test_the_null_mean_is_written_on_the_scale_of_the_score() -> None:
    assert words.part(estimate(0.7, null=0.25), "null", "share") == "25 %"
    assert words.part(estimate(0.7, corrected=0.6), "corrected", "share") == "60 %"
    assert words.part(GONE, "null") == "–"


@pytest.mark.parametrize("name", MISSING_REASONS)
def test_every_reason_has_words(name: str) -> None:
    assert words.reason(Missing(name)) != name.replace("_", " ") or name == "not_asked"  # type: ignore[arg-type]


def test_a_group_states_its_images_without_labels() -> None:
    assert words.missing_note(group("g", "gender", (6, 42))) == ""
    lost = {"no_person": 2, "refused": 1}
    assert words.missing_note(group("g", "gender", (6, 42), missing=lost)) == (
        "3 unlabeled: no person detected 2, the model or instrument refused 1"
    )
    assert words.missing_note(group("g", "gender", (0, 0))) == "no images"


def test_the_main_value_is_named_or_furthest_above_its_reference() -> None:
    first = words.leading(group("g", "gender", (6, 42)))
    second = words.leading(group("g", "gender", (6, 42), leading="male"))
    assert first is not None
    assert second is not None
    assert (first.value, second.value) == ("female", "male")
    assert words.value_text(first) == "female 42, 88 % [76, 98]"


def test_intervals_are_named_with_their_level() -> None:
    assert words.interval_in_words(estimate(0.5, 0.1), "share") == "95 % CI 40 to 60"
    assert words.interval_in_words(estimate(0.5, None)) == "no interval"


def test_foreign_text_is_shortened_and_keeps_its_direction() -> None:
    assert words.quote("a  b\nc") == "“a b c”"
    assert words.quote("אבג") == "“\u2068אבג\u2069”"
    assert words.shorten("a" * 90, 80) == "a" * 79 + "…"
    assert words.clean("a\x1b[31m\ud800") == "a\ufffd[31m\ufffd"


def test_attributes_of_people_are_called_perceived() -> None:
    assert words.perceived("body_type") == "perceived body type"
    assert words.perceived("clothing") == "clothing"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.71 [0.66, 0.75]", True),
        ("−3", True),
        ("–", True),
        ("< 0.001", True),
        ("p = 0.04", True),
        ("[0.1, 0.2]", True),
        ("a 3", False),
    ],
)
def test_numbers_are_recognized(text: str, number: bool) -> None:
    assert words.is_number(text) is number


def test_cells() -> None:
    assert words.content(("a", "b")) == "a, b"
    assert words.content(12000) == "12,000"
    assert words.content(TableCell(estimate(0.7), "n")) == "0.70 [0.64, 0.76]"
    assert words.is_bold(estimate(0.7, q=0.01))
    assert not words.is_bold(TableCell(estimate(0.7, q=0.01), strong=False))
    assert words.notes(GONE).startswith("no person detected")


def test_listings() -> None:
    assert [words.listing(("a", "b", "c")[:k]) for k in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_small_differences_have_four_digits() -> None:
    score = Estimate(-0.00123, -0.0034, 0.0009)
    assert words.measured(score, "fine") == "−0.0012 [−0.0034, 0.0009]"


def test_missing_scores_come_last() -> None:
    scores = [Missing("refused"), Estimate(0.2), None, Estimate(0.7)]
    assert sorted(scores, key=words.largest_first)[:2] == [Estimate(0.7), Estimate(0.2)]
