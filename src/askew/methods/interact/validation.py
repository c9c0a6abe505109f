"""Validate estimated effects with images in which an axis is actually mitigated.

Estimates are computed from counterfactual prompts, and measurements from images of a mitigated
model or run (BiasConnect, Eq. 5-8, Table 1, appendices A.5 and A.7). Where possible, measurements
use separate baseline images. In the paper, estimates and measurements share the baseline images,
and the noise of these images makes estimates and measurements correlate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import UsageError
from askew.methods.interact.counts import Counts, GraphCounts
from askew.methods.interact.findings import (
    Graph,
    ValidatedEdge,
    ValidatedPrompt,
    Validation,
)
from askew.parts.scoring import Scoring
from askew.parts.survey.shares import SetShares
from askew.plan import PromptPlan
from askew.stats.distance import normalised
from askew.stats.interaction_graph import (
    AxisPair,
    correlation,
    mean_correlation,
    negative_share,
    pearson,
)
from askew.stats.intervals import Floats, p_value
from askew.stats.sensitivity import AxisPairSample, debiased_value, interactions
from askew.types import Estimate, Missing

UNMITIGATED = "unmitigated"
"""Key of the separate baseline images, which are not used for estimates."""

MitigatedCounts = Mapping[str, GraphCounts]
"""Counts of answers, keyed by the axis mitigated in the images or by `UNMITIGATED`."""

SIMULATIONS = 100

SHARED_BASELINE = Missing(
    "not_asked",
    "estimates and measurements share the baseline images, so they correlate even without an effect",
)
TOO_FEW_PAIRS = Missing(
    "not_asked", "a correlation needs at least three pairs whose values are not all equal"
)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """An edge, the data for its estimate, and the data for its measurement.

    Attributes
    ----------
    baseline : tuple of (str, str)
        Prompt and target axis. Edges with the same prompt and target share their baseline images.
    estimated, measured : AxisPairSample
        Sample with counterfactual images (`estimated`), and sample with mitigated images
        (`measured`).
    """

    baseline: tuple[str, str]
    estimated: AxisPairSample
    measured: AxisPairSample


@dataclass(frozen=True, slots=True)
class PromptComparison:
    """Estimated and measured effects for one prompt.

    Attributes
    ----------
    prompt : str
        The prompt.
    estimated : mapping of AxisPair to E
        Estimated IS of each edge.
    measured : mapping of AxisPair to E
        Measured IS of all pairs of different axes.
    pairs : tuple of ComparedPair
        Samples of the edges. The two samples of an edge share the baseline images, as in the paper.
    separate_baseline : bool
        True if the measurements use separate baseline images.
    """

    prompt: str
    estimated: Mapping[AxisPair, Estimate | Missing]
    measured: Mapping[AxisPair, Estimate | Missing]
    pairs: tuple[ComparedPair, ...]
    separate_baseline: bool


def counts_of_run(
    name: str, entries: Iterable[SetShares], prompt: PromptPlan, instrument: str
) -> GraphCounts | None:
    """Return the counts of answers about the baseline images of another run.

    Parameters
    ----------
    name
        Folder of the run.
    entries
        Shares of the run.
    prompt
        Prompt, with the axes whose answers are counted.
    instrument
        VQA model whose labels are counted.

    Returns
    -------
    GraphCounts or None
        The counts; None if the run has no images of this prompt.

    Raises
    ------
    UsageError
        If another instrument labeled the images, or if an axis has different values in that run.
    """
    by_axis = _baseline_entries(name, entries, prompt.text, instrument)
    counts = {}
    missing = {}
    for axis in prompt.axes:
        if axis.name in by_axis:
            entry = by_axis[axis.name]
            _check_values(name, entry, axis.values)
            counts[axis.name] = np.array([[entry.counts[value] for value in axis.values]])
            missing[axis.name] = sum(entry.missing.values())
    if not counts:
        return None
    return GraphCounts(axes=(), initial=counts, after={}, missing=missing)


def _baseline_entries(
    name: str, entries: Iterable[SetShares], prompt: str, instrument: str
) -> dict[str, SetShares]:
    """Return a prompt's baseline shares, keyed by axis.

    Raise UsageError if another instrument labeled the images.
    """
    baseline = [entry for entry in entries if (entry.prompt, entry.set) == (prompt, "initial")]
    by_axis = {entry.axis: entry for entry in baseline if entry.instrument == instrument}
    if baseline and not by_axis:
        others = ", ".join(sorted({entry.instrument for entry in baseline}))
        raise UsageError(
            f"the images of the run {name} were labeled by {others}. A comparison needs labels "
            f"from {instrument}. Repeat that run with --vqa {instrument}"
        )
    return by_axis


def _check_values(name: str, entry: SetShares, values: Sequence[str]) -> None:
    """Raise UsageError if an axis has different values in another run than in this run."""
    if set(entry.counts) != set(values):
        raise UsageError(
            f"{entry.axis} has the values {', '.join(entry.counts)} in {name}, but "
            f"{', '.join(values)} in this run. A comparison needs the same values"
        )


def validation(
    counted: Mapping[str, GraphCounts],
    graphs: Sequence[Graph],
    mitigated: Mapping[str, MitigatedCounts],
    scoring: Scoring,
) -> Validation:
    """Compare estimated with measured effects over the edges of each prompt and over all edges.

    The share of pairs that the mitigation made worse is computed over all pairs of different axes,
    including pairs that are not edges.

    Parameters
    ----------
    counted
        Counts from which estimates are computed, keyed by prompt.
    graphs
        Graphs of the run.
    mitigated
        Counts for mitigated images, keyed by prompt.
    scoring
        Instrument, seed, number of draws and confidence level.

    Returns
    -------
    Validation
        The comparison.
    """
    axes = list(dict.fromkeys(axis.name for counts in counted.values() for axis in counts.axes))
    graph_of = {graph.prompt: graph for graph in graphs}
    compared = [
        _compare_prompt(prompt, counted[prompt], graph_of[prompt], sets, scoring)
        for prompt, sets in mitigated.items()
    ]
    prompts = tuple(
        ValidatedPrompt(
            prompt=comparison.prompt,
            edges=_validated_edges(comparison),
            correlation=_correlation([comparison], axes, comparison.prompt, scoring),
        )
        for comparison in compared
    )
    pairs = [pair for comparison in compared for pair in comparison.pairs]
    return Validation(
        prompts=prompts,
        mean_correlation=mean_correlation(
            [prompt.correlation for prompt in prompts], level=scoring.level
        ),
        overall_correlation=_correlation(compared, axes, "all prompts", scoring),
        paper_correlation=paper_correlation(pairs, scoring.rng(scoring.instrument, "nothing done")),
        made_worse=negative_share(_known_measurements(compared)),
    )


def _known_measurements(compared: Iterable[PromptComparison]) -> list[Estimate]:
    measured = [effect for comparison in compared for effect in comparison.measured.values()]
    return [effect for effect in measured if isinstance(effect, Estimate)]


def _compare_prompt(
    prompt: str, counts: GraphCounts, graph: Graph, sets: MitigatedCounts, scoring: Scoring
) -> PromptComparison:
    """Measure a prompt's effects for all pairs of axes with a mitigated source axis."""
    samples = {
        (source, target): counts.pair(source, target)
        for source, target in counts.pairs()
        if source != target and source in sets and target in sets[source].initial
    }
    separate = [
        _with_separate_baseline(_mitigated_sample(sample, pair, sets), pair, sets)
        for pair, sample in samples.items()
    ]
    rng = scoring.rng(prompt, scoring.instrument, "mitigated")
    effects = interactions(separate, rng=rng, **scoring.interval_options)
    estimated = {
        (edge.source, edge.target): edge.sensitivity
        for edge in graph.drawn
        if (edge.source, edge.target) in samples
    }
    pairs = [
        ComparedPair(
            baseline=(prompt, pair[1]),
            estimated=samples[pair],
            measured=_mitigated_sample(samples[pair], pair, sets),
        )
        for pair in estimated
    ]
    return PromptComparison(
        prompt=prompt,
        estimated=estimated,
        measured=dict(zip(samples, effects, strict=True)),
        pairs=tuple(pairs),
        separate_baseline=UNMITIGATED in sets,
    )


def _mitigated_sample(
    sample: AxisPairSample, pair: AxisPair, sets: MitigatedCounts
) -> AxisPairSample:
    """Replace the counterfactual images in a sample with mitigated images (Eq. 8)."""
    source, target = pair
    counts = sets[source]
    return replace(sample, counterfactual=counts.initial[target], missing=counts.missing[target])


def _with_separate_baseline(
    sample: AxisPairSample, pair: AxisPair, sets: MitigatedCounts
) -> AxisPairSample:
    """Use the separate baseline images if at least one of them has an answer about the target."""
    further = sets.get(UNMITIGATED)
    target = pair[1]
    if further is None or target not in further.initial:
        return sample
    return replace(sample, initial=further.initial[target])


def _validated_edges(comparison: PromptComparison) -> tuple[ValidatedEdge, ...]:
    edges = []
    for (source, target), estimated in comparison.estimated.items():
        measured = comparison.measured[source, target]
        edges.append(
            ValidatedEdge(source=source, target=target, estimated=estimated, measured=measured)
        )
    return tuple(edges)


def _correlation(
    compared: Sequence[PromptComparison], axes: Sequence[str], name: str, scoring: Scoring
) -> Estimate | Missing:
    """Correlate estimated with measured effects over the edges of the given prompts."""
    if not all(comparison.separate_baseline for comparison in compared):
        return SHARED_BASELINE
    return correlation(
        np.array([_grid(comparison.estimated, axes) for comparison in compared]),
        np.array([_grid(comparison.measured, axes) for comparison in compared]),
        rng=scoring.rng(name, scoring.instrument, "validation"),
        **scoring.interval_options,
    )


def _grid(effects: Mapping[AxisPair, Estimate | Missing], axes: Sequence[str]) -> Floats:
    """Return the values of effects as an array of shape (sources, targets).

    An element is NaN if its effect is unknown.
    """
    grid = np.full((len(axes), len(axes)), np.nan)
    for (source, target), effect in effects.items():
        if isinstance(effect, Estimate):
            grid[axes.index(source), axes.index(target)] = effect.value
    return grid


def paper_correlation(
    pairs: Sequence[ComparedPair], rng: np.random.Generator
) -> Estimate | Missing:
    """Correlate effects as in the paper, where both samples use the same baseline images (Eq. 7-8).

    The shared noise increases Pearson's r. A mitigation without effect is simulated: `null` is the
    mean of the simulated correlations, and `p` is the share of them that are at least as large as
    the observed correlation.

    Parameters
    ----------
    pairs
        Edges with both samples.
    rng
        Random generator for the simulations.

    Returns
    -------
    Estimate or Missing
        Pearson's r, in [-1, 1].
    """
    r = _pearson_of(pairs)
    if not np.isfinite(r):
        return TOO_FEW_PAIRS
    shares = _joint_shares(pairs)
    simulated = np.array([_pearson_of(_unchanged(pairs, shares, rng)) for _ in range(SIMULATIONS)])
    null = simulated[np.isfinite(simulated)]
    if not len(null):
        return Estimate(r)
    return Estimate(r, n=len(pairs), null=float(null.mean()), max=1.0, p=p_value(r, null))


def _pearson_of(pairs: Sequence[ComparedPair]) -> float:
    """Return Pearson's r between the estimated and the measured effects."""
    return pearson(
        _values(pair.estimated for pair in pairs), _values(pair.measured for pair in pairs)
    )


def _values(samples: Iterable[AxisPairSample]) -> Floats:
    values = [debiased_value(sample) for sample in samples]
    return np.array([np.nan if isinstance(value, Missing) else value for value in values])


def _joint_shares(pairs: Sequence[ComparedPair]) -> dict[tuple[str, str], Floats]:
    """Return the shares of each target axis, pooled over all of its image sets."""
    sums: dict[tuple[str, str], Floats] = {}
    for pair in pairs:
        sets = np.vstack(
            [
                pair.estimated.initial,
                pair.estimated.counterfactual,
                pair.measured.counterfactual,
            ]
        )
        sums[pair.baseline] = sums.get(pair.baseline, 0) + normalised(sets.sum(axis=0))
    return {baseline: normalised(total) for baseline, total in sums.items()}


def _unchanged(
    pairs: Sequence[ComparedPair],
    shares: Mapping[tuple[str, str], Floats],
    rng: np.random.Generator,
) -> list[ComparedPair]:
    """Simulate pairs, assuming that neither prompts nor the mitigation change the shares."""
    initial: dict[tuple[str, str], Counts] = {}
    simulated = []
    for pair in pairs:
        of_target = shares[pair.baseline]
        drawn = _drawn(pair.estimated.initial, of_target, rng)
        same = initial.setdefault(pair.baseline, drawn)
        estimated = _drawn(pair.estimated.counterfactual, of_target, rng)
        measured = _drawn(pair.measured.counterfactual, of_target, rng)
        simulated.append(
            ComparedPair(
                baseline=pair.baseline,
                estimated=replace(pair.estimated, initial=same, counterfactual=estimated),
                measured=replace(pair.measured, initial=same, counterfactual=measured),
            )
        )
    return simulated


def _drawn(sets: ArrayLike, shares: Floats, rng: np.random.Generator) -> Counts:
    """Draw the same number of answers for each set as were observed."""
    return rng.multinomial(np.atleast_2d(sets).sum(axis=-1), shares)
