"""What a search reports, on vectors and answers that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.findings import BestPrompt, Evaluation
from askew.methods.mine.gather import BestCandidate, Search, SearchResults
from askew.methods.mine.objectives import Alignment
from askew.methods.mine.score import best_prompt, history, missed_terms
from askew.parts.scoring import Scoring
from askew.prompts.evolution import Candidate
from askew.types import Estimate, Missing, Picture
from known_vectors import NURSES, VARIATIONS, VARIED, pictures_of

SCORING = Scoring("none", draws=200)

EVALUATED = [
    Candidate("a nurse", loss=1.2),
    Candidate("a person", loss=1.3),
    Candidate("a nurse outdoors", 1, "mutation", "a nurse", loss=1.1),
    Candidate("a tree", 1, "random"),
    Candidate("a nurse in a park", 2, "mutation", "a nurse outdoors", loss=1.15),
]
FRESH = 77
GONE = Missing("error")


def best(prompt: str) -> BestCandidate:
    found = next(one for one in EVALUATED if one.text == prompt)
    first = NURSES.read(prompt, 0)
    return BestCandidate(
        found,
        first,
        NURSES.read_held_out(first, prompt, FRESH),
        PromptEvidence(tuple(pictures_of(prompt, FRESH)), VARIED),
    )


def test_what_is_missed_is_named_and_shown_of_fresh_seeds() -> None:
    one = best("a nurse outdoors")
    found = best_prompt(one, 0, SCORING)
    assert (found.run, found.iteration, found.parent) == (0, 1, "a nurse")
    assert isinstance(found.held_out_score, Estimate)
    assert found.held_out_score.null is not None
    assert found.held_out_score != found.score  # the same pictures here, but other draws
    assert set(found.missed_visual_concepts) <= {"a male nurse", "an old nurse", "a young nurse"}
    assert found.missed_pictures == found.missed_visual_concepts
    assert found.variations == tuple(VARIATIONS)
    assert found.null_range is not None
    assert found.least_aligned_pictures == ()  # all fit as well as pictures of variations do


def test_what_is_left_out_is_what_no_picture_shows_and_pictures_of_variations_do() -> None:
    fresh = NURSES.read_held_out(Missing("not_asked"), "a nurse", FRESH)
    assert isinstance(fresh, Alignment)
    shows = {"a male nurse": (0, 1), "a female nurse": (9, 3), "an old nurse": (0, 4)}
    shown = PromptEvidence(tuple(pictures_of("a nurse", FRESH)), VARIED, shows)
    found = best_prompt(BestCandidate(EVALUATED[0], fresh, fresh, shown), 0, SCORING)
    assert found.is_read
    assert found.missed_visual_concepts == ("an old nurse", "a male nurse")
    assert found.missed_pictures == found.missed_visual_concepts


def test_a_prompt_without_a_score_explains_nothing() -> None:
    gap = Missing("error", "no picture")
    one = BestCandidate(EVALUATED[2], gap, gap, PromptEvidence((), {}))
    found = best_prompt(one, 0, SCORING)
    assert (found.score, found.held_out_score) == (gap, gap)
    assert found.variations == ()


def test_without_pictures_of_variations_there_is_no_chance() -> None:
    fresh = NURSES.read("a nurse", FRESH)
    assert isinstance(fresh, Alignment)
    lost = dict.fromkeys(VARIATIONS, Missing("refused"))
    found = best_prompt(
        BestCandidate(EVALUATED[0], fresh, fresh, PromptEvidence((), lost)), 0, SCORING
    )
    assert found.null_range is None
    assert set(found.missed_pictures) == {None}
    assert not found.is_read  # by similarity alone nothing is said to be left out


def test_the_pictures_of_a_run_are_those_of_fresh_seeds() -> None:
    found = SearchResults(
        mined=(Search(tuple(EVALUATED), (best("a nurse outdoors"), best("a nurse"))),)
    )
    assert list(found.best()) == ["a nurse outdoors", "a nurse"]
    assert {one.seed for one in found.best()["a nurse"].pictures if isinstance(one, Picture)} == {
        FRESH
    }


def test_history_keeps_the_record_and_every_prompt() -> None:
    found = list(history(EVALUATED, 0))
    assert [entry.best_so_far for entry in found] == [1.2, 1.1, 1.1]
    assert [entry.best for entry in found] == [1.2, 1.1, 1.15]
    assert found[0].median == pytest.approx(1.25)
    assert found[1].prompts[1] == Evaluation("a tree", None, "random", None)


def missing(prompt: str, *missed: str) -> BestPrompt:
    return replace(
        best_prompt(BestCandidate(Candidate(prompt), GONE, GONE), 0, SCORING),
        missed_visual_concepts=missed,
    )


def test_a_word_counts_once_per_prompt_and_not_if_the_prompt_says_it() -> None:
    found = missed_terms(
        [
            missing("an old nurse", "an old male nurse", "a male nurse in an office"),
            missing("a chef", "a male chef outdoors"),
            missing("a tree"),
        ]
    )
    assert found is not None
    assert found.prompts == 2
    assert found.terms == (("male", 2), ("office", 1), ("outdoors", 1))
    assert found.categories == (("Perceived gender", 2), ("Place", 2))
    assert missed_terms([missing("a tree")]) is None
