"""How much a graph changes with fewer pictures, or when the VQA errs (BiasConnect, section 5.4,
figure 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import scipy
from rich.console import RenderableType

from askew.errors import NotEnoughData, UsageError
from askew.findings import E
from askew.methods.interact.counts import count_answers
from askew.methods.interact.findings import Edge
from askew.methods.interact.gather import gather
from askew.methods.interact.graph import edges
from askew.methods.interact.plan import InteractionPlan
from askew.options import Flag, PathOption
from askew.pages.blocks import Scale, Table
from askew.pages.terminal import FittedTable
from askew.pages.words import measured, percent, plural
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import Answer, ObservedSet
from askew.parts.survey.reader import Observed, seen_again
from askew.plan import PLAN_FILE, AxisPlan, PromptPlan
from askew.stats.means import student_mean
from askew.store.keys import derived_seed
from askew.store.store import default_store
from askew.types import Estimate, Missing, record

ERROR_RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced by another one."""

PICTURES = (48, 40, 32, 24, 16, 8)
"""Pictures left in every set, where it has more."""

Degradation = Literal["pictures", "errors"]
COLUMNS: Mapping[str, tuple[str, Scale, tuple[float, float]]] = {
    "edges_kept": ("edges kept", "share", (0.0, 1.0)),
    "sensitivity_change": ("change of IS", "unit", (0.0, 2.0)),
    "rank_correlation": ("rank correlation", "unit", (-1.0, 1.0)),
    "paper_change": ("change in percent", "share", (0.0, np.inf)),
}
"""What is told of a change: its heading, how it is written, in which bounds it lies."""


@record
class GraphChange:
    """How a graph changes where so many pictures are left of every set, or that share of answers is
    wrong.

    edges               that the prompts' graphs have
    over                what the means are over: prompts, or simulations of a single one
    edges_kept          share of a graph's edges that are still there; Missing without an edge
    sensitivity_change  mean of |change of IS| over pairs of different axes, in units of IS
    rank_correlation    Spearman's, of IS before and after, over the same pairs
    paper_change        the paper's percentage: summed change over summed |IS|, of pairs whose IS is beyond chance alone
    """

    kind: Degradation
    size: float
    edges: int
    over: Literal["prompt", "simulation"]
    edges_kept: E
    sensitivity_change: E
    rank_correlation: E
    paper_change: E


class Robustness(tuple[GraphChange, ...]):
    """Mean changes of a prompt's graph."""

    def __rich__(self) -> RenderableType:
        rows = []
        for one in self:
            what = (
                f"{one.size:g} pictures a set"
                if one.kind == "pictures"
                else f"{percent(one.size)} answers wrong"
            )
            told = [measured(getattr(one, name), scale) for name, (_, scale, _) in COLUMNS.items()]
            if one.edges:
                told[0] += f" of {plural(one.edges, 'edge')}"
            rows.append((what, *told))
        counted = ((one, e) for one in self if isinstance(e := one.sensitivity_change, Estimate))
        over = next((plural(e.n or 0, one.over) for one, e in counted), "")
        caption = (
            f"A prompt's graph when pictures are fewer, or the VQA errs: means{over and f' over {over}'}, with "
            "intervals. The last column is the paper's, over pairs whose IS is beyond chance. –: there is no "
            "edge to keep, or no such pair"
        )
        return FittedTable(
            Table(
                caption, ("what happens", *(head for head, _, _ in COLUMNS.values())), tuple(rows)
            )
        )


def robustness(
    run: str | Path, /, *, store: PathOption = None, repeats: int = 3, json: Flag = False
) -> Robustness:
    """How much a run's graph of interactions would change with fewer pictures, or with errors of
    its VQA.

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
    plan = InteractionPlan.read(Path(run) / PLAN_FILE)
    place = Path(store) if store else default_store(Path(run))
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    alone = plan.model_copy(update={"mitigated": {}})  # what the model itself made
    sets = seen_again(plan, Path(run), place, partial(gather, alone))
    return simulated(sets, plan, Scoring.of(plan), repeats)


def simulated(
    sets: Observed, plan: InteractionPlan, scoring: Scoring, repeats: int = 3
) -> Robustness:
    """How many edges are kept and how IS moves, by pictures left and by error rate. Of every prompt
    the mean over `repeats`, then the mean over prompts with Student's t; of a single prompt, over
    the simulations: what other ones of the same pictures would give. IS is debiased for the number
    of pictures: the plug-in IS of fewer pictures would move by itself. Answers are taken as read.
    Raises NotEnoughData where no prompt has a graph.
    """
    prompts = [
        p for p in plan.prompts if count_answers(sets[p.text], p.axes, scoring.instrument).pairs()
    ]
    if not prompts:
        raise NotEnoughData(
            "no prompt of this run has counterfactual sets, so there is no graph that could change"
        )

    def pairs(prompt: PromptPlan, own: Sequence[ObservedSet]) -> list[Edge]:
        counted = count_answers(own, prompt.axes, scoring.instrument, distance=plan.distance)
        found = edges({prompt.text: counted}, plan, scoring, scoring.rng(prompt.text, "robustness"))
        return [one for one in found[prompt.text] if not one.direct]

    before = {prompt.text: pairs(prompt, sets[prompt.text]) for prompt in prompts}
    had = sum(one.significant for some in before.values() for one in some)
    over: Literal["prompt", "simulation"] = "simulation" if len(prompts) == 1 else "prompt"
    most = max(len(s.pictures) for p in prompts for s in sets[p.text])
    changes: list[tuple[Degradation, float]] = [("pictures", n) for n in PICTURES if n < most]
    changes += [("errors", rate) for rate in ERROR_RATES]
    rows = []
    for kind, size in changes:
        found: dict[str, list[float]] = {name: [] for name in COLUMNS}
        for prompt in prompts:
            told = []
            for k in range(repeats):
                rng = np.random.default_rng(
                    derived_seed(plan.seed, prompt.text, f"{kind} {size} {k}")
                )
                changed = [
                    s.picked(sorted(rng.permutation(len(s.pictures))[: int(size)].tolist()))
                    if kind == "pictures"
                    else _with_errors(s, prompt.axes, scoring.instrument, size, rng)
                    for s in sets[prompt.text]
                ]
                told.append(_changes(before[prompt.text], pairs(prompt, changed), scoring.level))
            for name in COLUMNS:
                known = [one[name] for one in told if np.isfinite(one[name])]
                if known:
                    found[name] += known if len(prompts) == 1 else [float(np.mean(known))]
        means = {
            name: _mean(values, COLUMNS[name][2], scoring.level, f"Student's t over {over}s")
            for name, values in found.items()
        }
        rows.append(GraphChange(kind, size, had, over, **means))
    return Robustness(rows)


def _mean(values: Sequence[float], bounds: tuple[float, float], level: float, interval: str) -> E:
    """The mean; without an interval where all are alike, which does not show how others would vary."""
    if not values:
        return Missing("not_asked", "no prompt has an edge, or a sensitivity beyond chance")
    found = student_mean(values, level, interval, bounds=bounds)
    return found if np.ptp(values) else Estimate(found.value, n=found.n)


def _changes(before: Sequence[Edge], after: Sequence[Edge], level: float) -> dict[str, float]:
    """What `Change` holds, of the same pairs; NaN where there is nothing to tell it from."""
    kept = [now.significant for was, now in zip(before, after, strict=True) if was.significant]
    known = [
        (a.value, b.value, (a.p or 0) < 1 - level)
        for was, now in zip(before, after, strict=True)
        if isinstance(a := was.sensitivity, Estimate) and isinstance(b := now.sensitivity, Estimate)
    ]
    x, y, clear = np.array(known).reshape(-1, 3).T
    varied = len(known) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0
    clear = clear.astype(bool)
    return {
        "edges_kept": float(np.mean(kept)) if kept else np.nan,
        "sensitivity_change": float(np.abs(y - x).mean()) if known else np.nan,
        "rank_correlation": float(scipy.stats.spearmanr(x, y).statistic) if varied else np.nan,
        "paper_change": float(np.abs(y - x)[clear].sum() / np.abs(x[clear]).sum())
        if clear.any()
        else np.nan,
    }


def _with_errors(
    observed: ObservedSet,
    axes: Sequence[AxisPlan],
    instrument: str,
    rate: float,
    rng: np.random.Generator,
) -> ObservedSet:
    """The set with a share of the answers replaced by another value of the same axis."""

    def wrong(answer: Answer, values: Sequence[str]) -> Answer:
        errs = rng.random() < rate
        if not errs or isinstance(answer, Missing) or len(values) < 2:
            return answer
        others = [value for value in values if value != answer]
        return others[int(rng.integers(len(others)))]

    read = observed.values[instrument]
    columns = {
        axis.name: tuple(wrong(answer, axis.values) for answer in read[axis.name]) for axis in axes
    }
    return replace(observed, values={**observed.values, instrument: columns})
