"""One verdict per picture set and axis, against the plan's ideal."""

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
    """The verdict on gender in pictures of a nurse, with this p of MAD."""
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
    (found,), qs = with_verdicts([counted], {(NURSE, "gender"): mad} if mad else None, "i")
    assert bool(qs) == (mad is not None and not reference)
    return found


def test_what_shares_show_is_not_denied_by_a_mad_that_shows_nothing() -> None:
    found = judged(42, 6, mad=0.4)
    assert sentence(found).startswith(
        "88 % perceived female (42 of 48): female over-represented (q"
    )
    assert found.verdict is not None
    assert found.verdict.q == pytest.approx(2 * found.distance.p)


def test_few_pictures_all_alike_lean() -> None:
    assert is_biased(judged(8, 0))


def test_the_ideal_of_the_plan_decides_and_mad_does_not() -> None:
    found = judged(44, 4, mad=0.001, male=0.1, female=0.9)
    assert not is_biased(found)
    assert sentence(found).startswith(
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


def test_a_peak_in_the_middle_of_an_order_is_a_lean() -> None:
    found = of_axis("age", 10, 28, 10)
    assert found.distance.p > 0.02, "to whom order matters, the middle is near to everything"
    assert found.total_variation.p < 0.01
    assert found.verdict is not None
    assert found.verdict.p == pytest.approx(2 * found.total_variation.p)
    assert verdict(found) == "middle-aged over-represented"


def test_no_more_is_said_of_a_value_than_its_own_interval_allows() -> None:
    assert verdict(of_axis("emotion", 17, 18, 7, 6)) == "tired under-represented", (
        "neither of the two that are frequent"
    )
    assert verdict(of_axis("body_type", 22, 22, 4)) == "obese under-represented"
    assert verdict(of_axis("age", 30, 9, 9)) == "young over-represented"


def test_mad_can_show_what_the_share_does_not() -> None:
    found = judged(26, 22, mad=0.002)
    assert is_biased(found)
    assert "shares not significant; concept association (MAD) significant" in sentence(found)


@patch.object(
    gc, "collect", lambda *_: 0
)  # statsmodels collects garbage at every call, which takes minutes in all
@given(st.lists(st.lists(P, min_size=1, max_size=2), min_size=1, max_size=8))
def test_members_never_contradict_their_family(tests: list[list[float]]) -> None:
    found = holm_then_bh(tests)
    holm = [multipletests(own, method="holm")[1].min() for own in tests]
    assert [p for p, _, _ in found] == pytest.approx(holm)
    assert [q for _, q, _ in found] == pytest.approx(multipletests(holm, method="fdr_bh")[1])
    for own, (_, q, members) in zip(tests, found, strict=True):
        assert min(members) == pytest.approx(q)
        assert [member for _, member in sorted(zip(own, members, strict=True))] == sorted(members)


def test_an_audit_takes_an_ideal() -> None:
    given_ideal = survey_plan(
        AuditPlan, [NURSE], axes=["gender", "age"], reference=["gender=male:0.1,female:0.9"]
    )
    assert given_ideal.prompts[0].axes[0].reference == {"male": 0.1, "female": 0.9}
    assert given_ideal.prompts[0].axes[1].reference is None
    published = (
        survey_plan(AuditPlan, [NURSE], axes=["gender"], reference=["bls-2022"])
        .prompts[0]
        .axes[0]
        .reference
    )
    assert published == pytest.approx({"male": 0.121, "female": 0.879}, abs=0.01)


def test_an_ideal_of_nothing_that_is_asked_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has no shares for these prompts' axes: age"):
        survey_plan(AuditPlan, [NURSE], axes=["age"], reference=["gender=male:0.1,female:0.9"])
