"""Verdicts of image sets and axes against the reference of the plan."""

from __future__ import annotations

import gc
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def judged(women: int, men: int, mad: float | None = None, **reference: float) -> SetShares:
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
    counted = shares(seen, axis, NURSE, Scoring("i"))
    (verdicts,), qs = with_verdicts([counted], {(NURSE, "gender"): mad} if mad else None, "i")
    assert bool(qs) == (mad is not None and not reference)
    return verdicts


def test_a_significant_bias_in_shares_stays_one_when_mad_is_not_significant() -> None:
    entry = judged(42, 6, mad=0.4)
    assert sentence(entry).startswith(
        "88 % perceived female (42 of 48): female over-represented (q"
    )
    assert entry.verdict is not None
    assert entry.verdict.q == pytest.approx(2 * entry.distance.p)


def test_eight_equal_images_are_biased() -> None:
    assert is_biased(judged(8, 0))


def test_with_a_reference_in_the_plan_mad_does_not_decide() -> None:
    entry = judged(44, 4, mad=0.001, male=0.1, female=0.9)
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
    return with_verdicts([counted])[0][0]


def test_a_peak_at_the_middle_of_an_ordered_axis_is_a_bias() -> None:
    entry = of_axis("age", 10, 28, 10)
    assert entry.distance.p > 0.02, (
        "Wasserstein distance is small, since the middle is close to all values"
    )
    assert entry.total_variation.p < 0.01
    assert entry.verdict is not None
    assert entry.verdict.p == pytest.approx(2 * entry.total_variation.p)
    assert verdict(entry) == "middle-aged over-represented"


def test_a_value_is_called_biased_only_if_its_interval_excludes_the_reference() -> None:
    assert verdict(of_axis("emotion", 17, 18, 7, 6)) == "tired under-represented", (
        "neither of the two that are frequent"
    )
    assert verdict(of_axis("body_type", 22, 22, 4)) == "obese under-represented"
    assert verdict(of_axis("age", 30, 9, 9)) == "young over-represented"


def test_mad_can_be_significant_where_shares_are_not() -> None:
    entry = judged(26, 22, mad=0.002)
    assert is_biased(entry)
    assert "shares not significant; concept association (MAD) significant" in sentence(entry)


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
