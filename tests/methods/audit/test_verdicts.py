"""Verdicts of image sets and axes against the reference of the plan."""

from __future__ import annotations

import gc
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from askew.errors import UsageError
from askew.methods.audit.plan import AuditPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.sentences import sentence, verdict
from askew.parts.survey.shares import SetShares, shares
from askew.parts.survey.verdicts import is_biased, with_verdicts
from askew.plan import AxisPlan
from askew.prompts.axes import find_axis
from askew.stats.intervals import holm_then_bh
from askew.types import Missing, Picture, Prompt

NURSE = "a photo of a nurse"
P = st.floats(1e-6, 1)


def judged(women: int, men: int, known_errors: Any = None, **reference: float) -> SetShares:
    """The verdict on gender in images of a nurse, with this p of MAD."""
    values = ("female",) * women + ("male",) * men
    pictures = tuple(Picture(str(k), "", NURSE, k) for k in range(len(values)))
    seen = ObservedSet(
        Prompt(NURSE),
        pictures,
        {"i": {"gender": values}},
        tuple(Missing("not_asked") for _ in values),
    )
    axis = AxisPlan.of(find_axis("gender")).model_copy(update={"reference": reference or None})
    counted = shares(seen, axis, NURSE, Scoring("i"), known_errors)
    return with_verdicts([counted], {("i", "gender"): known_errors})[0]


def test_a_significant_bias_begins_with_counts() -> None:
    entry = judged(42, 6)
    assert sentence(entry).startswith(
        "88 % perceived female (42 of 48): female over-represented (q"
    )
    assert entry.verdict is not None
    assert entry.verdict.p == entry.verdict.q == entry.distance.q
    assert entry.verdict.exact_p == pytest.approx(binomtest(42, 48).pvalue)


def test_five_equal_images_are_biased_and_four_are_not() -> None:
    """Half of the probability of the observed count: 2^-5 and 2^-4."""
    assert is_biased(judged(5, 0))
    assert not is_biased(judged(4, 0))


def test_a_reference_of_the_plan_is_tested() -> None:
    entry = judged(44, 4, male=0.1, female=0.9)
    assert not is_biased(entry)
    assert sentence(entry).startswith(
        "92 % perceived female (44 of 48, reference 90 %): not significant with 48 images"
    )


def of_axis(name: str, *counts: int) -> SetShares:
    axis = AxisPlan.of(find_axis(name))
    values = tuple(value for value, n in zip(axis.values, counts, strict=True) for _ in range(n))
    pictures = tuple(Picture(str(k), "", NURSE, k) for k in range(len(values)))
    seen = ObservedSet(
        Prompt(NURSE), pictures, {"i": {name: values}}, tuple(Missing("not_asked") for _ in values)
    )
    counted = shares(seen, axis, NURSE, Scoring("i"))
    return with_verdicts([counted])[0]


def test_a_peak_at_the_middle_of_an_ordered_axis_is_a_bias() -> None:
    entry = of_axis("age", 10, 28, 10)
    assert entry.distance.value < 0.2, "the middle is close to all values"
    assert entry.verdict is not None
    assert entry.verdict.p < 0.01
    assert verdict(entry) == "middle-aged over-represented"


def test_the_verdict_allows_for_known_errors() -> None:
    """A fair model whose labels are often wrong on one value is not called biased."""
    known = np.array([[80, 20], [2, 98]])
    plain = judged(55, 41)
    corrected = judged(57, 39, known_errors=known)
    assert not is_biased(corrected)
    assert corrected.verdict is not None
    assert corrected.verdict.corrected_for_errors
    assert plain.verdict is not None
    assert not plain.verdict.corrected_for_errors
    many = judged(610, 390)
    assert is_biased(many)
    assert not is_biased(judged(610, 390, known_errors=known))


def test_an_instrument_that_does_not_distinguish_values_gives_no_verdict() -> None:
    entry = judged(40, 8, known_errors=np.array([[50, 50], [49, 51]]))
    assert isinstance(entry.distance, Missing)
    assert entry.verdict is None
    assert is_biased(entry) is None
    assert "does not distinguish the values" in sentence(entry)


def test_a_value_is_called_biased_only_if_its_interval_excludes_the_reference() -> None:
    assert verdict(of_axis("emotion", 17, 18, 7, 6)) == "tired under-represented", (
        "neither of the two that are frequent"
    )
    assert verdict(of_axis("body_type", 22, 22, 4)) == "obese under-represented"
    assert verdict(of_axis("age", 30, 9, 9)) == "young over-represented"


# statsmodels collects garbage at each call, which takes minutes in all
@patch.object(gc, "collect", lambda *_: 0)
@given(st.lists(st.lists(P, min_size=1, max_size=2), min_size=1, max_size=8))
def test_the_smallest_q_of_a_family_equals_the_q_of_the_family(tests: list[list[float]]) -> None:
    corrected = holm_then_bh(tests)
    holm = [multipletests(family, method="holm")[1].min() for family in tests]
    assert [p for p, _, _ in corrected] == pytest.approx(holm)
    assert [q for _, q, _ in corrected] == pytest.approx(multipletests(holm, method="fdr_bh")[1])
    for family, (_, q, members) in zip(tests, corrected, strict=True):
        assert min(members) == pytest.approx(q)
        by_p = sorted(zip(family, members, strict=True))
        assert [member for _, member in by_p] == sorted(members)


def test_an_audit_accepts_a_reference() -> None:
    stated = survey_plan(
        AuditPlan, [NURSE], axes=["gender", "age"], reference=["gender=male:0.1,female:0.9"]
    )
    assert stated.prompts[0].axes[0].reference == {"male": 0.1, "female": 0.9}
    assert stated.prompts[0].axes[1].reference is None
    published = survey_plan(AuditPlan, [NURSE], axes=["gender"], reference=["bls-2022"])
    assert published.prompts[0].axes[0].reference == pytest.approx(
        {"male": 0.121, "female": 0.879}, abs=0.01
    )


def test_a_reference_for_an_axis_that_is_not_audited_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no shares for these prompts' axes: age"):
        survey_plan(AuditPlan, [NURSE], axes=["age"], reference=["gender=male:0.1,female:0.9"])
