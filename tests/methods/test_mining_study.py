"""The sizes of a search, on results that are known."""

from __future__ import annotations

from typing import Any

import pytest

from askew.methods.mining_study import PAPER, SearchSize, best_so_far, random_study, size_study
from askew.types import Estimate, Missing

OTHER = SearchSize(9, 3, 2)


def section(*fresh: tuple[float | None, ...]) -> dict[str, Any]:
    """By run the fresh scores of its best prompts, found 0.02 lower."""
    best = [
        {"run": run, "fresh_score": {"reason": "refused"} if v is None else {"value": v},
         "score": {"reason": "refused"} if v is None else {"value": v - 0.02}}
        for run, values in enumerate(fresh)
        for v in values
    ]  # fmt: skip
    history = [{"run": run, "iteration": k, "best_so_far": 1.1 - k / 100 + run / 10} for run in (0, 1) for k in (0, 1)]
    return {"best": best, "history": history}


def test_sizes_differ_in_pairs_of_runs() -> None:
    sections = {PAPER: section((1.0, 1.2), (1.0, 1.0)), OTHER: section((1.3, 1.3), (1.1, 1.1))}
    paper, other = size_study(sections, 2, 0.95)
    assert paper["random"] == 5
    assert paper["by_run"] == pytest.approx([1.1, 1.0])
    assert paper["difference"] is None
    assert paper["found"].value == pytest.approx(1.03)
    assert other["difference"].value == pytest.approx(0.15)
    assert other["difference"].q == other["difference"].p


def test_runs_without_a_score_are_missing() -> None:
    _, other = size_study({PAPER: section((1.0,), (1.1,)), OTHER: section((None,), (1.2,))}, 2, 0.95)
    assert isinstance(other["fresh"], Estimate)
    assert (other["fresh"].n, other["fresh"].missing) == (1, 1)
    assert other["difference"].value == pytest.approx(0.1)
    nothing = size_study({PAPER: section((None,), (None,))}, 2, 0.95)[0]
    assert isinstance(nothing["fresh"], Missing)


def test_curves_are_means_over_runs() -> None:
    curve = best_so_far(section()["history"], 2)
    assert [one["mean"] for one in curve] == pytest.approx([1.15, 1.14])
    assert curve[0]["error"] == pytest.approx(0.05)
    assert random_study(None, 2) is None
