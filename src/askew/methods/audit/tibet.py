"""TIBET (Chinchure et al., ECCV 2024): concept association between a prompt's pictures and its
counterfactuals'.

Axes and counterfactual prompts come from a writer (section 3.1), pictures from the model (3.2),
answers and captions from a VQA. Here they become concepts, the concepts CAS and CAS^CLIP (3.3), and
these MAD (3.4).
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
from askew.parts.survey.observed import ObservedSet, why_missing
from askew.plan import PromptPlan
from askew.stats.association import bipartite
from askew.stats.association_intervals import Associations, associations
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.intervals import benjamini_hochberg, in_order
from askew.stats.means import mean_cas, mean_cas_contrast, student_mean
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Axis, Estimate, Missing, Picture

E = Estimate | Missing
TOP_K = 10


@dataclass(frozen=True, slots=True)
class Concepts:
    """The concepts of one picture set, one row per picture that answered every question."""

    counts: ConceptCounts
    complete: NDArray[np.bool_]

    @property
    def missing(self) -> int:
        """Pictures left out because an answer is missing."""
        return int((~self.complete).sum())


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of one space: of pictures by id, and of a prompt's concepts, (concepts,
    dimensions).
    """

    pictures: Mapping[str, NDArray[np.float32]]
    concepts: NDArray[np.float32]


def paired(prompt: PromptPlan, sets: Sequence[ObservedSet]) -> list[ObservedSet]:
    """A prompt's initial set, then its counterfactual ones; empty if either is not there."""
    initial = [one for one in sets if one.prompt.axis is None]
    own = [one for one in sets if prompt.has(one.prompt.axis)]
    return [initial[0], *own] if initial and own else []


def tibet(
    initial: ObservedSet,
    counterfactuals: Sequence[ObservedSet],
    axes: Sequence[Axis],
    scoring: Scoring,
    vectors: Vectors | None = None,
    own_concepts: bool = False,
) -> Tibet:
    """Scores and concepts of one prompt, but for q-values. Without `vectors` there is no CAS^CLIP
    and no bipartite baseline. The concepts of CAS and MAD are those of all answers and captions, so
    that a score depends on which other axes are asked about; with `own_concepts` they are those of
    the answers about the axis itself.
    """
    every = [initial, *counterfactuals]
    prompt = initial.prompt.text
    found = {}
    concepts = dict(
        zip([s.name for s in every], extract_concepts(every, axes, scoring), strict=True)
    )
    for axis in axes:
        sets = [initial, *(s for s in counterfactuals if s.prompt.axis == axis.name)]
        if len(sets) == 1:
            continue
        names = [str(s.prompt.value) for s in sets[1:]]
        own = dict(zip(["initial", *names], sets, strict=True))
        others = [one for one in axes if one.name != axis.name]
        counted = (
            [concepts[s.name] for s in sets]
            if not own_concepts
            else concepts_of_axis(sets, axis, scoring)
        )
        first, *rest = (in_order(one.counts.counts) for one in counted)
        lost = [one.missing for one in counted]
        rng = scoring.rng(prompt, axis.name, "concepts")
        scores: Associations | Missing
        try:
            scores = associations(
                first,
                rest,
                rng=rng,
                variant=scoring.variant,
                missing=lost,
                **scoring.interval_options,
            )
        except NotEnoughData as error:
            scores = why_missing(sets, scoring.instrument, axis, str(error))
        closed = [one for one in others if one.values]
        rng = scoring.rng(prompt, axis.name, "second axes")
        tables = [[own[v].counts(scoring.instrument, other) for v in names] for other in closed]
        tests = zip(
            (o.name for o in closed),
            chi_squares(tables, rng=rng, threshold=SIGNIFICANCE_LEVEL),
            strict=True,
        )
        clip = _by_vectors(sets, axis, scoring, vectors.pictures) if vectors else None
        found[axis.name] = AxisScores(
            kind=axis.kind,
            question=tuple(question.text for question in axis.questions),
            mad=_part(scores, "mad"),
            cas=_by_value(scores, names),
            cas_contrast=_by_value(scores, names, "cas_contrast"),
            alternatives=Alternatives(
                _part(scores, "wasserstein"), _part(scores, "standard_deviation")
            ),
            mad_clip=_part(clip, "mad") if clip else None,
            cas_clip=_by_value(clip, names) if clip else None,
            bipartite=_bipartite([concepts[s.name].counts for s in sets], names, vectors.concepts)
            if vectors
            else None,
            top_concepts={name: axis_concepts(s, axis, scoring) for name, s in own.items()},
            # q is p until all tests of a run are known (`with_q`)
            second_tests={
                name: SecondTest(test.p, test.p)
                for name, test in tests
                if isinstance(test, ChiSquare)
            },
            cas_apart={}
            if isinstance(scores, Missing)
            else dict(zip(names, scores.apart, strict=True)),
            second_axis={
                v: {o.name: axis_concepts(own[v], o, scoring) for o in others} for v in names
            },
        )
    return Tibet(prompt, tuple(top_concepts(concepts["initial"].counts, TOP_K)), found)


def extract_concepts(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], scoring: Scoring
) -> list[Concepts]:
    """Concepts of all answers and captions, synonyms merged over all sets (appendix 9.3). A picture
    counts only if every question has an answer there, so that a missing answer cannot look like a
    difference. A question that was not answered for any picture of any set is left out for all.
    """
    sources = [
        [*zip(*(s.values[scoring.instrument][axis.name] for axis in axes), s.captions, strict=True)]
        for s in sets
    ]
    answered = [
        any(not isinstance(row[i], Missing) for rows in sources for row in rows)
        for i in range(len(axes) + 1)
    ]
    kept = [
        [[text for text, keep in zip(row, answered, strict=True) if keep] for row in rows]
        for rows in sources
    ]
    complete = [
        np.array([not any(isinstance(t, Missing) for t in row) for row in rows], dtype=bool)
        for rows in kept
    ]
    tables = [
        concept_counts(
            [[str(t) for t in row] for row, whole in zip(rows, mask, strict=True) if whole],
            phrases=_phrases(axes, scoring),
        )
        for rows, mask in zip(kept, complete, strict=True)
    ]
    merged = merge_synonyms(tables, scoring.variant)
    return [Concepts(counts, mask) for counts, mask in zip(merged, complete, strict=True)]


def concepts_of_axis(sets: Sequence[ObservedSet], axis: Axis, scoring: Scoring) -> list[Concepts]:
    """Those of the answers about the axis alone, without captions."""
    without = [replace(s, captions=(Missing("not_asked"),) * len(s.captions)) for s in sets]
    return extract_concepts(without, [axis], scoring)


def _phrases(axes: Sequence[Axis], scoring: Scoring) -> list[str]:
    """The values that are one concept whatever their number of words; variant "code" splits them as
    the authors do.
    """
    return [] if scoring.variant == "code" else [value for axis in axes for value in axis.values]


def axis_concepts(observed: ObservedSet, axis: Axis, scoring: Scoring) -> Frequencies:
    """Axis-aligned Top-K concepts (section 3.4): those of the answers about this axis alone."""
    answers = [
        [v] for v in observed.values[scoring.instrument][axis.name] if not isinstance(v, Missing)
    ]
    return (
        tuple(top_concepts(concept_counts(answers, phrases=_phrases([axis], scoring)), TOP_K))
        if answers
        else ()
    )


def domain(entries: Sequence[Tibet], level: float) -> tuple[Domain, ...]:
    """Every axis that at least two prompts share with the same values (section 5.2). Means of
    debiased scores over prompts, with Student's interval; what sets two values apart, per prompt.
    """
    shared: dict[tuple[str, tuple[str, ...]], list[tuple[str, AxisScores]]] = {}
    for entry in entries:
        for name, axis in entry.axes.items():
            if all(isinstance(e, Estimate) for e in axis.cas.values()):
                shared.setdefault((name, tuple(axis.cas)), []).append((entry.prompt, axis))
    found = []
    for (name, values), rows in shared.items():
        if len(rows) < 2:
            continue
        scores = np.array(
            [[e.mark for e in axis.cas.values() if isinstance(e, Estimate)] for _, axis in rows]
        )
        rest = np.array(
            [
                [(e.mark, e.value) for e in axis.cas_contrast.values() if isinstance(e, Estimate)]
                for _, axis in rows
            ]
        )
        totals = scores.sum(axis=1, keepdims=True)
        pair = len(values) == 2
        scaled = scores / totals if totals.all() else scores[:, :0]
        found.append(
            Domain(
                axis=name,
                cas={
                    value: mean_cas(column, [axis.cas_apart[value] for _, axis in rows], level)
                    for value, column in zip(values, scores.T, strict=True)
                },
                against_rest={
                    value: mean_cas_contrast(rest[:, k, 0], rest[:, k, 1], level)
                    for k, value in enumerate(values)
                    if k == 0 or not pair
                },
                scaled={
                    value: student_mean(column, level, "t over prompts", bounds=(0, 1))
                    for value, column in zip(values, scaled.T, strict=False)
                },
                differences=tuple(
                    PromptDifference(prompt, (values[0], values[1]), axis.cas_contrast[values[0]])
                    for prompt, axis in rows
                    if pair
                ),
            )
        )
    return tuple(found)


def with_q(entries: Sequence[Tibet], of_mad: Mapping[tuple[str, str], float]) -> tuple[Tibet, ...]:
    """The same with the q of every MAD by prompt and axis; tests of second axes are one
    Benjamini-Hochberg family.
    """
    every = [
        one
        for entry in entries
        for axis in entry.axes.values()
        for one in axis.second_tests.values()
    ]
    qs = iter(benjamini_hochberg(np.array([one.p for one in every])).tolist() if every else [])

    def judged(axis: AxisScores, q: float | None) -> AxisScores:
        tests = {other: SecondTest(one.p, next(qs)) for other, one in axis.second_tests.items()}
        mad = replace(axis.mad, q=q) if isinstance(axis.mad, Estimate) else axis.mad
        return replace(axis, mad=mad, second_tests=tests)

    return tuple(
        replace(
            entry,
            axes={n: judged(axis, of_mad.get((entry.prompt, n))) for n, axis in entry.axes.items()},
        )
        for entry in entries
    )


def _by_vectors(
    sets: Sequence[ObservedSet],
    axis: Axis,
    scoring: Scoring,
    rows: Mapping[str, NDArray[np.float32]],
) -> Associations | Missing:
    pictures = [[p for p in s.pictures if isinstance(p, Picture)] for s in sets]
    if not all(pictures):
        return Missing("not_asked", "a set has no picture")
    vectors = [in_order(np.stack([rows[p.id] for p in some])) for some in pictures]
    missing = [len(s.pictures) - len(some) for s, some in zip(sets, pictures, strict=True)]
    rng = scoring.rng(sets[0].prompt.text, axis.name, "vectors")
    first, *others = vectors
    return associations(
        first,
        others,
        rng=rng,
        variant=scoring.variant,
        missing=missing,
        embedded=True,
        **scoring.interval_options,
    )


def _bipartite(
    tables: Sequence[ConceptCounts], names: Sequence[str], meanings: NDArray[np.float32]
) -> dict[str, float] | None:
    """The baseline of table 3: concepts matched by the cosine of their text embeddings."""
    if not all(table.counts.size for table in tables):
        return None
    texts, (initial, *others) = meanings.astype(np.float64), [table.frequencies for table in tables]
    return {
        name: bipartite(initial, one, texts @ texts.T)
        for name, one in zip(names, others, strict=True)
    }


def _part(scores: Associations | Missing, name: str) -> Estimate | Missing:
    """One of the scores; where they are all missing, why."""
    found: Estimate | Missing = scores if isinstance(scores, Missing) else getattr(scores, name)
    return found


def _by_value(
    scores: Associations | Missing, names: Sequence[str], field: str = "cas"
) -> dict[str, E]:
    return dict(zip(names, getattr(scores, field, [scores] * len(names)), strict=True))
