"""A genetic search for prompts (MineTheGap, section 3), and a random search for comparison.

The search does not use images. Its inputs are a prompt generator and a function from prompts to
their losses, which gets a population at a time. It can learn the effect of each word from the losses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import LanguageModelError
from askew.prompts.base import LENGTHS, Kind, Words, Writer, simplify
from askew.stats.intervals import Floats

Origin = Literal["random", "mutation"]
Selection = Literal["score", "learned"]
"""Rule to select prompts: by their loss, or by the loss that their words predict."""

Seeds = Callable[..., int]
"""A function from names and numbers to a seed."""

ATTEMPTS = 4
"""Number of requests to a prompt generator for prompts that are new."""

SCREENED = 6
"""Mutations to request per evaluated mutation, if the search can predict losses."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prompt of a search.

    Attributes
    ----------
    text
        The prompt.
    iteration
        Iteration in which it was written, from 0.
    origin
        Whether it is a random prompt or a mutation.
    parent
        Prompt that it is a mutation of; None for a random prompt.
    loss
        Its loss, which is lower for better prompts; None before evaluation, and if evaluation is
        impossible.
    """

    text: str
    iteration: int = 0
    origin: Origin = "random"
    parent: str | None = None
    loss: float | None = None


Evaluate = Callable[[Sequence[Candidate]], Sequence[float | None]]
"""A function from the prompts of a population to their losses."""
Expected = Callable[[str], float]
"""A function from a text to the loss that its words predict."""


def one_by_one(evaluate: Callable[[Candidate], float | None]) -> Evaluate:
    """Return the evaluation of populations by a function from one prompt to its loss."""

    def evaluate_all(population: Sequence[Candidate]) -> list[float | None]:
        return [evaluate(prompt) for prompt in population]

    return evaluate_all


@dataclass(frozen=True, slots=True)
class Evolution:
    """The size of a search.

    From the second iteration on, the selected prompts of the previous iteration are mutated, and
    random prompts fill the population. With the selection "learned", parents come from all previous
    iterations. More mutations are requested, and the ones with the lowest predicted loss are
    evaluated.

    Attributes
    ----------
    iterations
        Number of iterations.
    population
        Prompts per iteration, b of the paper.
    selected
        Prompts to mutate, s of the paper.
    mutations
        Mutations per selected prompt, m of the paper.
    topic
        Topic of all prompts; None for anything.
    words
        Least and greatest number of words of a prompt.
    selection
        Rule to select prompts.
    """

    iterations: int = 25
    population: int = 15
    selected: int = 5
    mutations: int = 2
    topic: str | None = None
    words: Words = LENGTHS["mutations"]
    selection: Selection = "score"


def evolve(writer: Writer, evaluate: Evaluate, size: Evolution, seeds: Seeds) -> list[Candidate]:
    """Run a genetic search.

    If the prompt generator has no new mutation, a random prompt replaces it. If it has no new
    random prompt either, the iteration is smaller.

    Parameters
    ----------
    writer
        Prompt generator.
    evaluate
        Function from the prompts of a population to their losses.
    size
        Size of the search.
    seeds
        Function from names and numbers to a seed.

    Returns
    -------
    list[Candidate]
        All prompts in the order of their evaluation, without near-duplicates.

    Raises
    ------
    LanguageModelError
        If the prompt generator writes no prompt at the start.
    """
    source = _NewPrompts(writer=writer, size=size, seeds=seeds)
    evaluated: list[Candidate] = []
    population: list[Candidate] = []
    for iteration in range(size.iterations):
        expected = word_effects(evaluated, size.selection)
        parents = best(evaluated if expected else population, size.selected, expected)
        population = []
        for parent in parents:
            for text in source.mutations(parent.text, expected):
                population.append(Candidate(text, iteration, "mutation", parent.text))
        # A population of random prompts is requested, so that every search gets the same ones.
        for text in source.random_prompts(iteration, size.population - len(population)):
            population.append(Candidate(text, iteration))
        losses = evaluate(population)
        population = [
            replace(prompt, loss=loss) for prompt, loss in zip(population, losses, strict=True)
        ]
        evaluated += population
    return evaluated


@dataclass
class _NewPrompts:
    """A source of prompts that are not near-duplicates of earlier prompts."""

    writer: Writer
    size: Evolution
    seeds: Seeds
    seen: set[str] = field(default_factory=set)

    def mutations(self, parent: str, expected: Expected | None) -> list[str]:
        """Return new mutations of a prompt, with the lowest expected losses if these are known."""
        wanted = self.size.mutations
        requested = wanted * (SCREENED if expected else 1)
        texts = self._request("mutations", parent, requested, wanted, ("mutations", parent))
        return self._take(sorted(texts, key=expected) if expected else texts, wanted)

    def random_prompts(self, iteration: int, wanted: int) -> list[str]:
        """Return new random prompts."""
        requested = self.size.population
        names = ("random", iteration)
        texts = self._request("random prompts", "", requested, wanted, names)
        return self._take(texts, wanted)

    def _take(self, texts: list[str], wanted: int) -> list[str]:
        taken = texts[:wanted]
        self.seen.update(map(near_duplicate_key, taken))
        return taken

    def _request(
        self, kind: Kind, prompt: str, requested: int, wanted: int, names: tuple[object, ...]
    ) -> list[str]:
        """Request texts until enough of them are new, at most `ATTEMPTS` times."""
        texts = dict[str, str]()
        refusal: LanguageModelError | None = None
        for attempt in range(ATTEMPTS if wanted else 0):
            try:
                written = self.writer.write(
                    kind,
                    prompt,
                    requested,
                    seed=self.seeds(*names, attempt),
                    topic=self.size.topic,
                    words=self.size.words,
                )
            except LanguageModelError as error:
                refusal = error
                written = []
            for text in written:
                if near_duplicate_key(text) not in self.seen:
                    texts.setdefault(near_duplicate_key(text), text)
            if len(texts) >= wanted:
                break
        if refusal and not texts and not self.seen:  # a later refusal must not end the search
            raise refusal
        return list(texts.values())


def search_randomly(
    writer: Writer, evaluate: Evaluate, size: Evolution, seeds: Seeds
) -> list[Candidate]:
    """Run a random search with as many prompts as `evolve` evaluates.

    With the same seeds, the random prompts of `evolve` are among its prompts. Parameters and result
    are the same as in `evolve`.
    """
    return evolve(writer, evaluate, replace(size, selected=0, selection="score"), seeds)


def best(
    evaluated: Sequence[Candidate], count: int, expected: Expected | None = None
) -> list[Candidate]:
    """Return the prompts with the lowest loss, without duplicates.

    Parameters
    ----------
    evaluated
        Evaluated prompts; prompts without a loss are left out.
    count
        Greatest number of prompts.
    expected
        Function from a text to the loss that its words predict; None to use the measured loss.

    Returns
    -------
    list[Candidate]
        The prompts, the lowest loss first, equal losses in their order.
    """

    def loss(candidate: Candidate) -> float:
        return expected(candidate.text) if expected else candidate.loss or 0.0

    first_by_text: dict[str, Candidate] = {}
    last_first = [candidate for candidate in reversed(evaluated) if candidate.loss is not None]
    for candidate in last_first:
        first_by_text[candidate.text] = candidate
    ordered = list(first_by_text.values())[::-1]
    return sorted(ordered, key=loss)[:count]


_EMPTY_WORDS = frozenset(
    "a an the of in on at by to for from with and or some this that is are as who".split()
)


def near_duplicate_key(prompt: str) -> str:
    """Return the sorted content words of a text, which are equal for near-duplicates."""
    return " ".join(sorted(content_words(prompt)))


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in lower case and in their order."""
    return [word for word in simplify(text).split() if word not in _EMPTY_WORDS]


def word_effects(evaluated: Sequence[Candidate], selection: Selection) -> Expected | None:
    """Learn the loss that words predict from all losses measured so far.

    Differences that the words do not explain are noise. Words that occurred in no prompt have no
    effect.

    Parameters
    ----------
    evaluated
        Evaluated prompts.
    selection
        Rule to select prompts.

    Returns
    -------
    Expected or None
        Function from a text to the predicted loss. None for the rule "score", and if no loss was
        measured.
    """
    losses = {
        candidate.text: candidate.loss for candidate in evaluated if candidate.loss is not None
    }
    if not losses or selection != "learned":
        return None
    words_of_texts = [frozenset(content_words(text)) for text in losses]
    words = sorted(frozenset().union(*words_of_texts))
    features = [_contained(words, words_of_text) for words_of_text in words_of_texts]
    base, effects = ridge_effects(features, list(losses.values()))
    effect_by_word: dict[str, float] = dict(zip(words, effects.tolist(), strict=True))

    def expected(text: str) -> float:
        present = sorted(set(content_words(text)))
        return base + sum(effect_by_word.get(word, 0.0) for word in present)

    return expected


def _contained(words: Sequence[str], words_of_text: frozenset[str]) -> list[bool]:
    return [word in words_of_text for word in words]


RATIOS = np.geomspace(0.1, 10_000, 51)
"""Candidate ratios of the variance of the noise to the variance of an effect."""


def ridge_effects(features: ArrayLike, values: ArrayLike) -> tuple[float, Floats]:
    """Estimate the effect of each feature by ridge regression.

    Effects are normal around 0, noise is normal, and the ratio of their variances is the ratio of
    `RATIOS` with the greatest restricted likelihood.

    Parameters
    ----------
    features
        Array of shape (n, features), 1 where an item has a feature and 0 elsewhere.
    values
        Array of shape (n,), all finite.

    Returns
    -------
    base : float
        Expected value without any feature.
    effects : ndarray of shape (features,)
        Value that each feature adds, shrunk toward 0.
    """
    x = np.asarray(features, dtype=float)
    y = np.asarray(values, dtype=float)
    center = x.mean(axis=0)
    level = float(y.mean())
    if np.ptp(y) == 0:
        return level, np.zeros(x.shape[1])
    x = x - center
    variances, directions = np.linalg.eigh(x @ x.T)
    variances = np.clip(variances, 0, None)
    along = directions.T @ (y - level)

    def misfit(ratio: float) -> float:
        """Return minus twice the restricted log-likelihood of a ratio, up to a constant.

        The scale has its most likely value.
        """
        total = variances + ratio
        return float(
            (len(along) - 1) * np.log(np.sum(along**2 / total))
            + np.sum(np.log(total))
            - np.log(ratio)
        )

    ratio = min(RATIOS, key=misfit)
    effects = x.T @ (directions @ (along / (variances + ratio)))
    return level - float(center @ effects), np.asarray(effects)
