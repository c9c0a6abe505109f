"""A genetic search for prompts (MineTheGap, section 3), and the random search that it has to beat.

The search knows nothing of pictures: it gets a writer, and a function from a prompt to its loss.
From the losses it may learn what each word adds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import LanguageModelError
from askew.prompts.base import LENGTHS, Kind, Words, Writer, simplify
from askew.stats.intervals import Floats

Origin = Literal["random", "mutation"]
Selection = Literal["score", "learned"]
"""Whether prompts are chosen by their own loss, or by what all losses so far say of their words."""

Seeds = Callable[..., int]
"""From names and numbers to a seed of its own for what they name."""

ATTEMPTS = 4
"""How often a writer is asked again for prompts that were not there yet."""

SCREENED = 6
"""How many mutations a writer is asked for, for each that is evaluated, where the search has learnt
to choose.
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prompt of a search: in which iteration it came up, from 0, and what it is a mutation of.

    `loss` is None before it is evaluated, and where it cannot be. Lower is what the search is for.
    """

    text: str
    iteration: int = 0
    origin: Origin = "random"
    parent: str | None = None
    loss: float | None = None


Evaluate = Callable[[Candidate], float | None]
Expected = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Evolution:
    """The size of a search: b = `population` prompts in each iteration.

    From the second iteration on, the s = `selected` best prompts of the one before get m =
    `mutations` new forms each, and random prompts fill the rest. With the selection "learned" they
    are the best of all before, and of more mutations those are evaluated that promise most.
    """

    iterations: int = 25
    population: int = 15
    selected: int = 5
    mutations: int = 2
    topic: str | None = None
    words: Words = LENGTHS["mutations"]
    selection: Selection = "score"


def evolve(writer: Writer, evaluate: Evaluate, size: Evolution, seeds: Seeds) -> list[Candidate]:
    """All prompts of one genetic search, in the order of their evaluation, without near-duplicates.

    Where the writer has no new mutation, a random prompt takes its place; where it has none of
    these either, an iteration is smaller. Raises LanguageModelError for a writer that gives no
    prompt to begin with.
    """
    seen = set[str]()

    def new(kind: Kind, prompt: str, asked: int, wanted: int, *names: object) -> list[str]:
        """At most `wanted` texts that are no near-duplicates; where the search has learnt to
        choose, the best.
        """
        texts = dict[str, str]()
        refusal: LanguageModelError | None = None
        for attempt in range(ATTEMPTS if wanted else 0):
            seed = seeds(*names, attempt)
            try:
                written = writer.write(
                    kind, prompt, asked, seed=seed, topic=size.topic, words=size.words
                )
            except LanguageModelError as error:
                refusal = error
                written = []
            for text in written:
                if essence(text) not in seen:
                    texts.setdefault(essence(text), text)
            if len(texts) >= wanted:
                break
        if refusal and not texts and not seen:  # later ones must not end the whole search
            raise refusal
        ordered = (
            sorted(texts.values(), key=expected) if expected and prompt else list(texts.values())
        )
        seen.update(map(essence, ordered[:wanted]))
        return ordered[:wanted]

    found: list[Candidate] = []
    population: list[Candidate] = []
    for iteration in range(size.iterations):
        expected = word_effects(found, size.selection)
        parents = [
            one.text for one in best(found if expected else population, size.selected, expected)
        ]
        wanted = size.mutations
        screened = size.mutations * (SCREENED if expected else 1)
        population = [
            Candidate(text, iteration, "mutation", parent)
            for parent in parents
            for text in new("mutations", parent, screened, wanted, "mutations", parent)
            # then a whole population of random prompts is asked for, so that every search gets the same
            # ones
        ]
        random = new(
            "random prompts",
            "",
            size.population,
            size.population - len(population),
            "random",
            iteration,
        )
        population += [Candidate(text, iteration) for text in random]
        population = [replace(one, loss=evaluate(one)) for one in population]
        found += population
    return found


def search_randomly(
    writer: Writer, evaluate: Evaluate, size: Evolution, seeds: Seeds
) -> list[Candidate]:
    """As many random prompts as `evolve` evaluates. With the same seeds, those injected there are
    among them.
    """
    return evolve(writer, evaluate, replace(size, selected=0, selection="score"), seeds)


def best(
    evaluated: Sequence[Candidate], count: int, expected: Expected | None = None
) -> list[Candidate]:
    """The `count` prompts of the lowest loss, the lowest first, equal ones in their order. One per
    text.

    Their own loss counts, or with `expected` the one that their words let expect.
    """
    measured = {one.text: one for one in reversed(evaluated) if one.loss is not None}
    ordered = list(measured.values())[::-1]
    return sorted(ordered, key=lambda one: expected(one.text) if expected else one.loss or 0.0)[
        :count
    ]


_EMPTY_WORDS = frozenset(
    "a an the of in on at by to for from with and or some this that is are as who".split()
)


def essence(prompt: str) -> str:
    """What two prompts have in common if they are near-duplicates: their words but for small ones,
    sorted.
    """
    return " ".join(sorted(content_words(prompt)))


def content_words(text: str) -> list[str]:
    """The words of a text that say something, in small letters and their order."""
    return [word for word in simplify(text).split() if word not in _EMPTY_WORDS]


def word_effects(evaluated: Sequence[Candidate], selection: Selection) -> Expected | None:
    """The loss that words let expect, by all losses measured so far; None where each prompt is
    chosen by its own.

    What the words do not explain alike is taken as noise; words that were in no prompt add nothing.
    """
    losses = {one.text: one.loss for one in evaluated if one.loss is not None}
    if not losses or selection != "learned":
        return None
    said = [frozenset(content_words(text)) for text in losses]
    words = sorted(frozenset().union(*said))
    base, effects = ridge_effects(
        [[word in one for word in words] for one in said], list(losses.values())
    )
    added = dict(zip(words, effects.tolist(), strict=True))
    return lambda text: (
        base + sum(added.get(word, 0.0) for word in sorted(set(content_words(text))))
    )


RATIOS = np.geomspace(0.1, 10_000, 51)
"""Variances of the noise, in units of the variance of an effect, among which the most likely one is
chosen.
"""


def ridge_effects(features: ArrayLike, values: ArrayLike) -> tuple[float, Floats]:
    """The value expected without any feature, and what each adds, (features,), drawn towards 0 by
    ridge regression.

    Effects are normal around 0, noise is normal, and the ratio of their variances is the one of
    `RATIOS` with the greatest restricted likelihood. `features` are (n, features), 1 where a thing
    has one; `values` (n,), all finite.
    """
    x = np.asarray(features, dtype=float)
    y = np.asarray(values, dtype=float)
    centre = x.mean(axis=0)
    level = float(y.mean())
    if np.ptp(y) == 0:
        return level, np.zeros(x.shape[1])
    x = x - centre
    variances, directions = np.linalg.eigh(x @ x.T)
    variances = np.clip(variances, 0, None)
    along = directions.T @ (y - level)

    def misfit(ratio: float) -> float:
        """Minus twice the restricted log-likelihood of a ratio, but for a constant; the scale has
        its best value.
        """
        total = variances + ratio
        return float(
            (len(along) - 1) * np.log(np.sum(along**2 / total))
            + np.sum(np.log(total))
            - np.log(ratio)
        )

    ratio = min(RATIOS, key=misfit)
    effects = x.T @ (directions @ (along / (variances + ratio)))
    return level - float(centre @ effects), np.asarray(effects)
