"""Sentences on the most biased of several models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from askew.studies.rank.model_sentences import most_biased_model
from askew.studies.rank.steps import ModelMean, RankFindings
from askew.types import Estimate


def test_a_score_without_an_axis_is_no_deviation() -> None:
    """The score of Eq. 1 is smaller for more biased prompts, so its mean is not a mean bias."""
    means = [
        ModelMean(model=name, axis="", mined_for=None, mean=Estimate(value=-1.0))
        for name in ("first", "second")
    ]
    findings = SimpleNamespace(models=["first", "second"], means=means, differences=[])
    assert most_biased_model(cast("RankFindings", findings)) == []
