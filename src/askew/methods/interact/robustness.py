"""How much a graph changes with fewer pictures, or when the VQA errs (BiasConnect, section 5.4, figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.biasconnect import pair, tests, thresholds
from askew.methods.interaction_counts import Tables, tables
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import Answer, ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.plans.interactions import InteractionPlan
from askew.stats.contingency import ChiSquare
from askew.stats.sensitivity import debiased_value
from askew.store.keys import derived_seed
from askew.types import Missing

ERROR_RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced by another one."""

PICTURES = (48, 40, 32, 24, 16, 8)
"""Pictures left in every set, where it has more."""

Sets = Mapping[str, Sequence[ObservedSet]]


def robustness(sets: Sets, plan: InteractionPlan, scoring: Scoring, repeats: int = 3) -> list[dict[str, Any]]:
    """Rows of edges changed, and of the change of IS in percent, by pictures left and by error rate.

    Both are means over prompts and `repeats`. Edges changed are those that come and go; the change of IS is the sum of
    its absolute changes over the sum of its sizes, of pairs of different axes, debiased for the number of pictures: the
    plug-in IS of fewer pictures would move by itself. Answers are taken as read.

    Raises NotEnoughData where no prompt has a graph.
    """
    prompts = [p for p in plan.prompts if tables(sets[p.text], p.axes, scoring.instrument).pairs()]
    if not prompts:
        raise NotEnoughData("no prompt of this run has counterfactual sets, so there is no graph that could change")
    most = max(len(s.pictures) for p in prompts for s in sets[p.text])
    changes = [("pictures", n) for n in PICTURES if n < most] + [("errors", rate) for rate in ERROR_RATES]
    return [_row(kind, size, prompts, sets, plan, scoring, repeats) for kind, size in changes]


def _row(
    kind: str,
    size: float,
    prompts: Sequence[PromptPlan],
    sets: Sets,
    plan: InteractionPlan,
    scoring: Scoring,
    repeats: int,
) -> dict[str, Any]:
    edges_changed, moved = [], []
    for prompt in prompts:
        own = sets[prompt.text]
        before = _graph(tables(own, prompt.axes, scoring.instrument), plan, scoring, prompt.text)
        for k in range(repeats):
            rng = np.random.default_rng(derived_seed(plan.seed, prompt.text, f"{kind} {size} {k}"))
            changed = [_fewer(s, int(size), rng) if kind == "pictures" else
                       _with_errors(s, prompt.axes, scoring.instrument, size, rng) for s in own]  # fmt: skip
            after = _graph(tables(changed, prompt.axes, scoring.instrument), plan, scoring, prompt.text)
            edges_changed.append(len(before[0] ^ after[0]))
            moved.append(_moved(before[1], after[1]))
    known = [one for one in moved if one is not None]
    return {
        "kind": kind,
        "size": size,
        "edges_changed": float(np.mean(edges_changed)),
        "sensitivity_change": float(np.mean(known)) if known else None,
    }


Graph = tuple[frozenset[tuple[str, str]], dict[tuple[str, str], float]]
"""The edges, and the debiased IS of every pair of different axes."""


def _graph(counted: Tables, plan: InteractionPlan, scoring: Scoring, prompt: str) -> Graph:
    threshold, _ = thresholds(counted, plan, prompt)
    found = {one: test for one, test in tests(counted, plan, scoring, prompt).items() if one[0] != one[1]}
    chosen = frozenset(one for one, test in found.items() if isinstance(test, ChiSquare) and test.p < threshold)
    sizes = {one: debiased_value(pair(counted, plan, *one)) for one in found} if counted.initial else {}
    return chosen, {one: size for one, size in sizes.items() if not isinstance(size, Missing)}


def _moved(before: Mapping[tuple[str, str], float], after: Mapping[tuple[str, str], float]) -> float | None:
    """Percent of the sizes by which sensitivities moved; None where there is none to move."""
    shared = before.keys() & after.keys()
    total = sum(abs(before[one]) for one in shared)
    return 100 * sum(abs(after[one] - before[one]) for one in shared) / total if total else None


def _fewer(observed: ObservedSet, pictures: int, rng: np.random.Generator) -> ObservedSet:
    """So many pictures of a set, drawn without replacement."""
    kept = sorted(rng.permutation(len(observed.pictures))[:pictures].tolist())
    values = {
        name: {axis: tuple(column[k] for k in kept) for axis, column in by_axis.items()}
        for name, by_axis in observed.values.items()
    }
    return replace(
        observed,
        pictures=tuple(observed.pictures[k] for k in kept),
        values=values,
        captions=tuple(observed.captions[k] for k in kept),
    )


def _with_errors(
    observed: ObservedSet, axes: Sequence[AxisPlan], instrument: str, rate: float, rng: np.random.Generator
) -> ObservedSet:
    """The set with a share of the answers replaced by another value of the same axis."""
    columns = {
        axis.name: tuple(_wrong(answer, axis.values, rate, rng) for answer in observed.values[instrument][axis.name])
        for axis in axes
    }
    return replace(observed, values={**observed.values, instrument: columns})


def _wrong(answer: Answer, values: Sequence[str], rate: float, rng: np.random.Generator) -> Answer:
    errs = rng.random() < rate
    if not errs or isinstance(answer, Missing) or len(values) < 2:
        return answer
    others = [value for value in values if value != answer]
    return others[int(rng.integers(len(others)))]
