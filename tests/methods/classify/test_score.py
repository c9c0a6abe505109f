"""The section `classification`: planted decisions are found again, and what it says of them follows
from the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Errors in which men's pictures fit classes of A better, and women's those of B, by
    `strength`.
    """
    rng = np.random.default_rng(9)
    errors = {}
    for group in GROUPS:
        lean = np.array([-1.0] * 3 + [1.0] * 3) * (-1 if "woman" in group else 1)
        own = rng.normal(size=(pictures, 6, 1))  # the same for every number of samples
        errors[group] = (own + strength * lean[None, :, None] + np.zeros((1, 1, samples))).astype(
            np.float32
        )
    return ErrorsOfClasses(samples, (*A, *B), errors)


def labels(samples: int, right: float) -> ErrorsOfClasses:
    """The class "man" or "woman" with the smaller error is the right one in this share of the
    pictures.
    """
    errors = {}
    for group in GROUPS:
        first = np.arange(40) < 40 * right
        true = 1 if "woman" in group else 0
        errors[group] = np.where((np.arange(2)[None, :] == true) == first[:, None], 0.0, 1.0)[
            :, :, None
        ]
    return ErrorsOfClasses(samples, ("man", "woman"), errors)


@pytest.fixture(scope="module")
def found() -> Classification:
    plan = ClassificationPlan.checked(
        {"groups": GROUPS, "targets": {"male-dominated": A, "female-dominated": B}}
    )
    return classification(
        plan, [readings(1, 0.0), readings(10, 1.0)], [labels(1, 0.5), labels(10, 0.9)], SCORING
    )


T = TypeVar("T")


def pick(entries: Sequence[T], **names: object) -> T:
    (entry,) = [
        e for e in entries if all(getattr(e, name) == value for name, value in names.items())
    ]
    return entry


def test_the_right_class_is_the_one_of_the_groups_gender() -> None:
    def known(*groups: str, **truth: str) -> dict[str, str]:
        return ClassificationPlan.checked({"groups": groups, "truth": truth}).true_classes

    assert known(*GROUPS) == dict(zip(GROUPS, ("man", "woman") * 2, strict=True))
    assert known("WM", "african-american woman", WM="man") == {
        "WM": "man",
        "african-american woman": "woman",
    }
    assert known("WM") == {}


def test_association_follows_the_lean_and_only_with_samples(found: Classification) -> None:
    for group in GROUPS:
        strong = pick(found.association, group=group, samples=10).S
        weak = pick(found.association, group=group, samples=1).S
        assert strong.null == weak.null == 0.5
        assert (strong.value > 0.8) == ("woman" not in group)
        assert strong.q < 0.05
        assert 0.3 < weak.value < 0.7
        assert weak.low < weak.value < weak.high


def test_groups_of_one_gender_are_also_taken_together(found: Classification) -> None:
    together = pick(found.association, group="all male", samples=10)
    apart = [
        pick(found.association, group=g, samples=10).S.value for g in GROUPS if "woman" not in g
    ]
    assert together.pooled
    assert together.S.value == pytest.approx(np.mean(apart))
    entry = pick(found.differential, group_x="all male", group_y="all female", samples=10)
    assert entry.S.value > 0.6
    assert len([e for e in found.differential if e.samples == 10]) == 7


def test_pairs_come_with_most_samples_and_are_marked_beyond_three_quarters(
    found: Classification,
) -> None:
    entries = found.pairs
    assert len(entries) == 9 * len(GROUPS)
    assert {e.samples for e in entries} == {10}
    for e in entries:
        assert e.skewed == (not 0.25 <= e.share_a.value <= 0.75)
        assert e.share_a.q is not None


def test_more_samples_make_it_more_right(found: Classification) -> None:
    assert pick(found.accuracy, group="caucasian woman", samples=1).estimate.value == pytest.approx(
        0.5
    )
    assert pick(
        found.accuracy, group="caucasian woman", samples=10
    ).estimate.value == pytest.approx(0.9)


def test_the_comparison_shown_is_the_one_in_which_groups_differ_most(found: Classification) -> None:
    shown = found.comparison
    pairs = found.pairs

    def spread(a: str, b: str) -> float:
        return float(np.ptp([e.share_a.value for e in pairs if (e.a, e.b) == (a, b)]))

    assert spread(shown.a, shown.b) == max(spread(a, b) for a in A for b in B)
    share = pick(pairs, group=GROUPS[0], a=shown.a, b=shown.b).share_a.value
    assert np.mean(shown.to_a[GROUPS[0]]) == pytest.approx(share)


def test_what_is_missing_stays_missing_in_its_own_group_and_is_counted_there() -> None:
    man, woman, nobody = (
        [Picture(f"{name} {k}", "", name) for k in range(4)] for name in ("man", "woman", "nobody")
    )
    gone = {"man": [man[0], Missing("refused"), man[2], man[3]], "woman": woman, "nobody": nobody}
    rows = np.repeat(np.arange(11.0, dtype=np.float32)[:, None], 2, axis=1)
    read = ErrorsOfClasses.of(1, ("mechanic", "nurse"), rows, gone)
    assert {name: errors[:, 0, 0].tolist() for name, errors in read.errors.items()} == {
        "man": [0, 1, 2],
        "woman": [3, 4, 5, 6],
        "nobody": [7, 8, 9, 10],
    }
    errors = {
        "man": np.array([[0.0, 1.0]] * 3 + [[np.nan, np.nan]]),
        "woman": np.array([[1.0, 0.0]] * 4),
        "nobody": np.full((4, 2), np.nan),
    }
    given = ErrorsOfClasses(1, ("mechanic", "nurse"), {g: e[:, :, None] for g, e in errors.items()})
    plan = ClassificationPlan.checked({"groups": list(errors)})
    found = classification(
        plan.model_copy(update={"targets": {"a": ("mechanic",), "b": ("nurse",)}}),
        [given],
        [],
        SCORING,
    )
    scores = {one.group: one.S for one in found.association}
    assert [(scores[g].value, scores[g].n, scores[g].missing) for g in ("man", "woman")] == [
        (1.0, 3, 1),
        (0.0, 4, 0),
    ]
    assert isinstance(scores["nobody"], Missing)
    shares = {one.group: one.share_a for one in found.pairs}
    assert (shares["man"].n, shares["man"].missing) == (3, 1)
    assert isinstance(shares["nobody"], Missing)
    less = {(one.group_x, one.group_y): one.S for one in found.differential}
    assert isinstance(less["man", "nobody"], Missing)
    assert less["man", "woman"].value == 1
