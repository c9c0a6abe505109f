"""Conditions of --fail-if on audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from askew.conditions import check
from askew.errors import CheckFailed, UsageError
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditFindings

Results = dict[str, Any]


@pytest.fixture
def findings(
    results_of: Callable[[str], Results], read_findings: Any, make_mad: Any
) -> AuditFindings:
    """A bias on gender, and a body type that nobody could label."""
    results = results_of("one prompt")
    entry = results["tibet"][0]
    missing = {"reason": "no_person", "detail": ""}
    entry["axes"] = {
        name: entry["axes"][name] | {"mad_clip": None} for name in ("gender", "body_type")
    }
    entry["axes"]["gender"]["mad"] = make_mad(0.6, q=0.001) | {"corrected": 0.5, "p": None}
    entry["axes"]["body_type"]["mad"] = missing
    results["shares"] = [share for share in results["shares"] if share["axis"] == "gender"]
    results["shares"][0]["verdict"] = {
        "value": "female",
        "p": 0.0004,
        "q": 0.001,
        "detectable": 0.3,
        "exact_p": 0.004,
    }
    return read_findings(results)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("mad.corrected > 0.3", 1),
        ("mad > 0.6", 0),
        ("mad>=0.6", 1),
        ("gender: mad.q < 0.05", 1),
        ("body type: mad.q < 0.05", 0),
        ("age: mad.q < 0.05", 0),
        ("distance.value > .3", 1),
        ("verdict.q < 0.05", 1),
        ("verdict.q < 0.0001", 0),
        ("mad_clip.value > -1e3", 0),
        ("mad.p < 1", 0),
    ],
)
def test_a_condition_lists_the_scores_for_which_it_holds(
    findings: AuditFindings, text: str, count: int
) -> None:
    (condition,) = METHOD.conditions(text)
    violations = condition.violations(findings)
    assert len(violations) == count
    assert all(line.startswith("'a photo of a nurse', gender: ") for line in violations)


def test_a_condition_that_holds_fails_the_command(findings: AuditFindings) -> None:
    with pytest.raises(CheckFailed, match=r"'a photo of a nurse', gender: mad\.value is 0\.6"):
        check(METHOD.conditions(["mad > 0.9", "mad > 0.5"]), findings)


@pytest.mark.parametrize(
    "text", ["mad", "mad > x", "bias > 0.3", "mad.median > 0.3", "mad == 0.3", "", "mad > 1.2.3"]
)
def test_a_condition_that_cannot_be_parsed_gets_an_error_with_the_valid_scores(text: str) -> None:
    with pytest.raises(UsageError, match="mad"):
        METHOD.conditions(text)
