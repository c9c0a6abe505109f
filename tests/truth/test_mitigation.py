"""Verdicts of `askew mitigate` in worlds with planted bias, no bias, no mitigation, and sabotage.

The labels of images are their planted attributes: nothing is drawn, and there are no labeling
errors.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from askew.methods.mitigate.page import verdict
from askew.methods.mitigate.policy import PolicyTables, SolvedPolicy
from askew.mitigations.prompts import Policy, PolicyPart
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.stats.contingency import cramers_v
from askew.stats.distance import distance_named
from askew.stats.intervals import ends
from askew.studio.caption import CaptionContent, parse
from askew.studio.planted import conditional
from askew.studio.scene import ATTRIBUTES
from askew.types import Estimate, Prompt
from truth.mitigations import (
    NAMES,
    NURSE,
    READ,
    TARGET_AXES,
    evaluation_set,
    fitted,
    image_set,
    measured_findings,
    planned,
    policy,
    technique_findings,
    with_labels,
)

AS_IT_IS = SolvedPolicy(Policy(prompt=NURSE, parts=(PolicyPart(text=NURSE, weight=1),)), {})


def exact(result: SolvedPolicy, *axes: str) -> np.ndarray:
    """Return the true shares of an axis, or of pairs of values of two axes, under a policy."""
    others = tuple(k for k, name in enumerate(NAMES) if name not in axes)
    tables = [
        conditional(CaptionContent(parse(part.text).attributes, "nurse", True, ()), 1.0)
        for part in result.policy.parts
    ]
    return sum(
        part.weight * table.sum(axis=others)
        for part, table in zip(result.policy.parts, tables, strict=True)
    )


@pytest.mark.slow
def test_policies_bring_four_axes_near_their_target() -> None:
    """Policies chosen on 48 images per prompt reduce exact deviations, which were .44, .20, .32 and
    .33 in the mean.
    """
    policies = [fitted(1.0, 1000 * seed + 7) for seed in range(3)]
    distances = np.reshape(
        [_exact_distance(entry, axis) for entry in policies for axis in TARGET_AXES],
        (3, len(TARGET_AXES)),
    )
    assert (np.mean(distances, axis=0) < 0.04).all()
    assert np.mean(distances) < 0.025
    before = _exact_associations(AS_IT_IS)
    after = np.array([_exact_associations(entry) for entry in policies])
    assert np.max(after - before) < 0.15
    assert np.mean(after) < np.mean(before)


def _exact_associations(result: SolvedPolicy) -> np.ndarray:
    return np.array([cramers_v(exact(result, *pair)) for pair in combinations(TARGET_AXES, 2)])


def _exact_distance(result: SolvedPolicy, axis: str) -> float:
    values = len(ATTRIBUTES[axis])
    kind = "wasserstein" if find_axis(axis).scale == "ordinal" else "total_variation"
    return float(distance_named(kind)(exact(result, axis), np.full(values, 1 / values)))


@pytest.mark.slow
def test_predicted_deviations_of_policies_are_not_too_good() -> None:
    """The weights reach the targets on the planning images, so the exact deviation is larger."""
    policies = [fitted(1.0, 1000 * seed + 7) for seed in range(12)]
    pairs = []
    for entry in policies:
        for axis in TARGET_AXES:
            pairs.append((entry.predicted[axis].mark, _exact_distance(entry, axis)))
    predicted, exact_mean = np.mean(pairs, axis=0)
    assert 0.75 < predicted / exact_mean < 1.33


@pytest.mark.slow
def test_predicted_intervals_of_policies_cover_exact_deviations() -> None:
    """The exact distance lies in the predicted interval often enough over 200 policies, on each
    target or monitored axis.
    """
    policies = [fitted(1.0, 1000 * seed + 7) for seed in range(200)]
    held = {}
    for axis in BIASCONNECT:
        rows = [
            (
                entry.predicted[axis].value,
                *ends(entry.predicted[axis]),
                _exact_distance(entry, axis),
            )
            for entry in policies
        ]
        _, low, high, true = np.array(rows).T
        held[axis] = float(np.mean((low <= true) & (true <= high)))
        print(
            f"{axis}: held {held[axis]:.3f}; value, low, high, true in the mean: {np.mean(rows, axis=0).round(3)}"
        )
    assert min(held[axis] for axis in TARGET_AXES) >= 0.93
    assert np.mean([*held.values()]) >= 0.93
    assert min(held.values()) >= 0.90


@pytest.mark.slow
def test_planted_bias_is_mitigated_and_reported() -> None:
    techniques = [
        measured_findings(1.0, 10_000 + seed, fitted(1.0, 1000 * seed + 7)) for seed in range(1)
    ]
    for technique in techniques:
        assert "gender" in {entry.axis for entry in technique.helped}
        assert not technique.broken


@pytest.mark.slow
def test_no_help_is_claimed_in_a_fair_world() -> None:
    techniques = [
        measured_findings(0.0, 20_000 + seed, fitted(0.0, 1000 * (seed % 10) + 7))
        for seed in range(100)
    ]
    assert np.mean([bool(technique.helped) for technique in techniques]) <= 0.07
    assert np.mean([bool(technique.harmed) for technique in techniques]) <= 0.10


@pytest.mark.slow
def test_nothing_is_claimed_without_a_mitigation() -> None:
    techniques = [measured_findings(1.0, 30_000 + seed, None) for seed in range(100)]
    assert np.mean([bool(technique.helped or technique.harmed) for technique in techniques]) <= 0.10
    assert np.mean([bool(technique.built) for technique in techniques]) <= 0.10
    quiet = [
        verdict(technique)
        for technique in techniques
        if not (technique.helped or technique.harmed or technique.built or technique.broken)
    ]
    assert all(
        "no significant change on perceived gender (distance " in text and "but" not in text
        for text in quiet
    )


@pytest.mark.slow
def test_images_that_are_blurred_are_not_a_success() -> None:
    before = image_set(Prompt(NURSE), [NURSE] * 96, 1.0, 1)
    rng = np.random.default_rng(0)
    guessed = {name: rng.choice(ATTRIBUTES[name], 96).tolist() for name in TARGET_AXES}
    subjects = rng.choice(["nurse", "chef", "farmer", "police officer"], 96).tolist()
    technique = technique_findings(
        evaluation_set(before),
        evaluation_set(with_labels(before, guessed), subjects),
        policy(fitted(1.0, 7)),
    )
    assert "but fewer images show the subject" in verdict(technique)


@pytest.mark.slow
def test_uniform_shares_by_segregation_are_reported() -> None:
    before = image_set(Prompt(NURSE), [NURSE] * 96, 0.5, 1)
    halves = ["male", "female"] * 48
    formal = ["formal" if half == "male" else "informal" for half in halves]
    technique = technique_findings(
        evaluation_set(before),
        evaluation_set(with_labels(before, {"gender": halves, "clothing": formal})),
        policy(fitted(1.0, 7)),
    )
    assert "gender and clothing are more strongly associated" in verdict(technique)


@pytest.mark.slow
def test_tables_are_corrected_for_labeling_errors() -> None:
    """With a third of all women labeled as men, the tables equal the truth, also for a pair of
    axes.
    """
    plan = planned(("gender", "clothing"))
    rng = np.random.default_rng(0)
    sets = [
        image_set(prompt, [prompt.text] * 6000, 1.0, 3, prompt.text)
        for prompt in plan.prompts[0].prompts()
    ]
    true = {**sets[0].values[READ]}
    misread = [
        entry if entry == "male" or rng.random() > 1 / 3 else "male" for entry in true["gender"]
    ]
    read = replace(sets[0], values={READ: {**true, "gender": tuple(misread)}})
    known = {(READ, "gender"): np.array([[300, 0], [100, 200]])}
    closed = {axis.name: axis for axis in plan.prompts[0].closed}
    gender, clothing = (closed[name] for name in plan.target_axes)
    for axes in ([gender], [gender, clothing]):
        exact, plain, corrected = (
            PolicyTables.of(
                plan.prompts[0], plan.target_axes, [entry, *sets[1:]], READ, errors
            ).shares((), axes)
            for entry, errors in ((sets[0], {}), (read, {}), (read, known))
        )
        assert np.abs(plain - exact).max() > 0.1
        assert np.abs(corrected - exact).max() < 0.02


@pytest.mark.slow
def test_images_of_one_seed_are_pairs() -> None:
    """With a tenth of the images changed, the interval is narrower if the other pairs are known to
    be equal.
    """
    before = image_set(Prompt(NURSE), [NURSE] * 96, 0.5, 1)
    gender = list(before.values[READ]["gender"])
    flipped = ["male" if k % 10 == 0 else entry for k, entry in enumerate(gender)]
    widths = []
    for order in (range(96), np.random.default_rng(0).permutation(96)):
        after = with_labels(before, {"gender": flipped}).picked(order)
        technique = technique_findings(
            evaluation_set(before),
            evaluation_set(after),
            policy(fitted(1.0, 7)),
            target_axes=["gender"],
        )
        change = next(axis.change for axis in technique.axes if axis.axis == "gender")
        assert isinstance(change, Estimate)
        widths.append(float(np.diff(ends(change))[0]))
    assert widths[0] < 0.8 * widths[1]


@pytest.mark.slow
def test_a_change_that_one_instrument_misses_is_reported() -> None:
    before = image_set(Prompt(NURSE), [NURSE] * 96, 1.0, 1)
    even = with_labels(before, {"gender": ["male", "female"] * 48})
    both = [
        ObservedSet(
            value.prompt,
            value.pictures,
            {**value.values, "other": before.values[READ]},
            value.captions,
        )
        for value in (before, even)
    ]
    technique = technique_findings(
        evaluation_set(both[0]),
        evaluation_set(both[1]),
        policy(fitted(1.0, 7)),
        vqa=(READ, "other"),
    )
    assert "labels from other do not confirm the change in gender" in verdict(technique)
