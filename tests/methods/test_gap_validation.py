"""Rankings by the bias score, on vectors whose bias is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.methods.gap_validation import known_ranking
from askew.methods.minethegap import BiasObjective
from askew.parts.scoring import Vectors, Vision
from askew.types import Missing, Picture

KINDS = 6
SKEWS = {f"prompt {k}": k / 7 for k in range(8)}


def embed(names: Sequence[str]) -> Vectors:
    """A name ends with its kind, a direction of its own beside a common one."""
    kinds = [int(name.split("#")[1]) for name in names]
    return np.asarray(np.hstack([np.ones((len(kinds), 1)), np.eye(KINDS)[kinds]]) / np.sqrt(2), np.float32)


def pictures_of(prompt: str, seed: int) -> list[Picture | Missing]:
    """Of a prompt with skew x the share x shows kind 0 beside what an even model shows."""
    shown = round(SKEWS.get(prompt, 0.0) * 24)
    kinds = [0] * shown + [k % KINDS for k in range(24 - shown)]
    return [Picture(f"{prompt} {k} #{kind}", "", prompt, seed) for k, kind in enumerate(kinds)]


def objective() -> BiasObjective:
    vision = Vision(lambda pictures: embed([p.id for p in pictures]), embed)
    return BiasObjective(
        pictures_of,
        lambda texts: [Picture(text, "", text) for text in texts],
        lambda prompt: [f"variation #{kind}" for kind in range(KINDS)],
        vision,
        seed=0,
        draws=100,
    )


def test_prompts_are_ranked_by_what_is_known_of_them() -> None:
    found = known_ranking(objective(), SKEWS, (0.0, 0.25))
    assert [row["prompt"] for row in found["prompts"]] == list(SKEWS)
    strict = found["quantiles"][0]
    assert strict["quantile"] == 0.0
    assert strict["corrected"].value > 0.6
    assert strict["score"].low is not None


def test_a_ranking_needs_three_prompts() -> None:
    with pytest.raises(NotEnoughData, match="three"):
        known_ranking(objective(), {"prompt 1": 0.1, "prompt 2": 0.2})
    nothing = replace(objective(), pictures=lambda prompt, seed: [Missing("refused")])
    with pytest.raises(NotEnoughData, match="0 of 8"):
        known_ranking(nothing, SKEWS)
