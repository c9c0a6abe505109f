"""Sensitivity of TIBET's scores to errors of the VQA model (TIBET, section 5.3, figure 5c)."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from askew.errors import UsageError
from askew.findings import E
from askew.method import load
from askew.methods.audit.findings import AuditFindings
from askew.methods.audit.gather import gather
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import paired
from askew.options import Flag, PathOption
from askew.pages.blocks import Scale, Table
from askew.pages.terminal import FittedTable
from askew.pages.words import measured, percent, plural, quote
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import captioner_of
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, seen_again
from askew.plan import PromptPlan
from askew.stats.association import SPREADS, Variant
from askew.stats.intervals import Floats
from askew.stats.means import student_mean
from askew.stats.significance import is_significant
from askew.store.keys import derived_seed
from askew.studies.answer_errors import (
    AnsweredSets,
    Errors,
    Ranking,
    SimulatedAxis,
    answered_sets,
    axis_changes,
    ranking,
)
from askew.types import Axis, Estimate, Missing, record

RATES = (0.05, 0.1, 0.18, 0.2, 0.3, 0.4)
"""Shares of the answers that are replaced. The authors estimate .18 for their VQA model."""

ANSWERED = 0.2
"""The rate about which the first sentence is."""

SCORES = ("cas", *SPREADS)
WITHIN = Missing("not_asked", "no axis has a significant MAD")
UNRANKED = Missing("not_asked", "no prompt has several axes with a MAD")
TOO_FEW_RANKED = Missing("not_asked", "no prompt has three axes with a MAD")

WRONG: Mapping[Errors, str] = {
    "answers": "wrong answers",
    "captions": "wrong captions",
    "both": "wrong texts",
}
"""Heading of the error rates."""

SCORE_COLUMNS: Mapping[str, tuple[str, Scale]] = {
    "cas": ("CAS", "signed"),
    "mad": ("MAD", "signed"),
    "wasserstein": ("Wasserstein", "signed"),
    "standard_deviation": ("standard deviation", "signed"),
}
"""Headings and scales of columns."""

RANK_COLUMNS: Mapping[str, tuple[str, Scale]] = {
    "nearest_kept": ("first value stays", "share"),
    "largest_kept": ("first axis stays", "share"),
    "rank_correlation": ("rank correlation", "unit"),
}


@record
class ErrorRate:
    """Mean changes of scores and rankings at a share of wrong texts, with Student's interval.

    Attributes
    ----------
    errors : "answers", "captions" or "both"
        Texts that can be wrong.
    rate : float
        Share of wrong texts.
    axes : int
        Number of axes with a significant MAD (q < 0.05). Other axes are left out, because their
        scores are noise.
    cas, mad, wasserstein, standard_deviation : E
        Mean changes of these scores over axes.
    nearest_kept : E
        Share of simulations in which the value with the largest CAS stays the same: mean over axes.
    largest_kept : E
        Share of simulations in which the axis with the largest MAD stays the same. Means of the
        ranking are over prompts, or over the simulations of a single prompt. All axes of a prompt
        with a significant axis are ranked.
    rank_correlation : E
        Mean Spearman's correlation of the MAD of a prompt's axes before and after the errors.
    """

    errors: Errors
    rate: float
    axes: int
    cas: E
    mad: E
    wasserstein: E
    standard_deviation: E
    nearest_kept: E
    largest_kept: E
    rank_correlation: E


@dataclass(frozen=True, slots=True)
class Simulation:
    """Changes of a prompt at an error rate.

    Attributes
    ----------
    significant : sequence of SimulatedAxis
        Changes of the axes with a significant MAD.
    ranking : Ranking or None
        Ranking of all axes with a MAD; None for fewer than two axes.
    """

    significant: Sequence[SimulatedAxis]
    ranking: Ranking | None


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """Sets whose concepts are extracted together.

    Attributes
    ----------
    answered : AnsweredSets
        The sets.
    sets_by_axis : mapping of axis to sequence of str
        Names of the counterfactual sets of each axis.
    """

    answered: AnsweredSets
    sets_by_axis: Mapping[str, Sequence[str]]


class ErrorRates(tuple[ErrorRate, ...]):
    """Changes of scores and rankings at each rate."""

    def __rich__(self) -> RenderableType:
        """Return the tables of changes."""
        axes = self[0].axes
        if not axes:
            return Text(
                "No axis of this run has a significant MAD. The scores of other axes are noise, so "
                "their changes are not simulated."
            )
        of_axes = f"mean over {plural(axes, 'axis', 'axes')} with a significant MAD"
        return Group(
            Text(self.answer()),
            self._table(f"Change of the scores with VQA errors: {of_axes}", SCORE_COLUMNS),
            self._table(
                "Rankings with VQA errors, compared with the rankings without: values by CAS, and "
                "axes by MAD",
                RANK_COLUMNS,
            ),
        )

    def answer(self) -> str:
        """Return the change of MAD and of the first axis at the rate `ANSWERED`, as sentences."""
        row = next(row for row in self if row.rate == ANSWERED)
        wrong = f"{percent(row.rate)} {WRONG[row.errors]}"
        text = f"With {wrong}, MAD changes by {measured(row.mad, 'signed')} on average"
        if isinstance(row.largest_kept, Estimate):
            text += (
                ", and the axis with the largest MAD stays the same in "
                f"{percent(row.largest_kept.value)} of simulations"
            )
        return f"{text}."

    def _table(self, caption: str, columns: Mapping[str, tuple[str, Scale]]) -> FittedTable:
        """Return the means of some fields, with a row for each rate."""
        rows = []
        for row in self:
            cells = [measured(getattr(row, name), scale) for name, (_, scale) in columns.items()]
            rows.append((percent(row.rate), *cells))
        headings = [heading for heading, _ in columns.values()]
        return FittedTable(Table(caption, (WRONG[self[0].errors], *headings), tuple(rows)))


def sensitivity(
    run: str | Path,
    /,
    *,
    errors: Errors = "answers",
    store: PathOption = None,
    repeats: int = 10,
    json: Flag = False,
) -> ErrorRates:
    """Simulate how the scores of an audit change if 5 to 40 % of the VQA model's answers are wrong.

    Axes without a significant MAD are left out, because their scores are noise.

    Examples
    --------
    `askew sensitivity runs/mine`

    `askew sensitivity runs/mine --errors both`

    Parameters
    ----------
    run
        Run folder of a finished audit.
    errors
        Texts that can be wrong: answers, captions, or both. A wrong answer is another value of the
        same axis. A wrong caption is the caption of another image of the same prompt.
    store
        Store of the run. [default: .askew beside the run]
    repeats
        Simulations per error rate.
    json
        Print the changes as JSON.

    Raises
    ------
    UsageError
        If the folder has no finished audit, the store lacks its images or answers, or captions are
        to be wrong that do not become concepts.
    """
    result = load(run, store)
    if not isinstance(result.plan, AuditPlan):
        raise UsageError(
            f"{run} is a run of `askew {result.method.name}`. "
            "`askew sensitivity` needs a run of `askew audit`"
        )
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}. It must be 1 or more")
    if errors != "answers" and result.plan.concepts == "axis":
        raise UsageError(
            f"the concepts of {run} do not come from captions, because the audit had "
            "--concepts axis. Use --errors answers, or repeat the audit without --concepts"
        )
    sets = seen_again(result.plan, result.folder, result.store, partial(gather, result.plan))
    significant = _significant_axes(result.findings)
    return changes_by_rate(sets, result.plan, significant, repeats, errors)


def _significant_axes(findings: AuditFindings) -> set[tuple[str, str]]:
    """Return the prompts and axes with a significant MAD."""
    significant = set()
    for entry in findings.tibet:
        for name, axis in entry.axes.items():
            if is_significant(axis.mad):
                significant.add((entry.prompt, name))
    return significant


def changes_by_rate(
    sets: Observed,
    plan: AuditPlan,
    significant: Set[tuple[str, str]],
    repeats: int,
    errors: Errors = "answers",
) -> ErrorRates:
    """Simulate errors that are independent over images and questions.

    Parameters
    ----------
    sets
        Image sets by prompt.
    plan
        Plan of the audit.
    significant
        Prompts and axes with a significant MAD.
    repeats
        Simulations per error rate.
    errors
        Texts that can be wrong.

    Returns
    -------
    ErrorRates
        Mean changes at each rate.
    """
    simulations: dict[float, list[Simulation]] = {rate: [] for rate in RATES}
    for prompt in plan.prompts:
        axes = {name for text, name in significant if text == prompt.text}
        if axes:
            units = _scored_units(prompt, paired(prompt, sets[prompt.text]), plan)
            _check_captions(units, prompt, errors)
            for rate in RATES:
                rng = np.random.default_rng(derived_seed(plan.seed, prompt.text, f"errors {rate}"))
                changes = _changes(units, rate, errors, rng, repeats)
                simulation = Simulation(
                    significant=[changes[name] for name in changes if name in axes],
                    ranking=ranking(list(changes.values()), plan.variant),
                )
                simulations[rate].append(simulation)
    return ErrorRates(
        _error_rate(errors, rate, of_rate, plan) for rate, of_rate in simulations.items()
    )


def _scored_units(
    prompt: PromptPlan, sets: Sequence[ObservedSet], plan: AuditPlan
) -> list[ScoredUnit]:
    """Return the sets of all axes, or those of each axis if each axis has its own concepts."""
    axes = [axis.axis() for axis in prompt.axes]
    if plan.concepts == "all":
        return [_scored_unit(sets, axes, plan)]
    return [_scored_unit([sets[0], *_sets_of_axis(sets, axis)], [axis], plan) for axis in axes]


def _scored_unit(sets: Sequence[ObservedSet], axes: Sequence[Axis], plan: AuditPlan) -> ScoredUnit:
    """Return the baseline set and counterfactual sets of some axes."""
    scoring = Scoring.of(plan, captioner_of(plan.vqa))
    names = {}
    for axis in axes:
        names[axis.name] = [observed.name for observed in _sets_of_axis(sets, axis)]
    answered = answered_sets(sets, axes, scoring, own_concepts=plan.concepts == "axis")
    return ScoredUnit(answered=answered, sets_by_axis=names)


def _sets_of_axis(sets: Sequence[ObservedSet], axis: Axis) -> list[ObservedSet]:
    return [observed for observed in sets if observed.prompt.axis == axis.name]


def _changes(
    units: Sequence[ScoredUnit],
    rate: float,
    errors: Errors,
    rng: np.random.Generator,
    runs: int,
) -> dict[str, SimulatedAxis]:
    """Simulate errors in all sets of a prompt, and return the changes by axis."""
    changes: dict[str, SimulatedAxis] = {}
    for unit in units:
        changes |= axis_changes(unit.answered, unit.sets_by_axis, rate, errors, rng=rng, runs=runs)
    return changes


def _check_captions(units: Sequence[ScoredUnit], prompt: PromptPlan, errors: Errors) -> None:
    """Check that there are captions if they are to be wrong."""
    if errors != "answers" and not any(unit.answered.possible.is_caption.any() for unit in units):
        raise UsageError(
            f"no image of {quote(prompt.text)} has a caption, so captions cannot be wrong. "
            "Use --errors answers"
        )


def _error_rate(
    errors: Errors, rate: float, simulations: Sequence[Simulation], plan: AuditPlan
) -> ErrorRate:
    """Return the mean changes at a rate."""
    level = plan.confidence
    changes = [change for simulation in simulations for change in simulation.significant]
    means: dict[str, E] = dict.fromkeys((*SCORES, "nearest_kept"), WITHIN)
    if changes:
        for name, numbers in _score_changes(changes, plan.variant).items():
            means[name] = student_mean(numbers, level, "t over axes")
        nearest = [change.nearest_kept for change in changes]
        means["nearest_kept"] = _mean(nearest, "axes", level, (0.0, 1.0))
    rankings = [simulation.ranking for simulation in simulations if simulation.ranking]
    unranked = UNRANKED if changes else WITHIN
    too_few = TOO_FEW_RANKED if changes else WITHIN
    largest = [of_prompt.largest_kept for of_prompt in rankings]
    correlation = [of_prompt.correlation for of_prompt in rankings]
    return ErrorRate(
        errors=errors,
        rate=rate,
        axes=len(changes),
        largest_kept=_mean_of_prompts(largest, level, (0.0, 1.0)) or unranked,
        rank_correlation=_mean_of_prompts(correlation, level, (-1.0, 1.0)) or too_few,
        **means,
    )


def _score_changes(changes: Sequence[SimulatedAxis], variant: Variant) -> dict[str, list[float]]:
    """Return the mean change of each score over simulations, for each axis."""
    numbers: dict[str, list[float]] = {name: [] for name in SCORES}
    for change in changes:
        numbers["cas"].append(float(np.mean(change.after - change.before)))
        for name, spread in SPREADS.items():
            difference = spread(change.after, variant) - spread(change.before, variant)
            numbers[name].append(float(np.mean(difference)))
    return numbers


def _mean_of_prompts(
    by_prompt: Sequence[Floats], level: float, bounds: tuple[float, float]
) -> Estimate | None:
    """Return the mean over prompts, or over the simulations of a single prompt; None without any."""
    known = [numbers[np.isfinite(numbers)] for numbers in by_prompt]
    known = [numbers for numbers in known if len(numbers)]
    if not known:
        return None
    if len(known) == 1:
        return _mean(known[0].tolist(), "simulations", level, bounds)
    return _mean([float(numbers.mean()) for numbers in known], "prompts", level, bounds)


def _mean(
    numbers: Sequence[float], over: str, level: float, bounds: tuple[float, float]
) -> Estimate:
    """Return the mean; without an interval if all numbers are equal."""
    mean = student_mean(numbers, level, f"t over {over}", bounds=bounds)
    return mean if np.ptp(numbers) else Estimate(mean.value, n=mean.n)
