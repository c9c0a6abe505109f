"""Simulate how an interaction graph changes with fewer images or VQA errors (BiasConnect, 5.4).

askew removes images from all sets, or replaces answers with wrong answers, and then recomputes the
graph (figure 4). Intersectional Sensitivity (IS) is corrected for the number of images, because the
plug-in estimate depends on it. Known labeling errors are not corrected.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from askew.errors import NotEnoughData, UsageError
from askew.findings import E
from askew.methods.interact.counts import count_answers
from askew.methods.interact.gather import gather
from askew.methods.interact.graph import PairPoint, edges, pair_points
from askew.methods.interact.plan import InteractionPlan
from askew.options import Flag, PathOption
from askew.pages.blocks import Scale, Table
from askew.pages.terminal import FittedTable
from askew.pages.words import measured, percent, plural
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import Answer, ObservedSet
from askew.parts.survey.reader import Observed, seen_again
from askew.plan import PLAN_FILE, AxisPlan, PromptPlan
from askew.stats.interaction_graph import AxisPair
from askew.stats.intervals import Floats
from askew.stats.means import student_mean
from askew.stats.rank import rank_correlations
from askew.store.keys import derived_seed
from askew.store.store import default_store
from askew.types import Estimate, Missing, record

ERROR_RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of the answers that the simulations replace with wrong answers."""

PICTURES = (48, 40, 32, 24, 16, 8)
"""Numbers of images per set in the simulations."""

Degradation = Literal["pictures", "errors"]
Repeated = Literal["prompt", "simulation"]
Changes = Mapping[str, float]
"""Changes in a graph, keyed by the name of the measure; NaN if a change is not defined."""


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """Table column for a measure of change.

    Attributes
    ----------
    heading : str
        Heading of the column.
    scale : Scale
        Scale on which the numbers are shown.
    bounds : tuple of (float, float)
        Smallest and largest possible value of the measure.
    """

    heading: str
    scale: Scale
    bounds: tuple[float, float]


COLUMNS: Mapping[str, ChangeColumn] = {
    "edges_kept": ChangeColumn(heading="remaining edges", scale="share", bounds=(0.0, 1.0)),
    "sensitivity_change": ChangeColumn(heading="change in IS", scale="unit", bounds=(0.0, 2.0)),
    "rank_correlation": ChangeColumn(heading="rank correlation", scale="unit", bounds=(-1.0, 1.0)),
    "paper_change": ChangeColumn(heading="relative change", scale="share", bounds=(0.0, np.inf)),
}


@record
class GraphChange:
    """Mean change in the graphs if the sets have fewer images, or if some of the answers are wrong.

    Attributes
    ----------
    kind : "pictures" or "errors"
        Quantity that the simulation changes.
    size : float
        Number of images in every set, or share of wrong answers.
    edges : int
        Total number of edges in the graphs of all prompts.
    over : "prompt" or "simulation"
        Unit over which means are computed: prompts, or the simulations of a single prompt.
    edges_kept : E
        Share of a graph's edges that remain; Missing if there is no edge.
    sensitivity_change : E
        Mean absolute change in IS over all pairs of different axes, in units of IS.
    rank_correlation : E
        Spearman's correlation between IS before and after the change, over all pairs of different
        axes.
    paper_change : E
        Relative change as in the paper: sum of |change in IS| divided by sum of |IS|, over the
        pairs that have a significant IS.
    """

    kind: Degradation
    size: float
    edges: int
    over: Repeated
    edges_kept: E
    sensitivity_change: E
    rank_correlation: E
    paper_change: E


@dataclass(frozen=True, slots=True)
class OriginalGraph:
    """Graph of a prompt, computed from all of the prompt's images and answers.

    Attributes
    ----------
    prompt : PromptPlan
        The prompt.
    sets : sequence of ObservedSet
        Image sets of the prompt.
    points : mapping of AxisPair to PairPoint
        Sensitivity of each pair of different axes, and whether the pair is an edge.
    significant : set of AxisPair
        Pairs whose sensitivity is significant before correction for the number of pairs.
    """

    prompt: PromptPlan
    sets: Sequence[ObservedSet]
    points: Mapping[AxisPair, PairPoint]
    significant: Set[AxisPair]


class Robustness(tuple[GraphChange, ...]):
    """Mean changes in a run's graphs, for each simulated number of images and each error rate."""

    def __rich__(self) -> RenderableType:
        """Return a sentence that states how many edges remain, and a table of all changes."""
        names = list(filter(self._is_measured, COLUMNS))
        headings = [COLUMNS[name].heading for name in names]
        rows = tuple((_simulation(change), *_cells(change, names)) for change in self)
        note = ""
        if "paper_change" in names:
            note = (
                "Relative change is computed as in the paper, over pairs with a significant "
                "IS. “–” means that no pair has a significant IS"
            )
        table = Table(self._caption(), ("simulation", *headings), rows, note=note)
        return Group(Text(self.answer()), FittedTable(table))

    def answer(self) -> str:
        """State what share of edges remains with the fewest images or the most errors."""
        by_kind = {change.kind: change for change in self if self._has(change, "edges_kept")}
        parts = []
        for change in by_kind.values():
            assert isinstance(change.edges_kept, Estimate)
            share = percent(change.edges_kept.value)
            parts.append(f"{share} with {_simulation(change)}")
        if not parts:
            return "The graph has no edge that could be lost."
        edges = plural(self[0].edges, "edge")
        return f"On average, the following shares of {edges} remain: {' and '.join(parts)}."

    def _is_measured(self, name: str) -> bool:
        """Check whether a measure is defined in any simulation."""
        return any(self._has(change, name) for change in self)

    @staticmethod
    def _has(change: GraphChange, name: str) -> bool:
        """Check whether a measure is defined for a simulated change."""
        return isinstance(getattr(change, name), Estimate)

    def _caption(self) -> str:
        caption = "Changes in a prompt's graph due to fewer images or VQA errors: mean"
        for change in self:
            if isinstance(change.sensitivity_change, Estimate):
                caption += f" of {plural(change.sensitivity_change.n or 0, change.over)}"
                break
        return f"{caption}, with interval"


def _simulation(change: GraphChange) -> str:
    """Describe a simulation, as in "16 images per set"."""
    if change.kind == "pictures":
        return f"{change.size:g} images per set"
    return f"{percent(change.size)} wrong answers"


def _cells(change: GraphChange, names: Iterable[str]) -> Iterator[str]:
    """Yield the cells of a row, one for each measure in `names`."""
    for name in names:
        cell = measured(getattr(change, name), COLUMNS[name].scale)
        yield f"{cell} of {plural(change.edges, 'edge')}" if name == "edges_kept" else cell


def robustness(
    run: str | Path, /, *, store: PathOption = None, repeats: int = 3, json: Flag = False
) -> Robustness:
    """Simulate how the interaction graph of a run changes with fewer images or with VQA errors.

    Example: `askew robustness runs/mine`

    Parameters
    ----------
    run
        Run folder of `askew interact`.
    store
        Store of the run. [default: .askew next to the run]
    repeats
        Number of simulations for each number of images and for each error rate.
    json
        Print the numbers as JSON.

    Raises
    ------
    UsageError
        If the folder does not contain a run of `askew interact`, or if images or answers of the run
        are missing from the store.
    NotEnoughData
        If no prompt has a graph.
    """
    plan = InteractionPlan.read(Path(run) / PLAN_FILE, follow=False)
    place = Path(store) if store else default_store(Path(run))
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; it must be 1 or more")
    without_mitigation = plan.model_copy(update={"mitigated": {}})
    sets = seen_again(plan, Path(run), place, partial(gather, without_mitigation))
    return simulated(sets, plan, Scoring.of(plan), repeats)


def simulated(
    sets: Observed, plan: InteractionPlan, scoring: Scoring, repeats: int = 3
) -> Robustness:
    """Simulate how graphs change if there are fewer images or if answers are wrong.

    askew averages the changes over the simulations of each prompt, and then over prompts. The
    intervals use Student's t over prompts. If there is only one prompt, the mean and the interval
    are computed over its simulations.

    Parameters
    ----------
    sets
        Image sets, keyed by prompt.
    plan
        Plan of the run.
    scoring
        Instrument, seed, number of draws and confidence level.
    repeats
        Number of simulations for each number of images and for each error rate.

    Returns
    -------
    Robustness
        Mean change for each number of images and for each error rate.

    Raises
    ------
    NotEnoughData
        If no prompt has a graph.
    """
    originals = []
    for prompt in plan.prompts:
        of_prompt = sets[prompt.text]
        if count_answers(of_prompt, prompt.axes, scoring.instrument).pairs():
            originals.append(_original_graph(prompt, of_prompt, plan, scoring))
    if not originals:
        raise NotEnoughData("no prompt of the run has counterfactual sets, so it has no graph")
    changes = [
        _mean_change(kind, size, originals, plan, scoring, repeats)
        for kind, size in _degradations(originals)
    ]
    return Robustness(changes)


def _degradations(originals: Sequence[OriginalGraph]) -> Iterator[tuple[Degradation, float]]:
    """Yield the image counts that are below the size of the largest set, then the error rates."""
    sizes = [len(observed.pictures) for original in originals for observed in original.sets]
    for images in PICTURES:
        if images < max(sizes):
            yield "pictures", images
    for rate in ERROR_RATES:
        yield "errors", rate


def _mean_change(
    kind: Degradation,
    size: float,
    originals: Sequence[OriginalGraph],
    plan: InteractionPlan,
    scoring: Scoring,
    repeats: int,
) -> GraphChange:
    """Simulate the graphs of all prompts, and return their mean change."""
    over: Repeated = "simulation" if len(originals) == 1 else "prompt"
    values: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for original in originals:
        simulations = _simulations(kind, size, original, plan, scoring, repeats)
        for name in COLUMNS:
            values[name] += _known_values(simulations, name, averaged=over == "prompt")
    means = {name: _mean(values[name], name, scoring.level, over) for name in COLUMNS}
    edge_count = sum(point.is_edge for original in originals for point in original.points.values())
    return GraphChange(kind=kind, size=size, edges=edge_count, over=over, **means)


def _original_graph(
    prompt: PromptPlan, sets: Sequence[ObservedSet], plan: InteractionPlan, scoring: Scoring
) -> OriginalGraph:
    """Compute the graph of a prompt, and find its significant sensitivities."""
    counts = count_answers(sets, prompt.axes, scoring.instrument, distance=plan.distance)
    rng = scoring.rng(prompt.text, "robustness")
    measured = edges({prompt.text: counts}, plan, scoring, rng)[prompt.text]
    significant = set()
    for edge in measured:
        estimate = edge.sensitivity
        if isinstance(estimate, Estimate) and (estimate.p or 0) < 1 - scoring.level:
            significant.add((edge.source, edge.target))
    return OriginalGraph(
        prompt=prompt,
        sets=sets,
        points=pair_points(counts, plan, prompt.text, scoring),
        significant=significant,
    )


def _points(
    prompt: PromptPlan, sets: Sequence[ObservedSet], plan: InteractionPlan, scoring: Scoring
) -> Mapping[AxisPair, PairPoint]:
    """Return each axis pair's sensitivity in a prompt's graph, and whether the pair is an edge."""
    counts = count_answers(sets, prompt.axes, scoring.instrument, distance=plan.distance)
    return pair_points(counts, plan, prompt.text, scoring)


def _simulations(
    kind: Degradation,
    size: float,
    original: OriginalGraph,
    plan: InteractionPlan,
    scoring: Scoring,
    repeats: int,
) -> list[Changes]:
    """Return the changes in a prompt's graph for each of several simulations."""
    prompt = original.prompt
    simulations = []
    for k in range(repeats):
        rng = np.random.default_rng(derived_seed(plan.seed, prompt.text, f"{kind} {size} {k}"))
        degraded = []
        for observed in original.sets:
            if kind == "pictures":
                degraded.append(_with_fewer_images(observed, int(size), rng))
            else:
                degraded.append(_with_errors(observed, prompt.axes, scoring.instrument, size, rng))
        after = _points(prompt, degraded, plan, scoring)
        simulations.append(_changes(original, after))
    return simulations


def _known_values(simulations: Sequence[Changes], name: str, averaged: bool) -> list[float]:
    """Return a measure's known values in a prompt's simulations; if `averaged`, only their mean."""
    known = [changes[name] for changes in simulations if np.isfinite(changes[name])]
    if known and averaged:
        return [float(np.mean(known))]
    return known


def _mean(values: Sequence[float], name: str, level: float, over: Repeated) -> E:
    """Return the mean of the values, without an interval if all values are equal."""
    if not values:
        return Missing("not_asked", "no prompt has an edge or a significant sensitivity")
    interval = f"Student's t over {over}s"
    mean = student_mean(values, level, interval, bounds=COLUMNS[name].bounds)
    return mean if np.ptp(values) else Estimate(mean.value, n=mean.n)


def _changes(original: OriginalGraph, after: Mapping[AxisPair, PairPoint]) -> Changes:
    """Return the changes in a graph, keyed by measure; NaN if a change is not defined."""
    remaining = [after[pair].is_edge for pair, point in original.points.items() if point.is_edge]
    x = np.array([point.sensitivity for point in original.points.values()])
    y = np.array([after[pair].sensitivity for pair in original.points])
    known = np.isfinite(x) & np.isfinite(y)
    significant = np.array([pair in original.significant for pair in original.points])[known]
    x = x[known]
    y = y[known]
    differences = np.abs(y - x)
    relative = np.nan
    if significant.any():
        relative = float(differences[significant].sum() / np.abs(x[significant]).sum())
    return {
        "edges_kept": float(np.mean(remaining)) if remaining else np.nan,
        "sensitivity_change": float(differences.mean()) if len(x) else np.nan,
        "rank_correlation": float(rank_correlations(x, y)),
        "paper_change": relative,
    }


def _with_fewer_images(observed: ObservedSet, images: int, rng: np.random.Generator) -> ObservedSet:
    """Return a copy of the image set with this number of images, chosen at random."""
    order = rng.permutation(len(observed.pictures))
    return observed.picked(sorted(order[:images].tolist()))


def _with_errors(
    observed: ObservedSet,
    axes: Sequence[AxisPlan],
    instrument: str,
    rate: float,
    rng: np.random.Generator,
) -> ObservedSet:
    """Return a copy of the image set in which random answers are replaced with other values."""
    answers = observed.values[instrument]
    draws = rng.random((2, len(axes), len(observed.pictures)))
    replaced = {}
    for axis, is_wrong, choices in zip(axes, draws[0] < rate, draws[1], strict=True):
        places = np.flatnonzero(is_wrong).tolist()
        replaced[axis.name] = _with_wrong(answers[axis.name], axis.values, places, choices)
    return replace(observed, values={**observed.values, instrument: replaced})


def _with_wrong(
    answers: Sequence[Answer], values: Sequence[str], places: Sequence[int], choices: Floats
) -> tuple[Answer, ...]:
    """Replace the answers at the given positions with other values of the same axis.

    Missing answers stay missing.

    For each answer, `choices` contains a number in [0, 1) that selects one of the other values.
    """
    wrong = list(answers)
    if len(values) < 2:
        return tuple(wrong)
    for place in places:
        answer = wrong[place]
        if not isinstance(answer, Missing):
            step = 1 + int(choices[place] * (len(values) - 1))
            wrong[place] = values[(values.index(answer) + step) % len(values)]
    return tuple(wrong)
