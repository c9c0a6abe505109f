"""The search for prompts, with the lexicon as writer and losses that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from askew.errors import LanguageModelError, UsageError
from askew.prompts.base import PROMPT_WORDS, Words
from askew.prompts.evolution import Candidate, Evaluated, Evolution, best, evolve, search_randomly, word_effects
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.word_effects import content_words, essence
from askew.store.keys import derived_seed

SMALL = Evolution(iterations=5, population=8, selected=3, mutations=2)


def seeds(*names: object) -> int:
    return derived_seed(0, *map(str, names))


def letters(candidate: Candidate) -> float:
    """A loss that a search can follow: the share of other letters than those of "doctor"."""
    text = candidate.text.replace(" ", "")
    return sum(letter not in "doctor" for letter in text) / len(text)


def texts(found: Sequence[Evaluated]) -> list[str]:
    return [one.candidate.text for one in found]


@pytest.fixture(scope="module")
def found() -> list[Evaluated]:
    return evolve(LexiconWriter(), letters, SMALL, seeds)


def test_every_iteration_has_its_population_and_no_prompt_comes_twice(found: Sequence[Evaluated]) -> None:
    assert [one.candidate.iteration for one in found] == [k for k in range(5) for _ in range(8)]
    assert len({essence(text) for text in texts(found)}) == len(found)
    assert all(3 <= len(text.split()) <= 8 for text in texts(found))


def test_the_best_of_an_iteration_are_the_parents_of_the_next(found: Sequence[Evaluated]) -> None:
    iterations = [[one for one in found if one.candidate.iteration == k] for k in range(5)]
    assert {one.candidate.origin for one in iterations[0]} == {"random"}
    for before, after in pairwise(iterations):
        parents = [one.candidate.parent for one in after if one.candidate.origin == "mutation"]
        assert set(parents) <= set(texts(best(before, 3)))
        assert all(parents.count(parent) <= 2 for parent in parents)


def test_the_same_seed_gives_the_same_search_and_another_one_another() -> None:
    again = evolve(LexiconWriter(), letters, SMALL, seeds)
    other = evolve(LexiconWriter(), letters, SMALL, lambda *names: seeds("other", *names))
    assert texts(again) == texts(evolve(LexiconWriter(), letters, SMALL, seeds))
    assert texts(again) != texts(other)


def test_the_random_search_holds_what_the_search_injects(found: Sequence[Evaluated]) -> None:
    random = search_randomly(LexiconWriter(), letters, SMALL, seeds)
    assert len(random) == len(found)
    assert texts(random)[:8] == texts(found)[:8]
    assert {one.candidate.origin for one in random} == {"random"}


def test_mutations_of_the_best_are_better_than_random_prompts(found: Sequence[Evaluated]) -> None:
    means = {
        origin: [one.loss or 0.0 for one in found if one.candidate.origin == origin and one.candidate.iteration]
        for origin in ("mutation", "random")
    }
    assert sum(means["mutation"]) / len(means["mutation"]) < sum(means["random"]) / len(means["random"])


LEARNED = Evolution(iterations=8, population=15, selection="learned")


def worth(text: str) -> float:
    """A loss that is the sum of its words': some are good, some bad, most are neither."""
    effects = [derived_seed(1, word) % 1000 / 1000 for word in content_words(text)]
    return sum((effect > 0.9) - (effect < 0.15) for effect in effects)


def by_luck(number: int, candidate: Candidate) -> float:
    """What is measured of it: noise, for the most part."""
    return worth(candidate.text) + float(np.random.default_rng(seeds(number, candidate.text)).normal(0, 2))


def test_a_search_that_learns_is_not_misled_by_luck() -> None:
    writer = LexiconWriter()
    found: dict[str, list[float]] = {"random": [], "score": [], "learned": []}
    for number in range(4):
        measure = partial(by_luck, number)
        own = partial(seeds, number)
        searches = {
            "random": search_randomly(writer, measure, LEARNED, own),
            "score": evolve(writer, measure, replace(LEARNED, selection="score"), own),
            "learned": evolve(writer, measure, LEARNED, own),
        }
        for name, some in searches.items():
            effects = word_effects(some, "learned" if name == "learned" else "score")
            found[name] += [worth(text) for text in texts(best(some, 5, effects))]
    means = {name: np.mean(some) for name, some in found.items()}
    assert means["learned"] < means["score"] - 0.3
    assert means["learned"] < means["random"] - 0.3


def test_a_search_that_learns_keeps_its_budget_and_repeats_nothing() -> None:
    measure = partial(by_luck, 0)
    some = evolve(LexiconWriter(), measure, LEARNED, seeds)
    assert texts(some) == texts(evolve(LexiconWriter(), measure, LEARNED, seeds))
    assert [one.candidate.iteration for one in some] == [k for k in range(8) for _ in range(15)]
    assert len({essence(text) for text in texts(some)}) == len(some)
    at = {one.candidate.text: one.candidate.iteration for one in some}
    ages = {one.candidate.iteration - at[one.candidate.parent] for one in some if one.candidate.parent}
    assert min(ages) >= 1
    assert max(ages) > 1


class FewWords:
    """A writer that soon has nothing new to say."""

    fingerprint = "few"

    def random_prompts(
        self, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        return ["a red house", "the red house", "a house red", "a blue house", "a green house"][:count]

    def mutations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        return [prompt, "a red house"][:count]

    def variations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        return []


def test_a_writer_that_repeats_itself_ends_the_search_early() -> None:
    found = evolve(FewWords(), letters, Evolution(4, 5, 1, 2), seeds)
    assert texts(found) == ["a red house", "a blue house", "a green house"]


def test_prompts_without_a_loss_are_never_selected() -> None:
    found = evolve(LexiconWriter(), lambda c: None if c.iteration == 0 else 1.0, Evolution(2, 4, 2, 2), seeds)
    assert {one.candidate.origin for one in found} == {"random"}
    assert best(found[:4], 3) == []


def test_a_selection_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="more than the population"):
        Evolution(5, 5, 3, 2)


class Moody:
    """The lexicon, which refuses all mutations and every request but one for random prompts."""

    fingerprint = "moody"

    def __init__(self, willing: int = 1) -> None:
        self.asked, self.willing = 0, willing

    def random_prompts(
        self, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        self.asked += 1
        if self.asked > self.willing:
            raise LanguageModelError("it was refused")
        return LexiconWriter().random_prompts(count, seed=seed)

    def mutations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        raise LanguageModelError("it was refused")

    def variations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        return []


def test_a_refused_request_does_not_end_a_search() -> None:
    found = evolve(Moody(), letters, SMALL, seeds)
    assert 0 < len(found) <= SMALL.population
    assert {one.candidate.iteration for one in found} == {0}


def test_a_writer_that_gives_nothing_at_all_is_an_error() -> None:
    for search in (evolve, search_randomly):
        with pytest.raises(LanguageModelError, match="refused"):
            search(Moody(0), letters, SMALL, seeds)
