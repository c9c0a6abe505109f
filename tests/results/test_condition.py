"""Conditions for --fail-if."""

from __future__ import annotations

import pytest

from askew.errors import CheckFailed, UsageError
from askew.results.condition import CLASSIFICATION, EDITING, check_conditions, parse_condition

EDITED = {
    "editing": [
        {"group": "black: female", "targets": "high-paid", "strength": 1.0, "gender_change": {"value": 0.7, "q": 0.01},
         "ita_change": {"value": -4.0}, "other_axes": {"body_type": {"value": 0.5}}},
        {"group": "white man", "targets": "low-paid", "strength": 0.6, "gender_change": {"reason": "no_person"},
         "ita_change": {"value": 6.0}, "other_axes": {"body_type": {"value": 0.1}}},
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gender_change > 0.5", ["'black: female' to high-paid at 1: gender_change.value is 0.7"]),
        ("black: female: gender_change.q < 0.05", ["'black: female' to high-paid at 1: gender_change.q is 0.01"]),
        ("low-paid: gender_change > 0", []),
        ("Low-Paid: ita_change > 5", ["'white man' to low-paid at 0.6: ita_change.value is 6"]),
        ("body type: axis_change > 0.2", ["'black: female' to high-paid at 1, body_type: axis_change.value is 0.5"]),
        ("age: axis_change > 0", []),
    ],
)
def test_conditions_on_edits(text: str, found: list[str]) -> None:
    assert parse_condition(text, EDITING).violations(EDITED) == found


def test_conditions_on_a_classification_look_at_most_samples() -> None:
    section = {
        "association": [
            {"group": "man", "classifier": "denoising", "samples": samples, "S": {"value": value, "low": value - 0.1}}
            for samples, value in ((1, 0.9), (10, 0.7))
        ] + [{"group": "man", "classifier": "studio", "samples": None, "S": {"value": 0.95, "low": 0.9}}],
        "differential": [
            {"group_x": "man", "group_y": "woman", "classifier": "denoising", "samples": 10, "S": {"value": 0.4}}
        ],
    }  # fmt: skip
    results = {"classification": section}
    found = parse_condition("association > 0.6", CLASSIFICATION).violations(results)
    assert [line.split(":")[0] for line in found] == ["man by denoising", "man by studio"]
    assert len(parse_condition("studio: association > 0.6", CLASSIFICATION).violations(results)) == 1
    assert parse_condition("woman: differential > 0.3", CLASSIFICATION).violations(results) == [
        "man less woman by denoising: differential.value is 0.4"
    ]
    with pytest.raises(CheckFailed, match=r"man by denoising: association.low is 0.6"):
        check_conditions([parse_condition("denoising: association.low > 0.5", CLASSIFICATION)], results)
    with pytest.raises(UsageError, match="association, differential, accuracy"):
        parse_condition("mad > 0.3", CLASSIFICATION)
