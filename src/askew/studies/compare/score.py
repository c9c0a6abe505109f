"""Compute the differences in all scores between all pairs of runs.

Image k of a prompt has the same seed in all runs, so askew compares images in pairs. Images from a
collection have no seeds, so askew compares the runs' images as independent samples.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.audit.tibet import (
    Concepts,
    PictureVectors,
    concepts_of_axis,
    extract_concepts,
)
from askew.models.manifest import INITIAL
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import captioner_of
from askew.parts.survey.observed import ObservedSet, why_missing
from askew.parts.survey.pairs import SetPair, is_labeled, paired_labels, paired_rows
from askew.parts.survey.shares import DISTANCE, reference_of
from askew.plan import AxisPlan, PromptPlan
from askew.stats.association import unit_vectors
from askew.stats.association_differences import (
    ALTERNATIVES,
    AssociationDifferences,
    association_differences,
)
from askew.stats.differences import distance_difference, share_difference
from askew.stats.exchange import distance_of_sets, exchange_test, exchange_test_of_value
from askew.stats.intervals import benjamini_hochberg, holm
from askew.stats.paired_sets import PairedSets
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.studies.compare.findings import (
    RUN_DISTANCE,
    ScoreDifference,
    ScoreKey,
    score_key,
)
from askew.studies.compare.over_prompts import RunsOverPrompts
from askew.types import Axis, Estimate, Missing, Picture, grouped

E = Estimate | Missing
ConceptPair = tuple[Concepts, Concepts]
"""Concepts in the two image sets of a `SetPair`."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with its labeled images.

    Attributes
    ----------
    name
        Name of the run.
    identity
        Digest of the run's plan, model and images. The digests determine which run of a pair is
        processed first, so the order in which the user lists the runs affects only the signs of the
        differences.
    sets
        Image sets, keyed by prompt.
    vectors
        Unit embedding vectors of the images, computed by the embedder `embedder` and keyed by image
        id. Empty without an embedder.
    scores
        Scores of the run, as listed in its results. See `difference_of_scores`.
    """

    name: str
    identity: str
    sets: Mapping[str, Sequence[ObservedSet]]
    vectors: PictureVectors = field(default_factory=dict)
    embedder: str = ""
    scores: Mapping[ScoreKey, Estimate] = field(default_factory=dict)


def score(
    runs: Sequence[ComparedRun],
    prompts: Sequence[PromptPlan],
    instruments: Sequence[str],
    scoring: Scoring,
    separate_concepts: bool = False,
) -> tuple[ScoreDifference, ...]:
    """Compute the differences in all scores between all pairs of runs.

    Parameters
    ----------
    runs
        The compared runs. Runs to compare. In each pair, the scores of the run that is listed first
        are subtracted from the scores of the other run.
    prompts
        Prompts that all runs share, with axes that all runs measure in the same way.
    instruments
        Names of the instruments. Concepts come from the answers and captions of the first
        instrument that captions images.
    scoring
        Settings of the scores.
    separate_concepts
        If True, the concepts of an axis come only from the answers about this axis.

    Returns
    -------
    tuple of ScoreDifference
        Differences with q-values. See `with_q_values`.
    """
    captioner = captioner_of(instruments)
    entries: list[ScoreDifference] = []
    for a, b in combinations(runs, 2):
        swapped = b.identity < a.identity
        first, second = (b, a) if swapped else (a, b)
        differences: list[ScoreDifference] = []
        for prompt in prompts:
            pair = _PromptPair.of(first, second, prompt, scoring)
            differences += pair.differences(captioner, instruments, separate_concepts)
        together = RunsOverPrompts(
            names=(first.name, second.name),
            sets=(first.sets, second.sets),
            prompts=prompts,
            scoring=scoring,
        )
        for name in instruments:
            differences += together.differences(name)
        entries += [entry.swapped() for entry in differences] if swapped else differences
    scores = {run.name: run.scores for run in runs}
    return with_q_values([difference_of_scores(entry, scores) for entry in entries])


def difference_of_scores(
    entry: ScoreDifference, scores: Mapping[str, Mapping[ScoreKey, Estimate]]
) -> ScoreDifference:
    """Return the entry with the second run's score minus the first run's score as its value.

    Bias correction draws random samples, so computing a score twice from the same images yields
    slightly different values. A page shows the scores of both runs next to their difference, so the
    three numbers must agree.

    Parameters
    ----------
    entry
        A difference between two runs.
    scores
        Scores of each run, keyed by the run's name.

    Returns
    -------
    ScoreDifference
        The entry with the new value. The entry is unchanged if a score is missing, or if the scores
        and the difference describe different images.
    """
    difference = entry.difference
    first, second = (scores.get(name, {}).get(score_key(entry)) for name in entry.runs)
    if isinstance(difference, Missing) or first is None or second is None:
        return entry
    if difference.n is None or difference.n != (first.n or 0) + (second.n or 0):
        return entry
    value = second.mark - first.mark
    if difference.low is None or difference.high is None:
        return replace(entry, difference=replace(difference, value=value))
    low = min(difference.low, value)
    high = max(difference.high, value)
    changed = replace(difference, value=value, low=low, high=high, debiased=value)
    return replace(entry, difference=changed)


def with_q_values(entries: Sequence[ScoreDifference]) -> tuple[ScoreDifference, ...]:
    """Return the differences with q-values, which are corrected within families of tests.

    A single test decides whether two runs differ on an axis of an image set: the permutation test
    of the distance between the runs, or the test of MAD if the axis has no shares. For each
    instrument, these tests form one family, which is corrected with the Benjamini-Hochberg method.
    The family includes the tests over all prompts. The family excludes tests whose p-value
    cannot be below the significance level, because they would make the correction too strict for
    the other tests. Excluded tests have a q-value of 1.

    The q-value of a share is also corrected for the number of values (Holm), and is never below the
    q-value of its axis. The tests of each other score form a separate family, because these scores
    describe the same images. The tests of counterfactual sets also form separate families, because
    these sets show what their prompts state.
    """
    q_values: dict[int, float] = {}
    for p_values in _families(entries).values():
        q_values |= zip(p_values, benjamini_hochberg([*p_values.values()]).tolist(), strict=True)
    of_sets = grouped(
        enumerate(entries),
        lambda numbered: (_axis_of(numbered[1]), numbered[1].set, numbered[1].instrument),
    )
    for of_set in of_sets.values():
        q_values |= _q_values_of_set(dict(of_set), q_values)
    adjusted = []
    for place, entry in enumerate(entries):
        if place in q_values and isinstance(entry.difference, Estimate):
            difference = replace(entry.difference, q=q_values[place])
            adjusted.append(replace(entry, difference=difference))
        else:
            adjusted.append(entry)
    return tuple(adjusted)


def _families(entries: Sequence[ScoreDifference]) -> dict[Hashable, dict[int, float]]:
    """Return each family of tests as a mapping from the position of an entry to its p-value."""
    with_shares = {_axis_of(entry) for entry in entries if entry.score == "share"}
    families: dict[Hashable, dict[int, float]] = {}
    for place, entry in enumerate(entries):
        if isinstance(entry.difference, Missing) or entry.difference.p is None:
            continue
        cannot_be_significant = (entry.smallest_p or 0.0) >= SIGNIFICANCE_LEVEL
        if entry.score == "share" or cannot_be_significant:
            continue
        score_name = entry.score
        if entry.score == "mad" and _axis_of(entry) not in with_shares:
            score_name = RUN_DISTANCE
        family = families.setdefault((score_name, entry.instrument, entry.of_prompt), {})
        family[place] = entry.difference.p
    return families


def _axis_of(entry: ScoreDifference) -> Hashable:
    return entry.runs, entry.prompt, entry.axis, entry.prompts


def _q_values_of_set(
    entries: Mapping[int, ScoreDifference], q_values: Mapping[int, float]
) -> dict[int, float]:
    """Return the q-values of an axis's test and of its shares, keyed by position.

    If the axis has two values, both shares have the q-value of the axis. If the axis has more
    values, the p-value of a share is corrected with Holm's method, and then multiplied by the ratio
    q / p of the axis. Multiplication by the ratio is needed because selected axes are tested at a
    reduced level (Benjamini and Bogomolov 2014).

    Parameters
    ----------
    entries
        Differences on one axis of an image set, from one instrument's labels, keyed by position.
    q_values
        q-values of all tests that belong to a family, keyed by position.
    """
    p_values = _p_values(entries, RUN_DISTANCE)
    if not p_values:
        return {}
    ((tested, p),) = p_values.items()
    q = q_values.get(tested, 1.0)
    of_shares = _p_values(entries, "share")
    if len(of_shares) == 2:
        return {tested: q, **dict.fromkeys(of_shares, q)}
    scale = q / p if p else 1.0
    adjusted = [max(q, min(each * scale, 1.0)) for each in holm([*of_shares.values()])]
    return {tested: q, **dict(zip(of_shares, adjusted, strict=True))}


def _p_values(entries: Mapping[int, ScoreDifference], score_name: str) -> dict[int, float]:
    """Return the p-value of each difference in a score, keyed by the position of its entry."""
    estimates = {
        place: entry.difference
        for place, entry in entries.items()
        if entry.score == score_name and isinstance(entry.difference, Estimate)
    }
    return {place: score.p for place, score in estimates.items() if score.p is not None}


@dataclass(frozen=True, slots=True)
class _PromptPair:
    """Image sets that two runs share for a prompt.

    A difference is the second run's score minus the first run's score.
    """

    names: tuple[str, str]
    prompt: PromptPlan
    scoring: Scoring
    sets: Mapping[str, SetPair]
    vectors: PictureVectors
    embedder: str

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
        with_vectors = first.vectors and second.vectors
        return cls(
            names=(first.name, second.name),
            prompt=prompt,
            scoring=scoring,
            sets=sets,
            vectors={**first.vectors, **second.vectors} if with_vectors else {},
            embedder=first.embedder,
        )

    def differences(
        self, captioner: str | None, instruments: Sequence[str], separate_concepts: bool
    ) -> list[ScoreDifference]:
        """Return the differences between the two runs in all scores of the prompt."""
        differences: list[ScoreDifference] = []
        if captioner is not None:
            differences += self.concept_scores(captioner, separate_concepts)
            if self.vectors:
                differences += self.vector_scores()
        for name in instruments:
            differences += self.shares(name)
        return differences

    def concept_scores(self, instrument: str, separate_concepts: bool) -> list[ScoreDifference]:
        """Return the differences in MAD and CAS on each axis with counterfactuals in both runs."""
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

    def vector_scores(self) -> list[ScoreDifference]:
        """Return the differences in CAS^CLIP and in its MAD on each axis with counterfactuals."""
        entries: list[ScoreDifference] = []
        for axis in self.prompt.axes:
            values = self._counterfactual_values(axis.name)
            if INITIAL not in self.sets or not values:
                continue
            names = [INITIAL, *(f"{axis.name}: {value}" for value in values)]
            scores = self._by_vectors(axis.axis(), names)
            for name, value, difference in _named(scores, values, clip=True):
                entries.append(self._entry(name, axis.name, self.embedder, difference, value=value))
        return entries

    def _by_vectors(self, axis: Axis, names: Sequence[str]) -> AssociationDifferences | Missing:
        """Return the differences in an axis's scores that are computed from embedding vectors.

        `names` lists the baseline set, then the counterfactual sets of the axis.
        """
        vectors = self.vectors
        sets = [self.sets[name] for name in names]
        if not all(_rows_of(observed, vectors).size for pair in sets for observed in pair):
            return Missing("not_asked", "an image set has no image with an embedding vector")
        rng = self.scoring.rng(self.prompt.text, axis.name, "comparison by vectors")
        scores = association_differences(
            [_paired_vectors(pair, vectors) for pair in sets],
            rng=rng,
            variant=self.scoring.variant,
            embedded=True,
            **self.scoring.interval_options,
        )
        missing = []
        for pair in sets:
            counts = [len(each.pictures) - len(_rows_of(each, vectors)) for each in pair]
            missing.append(sum(counts))
        return scores.with_missing(missing)

    def _association_entries(
        self, axis: Axis, values: Sequence[str], concepts: Sequence[Concepts], scoring: Scoring
    ) -> Iterator[ScoreDifference]:
        """Yield the differences in MAD and CAS on an axis, and then in the alternatives to MAD.

        `concepts` lists the concepts of all sets in the second run, followed by the concepts in the
        first run.
        """
        count = len(self.sets)
        pairs = zip(concepts[:count], concepts[count:], strict=True)
        by_set = dict(zip(self.sets, pairs, strict=True))
        names = [INITIAL, *(f"{axis.name}: {value}" for value in values)]
        scores = self._associations(axis, {name: by_set[name] for name in names}, scoring)
        for name, value, difference in _named(scores, values):
            yield self._entry(name, axis.name, scoring.instrument, difference, value=value)

    def _associations(
        self, axis: Axis, concepts: Mapping[str, ConceptPair], scoring: Scoring
    ) -> AssociationDifferences | Missing:
        """Return the differences in the concept scores of an axis.

        `concepts` lists the concepts of the baseline set, then of each counterfactual set.
        """
        missing = [first.missing + second.missing for first, second in concepts.values()]
        rng = scoring.rng(self.prompt.text, axis.name, "comparison by concepts")
        try:
            sets = [self._paired_concepts(name, pair) for name, pair in concepts.items()]
            scores = association_differences(
                sets, rng=rng, variant=scoring.variant, **scoring.interval_options
            )
        except NotEnoughData as error:
            observed = [each for name in concepts for each in self.sets[name]]
            return why_missing(observed, scoring.instrument, axis, str(error))
        return scores.with_missing(missing)

    def _paired_concepts(self, set_name: str, concepts: ConceptPair) -> PairedSets:
        rows = [each.counts.counts for each in concepts]
        return paired_rows(self.sets[set_name], rows, [each.complete for each in concepts])

    def shares(self, instrument: str) -> Iterator[ScoreDifference]:
        """Yield the differences in shares and deviations, and the distance between the runs.

        A counterfactual set is compared only on the axis whose value its prompt states.
        """
        for (name, sets), axis in product(self.sets.items(), self.prompt.closed):
            set_axis = sets[0].prompt.axis
            if self.prompt.has(set_axis) and set_axis != axis.name:
                continue
            paired = paired_labels(sets, axis, instrument)
            if paired is not None:
                labels = [observed.values[instrument][axis.name] for observed in sets]
                missing = sum(int((~is_labeled(of_set)).sum()) for of_set in labels)
                yield from self._share_entries(name, axis, instrument, paired, missing)
            else:
                reason = why_missing(
                    sets, instrument, axis.axis(), "one of the runs has no answers"
                )
                for value in axis.values:
                    yield self._entry("share", axis.name, instrument, reason, name, value)
                for score_name in ("distance", RUN_DISTANCE):
                    yield self._entry(score_name, axis.name, instrument, reason, name)

    def _share_entries(
        self, set_name: str, axis: AxisPlan, instrument: str, paired: PairedSets, missing: int
    ) -> Iterator[ScoreDifference]:
        """Yield the differences between two runs on an axis, from their labeled images of a set."""
        scoring = self.scoring
        names = (self.prompt.text, set_name, axis.name, instrument)
        for place, value in enumerate(axis.values):
            test_of_value = exchange_test_of_value(paired, place)
            share = share_difference(paired, place, level=scoring.level, test=test_of_value)
            entry = self._entry("share", axis.name, instrument, share, set_name, value)
            yield entry.tested(test_of_value).with_missing(missing)
        deviation = distance_difference(
            paired,
            list(reference_of(axis).values()),
            distance=DISTANCE[axis.scale],
            rng=scoring.rng(*names, "comparison of distances"),
            reference_images=axis.reference_images,
            **scoring.interval_options,
        )
        entry = self._entry("distance", axis.name, instrument, deviation, set_name)
        yield entry.with_missing(missing)
        test = exchange_test(paired)
        between = distance_of_sets(
            paired,
            test,
            distance=DISTANCE[axis.scale],
            rng=scoring.rng(*names, "distance between runs"),
            draws=scoring.draws,
        )
        entry = self._entry(RUN_DISTANCE, axis.name, instrument, between, set_name)
        yield entry.tested(test).with_missing(missing)

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


def _named(
    scores: AssociationDifferences | Missing, values: Sequence[str], clip: bool = False
) -> Iterator[tuple[str, str | None, E]]:
    """Yield the name, the value and the difference of each association score.

    Parameters
    ----------
    scores
        The differences, or the reason why they are missing.
    values
        Values of the counterfactual sets.
    clip
        True if the scores are computed from embedding vectors. As in an audit, askew does not
        compute the alternatives to MAD from embedding vectors.
    """
    suffix = "_clip" if clip else ""
    alternatives: dict[str, E]
    if isinstance(scores, Missing):
        of_mad: E = scores
        of_values: list[E] = [scores] * len(values)
        alternatives = dict.fromkeys(ALTERNATIVES, scores)
    else:
        of_mad = scores.mad
        of_values = [*scores.cas]
        alternatives = {name: getattr(scores, name) for name in ALTERNATIVES}
    yield f"mad{suffix}", None, of_mad
    for value, difference in zip(values, of_values, strict=True):
        yield f"cas{suffix}", value, difference
    if not clip:
        for name, difference in alternatives.items():
            yield name, None, difference


def _rows_of(observed: ObservedSet, vectors: PictureVectors) -> NDArray[np.float64]:
    """Return the unit vectors of a set's images, of shape (images, dimensions).

    Skip images without vectors.
    """
    rows = [
        vectors[picture.id]
        for picture in observed.pictures
        if isinstance(picture, Picture) and picture.id in vectors
    ]
    return unit_vectors(np.array(rows)) if rows else np.zeros((0, 0))


def _paired_vectors(sets: SetPair, vectors: PictureVectors) -> PairedSets:
    """Pair the vectors of two image sets by the seeds of the images."""
    has_vector = []
    for observed in sets:
        present = [
            isinstance(picture, Picture) and picture.id in vectors for picture in observed.pictures
        ]
        has_vector.append(np.array(present, dtype=bool))
    return paired_rows(sets, [_rows_of(observed, vectors) for observed in sets], has_vector)
