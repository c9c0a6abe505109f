"""How much a graph changes with fewer pictures, or when the VQA errs (BiasConnect, section 5.4, figure 4)."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import RenderableType

from askew.errors import NotEnoughData, UsageError
from askew.methods.interact.gather import seen
from askew.methods.interact.graph import Tables, pair, tables, tests, thresholds
from askew.methods.interact.mitigation import picked
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.score import scoring_of
from askew.options import Flag, Place
from askew.pages.blocks import Table
from askew.pages.terminal import Fitted
from askew.pages.words import ABSENT, percent
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import Answer, ObservedSet
from askew.parts.survey.reader import Observed
from askew.plan import PLAN_FILE, AxisPlan, PromptPlan
from askew.run.count import counted_run
from askew.stats.contingency import ChiSquare
from askew.stats.sensitivity import debiased_value
from askew.store.keys import derived_seed
from askew.store.store import default_store
from askew.types import Missing, record

ERROR_RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced by another one."""

PICTURES = (48, 40, 32, 24, 16, 8)
"""Pictures left in every set, where it has more."""

Kind = Literal["pictures", "errors"]


@record
class Change:
    """How a graph changes where so many pictures are left of every set, or that share of answers is wrong.

    edges_changed       edges that come and go
    sensitivity_change  percent of the sizes of IS by which they move; None where there is none to move
    """

    kind: Kind
    size: float
    edges_changed: float
    sensitivity_change: float | None


class Robustness(tuple[Change, ...]):
    """Mean changes of a prompt's graph."""

    def __rich__(self) -> RenderableType:
        rows = tuple(
            (
                f"{one.size:g} pictures a set" if one.kind == "pictures" else f"{percent(one.size)} answers wrong",
                f"{one.edges_changed:.1f}",
                ABSENT if one.sensitivity_change is None else f"{one.sensitivity_change:.0f} %",
            )
            for one in self
        )
        caption = "Mean change of a prompt's graph when pictures are fewer, or the VQA errs"
        return Fitted(Table(caption, ("what happens", "edges changed", "change of IS"), rows))


def robustness(run: str | Path, /, *, store: Place = None, repeats: int = 3, json: Flag = False) -> Robustness | None:
    """How much a run's graph of interactions would change with fewer pictures, or with errors of its VQA.

    Example: `askew robustness runs/mine`

    Parameters
    ----------
    run
        Folder of a run of interactions.
    store
        Its store; default: .askew beside the run.
    repeats
        Simulations per number of pictures and error rate.
    json
        Print the numbers as JSON.

    Raises
    ------
    UsageError
        For a run of another method, and a store that does not hold what the run saw.
    NotEnoughData
        Where no prompt has a graph.
    """
    plan, place = InteractionPlan.read(Path(run) / PLAN_FILE), Path(store) if store else default_store(Path(run))
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    with counted_run(plan, Path(run), place) as counted:
        sets = seen(plan, counted)
    if counted.work.left:
        raise UsageError(
            f"the store {place} does not hold all that {run} saw: name its store (--store), or give the run's own "
            "command again"
        )
    found = simulated(sets, plan, scoring_of(plan), repeats)
    if not json:
        return found
    print(jsons.dumps([asdict(one) for one in found], indent=1))
    return None


def simulated(sets: Observed, plan: InteractionPlan, scoring: Scoring, repeats: int = 3) -> Robustness:
    """Edges changed, and the change of IS in percent, by pictures left and by error rate.

    Both are means over prompts and `repeats`. The change of IS is the sum of its absolute changes over the sum of its
    sizes, of pairs of different axes, debiased for the number of pictures: the plug-in IS of fewer pictures would move
    by itself. Answers are taken as read.

    Raises NotEnoughData where no prompt has a graph.
    """
    prompts = [p for p in plan.prompts if tables(sets[p.text], p.axes, scoring.instrument).pairs()]
    if not prompts:
        raise NotEnoughData("no prompt of this run has counterfactual sets, so there is no graph that could change")
    most = max(len(s.pictures) for p in prompts for s in sets[p.text])
    changes: list[tuple[Kind, float]] = [("pictures", n) for n in PICTURES if n < most]
    changes += [("errors", rate) for rate in ERROR_RATES]
    return Robustness(_change(kind, size, prompts, sets, plan, scoring, repeats) for kind, size in changes)


def _change(
    kind: Kind, size: float, prompts: Sequence[PromptPlan], sets: Observed, plan: InteractionPlan, scoring: Scoring,
    repeats: int,
) -> Change:  # fmt: skip
    edges_changed, moved = [], []
    for prompt in prompts:
        own = sets[prompt.text]
        before = _graph(tables(own, prompt.axes, scoring.instrument), plan, scoring, prompt.text)
        for k in range(repeats):
            rng = np.random.default_rng(derived_seed(plan.seed, prompt.text, f"{kind} {size} {k}"))
            changed = [
                picked(s, sorted(rng.permutation(len(s.pictures))[: int(size)].tolist()))
                if kind == "pictures"
                else _with_errors(s, prompt.axes, scoring.instrument, size, rng)
                for s in own
            ]
            after = _graph(tables(changed, prompt.axes, scoring.instrument), plan, scoring, prompt.text)
            edges_changed.append(len(before[0] ^ after[0]))
            moved.append(_moved(before[1], after[1]))
    known = [one for one in moved if one is not None]
    return Change(kind, size, float(np.mean(edges_changed)), float(np.mean(known)) if known else None)


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


def _with_errors(
    observed: ObservedSet, axes: Sequence[AxisPlan], instrument: str, rate: float, rng: np.random.Generator
) -> ObservedSet:
    """The set with a share of the answers replaced by another value of the same axis."""

    def wrong(answer: Answer, values: Sequence[str]) -> Answer:
        errs = rng.random() < rate
        if not errs or isinstance(answer, Missing) or len(values) < 2:
            return answer
        others = [value for value in values if value != answer]
        return others[int(rng.integers(len(others)))]

    read = observed.values[instrument]
    columns = {axis.name: tuple(wrong(answer, axis.values) for answer in read[axis.name]) for axis in axes}
    return replace(observed, values={**observed.values, instrument: columns})
