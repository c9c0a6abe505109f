"""Answers of picture sets, counted for BiasConnect: per pair of axes a contingency table (section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from askew.measure.concepts import concept_counts, merge_synonyms
from askew.methods.interact.findings import Counts as Recorded
from askew.methods.interact.findings import Graph, GraphAxis, Row
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.types import Missing, Scale

LEAST_FREQUENCY = 0.01
"""Concepts of open answers that are rarer than this, over all picture sets, are left out."""

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
KnownErrors = Mapping[str, Counts]
NO_ERRORS: KnownErrors = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CountedAxis:
    """An axis as a target, with the values that are seen on it, and as a source, with its counterfactual prompts.

    ideal         (m,) shares that the values should have
    open          whether the values are concepts of open answers
    known_errors  (m, m) the instrument's answers (columns) on pictures whose truth is known (rows), or None
    """

    name: str
    values: tuple[str, ...]
    counterfactuals: tuple[str, ...]
    scale: Scale
    ideal: Floats
    open: bool = False
    known_errors: Counts | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts of one prompt, or of several.

    initial  by target: (prompts, m) counts of the initial pictures' answers
    after    by source and target: (prompts, K, m) counts of the answers in each counterfactual set of the source
    missing  by target: pictures of all sets without an answer
    """

    axes: tuple[CountedAxis, ...]
    initial: Mapping[str, Counts]
    after: Mapping[tuple[str, str], Counts]
    missing: Mapping[str, int]

    @property
    def sources(self) -> list[CountedAxis]:
        """Axes that were intervened on."""
        return [axis for axis in self.axes if len(axis.counterfactuals) > 1]

    def pairs(self) -> list[tuple[CountedAxis, CountedAxis]]:
        """Every pair of an intervened axis and a target; an axis on itself too."""
        return [(x, y) for x in self.sources for y in self.axes if (x.name, y.name) in self.after]

    def contingency(self, source: str, target: str) -> Counts:
        """(K, m): a row per value of the source, a column per value of the target, over all prompts."""
        return np.asarray(self.after[source, target].sum(axis=0))


def tables(
    sets: Sequence[ObservedSet], axes: Sequence[AxisPlan], instrument: str, known_errors: KnownErrors = NO_ERRORS
) -> Tables:
    """The tables of one prompt; `sets` are its initial set and its counterfactual ones.

    The values of an axis with open answers are the concepts in them, its ideal is uniform over those. `known_errors`
    are the instrument's, by axis.
    """
    counted = [_count(axis, sets, instrument, known_errors.get(axis.name)) for axis in axes]
    rows = {axis.name: [k for k, s in enumerate(sets) if s.prompt.axis == axis.name] for axis in axes}
    first = next((k for k, s in enumerate(sets) if s.prompt.axis is None), None)
    return Tables(
        tuple(axis for axis, _ in counted),
        {} if first is None else {y.name: counts[None, first] for y, counts in counted},
        {(x, y.name): counts[None, own] for x, own in rows.items() for y, counts in counted if len(own) > 1},
        {axis.name: sum(sum(s.missing(instrument, axis.axis()).values()) for s in sets) for axis in axes},
    )


def pooled(parts: Sequence[Tables]) -> Tables:
    """The tables of several prompts together (appendix A.8), their ideals averaged.

    An axis counts where it was asked with the same values as at the first prompt that has it; concepts of open
    answers are joined.
    """
    axes = _shared_axes(parts)
    names = {axis.name: axis for axis in axes}
    initial: dict[str, list[Counts]] = {}
    after: dict[tuple[str, str], list[Counts]] = {}
    for part in parts:
        own = {axis.name: axis for axis in part.axes if _fits(axis, names[axis.name])}
        for name, counts in part.initial.items():
            if name in own:
                initial.setdefault(name, []).append(_spread(counts, own[name], names[name]))
        for (x, y), table in part.after.items():
            if x in own and y in own:
                after.setdefault((x, y), []).append(_spread(table, own[y], names[y]))
    return Tables(
        axes,
        {name: np.concatenate(some) for name, some in initial.items()},
        {pair: np.concatenate(some) for pair, some in after.items()},
        {name: sum(part.missing.get(name, 0) for part in parts) for name in names},
    )


def recorded_tables(graph: Graph) -> Tables:
    """The tables of one prompt, from its graph."""
    counts = graph.counts
    return Tables(
        tuple(_recorded_axis(axis) for axis in graph.axes),
        {target: _one_prompt(row) for target, row in counts.initial.items()},
        {(x, y): _one_prompt(table) for x, by_target in counts.after.items() for y, table in by_target.items()},
        counts.missing,
    )


def as_recorded(tables: Tables) -> Recorded:
    """The tables over all prompts, as they stand in findings."""
    after: dict[str, dict[str, tuple[Row, ...]]] = {}
    for source, target in tables.after:
        after.setdefault(source, {})[target] = rows(tables.contingency(source, target))
    initial = {target: tuple(counts.sum(axis=0).tolist()) for target, counts in tables.initial.items()}
    return Recorded(initial, after, dict(tables.missing))


def rows(table: Counts) -> tuple[Row, ...]:
    """A table (K, m) as tuples."""
    return tuple(tuple(row) for row in table.tolist())


def _recorded_axis(axis: GraphAxis) -> CountedAxis:
    known = None if axis.known_errors is None else np.array(axis.known_errors, dtype=np.int64)
    ideal = np.array(axis.ideal, dtype=float)
    return CountedAxis(axis.name, axis.values, axis.counterfactuals, axis.scale, ideal, axis.open, known)


def _one_prompt(counts: Row | tuple[Row, ...]) -> Counts:
    return np.array(counts, dtype=np.int64)[None]


def _count(
    axis: AxisPlan, sets: Sequence[ObservedSet], instrument: str, errors: Counts | None
) -> tuple[CountedAxis, Counts]:
    """An axis and its counts (sets, m)."""
    options = tuple(str(s.prompt.value) for s in sets if s.prompt.axis == axis.name)
    if axis.values:
        counts = np.array([s.counts(instrument, axis.axis()) for s in sets], dtype=np.int64)
        shares = axis.ideal or dict.fromkeys(axis.values, 1 / len(axis.values))
        ideal = np.array([shares[value] for value in axis.values])
        known = errors if errors is not None and len(errors) == len(axis.values) else None
        return CountedAxis(axis.name, axis.values, options, axis.scale, ideal, known_errors=known), counts
    values, counts = _concepts([_answers(s, axis.name, instrument) for s in sets])
    ideal = np.full(len(values), 1 / max(len(values), 1))
    return CountedAxis(axis.name, values, options, "nominal", ideal, open=True), counts


def _answers(observed: ObservedSet, axis: str, instrument: str) -> list[str]:
    return [answer for answer in observed.values[instrument][axis] if not isinstance(answer, Missing)]


def _concepts(answers: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], Counts]:
    """Concepts that are not rare, and in how many pictures of each set (sets, concepts) they are named."""
    merged = merge_synonyms([concept_counts([[text] for text in some]) for some in answers])
    counts = np.array([(each.counts > 0).sum(axis=0) for each in merged], dtype=np.int64)
    kept = np.flatnonzero(counts.sum(axis=0) > LEAST_FREQUENCY * max(sum(map(len, answers)), 1))
    return tuple(merged[0].vocabulary[k] for k in kept), counts[:, kept]


def _shared_axes(parts: Sequence[Tables]) -> tuple[CountedAxis, ...]:
    found: dict[str, list[CountedAxis]] = {}
    for part in parts:
        for axis in part.axes:
            if axis.name not in found or _fits(axis, found[axis.name][0]):
                found.setdefault(axis.name, []).append(axis)
    return tuple(_joined(same) for same in found.values())


def _joined(same: Sequence[CountedAxis]) -> CountedAxis:
    first = same[0]
    if not first.open:
        ideal = np.mean([axis.ideal for axis in same], axis=0)
        return replace(first, ideal=ideal)
    values = tuple(sorted({value for axis in same for value in axis.values}))
    uniform = np.full(len(values), 1 / max(len(values), 1))
    return CountedAxis(first.name, values, first.counterfactuals, first.scale, uniform, open=True)


def _fits(axis: CountedAxis, other: CountedAxis) -> bool:
    same_values = (axis.open and other.open) or axis.values == other.values
    return same_values and axis.counterfactuals == other.counterfactuals


def _spread(counts: Counts, own: CountedAxis, joint: CountedAxis) -> Counts:
    """Counts (..., m) over an axis's own values as counts over the values of all prompts."""
    if own.values == joint.values:
        return counts
    spread = np.zeros((*counts.shape[:-1], len(joint.values)), dtype=np.int64)
    spread[..., [joint.values.index(value) for value in own.values]] = counts
    return spread
