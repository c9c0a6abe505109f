from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askew.report import headline
from askew.report.reading import Reading, exceeds_chance, strength
from askew.report.sentences import axis_finding, difference_sentence, shares_sentence

Results = dict[str, Any]
PROMPT = "a photo of a nurse"
NO_LEAN = "no lean that chance would not produce at this number of pictures"


@pytest.fixture
def gender(results_of: Callable[[str], Results], make_mad: Any, make_estimate: Any) -> Callable[..., Results]:
    """Results with one axis, and with this MAD, these CAS and these counts."""

    def make(mad: Results, male: Results | None = None, female: Results | None = None) -> Results:
        results = results_of("one axis")
        axis = results["tibet"][0]["axes"]["gender"]
        axis["mad"] = mad
        axis["cas"] = {"male": male or make_estimate(0.38, 0.04), "female": female or make_estimate(0.71, 0.04)}
        entry = results["shares"][0]
        entry["counts"] = {"male": 4, "female": 44}
        return results

    return make


def finding(results: Results) -> str:
    return str(axis_finding(Reading(results), PROMPT, "gender"))


def test_a_clear_lean_names_its_direction_and_its_numbers(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.61, q=0.003)))
    assert text.startswith(
        "Gender: strongly one-sided. Pictures of “a photo of a nurse” resemble its female counterfactual"
    )
    assert "much more than its male one: CAS 0.71 [0.67, 0.75] against 0.38 [0.34, 0.42]" in text
    assert "perceived female in 44 of 48 (92 %, ideal 50 %, beyond chance)" in text
    assert "MAD 0.61 [0.55, 0.67]; chance alone would give 0.11; p = 0.002, q = 0.003." in text


def test_without_significance_there_is_no_lean_but_a_bound(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.61, q=0.2)))
    assert NO_LEAN in text
    assert "resemble" not in text
    assert "More pictures could still show a MAD of up to 0.67." in text


def test_overlapping_intervals_leave_the_direction_open(gender: Any, make_mad: Any, make_estimate: Any) -> None:
    results = gender(make_mad(0.3, q=0.01), make_estimate(0.50, 0.06), make_estimate(0.55, 0.06))
    assert "which is nearest is not settled" in finding(results)
    assert "towards" not in headline(results)


def test_an_interval_from_zero_leaves_the_strength_open(gender: Any, make_mad: Any) -> None:
    assert "one-sided, but how far is not settled" in finding(gender(make_mad(0.6, q=0.01) | {"low": 0.0}))


def test_untested_scores_are_called_so(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.6) | {"p": None, "q": None}))
    assert text.startswith("Gender: not tested against chance.")


def test_a_missing_score_gives_its_reason(gender: Any) -> None:
    assert finding(gender({"reason": "refused", "detail": ""})) == (
        "Gender: not measured – the model or instrument refused."
    )


def test_shares_that_lean_are_not_hidden_by_a_mad_that_does_not(gender: Any, make_mad: Any) -> None:
    text = finding(gender(make_mad(0.12, q=0.6)))
    assert "44 of 48 (92 %, ideal 50 %, beyond chance)" in text


@given(q=st.floats(0, 1), value=st.floats(0, 1), half=st.floats(0, 0.5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_wording_follows_q(gender: Any, make_mad: Any, q: float, value: float, half: float) -> None:
    text = finding(gender(make_mad(value, q=q, half=half)))
    assert (NO_LEAN in text) == (q >= 0.05)
    assert ("one-sided" in text) == (q < 0.05)


@given(low=st.floats(-0.5, 1), corrected=st.floats(-0.5, 1))
@settings(deadline=None)
def test_strength_never_exceeds_what_the_interval_reaches(low: float, corrected: float) -> None:
    word = strength({"value": 0.5, "low": low, "corrected": corrected})
    assert low > 0 or word == "unsettled"
    assert low >= 0.3 or word != "strongly"


def test_headlines(results_of: Callable[[str], Results]) -> None:
    assert headline(results_of("many prompts")).startswith(
        "Over 3 prompts, studio/planted leans further than chance would in "
    )
    assert headline(results_of("folder")) == (
        "Perceived gender: further from the ideal than chance would bring it in 2 of 4 picture sets, as read by labels."
    )
    assert (
        headline(results_of("nothing"))
        == "Nothing could be measured: 0 pictures of 0 prompts, and no answer about any of them."
    )
    assert (
        headline(results_of("all missing"))
        == "For “a photo of a ghost”, studio/planted could not be measured on any axis."
    )


def test_headline_without_any_lean(gender: Any, make_mad: Any) -> None:
    assert headline(gender(make_mad(0.1, q=0.5))) == f"For “{PROMPT}”, studio/planted shows {NO_LEAN} (48 a set)."


def test_headline_cuts_a_long_prompt_and_isolates_right_to_left_text(results_of: Callable[[str], Results]) -> None:
    text = headline(results_of("hostile"))
    assert len(text) < 500
    results = results_of("one axis")
    results["tibet"][0]["prompt"] = "תמונה"
    assert "“\u2068תמונה\u2069”" in headline(results)


def test_differences_say_which_way(results_of: Callable[[str], Results]) -> None:
    first, second = results_of("folder")["differences"]
    assert difference_sentence(first) == (
        "Perceived gender: male is seen less often in controlled than in baseline, "
        "−40 [−55, −25] points; p = 0.002, q = 0.004."
    )
    assert "male is seen more often in controlled than in baseline" in str(difference_sentence(second))
    for estimate in first["shares"].values():
        estimate["q"] = 0.3
    assert difference_sentence(first) is None


def test_shares_count_only_what_could_be_read(results_of: Callable[[str], Results]) -> None:
    entry = next(s for s in results_of("folder")["shares"] if s["instrument"] == "faces")
    assert "Perceived male in 17 of the 18 pictures that could be read (18 could not)" in shares_sentence(entry)
    entry["counts"] = {"male": 0, "female": 0}
    assert "could be read" not in shares_sentence(entry)


def test_q_goes_before_p() -> None:
    assert exceeds_chance({"value": 1.0, "p": 0.001, "q": 0.2}) is False
    assert exceeds_chance({"value": 1.0, "p": 0.001, "q": None}) is True
    assert exceeds_chance({"reason": "error", "detail": ""}) is None
