"""Cases of parametrized tests of which the quick suite runs a few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick_only(quick: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """Return all cases as parameters; those outside `quick` are run with the slow tests.

    A tuple is a case of several arguments. Quick cases that do not exist are refused, so that a renamed case does not leave the suite.
    """
    named = list(quick)
    listed = list(cases)
    absent = [case for case in named if case not in listed]
    assert not absent, f"no such cases: {absent}"
    return [case_of(case, is_quick=case in named) for case in listed]


def case_of(case: Any, is_quick: bool) -> Any:
    """Return a case as a parameter."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=() if is_quick else pytest.mark.slow)
