"""Sensitivity of TIBET's scores to errors of the VQA model (TIBET, section 5.3, figure 5c)."""

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
from askew.methods.audit.findings import AuditFindings
from askew.methods.audit.gather import gather
from askew.methods.audit.plan import AuditPlan
from askew.options import Flag, PathOption
from askew.pages.blocks import Table
from askew.pages.terminal import FittedTable
from askew.pages.words import measured, plural
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, seen_again
from askew.plan import PromptPlan
from askew.stats.association import SPREADS, score_change
from askew.stats.means import student_mean
from askew.stats.significance import is_significant
from askew.store.keys import derived_seed
from askew.types import Axis, Missing, record

RATES = (0.05, 0.1, 0.18, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced. The authors estimate .18 for their VQA model."""

SCORES = ("cas", *SPREADS)
WITHIN = Missing("not_asked", "no axis has a significant MAD")


@record
class ErrorRate:
    """Mean changes of scores over axes, with Student's interval, at a share of wrong answers.

    Attributes
    ----------
    rate : float
        Share of wrong answers.
    axes : int
        Number of axes with a significant MAD (q < 0.05). Other axes are left out, because their
        scores are noise.
    cas, mad, wasserstein, standard_deviation : E
        Mean changes of these scores.
    """

    rate: float
    axes: int
    cas: E
    mad: E
    wasserstein: E
    standard_deviation: E


class ErrorRates(tuple[ErrorRate, ...]):
    """Changes of scores at each rate."""

    def __rich__(self) -> RenderableType:
        """Return the table of changes."""
        axes = self[0].axes
        if not axes:
            return Text(
                "No axis of this run has a significant MAD. The scores of other axes are noise, so "
                "their changes are not simulated."
            )
        rows = []
        for row in self:
            cells = [measured(getattr(row, name), "signed") for name in SCORES]
            rows.append((f"{row.rate:.0%}", *cells))
        return FittedTable(
            Table(
                f"Change of the scores with VQA errors: mean over {plural(axes, 'axis', 'axes')} "
                "with a significant MAD",
                ("answers replaced", "CAS", "MAD", "Wasserstein", "standard deviation"),
                tuple(rows),
            )
        )


def sensitivity(
    run: str | Path, /, *, store: PathOption = None, repeats: int = 10, json: Flag = False
) -> ErrorRates:
    """Simulate how the scores of an audit change if 5 to 40 % of the VQA model's answers are wrong.

    Axes without a significant MAD are left out, because their scores are noise.

    Example: `askew sensitivity runs/mine`

    Parameters
    ----------
    run
        Run folder of a finished audit.
    store
        Store of the run. [default: .askew beside the run]
    repeats
        Simulations per error rate.
    json
        Print the changes as JSON.

    Raises
    ------
    UsageError
        If the folder has no finished audit, or the store lacks its images or answers.
    """
    result = load(run, store)
    if not isinstance(result.plan, AuditPlan):
        raise UsageError(
            f"{run} is a run of `askew {result.method.name}`. "
            "`askew sensitivity` needs a run of `askew audit`"
        )
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}. It must be 1 or more")
    sets = seen_again(result.plan, result.folder, result.store, partial(gather, result.plan))
    return changes_by_rate(sets, result.plan, _significant_axes(result.findings), repeats)


def _significant_axes(findings: AuditFindings) -> set[tuple[str, str]]:
    """Return the prompts and axes with a significant MAD."""
    significant = set()
    for entry in findings.tibet:
        for name, axis in entry.axes.items():
            if is_significant(axis.mad):
                significant.add((entry.prompt, name))
    return significant


def changes_by_rate(
    sets: Observed, plan: AuditPlan, significant: Set[tuple[str, str]], repeats: int
) -> ErrorRates:
    """Simulate errors that are independent over images and questions.

    A wrong answer is any other value of the same question. Captions are not used.

    Parameters
    ----------
    sets
        Image sets by prompt.
    plan
        Plan of the audit.
    significant
        Prompts and axes to simulate, if all their sets have answers.
    repeats
        Simulations per error rate.

    Returns
    -------
    ErrorRates
        Mean changes at each rate.
    """
    changes: dict[float, list[Mapping[str, float]]] = {rate: [] for rate in RATES}
    for prompt in plan.prompts:
        axes = {name for text, name in significant if text == prompt.text}
        of_prompt = _changes_of_prompt(prompt, sets[prompt.text], axes, plan, repeats)
        for rate in RATES:
            changes[rate] += of_prompt[rate]
    return ErrorRates(
        _error_rate(rate, of_rate, plan.confidence) for rate, of_rate in changes.items()
    )


def _changes_of_prompt(
    prompt: PromptPlan,
    sets: Sequence[ObservedSet],
    significant: Set[str],
    plan: AuditPlan,
    repeats: int,
) -> dict[float, list[Mapping[str, float]]]:
    """Return the changes of each significant axis of a prompt, by error rate."""
    closed = [axis.axis() for axis in prompt.axes if axis.values]
    sizes = np.array([len(axis.values) for axis in closed])
    codes = {observed.name: encode(observed, closed, plan.vqa[0]) for observed in sets}
    changes: dict[float, list[Mapping[str, float]]] = {rate: [] for rate in RATES}
    for axis in closed:
        counterfactual = [
            codes[observed.name] for observed in sets if observed.prompt.axis == axis.name
        ]
        if axis.name not in significant or not _can_change(codes, counterfactual):
            continue
        for rate in RATES:
            seed = derived_seed(plan.seed, prompt.text, axis.name, f"errors {rate}")
            change = score_change(
                codes["initial"],
                counterfactual,
                sizes,
                rate,
                rng=np.random.default_rng(seed),
                runs=repeats,
                variant=plan.variant,
            )
            changes[rate].append(change)
    return changes


def _can_change(
    codes: Mapping[str, NDArray[np.int64]], counterfactual: Sequence[NDArray[np.int64]]
) -> bool:
    """Check whether there are two counterfactual sets, and answers in all sets."""
    if len(counterfactual) < 2:
        return False
    return all(len(answers) for answers in (codes["initial"], *counterfactual))


def _error_rate(rate: float, changes: Sequence[Mapping[str, float]], level: float) -> ErrorRate:
    """Return the mean changes at a rate."""
    means: dict[str, E] = dict.fromkeys(SCORES, WITHIN)
    if changes:
        for name in SCORES:
            values = [change[name] for change in changes]
            means[name] = student_mean(values, level, "t over axes")
    return ErrorRate(rate=rate, axes=len(changes), **means)


def encode(observed: ObservedSet, axes: Sequence[Axis], instrument: str) -> NDArray[np.int64]:
    """Return the numbers (images, axes) of the values, for images with a value on every axis."""
    columns = [observed.values[instrument][axis.name] for axis in axes]
    codes = []
    for row in zip(*columns, strict=True):
        if not any(isinstance(value, Missing) for value in row):
            codes.append(
                [axis.values.index(str(value)) for axis, value in zip(axes, row, strict=True)]
            )
    return np.array(codes, dtype=np.int64)
