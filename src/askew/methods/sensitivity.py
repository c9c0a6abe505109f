"""How much TIBET's scores move when the VQA errs (section 5.3, figure 5c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.parts.survey.observed import ObservedSet
from askew.plan import Plan, PromptPlan
from askew.stats.robustness import score_change
from askew.store.keys import derived_seed
from askew.types import Axis, Missing

RATES = (0.05, 0.1, 0.18, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced; the authors estimate .18 for their VQA."""

SCORES = ("cas", "mad", "wasserstein", "standard_deviation")

Codes = NDArray[np.int64]


def sensitivity(sets: Mapping[str, Sequence[ObservedSet]], plan: Plan, repeats: int = 10) -> list[dict[str, Any]]:
    """Mean change in percent of CAS, MAD and MAD's alternatives over all prompts and axes of a plan, by error rate.

    Errors are independent over pictures and questions: an answer becomes any other of the same question's values.
    Captions stay out. Raises NotEnoughData where no axis has answers in its initial and counterfactual sets.
    """
    rows = []
    for rate in RATES:
        changes: dict[str, list[float]] = {score: [] for score in SCORES}
        for prompt in plan.prompts:
            for found in _changes(sets[prompt.text], prompt, plan, rate, repeats):
                for score, change in found.items():
                    changes[score].append(change)
        if not changes["cas"]:
            raise NotEnoughData("no axis of this run has answers in its initial set and in its counterfactual sets")
        rows.append({"rate": rate, **{s: float(np.mean(c)) if c else None for s, c in changes.items()}})
    return rows


def _changes(
    sets: Sequence[ObservedSet], prompt: PromptPlan, plan: Plan, rate: float, repeats: int
) -> list[dict[str, float]]:
    closed = [axis.axis() for axis in prompt.axes if axis.values]
    sizes = np.array([len(axis.values) for axis in closed])
    codes = {s.name: encode(s, closed, plan.vqa[0]) for s in sets}
    found = []
    for axis in closed:
        own = [codes[s.name] for s in sets if s.prompt.axis == axis.name]
        if len(own) < 2 or not all(len(c) for c in (codes["initial"], *own)):
            continue
        rng = np.random.default_rng(derived_seed(plan.seed, prompt.text, axis.name, f"errors {rate}"))
        change = score_change(codes["initial"], own, sizes, rate, rng=rng, runs=repeats, variant=plan.variant)
        found.append({s: value for s in SCORES if (value := getattr(change, s)) is not None})
    return found


def encode(observed: ObservedSet, axes: Sequence[Axis], instrument: str) -> Codes:
    """(pictures, axes): the number of the value seen, for pictures with a value on every axis."""
    columns = [observed.values[instrument][axis.name] for axis in axes]
    rows = [row for row in zip(*columns, strict=True) if not any(isinstance(v, Missing) for v in row)]
    return np.array([[a.values.index(str(v)) for a, v in zip(axes, r, strict=True)] for r in rows], dtype=np.int64)
