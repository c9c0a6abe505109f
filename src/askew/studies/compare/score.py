"""The difference of every score between every two runs.

Picture k of a prompt has the same seed in all runs, so pictures are compared in pairs. Pictures of a collection have no
seeds: its sets are compared as independent ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.audit.tibet import Concepts, concepts_of_axis, extract_concepts
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import DISTANCE
from askew.plan import AxisPlan, PromptPlan
from askew.stats.association import unit_vectors
from askew.stats.association_intervals import Associations
from askew.stats.paired_differences import (
    PairedSets,
    paired_association_differences,
    paired_distance_difference,
    paired_share_difference,
)
from askew.stats.verdicts import holm_then_bh
from askew.studies.compare.findings import Difference
from askew.types import Axis, Estimate, Missing, MissingReason, Picture

CONCEPT_SCORES = {name: name for name in ("mad", "cas", "wasserstein", "standard_deviation")}
EMBEDDING_SCORES = {"mad": "mad_clip", "cas": "cas_clip"}

Paired = Callable[[str, str], tuple[PairedSets, int]]
"""A set, by its name, as it is in both runs for the scores of an axis, and how many of its pictures are missing."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run: its name among the runs compared, and its observed sets by prompt.

    `identity` names its content, so that the order in which runs are given decides nothing but signs. `vectors` are the
    embeddings of its pictures by id; None if there are none.
    """

    name: str
    identity: str
    sets: Mapping[str, Sequence[ObservedSet]]
    vectors: Mapping[str, NDArray[np.float32]] | None = None


@dataclass(frozen=True, slots=True)
class Readers:
    """What read the pictures of all runs: instruments of shares, the one whose answers are concepts, the embedder.

    `own_concepts`: those of an axis come from the answers about it alone.
    """

    shares: Sequence[str]
    captioner: str | None = None
    embedder: str | None = None
    own_concepts: bool = False


def score(
    runs: Sequence[ComparedRun], prompts: Sequence[PromptPlan], readers: Readers, scoring: Scoring
) -> tuple[Difference, ...]:
    """For each two of the runs, A and B, every score of B less that of A; computed in one order whatever theirs.

    `prompts` are those that all runs have, planned alike. `scoring` holds seed, draws, level and variant. q-values:
    `judged`.
    """
    entries: list[Difference] = []
    for a, b in combinations(runs, 2):
        for prompt in prompts:
            turned = b.identity < a.identity
            pair = _Pair(*((a, b) if turned else (b, a)), prompt, scoring)
            found = [*pair.concept_scores(readers.captioner, readers.own_concepts)] if readers.captioner else []
            found += pair.embedding_scores(readers.embedder) if readers.embedder else []
            found += [one for name in readers.shares for one in pair.shares(name)]
            entries += [one.turned() for one in found] if turned else found
    return judged(entries)


def judged(entries: Sequence[Difference]) -> tuple[Difference, ...]:
    """The same, with q-values: whether two runs differ on an axis of a set is one test, and these are one family.

    It is that of the shares, joined by Holm over the values, of which a binary axis has but one; where an axis has no
    shares, that of MAD (`holm_then_bh`). Every other score tells more of the same pictures and is a family of its own,
    and so are the shares of counterfactual sets, which show what was asked for. All this for each instrument.
    """
    with_shares = {(e.runs, e.prompt, e.axis) for e in entries if e.score == "share"}
    families: dict[Hashable, dict[Hashable, list[int]]] = {}
    for k, e in enumerate(entries):
        if isinstance(e.difference, Estimate) and e.difference.p is not None:
            alone = e.score == "mad" and (e.runs, e.prompt, e.axis) not in with_shares
            family = ("share" if alone else e.score, e.instrument, e.of_prompt)
            place = (e.runs, e.prompt, e.axis, e.set) if e.score == "share" else k
            families.setdefault(family, {}).setdefault(place, []).append(k)
    qs: dict[int, float] = {}
    for places in families.values():
        tests = [[entries[k].difference.p for k in own[: 1 if len(own) == 2 else None]] for own in places.values()]  # type: ignore[union-attr]
        for own, (_, _, found) in zip(places.values(), holm_then_bh(tests), strict=True):  # type: ignore[arg-type]
            qs |= zip(own, found if len(own) == len(found) else found * 2, strict=True)
    return tuple(replace(e, difference=replace(e.difference, q=qs[k])) if k in qs and isinstance(e.difference, Estimate)
                 else e for k, e in enumerate(entries))  # fmt: skip


class _Pair:
    """The sets that two runs have of one prompt; differences are those of the first less the second."""

    def __init__(self, first: ComparedRun, second: ComparedRun, prompt: PromptPlan, scoring: Scoring) -> None:
        self._runs, self._prompt, self._scoring = (first, second), prompt, scoring
        sides = [{s.name: s for s in run.sets[prompt.text]} for run in self._runs]
        self._sets = {name: (found, sides[1][name]) for name, found in sides[0].items() if name in sides[1]}

    def concept_scores(self, instrument: str, own_concepts: bool) -> Iterator[Difference]:
        """MAD, its alternatives, and CAS, on every axis with counterfactuals in both runs."""
        scoring = replace(self._scoring, instrument=instrument)
        axes = [axis.axis() for axis in self._prompt.axes]
        sets = [own[k] for k in (0, 1) for own in self._sets.values()]
        every = {} if own_concepts else dict.fromkeys((a.name for a in axes), extract_concepts(sets, axes, scoring))
        tables = every or {axis.name: concepts_of_axis(sets, axis, scoring) for axis in axes}
        half = len(self._sets)
        of_set = {(axis, name): (concepts[k], concepts[half + k])
                  for axis, concepts in tables.items() for k, name in enumerate(self._sets)}  # fmt: skip
        yield from self._scores(instrument, CONCEPT_SCORES, partial(self._concepts, of_set=of_set))

    def embedding_scores(self, instrument: str) -> Iterator[Difference]:
        """MAD and CAS of the pictures' embeddings."""
        yield from self._scores(instrument, EMBEDDING_SCORES, self._vectors)

    def shares(self, instrument: str) -> Iterator[Difference]:
        """Shares and their distance from the ideal: on every axis, but a counterfactual set on its own axis alone."""
        for name, sets in self._sets.items():
            for axis in self._prompt.closed:
                if not self._prompt.has(sets[0].prompt.axis) or sets[0].prompt.axis == axis.name:
                    yield from self._shares_of(name, axis, instrument)

    def _difference(
        self, score: str, axis: str, set: str | None, value: str | None, instrument: str, found: Estimate | Missing
    ) -> Difference:
        first, second = self._runs
        return Difference(score, self._prompt.text, axis, set, value, instrument, (second.name, first.name), found)

    def _scores(self, instrument: str, names: Mapping[str, str], paired: Paired) -> Iterator[Difference]:
        """The scores of every axis with counterfactuals: by fields of `Associations` their names here."""
        for axis, values in self._counterfactuals():
            found = self._associations(axis, values, None if names is EMBEDDING_SCORES else instrument, paired)
            for field, name in names.items():
                places: Sequence[str | None] = values if field == "cas" else [None]
                scores = found if isinstance(found, Missing) else getattr(found, field)
                each = scores if isinstance(scores, tuple) else [scores] * len(places)
                for value, one in zip(places, each, strict=True):
                    yield self._difference(name, axis.name, None, value, instrument, one)

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
        self, axis: Axis, values: Sequence[str], instrument: str | None, paired: Paired
    ) -> Associations | Missing:
        """Scores by concepts or, without an instrument, by embeddings; the first set enters every score."""
        what = "comparison by embeddings" if instrument is None else "comparison by concepts"
        names, scoring = ["initial", *(f"{axis.name}: {value}" for value in values)], self._scoring
        rng = scoring.rng(self._prompt.text, axis.name, what)
        try:
            sets, lost = zip(*(paired(name, axis.name) for name in names), strict=True)
            found = paired_association_differences(
                sets[0], sets[1:], rng=rng, variant=scoring.variant, embeddings=instrument is None, **scoring.how
            )
        except NotEnoughData as error:
            return Missing(self._why(names, axis, instrument), str(error))
        return Associations(
            tuple(replace(one, missing=lost[0] + own) for one, own in zip(found.cas, lost[1:], strict=True)),
            tuple(replace(one, missing=sum(lost)) for one in found.leans),
            *(replace(one, missing=sum(lost)) for one in (found.mad, found.wasserstein, found.standard_deviation)),
        )

    def _concepts(
        self, name: str, axis: str, of_set: Mapping[tuple[str, str], tuple[Concepts, Concepts]]
    ) -> tuple[PairedSets, int]:
        """The concepts of a set's pictures in both runs, and how many pictures gave none."""
        (first, second), (a, b) = self._sets[name], of_set[axis, name]
        keys = _seeds(first, a.complete), _seeds(second, b.complete)
        return PairedSets.of(a.counts.counts, b.counts.counts, *keys), a.missing + b.missing

    def _vectors(self, name: str, axis: str) -> tuple[PairedSets, int]:
        """The embeddings of a set's pictures in both runs, and how many pictures there are not."""
        sides = []
        for run, observed in zip(self._runs, self._sets[name], strict=True):
            pictures = [picture for picture in observed.pictures if isinstance(picture, Picture)]
            if not pictures or run.vectors is None:
                raise NotEnoughData(f"the set {observed.name!r} of {run.name} has no embedded picture")
            rows = unit_vectors(np.stack([run.vectors[picture.id] for picture in pictures]))
            sides.append((rows, [picture.seed for picture in pictures], len(observed.pictures) - len(pictures)))
        (a, keys, gone), (b, others, others_gone) = sides
        return PairedSets.of(a, b, keys, others), gone + others_gone

    def _shares_of(self, name: str, axis: AxisPlan, instrument: str) -> Iterator[Difference]:
        sets = self._sets[name]
        entry = partial(self._difference, axis=axis.name, set=name, instrument=instrument)
        answers = [s.values[instrument][axis.name] for s in sets]
        read = [np.array([not isinstance(a, Missing) for a in some], dtype=bool) for some in answers]
        lost = sum(int((~mask).sum()) for mask in read)
        if not all(mask.any() for mask in read):
            none = Missing(self._why([name], axis.axis(), instrument), "a run has no answer")
            yield from (entry("share", value=value, found=none) for value in axis.values)
            yield entry("distance", value=None, found=none)
            return
        codes = [np.eye(len(axis.values))[[axis.values.index(a) for a in some if not isinstance(a, Missing)]]
                 for some in answers]  # fmt: skip
        paired = PairedSets.of(codes[0], codes[1], *(_seeds(s, mask) for s, mask in zip(sets, read, strict=True)))
        for k, value in enumerate(axis.values):
            difference = paired_share_difference(paired, k, level=self._scoring.level)
            yield entry("share", value=value, found=replace(difference, missing=lost))
        scoring = self._scoring
        distance = paired_distance_difference(
            paired,
            [(axis.ideal or {}).get(value, 1 / len(axis.values)) for value in axis.values],
            distance=DISTANCE[axis.scale],
            rng=scoring.rng(self._prompt.text, name, axis.name, instrument, "comparison of distances"),
            **scoring.how,
        )
        yield entry("distance", value=None, found=replace(distance, missing=lost))

    def _why(self, names: Sequence[str], axis: Axis, instrument: str | None) -> MissingReason:
        """The commonest reason why these sets lack answers on an axis, or pictures."""
        reasons: Counter[MissingReason] = Counter()
        for observed in (s for name in names for s in self._sets[name]):
            gaps = observed.pictures if instrument is None else observed.values[instrument][axis.name]
            reasons.update(gap.reason for gap in gaps if isinstance(gap, Missing))
        return max(reasons, key=lambda r: (reasons[r], r)) if reasons else "not_asked"


def _seeds(observed: ObservedSet, kept: NDArray[np.bool_]) -> list[int | None]:
    """The seeds of the kept pictures, by which they find their partners."""
    kept_pictures = (picture for picture, keep in zip(observed.pictures, kept, strict=True) if keep)
    return [picture.seed if isinstance(picture, Picture) else None for picture in kept_pictures]
