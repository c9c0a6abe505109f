"""Comparisons of searches, on scores and vectors that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from askew.methods.mining_comparison import mean_score, mining_comparison, set_similarity
from askew.types import Estimate, Missing

BIASED = {"one": {"a": 1.0, "b": 1.1, "c": 1.05}, "other": {"d": 1.2, "e": 1.1}}
FAIR = {"one": {"a": 1.2, "b": 1.25, "c": Missing("refused")}, "other": {"d": 1.2, "e": 1.3}}


def test_scores_rank_models_and_differ_in_pairs() -> None:
    found = mining_comparison({"fair": FAIR, "biased": BIASED}, 0.95)
    assert [entry["model"] for entry in found["ranking"]] == ["biased", "fair"]
    assert found["ranking"][0]["score"].value == pytest.approx(np.mean([1.0, 1.1, 1.05, 1.2, 1.1]))
    whole = found["differences"][0]
    assert (whole["models"], whole["mined_for"]) == (["fair", "biased"], None)
    oracle = stats.ttest_rel([1.0, 1.1, 1.2, 1.1], [1.2, 1.25, 1.2, 1.3])
    assert whole["difference"].value == pytest.approx(np.mean([-0.2, -0.15, 0.0, -0.2]))
    assert whole["difference"].p == pytest.approx(oracle.pvalue)
    assert (whole["difference"].n, whole["difference"].missing) == (4, 1)
    assert [entry["mined_for"] for entry in found["differences"]] == [None, "one", "other"]
    assert all(entry["difference"].q >= entry["difference"].p for entry in found["differences"])


def test_a_prompt_of_two_runs_counts_once() -> None:
    twice = {"first": {"one": {"a": 1.0}, "other": {"a": 1.0, "b": 2.0}}}
    found = mining_comparison({**twice, "second": twice["first"]}, 0.95)
    assert found["ranking"][0]["score"].n == 2


def test_models_without_a_score_come_last_and_are_missing() -> None:
    nothing = {"one": {"a": Missing("refused")}}
    found = mining_comparison({"none": nothing, "some": {"one": {"a": 1.0}}}, 0.95)
    assert [entry["model"] for entry in found["ranking"]] == ["some", "none"]
    assert isinstance(found["ranking"][1]["score"], Missing)
    assert isinstance(found["differences"][0]["difference"], Missing)


def test_means_of_prompts() -> None:
    found = mean_score([1.0, 1.2, Missing("refused")], 0.95)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(1.1)
    assert (found.n, found.missing) == (2, 1)
    assert isinstance(mean_score([Missing("refused")], 0.95), Missing)


def test_sets_of_like_prompts_are_near() -> None:
    axes = np.eye(6, dtype=np.float32)
    near = (axes[:3] + 0.1 * axes[[1, 2, 0]]) / np.sqrt(1.01)
    found = {(e["of"], e["among"]): e["cosine"].value for e in
             set_similarity({"a": axes[:3], "b": near, "c": axes[3:]}, 0.95)}  # fmt: skip
    assert found["a", "b"] > found["a", "a"]  # a set's prompts are no neighbours of themselves
    assert found["a", "c"] == pytest.approx(0.0)
    assert set_similarity({"a": axes[:1], "b": axes}, 0.95) == []
