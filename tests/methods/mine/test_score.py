"""Findings of a search from known vectors and answers."""

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
HELD_OUT_SEED = 77
GONE = Missing("error")


def best(prompt: str) -> BestCandidate:
    evaluated = next(candidate for candidate in EVALUATED if candidate.text == prompt)
    first = NURSES.read(prompt, 0)
    return BestCandidate(
        evaluated,
        first,
        NURSES.read_held_out(first, prompt, HELD_OUT_SEED),
        PromptEvidence(tuple(pictures_of(prompt, HELD_OUT_SEED)), VARIED),
    )


def test_left_out_details_are_listed_with_images_from_held_out_seeds() -> None:
    entry = best_prompt(best("a nurse outdoors"), 0, SCORING)
    assert (entry.run, entry.iteration, entry.parent) == (0, 1, "a nurse")
    assert isinstance(entry.held_out_score, Estimate)
    assert entry.held_out_score.null is not None
    assert entry.held_out_score != entry.score  # the same images here, but other random draws
    assert set(entry.missed_visual_concepts) <= {"a male nurse", "an old nurse", "a young nurse"}
    assert entry.missed_pictures == entry.missed_visual_concepts
    assert entry.variations == tuple(VARIATIONS)
    assert entry.null_range is not None
    assert entry.least_aligned_pictures == ()  # all fit as well as pictures of variations do


def test_a_detail_is_left_out_if_only_images_of_its_variation_show_it() -> None:
    held_out = NURSES.read_held_out(Missing("not_asked"), "a nurse", HELD_OUT_SEED)
    assert isinstance(held_out, Alignment)
    shows = {"a male nurse": (0, 1), "a female nurse": (9, 3), "an old nurse": (0, 4)}
    shown = PromptEvidence(tuple(pictures_of("a nurse", HELD_OUT_SEED)), VARIED, shows)
    entry = best_prompt(BestCandidate(EVALUATED[0], held_out, held_out, shown), 0, SCORING)
    assert entry.is_read
    assert entry.missed_visual_concepts == ("an old nurse", "a male nurse")
    assert entry.missed_pictures == entry.missed_visual_concepts


def test_a_prompt_without_a_score_has_no_explanation() -> None:
    missing_score = Missing("error", "no picture")
    candidate = BestCandidate(EVALUATED[2], missing_score, missing_score, PromptEvidence((), {}))
    entry = best_prompt(candidate, 0, SCORING)
    assert (entry.score, entry.held_out_score) == (missing_score, missing_score)
    assert entry.variations == ()


def test_without_images_of_variations_there_is_no_null_range() -> None:
    held_out = NURSES.read("a nurse", HELD_OUT_SEED)
    assert isinstance(held_out, Alignment)
    lost = dict.fromkeys(VARIATIONS, Missing("refused"))
    candidate = BestCandidate(EVALUATED[0], held_out, held_out, PromptEvidence((), lost))
    entry = best_prompt(candidate, 0, SCORING)
    assert entry.null_range is None
    assert set(entry.missed_pictures) == {None}
    assert not entry.is_read  # similarity only does not show that a detail is left out


def test_the_images_of_a_run_use_held_out_seeds() -> None:
    search = Search(tuple(EVALUATED), (best("a nurse outdoors"), best("a nurse")))
    evidence = SearchResults(mined=(search,)).best()
    assert list(evidence) == ["a nurse outdoors", "a nurse"]
    images = [image for image in evidence["a nurse"].pictures if isinstance(image, Picture)]
    assert {image.seed for image in images} == {HELD_OUT_SEED}


def test_history_has_the_best_loss_and_all_prompts() -> None:
    iterations = list(history(EVALUATED, 0))
    assert [entry.best_so_far for entry in iterations] == [1.2, 1.1, 1.1]
    assert [entry.best for entry in iterations] == [1.2, 1.1, 1.15]
    assert iterations[0].median == pytest.approx(1.25)
    assert iterations[1].prompts[1] == Evaluation("a tree", None, "random", None)


def missing(prompt: str, *missed: str) -> BestPrompt:
    return replace(
        best_prompt(BestCandidate(Candidate(prompt), GONE, GONE), 0, SCORING),
        missed_visual_concepts=missed,
    )


def test_a_word_counts_once_per_prompt_unless_the_prompt_contains_it() -> None:
    missed = missed_terms(
        [
            missing("an old nurse", "an old male nurse", "a male nurse in an office"),
            missing("a chef", "a male chef outdoors"),
            missing("a tree"),
        ]
    )
    assert missed is not None
    assert missed.prompts == 2
    assert missed.terms == (("male", 2), ("office", 1), ("outdoors", 1))
    assert missed.categories == (("Perceived gender", 2), ("Place", 2))
    assert missed_terms([missing("a tree")]) is None
