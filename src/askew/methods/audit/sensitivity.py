"""How much TIBET's scores move when the VQA errs (section 5.3, figure 5c)."""

from __future__ import annotations

import json as jsons
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType

from askew.errors import NotEnoughData, UsageError
from askew.method import load
from askew.methods.audit.gather import gather
from askew.methods.audit.plan import AuditPlan
from askew.options import Flag
from askew.pages.blocks import Table
from askew.pages.terminal import Fitted
from askew.pages.words import ABSENT
from askew.parts.survey.observed import ObservedSet
from askew.plan import PromptPlan
from askew.run.live import opened_run
from askew.stats.association import score_change
from askew.store.keys import derived_seed
from askew.types import Axis, Missing, record

RATES = (0.05, 0.1, 0.18, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced; the authors estimate .18 for their VQA."""

SCORES = ("cas", "mad", "wasserstein", "standard_deviation")

Codes = NDArray[np.int64]


@record
class ErrorRate:
    """Mean absolute change of scores, in percent, where a share of the answers is wrong; None where all are 0."""

    rate: float
    cas: float | None
    mad: float | None
    wasserstein: float | None
    standard_deviation: float | None


class Sensitivity(tuple[ErrorRate, ...]):
    """An `ErrorRate` for each of the rates."""

    def __rich__(self) -> RenderableType:
        rows = tuple(
            (f"{row.rate:.0%}", *(ABSENT if (change := getattr(row, name)) is None else f"{change:.1f} %"
                                  for name in SCORES))
            for row in self
        )  # fmt: skip
        heads = ("answers replaced", "CAS", "MAD", "Wasserstein", "standard deviation")
        return Fitted(Table("Mean absolute change of the scores when the VQA errs", heads, rows))


def sensitivity(
    run: str | Path, /, *, store: str | Path | None = None, repeats: int = 10, json: Flag = False
) -> Sensitivity | None:
    """How much the scores of a run would change if its VQA made errors: 5 to 40 % of the answers.

    Example: `askew sensitivity runs/mine`

    Parameters
    ----------
    run
        Folder of a finished audit.
    store
        Its store; default: .askew beside the run.
    repeats
        Simulations per error rate.
    json
        Print the changes as JSON.

    Raises
    ------
    UsageError
        For a folder that holds no finished audit.
    NotEnoughData
        Where no axis has answers in its initial and in its counterfactual sets.
    """
    result = load(run, store)
    if not isinstance(result.plan, AuditPlan):
        method = result.method.name
        raise UsageError(f"{run} is a run of the method {method!r}; this needs a run of `askew audit`")
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    with opened_run(result.plan, result.folder, result.store) as live:
        changes = changes_by_rate(gather(result.plan, live).observed, result.plan, repeats)
    if not json:
        return changes
    print(jsons.dumps([asdict(row) for row in changes], indent=1))
    return None


def changes_by_rate(sets: Mapping[str, Sequence[ObservedSet]], plan: AuditPlan, repeats: int = 10) -> Sensitivity:
    """Over all prompts and axes of a plan, by error rate.

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
        rows.append(ErrorRate(rate, *(float(np.mean(c)) if c else None for c in changes.values())))
    return Sensitivity(rows)


def _changes(
    sets: Sequence[ObservedSet], prompt: PromptPlan, plan: AuditPlan, rate: float, repeats: int
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
