"""Compute TIBET's association between a prompt's images and its counterfactual images (ECCV 2024).

Chinchure et al., "TIBET: Identifying and Evaluating Biases in Text-to-Image Generative Models". A
prompt generator proposes axes and counterfactual prompts (section 3.1), the model generates images
(3.2), and a VQA model answers questions about them. This module turns the answers into concepts and
computes the similarity score CAS from them (3.3). CAS^CLIP is computed from image embeddings; the
MAD score is computed from an axis's CAS values (3.4). The formulas are in
`askew.stats.association`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.measure.concepts import ConceptCounts, concept_counts, merge_synonyms, top_concepts
from askew.methods.audit.findings import (
    Alternatives,
    AxisScores,
    Domain,
    Frequencies,
    PromptDifference,
    SecondTest,
    Tibet,
)
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import Answer, ObservedSet, why_missing
from askew.plan import PromptPlan
from askew.stats.association import bipartite
from askew.stats.association_intervals import Associations, associations
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.intervals import benjamini_hochberg, from_enough, in_order
from askew.stats.means import mean_cas, mean_cas_contrast, student_mean
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Axis, Estimate, Missing, Picture

TOP_K = 10
"""Number of concepts reported for each set."""

E = Estimate | Missing
PictureVectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Concepts:
    """The concepts of an image set.

    Attributes
    ----------
    counts : ConceptCounts
        Concept counts, one row per image that has answers to all questions.
    complete : array of bool, (pictures,)
        True for each image that has answers to all questions.
    """

    counts: ConceptCounts
    complete: NDArray[np.bool_]

    @property
    def missing(self) -> int:
        """Number of images that are not used because an answer is missing."""
        return int((~self.complete).sum())


@dataclass(frozen=True, slots=True)
class SetTexts:
    """Answers and captions from which the concepts of an image set are taken.

    Attributes
    ----------
    columns : sequence of int
        For each column of `rows`, a number that states its content: the index of an axis if the
        column contains answers about this axis, or the number of axes if it contains captions.
    rows : sequence of sequence of str
        Answers and caption of each image that has answers to all questions, one row per image.
    complete : array of bool, (pictures,)
        True for each image that has answers to all questions.
    """

    columns: Sequence[int]
    rows: Sequence[Sequence[str]]
    complete: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors computed by one embedder.

    Attributes
    ----------
    pictures : mapping of image id to array, (dimensions,)
        Embeddings of images.
    concepts : array, (concepts, dimensions)
        Embeddings of a prompt's concepts, in the order of its vocabulary.
    """

    pictures: PictureVectors
    concepts: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AxisSets:
    """Image sets from which an axis's scores are computed: baseline set and counterfactual sets."""

    axis: Axis
    initial: ObservedSet
    counterfactuals: Sequence[ObservedSet]

    @property
    def all_sets(self) -> list[ObservedSet]:
        """The baseline set, followed by the counterfactual sets."""
        return [self.initial, *self.counterfactuals]

    @property
    def values(self) -> list[str]:
        """Axis value of each counterfactual set."""
        return [str(observed.prompt.value) for observed in self.counterfactuals]

    @property
    def by_value(self) -> dict[str, ObservedSet]:
        """Counterfactual sets, keyed by axis value."""
        return dict(zip(self.values, self.counterfactuals, strict=True))


def paired(prompt: PromptPlan, sets: Sequence[ObservedSet]) -> list[ObservedSet]:
    """Return a prompt's baseline set and counterfactual sets; empty if either kind is missing."""
    initial = [observed for observed in sets if observed.prompt.axis is None]
    counterfactuals = [observed for observed in sets if prompt.has(observed.prompt.axis)]
    if not initial or not counterfactuals:
        return []
    return [initial[0], *counterfactuals]


def tibet(
    initial: ObservedSet,
    counterfactuals: Sequence[ObservedSet],
    axes: Sequence[Axis],
    scoring: Scoring,
    vectors: Vectors | None = None,
    own_concepts: bool = False,
) -> Tibet:
    """Compute TIBET's scores for all axes of a prompt. `with_q` adds q-values later.

    Parameters
    ----------
    initial
        Images of the prompt.
    counterfactuals
        Images generated from its counterfactual prompts.
    axes
        The axes to score. An axis without a counterfactual set is omitted.
    scoring
        Instrument, seed, number of bootstrap samples, confidence level, and variant of the scores.
    vectors
        Embeddings of images and concepts. If None, CAS^CLIP and the bipartite baseline score are
        not computed.
    own_concepts
        True if the concepts of an axis come only from the answers about this axis. By default, the
        concepts come from all answers and captions, as in the paper. The score of an axis then also
        depends on the questions about other axes.
    """
    sets = [initial, *counterfactuals]
    names = [observed.name for observed in sets]
    concepts = dict(zip(names, extract_concepts(sets, axes, scoring), strict=True))
    scores = {}
    for axis in axes:
        own_sets = [observed for observed in counterfactuals if observed.prompt.axis == axis.name]
        if own_sets:
            others = [other for other in axes if other.name != axis.name]
            compared = AxisSets(axis, initial, own_sets)
            scores[axis.name] = _axis_scores(
                compared, others, concepts, scoring, vectors, own_concepts
            )
    top = top_concepts(concepts["initial"].counts, TOP_K)
    return Tibet(prompt=initial.prompt.text, top_concepts=tuple(top), axes=scores)


def _axis_scores(
    sets: AxisSets,
    others: Sequence[Axis],
    concepts: Mapping[str, Concepts],
    scoring: Scoring,
    vectors: Vectors | None,
    own_concepts: bool,
) -> AxisScores:
    """Compute all scores of an axis from the concepts of its image sets."""
    if own_concepts:
        counted = concepts_of_axis(sets.all_sets, sets.axis, scoring)
    else:
        counted = [concepts[observed.name] for observed in sets.all_sets]
    scores = _associations_by_concepts(sets, counted, scoring)

    by_vectors: Associations | Missing | None = None
    matched: dict[str, float] | None = None
    if vectors is not None:
        by_vectors = _associations_by_vectors(sets, scoring, vectors.pictures)
        tables = [concepts[observed.name].counts for observed in sets.all_sets]
        matched = _bipartite(tables, sets.values, vectors.concepts)

    return AxisScores(
        kind=sets.axis.kind,
        question=tuple(question.text for question in sets.axis.questions),
        mad=_mad(scores),
        cas=_cas_by_value(scores, sets.values),
        cas_contrast=_contrast_by_value(scores, sets.values),
        alternatives=_alternatives(scores),
        mad_clip=None if by_vectors is None else _mad(by_vectors),
        cas_clip=None if by_vectors is None else _cas_by_value(by_vectors, sets.values),
        bipartite=matched,
        top_concepts=_top_concepts_of_sets(sets, scoring),
        second_axis=_concepts_of_second_axes(sets, others, scoring),
        second_tests=_tests_of_second_axes(sets, others, scoring),
        cas_apart=_apart_by_value(scores, sets.values),
    )


def _associations_by_concepts(
    sets: AxisSets, counted: Sequence[Concepts], scoring: Scoring
) -> Associations | Missing:
    """Return CAS and MAD of an axis (Eq. 1-3, 5-7), or the reason why they are missing."""
    initial, *counterfactuals = [in_order(concepts.counts.counts) for concepts in counted]
    rng = scoring.rng(sets.initial.prompt.text, sets.axis.name, "concepts")
    try:
        return associations(
            initial,
            counterfactuals,
            rng=rng,
            variant=scoring.variant,
            missing=[concepts.missing for concepts in counted],
            **scoring.interval_options,
        )
    except NotEnoughData as error:
        return why_missing(sets.all_sets, scoring.instrument, sets.axis, str(error))


def _associations_by_vectors(
    sets: AxisSets, scoring: Scoring, vectors: PictureVectors
) -> Associations | Missing:
    """Return CAS^CLIP and its MAD (Eq. 4), or the reason why they are missing."""
    pictures = [_present_pictures(observed) for observed in sets.all_sets]
    if not all(pictures):
        return Missing("not_asked", "a set has no picture")
    initial, *counterfactuals = [_stacked(present, vectors) for present in pictures]
    rng = scoring.rng(sets.initial.prompt.text, sets.axis.name, "vectors")
    return associations(
        initial,
        counterfactuals,
        rng=rng,
        variant=scoring.variant,
        missing=[
            len(observed.pictures) - len(present)
            for observed, present in zip(sets.all_sets, pictures, strict=True)
        ],
        embedded=True,
        **scoring.interval_options,
    )


def _present_pictures(observed: ObservedSet) -> list[Picture]:
    return [picture for picture in observed.pictures if isinstance(picture, Picture)]


def _stacked(pictures: Sequence[Picture], vectors: PictureVectors) -> NDArray[np.float32]:
    """Return the images' vectors in an order that does not depend on the order of the images."""
    return in_order(np.stack([vectors[picture.id] for picture in pictures]))


def _bipartite(
    tables: Sequence[ConceptCounts], values: Sequence[str], meanings: NDArray[np.float32]
) -> dict[str, float] | None:
    """Compute the baseline score of table 3, which matches concepts by embedding similarity."""
    if not all(table.counts.size for table in tables):
        return None
    vectors = meanings.astype(np.float64)
    cosines = vectors @ vectors.T
    initial, *counterfactuals = [table.frequencies for table in tables]
    return {
        value: bipartite(initial, frequencies, cosines)
        for value, frequencies in zip(values, counterfactuals, strict=True)
    }


def _mad(scores: Associations | Missing) -> E:
    return scores if isinstance(scores, Missing) else scores.mad


def _alternatives(scores: Associations | Missing) -> Alternatives:
    if isinstance(scores, Missing):
        return Alternatives(wasserstein=scores, standard_deviation=scores)
    return Alternatives(
        wasserstein=scores.wasserstein, standard_deviation=scores.standard_deviation
    )


def _cas_by_value(scores: Associations | Missing, values: Sequence[str]) -> dict[str, E]:
    if isinstance(scores, Missing):
        return dict.fromkeys(values, scores)
    return dict(zip(values, scores.cas, strict=True))


def _contrast_by_value(scores: Associations | Missing, values: Sequence[str]) -> dict[str, E]:
    if isinstance(scores, Missing):
        return dict.fromkeys(values, scores)
    return dict(zip(values, scores.cas_contrast, strict=True))


def _apart_by_value(scores: Associations | Missing, values: Sequence[str]) -> dict[str, float]:
    if isinstance(scores, Missing):
        return {}
    return dict(zip(values, scores.apart, strict=True))


def _concepts_of_second_axes(
    sets: AxisSets, others: Sequence[Axis], scoring: Scoring
) -> dict[str, dict[str, Frequencies]]:
    """Return each counterfactual set's most frequent concepts on all other axes."""
    concepts: dict[str, dict[str, Frequencies]] = {}
    for value, observed in sets.by_value.items():
        concepts[value] = {other.name: axis_concepts(observed, other, scoring) for other in others}
    return concepts


def _tests_of_second_axes(
    sets: AxisSets, others: Sequence[Axis], scoring: Scoring
) -> dict[str, SecondTest]:
    """Test whether the labels on other axes differ between the counterfactual sets.

    q equals p until `with_q` corrects it over all tests of the run.
    """
    closed = [other for other in others if other.values]
    tables = []
    for other in closed:
        rows = [observed.counts(scoring.instrument, other) for observed in sets.counterfactuals]
        tables.append(rows)
    rng = scoring.rng(sets.initial.prompt.text, sets.axis.name, "second axes")
    tests = chi_squares(tables, rng=rng, threshold=SIGNIFICANCE_LEVEL)
    return {
        other.name: SecondTest(p=test.p, q=test.p)
        for other, test in zip(closed, tests, strict=True)
        if isinstance(test, ChiSquare)
    }


def extract_concepts(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], scoring: Scoring
) -> list[Concepts]:
    """Turn the answers and captions of image sets into concepts (appendix 9.3).

    Synonyms are merged across all sets. `texts_of_sets` selects the images.
    """
    phrases = phrases_of(axes, scoring)
    texts_by_set = texts_of_sets(sets, axes, scoring)
    tables = [concept_counts(texts.rows, phrases=phrases) for texts in texts_by_set]
    merged = merge_synonyms(tables, scoring.variant)
    return [
        Concepts(counts=table, complete=texts.complete)
        for table, texts in zip(merged, texts_by_set, strict=True)
    ]


def texts_of_sets(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], scoring: Scoring
) -> list[SetTexts]:
    """Return the answers and captions of image sets, with the same columns for all sets.

    Only images with answers to all questions are used. Otherwise, a missing answer could look like
    a difference. A question that has no answer for any image is omitted from all sets.
    """
    rows_of_sets = [_texts_of_pictures(observed, axes, scoring.instrument) for observed in sets]
    answered = _answered_columns(rows_of_sets)
    texts = []
    for rows in rows_of_sets:
        usable = [_columns_of(row, answered) for row in rows]
        texts.append(
            SetTexts(
                columns=answered,
                rows=[_as_texts(row) for row in usable if _is_complete(row)],
                complete=np.array([_is_complete(row) for row in usable], dtype=bool),
            )
        )
    return texts


def _texts_of_pictures(
    observed: ObservedSet, axes: Sequence[Axis], instrument: str
) -> list[tuple[Answer, ...]]:
    """Return a row per image: its answers about the axes, followed by its caption."""
    columns = [observed.values[instrument][axis.name] for axis in axes]
    return list(zip(*columns, observed.captions, strict=True))


def _answered_columns(rows_of_sets: Sequence[Sequence[tuple[Answer, ...]]]) -> list[int]:
    """Return the positions of the questions that were answered for at least one image."""
    all_rows = [row for rows in rows_of_sets for row in rows]
    columns = zip(*all_rows, strict=True)
    return [place for place, column in enumerate(columns) if _has_answer(column)]


def _has_answer(answers: Sequence[Answer]) -> bool:
    return any(not isinstance(answer, Missing) for answer in answers)


def _is_complete(row: Sequence[Answer]) -> bool:
    return not any(isinstance(answer, Missing) for answer in row)


def _columns_of(row: Sequence[Answer], columns: Sequence[int]) -> list[Answer]:
    return [row[column] for column in columns]


def _as_texts(row: Sequence[Answer]) -> list[str]:
    return [str(answer) for answer in row]


def concepts_of_axis(sets: Sequence[ObservedSet], axis: Axis, scoring: Scoring) -> list[Concepts]:
    """Turn the answers about an axis into concepts, ignoring the captions."""
    return extract_concepts(without_captions(sets), [axis], scoring)


def without_captions(sets: Sequence[ObservedSet]) -> list[ObservedSet]:
    """Return the sets with every caption marked as missing."""
    uncaptioned = []
    for observed in sets:
        no_captions = (Missing("not_asked"),) * len(observed.captions)
        uncaptioned.append(replace(observed, captions=no_captions))
    return uncaptioned


def axis_concepts(observed: ObservedSet, axis: Axis, scoring: Scoring) -> Frequencies:
    """Return the top concepts in the answers about one axis ("axis-aligned", section 3.4)."""
    answers = observed.values[scoring.instrument][axis.name]
    known = [[answer] for answer in answers if not isinstance(answer, Missing)]
    if not known:
        return ()
    counts = concept_counts(known, phrases=phrases_of([axis], scoring))
    return tuple(top_concepts(counts, TOP_K))


def _top_concepts_of_sets(sets: AxisSets, scoring: Scoring) -> dict[str, Frequencies]:
    """Return the axis-aligned top concepts of each set; the baseline set is called "initial"."""
    concepts = {"initial": axis_concepts(sets.initial, sets.axis, scoring)}
    for value, observed in sets.by_value.items():
        concepts[value] = axis_concepts(observed, sets.axis, scoring)
    return concepts


def phrases_of(axes: Sequence[Axis], scoring: Scoring) -> list[str]:
    """Return the axis values that count as single concepts even if they have several words.

    With the variant "code", the result is empty, because the authors' code splits values into
    words.
    """
    if scoring.variant == "code":
        return []
    return [value for axis in axes for value in axis.values]


def domain(entries: Sequence[Tibet], level: float) -> tuple[Domain, ...]:
    """For each axis, compare the prompts that have this axis with the same values (section 5.2).

    Scores are debiased and averaged over prompts. Their intervals are Student's t intervals at
    confidence level `level`. For an axis with two values, the result also contains the difference
    between the two scores in each prompt.
    """
    shared: dict[tuple[str, tuple[str, ...]], dict[str, AxisScores]] = {}
    for entry in entries:
        for name, scores in entry.axes.items():
            if all(isinstance(score, Estimate) for score in scores.cas.values()):
                by_prompt = shared.setdefault((name, tuple(scores.cas)), {})
                by_prompt[entry.prompt] = scores
    return tuple(
        _domain_of_axis(name, values, by_prompt, level)
        for (name, values), by_prompt in shared.items()
        if len(by_prompt) > 1
    )


def _domain_of_axis(
    name: str, values: tuple[str, ...], by_prompt: Mapping[str, AxisScores], level: float
) -> Domain:
    """Compare prompts on one axis."""
    scores = list(by_prompt.values())
    # Of two values, the contrast of the second is the first one's with its sign turned.
    contrasted = values[:1] if len(values) == 2 else values
    differences: tuple[PromptDifference, ...] = ()
    if len(values) == 2:
        differences = tuple(
            PromptDifference(
                prompt=prompt,
                values=(values[0], values[1]),
                estimate=axis.cas_contrast[values[0]],
            )
            for prompt, axis in by_prompt.items()
        )
    return Domain(
        axis=name,
        cas={value: _mean_cas(value, scores, level) for value in values},
        against_rest={value: _mean_contrast(value, scores, level) for value in contrasted},
        scaled=_scaled_cas(values, scores, level),
        differences=differences,
    )


def _mean_cas(value: str, scores: Sequence[AxisScores], level: float) -> Estimate:
    """Return the debiased CAS of a value, averaged over prompts."""
    estimates = [_estimate(axis.cas[value]) for axis in scores]
    apart = [axis.cas_apart[value] for axis in scores]
    mean = mean_cas([estimate.mark for estimate in estimates], apart, level)
    return _without_bias(mean, estimates)


def _without_bias(mean: Estimate, estimates: Sequence[Estimate]) -> Estimate:
    """Return a mean over prompts, without its interval if a prompt has too few images.

    With too few images, neither the scores nor their mean can be corrected for the bias of small
    samples.
    """
    if all(estimate.interval is not None for estimate in estimates):
        return mean
    return from_enough(mean, 0)


def _mean_contrast(value: str, scores: Sequence[AxisScores], level: float) -> Estimate:
    """Return the CAS of a value minus the mean CAS of the other values, averaged over prompts."""
    contrasts = [_estimate(axis.cas_contrast[value]) for axis in scores]
    marks = np.array([contrast.mark for contrast in contrasts])
    plug_in = np.array([contrast.value for contrast in contrasts])
    return _without_bias(mean_cas_contrast(marks, plug_in, level), contrasts)


def _scaled_cas(
    values: Sequence[str], scores: Sequence[AxisScores], level: float
) -> dict[str, Estimate]:
    """Return each value's CAS as a share of the sum over all values, averaged over prompts.

    This is the paper's scaling. The result is empty if a sum is 0.
    """
    rows = []
    estimates = []
    for axis in scores:
        of_prompt = [_estimate(axis.cas[value]) for value in values]
        estimates += of_prompt
        rows.append([estimate.mark for estimate in of_prompt])
    marks = np.array(rows)
    totals = marks.sum(axis=1, keepdims=True)
    if not totals.all():
        return {}
    means = {}
    for value, column in zip(values, (marks / totals).T, strict=True):
        mean = student_mean(column, level, "t over prompts", bounds=(0, 1))
        means[value] = _without_bias(mean, estimates)
    return means


def _estimate(score: E) -> Estimate:
    """Check that the score is an estimate, and return it."""
    assert isinstance(score, Estimate), "only prompts whose scores are all known can be compared"
    return score


def with_q(entries: Sequence[Tibet]) -> tuple[Tibet, ...]:
    """Add q-values. All tests of MAD form one family, and all tests of second axes form another."""
    axes_of_prompts = [scores for entry in entries for scores in entry.axes.values()]
    of_mads = [scores.mad.p for scores in axes_of_prompts if isinstance(scores.mad, Estimate)]
    mad_q_values = iter(benjamini_hochberg([p for p in of_mads if p is not None]).tolist())
    p_values = [test.p for scores in axes_of_prompts for test in scores.second_tests.values()]
    q_values = iter(benjamini_hochberg(np.array(p_values)).tolist())

    judged = []
    for entry in entries:
        axes = {}
        for name, scores in entry.axes.items():
            tests = {
                other: SecondTest(p=test.p, q=next(q_values))
                for other, test in scores.second_tests.items()
            }
            mad = scores.mad
            if isinstance(mad, Estimate) and mad.p is not None:
                mad = replace(mad, q=next(mad_q_values))
            axes[name] = replace(scores, mad=mad, second_tests=tests)
        judged.append(replace(entry, axes=axes))
    return tuple(judged)
