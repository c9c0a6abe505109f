"""A genetic search for prompts (MineTheGap, section 3), and a random search for comparison.

This module does not handle images. A prompt generator writes the prompts, and a function evaluates
one population of prompts at a time. From all evaluated prompts, the search can learn to predict
the loss of a new prompt from its words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import LanguageModelError
from askew.prompts.base import LENGTHS, Kind, Words, Writer, simplify
from askew.prompts.open_details import main_phrase
from askew.prompts.statements import parse_prompt
from askew.prompts.vocabulary import replace as replace_text
from askew.stats.intervals import Floats

Origin = Literal["random", "mutation"]
Selection = Literal["score", "learned"]
"""Criterion for selecting prompts: their measured loss, or the loss predicted from their words."""

Seeds = Callable[..., int]
"""A function that maps names and numbers to a seed."""

ATTEMPTS = 4
"""Maximum number of attempts to get enough new prompts from a prompt generator."""

SCREENED = 6
"""Number of mutations to request per evaluated mutation, if losses can be predicted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prompt in a search.

    Attributes
    ----------
    text
        The prompt.
    iteration
        Number of the iteration that wrote the prompt, counting from 0.
    origin
        Whether the prompt is a random prompt or a mutation.
    parent
        Prompt that was changed to make a mutation; None for a random prompt.
    loss
        Loss of the prompt (lower is better); None before evaluation, or if evaluation is
        impossible.
    counts
        Number of images for each label, keyed by axis.
    """

    text: str
    iteration: int = 0
    origin: Origin = "random"
    parent: str | None = None
    loss: float | None = None
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)


Evaluate = Callable[[Sequence[Candidate]], Sequence[Candidate]]
"""A function that returns the prompts of a population, with their losses and counts filled in."""
Expected = Callable[[str], float]
"""A function that returns the loss predicted from the words of a text."""


class LossPrediction(Protocol):
    """A model that predicts the loss of a prompt from its words, fitted to evaluated prompts."""

    def expected(self, text: str) -> float:
        """Return the expected loss of a text."""

    def drawn(self, number: int) -> Expected:
        """Draw a loss function from the posterior distribution, for Thompson sampling.

        Different numbers give different draws.
        """


Learn = Callable[[Sequence[Candidate], int], LossPrediction | None]
"""A function that learns to predict losses.

The first argument contains the evaluated prompts, and the second argument is a seed for random
draws. The function returns None if it cannot learn anything from the prompts.
"""


def one_by_one(evaluate: Callable[[Candidate], float | None]) -> Evaluate:
    """Return a function that evaluates the prompts of a population one after another."""

    def evaluate_all(population: Sequence[Candidate]) -> list[Candidate]:
        return [replace(prompt, loss=evaluate(prompt)) for prompt in population]

    return evaluate_all


@dataclass(frozen=True, slots=True)
class Evolution:
    """The size of a search.

    From the second iteration on, the search mutates the prompts selected from the previous
    iteration, and fills the rest of the population with random prompts.

    Attributes
    ----------
    iterations
        Number of iterations.
    population
        Number of prompts per iteration (b in the paper).
    selected
        Number of prompts to mutate per iteration (s in the paper).
    mutations
        Number of mutations per selected prompt (m in the paper).
    topic
        Topic of all prompts; None for any topic.
    words
        Minimum and maximum number of words in a prompt.
    """

    iterations: int = 25
    population: int = 15
    selected: int = 5
    mutations: int = 2
    topic: str | None = None
    words: Words = LENGTHS["mutations"]


def evolve(
    writer: Writer,
    evaluate: Evaluate,
    size: Evolution,
    seeds: Seeds,
    learn: Learn | None = None,
) -> list[Candidate]:
    """Run a genetic search.

    With `learn`, the search selects parents from all previous iterations. For each parent, the
    search draws new expected losses for all prompts from the posterior distribution, and selects
    the prompt with the lowest expected loss. The search requests more mutations of this parent than
    it needs. It evaluates only the mutations with the lowest expected losses, according to the draw
    that selected the parent.

    If the prompt generator finds no new mutations, the search uses random prompts instead. If the
    generator finds no new random prompts either, the iteration has fewer prompts.

    Parameters
    ----------
    writer
        Prompt generator.
    evaluate
        Function that evaluates the prompts of a population.
    size
        Size of the search.
    seeds
        Function that maps names and numbers to a seed.
    learn
        Function that learns from evaluated prompts to predict losses; None to select prompts by
        their measured losses.

    Returns
    -------
    list[Candidate]
        All prompts in the order in which they were evaluated, without near-duplicates.

    Raises
    ------
    LanguageModelError
        If the prompt generator fails to write any prompt at the start.
    """
    source = _NewPrompts(writer=writer, size=size, seeds=seeds)
    evaluated: list[Candidate] = []
    population: list[Candidate] = []
    for iteration in range(size.iterations):
        prediction = learn(evaluated, seeds("draws", iteration)) if learn and evaluated else None
        if prediction:
            parents = _drawn_parents(evaluated, size.selected, prediction)
        else:
            parents = [(parent, None) for parent in best(population, size.selected)]
        population = []
        for parent, expected in parents:
            for text in source.mutations(parent.text, expected):
                population.append(Candidate(text, iteration, "mutation", parent.text))
        # A population of random prompts is requested, so that every search gets the same ones.
        for text in source.random_prompts(iteration, size.population - len(population)):
            population.append(Candidate(text, iteration))
        population = list(evaluate(population))
        evaluated += population
    return evaluated


def _drawn_parents(
    evaluated: Sequence[Candidate], count: int, prediction: LossPrediction
) -> list[tuple[Candidate, Expected | None]]:
    """Select parents by Thompson sampling; return pairs of a parent and the draw that selected it.

    Each draw selects the prompt with the lowest expected loss, excluding prompts that earlier draws
    selected.
    """
    parents: list[tuple[Candidate, Expected | None]] = []
    chosen = set[str]()
    for number in range(count):
        expected = prediction.drawn(number)
        others = [prompt for prompt in evaluated if prompt.text not in chosen]
        for parent in best(others, 1, expected):
            parents.append((parent, expected))
            chosen.add(parent.text)
    return parents


@dataclass
class _NewPrompts:
    """A source of prompts that are not near-duplicates of earlier prompts."""

    writer: Writer
    size: Evolution
    seeds: Seeds
    seen: set[str] = field(default_factory=set)

    def mutations(self, parent: str, expected: Expected | None) -> list[str]:
        """Return new mutations of a prompt; if `expected` is given, only the most promising ones."""
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
        """Request texts, at most `ATTEMPTS` times, until enough of them are new."""
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
    """Run a random search that evaluates as many prompts as `evolve` does.

    With the same seeds, the random search includes the random prompts that `evolve` evaluates. The
    parameters and the result are the same as in `evolve`.
    """
    return evolve(writer, evaluate, replace(size, selected=0), seeds)


def best(
    evaluated: Sequence[Candidate], count: int, expected: Expected | None = None
) -> list[Candidate]:
    """Return the prompts with the lowest loss, without duplicates.

    Parameters
    ----------
    evaluated
        Evaluated prompts. Prompts without a loss are ignored.
    count
        Maximum number of prompts.
    expected
        Function that returns the loss predicted from the words of a text; None to use the measured
        losses.

    Returns
    -------
    list[Candidate]
        The prompts in order of increasing loss. Prompts with equal losses keep their order.
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


def winners(
    evaluated: Sequence[Candidate], count: int, expected: Expected | None = None
) -> list[Candidate]:
    """Return the best prompts, if possible with different main nouns.

    If there are fewer than `count` different nouns, as in a search about nurses, the best remaining
    prompts are added, although they repeat a noun. The parameters and the order are the same as in
    `best`.
    """
    ordered = best(evaluated, len(evaluated), expected)
    first_by_noun: dict[str, Candidate] = {}
    for candidate in ordered:
        first_by_noun.setdefault(main_noun(candidate.text), candidate)
    first = list(first_by_noun.values())[:count]
    texts = {candidate.text for candidate in first}
    others = [candidate for candidate in ordered if candidate.text not in texts]
    return first + others[: count - len(first)]


def main_noun(text: str) -> str:
    """Return the noun that a prompt is about, in the singular.

    If the prompt has no noun, return the simplified prompt.
    """
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase is None:
        return simplify(text)
    if phrase.noun:
        return phrase.noun.singular
    return parsed.lower_text(phrase.noun_start, phrase.end)


def near_duplicate_key(prompt: str) -> str:
    """Return the sorted content words of a prompt, which are the same for near-duplicates."""
    return " ".join(sorted(singular_words(prompt)))


@lru_cache(maxsize=16_384)
def singular_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text, with known nouns in the singular."""
    parsed = parse_prompt(text)
    for phrase in reversed(parsed.phrases):
        if phrase.noun:
            text = replace_text(
                text, *parsed.span(phrase.noun_start, phrase.end), phrase.noun.singular
            )
    return tuple(content_words(text))


def content_words(text: str) -> list[str]:
    """Return the meaningful words of a text in lower case, in the order of the text."""
    return [word for word in simplify(text).split() if word not in _EMPTY_WORDS]


@dataclass(frozen=True, slots=True)
class WordEffects(LossPrediction):
    """A model that predicts a loss by adding up the effects of all words in a text.

    Attributes
    ----------
    base
        Expected loss of a text that contains no known word.
    effects
        Amount that each known word adds to the expected loss.
    """

    base: float
    effects: Mapping[str, float]

    def expected(self, text: str) -> float:
        """Return the expected loss of a text.

        Words that no evaluated prompt contains have no effect.
        """
        present = sorted(set(content_words(text)))
        return self.base + sum(self.effects.get(word, 0.0) for word in present)

    def drawn(self, number: int) -> Expected:
        """Return `expected` for every draw, because these predictions are not random."""
        return self.expected


def word_effects(evaluated: Sequence[Candidate], seed: int = 0) -> WordEffects | None:
    """Learn from all losses measured so far to predict a prompt's loss from its words.

    Differences that the words do not explain are treated as noise.

    Parameters
    ----------
    evaluated
        Evaluated prompts.
    seed
        Not used, because this prediction is not random.

    Returns
    -------
    WordEffects or None
        The effects of all words; None if no loss was measured.
    """
    losses = {
        candidate.text: candidate.loss for candidate in evaluated if candidate.loss is not None
    }
    if not losses:
        return None
    words_of_texts = [frozenset(content_words(text)) for text in losses]
    words = sorted(frozenset().union(*words_of_texts))
    features = [_contained(words, words_of_text) for words_of_text in words_of_texts]
    base, effects = ridge_effects(features, list(losses.values()))
    return WordEffects(base, dict(zip(words, effects.tolist(), strict=True)))


def _contained(words: Sequence[str], words_of_text: frozenset[str]) -> list[bool]:
    return [word in words_of_text for word in words]


RATIOS = np.geomspace(0.1, 10_000, 51)
"""Candidates for the ratio of the noise variance to the variance of the effects."""


def ridge_effects(features: ArrayLike, values: ArrayLike) -> tuple[float, Floats]:
    """Estimate the effect of each feature by ridge regression.

    The model assumes normally distributed effects with mean 0, and normally distributed noise. The
    ratio of the noise variance to the variance of the effects is the value in `RATIOS` with the
    highest restricted likelihood.

    Parameters
    ----------
    features
        Array of shape (items, features): 1 if the item has the feature, 0 if not.
    values
        Array of shape (items,): one finite number per item.

    Returns
    -------
    base : float
        Expected value of an item that has no features.
    effects : ndarray of shape (features,)
        Effect of each feature on the value, shrunk toward 0.
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
        """Return -2 times the restricted log-likelihood of a variance ratio, up to a constant.

        The variance is set to its maximum-likelihood value for the given ratio.
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
