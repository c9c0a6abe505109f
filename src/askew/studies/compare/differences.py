"""The same plan on several models: the difference of every score between every two of them.

Picture k of a prompt has the same seed in all runs, so pictures are compared in pairs. Pictures of a collection have no
seeds: its sets are compared as independent ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.audit.tibet import Concepts, extract_concepts
from askew.parts.scoring import Scoring, Vectors
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import DISTANCE
from askew.plan import AxisPlan, PromptPlan
from askew.stats.association import unit_vectors
from askew.stats.association_intervals import Associations
from askew.stats.paired_differences import (
    paired_association_differences,
    paired_distance_difference,
    paired_embedding_differences,
    paired_share_difference,
)
from askew.stats.pairing import PairedSets
from askew.studies.compare.significance import add_q
from askew.types import Axis, Estimate, Missing, MissingReason, Picture

CONCEPT_SCORES = ("mad", "cas", "wasserstein", "standard_deviation")
EMBEDDING_SCORES = ("mad", "cas")


@dataclass(frozen=True, slots=True)
class Found:
    """The difference of one score, and where it stands."""

    score: str
    axis: str
    set: str | None
    value: str | None
    instrument: str
    difference: Estimate | Missing

    def turned(self) -> Found:
        """The same with the two runs in the other order."""
        d = self.difference
        if isinstance(d, Missing) or d.low is None or d.high is None:
            return self
        return replace(self, difference=replace(d, value=0.0 - d.value, low=0.0 - d.high, high=0.0 - d.low))


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run: its name among the runs compared, and its observed sets by prompt.

    `identity` names its content, so that the order in which runs are given decides nothing but signs. `vectors` maps
    pictures to their embeddings; None if there are none.
    """

    name: str
    identity: str
    sets: Mapping[str, Sequence[ObservedSet]]
    vectors: Callable[[Sequence[Picture]], Vectors] | None = None


@dataclass(frozen=True, slots=True)
class Instruments:
    """What read the pictures of all runs: instruments of shares, the one whose answers are concepts, the embedder."""

    shares: Sequence[str]
    captioner: str | None = None
    embedder: str | None = None


def comparison(
    runs: Sequence[ComparedRun], prompts: Sequence[PromptPlan], instruments: Instruments, scoring: Scoring
) -> list[dict[str, Any]]:
    """Entries of comparison.json: for each two of the runs, A and B, every score of B less that of A.

    `prompts` are those that all runs have, planned alike. `scoring` holds seed, draws, level and variant. q-values by
    Benjamini and Hochberg, all entries being one family.
    """
    entries = [
        {"score": found.score, "prompt": prompt.text, "axis": found.axis, "set": found.set, "value": found.value,
         "instrument": found.instrument, "runs": [a.name, b.name], "difference": found.difference}
        for a, b in combinations(runs, 2)
        for prompt in prompts
        for found in _found(a, b, prompt, instruments, scoring)
    ]  # fmt: skip
    add_q(entries, "difference")
    return entries


def _found(
    a: ComparedRun, b: ComparedRun, prompt: PromptPlan, instruments: Instruments, scoring: Scoring
) -> list[Found]:
    """All differences of one prompt, B less A; computed in one order whatever the order of the runs."""
    turned = b.identity < a.identity
    less, more = (b, a) if turned else (a, b)
    pair = _Pair(more, less, prompt, scoring)
    found = [one for name in instruments.shares for one in pair.shares(name)]
    if instruments.embedder is not None:
        found = [*pair.embedding_scores(instruments.embedder), *found]
    if instruments.captioner is not None:
        found = [*pair.concept_scores(instruments.captioner), *found]
    return [one.turned() for one in found] if turned else found


class _Pair:
    """The sets that two runs have of one prompt; differences are those of the first less the second."""

    def __init__(self, first: ComparedRun, second: ComparedRun, prompt: PromptPlan, scoring: Scoring) -> None:
        self._runs = (first, second)
        self._prompt, self._scoring = prompt, scoring
        sides = [{s.name: s for s in run.sets[prompt.text]} for run in self._runs]
        self._sets = {name: (found, sides[1][name]) for name, found in sides[0].items() if name in sides[1]}

    def concept_scores(self, instrument: str) -> Iterator[Found]:
        """MAD, its alternatives, and CAS, on every axis with counterfactuals in both runs."""
        scoring = replace(self._scoring, instrument=instrument)
        axes = [axis.axis() for axis in self._prompt.axes]
        concepts = extract_concepts([sets[k] for k in (0, 1) for sets in self._sets.values()], axes, scoring)
        half = len(self._sets)
        of_set = {name: (concepts[k], concepts[half + k]) for k, name in enumerate(self._sets)}
        for axis, values in self._counterfactuals():
            names = ["initial", *(f"{axis.name}: {value}" for value in values)]
            scores = self._associations(names, axis, instrument, lambda name: self._concepts(name, of_set[name]))
            yield from _listed(scores, CONCEPT_SCORES, "", axis, values, instrument)

    def embedding_scores(self, instrument: str) -> Iterator[Found]:
        """MAD and CAS of the pictures' embeddings."""
        for axis, values in self._counterfactuals():
            names = ["initial", *(f"{axis.name}: {value}" for value in values)]
            scores = self._associations(names, axis, None, self._vectors)
            yield from _listed(scores, EMBEDDING_SCORES, "_clip", axis, values, instrument)

    def shares(self, instrument: str) -> Iterator[Found]:
        """Shares and their distance from the ideal: on every axis, but a counterfactual set on its own axis alone."""
        own = {axis.name for axis in self._prompt.axes}
        for name, sets in self._sets.items():
            for axis in self._prompt.axes:
                if len(axis.values) > 1 and (sets[0].prompt.axis not in own or sets[0].prompt.axis == axis.name):
                    yield from self._shares_of(name, axis, instrument)

    def _counterfactuals(self) -> Iterator[tuple[Axis, list[str]]]:
        """Axes with counterfactual sets in both runs, and the values that these have."""
        for axis in self._prompt.axes if "initial" in self._sets else ():
            values = [value for value in axis.counterfactuals if f"{axis.name}: {value}" in self._sets]
            values += [
                str(sets[0].prompt.value)
                for sets in self._sets.values()
                if sets[0].prompt.axis == axis.name and sets[0].prompt.value not in values
            ]
            if values:
                yield axis.axis(), values

    def _associations(
        self, names: Sequence[str], axis: Axis, instrument: str | None, paired: Callable[[str], tuple[PairedSets, int]]
    ) -> Associations | Missing:
        what = "comparison by embeddings" if instrument is None else "comparison by concepts"
        difference = paired_embedding_differences if instrument is None else paired_association_differences
        scoring = self._scoring
        try:
            sets, lost = zip(*(paired(name) for name in names), strict=True)
            found = difference(
                sets[0],
                sets[1:],
                rng=scoring.rng(self._prompt.text, axis.name, what),
                draws=scoring.draws,
                level=scoring.level,
                variant=scoring.variant,
            )
        except NotEnoughData as error:
            return Missing(self._why(names, axis, instrument), str(error))
        return _with_missing(found, lost)

    def _concepts(self, name: str, concepts: tuple[Concepts, Concepts]) -> tuple[PairedSets, int]:
        """The concepts of a set's pictures in both runs, and how many pictures gave none."""
        (first, second), (a, b) = self._sets[name], concepts
        keys = _seeds(first, a.complete), _seeds(second, b.complete)
        return PairedSets.of(a.counts.counts, b.counts.counts, *keys), a.missing + b.missing

    def _vectors(self, name: str) -> tuple[PairedSets, int]:
        """The embeddings of a set's pictures in both runs, and how many pictures there are not."""
        (rows, keys, gone), (other_rows, other_keys, others_gone) = (
            _embedded(run, observed) for run, observed in zip(self._runs, self._sets[name], strict=True)
        )
        return PairedSets.of(rows, other_rows, keys, other_keys), gone + others_gone

    def _shares_of(self, name: str, axis: AxisPlan, instrument: str) -> Iterator[Found]:
        sets = self._sets[name]
        answers = [s.values[instrument][axis.name] for s in sets]
        read = [np.array([not isinstance(a, Missing) for a in some], dtype=bool) for some in answers]
        lost = sum(int((~mask).sum()) for mask in read)
        if not all(mask.any() for mask in read):
            none = Missing(self._why([name], axis.axis(), instrument), "a run has no answer")
            for value in axis.values:
                yield Found("share", axis.name, name, value, instrument, none)
            yield Found("distance", axis.name, name, None, instrument, none)
            return
        codes = [_one_hot([a for a in some if not isinstance(a, Missing)], axis.values) for some in answers]
        keys = [_seeds(s, mask) for s, mask in zip(sets, read, strict=True)]
        paired = PairedSets.of(codes[0], codes[1], *keys)
        for k, value in enumerate(axis.values):
            difference = paired_share_difference(paired, k, level=self._scoring.level)
            yield Found("share", axis.name, name, value, instrument, replace(difference, missing=lost))
        scoring = self._scoring
        distance = paired_distance_difference(
            paired,
            [(axis.ideal or {}).get(value, 1 / len(axis.values)) for value in axis.values],
            distance=DISTANCE[axis.scale],
            rng=scoring.rng(self._prompt.text, name, axis.name, instrument, "comparison of distances"),
            draws=scoring.draws,
            level=scoring.level,
        )
        yield Found("distance", axis.name, name, None, instrument, replace(distance, missing=lost))

    def _why(self, names: Sequence[str], axis: Axis, instrument: str | None) -> MissingReason:
        """The commonest reason why these sets lack answers on an axis, or pictures."""
        reasons: Counter[MissingReason] = Counter()
        for observed in (s for name in names for s in self._sets[name]):
            gaps = observed.pictures if instrument is None else observed.values[instrument][axis.name]
            reasons.update(gap.reason for gap in gaps if isinstance(gap, Missing))
        return max(reasons, key=lambda r: (reasons[r], r)) if reasons else "not_asked"


def _listed(
    found: Associations | Missing,
    names: Sequence[str],
    suffix: str,
    axis: Axis,
    values: Sequence[str],
    instrument: str,
) -> Iterator[Found]:
    """The scores of an axis, one by one."""
    for name in names:
        if name == "cas":
            by_value: Sequence[Estimate | Missing] = [found] * len(values) if isinstance(found, Missing) else found.cas
            for value, difference in zip(values, by_value, strict=True):
                yield Found(f"cas{suffix}", axis.name, None, value, instrument, difference)
        else:
            one: Estimate | Missing = found if isinstance(found, Missing) else getattr(found, name)
            yield Found(f"{name}{suffix}", axis.name, None, None, instrument, one)


def _with_missing(found: Associations, lost: Sequence[int]) -> Associations:
    """The number of pictures that are missing from each score's sets; the first set enters every score."""
    return Associations(
        tuple(replace(one, missing=lost[0] + own) for one, own in zip(found.cas, lost[1:], strict=True)),
        *(replace(one, missing=sum(lost)) for one in (found.mad, found.wasserstein, found.standard_deviation)),
    )


def _embedded(run: ComparedRun, observed: ObservedSet) -> tuple[NDArray[np.float64], list[int | None], int]:
    """Embeddings of a set's pictures, their seeds, and how many pictures there are not."""
    pictures = [picture for picture in observed.pictures if isinstance(picture, Picture)]
    if not pictures or run.vectors is None:
        raise NotEnoughData(f"the set {observed.name!r} of {run.name} has no embedded picture")
    seeds = [picture.seed for picture in pictures]
    return unit_vectors(run.vectors(pictures)), seeds, len(observed.pictures) - len(pictures)


def _seeds(observed: ObservedSet, kept: NDArray[np.bool_]) -> list[int | None]:
    """The seeds of the kept pictures, by which they find their partners."""
    return [
        picture.seed if isinstance(picture, Picture) else None
        for picture, keep in zip(observed.pictures, kept, strict=True)
        if keep
    ]


def _one_hot(answers: Sequence[str], values: Sequence[str]) -> NDArray[np.float64]:
    """(pictures, values): 1 where the picture shows the value."""
    return np.eye(len(values))[[values.index(answer) for answer in answers]]
