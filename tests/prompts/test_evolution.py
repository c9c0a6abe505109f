"""The search for prompts with the lexicon as writer and known losses; effects of words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import mean

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from askew.errors import LanguageModelError
from askew.prompts.base import Kind, Words
from askew.prompts.evolution import (
    RATIOS,
    Candidate,
    Evolution,
    Expected,
    WordEffects,
    best,
    content_words,
    evolve,
    near_duplicate_key,
    one_by_one,
    ridge_effects,
    search_randomly,
    winners,
    word_effects,
)
from askew.prompts.lexicon import LexiconWriter
from askew.store.keys import derived_seed

SMALL = Evolution(iterations=5, population=8, selected=3, mutations=2)


def seeds(*names: object) -> int:
    return derived_seed(0, *map(str, names))


def letters(candidate: Candidate) -> float:
    """Return a loss that a search can reduce: the share of letters that are not in "doctor"."""
    text = candidate.text.replace(" ", "")
    return sum(letter not in "doctor" for letter in text) / len(text)


def texts(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.text for candidate in candidates]


@pytest.fixture(scope="module")
def candidates() -> list[Candidate]:
    return evolve(LexiconWriter(), one_by_one(letters), SMALL, seeds)


def test_every_iteration_has_its_population_without_repetition(
    candidates: Sequence[Candidate],
) -> None:
    assert [candidate.iteration for candidate in candidates] == [
        k for k in range(5) for _ in range(8)
    ]
    assert len({near_duplicate_key(text) for text in texts(candidates)}) == len(candidates)
    assert all(3 <= len(text.split()) <= 8 for text in texts(candidates))


def test_the_best_of_an_iteration_are_the_parents_of_the_next(
    candidates: Sequence[Candidate],
) -> None:
    iterations: list[list[Candidate]] = [[] for _ in range(5)]
    for candidate in candidates:
        iterations[candidate.iteration].append(candidate)
    assert {candidate.origin for candidate in iterations[0]} == {"random"}
    for before, after in pairwise(iterations):
        parents = [candidate.parent for candidate in after if candidate.origin == "mutation"]
        assert set(parents) <= set(texts(best(before, 3)))
        assert all(parents.count(parent) <= 2 for parent in parents)


def test_the_search_depends_on_the_seed() -> None:
    again = evolve(LexiconWriter(), one_by_one(letters), SMALL, seeds)
    other = evolve(
        LexiconWriter(), one_by_one(letters), SMALL, lambda *names: seeds("other", *names)
    )
    assert texts(again) == texts(evolve(LexiconWriter(), one_by_one(letters), SMALL, seeds))
    assert texts(again) != texts(other)


def test_the_random_search_contains_the_prompts_that_the_search_injects(
    candidates: Sequence[Candidate],
) -> None:
    random = search_randomly(LexiconWriter(), one_by_one(letters), SMALL, seeds)
    assert len(random) == len(candidates)
    assert texts(random)[:8] == texts(candidates)[:8]
    assert {candidate.origin for candidate in random} == {"random"}


def test_mutations_of_the_best_are_better_than_random_prompts(
    candidates: Sequence[Candidate],
) -> None:
    losses: dict[str, list[float]] = {"mutation": [], "random": []}
    for candidate in candidates:
        if candidate.iteration:
            losses[candidate.origin].append(candidate.loss or 0.0)
    assert mean(losses["mutation"]) < mean(losses["random"])


LEARNED = Evolution(iterations=8, population=15)


def worth(text: str) -> float:
    """Return a loss that is the sum over words: some are good, some bad, most have no effect."""
    effects = [derived_seed(1, word) % 1000 / 1000 for word in content_words(text)]
    return sum((effect > 0.9) - (effect < 0.15) for effect in effects)


def by_luck(number: int, candidate: Candidate) -> float:
    """Return a measured loss, which is mostly noise."""
    return worth(candidate.text) + float(
        np.random.default_rng(seeds(number, candidate.text)).normal(0, 2)
    )


@pytest.mark.slow
def test_a_search_by_learned_scores_is_robust_to_noise() -> None:
    writer = LexiconWriter()
    candidates: dict[str, list[float]] = {"random": [], "score": [], "learned": []}
    for number in range(2):
        measure = partial(by_luck, number)
        run_seeds = partial(seeds, number)
        searches = {
            "random": search_randomly(writer, one_by_one(measure), LEARNED, run_seeds),
            "score": evolve(writer, one_by_one(measure), LEARNED, run_seeds),
            "learned": evolve(writer, one_by_one(measure), LEARNED, run_seeds, word_effects),
        }
        for name, group in searches.items():
            effects = word_effects(group) if name == "learned" else None
            chosen = best(group, 5, effects.expected if effects else None)
            candidates[name] += [worth(text) for text in texts(chosen)]
    means = {name: np.mean(group) for name, group in candidates.items()}
    assert means["learned"] < means["score"] - 0.3
    assert means["learned"] < means["random"] - 0.3


@pytest.mark.slow
def test_a_search_by_learned_scores_keeps_its_budget_without_repetition() -> None:
    measure = partial(by_luck, 0)
    group = evolve(LexiconWriter(), one_by_one(measure), LEARNED, seeds, word_effects)
    again = evolve(LexiconWriter(), one_by_one(measure), LEARNED, seeds, word_effects)
    assert texts(group) == texts(again)
    assert [candidate.iteration for candidate in group] == [k for k in range(8) for _ in range(15)]
    assert len({near_duplicate_key(text) for text in texts(group)}) == len(group)
    iteration_of = {candidate.text: candidate.iteration for candidate in group}
    ages = {
        candidate.iteration - iteration_of[candidate.parent]
        for candidate in group
        if candidate.parent
    }
    assert min(ages) >= 1
    assert max(ages) > 1


class FewWords(LexiconWriter):
    """A prompt generator that soon repeats itself."""

    def write(
        self,
        kind: Kind,
        prompt: str,
        count: int,
        *,
        seed: int,
        topic: str | None = None,
        words: Words | None = None,
    ) -> list[str]:
        houses = ["a red house", "the red house", "a house red", "a blue house", "a green house"]
        return houses[:count] if kind == "random prompts" else [prompt, "a red house"][:count]


def test_a_writer_that_repeats_itself_ends_the_search_early() -> None:
    candidates = evolve(FewWords(), one_by_one(letters), Evolution(4, 5, 1, 2), seeds)
    assert texts(candidates) == ["a red house", "a blue house", "a green house"]


def test_prompts_without_a_loss_are_never_selected() -> None:
    candidates = evolve(
        LexiconWriter(),
        one_by_one(lambda c: None if c.iteration == 0 else 1.0),
        Evolution(2, 4, 2, 2),
        seeds,
    )
    assert {candidate.origin for candidate in candidates} == {"random"}
    assert best(candidates[:4], 3) == []


class RefusingWriter(LexiconWriter):
    """The lexicon, but it refuses all mutations and all except one request for random prompts."""

    def __init__(self, willing: int = 1) -> None:
        super().__init__()
        self.asked = 0
        self.willing = willing

    def write(
        self,
        kind: Kind,
        prompt: str,
        count: int,
        *,
        seed: int,
        topic: str | None = None,
        words: Words | None = None,
    ) -> list[str]:
        self.asked += kind == "random prompts"
        if kind == "mutations" or self.asked > self.willing:
            raise LanguageModelError("it was refused")
        return super().write(kind, prompt, count, seed=seed)


def test_a_refused_request_does_not_end_a_search() -> None:
    candidates = evolve(RefusingWriter(), one_by_one(letters), SMALL, seeds)
    assert 0 < len(candidates) <= SMALL.population
    assert {candidate.iteration for candidate in candidates} == {0}


def test_a_writer_that_gives_nothing_at_all_is_an_error() -> None:
    for search in (evolve, search_randomly):
        with pytest.raises(LanguageModelError, match="refused"):
            search(RefusingWriter(0), one_by_one(letters), SMALL, seeds)


LOSSES = {
    "an old nurse": 1.0,
    "a young nurse": 1.1,
    "an old chef": 1.2,
    "a young chef": 1.3,
    "an old pilot": 1.0,
    "a young pilot": 1.1,
}


def test_near_duplicates_have_the_same_key() -> None:
    assert near_duplicate_key("A nurse, in the park") == near_duplicate_key("park with a nurse")
    assert content_words("A nurse in the Park") == ["nurse", "park"]


def test_plural_and_singular_are_one_prompt() -> None:
    assert near_duplicate_key("photo of police officers") == near_duplicate_key(
        "a photo of a police officer"
    )
    assert near_duplicate_key("two nurses") != near_duplicate_key("a nurse")


def test_winners_have_different_nouns_as_long_as_there_are_enough() -> None:
    ordered = ["old nurses", "a nurse", "a young nurse", "a chef", "an unknown thing"]
    prompts = [Candidate(text, loss=float(place)) for place, text in enumerate(ordered)]
    assert texts(winners(prompts, 2)) == ["old nurses", "a chef"]
    assert texts(winners(prompts, 3)) == ["old nurses", "a chef", "an unknown thing"]
    assert texts(winners(prompts[:3], 2)) == ["old nurses", "a nurse"]
    reverse = winners(prompts, 2, lambda text: -float(ordered.index(text)))
    assert texts(reverse) == ["an unknown thing", "a chef"]


class Draws(WordEffects):
    """Effects whose draws favor a letter each, of "xyz"."""

    def drawn(self, number: int) -> Expected:
        return lambda text: -text.count("xyz"[number])


def test_each_parent_is_the_best_of_its_own_draw() -> None:
    prompts = [Candidate(text, loss=0.0) for text in ("a x x", "a x", "a y", "a z", "an owl")]

    def evaluate(population: Sequence[Candidate]) -> list[Candidate]:
        return prompts if population[0].iteration == 0 else list(population)

    size = Evolution(iterations=2, population=5, selected=3, mutations=1)
    group = evolve(LexiconWriter(), evaluate, size, seeds, lambda *_: Draws(0.0, {}))
    parents = [candidate.parent for candidate in group if candidate.parent]
    assert parents == ["a x x", "a y", "a z"]


def learned(losses: dict[str, float]) -> Expected:
    effects = word_effects([Candidate(text, loss=loss) for text, loss in losses.items()])
    assert effects is not None
    return effects.expected


def test_expected_losses_add_the_effects_of_words() -> None:
    candidates = learned(LOSSES)
    assert candidates("an old nurse in a park") == candidates("the old nurse")
    assert candidates("old") - candidates("") == pytest.approx(candidates("") - candidates("young"))
    assert candidates("an old nurse") < candidates("a young nurse") < candidates("a young chef")
    assert candidates("a red house") == candidates("")


def test_the_order_of_losses_does_not_matter() -> None:
    candidates = learned(LOSSES)
    again = learned(dict(reversed(LOSSES.items())))
    assert {text: again(text) for text in LOSSES} == pytest.approx(
        {text: candidates(text) for text in LOSSES}
    )


def data(
    n: int, noise: float, effect: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng([n, 1])
    features = (rng.random((n, 30)) < 0.2).astype(float)
    return features, 5 + features @ rng.normal(0, effect, 30) + rng.normal(0, noise, n)


def likelihood(features: NDArray[np.float64], values: NDArray[np.float64], ratio: float) -> float:
    """Return the restricted log-likelihood, of contrasts that do not depend on the mean."""
    contrasts = null_space(np.ones((1, len(values)))).T
    z = contrasts @ values
    v = contrasts @ (features @ features.T + ratio * np.eye(len(values))) @ contrasts.T
    scale = z @ np.linalg.solve(v, z) / len(z)
    return float(-len(z) / 2 * np.log(scale) - np.linalg.slogdet(v)[1] / 2)


@pytest.mark.parametrize("noise", [0.3, 2.0, 8.0])
def test_it_is_ridge_regression_at_the_most_likely_ratio(noise: float) -> None:
    features, values = data(60, noise)
    ratio = max(RATIOS, key=lambda candidate: likelihood(features, values, candidate))
    rows = np.vstack(
        [np.c_[np.ones(60), features], np.c_[np.zeros(30), np.sqrt(ratio) * np.eye(30)]]
    )
    wanted = np.linalg.lstsq(rows, np.r_[values, np.zeros(30)], rcond=None)[0]
    base, effects = ridge_effects(features, values)
    assert base == pytest.approx(wanted[0])
    assert effects == pytest.approx(wanted[1:])


def test_effects_of_pure_noise_are_shrunk() -> None:
    features, values = data(60, 1.0, effect=0.0)
    base, effects = ridge_effects(features, values)
    assert np.std(base + features @ effects) < 0.3 * np.std(values)


def test_losses_without_variance_give_no_effects() -> None:
    assert ridge_effects([[1, 0], [0, 1], [1, 1]], [2, 2, 2])[1].tolist() == [0, 0]
    assert ridge_effects([[1, 0]], [3])[0] == 3
    assert ridge_effects(np.zeros((2, 0)), [1, 3])[0] == 2
