"""Conditions for --fail-if."""

from __future__ import annotations

from typing import Any

import pytest

from askew.errors import UsageError
from askew.results.condition import INTERACTIONS, parse_condition

GENDER = {"mad": {"value": 0.6, "corrected": 0.5, "q": 0.001}, "mad_clip": None}
NOBODY = {"mad": {"reason": "no_person", "detail": ""}, "mad_clip": None}
RESULTS = {
    "tibet": [{"prompt": "a nurse", "axes": {"gender": GENDER, "body_type": NOBODY}}],
    "shares": [
        {"prompt": "a nurse", "set": "initial", "axis": "gender", "distance": {"value": 0.4, "q": 0.01}},
        {"prompt": "a nurse", "set": "gender: male", "axis": "gender", "distance": {"value": 0.5, "q": 0.01}},
    ],
}


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
        ("mad_clip.value > -1e3", 0),
        ("mad.p < 1", 0),
    ],
)
def test_conditions_find_where_they_hold(text: str, count: int) -> None:
    found = parse_condition(text).violations(RESULTS)
    assert len(found) == count
    assert all("'a nurse', gender" in line for line in found)


@pytest.mark.parametrize("text", ["mad", "mad > x", "bias > 0.3", "mad.median > 0.3", "mad == 0.3", "", "mad > 1.2.3"])
def test_conditions_that_cannot_be_read_say_what_would_be_right(text: str) -> None:
    with pytest.raises(UsageError, match="mad"):
        parse_condition(text)


def test_conditions_on_interactions_are_about_edges_between_axes() -> None:
    def edge(source: str, target: str, value: float, significant: bool = True) -> dict[str, Any]:
        e = {"value": value, "high": value + 0.1}
        return {"source": source, "target": target, "sensitivity": e, "significant": significant}

    edges = [edge("gender", "gender", -0.5), edge("gender", "age", -0.2), edge("age", "body_type", -0.3, False)]
    results = {"shares": [], "biasconnect": [{"prompt": None, "edges": edges, "amplification": {"value": 0.9}}]}
    found = parse_condition("sensitivity.high < 0", INTERACTIONS).violations(results)
    assert found == ["all prompts together, gender on age: sensitivity.high is -0.1"]
    assert len(parse_condition("age: sensitivity < -0.1", INTERACTIONS).violations(results)) == 1
    assert parse_condition("clothing: sensitivity < -0.1", INTERACTIONS).violations(results) == []
    assert len(parse_condition("amplification > 0.5", INTERACTIONS).violations(results)) == 1
