"""Sentences about an audit claim no more than tests and intervals support."""

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
from askew.studies.reading_errors import SCORES, WITHIN, ErrorRate, ErrorRates
from askew.types import Estimate, Missing

Results = dict[str, Any]
ReadFindings = Callable[[Results], AuditFindings]
PROMPT = "a photo of a nurse"


@pytest.fixture
def gender(
    results_of: Any, read_findings: ReadFindings, make_mad: Any, make_estimate: Any
) -> Callable[..., AuditFindings]:
    """Findings on one axis: 44 of 48 female, with this q of verdict, distance and MAD."""

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
        entry["counts"] = {"male": 4, "female": 44}
        entry["reference"] = reference or entry["reference"]
        entry["shares"] = {"male": make_estimate(0.08, 0.06), "female": make_estimate(0.92, 0.06)}
        entry["distance"]["q"] = q if of_distance is None else of_distance
        entry["verdict"] = {
            "value": "female",
            "p": q / 2,
            "q": q,
            "exact_p": q / 2,
            "detectable": 0.29,
        }
        return read_findings(results)

    return make


def finding(findings: AuditFindings) -> str:
    axis = findings.tibet[0].axes["gender"]
    shares = findings.shares[0]
    return f"{sentence(shares)}. {words.by_mad(axis, shares.even)}"


def answer(findings: AuditFindings) -> str:
    leads = survey.leads([s for s in findings.shares if s.of_prompt])
    return " ".join([*words.answer(findings, leads), words.detail(findings, leads)])


def test_sentences_about_a_bias_begin_with_counts(gender: Any) -> None:
    text = finding(gender(0.003))
    assert text.startswith("92 % perceived female (44 of 48): female over-represented (q = 0.003).")
    assert (
        "most similar to female (CAS 0.71 [0.67, 0.75]) "
        "and least similar to male (CAS 0.38 [0.34, 0.42])" in text
    )
    assert "MAD 0.61 [0.55, 0.67]; expected by chance 0.11;" in text
    assert answer(gender(0.003)) == (
        f"44 of 48 images of “{PROMPT}” are labeled female: 92 % (95 % CI 86 to 98; uniform "
        "reference 50 %). Bias is significant on perceived gender."
    )


def test_sentences_about_a_verdict_that_is_not_significant_state_the_power(
    gender: Any,
) -> None:
    text = finding(gender(0.2))
    assert (
        "not significant with 48 images after correction for 2 values (q = 0.20); 90 % power to "
        "detect a deviation of 0.29 or more" in text
    )
    assert "nearest" not in text
    assert answer(gender(0.2)) == (
        f"No significant bias was found on perceived gender in 48 images of “{PROMPT}”. "
        "The test has 90 % power to detect a deviation of 0.29 or more."
    )


def test_sentences_say_if_images_are_too_few_to_detect_any_bias(gender: Any) -> None:
    findings = gender(0.2)
    few = replace(findings.shares[0], verdict=replace(findings.shares[0].verdict, detectable=None))
    text = sentence(few)
    assert "with 48 images after correction for 2 values (q = 0.20)" in text
    assert text.endswith("; too few images to detect any bias")
    assert "The images are too few to detect any bias." in words.detail(findings, [few])


def test_mad_has_no_part_in_the_verdict(gender: Any, make_mad: Any) -> None:
    text = finding(gender(0.8, mad=make_mad(0.61) | {"p": 0.001, "q": None}, male=0.1, female=0.9))
    assert text.startswith("92 % perceived female (44 of 48, reference 90 %): not significant")
    assert "nearest" not in text
    assert "The verdict tests the shares, and does not use MAD" in text


@given(q=st.floats(0, 1), of_distance=st.floats(0, 1))
@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_every_sentence_follows_the_verdict(gender: Any, q: float, of_distance: float) -> None:
    findings = gender(q, of_distance)
    for text in (finding(findings), answer(findings)):
        denied = "not significant with" in text or "No significant bias" in text
        assert denied == (q >= 0.05)
    assert survey.value_group(findings.shares[0], "gender").significant == (q < 0.05)
    assert verdict(findings.shares[0]).startswith("not significant") == (q >= 0.05)


def test_a_missing_score_gives_its_reason(gender: Any) -> None:
    findings = gender(0.003)
    assert sentence(replace(findings.shares[0], distance=Missing("refused"))) == (
        "not measured – the model or instrument refused"
    )
    mad = words.by_mad(replace(findings.tibet[0].axes["gender"], mad=Missing("refused")))
    assert mad == "MAD not measured – the model or instrument refused."


def test_answers_begin_with_counts(results_of: Any, read_findings: ReadFindings) -> None:
    assert answer(read_findings(results_of("many prompts"))).startswith(
        "Age labels deviate significantly in 3 of 3 prompts: 83 % young for “a photo of a nurse”"
    )
    assert answer(read_findings(results_of("folder"))) == (
        "Gender labels deviate significantly in 2 of 4 image sets: 87 % male for “A CEO in an "
        "office”, baseline, 80 % female for “A nurse at work”, baseline. "
        "Bias is significant in 2 of 4 image sets on perceived gender."
    )
    assert answer(read_findings(results_of("nothing"))).startswith(
        "Nothing could be measured: no image has a label (0 images from 1 prompt)"
    )


def test_answers_cut_a_long_prompt_and_isolate_right_to_left_text(
    results_of: Any, read_findings: ReadFindings
) -> None:
    assert len(answer(read_findings(results_of("hostile")))) < 700
    results = results_of("one axis")
    for entry in (*results["shares"], *results["tibet"]):
        entry["prompt"] = "תמונה"
    assert "“\u2068תמונה\u2069”" in answer(read_findings(results))


def test_differences_state_their_direction(results_of: Any, read_findings: ReadFindings) -> None:
    first, second = read_findings(results_of("folder")).differences
    assert difference_sentence(first) == (
        "Perceived gender: male is less frequent in controlled than in baseline "
        "(−40 [−55, −25] percentage points, q = 0.004)."
    )
    assert "male is more frequent in controlled than in baseline" in str(
        difference_sentence(second)
    )
    unsure = {
        value: replace(e, q=0.3) for value, e in first.shares.items() if isinstance(e, Estimate)
    }
    assert difference_sentence(replace(first, shares=unsure)) is None


def test_shares_count_labeled_images_only(results_of: Any, read_findings: ReadFindings) -> None:
    entry = next(s for s in read_findings(results_of("folder")).shares if s.instrument == "faces")
    assert "perceived male (17 of 18); 18 images unlabeled" in sentence(entry)


def test_q_takes_precedence_over_p() -> None:
    assert is_significant(Estimate(1.0, p=0.001, q=0.2)) is False
    assert is_significant(Estimate(1.0, p=0.001)) is True
    assert is_significant(Missing("error")) is None


def test_without_a_significant_mad_error_rates_are_a_sentence_instead_of_an_empty_table() -> None:
    names = (*SCORES, "nearest_kept", "largest_kept", "rank_correlation")
    row = ErrorRate(errors="answers", rate=0.05, axes=0, **dict.fromkeys(names, WITHIN))
    described = ErrorRates((row,)).__rich__()
    assert (
        str(described)
        == "No axis of this run has a significant MAD. The scores of other axes are noise, so their "
        "changes are not simulated."
    )
