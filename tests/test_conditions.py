"""Conditions for --fail-if."""

from __future__ import annotations

from functools import partial

import pytest

from askew import conditions
from askew.errors import CheckFailed, UsageError
from askew.types import Estimate, Missing
from test_findings import Scores, TinyFindings, tiny_findings

MAD = Estimate(0.6, corrected=0.5, q=0.001)
FINDINGS = tiny_findings(
    Scores("gender", MAD, {"female": Estimate(0.9, high=0.95)}),
    Scores("body_type", Missing("no_person"), {}),
)
ALL_SCORES = conditions.all_scores(TinyFindings)


def violations(text: str, scores: conditions.Scores = ALL_SCORES) -> list[str]:
    (condition,) = conditions.parse([text], scores)
    return condition.violations(FINDINGS)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("mad.corrected > 0.3", 1),
        ("mad > 0.6", 0),
        ("mad>=0.6", 1),
        ("gender: mad.q < 0.05", 1),
        ("body type: mad.q < 0.05", 0),
        ("age: mad.q < 0.05", 0),
        ("shares.value > .3", 1),
        ("female: shares.high > .3", 1),
        ("male: shares.high > .3", 0),
        ("mad.p < 1", 0),
    ],
)
def test_conditions_list_the_places_where_they_hold(text: str, count: int) -> None:
    lines = violations(text)
    assert len(lines) == count
    assert all(line.startswith("gender") for line in lines)


@pytest.mark.parametrize(
    "text", ["mad", "mad > x", "bias > 0.3", "mad.median > 0.3", "mad == 0.3", "", "mad > 1.2.3"]
)
def test_errors_of_conditions_name_valid_scores(text: str) -> None:
    with pytest.raises(UsageError, match="mad"):
        conditions.parse([text], ALL_SCORES)


def test_a_method_names_its_scores() -> None:
    named = {"association": partial(conditions.estimates_of, "mad")}
    assert violations("association > 0.5", named) == ["gender: association.value is 0.6"]
    with pytest.raises(UsageError, match="Known names: association"):
        conditions.parse(["mad > 0.3"], named)


def test_any_condition_that_holds_fails_the_check() -> None:
    conditions.check(conditions.parse(["mad > 0.9"], ALL_SCORES), FINDINGS)
    with pytest.raises(
        CheckFailed, match=r"gender: mad\.value is 0\.6; gender, female: shares\.value is 0\.9"
    ):
        conditions.check(
            conditions.parse(["mad > 0.9", "mad > 0.5", "shares > 0.5"], ALL_SCORES), FINDINGS
        )
