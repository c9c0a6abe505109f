"""The bias objective on vectors that are known, and what a search reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from askew.methods.minethegap import BiasObjective, Search, lineage, principal_components
from askew.methods.missed_terms import missed_terms
from askew.parts.scoring import Vectors, Vision
from askew.prompts.evolution import Candidate, Evaluated
from askew.stats.gap import bias_score
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture

DIRECTIONS = dict(zip(("male", "female", "old", "young"), np.eye(5)[1:], strict=True))
VARIATIONS = ["a male nurse", "a female nurse", "an old nurse", "a young nurse"]


def embed(texts: Sequence[str]) -> Vectors:
    rows = [np.eye(5)[0] + sum(DIRECTIONS[w] for w in text.split() if w in DIRECTIONS) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def pictures_of(prompt: str, seed: int) -> list[Picture | Missing]:
    """Pictures: of women where the prompt says nurse, of anybody where it says person. Two are missing, or four."""
    shown = ["a female nurse"] if "nurse" in prompt else VARIATIONS
    made = [Picture(f"{shown[k % len(shown)]} {k}", "", prompt, seed) for k in range(9)]
    return [*made, *[Missing("refused")] * (4 if "blocked" in prompt else 2)]


def one_of_each(texts: Sequence[str]) -> list[Picture | Missing]:
    return [Picture(text, "", text, 1) for text in texts]


def objective(variations: Sequence[str] = VARIATIONS) -> BiasObjective:
    vision = Vision(lambda pictures: embed([p.id for p in pictures]), embed)
    return BiasObjective(pictures_of, one_of_each, lambda prompt: variations, vision, seed=0, draws=200)


def test_it_is_equation_one_on_variations_and_pictures() -> None:
    women = [p.id for p in pictures_of("a nurse", 0) if isinstance(p, Picture)]
    assert objective().loss("a nurse", 0) == pytest.approx(bias_score(embed(VARIATIONS) @ embed(women).T), abs=1e-6)


def test_what_is_missed_is_named_and_shown() -> None:
    found = objective().explain("a nurse", 0)
    assert set(found["missed_visual_concepts"]) <= {"a male nurse", "an old nurse", "a young nurse"}
    assert found["missed_pictures"] == found["missed_visual_concepts"]
    assert len(found["map"]["pictures"]) == 9
    assert len(found["map"]["variations"]) == 4


def test_estimates_count_what_is_missing_and_find_the_lean() -> None:
    biased, fair = (objective().estimate(prompt, 0) for prompt in ("a nurse", "a person"))
    assert isinstance(biased, Estimate)
    assert isinstance(fair, Estimate)
    assert (biased.n, biased.missing) == (9, 2)
    assert biased.value < fair.value
    assert biased.corrected is not None
    assert fair.corrected is not None
    assert biased.corrected > fair.corrected


def test_too_few_variations_are_missing_not_a_score() -> None:
    assert isinstance(objective(["a male nurse"]).loss("a nurse", 0), Missing)
    assert isinstance(objective(["a male nurse"]).estimate("a nurse", 0), Missing)
    assert objective(["a male nurse"]).explain("a nurse", 0) == {}


def test_too_few_pictures_are_missing_not_a_lower_score() -> None:
    assert isinstance(objective().loss("a nurse", 0), float)
    loss = objective().loss("a blocked nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "fewer than 11 of 13 pictures could be made"


def test_fewer_variations_than_were_asked_for_are_missing_too() -> None:
    assert isinstance(replace(objective(), planned=5).loss("a nurse", 0), float)
    loss = replace(objective(), planned=6).loss("a nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "the writer found fewer than 5 of 6 variations"


def test_what_is_shown_are_pictures_of_fresh_seeds() -> None:
    asked: list[int] = []

    def noted(prompt: str, seed: int) -> list[Picture | Missing]:
        asked.append(seed)
        return pictures_of(prompt, seed)

    search = Search(EVALUATED[:1], replace(objective(), pictures=noted), 0, 77, 1)
    assert search.objective.name == "bias"
    asked.clear()
    (entry,) = search.entries(0)
    assert asked == [0, 77, 77]
    assert entry["least_aligned_pictures"]


EVALUATED = [
    Evaluated(Candidate("a nurse", 0, "random"), 1.2),
    Evaluated(Candidate("a person", 0, "random"), 1.3),
    Evaluated(Candidate("a nurse outdoors", 1, "mutation", "a nurse"), 1.1),
    Evaluated(Candidate("a tree", 1, "random"), None),
    Evaluated(Candidate("a nurse in a park", 2, "mutation", "a nurse outdoors"), 1.15),
]


def test_a_lineage_runs_from_the_first_ancestor() -> None:
    assert lineage(EVALUATED, EVALUATED[4]) == ["a nurse", "a nurse outdoors", "a nurse in a park"]
    assert lineage(EVALUATED, EVALUATED[1]) == ["a person"]


def test_history_keeps_the_record_and_every_prompt() -> None:
    search = Search(EVALUATED, objective(), 0, derived_seed(0, "fresh"), 2)
    history = search.history(0)
    assert [entry["best_so_far"] for entry in history] == [1.2, 1.1, 1.1]
    assert [entry["best"] for entry in history] == [1.2, 1.1, 1.15]
    assert history[0]["median"] == pytest.approx(1.25)
    assert history[1]["prompts"][1] == {"prompt": "a tree", "score": None, "origin": "random", "parent": None}
    assert [entry["prompt"] for entry in search.entries(0)] == ["a nurse outdoors", "a nurse in a park"]
    assert search.entries(0)[0]["fresh_score"] != search.entries(0)[0]["missed_visual_concepts"]


def test_two_directions_hold_what_lies_in_a_plane() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 9))
    places, explained = principal_components(flat.astype(np.float32))
    assert explained.sum() == pytest.approx(1.0)
    apart = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    assert np.linalg.norm(places[:, None] - places[None], axis=-1) == pytest.approx(apart, abs=1e-4)
    assert principal_components(np.ones((1, 3), np.float32))[0].tolist() == [[0.0, 0.0]]


def test_a_word_counts_once_per_prompt_and_not_if_the_prompt_says_it() -> None:
    found = missed_terms([
        {"prompt": "an old nurse", "missed_visual_concepts": ["an old male nurse", "a male nurse in an office"]},
        {"prompt": "a chef", "missed_visual_concepts": ["a male chef outdoors"]},
        {"prompt": "a tree"},
    ])  # fmt: skip
    assert found is not None
    assert found["prompts"] == 2
    assert found["terms"] == [["male", 2], ["office", 1], ["outdoors", 1]]
    assert found["categories"] == [["Perceived gender", 2], ["Place", 2]]
    assert missed_terms([{"prompt": "a tree"}]) is None
