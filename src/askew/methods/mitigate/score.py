"""From pictures before and after to what a mitigation changed: nothing that chose it has a part in
this.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.methods.mitigate.findings import (
    AxisChange,
    MitigationFindings,
    PairChange,
    TechniqueFindings,
)
from askew.methods.mitigate.gather import EvaluationSet, MitigationGathered
from askew.methods.mitigate.plan import PROMPTS, MitigationPlan
from askew.methods.mitigate.policy import wanted
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.shares import DISTANCE, SetShares, shares
from askew.parts.survey.verdicts import with_verdicts
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.statements import occupations_in
from askew.stats.contingency import cramers_v, raked
from askew.stats.differences import (
    dependence_change,
    distance_difference,
    kernel_distance,
    share_difference,
)
from askew.stats.intervals import ends
from askew.stats.means import student_mean
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

ONE_VALUE = "a single value of one of them was seen, before or after"
FEWEST = 5
"""Pictures of a value before, from which it is known how it hangs together with others."""


def score(plan: MitigationPlan, found: MitigationGathered, head: Head) -> MitigationFindings:
    """The findings of a run.

    q-values: changes of the aimed axes are one family, those of the watched axes another, rises of
    dependence a third.
    """
    scoring = Scoring.of(plan)
    prompts = {prompt.text: prompt for prompt in plan.prompts}
    seen: list[SetShares] = []
    techniques: list[TechniqueFindings] = []
    for text, judged in found.judged.items():
        own = [
            [
                shares(
                    one.observed, axis, text, scoring, found.errors.get((plan.vqa[0], axis.name))
                )
                for axis in prompts[text].closed
            ]
            for one in judged
        ]
        seen += [entry for entries in own for entry in entries]
        techniques += [
            _technique(plan, prompts[text], found, (judged[0], after), (own[0], entries), scoring)
            for after, entries in zip(judged[1:], own[1:], strict=True)
        ]

    def family(at: tuple[str | int, ...]) -> str | None:
        if at[-1] == "change":
            return "is_target" if techniques[int(at[0])].axes[int(at[2])].is_target else "watched"
        return "pairs" if at[-1] == "rise" else None

    return head.into(
        MitigationFindings,
        shares=with_verdicts(seen)[0],
        confusion=found.confusion,
        techniques=with_q(tuple(techniques), family),
        mitigations={name: technique.to_toml() for name, technique in found.techniques.items()},
    )


def _technique(
    plan: MitigationPlan,
    prompt: PromptPlan,
    found: MitigationGathered,
    judged: tuple[EvaluationSet, EvaluationSet],
    seen: tuple[Sequence[SetShares], Sequence[SetShares]],
    scoring: Scoring,
) -> TechniqueFindings:
    """What the second of two sets of pictures shows against the first."""
    (before, after), technique = judged, str(judged[1].technique)
    chosen = found.chosen.get(prompt.text) if technique == PROMPTS else None
    axes = tuple(
        AxisChange(
            axis.name,
            axis.name in plan.target_axes,
            one.distance,
            other.distance,
            _change(before, after, axis, scoring, (one.distance, other.distance)),
            {
                name: _change(before, after, axis, replace(scoring, instrument=name))
                for name in plan.vqa[1:]
            },
            chosen.predicted[axis.name] if chosen else None,
            _followed(after, axis, scoring),
        )
        for axis, one, other in zip(prompt.closed, *seen, strict=True)
    )
    kept = [_kept(one, prompt.text) for one in (after, before)]
    read = [
        zip(
            *(one.observed.values[scoring.instrument][name] for name in plan.target_axes),
            strict=True,
        )
        for one in (after, before)
    ]
    unlabeled = [
        [any(isinstance(value, Missing) for value in row) for row in rows] for rows in read
    ]
    return TechniqueFindings(
        prompt.text,
        technique,
        found.techniques[technique].cost,
        axes,
        tuple(_pairs(prompt, before, after, scoring)),
        or_missing(_more, kept[0], kept[1], plan.confidence) if kept[0] else None,
        share_intervals([kept[1].count(True), kept[1].count(False)], level=plan.confidence)[0]
        if any(kept[1])
        else None,
        _more(unlabeled[0], unlabeled[1], plan.confidence),
        *_by_vectors(before, after, scoring),
    )


def paired(
    after: Sequence[object], before: Sequence[object], values: Sequence[object]
) -> PairedSets:
    """A column for each value, and a row for each answer that is one; answers about one seed are a
    pair.

    Raises NotEnoughData for a set without any.
    """
    places = [[k for k, answer in enumerate(some) if answer in values] for some in (after, before)]
    rows = [
        np.array([[float(some[k] == value) for value in values] for k in at]).reshape(
            -1, len(values)
        )
        for some, at in zip((after, before), places, strict=True)
    ]
    return PairedSets.of(rows[0], rows[1], places[0], places[1])


def _more(after: Sequence[bool | None], before: Sequence[bool | None], level: float) -> Estimate:
    """How much more often something holds; None is not known."""
    return share_difference(paired(after, before, (True, False)), 0, level=level)


def _change(
    before: EvaluationSet,
    after: EvaluationSet,
    axis: AxisPlan,
    scoring: Scoring,
    beside: Sequence[E] = (),
) -> E:
    """The distance after less that before: of debiased ones that stand `beside` it, and then within
    its interval.
    """
    answers = [one.observed.values[scoring.instrument][axis.name] for one in (after, before)]
    rng = scoring.rng(
        before.observed.prompt.text, str(after.technique), axis.name, scoring.instrument, "change"
    )

    def change() -> Estimate:
        sets = paired(answers[0], answers[1], axis.values)
        return distance_difference(
            sets, wanted(axis), distance=DISTANCE[axis.scale], rng=rng, **scoring.interval_options
        )

    found = or_missing(change, detail="no picture before or after has an answer")
    marks = [one.mark for one in beside if isinstance(one, Estimate)]
    if not isinstance(found, Estimate) or len(marks) < 2:
        return found
    value, (low, high) = marks[1] - marks[0], ends(found)
    return replace(found, value=value, low=min(low, value), high=max(high, value))


def _followed(after: EvaluationSet, axis: AxisPlan, scoring: Scoring) -> Estimate | None:
    """How often that is read which was asked of a picture; what cannot be read counts as missing,
    not as disobeyed.
    """
    read = after.observed.values[scoring.instrument][axis.name]
    asked = after.asked.get(axis.name) or [None] * len(read)
    pairs = [(a, b) for a, b in zip(asked, read, strict=True) if a is not None]
    known = [a == b for a, b in pairs if not isinstance(b, Missing)]
    if not known:
        return None
    counts = [sum(known), len(known) - sum(known)]
    return share_intervals(counts, level=scoring.level, missing=len(pairs) - len(known))[0]


def _pairs(
    prompt: PromptPlan, before: EvaluationSet, after: EvaluationSet, scoring: Scoring
) -> list[PairChange]:
    """Every pair of axes."""
    found = []
    for one, other in combinations(prompt.closed, 2):
        values = [judged.observed.values[scoring.instrument] for judged in (after, before)]
        answers = [[*zip(own[one.name], own[other.name], strict=True)] for own in values]
        shape = (len(one.values), len(other.values))
        try:
            sets = paired(answers[0], answers[1], [*product(one.values, other.values)])
        except NotEnoughData:
            continue
        became, was = (rows.sum(axis=0).reshape(shape) for rows in (sets.first, sets.second))
        rng = scoring.rng(prompt.text, str(after.technique), one.name, other.name, "dependence")
        varied = all(
            (table.sum(axis=side) > 0).sum() > 1 for table in (became, was) for side in (0, 1)
        )
        rise = (
            dependence_change(sets, shape, rng=rng, **scoring.interval_options)
            if varied
            else Missing("not_asked", ONE_VALUE)
        )
        known = all(
            (was.sum(axis=side)[became.sum(axis=side) > 0] >= FEWEST).all() for side in (0, 1)
        )
        v, carried, v_after = (
            float(cramers_v(table)) for table in (was, raked(was, became), became)
        )
        found.append(
            PairChange((one.name, other.name), v, carried if known else None, v_after, rise)
        )
    return found


def _kept(judged: EvaluationSet, prompt: str) -> list[bool | None]:
    """Of each picture whether its occupation reads as the prompt's; empty where the prompt names
    none.
    """
    nouns = [one.lower() for one in occupations_in(prompt)]
    read = (
        [None if isinstance(one, Missing) else str(one).lower() for one in judged.subjects]
        if nouns
        else []
    )
    return [
        None if text is None else any(noun in text or text in noun for noun in nouns)
        for text in read
    ]


def _by_vectors(
    before: EvaluationSet, after: EvaluationSet, scoring: Scoring
) -> tuple[Estimate | None, Estimate | None]:
    """How much nearer pictures are to the prompt, and how far from those before; of seeds that have
    both.
    """
    both = sorted(after.vectors.keys() & before.vectors.keys())
    if len(both) < 2 or before.text is None:
        return None, None
    a, b = (np.array([one.vectors[k] for k in both], dtype=float) for one in (after, before))
    nearness = student_mean((a - b) @ before.text, scoring.level, "Student's t, paired", null=0.0)
    rng = scoring.rng(before.observed.prompt.text, str(after.technique), "pictures")
    return nearness, kernel_distance(a, b, rng=rng, draws=scoring.draws)
