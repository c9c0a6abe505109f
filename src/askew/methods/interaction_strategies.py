"""Ways to mitigate several biases, compared over the prompts of a run: what bias is left, after how many steps.

This is the form in which InterMit, the follow-up work of BiasConnect, compares itself with rivals. A step is one
intervention: an axis made equal, or a mixture drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askew.methods.interaction_mixture import AS_IT_IS, THIS_MIXTURE
from askew.stats.means import student_mean
from askew.types import Estimate

Mixture = Mapping[str, Any]
Entry = dict[str, Any]

MEASURED = "this mixture, drawn and measured"
OVER = "Student's t over prompts"


def compared_strategies(graphs: Sequence[Mapping[str, Any]], level: float) -> list[Entry]:
    """Per way to mitigate, means over the prompts whose graph has a plan of a mixture.

    Each entry has `strategy`; `final_bias`, the mean distance of all axes from their ideals, on pictures that had no
    part in the plan; `steps`; and `beyond_mixture`, the final bias less that of the mixture, prompt by prompt. Empty
    without a plan of a mixture.
    """
    mixtures = [g["mixture"] for g in graphs if isinstance(g["mixture"], Mapping)]
    if not mixtures:
        return []
    found = [_strategy(name, mixtures, level) for name in mixtures[0]["totals"]]
    measured = [mixture for mixture in mixtures if _measured(mixture)]
    return [*found, _entry(MEASURED, measured, [_measured(m) for m in measured], level)] if measured else found


def _strategy(name: str, mixtures: Sequence[Mixture], level: float) -> Entry:
    return _entry(name, mixtures, [_mean_distance(mixture, name) for mixture in mixtures], level)


def _entry(name: str, mixtures: Sequence[Mixture], final: Sequence[float | None], level: float) -> Entry:
    values = np.array(final, dtype=float)
    planned = np.array([_mean_distance(mixture, THIS_MIXTURE) for mixture in mixtures])
    beyond = None if name == THIS_MIXTURE else student_mean(values - planned, level, OVER, null=0.0)
    return {
        "strategy": name,
        "final_bias": _not_below_zero(student_mean(values, level, OVER)),
        "steps": _not_below_zero(student_mean([_steps(mixture, name) for mixture in mixtures], level, OVER)),
        "beyond_mixture": beyond,
    }


def _mean_distance(mixture: Mixture, name: str) -> float:
    """Of all axes from their ideals, on the pictures held out."""
    return float(mixture["totals"][name]) / len(mixture["before"])


def _measured(mixture: Mixture) -> float | None:
    """The mean distance in the pictures drawn from the mixture; None where an axis has no answer there."""
    found = list((mixture["measured"] or {}).values())
    known = [e.value for e in found if isinstance(e, Estimate)]
    return float(np.mean(known)) if known and len(known) == len(found) else None


def _steps(mixture: Mixture, name: str) -> int:
    if name in mixture["steps"]:
        return len(mixture["steps"][name])
    return 0 if name == AS_IT_IS else 1


def _not_below_zero(mean: Estimate) -> Estimate:
    """Distances and steps are never negative."""
    return mean if mean.low is None else replace(mean, low=max(0.0, mean.low))
