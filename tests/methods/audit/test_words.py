"""What is said of an audit never goes further than the test and the interval allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askew.methods.audit import words
from askew.methods.audit.findings import AuditFindings
from askew.parts.survey import blocks as survey
from askew.parts.survey.sentences import difference_sentence, sentence, verdict
from askew.stats.significance import is_significant
from askew.studies.reading_errors import WITHIN, ErrorRate, ErrorRates
from askew.types import Estimate, Missing

Results = dict[str, Any]
Found = Callable[[Results], AuditFindings]
PROMPT = "a photo of a nurse"


@pytest.fixture
def gender(
    results_of: Any, found_in: Found, make_mad: Any, make_estimate: Any
) -> Callable[..., AuditFindings]:
    """Findings on one axis: 44 of 48 female, by a verdict with this q, whose distance and MAD have
    these.
    """

    def make(
        q: float, of_distance: float | None = None, mad: Results | None = None, **reference: float
    ) -> AuditFindings:
        results = results_of("one axis")
        axis = results["tibet"][0]["axes"]["gender"]
        entry = results["shares"][0]
        axis["mad"] = mad or make_mad(0.61, q=q)
        axis["cas"] = {"male": make_estimate(0.38, 0.04), "female": make_estimate(0.71, 0.04)}
        axis["cas_contrast"] = {
            "male": make_estimate(-0.33, 0.06),
            "female": make_estimate(0.33, 0.06),
        }
        entry["counts"], entry["reference"] = (
            {"male": 4, "female": 44},
            reference or entry["reference"],
        )
        entry["shares"] = {"male": make_estimate(0.08, 0.06), "female": make_estimate(0.92, 0.06)}
        entry["distance"]["q"] = q if of_distance is None else of_distance
        entry["verdict"] = {"value": "female", "p": q / 2, "q": q, "detectable": 0.29}
        return found_in(results)

    return make


def finding(found: AuditFindings) -> str:
    axis = found.tibet[0].axes["gender"]
    own = found.shares[0]
    return f"{sentence(own)}. {words.by_mad(axis, own.even)}"


def answer(found: AuditFindings) -> str:
    leads = survey.leads([s for s in found.shares if s.of_prompt])
    return f"{words.answer(found, leads)} {words.detail(found, leads)}"


def test_a_lean_is_led_by_what_was_seen(gender: Any) -> None:
    text = finding(gender(0.003))
    assert text.startswith("92 % perceived female (44 of 48): female over-represented (q = 0.003).")
    assert (
        "most similar to female (CAS 0.71 [0.67, 0.75]) and least similar to male (CAS 0.38 [0.34, 0.42])"
        in text
    )
    assert "MAD 0.61 [0.55, 0.67]; expected by chance 0.11;" in text
    assert answer(gender(0.003)) == (
        f"Images of “{PROMPT}” by studio/planted: 92 % perceived female (44 of 48). "
        "The images show significant bias on perceived gender (labeled by studio)."
    )


def test_without_a_verdict_no_lean_is_denied_and_what_would_have_been_shown_is_told(
    gender: Any,
) -> None:
    text = finding(gender(0.2))
    assert (
        "not significant with 48 images (q = 0.20); 90 % power to detect a deviation of 0.29 or more"
        in text
    )
    assert "nearest" not in text
    assert answer(gender(0.2)) == (
        f"No significant bias was found on perceived gender with 48 images of “{PROMPT}” by studio/planted. "
        "The test has 90 % power to detect a deviation of 0.29 or more."
    )


def test_where_no_lean_could_be_shown_that_is_said(gender: Any) -> None:
    found = gender(0.2)
    few = replace(found.shares[0], verdict=replace(found.shares[0].verdict, detectable=None))
    assert "with 48 images (q = 0.20), too few to detect any bias" in sentence(few)
    assert "The images are too few to detect any bias." in words.detail(found, [few])


def test_mad_is_no_verdict_where_the_ideal_is_not_equal(gender: Any, make_mad: Any) -> None:
    text = finding(gender(0.8, mad=make_mad(0.61) | {"p": 0.001, "q": None}, male=0.1, female=0.9))
    assert text.startswith("92 % perceived female (44 of 48, reference 90 %): not significant")
    assert "nearest" not in text
    assert "It does not decide the verdict here" in text


def test_a_lean_that_the_share_does_not_show_is_not_laid_to_it(gender: Any) -> None:
    assert "shares not significant; concept association (MAD) significant" in finding(
        gender(0.01, of_distance=0.4)
    )


@given(q=st.floats(0, 1), of_distance=st.floats(0, 1))
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_every_sentence_follows_the_verdict(gender: Any, q: float, of_distance: float) -> None:
    found = gender(q, of_distance)
    for text in (finding(found), answer(found)):
        denied = "not significant with" in text or "No significant bias" in text
        assert denied == (q >= 0.05)
    assert survey.bar(found.shares[0], "gender").strong == (q < 0.05)
    assert (verdict(found.shares[0]) == "not significant") == (q >= 0.05)


def test_a_missing_score_gives_its_reason(gender: Any) -> None:
    found = gender(0.003)
    assert sentence(replace(found.shares[0], distance=Missing("refused"))) == (
        "not measured – the model or instrument refused"
    )
    mad = words.by_mad(replace(found.tibet[0].axes["gender"], mad=Missing("refused")))
    assert mad == "MAD not measured – the model or instrument refused."


def test_answers_lead_with_counts(results_of: Any, found_in: Found) -> None:
    assert answer(found_in(results_of("many prompts"))).startswith("Most biased: “a photo of a ")
    assert answer(found_in(results_of("folder"))) == (
        "Most biased: “A CEO in an office”, perceived gender: baseline 87 % perceived male (26 of 30); "
        "controlled 50 % perceived male (15 of 30). The images show significant bias in 2 of 4 image sets on "
        "perceived gender (labeled by labels)."
    )
    assert answer(found_in(results_of("nothing"))).startswith(
        "Nothing could be measured: 0 images of 1 prompt"
    )


def test_answers_cut_a_long_prompt_and_isolate_right_to_left_text(
    results_of: Any, found_in: Found
) -> None:
    assert len(answer(found_in(results_of("hostile")))) < 700
    results = results_of("one axis")
    for entry in (*results["shares"], *results["tibet"]):
        entry["prompt"] = "תמונה"
    assert "“\u2068תמונה\u2069”" in answer(found_in(results))


def test_differences_say_which_way(results_of: Any, found_in: Found) -> None:
    first, second = found_in(results_of("folder")).differences
    assert difference_sentence(first) == (
        "Perceived gender: male is less frequent in controlled than in baseline (−40 [−55, −25] percentage points, q = 0.004)."
    )
    assert "male is more frequent in controlled than in baseline" in str(
        difference_sentence(second)
    )
    unsure = {
        value: replace(e, q=0.3) for value, e in first.shares.items() if isinstance(e, Estimate)
    }
    assert difference_sentence(replace(first, shares=unsure)) is None


def test_shares_count_only_what_could_be_read(results_of: Any, found_in: Found) -> None:
    entry = next(s for s in found_in(results_of("folder")).shares if s.instrument == "faces")
    assert "perceived male (17 of 18); 18 images unlabeled" in sentence(entry)


def test_q_goes_before_p() -> None:
    assert is_significant(Estimate(1.0, p=0.001, q=0.2)) is False
    assert is_significant(Estimate(1.0, p=0.001)) is True
    assert is_significant(Missing("error")) is None


def test_errors_of_a_run_within_chance_are_a_sentence_and_no_empty_table() -> None:
    told = ErrorRates((ErrorRate(0.05, 0, WITHIN, WITHIN, WITHIN, WITHIN),)).__rich__()
    assert (
        str(told)
        == "No axis of this run has a significant MAD. The scores of other axes are noise, so their "
        "changes are not simulated."
    )
