"""Estimates and missing measurements print as short text, and stay equal and picklable."""

from __future__ import annotations

import pickle

import pytest

from askew.types import Estimate, Missing


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.58, 0.5, 0.7, p=0.01, q=0.0021), "0.58 [0.50, 0.70], q = 0.002"),
        (Estimate(0.58, 0.5, 0.7, p=0.01), "0.58 [0.50, 0.70], p = 0.010"),
        (Estimate(0.58, 0.5, 0.7, q=0.0001), "0.58 [0.50, 0.70], q < 0.001"),
        (Estimate(-0.58), "-0.58"),
        (Estimate(-0.001, 0.0, -0.0), "0.00 [0.00, 0.00]"),
    ],
)
def test_an_estimate_prints_its_value_interval_and_test(estimate: Estimate, text: str) -> None:
    assert str(estimate) == repr(estimate) == text


def test_a_missing_measurement_prints_its_reason() -> None:
    assert str(Missing("no_face")) == "missing (no_face)"
    assert repr(Missing("error", "no room")) == "missing (error: no room)"


@pytest.mark.parametrize("item", [Estimate(0.58, 0.5, 0.7, p=0.01), Missing("no_face", "dark")])
def test_printed_records_stay_equal_and_picklable(item: object) -> None:
    assert pickle.loads(pickle.dumps(item)) == item
