"""Counts of an instrument against a reference."""

from __future__ import annotations

import pytest

from askew.parts.survey.confusion import Confusion, confusion
from askew.parts.survey.observed import ObservedSet
from askew.types import Axis, Missing, Prompt

AXIS = Axis("kind", ("a", "b"))


def confused(reference: list[str | Missing], seen: list[str | Missing]) -> Confusion:
    values = {"labels": {"kind": tuple(reference)}, "studio": {"kind": tuple(seen)}}
    return confusion([ObservedSet(Prompt("a nurse"), (), values, ())], AXIS, "studio", "labels")


def test_confusion_counts_by_reference_and_keeps_reasons() -> None:
    seen: list[str | Missing] = ["a", "b", Missing("no_person"), "b", "a"]
    result = confused(["a", "a", "a", "b", Missing("not_asked")], seen)
    assert result.counts == ((1, 1), (0, 1))
    assert result.table.tolist() == [[1, 1], [0, 1]]
    assert result.missing == {"a": {"no_person": 1}, "b": {}}
    assert (result.axis, result.instrument, result.truth, result.values) == (
        "kind",
        "studio",
        "labels",
        ("a", "b"),
    )


def test_confusion_refuses_what_it_cannot_place() -> None:
    with pytest.raises(ValueError, match="'c' is compared with 'a'"):
        confused(["c"], ["a"])
    with pytest.raises(ValueError, match="shorter"):
        confused(["a", "b"], ["a"])
