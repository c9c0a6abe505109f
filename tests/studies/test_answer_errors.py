"""Simulated errors in answers and captions, compared with scores of explicitly replaced texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from askew.errors import UsageError
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import extract_concepts, tibet
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.counterfactuals import counterfactuals
from askew.stats.association import cas, corrupt, mad
from askew.studies.answer_errors import SimulatedAxis, answered_sets, axis_changes, ranking
from askew.studies.reading_errors import RATES, SCORES, ErrorRate, ErrorRates, changes_by_rate
from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question
from planted_sets import planted_sets

SCORING = Scoring("truth", draws=20)
NURSE = "a photo of a nurse"
NAMES = ["gender", "age", "ethnicity"]


@cache
def nurses() -> tuple[list[ObservedSet], list[Axis]]:
    """Return the sets of a nurse; an answer and a caption are missing."""
    initial, others, axes = planted_sets(NURSE, NAMES, 12, 1.0)
    ages = initial.values["truth"]["age"]
    holes = {**initial.values["truth"], "age": (Missing("refused"), *ages[1:])}
    captions = (*initial.captions[:3], Missing("refused"), *initial.captions[4:])
    return [replace(initial, values={"truth": holes}, captions=captions), *others], axes


def names_by_axis(sets: Sequence[ObservedSet], axes: Sequence[Axis]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {axis.name: [] for axis in axes}
    for observed in sets:
        if observed.prompt.axis in names:
            names[observed.prompt.axis].append(observed.name)
    return names


def cas_of_audit(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], scoring: Scoring, own_concepts: bool
) -> dict[str, list[float]]:
    """Return the CAS that an audit reports."""
    entry = tibet(sets[0], sets[1:], axes, scoring, own_concepts=own_concepts)
    scores = {}
    for name, axis in entry.axes.items():
        scores[name] = [score.value for score in axis.cas.values()]
    return scores


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_without_errors_the_scores_are_those_of_the_audit(variant: Any) -> None:
    sets, axes = nurses()
    scoring = replace(SCORING, variant=variant)
    answered = answered_sets(sets, axes, scoring, own_concepts=False)
    changes = axis_changes(
        answered, names_by_axis(sets, axes), 0.0, "both", rng=np.random.default_rng(0), runs=2
    )
    for name, expected in cas_of_audit(sets, axes, scoring, own_concepts=False).items():
        assert changes[name].before == pytest.approx(expected, rel=1e-12)
        assert changes[name].after == pytest.approx(np.array([expected] * 2), rel=1e-12)


def test_with_concepts_of_an_axis_only_its_answers_count() -> None:
    sets, axes = nurses()
    of_age = [sets[0], *(observed for observed in sets if observed.prompt.axis == "age")]
    answered = answered_sets(of_age, axes[1:2], SCORING, own_concepts=True)
    changes = axis_changes(
        answered, names_by_axis(sets, axes[1:2]), 0.0, "both", rng=np.random.default_rng(0), runs=1
    )
    expected = cas_of_audit(sets, axes, SCORING, own_concepts=True)["age"]
    assert changes["age"].before == pytest.approx(expected, rel=1e-12)
    assert not answered.possible.is_caption.any()


def cas_of_texts(sets: Sequence[ObservedSet], axes: Sequence[Axis]) -> dict[str, list[float]]:
    """Compute CAS in plain code from the concepts of all sets."""
    concepts = extract_concepts(sets, axes, SCORING)
    frequencies = {o.name: c.counts.frequencies for o, c in zip(sets, concepts, strict=True)}
    scores = {}
    for axis, names in names_by_axis(sets, axes).items():
        first = frequencies["initial"]
        scores[axis] = [float(cas(first, frequencies[name])) for name in names]
    return scores


def columns_of(observed: ObservedSet, axes: Sequence[Axis]) -> list[list[Any]]:
    """Return the answers about each axis, then the captions."""
    columns = [list(observed.values["truth"][axis.name]) for axis in axes]
    return [*columns, list(observed.captions)]


def complete_images(columns: Sequence[Sequence[Any]]) -> list[int]:
    complete = []
    for k, row in enumerate(zip(*columns, strict=True)):
        if Missing not in map(type, row):
            complete.append(k)
    return complete


def with_errors(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], rates: Sequence[float], seed: int
) -> list[ObservedSet]:
    """Replace texts of complete images in plain code, with the same draws as the simulation."""
    captions: set[Any] = set()
    for observed in sets:
        for k in complete_images(columns_of(observed, axes)):
            captions.add(observed.captions[k])
    choices: list[Sequence[str]] = [axis.values for axis in axes]
    choices.append(sorted(captions))
    sizes = [len(answers) for answers in choices]
    rng = np.random.default_rng(seed)
    wrong = []
    for observed in sets:
        columns = columns_of(observed, axes)
        complete = complete_images(columns)
        codes = np.zeros((1, len(complete), len(choices)), dtype=int)
        for row, k in enumerate(complete):
            for q, answers in enumerate(choices):
                codes[0, row, q] = answers.index(columns[q][k])
        corrupted = corrupt(codes, sizes, rates, rng=rng)[0]
        for k, row_of_codes in zip(complete, corrupted, strict=True):
            for q, code in enumerate(row_of_codes):
                columns[q][k] = choices[q][code]
        values = {axis.name: tuple(columns[q]) for q, axis in enumerate(axes)}
        wrong.append(replace(observed, values={"truth": values}, captions=tuple(columns[-1])))
    return wrong


@pytest.mark.parametrize(
    ("errors", "rates"),
    [("answers", [0.3] * 3 + [0.0]), ("captions", [0.0] * 3 + [0.3]), ("both", [0.3] * 4)],
)
def test_simulated_scores_equal_those_of_replaced_texts(errors: Any, rates: list[float]) -> None:
    sets, axes = nurses()
    answered = answered_sets(sets, axes, SCORING, own_concepts=False)
    changes = axis_changes(
        answered, names_by_axis(sets, axes), 0.3, errors, rng=np.random.default_rng(5), runs=1
    )
    expected = cas_of_texts(with_errors(sets, axes, rates, 5), axes)
    before = cas_of_texts(sets, axes)
    for name in NAMES:
        assert changes[name].after[0] == pytest.approx(expected[name], rel=1e-12)
        assert expected[name] != before[name]


GENDER = Axis(
    name="gender",
    questions=(Question("What is the gender?", axis="gender", options=("male", "female")),),
    values=("male", "female"),
)


def captioned(shown: str | None, caption: str, images: int) -> ObservedSet:
    """Return a set of images that are all labeled male, and have the same caption."""
    prompt = Prompt("nurse", "gender" if shown else None, shown)
    pictures = tuple(Picture(f"{shown} {k}", "", "nurse") for k in range(images))
    return ObservedSet(
        prompt=prompt,
        pictures=pictures,
        values={"truth": {"gender": ("male",) * images}},
        captions=(caption,) * images,
    )


def test_wrong_captions_change_cas_as_planted() -> None:
    """Compare with frequencies of 1 - r and r, because a share r of two captions is swapped."""
    sets = [
        captioned(None, "sword", 4000),
        captioned("male", "sword", 4000),
        captioned("female", "flower", 4000),
    ]
    answered = answered_sets(sets, [GENDER], SCORING, own_concepts=False)
    change = axis_changes(
        answered,
        {"gender": ["gender: male", "gender: female"]},
        0.2,
        "captions",
        rng=np.random.default_rng(0),
        runs=5,
    )["gender"]
    # the label "male" is a third concept, of frequency 1 in all sets
    assert change.before == pytest.approx([1.0, 1 / 3])
    assert change.after.mean(axis=0) == pytest.approx([1.0, (1 + 0.4) / (1 + 1.6)], abs=0.02)
    assert change.nearest_kept == 1.0


def simulated(before: Sequence[float], *after: Sequence[float]) -> SimulatedAxis:
    return SimulatedAxis(before=np.array(before), after=np.array(after))


def test_the_ranking_is_that_of_mad() -> None:
    changes = [
        simulated([0.9, 0.1], [0.9, 0.1], [0.5, 0.4], [0.1, 0.9]),
        simulated([0.6, 0.1], [0.6, 0.1], [0.7, 0.3], [0.6, 0.5]),
        simulated([0.5, 0.3], [0.5, 0.3], [0.9, 0.1], [0.4, 0.4]),
    ]
    assert np.argmax([mad(change.before) for change in changes]) == 0
    of_prompt = ranking(changes, "paper")
    assert of_prompt is not None
    assert of_prompt.largest_kept.tolist() == [1, 0, 1]
    assert of_prompt.correlation == pytest.approx([1, -1, 1])
    assert changes[0].nearest_kept == pytest.approx(2 / 3)
    two = ranking(changes[:2], "paper")
    assert two is not None
    assert np.isnan(two.correlation).all()
    assert ranking(changes[:1], "paper") is None


def plan_of(**settings: Any) -> AuditPlan:
    _, axes = nurses()
    planned = tuple(AxisPlan.of(axis, counterfactuals(NURSE, axis.name)) for axis in axes)
    prompt = PromptPlan(text=NURSE, axes=planned)
    return AuditPlan(vqa=("truth",), embedder="none", prompts=(prompt,), **settings)


def rates(
    errors: Any, significant: Sequence[str] = ("gender", "age"), **settings: Any
) -> ErrorRates:
    sets, _ = nurses()
    pairs = {(NURSE, name) for name in significant}
    return changes_by_rate({NURSE: sets}, plan_of(**settings), pairs, 4, errors)


def test_errors_in_answers_and_captions_change_more_than_errors_in_answers() -> None:
    both = rates("both")
    answers = rates("answers")
    for row in (both[-1], answers[-1]):
        assert row.axes == 2
        assert all(isinstance(getattr(row, name), Estimate) for name in SCORES)
        assert isinstance(row.rank_correlation, Estimate)
        assert row.largest_kept.n == 4
    assert abs(both[-1].mad.value) > abs(answers[-1].mad.value)
    assert abs(both[-1].cas.value) > abs(both[0].cas.value)


def test_without_a_significant_axis_nothing_is_simulated() -> None:
    for row in rates("both", significant=()):
        assert row.axes == 0
        assert isinstance(row.rank_correlation, Missing)


def test_captions_that_do_not_exist_cannot_be_wrong() -> None:
    sets, _ = nurses()
    silent = [replace(o, captions=(Missing("not_asked"),) * len(o.captions)) for o in sets]
    with pytest.raises(UsageError, match=r"no image of .* has a caption.*--errors answers"):
        changes_by_rate({NURSE: silent}, plan_of(), {(NURSE, "gender")}, 1, "captions")
    changes_by_rate({NURSE: silent}, plan_of(), {(NURSE, "gender")}, 1, "answers")


def test_the_answer_is_about_a_fifth_of_wrong_answers() -> None:
    absent = Missing("not_asked", "one axis")
    fields: dict[str, Any] = dict.fromkeys((*SCORES, "nearest_kept", "rank_correlation"), absent)
    rates = [
        ErrorRate(
            errors="answers",
            rate=rate,
            axes=2,
            **{**fields, "mad": Estimate(-rate, n=2), "largest_kept": Estimate(0.9, n=2)},
        )
        for rate in RATES
    ]
    assert ErrorRates(rates).answer() == (
        "With 20 % wrong answers, MAD changes by −0.20 on average, and the axis with the largest "
        "MAD stays the same in 90 % of simulations."
    )
