"""Conditions for --fail-if."""

from __future__ import annotations

import pytest

from askew.errors import UsageError
from askew.results.condition import parse_condition

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
