"""How much TIBET's scores move when the VQA errs (section 5.3, figure 5c)."""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType
from rich.text import Text

from askew.errors import UsageError
from askew.findings import E
from askew.method import load
from askew.methods.audit.gather import gather
from askew.methods.audit.plan import AuditPlan
from askew.options import Flag, PathOption
from askew.pages.blocks import Table
from askew.pages.terminal import FittedTable
from askew.pages.words import measured, plural
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, seen_again
from askew.stats.association import SPREADS, score_change
from askew.stats.means import student_mean
from askew.stats.significance import is_significant
from askew.store.keys import derived_seed
from askew.types import Axis, Missing, record

RATES = (0.05, 0.1, 0.18, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced; the authors estimate .18 for their VQA."""

SCORES = ("cas", *SPREADS)
WITHIN = Missing("not_asked", "the MAD of every axis is within chance")


@record
class ErrorRate:
    """How much scores change where a share of the answers is wrong: the mean over axes, with
    Student's interval.

    axes  those whose MAD is beyond chance (q < 0.05): what errors do to others is noise
    """

    rate: float
    axes: int
    cas: E
    mad: E
    wasserstein: E
    standard_deviation: E


class ErrorRates(tuple[ErrorRate, ...]):
    """An `ErrorRate` for each of the rates."""

    def __rich__(self) -> RenderableType:
        if not self[0].axes:
            return Text(
                "No axis of this run is beyond chance by MAD: what errors do to the others is noise."
            )
        rows = tuple(
            (f"{row.rate:.0%}", *(measured(getattr(row, name), "signed") for name in SCORES))
            for row in self
        )
        heads = ("answers replaced", "CAS", "MAD", "Wasserstein", "standard deviation")
        told = f"the mean over {plural(self[0].axes, 'axis', 'axes')}"
        return FittedTable(
            Table(
                f"Change of the scores when the VQA errs, {told} beyond chance by MAD", heads, rows
            )
        )


def sensitivity(
    run: str | Path, /, *, store: PathOption = None, repeats: int = 10, json: Flag = False
) -> ErrorRates:
    """How much the scores of a run would change if its VQA made errors: 5 to 40 % of the answers.

    Axes whose MAD is within chance are left out: what errors do to them is noise.

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
        For a folder that holds no finished audit, and a store that does not hold what it saw.
    """
    result = load(run, store)
    if not isinstance(result.plan, AuditPlan):
        method = result.method.name
        raise UsageError(
            f"{run} is a run of the method {method!r}; this needs a run of `askew audit`"
        )
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    beyond = {
        (entry.prompt, name)
        for entry in result.findings.tibet
        for name, axis in entry.axes.items()
        if is_significant(axis.mad)
    }
    sets = seen_again(result.plan, result.folder, result.store, partial(gather, result.plan))
    return changes_by_rate(sets, result.plan, beyond, repeats)


def changes_by_rate(
    sets: Observed, plan: AuditPlan, beyond: Set[tuple[str, str]], repeats: int
) -> ErrorRates:
    """Over the prompts and axes that are `beyond` chance and have answers, by error rate. Errors
    are independent over pictures and questions: an answer becomes any other of the same question's
    values. Captions stay out.
    """
    changes: dict[float, list[Mapping[str, float]]] = {rate: [] for rate in RATES}
    for prompt in plan.prompts:
        closed = [axis.axis() for axis in prompt.axes if axis.values]
        sizes = np.array([len(axis.values) for axis in closed])
        codes = {s.name: encode(s, closed, plan.vqa[0]) for s in sets[prompt.text]}
        for axis in closed:
            own = [codes[s.name] for s in sets[prompt.text] if s.prompt.axis == axis.name]
            if (
                (prompt.text, axis.name) in beyond
                and len(own) > 1
                and all(len(c) for c in (codes["initial"], *own))
            ):
                for rate, found in changes.items():
                    rng = np.random.default_rng(
                        derived_seed(plan.seed, prompt.text, axis.name, f"errors {rate}")
                    )
                    moved = score_change(
                        codes["initial"],
                        own,
                        sizes,
                        rate,
                        rng=rng,
                        runs=repeats,
                        variant=plan.variant,
                    )
                    found.append(moved)
    means = {
        rate: [
            student_mean([one[name] for one in found], plan.confidence, "t over axes")
            if found
            else WITHIN
            for name in SCORES
        ]
        for rate, found in changes.items()
    }
    return ErrorRates(ErrorRate(rate, len(found), *means[rate]) for rate, found in changes.items())


def encode(observed: ObservedSet, axes: Sequence[Axis], instrument: str) -> NDArray[np.int64]:
    """(pictures, axes): the number of the value seen, for pictures with a value on every axis."""
    columns = [observed.values[instrument][axis.name] for axis in axes]
    rows = [
        row for row in zip(*columns, strict=True) if not any(isinstance(v, Missing) for v in row)
    ]
    return np.array(
        [[a.values.index(str(v)) for a, v in zip(axes, r, strict=True)] for r in rows],
        dtype=np.int64,
    )
