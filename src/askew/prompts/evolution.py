"""A genetic search for prompts (MineTheGap, section 3), and a random search for comparison.

The search does not use images. Its inputs are a prompt generator and a function that evaluates
prompts, a population at a time. It can learn from all evaluated prompts which loss the words of a
new prompt predict.
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
    counts
        Images by label, for each axis on which they are labeled.
    """

    text: str
    iteration: int = 0
    origin: Origin = "random"
    parent: str | None = None
    loss: float | None = None
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)


Evaluate = Callable[[Sequence[Candidate]], Sequence[Candidate]]
"""A function that returns the prompts of a population with their losses and counts."""
Expected = Callable[[str], float]
"""A function from a text to the loss that its words predict."""


class LossPrediction(Protocol):
    """Losses that words predict, learned from evaluated prompts."""

    def expected(self, text: str) -> float:
        """Return the expected loss of a text."""

    def drawn(self, number: int) -> Expected:
        """Return losses that the data allow, for Thompson sampling. Draws differ by number."""


Learn = Callable[[Sequence[Candidate], int], LossPrediction | None]
"""A function from evaluated prompts and a seed to predictions; None if nothing can be learned."""


def one_by_one(evaluate: Callable[[Candidate], float | None]) -> Evaluate:
    """Return the evaluation of populations by a function from one prompt to its loss."""

    def evaluate_all(population: Sequence[Candidate]) -> list[Candidate]:
        return [replace(prompt, loss=evaluate(prompt)) for prompt in population]

    return evaluate_all


@dataclass(frozen=True, slots=True)
class Evolution:
    """The size of a search.

    From the second iteration on, the selected prompts of the previous iteration are mutated, and
    random prompts fill the population.

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

    A search that learns selects parents of all previous iterations by the losses that their words
    predict. Each parent is the best under its own draw. The search requests more mutations of the
    parent than it evaluates, and evaluates the best under the same draw.

    If the prompt generator has no new mutation, a random prompt replaces it. If it has no new
    random prompt either, the iteration is smaller.

    Parameters
    ----------
    writer
        Prompt generator.
    evaluate
        Function that evaluates the prompts of a population.
    size
        Size of the search.
    seeds
        Function from names and numbers to a seed.
    learn
        Function that predicts losses from evaluated prompts. None to select prompts by their
        measured losses.

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
    """Return different parents, each the best under its own draw, with the draws."""
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
    return evolve(writer, evaluate, replace(size, selected=0), seeds)


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


def winners(
    evaluated: Sequence[Candidate], count: int, expected: Expected | None = None
) -> list[Candidate]:
    """Return the best prompts, at most one per main noun.

    Further prompts with the same nouns follow only if there are fewer nouns than `count`, as in a
    search about nurses. Parameters and order are the same as in `best`.
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
    """Return the noun that a prompt is about, in singular; the text if it has no noun."""
    parsed = parse_prompt(text)
    phrase = main_phrase(parsed)
    if phrase is None:
        return simplify(text)
    if phrase.noun:
        return phrase.noun.singular
    return parsed.lower_text(phrase.noun_start, phrase.end)


def near_duplicate_key(prompt: str) -> str:
    """Return the sorted words of a text, which are equal for near-duplicates."""
    return " ".join(sorted(singular_words(prompt)))


@lru_cache(maxsize=16_384)
def singular_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text, with known nouns in singular."""
    parsed = parse_prompt(text)
    for phrase in reversed(parsed.phrases):
        if phrase.noun:
            text = replace_text(
                text, *parsed.span(phrase.noun_start, phrase.end), phrase.noun.singular
            )
    return tuple(content_words(text))


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in lower case and in their order."""
    return [word for word in simplify(text).split() if word not in _EMPTY_WORDS]


@dataclass(frozen=True, slots=True)
class WordEffects(LossPrediction):
    """Effects of words that add up to a loss.

    Attributes
    ----------
    base
        Expected loss without any known word.
    effects
        Loss that each word adds.
    """

    base: float
    effects: Mapping[str, float]

    def expected(self, text: str) -> float:
        """Return the expected loss of a text. Words that occurred in no prompt have no effect."""
        present = sorted(set(content_words(text)))
        return self.base + sum(self.effects.get(word, 0.0) for word in present)

    def drawn(self, number: int) -> Expected:
        """Return the expected losses."""
        return self.expected


def word_effects(evaluated: Sequence[Candidate], seed: int = 0) -> WordEffects | None:
    """Learn the loss that words predict from all losses measured so far.

    Differences that the words do not explain are noise.

    Parameters
    ----------
    evaluated
        Evaluated prompts.
    seed
        Seed of draws, which this prediction does not use.

    Returns
    -------
    WordEffects or None
        None if no loss was measured.
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
