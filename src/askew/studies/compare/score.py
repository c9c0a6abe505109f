"""Differences of all scores between all pairs of runs.

Image k of a prompt has the same seed in all runs, so images are compared in pairs. Images of a
collection have no seeds: their sets are compared as independent samples.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.audit.tibet import Concepts, concepts_of_axis, extract_concepts
from askew.models.manifest import INITIAL
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import captioner_of
from askew.parts.survey.observed import Answer, ObservedSet, why_missing
from askew.parts.survey.shares import DISTANCE, reference_of
from askew.plan import AxisPlan, PromptPlan
from askew.stats.association_differences import association_differences
from askew.stats.differences import distance_difference, share_difference
from askew.stats.intervals import holm_then_bh
from askew.stats.paired_sets import PairedSets
from askew.studies.compare.findings import ScoreDifference
from askew.types import Axis, Estimate, Missing, Picture

E = Estimate | Missing
SetPair = tuple[ObservedSet, ObservedSet]
"""A set of the second run, and the same set of the first run."""

ConceptPair = tuple[Concepts, Concepts]
"""Concepts of the two sets of a `SetPair`."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with its labeled images.

    Attributes
    ----------
    name
        Name of the run.
    identity
        Digest of its content. It fixes the order of computation, so that the order of the runs
        affects only the signs of differences.
    sets
        Image sets by prompt.
    """

    name: str
    identity: str
    sets: Mapping[str, Sequence[ObservedSet]]


def score(
    runs: Sequence[ComparedRun],
    prompts: Sequence[PromptPlan],
    instruments: Sequence[str],
    scoring: Scoring,
    separate_concepts: bool = False,
) -> tuple[ScoreDifference, ...]:
    """Compute the differences of all scores between all pairs of runs.

    Parameters
    ----------
    runs
        Runs in the order of comparison. The earlier run of a pair is subtracted.
    prompts
        Prompts that all runs share, with axes that all runs measure in the same way.
    instruments
        Names of the instruments. The first one that describes images gives the concepts.
    scoring
        Settings of the scores.
    separate_concepts
        If True, the concepts of an axis come only from the answers about this axis.

    Returns
    -------
    tuple of ScoreDifference
        Differences with q-values, see `with_q_values`.
    """
    captioner = captioner_of(instruments)
    entries: list[ScoreDifference] = []
    for (a, b), prompt in product(combinations(runs, 2), prompts):
        swapped = b.identity < a.identity
        first, second = (b, a) if swapped else (a, b)
        pair = _PromptPair.of(first, second, prompt, scoring)
        differences: list[ScoreDifference] = []
        if captioner is not None:
            differences += pair.concept_scores(captioner, separate_concepts)
        for name in instruments:
            differences += pair.shares(name)
        entries += [entry.swapped() for entry in differences] if swapped else differences
    return with_q_values(entries)


def with_q_values(entries: Sequence[ScoreDifference]) -> tuple[ScoreDifference, ...]:
    """Return the differences with q-values, corrected by family and instrument.

    One test decides whether two runs differ on an axis of a set, and these tests are one family.
    The test is that of the shares, joined by Holm over the values. A binary axis has only one test
    of shares. Where an axis has no shares, the test is that of MAD (`holm_then_bh`). Each other
    score describes the same images and is a separate family. Shares of counterfactual sets are a
    separate family, too, since they show what the prompts state.
    """
    q_values: dict[int, float] = {}
    for tests in _families(entries):
        q_values |= _q_values(tests)
    adjusted = []
    for place, entry in enumerate(entries):
        if place in q_values and isinstance(entry.difference, Estimate):
            difference = replace(entry.difference, q=q_values[place])
            adjusted.append(replace(entry, difference=difference))
        else:
            adjusted.append(entry)
    return tuple(adjusted)


def _families(entries: Sequence[ScoreDifference]) -> Iterable[list[dict[int, float]]]:
    """Return the families of tests. A test is its p-values by the places of the entries."""
    with_shares = {_axis_of(entry) for entry in entries if entry.score == "share"}
    families: dict[Hashable, dict[Hashable, dict[int, float]]] = {}
    for place, entry in enumerate(entries):
        if isinstance(entry.difference, Missing) or entry.difference.p is None:
            continue
        test: Hashable = place
        score_name = entry.score
        if entry.score == "share":
            test = (_axis_of(entry), entry.set)
        elif entry.score == "mad" and _axis_of(entry) not in with_shares:
            score_name = "share"
        family = families.setdefault((score_name, entry.instrument, entry.of_prompt), {})
        family.setdefault(test, {})[place] = entry.difference.p
    return [list(tests.values()) for tests in families.values()]


def _axis_of(entry: ScoreDifference) -> Hashable:
    return entry.runs, entry.prompt, entry.axis


def _q_values(tests: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the q-values of a family by place. Both shares of a binary axis have the same test."""
    p_values = []
    for test in tests:
        members = list(test.values())
        p_values.append(members[:1] if len(test) == 2 else members)
    q_values: dict[int, float] = {}
    for test, (_, _, corrected) in zip(tests, holm_then_bh(p_values), strict=True):
        of_entries = corrected * 2 if len(test) == 2 else corrected
        q_values |= zip(test, of_entries, strict=True)
    return q_values


@dataclass(frozen=True, slots=True)
class _PromptPair:
    """The image sets of a prompt that two runs share. Differences are second minus first run."""

    names: tuple[str, str]
    prompt: PromptPlan
    scoring: Scoring
    sets: Mapping[str, SetPair]

    @classmethod
    def of(
        cls, first: ComparedRun, second: ComparedRun, prompt: PromptPlan, scoring: Scoring
    ) -> "_PromptPair":
        of_first = {observed.name: observed for observed in first.sets[prompt.text]}
        sets = {
            observed.name: (observed, of_first[observed.name])
            for observed in second.sets[prompt.text]
            if observed.name in of_first
        }
        return cls(names=(first.name, second.name), prompt=prompt, scoring=scoring, sets=sets)

    def concept_scores(self, instrument: str, separate_concepts: bool) -> list[ScoreDifference]:
        """Return the differences of MAD and CAS on each axis with counterfactuals in both runs."""
        axes = {axis.axis(): self._counterfactual_values(axis.name) for axis in self.prompt.axes}
        if INITIAL not in self.sets or not any(axes.values()):
            return []
        scoring = replace(self.scoring, instrument=instrument)
        sets = [pair[side] for side in (0, 1) for pair in self.sets.values()]
        shared = [] if separate_concepts else extract_concepts(sets, list(axes), scoring)
        entries: list[ScoreDifference] = []
        for axis, values in axes.items():
            if values:
                concepts = shared if shared else concepts_of_axis(sets, axis, scoring)
                entries += self._association_entries(axis, values, concepts, scoring)
        return entries

    def _counterfactual_values(self, axis: str) -> list[str]:
        prompts = [observed.prompt for observed, _ in self.sets.values()]
        return [str(prompt.value) for prompt in prompts if prompt.axis == axis]

    def _association_entries(
        self, axis: Axis, values: Sequence[str], concepts: Sequence[Concepts], scoring: Scoring
    ) -> Iterator[ScoreDifference]:
        """Yield the differences of MAD and CAS on an axis.

        `concepts` are those of all sets of the second run, then of the first run.
        """
        count = len(self.sets)
        pairs = zip(concepts[:count], concepts[count:], strict=True)
        by_set = dict(zip(self.sets, pairs, strict=True))
        names = [INITIAL, *(f"{axis.name}: {value}" for value in values)]
        mad, *cas = self._associations(axis, {name: by_set[name] for name in names}, scoring)
        yield self._entry("mad", axis.name, scoring.instrument, mad)
        for value, difference in zip(values, cas, strict=True):
            yield self._entry("cas", axis.name, scoring.instrument, difference, value=value)

    def _associations(
        self, axis: Axis, concepts: Mapping[str, ConceptPair], scoring: Scoring
    ) -> list[E]:
        """Return the difference of MAD, then of each CAS.

        `concepts` are those of the baseline set, then of each counterfactual set.
        """
        missing = [first.missing + second.missing for first, second in concepts.values()]
        rng = scoring.rng(self.prompt.text, axis.name, "comparison by concepts")
        try:
            sets = [self._paired_concepts(name, pair) for name, pair in concepts.items()]
            each_cas, mad = association_differences(
                sets, rng=rng, variant=scoring.variant, **scoring.interval_options
            )
        except NotEnoughData as error:
            observed = [each for name in concepts for each in self.sets[name]]
            reason = why_missing(observed, scoring.instrument, axis, str(error))
            return [reason] * len(concepts)
        cas = [
            replace(estimate, missing=missing[0] + count)
            for estimate, count in zip(each_cas, missing[1:], strict=True)
        ]
        return [replace(mad, missing=sum(missing)), *cas]

    def _paired_concepts(self, set_name: str, concepts: ConceptPair) -> PairedSets:
        rows = [each.counts.counts for each in concepts]
        return _paired(self.sets[set_name], rows, [each.complete for each in concepts])

    def shares(self, instrument: str) -> Iterator[ScoreDifference]:
        """Yield the differences of shares and of their deviation from the reference.

        A counterfactual set is compared only on its axis.
        """
        for (name, sets), axis in product(self.sets.items(), self.prompt.closed):
            set_axis = sets[0].prompt.axis
            if self.prompt.has(set_axis) and set_axis != axis.name:
                continue
            *shares, distance = self._share_differences(name, axis, instrument)
            for value, difference in zip(axis.values, shares, strict=True):
                yield self._entry("share", axis.name, instrument, difference, name, value)
            yield self._entry("distance", axis.name, instrument, distance, name)

    def _share_differences(self, set_name: str, axis: AxisPlan, instrument: str) -> list[E]:
        """Return the difference of each share, then of the deviation from the reference."""
        sets = self.sets[set_name]
        labels = [observed.values[instrument][axis.name] for observed in sets]
        labeled = [_is_labeled(of_set) for of_set in labels]
        if not all(mask.any() for mask in labeled):
            reason = why_missing(sets, instrument, axis.axis(), "a run has no answer")
            return [reason] * (len(axis.values) + 1)
        paired = _paired(sets, [_indicators(of_set, axis) for of_set in labels], labeled)
        scoring = self.scoring
        names = (self.prompt.text, set_name, axis.name, instrument)
        distance = distance_difference(
            paired,
            list(reference_of(axis).values()),
            distance=DISTANCE[axis.scale],
            rng=scoring.rng(*names, "comparison of distances"),
            reference_images=axis.reference_images,
            **scoring.interval_options,
        )
        shares = [
            share_difference(paired, place, level=scoring.level)
            for place in range(len(axis.values))
        ]
        missing = sum(int((~mask).sum()) for mask in labeled)
        return [replace(estimate, missing=missing) for estimate in (*shares, distance)]

    def _entry(
        self,
        score_name: str,
        axis: str,
        instrument: str,
        difference: E,
        set_name: str | None = None,
        value: str | None = None,
    ) -> ScoreDifference:
        return ScoreDifference(
            score=score_name,
            prompt=self.prompt.text,
            axis=axis,
            set=set_name,
            value=value,
            instrument=instrument,
            runs=self.names,
            difference=difference,
        )


def _is_labeled(labels: Sequence[Answer]) -> NDArray[np.bool_]:
    return np.array([not isinstance(label, Missing) for label in labels], dtype=bool)


def _indicators(labels: Sequence[Answer], axis: AxisPlan) -> NDArray[np.float64]:
    """Return rows (labeled images, values) that are 1 in the column of the label."""
    places = [axis.values.index(label) for label in labels if not isinstance(label, Missing)]
    return np.eye(len(axis.values))[places]


def _paired(
    sets: SetPair, rows: Sequence[NDArray[Any]], is_present: Sequence[NDArray[np.bool_]]
) -> PairedSets:
    """Pair the rows of the present images of two sets by their seeds."""
    seeds = []
    for observed, mask in zip(sets, is_present, strict=True):
        pictures = [
            picture for picture, present in zip(observed.pictures, mask, strict=True) if present
        ]
        seeds.append([_seed(picture) for picture in pictures])
    return PairedSets.of(rows[0], rows[1], *seeds)


def _seed(picture: Picture | Missing) -> int | None:
    return picture.seed if isinstance(picture, Picture) else None
