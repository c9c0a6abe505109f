"""Count the VQA answers about a prompt's image sets. BiasConnect builds its graph from the counts.

`count_answers` counts the sets of one prompt. `pooled` combines the counts of several prompts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.measure.concepts import ConceptCounts, concept_counts, merge_synonyms
from askew.methods.interact.findings import CountRow, GraphAxis
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.stats.distance import distance_for
from askew.stats.interaction_graph import AxisPair
from askew.stats.sensitivity import AxisPairSample
from askew.types import Missing

LEAST_FREQUENCY = 0.01
"""Only concepts that occur in more than this share of all answers are counted."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Counts of the answers for one or more prompts.

    Attributes
    ----------
    axes : tuple of GraphAxis
        Axes whose answers are counted.
    initial : mapping of str to array, (prompts, m)
        For each target axis, the counts of answers about the baseline images: one row per prompt,
        one column per value.
    after : mapping of (str, str) to array, (prompts, K, m)
        For each source and target axis, the counts of answers about the target axis in the images
        of the source axis's K counterfactual sets.
    missing : mapping of str to int
        For each axis, the number of images that have no answer, summed over all sets.
    """

    axes: tuple[GraphAxis, ...]
    initial: Mapping[str, Counts]
    after: Mapping[AxisPair, Counts]
    missing: Mapping[str, int]

    def pairs(self) -> list[AxisPair]:
        """List all counted pairs of source and target, including pairs of an axis with itself."""
        names = [axis.name for axis in self.axes]
        return [(x, y) for x in names for y in names if (x, y) in self.after]

    def contingency(self, source: str, target: str) -> Counts:
        """Return counts summed over prompts, with source values as rows and answers as columns."""
        return np.asarray(self.after[source, target].sum(axis=0))

    def pair(self, source: str, target: str) -> AxisPairSample:
        """Return the counts for a pair of axes, in the form that `askew.stats.sensitivity` needs.

        If there are several prompts, only prompts that have answers in all sets are used.
        """
        axis = next(axis for axis in self.axes if axis.name == target)
        initial = self.initial[target]
        after = self.after[source, target]
        complete = (initial.sum(axis=1) > 0) & np.all(after.sum(axis=2) > 0, axis=1)
        if not complete.any():
            complete = np.ones_like(complete)
        return AxisPairSample(
            initial=initial[complete],
            counterfactual=np.concatenate(after[complete]),
            reference=axis.reference,
            distance=axis.distance,
            missing=self.missing[target],
            confusion=axis.known_errors,
            reference_images=axis.reference_images,
        )


def count_answers(
    sets: Sequence[ObservedSet],
    axes: Sequence[AxisPlan],
    instrument: str,
    known_errors: Mapping[str, Counts] | None = None,
    distance: str = "auto",
) -> GraphCounts:
    """Count the answers about the images of one prompt.

    Parameters
    ----------
    sets
        The prompt's baseline set and counterfactual sets.
    axes
        Axes to count. If an axis has open answers, its values are the concepts in these answers,
        and its reference is uniform.
    instrument
        VQA model whose answers are counted.
    known_errors
        For each axis, counts of shape (m, m): one row per true value, one column per answer of the
        instrument.
    distance
        Measure of the distance between shares and the reference. "auto" chooses it by the scale of
        the axis.

    Returns
    -------
    GraphCounts
        Counts of a single prompt, so the first dimension of all arrays has length 1.
    """
    errors = known_errors or {}
    graph_axes: list[GraphAxis] = []
    counts: dict[str, Counts] = {}
    for axis in axes:
        graph_axis, counts[axis.name] = _counted_axis(
            axis, sets, instrument, errors.get(axis.name), distance
        )
        graph_axes.append(graph_axis)
    return GraphCounts(
        axes=tuple(graph_axes),
        initial=_baseline_counts(sets, counts),
        after=_counterfactual_counts(sets, counts),
        missing={axis.name: _missing_answers(sets, axis, instrument) for axis in axes},
    )


def _baseline_counts(
    sets: Sequence[ObservedSet], counts: Mapping[str, Counts]
) -> dict[str, Counts]:
    """Return the counts of each axis in the baseline set, as arrays of shape (1, m).

    The result is empty if there is no baseline set.
    """
    places = [k for k, observed in enumerate(sets) if observed.prompt.axis is None]
    if not places:
        return {}
    return {name: table[None, places[0]] for name, table in counts.items()}


def _counterfactual_counts(
    sets: Sequence[ObservedSet], counts: Mapping[str, Counts]
) -> dict[AxisPair, Counts]:
    """Return the counts for each pair of a source and a target, as arrays of shape (1, K, m).

    Sources that have fewer than two counterfactual sets are omitted.
    """
    after: dict[AxisPair, Counts] = {}
    for source in counts:
        places = [k for k, observed in enumerate(sets) if observed.prompt.axis == source]
        if len(places) > 1:
            for target, table in counts.items():
                after[source, target] = table[None, places]
    return after


def _missing_answers(sets: Sequence[ObservedSet], axis: AxisPlan, instrument: str) -> int:
    """Count the images without an answer about an axis, summed over all sets."""
    asked = axis.axis()
    return sum(sum(observed.missing(instrument, asked).values()) for observed in sets)


def _counted_axis(
    axis: AxisPlan,
    sets: Sequence[ObservedSet],
    instrument: str,
    errors: Counts | None,
    distance: str,
) -> tuple[GraphAxis, Counts]:
    """Return an axis of the graph, and its answer counts as an array of shape (sets, m)."""
    known_errors = None
    if axis.values:
        values = axis.values
        scale = axis.scale
        asked = axis.axis()
        rows = [observed.counts(instrument, asked) for observed in sets]
        counts = np.array(rows, dtype=np.int64)
        if errors is not None and len(errors) == len(values):
            known_errors = count_rows(errors)
    else:
        values, counts = _counted_concepts(axis.name, sets, instrument)
        scale = "nominal"

    reference = _uniform(len(values))
    if axis.reference:
        reference = tuple(axis.reference[value] for value in values)
    counterfactuals = [
        str(observed.prompt.value) for observed in sets if observed.prompt.axis == axis.name
    ]
    graph_axis = GraphAxis(
        name=axis.name,
        values=values,
        counterfactuals=tuple(counterfactuals),
        scale=scale,
        open=not axis.values,
        distance=distance_for(distance, scale),
        reference=reference,
        known_errors=known_errors,
        reference_images=axis.reference_images,
    )
    return graph_axis, counts


def _counted_concepts(
    axis: str, sets: Sequence[ObservedSet], instrument: str
) -> tuple[tuple[str, ...], Counts]:
    """Return the concepts in open answers, and an array of their counts, (sets, concepts)."""
    answers = [_known_answers(observed, axis, instrument) for observed in sets]
    merged = merge_synonyms([_concepts_of(texts) for texts in answers])
    counts = np.array([(table.counts > 0).sum(axis=0) for table in merged], dtype=np.int64)

    total = max(sum(len(texts) for texts in answers), 1)
    frequent = np.flatnonzero(counts.sum(axis=0) > LEAST_FREQUENCY * total)
    concepts = tuple(merged[0].vocabulary[k] for k in frequent)
    return concepts, counts[:, frequent]


def _concepts_of(texts: Sequence[str]) -> ConceptCounts:
    return concept_counts([[text] for text in texts])


def _known_answers(observed: ObservedSet, axis: str, instrument: str) -> list[str]:
    answers = observed.values[instrument][axis]
    return [answer for answer in answers if not isinstance(answer, Missing)]


def _uniform(values: int) -> tuple[float, ...]:
    return (1 / max(values, 1),) * values


def count_rows(table: Counts) -> tuple[CountRow, ...]:
    """Convert a table to a tuple of rows, as stored in results.json."""
    return tuple(tuple(row) for row in table.tolist())


def pooled(parts: Sequence[GraphCounts]) -> GraphCounts:
    """Combine the counts of several prompts (appendix A.8).

    An axis is pooled over all prompts in which it has the same values as in the first prompt. The
    reference of a pooled axis is the mean of the prompts' references. For open answers, the values
    are the concepts that occur for at least one prompt.
    """
    axes = _pooled_axes(parts)
    initial = defaultdict[str, list[Counts]](list)
    after = defaultdict[AxisPair, list[Counts]](list)
    for part in parts:
        spread = _spread_counts(part, axes)
        for target, counts in spread.initial.items():
            initial[target].append(counts)
        for pair, counts in spread.after.items():
            after[pair].append(counts)
    return GraphCounts(
        axes=tuple(axes.values()),
        initial={name: np.concatenate(counts) for name, counts in initial.items()},
        after={pair: np.concatenate(counts) for pair, counts in after.items()},
        missing={name: _total_missing(parts, name) for name in axes},
    )


def _total_missing(parts: Sequence[GraphCounts], axis: str) -> int:
    return sum(part.missing.get(axis, 0) for part in parts)


def _spread_counts(part: GraphCounts, axes: Mapping[str, GraphAxis]) -> GraphCounts:
    """Return a prompt's counts for axes that can be pooled.

    The counts have a column for each value that occurs for at least one prompt.
    """
    fitting = {axis.name: axis for axis in part.axes if axis.fits(axes[axis.name])}
    initial = {}
    for target, counts in part.initial.items():
        if target in fitting:
            initial[target] = _spread(counts, fitting[target].values, axes[target].values)
    after = {}
    for (source, target), counts in part.after.items():
        if source in fitting and target in fitting:
            values = fitting[target].values
            after[source, target] = _spread(counts, values, axes[target].values)
    return replace(part, initial=initial, after=after)


def _pooled_axes(parts: Sequence[GraphCounts]) -> dict[str, GraphAxis]:
    """Pool each axis over the prompts in which its values match those in the first prompt."""
    fitting: dict[str, list[GraphAxis]] = {}
    for part in parts:
        for axis in part.axes:
            same = fitting.setdefault(axis.name, [])
            if not same or axis.fits(same[0]):
                same.append(axis)
    return {name: _pooled_axis(same) for name, same in fitting.items()}


def _pooled_axis(same: Sequence[GraphAxis]) -> GraphAxis:
    """Merge an axis's versions from several prompts into one axis."""
    first = same[0]
    if first.open:
        joined = {value for axis in same for value in axis.values}
        values = tuple(sorted(joined))
        reference = _uniform(len(values))
    else:
        values = first.values
        reference = tuple(np.mean([axis.reference for axis in same], axis=0).tolist())
    images = sum(axis.reference_images or 0 for axis in same)
    return replace(
        first, values=values, reference=reference, reference_images=images if images else None
    )


def _spread(counts: Counts, values: Sequence[str], joint: Sequence[str]) -> Counts:
    """Expand the last dimension of `counts` from the entries of `values` to the entries of `joint`.

    Values that are not in `values` get a count of 0.
    """
    spread = np.zeros((*counts.shape[:-1], len(joint)), dtype=np.int64)
    places = [joint.index(value) for value in values]
    spread[..., places] = counts
    return spread
