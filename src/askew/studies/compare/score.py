"""The difference of every score between every two runs.

Picture k of a prompt has the same seed in all runs, so pictures are compared in pairs. Pictures of
a collection have no seeds: its sets are compared as independent ones.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.audit.tibet import concepts_of_axis, extract_concepts
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import captioner_of
from askew.parts.survey.observed import ObservedSet, why_missing
from askew.parts.survey.shares import DISTANCE, reference_of
from askew.plan import PromptPlan
from askew.stats.association_differences import association_differences
from askew.stats.differences import distance_difference, share_difference
from askew.stats.intervals import holm_then_bh
from askew.stats.paired_sets import PairedSets
from askew.studies.compare.findings import ScoreDifference
from askew.types import Estimate, Missing, Picture


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run's name, observed sets by prompt, and `identity` of its content: the runs' order decides
    signs alone.
    """

    name: str
    identity: str
    sets: Mapping[str, Sequence[ObservedSet]]


def score(
    runs: Sequence[ComparedRun],
    prompts: Sequence[PromptPlan],
    instruments: Sequence[str],
    scoring: Scoring,
    own_concepts: bool = False,
) -> tuple[ScoreDifference, ...]:
    """For each two of the runs, A and B, every score of B less that of A; computed in one order
    whatever theirs.

    `prompts` are those that all runs have, planned alike. With `own_concepts` those of an axis come
    from the answers about it alone. q-values: `judged`.
    """
    entries: list[ScoreDifference] = []
    for a, b in combinations(runs, 2):
        turned = b.identity < a.identity
        for prompt in prompts:
            pair = _Pair(*((b, a) if turned else (a, b)), prompt, scoring)
            found = [*pair.concept_scores(captioner_of(instruments), own_concepts)]
            found += [one for name in instruments for one in pair.shares(name)]
            entries += [one.turned() for one in found] if turned else found
    return judged(entries)


def judged(entries: Sequence[ScoreDifference]) -> tuple[ScoreDifference, ...]:
    """The same, with q-values: whether two runs differ on an axis of a set is one test, and these
    are one family.

    It is that of the shares, joined by Holm over the values, of which a binary axis has but one;
    where an axis has no shares, that of MAD (`holm_then_bh`). Every other score tells more of the
    same pictures and is a family of its own, and so are the shares of counterfactual sets, which
    show what was asked for. All this for each instrument.
    """
    with_shares = {(e.runs, e.prompt, e.axis) for e in entries if e.score == "share"}
    families: dict[Hashable, dict[Hashable, dict[int, float]]] = {}
    for k, e in enumerate(entries):
        if isinstance(e.difference, Estimate) and e.difference.p is not None:
            alone = e.score == "mad" and (e.runs, e.prompt, e.axis) not in with_shares
            family = ("share" if alone else e.score, e.instrument, e.of_prompt)
            place = (e.runs, e.prompt, e.axis, e.set) if e.score == "share" else k
            families.setdefault(family, {}).setdefault(place, {})[k] = e.difference.p
    qs: dict[int, float] = {}
    for places in families.values():
        tests = [[*own.values()][: 1 if len(own) == 2 else None] for own in places.values()]
        for own, (_, _, found) in zip(places.values(), holm_then_bh(tests), strict=True):
            qs |= zip(own, found if len(own) == len(found) else found * 2, strict=True)
    return tuple(
        replace(e, difference=replace(e.difference, q=qs[k]))
        if k in qs and isinstance(e.difference, Estimate)
        else e
        for k, e in enumerate(entries)
    )


class _Pair:
    """The sets that two runs have of one prompt; differences are those of the second less the
    first.
    """

    def __init__(
        self, first: ComparedRun, second: ComparedRun, prompt: PromptPlan, scoring: Scoring
    ) -> None:
        self._names = (first.name, second.name)
        self._prompt = prompt
        self._scoring = scoring
        later, sooner = ({s.name: s for s in run.sets[prompt.text]} for run in (second, first))
        self._sets = {
            name: (found, sooner[name]) for name, found in later.items() if name in sooner
        }

    def concept_scores(
        self, instrument: str | None, own_concepts: bool
    ) -> Iterator[ScoreDifference]:
        """MAD and CAS on every axis with counterfactuals in both runs, by the answers of an
        instrument.
        """
        axes = {axis.name: axis.axis() for axis in self._prompt.axes}
        values = {
            name: [str(s.prompt.value) for s, _ in self._sets.values() if s.prompt.axis == name]
            for name in axes
        }
        if instrument is None or "initial" not in self._sets or not any(values.values()):
            return
        scoring = replace(self._scoring, instrument=instrument)
        sets = [own[side] for side in (0, 1) for own in self._sets.values()]
        shared = None if own_concepts else extract_concepts(sets, [*axes.values()], scoring)
        for name, axis in axes.items():
            if not values[name]:
                continue
            concepts = shared or concepts_of_axis(sets, axis, scoring)
            by_set = dict(
                zip(
                    self._sets,
                    zip(concepts, concepts[len(self._sets) :], strict=False),
                    strict=True,
                )
            )
            wanted = ["initial", *(f"{name}: {value}" for value in values[name])]
            lost = [sum(side.missing for side in by_set[one]) for one in wanted]
            mad: Estimate | Missing
            cas: Sequence[Estimate | Missing]
            rng = scoring.rng(self._prompt.text, name, "comparison by concepts")
            try:
                pairs = [
                    _paired(
                        self._sets[one],
                        [c.counts.counts for c in by_set[one]],
                        [c.complete for c in by_set[one]],
                    )
                    for one in wanted
                ]
                each, spread = association_differences(
                    pairs, rng=rng, variant=scoring.variant, **scoring.interval_options
                )
                mad = replace(spread, missing=sum(lost))
                cas = [
                    replace(one, missing=lost[0] + own)
                    for one, own in zip(each, lost[1:], strict=True)
                ]
            except NotEnoughData as error:
                mad = why_missing(
                    (s for one in wanted for s in self._sets[one]), instrument, axis, str(error)
                )
                cas = [mad] * len(values[name])
            text = self._prompt.text
            names = self._names
            yield ScoreDifference("mad", text, name, None, None, instrument, names, mad)
            for value, one in zip(values[name], cas, strict=True):
                yield ScoreDifference("cas", text, name, None, value, instrument, names, one)

    def shares(self, instrument: str) -> Iterator[ScoreDifference]:
        """Shares and their distance from the ideal: on every axis, but a counterfactual set on its
        own axis alone.
        """
        prompt = self._prompt
        scoring = self._scoring
        for (name, sets), axis in product(self._sets.items(), prompt.closed):
            if prompt.has(sets[0].prompt.axis) and sets[0].prompt.axis != axis.name:
                continue
            answers = [s.values[instrument][axis.name] for s in sets]
            read = [
                np.array([not isinstance(a, Missing) for a in some], dtype=bool) for some in answers
            ]
            shares: list[Estimate | Missing]
            distance: Estimate | Missing
            if all(mask.any() for mask in read):
                codes = [
                    np.eye(len(axis.values))[
                        [axis.values.index(a) for a in some if not isinstance(a, Missing)]
                    ]
                    for some in answers
                ]
                paired = _paired(sets, codes, read)
                lost = sum(int((~mask).sum()) for mask in read)
                shares = [
                    replace(share_difference(paired, k, level=scoring.level), missing=lost)
                    for k in range(len(axis.values))
                ]
                rng = scoring.rng(
                    prompt.text, name, axis.name, instrument, "comparison of distances"
                )
                moved = distance_difference(
                    paired,
                    [*reference_of(axis).values()],
                    distance=DISTANCE[axis.scale],
                    rng=rng,
                    **scoring.interval_options,
                )
                distance = replace(moved, missing=lost)
            else:
                distance = why_missing(sets, instrument, axis.axis(), "a run has no answer")
                shares = [distance] * len(axis.values)
            for value, one in zip(axis.values, shares, strict=True):
                yield ScoreDifference(
                    "share", prompt.text, axis.name, name, value, instrument, self._names, one
                )
            yield ScoreDifference(
                "distance", prompt.text, axis.name, name, None, instrument, self._names, distance
            )


def _paired(
    sets: Sequence[ObservedSet], rows: Sequence[NDArray[Any]], kept: Sequence[NDArray[np.bool_]]
) -> PairedSets:
    """Rows of the kept pictures of two sets, which find their partners by their seeds."""
    seeds = []
    for own, mask in zip(sets, kept, strict=True):
        pictures = (one for one, keep in zip(own.pictures, mask, strict=True) if keep)
        seeds.append([one.seed if isinstance(one, Picture) else None for one in pictures])
    return PairedSets.of(rows[0], rows[1], *seeds)
