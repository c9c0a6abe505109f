"""Counts of an instrument against a reference."""

from __future__ import annotations

import pytest

from askew.methods.confusion import confusion
from askew.types import Missing


def test_confusion_counts_by_reference_and_keeps_reasons() -> None:
    seen = ["a", "b", Missing("no_person"), "b", "a"]
    found = confusion(("a", "b"), ["a", "a", "a", "b", Missing("not_asked")], seen)
    assert found.counts.tolist() == [[1, 1], [0, 1]]
    assert found.missing == {"a": {"no_person": 1}, "b": {}}
    assert (found.answered, found.agreement) == (3, 2)


def test_confusion_refuses_what_it_cannot_place() -> None:
    with pytest.raises(ValueError, match="'c' against 'a'"):
        confusion(("a", "b"), ["c"], ["a"])
    with pytest.raises(ValueError, match="shorter"):
        confusion(("a", "b"), ["a"], [])
