"""OpenBias (D'Incà et al., CVPR 2024) as a baseline: closed questions proposed per prompt, asked of the same pictures.

A question whose answers are far from equally frequent is a bias. Here its entropy score gets a null and an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.significance import add_q
from askew.parts.survey.observed import observe
from askew.stats.entropy import entropy_estimate
from askew.store.keys import derived_seed
from askew.types import Axis, Missing, Picture, Prompt, Question

Ask = Callable[[Sequence[Picture | Missing], Sequence[Question]], Mapping[str, Sequence[str | Missing]]]
"""Answers by picture id, in the order of the questions."""

INSTRUMENT = "vqa"


def openbias(
    sets: Mapping[str, Sequence[Picture | Missing]],
    propose: Callable[[str], Sequence[Axis]],
    ask: Ask,
    *,
    seed: int,
    draws: int,
    level: float,
) -> list[dict[str, Any]]:
    """One entry per prompt and axis with closed answers that the writer proposes for it; one family of q-values."""
    entries = []
    for prompt, pictures in sets.items():
        axes = [axis for axis in propose(prompt) if len(axis.values) > 1]
        answers = ask(pictures, [question for axis in axes for question in axis.questions])
        seen = observe(Prompt(prompt), pictures, axes, {INSTRUMENT: answers}, None)
        for axis in axes:
            counts = seen.counts(INSTRUMENT, axis)
            rng = np.random.default_rng(derived_seed(seed, "openbias", prompt, axis.name))
            entries.append(
                {
                    "prompt": prompt,
                    "axis": axis.name,
                    "counts": dict(zip(axis.values, (int(c) for c in counts), strict=True)),
                    "score": _score(counts, len(pictures), rng, draws, level),
                }
            )
    add_q(entries, "score")
    return entries


def _score(counts: Any, asked: int, rng: np.random.Generator, draws: int, level: float) -> Any:
    missing = asked - int(np.sum(counts))
    try:
        return entropy_estimate(counts, rng=rng, draws=draws, level=level, missing=missing)
    except NotEnoughData:
        return Missing("not_asked", "no picture has an answer")
