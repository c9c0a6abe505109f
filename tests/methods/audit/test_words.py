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
from askew.parts.survey.words import difference_sentence, exceeds_chance, shares_sentence
from askew.types import Estimate, Missing

Results = dict[str, Any]
Found = Callable[[Results], AuditFindings]
PROMPT = "a photo of a nurse"
MISSING = {"reason": "refused", "detail": ""}


@pytest.fixture
def gender(results_of: Any, found_in: Found, make_mad: Any, make_estimate: Any) -> Callable[..., AuditFindings]:
    """Findings on one axis, with this MAD, these CAS and these counts."""

    def make(mad: Results, male: Results | None = None, female: Results | None = None) -> AuditFindings:
        results = results_of("one axis")
        axis = results["tibet"][0]["axes"]["gender"]
        axis["mad"] = mad
        axis["cas"] = {"male": male or make_estimate(0.38, 0.04), "female": female or make_estimate(0.71, 0.04)}
        results["shares"][0]["counts"] = {"male": 4, "female": 44}
        return found_in(results)

    return make


def finding(found: AuditFindings) -> str:
    axis = found.tibet[0].axes["gender"]
    return f"{words.verdict(axis)}. {words.ground(PROMPT, axis, found.shares[0])}"


def answer(found: AuditFindings) -> str:
    leads = survey.leads([s for s in found.shares if s.of_prompt])
    return f"{words.answer(found, leads)} {words.detail(found, leads)}"


def test_a_clear_lean_names_its_direction_and_its_numbers(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.61, q=0.003)))
    assert text.startswith("strongly one-sided. Pictures of “a photo of a nurse” resemble its female counterfactual")
    assert "much more than its male one: CAS 0.71 [0.67, 0.75] against 0.38 [0.34, 0.42]" in text
    assert "perceived female in 44 of 48 (92 %, ideal 50 %, beyond chance)" in text
    assert "MAD 0.61 [0.55, 0.67]; chance alone would give 0.11; p = 0.002, q = 0.003." in text


def test_without_significance_there_is_no_lean_but_a_bound(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.61, q=0.2)))
    assert text.startswith("no lean shown with 48 pictures.")
    assert "resemble" not in text
    assert "More pictures could still show a MAD of up to 0.67." in text


def test_overlapping_intervals_leave_the_direction_open(gender: Any, make_mad: Any, make_estimate: Any) -> None:
    found = gender(make_mad(0.3, q=0.01), make_estimate(0.50, 0.06), make_estimate(0.55, 0.06))
    assert "which is nearest is not settled" in finding(found)
    assert "towards" not in answer(found)
    assert words.nearest(found.tibet[0].axes["gender"]) is None


def test_an_interval_from_zero_leaves_the_strength_open(gender: Any, make_mad: Any) -> None:
    assert "one-sided, but how far is not settled" in finding(gender(make_mad(0.6, q=0.01) | {"low": 0.0}))


def test_untested_scores_are_called_so(gender: Any, make_mad: Any) -> None:
    assert finding(gender(make_mad(0.6) | {"p": None, "q": None})).startswith("not tested against chance.")


def test_a_missing_score_gives_its_reason(gender: Any) -> None:
    assert finding(gender(MISSING)).strip() == "not measured – the model or instrument refused."


def test_shares_that_lean_are_not_hidden_by_a_mad_that_does_not(gender: Any, make_mad: Any) -> None:
    found = gender(make_mad(0.12, q=0.6))
    assert "44 of 48 (92 %, ideal 50 %, beyond chance)" in finding(found)
    assert "44 of 48 perceived as female" in answer(found)
    assert "By concepts (MAD), no lean is shown with 48 pictures a set." in answer(found)


@given(q=st.floats(0, 1), value=st.floats(0, 1), half=st.floats(0, 0.5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_wording_follows_q(gender: Any, make_mad: Any, q: float, value: float, half: float) -> None:
    text = finding(gender(make_mad(value, q=q, half=half)))
    assert ("no lean shown" in text) == (q >= 0.05)
    assert ("one-sided" in text) == (q < 0.05)


@given(low=st.floats(-0.5, 1), corrected=st.floats(-0.5, 1))
@settings(deadline=None)
def test_strength_never_exceeds_what_the_interval_reaches(low: float, corrected: float) -> None:
    word = words.strength(Estimate(0.5, low=low, corrected=corrected))
    assert low > 0 or word == "unsettled"
    assert low >= 0.3 or word != "strongly"


def test_answers_lead_with_counts(results_of: Any, found_in: Found) -> None:
    assert answer(found_in(results_of("many prompts"))).startswith("Leaning most, “a photo of a ")
    assert answer(found_in(results_of("folder"))) == (
        "Leaning most, “A CEO in an office”, perceived gender: baseline 26 of 30 perceived as male; controlled 15 of "
        "30 perceived as male. Shares lean beyond chance in 2 of 4 picture sets on perceived gender, as read by labels."
    )
    assert answer(found_in(results_of("nothing"))).startswith("Nothing could be measured: 0 pictures of 1 prompt")
    assert "no axis could be measured" in answer(found_in(results_of("all missing")))


def test_an_answer_without_any_lean_says_with_how_many_pictures(
    results_of: Any, found_in: Found, make_mad: Any
) -> None:
    results = results_of("one axis")
    results["tibet"][0]["axes"]["gender"]["mad"] = make_mad(0.1, q=0.5)
    results["shares"][0]["distance"]["q"] = 0.5
    assert answer(found_in(results)) == (
        f"No lean shown on perceived gender, with 48 pictures a set of “{PROMPT}” by studio/planted. The shares do not "
        "lean beyond chance, as read by studio. By concepts (MAD), no lean is shown with 48 pictures a set."
    )


def test_answers_cut_a_long_prompt_and_isolate_right_to_left_text(results_of: Any, found_in: Found) -> None:
    assert len(answer(found_in(results_of("hostile")))) < 700
    results = results_of("one axis")
    for entry in (*results["shares"], *results["tibet"]):
        entry["prompt"] = "תמונה"
    assert "“\u2068תמונה\u2069”" in answer(found_in(results))


def test_differences_say_which_way(results_of: Any, found_in: Found) -> None:
    first, second = found_in(results_of("folder")).differences
    assert difference_sentence(first) == (
        "Perceived gender: male is seen less often in controlled than in baseline, "
        "−40 [−55, −25] points; p = 0.002, q = 0.004."
    )
    assert "male is seen more often in controlled than in baseline" in str(difference_sentence(second))
    unsure = {value: replace(e, q=0.3) for value, e in first.shares.items() if isinstance(e, Estimate)}
    assert difference_sentence(replace(first, shares=unsure)) is None


def test_shares_count_only_what_could_be_read(results_of: Any, found_in: Found) -> None:
    entry = next(s for s in found_in(results_of("folder")).shares if s.instrument == "faces")
    assert "Perceived male in 17 of the 18 pictures that could be read (18 could not)" in shares_sentence(entry)
    assert "could be read" not in shares_sentence(replace(entry, counts={"male": 0, "female": 0}))


def test_q_goes_before_p() -> None:
    assert exceeds_chance(Estimate(1.0, p=0.001, q=0.2)) is False
    assert exceeds_chance(Estimate(1.0, p=0.001)) is True
    assert exceeds_chance(Missing("error")) is None
