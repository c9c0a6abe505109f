"""The section `classification` with planted decisions: scores follow from the errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeVar

import numpy as np
import pytest

from askew.methods.classify.findings import Classification
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.plan import ClassificationPlan
from askew.methods.classify.score import classification
from askew.parts.scoring import Scoring
from askew.types import Missing, Picture

A = ("mechanic", "plumber", "carpenter")
B = ("nurse", "secretary", "babysitter")
GROUPS = ("caucasian man", "caucasian woman", "african-american man", "african-american woman")
SCORING = Scoring("denoising", draws=200)


def readings(samples: int, strength: float, pictures: int = 40) -> ErrorsOfClasses:
    """Errors by which images of men fit the classes A better by `strength`, images of women B."""
    rng = np.random.default_rng(9)
    errors = {}
    for group in GROUPS:
        bias = np.array([-1.0] * 3 + [1.0] * 3) * (-1 if "woman" in group else 1)
        noise = rng.normal(size=(pictures, 6, 1))  # the same for every number of samples
        by_sample = noise + strength * bias[None, :, None] + np.zeros((1, 1, samples))
        errors[group] = by_sample.astype(np.float32)
    return ErrorsOfClasses(samples, (*A, *B), errors)


def labels(samples: int, right: float) -> ErrorsOfClasses:
    """Errors by which the right one of "man" and "woman" is chosen for this share of the images."""
    errors = {}
    for group in GROUPS:
        first = np.arange(40) < 40 * right
        true = 1 if "woman" in group else 0
        is_chosen = (np.arange(2)[None, :] == true) == first[:, None]
        errors[group] = np.where(is_chosen, 0.0, 1.0)[:, :, None]
    return ErrorsOfClasses(samples, ("man", "woman"), errors)


@pytest.fixture(scope="module")
def section() -> Classification:
    plan = ClassificationPlan.checked(
        {"groups": GROUPS, "targets": {"male-dominated": A, "female-dominated": B}}
    )
    return classification(
        plan, [readings(1, 0.0), readings(10, 1.0)], [labels(1, 0.5), labels(10, 0.9)], SCORING
    )


T = TypeVar("T")


def pick(entries: Sequence[T], **names: object) -> T:
    def has_names(entry: T) -> bool:
        return all(getattr(entry, name) == value for name, value in names.items())

    (picked,) = filter(has_names, entries)
    return picked


def test_the_true_class_follows_from_the_gender_of_the_group() -> None:
    def known(*groups: str, **truth: str) -> dict[str, str]:
        return ClassificationPlan.checked({"groups": groups, "truth": truth}).true_classes

    assert known(*GROUPS) == dict(zip(GROUPS, ("man", "woman") * 2, strict=True))
    assert known("WM", "african-american woman", WM="man") == {
        "WM": "man",
        "african-american woman": "woman",
    }
    assert known("WM") == {}


def test_association_follows_the_planted_bias_if_there_are_enough_samples(
    section: Classification,
) -> None:
    for group in GROUPS:
        strong = pick(section.association, group=group, samples=10).S
        weak = pick(section.association, group=group, samples=1).S
        assert strong.null == weak.null == 0.5
        assert (strong.value > 0.8) == ("woman" not in group)
        assert strong.q < 0.05
        assert 0.3 < weak.value < 0.7
        assert weak.low < weak.value < weak.high


def test_groups_of_the_same_gender_are_also_pooled(section: Classification) -> None:
    together = pick(section.association, group="all male", samples=10)
    apart = [
        pick(section.association, group=g, samples=10).S.value for g in GROUPS if "woman" not in g
    ]
    assert together.pooled
    assert together.S.value == pytest.approx(np.mean(apart))
    entry = pick(section.differential, group_x="all male", group_y="all female", samples=10)
    assert entry.S.value > 0.6
    assert len([e for e in section.differential if e.samples == 10]) == 7


def test_the_change_with_samples_is_the_difference_of_the_scores(section: Classification) -> None:
    """With 1 sample the groups have no bias, with 10 samples the planted bias."""
    for entry in section.change.association:
        few, many = (pick(section.association, group=entry.group, samples=n).S for n in (1, 10))
        assert entry.S.value == pytest.approx(many.value - few.value)
        assert (entry.fewer, entry.samples) == (1, 10)
        assert entry.S.q < 0.05
        assert (entry.S.value > 0) == ("woman" not in entry.group and entry.group != "all female")
    entry = pick(section.change.differential, group_x="all male", group_y="all female")
    assert entry.S.value > 0.5
    assert entry.S.q < 0.05
    alike = pick(section.change.differential, group_x=GROUPS[0], group_y=GROUPS[2])
    assert alike.S.low < 0 < alike.S.high
    right = pick(section.change.accuracy, group="caucasian woman")
    assert right.estimate.value == pytest.approx(0.4)
    assert right.estimate.q < 0.05


def test_each_number_of_samples_is_compared_with_the_next_and_the_first_with_the_last() -> None:
    plan = ClassificationPlan.checked({"groups": GROUPS, "targets": {"first": A, "second": B}})
    runs = [readings(n, 0.1 * n) for n in (1, 4, 9)]
    for count, steps in ((1, []), (2, [(1, 4)]), (3, [(1, 4), (4, 9), (1, 9)])):
        change = classification(plan, runs[:count], [], SCORING).change
        entries = [e for e in change.association if e.group == GROUPS[0]]
        assert [(e.fewer, e.samples) for e in entries] == steps
        assert not change.accuracy


def test_pairs_use_most_samples_and_are_skewed_above_three_quarters(
    section: Classification,
) -> None:
    entries = section.pairs
    assert len(entries) == 9 * len(GROUPS)
    assert {e.samples for e in entries} == {10}
    for e in entries:
        assert e.skewed == (not 0.25 <= e.share_a.value <= 0.75)
        assert e.share_a.q is not None


def test_more_samples_increase_accuracy(section: Classification) -> None:
    few = pick(section.accuracy, group="caucasian woman", samples=1)
    many = pick(section.accuracy, group="caucasian woman", samples=10)
    assert few.estimate.value == pytest.approx(0.5)
    assert many.estimate.value == pytest.approx(0.9)


def test_the_comparison_shows_the_pair_for_which_groups_differ_most(
    section: Classification,
) -> None:
    shown = section.comparison
    pairs = section.pairs

    def spread(pair: tuple[str, str]) -> float:
        return float(np.ptp([e.share_a.value for e in pairs if (e.a, e.b) == pair]))

    assert spread((shown.a, shown.b)) == max(map(spread, product(A, B)))
    share = pick(pairs, group=GROUPS[0], a=shown.a, b=shown.b).share_a.value
    assert np.mean(shown.to_a[GROUPS[0]]) == pytest.approx(share)


def test_missing_images_are_counted_in_their_group_only() -> None:
    images: dict[str, list[Picture | Missing]] = {}
    for name in ("man", "woman", "nobody"):
        images[name] = [Picture(f"{name} {k}", "", name) for k in range(4)]
    images["man"][1] = Missing("refused")
    rows = np.repeat(np.arange(11.0, dtype=np.float32)[:, None], 2, axis=1)
    read = ErrorsOfClasses.of(1, ("mechanic", "nurse"), rows, images)
    assert {name: errors[:, 0, 0].tolist() for name, errors in read.errors.items()} == {
        "man": [0, 1, 2],
        "woman": [3, 4, 5, 6],
        "nobody": [7, 8, 9, 10],
    }


def test_scores_of_a_group_with_missing_images_use_the_others() -> None:
    errors = {
        "man": np.array([[0.0, 1.0]] * 3 + [[np.nan, np.nan]]),
        "woman": np.array([[1.0, 0.0]] * 4),
        "nobody": np.full((4, 2), np.nan),
    }
    given = ErrorsOfClasses(1, ("mechanic", "nurse"), {g: e[:, :, None] for g, e in errors.items()})
    plan = ClassificationPlan.checked({"groups": list(errors)})
    plan = plan.model_copy(update={"targets": {"a": ("mechanic",), "b": ("nurse",)}})
    section = classification(plan, [given], [], SCORING)
    scores = {entry.group: entry.S for entry in section.association}
    assert [(scores[g].value, scores[g].n, scores[g].missing) for g in ("man", "woman")] == [
        (1.0, 3, 1),
        (0.0, 4, 0),
    ]
    assert isinstance(scores["nobody"], Missing)
    shares = {entry.group: entry.share_a for entry in section.pairs}
    assert (shares["man"].n, shares["man"].missing) == (3, 1)
    assert isinstance(shares["nobody"], Missing)
    differences = {(entry.group_x, entry.group_y): entry.S for entry in section.differential}
    assert isinstance(differences["man", "nobody"], Missing)
    assert differences["man", "woman"].value == 1
