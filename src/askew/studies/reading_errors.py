"""Simulate how errors of the VQA model change TIBET's scores (TIBET, section 5.3, figure 5c)."""

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
"""Simulated error rates. The authors of TIBET estimate an error rate of .18 for their VQA model."""

ANSWERED = 0.2
"""Error rate that the first sentence of the output describes."""

SCORES = ("cas", *SPREADS)
WITHIN = Missing("not_asked", "no axis has a significant MAD")
UNRANKED = Missing("not_asked", "no prompt has two or more axes with a MAD")
TOO_FEW_RANKED = Missing("not_asked", "no prompt has three or more axes with a MAD")

WRONG: Mapping[Errors, str] = {
    "answers": "wrong answers",
    "captions": "wrong captions",
    "both": "wrong texts",
}
"""Heading of the error-rate column for each kind of error."""

SCORE_COLUMNS: Mapping[str, tuple[str, Scale]] = {
    "cas": ("CAS", "signed"),
    "mad": ("MAD", "signed"),
    "wasserstein": ("Wasserstein", "signed"),
    "standard_deviation": ("standard deviation", "signed"),
}
"""Heading and scale of each column, keyed by the name of the score."""

RANK_COLUMNS: Mapping[str, tuple[str, Scale]] = {
    "nearest_kept": ("first value stays", "share"),
    "largest_kept": ("first axis stays", "share"),
    "rank_correlation": ("rank correlation", "unit"),
}


@record
class ErrorRate:
    """Mean changes in scores and rankings at an error rate. Intervals use Student's t.

    The scores are averaged over axes that have a significant MAD. The rankings include all axes
    with a MAD, and are averaged over prompts. If there is only one prompt, scores and rankings are
    averaged over the simulations of this prompt. Prompts without a significant MAD are left out.

    Attributes
    ----------
    errors : "answers", "captions" or "both"
        Kind of output that the errors affect.
    rate : float
        Share of the answers or captions that are wrong.
    axes : int
        Number of axes with a significant MAD (q < 0.05).
    cas, mad, wasserstein, standard_deviation : E
        Mean change in each of these scores.
    nearest_kept : E
        Share of simulations in which the value with the largest CAS stays the same, averaged
        over axes.
    largest_kept : E
        Share of simulations in which the axis with the largest MAD stays the same.
    rank_correlation : E
        Mean of Spearman's correlation between the MAD values of a prompt's axes before the errors
        and their MAD values after the errors.
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
    """Simulated changes in the scores of a prompt at one error rate.

    Attributes
    ----------
    significant : sequence of SimulatedAxis
        Scores of the axes that have a significant MAD, before and after the errors.
    ranking : Ranking or None
        Changes in the ranking of all axes that have a MAD; None if there are fewer than two such
        axes.
    """

    significant: Sequence[SimulatedAxis]
    ranking: Ranking | None


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """Image sets whose concepts are extracted together.

    Attributes
    ----------
    answered : AnsweredSets
        The image sets with their encoded answers.
    sets_by_axis : mapping of axis to sequence of str
        Names of the counterfactual sets of each axis.
    """

    answered: AnsweredSets
    sets_by_axis: Mapping[str, Sequence[str]]


class ErrorRates(tuple[ErrorRate, ...]):
    """Changes in scores and rankings at each error rate."""

    def __rich__(self) -> RenderableType:
        """Return a sentence about the changes, and tables."""
        axes = self[0].axes
        if not axes:
            return Text(
                "No axis of this run has a significant MAD. The scores of other axes are noise, so "
                "their changes are not simulated."
            )
        of_axes = f"mean over {plural(axes, 'axis', 'axes')} with a significant MAD"
        return Group(
            Text(self.answer()),
            self._table(f"Changes in scores due to VQA errors: {of_axes}", SCORE_COLUMNS),
            self._table(
                "Changes in rankings due to VQA errors: values ranked by CAS, and axes ranked by MAD",
                RANK_COLUMNS,
            ),
        )

    def answer(self) -> str:
        """Return a sentence about the change in MAD at the error rate `ANSWERED`.

        The sentence also states how often the axis with the largest MAD remains the same.
        """
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
        """Return a table of mean changes, with a row for each error rate."""
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
    """Simulate how an audit's scores change if 5 % to 40 % of the VQA model's answers are wrong.

    askew leaves out axes without a significant MAD, because their scores are noise.

    Examples
    --------
    `askew sensitivity runs/mine`

    `askew sensitivity runs/mine --errors both`

    Parameters
    ----------
    run
        Run folder of a finished audit.
    errors
        Output that the errors affect: answers, captions or both. A wrong answer is another value of
        the same axis. A wrong caption is the caption of another image of the same prompt.
    store
        Store of the run. [default: .askew next to the run]
    repeats
        Number of simulations for each error rate.
    json
        Print the changes as JSON.

    Raises
    ------
    UsageError
        If the folder contains no finished audit, if images or answers are missing from the store,
        or if the errors should affect captions but the audit does not use captions.
    """
    result = load(run, store)
    if not isinstance(result.plan, AuditPlan):
        raise UsageError(
            f"{run} is a run of `askew {result.method.name}`. "
            "`askew sensitivity` needs a run of `askew audit`"
        )
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    if errors != "answers" and result.plan.concepts == "axis":
        raise UsageError(
            f"the concepts of {run} do not come from captions, because the audit used --concepts "
            "axis. Use --errors answers, or repeat the audit without --concepts"
        )
    sets = seen_again(result.plan, result.folder, result.store, partial(gather, result.plan))
    significant = _significant_axes(result.findings)
    return changes_by_rate(sets, result.plan, significant, repeats, errors)


def _significant_axes(findings: AuditFindings) -> set[tuple[str, str]]:
    """Return the pairs of a prompt and an axis that have a significant MAD."""
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
    """Simulate errors that are independent across images and questions.

    Parameters
    ----------
    sets
        Image sets, keyed by prompt.
    plan
        Plan of the audit.
    significant
        Pairs of a prompt and an axis that have a significant MAD.
    repeats
        Number of simulations for each error rate.
    errors
        Output that the errors affect: answers, captions or both.

    Returns
    -------
    ErrorRates
        Mean changes at each error rate.
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
    """Return the units of a prompt.

    If the plan extracts the concepts of all axes together, there is only one unit. If it extracts
    the concepts of each axis separately, there is a unit for each axis.
    """
    axes = [axis.axis() for axis in prompt.axes]
    if plan.concepts == "all":
        return [_scored_unit(sets, axes, plan)]
    return [_scored_unit([sets[0], *_sets_of_axis(sets, axis)], [axis], plan) for axis in axes]


def _scored_unit(sets: Sequence[ObservedSet], axes: Sequence[Axis], plan: AuditPlan) -> ScoredUnit:
    """Return one unit with the encoded answers and the names of each axis's counterfactual sets."""
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
    """Simulate errors in all sets of a prompt, and return the changes in each axis's scores."""
    changes: dict[str, SimulatedAxis] = {}
    for unit in units:
        changes |= axis_changes(unit.answered, unit.sets_by_axis, rate, errors, rng=rng, runs=runs)
    return changes


def _check_captions(units: Sequence[ScoredUnit], prompt: PromptPlan, errors: Errors) -> None:
    """Raise UsageError if the errors should affect captions, but no image has a caption."""
    if errors != "answers" and not any(unit.answered.possible.is_caption.any() for unit in units):
        raise UsageError(
            f"no image of {quote(prompt.text)} has a caption, so captions cannot be wrong. "
            "Use --errors answers"
        )


def _error_rate(
    errors: Errors, rate: float, simulations: Sequence[Simulation], plan: AuditPlan
) -> ErrorRate:
    """Return the mean changes at an error rate."""
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
    """Return the mean change in each axis's scores over the simulations."""
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
    """Return the mean over prompts; None if all numbers are missing.

    If only one prompt has numbers that are not missing, return the mean over its simulations.
    """
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
    """Return the mean of the numbers, without an interval if all numbers are equal."""
    mean = student_mean(numbers, level, f"t over {over}", bounds=bounds)
    return mean if np.ptp(numbers) else Estimate(mean.value, n=mean.n)
