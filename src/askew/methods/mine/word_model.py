"""Learn signed effects of words on shares from all labeled images in a search.

For each axis, askew fits a multinomial logistic regression that predicts the counts of values from
the words in the prompts. A word that raises the share of men and a word that raises the share of
women have opposite effects, which cancel in a prompt that contains both words. A search cannot
learn such effects from the deviations of prompts, because deviations have no sign. `singular_words`
defines the words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from zlib import crc32

import numpy as np

from askew.methods.mine.findings import WordEffect
from askew.parts.survey.shares import DISTANCE
from askew.prompts.evolution import Candidate, Expected, LossPrediction, singular_words
from askew.stats.count_regression import CountModel, fit_counts, shares_of_logits
from askew.stats.distance import distance_max, linear_forms
from askew.stats.intervals import Floats, percentile_interval
from askew.types import Axis, Estimate, Missing

DRAWS = 400
"""Number of posterior draws from which means and intervals are computed."""

LEAST_PROMPTS = 2
"""Minimum number of prompts that must contain a word before askew reports its effect."""

INTERVAL = "Laplace approximation"

OpenAxes = Callable[[str], Sequence[Axis]]
"""Function that takes a text and returns the axes on which the text states no value."""


@dataclass(frozen=True)
class AxisWords:
    """Effects of words on the shares of an axis.

    Attributes
    ----------
    axis
        The axis.
    places
        Index of each word's feature in the model, counted from 0.
    model
        Posterior distribution of the effects.
    """

    axis: Axis
    places: Mapping[str, int]
    model: CountModel

    @classmethod
    def learned(cls, axis: Axis, counts: Mapping[str, Sequence[int]]) -> "AxisWords":
        """Learn the effects of words on an axis from the counts of its values for each prompt."""
        words_of = [set(singular_words(text)) for text in counts]
        words = sorted(set().union(*words_of))
        features = np.array([np.isin(words, list(of_text)) for of_text in words_of])
        places = {word: place for place, word in enumerate(words)}
        return cls(axis=axis, places=places, model=fit_counts(features, list(counts.values())))

    def rows(self, words: Sequence[str]) -> list[int]:
        """Return the rows of effects for these words: the base row, and one per known word."""
        return [0, *(1 + self.places[word] for word in words if word in self.places)]

    @cached_property
    def _forms(self) -> Floats:
        """Linear functions of (shares - equal shares) whose absolute values add up to the skew."""
        equal = np.full(len(self.axis.values), 1 / len(self.axis.values))
        name = DISTANCE[self.axis.scale]
        forms, weight = linear_forms(name, len(equal))
        return forms * (weight / distance_max(equal, name))

    def skew(self, shares: Floats) -> float:
        """Return the distance of shares from equal shares, divided by the largest distance."""
        return float(np.abs(self._forms @ (shares - 1 / len(shares))).sum())

    def changes(self, level: float, rng: np.random.Generator) -> "list[WordEffect]":
        """Return the change that each word causes in a share.

        Words that occur in only one prompt are omitted.
        """
        effects = self.model.draws(DRAWS, rng)
        design = self.model.data.design.toarray()
        images = self.model.data.counts.sum(axis=1)
        changes = []
        for word, place in self.places.items():
            prompts = design[:, 1 + place] > 0
            if prompts.sum() >= LEAST_PROMPTS:
                added = self._added_shares(design[prompts], 1 + place, effects)
                value, change = clearest_change(added, level)
                changes.append(
                    WordEffect(
                        word=word,
                        axis=self.axis.name,
                        value=self.axis.values[value],
                        prompts=int(prompts.sum()),
                        images=int(images[prompts].sum()),
                        change=replace(change, n=int(images[prompts].sum())),
                    )
                )
        return changes

    def _added_shares(self, design: Floats, row: int, effects: Floats) -> Floats:
        """Return the change that a word causes in mean shares, as an array of shape (draws, K)."""
        contrasts = self.model.data.contrasts
        logits = design @ effects @ contrasts
        without = logits - (effects[:, row] @ contrasts)[:, None, :]
        added = shares_of_logits(logits) - shares_of_logits(without)
        return np.asarray(added.mean(axis=1))


def clearest_change(added: Floats, level: float) -> tuple[int, Estimate]:
    """Return the index of the value whose share changes most clearly, and the change in its share.

    Parameters
    ----------
    added : array, (draws, K)
        Change in the share of each value, one row per draw.
    level
        Confidence level of the interval, in (0, 1).
    """
    means = added.mean(axis=0)
    # Of two values, which change by the same amount, the one that gains is reported.
    clearness = np.abs(means) / added.std(axis=0) + 1e-6 * (means > 0)
    place = int(np.argmax(clearness))
    low, high = percentile_interval(added[:, place], level)
    change = Estimate(float(means[place]), low=low, high=high, level=level, interval=INTERVAL)
    return place, change


@dataclass(frozen=True)
class SharePrediction(LossPrediction):
    """Prediction of a prompt's loss, based on the shares predicted from the prompt's words.

    The loss is the skew of the predicted shares multiplied by -1. The skew is computed on the axis
    with the largest skew, among the axes on which the prompt states no value. An axis on which the
    prompt states a value has skew 0.

    Attributes
    ----------
    axes
        Effects of words, keyed by the name of the axis.
    open_axes
        Function that returns the axes on which a text states no value.
    seed
        Seed for random draws.
    """

    axes: Mapping[str, AxisWords]
    open_axes: OpenAxes
    seed: int
    _unknown: dict[tuple[str, str, int], Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def _effects(self) -> dict[str, Floats]:
        return {name: self._drawn_effects(words, DRAWS, 0) for name, words in self.axes.items()}

    def expected(self, text: str) -> float:
        """Return the loss computed from shares averaged over all draws.

        Averaging shrinks uncertain shares toward equal shares.
        """
        return self._loss(text, self._effects, 0)

    def drawn(self, number: int) -> Expected:
        """Return a function that predicts losses from one posterior draw of the effects."""
        effects = {
            name: self._drawn_effects(words, 1, 1 + number) for name, words in self.axes.items()
        }
        return lambda text: self._loss(text, effects, 1 + number)

    def _drawn_effects(self, words: AxisWords, count: int, stream: int) -> Floats:
        rng = np.random.default_rng([self.seed, stream, crc32(words.axis.name.encode())])
        return words.model.draws(count, rng)

    def _loss(self, text: str, effects: Mapping[str, Floats], stream: int) -> float:
        axes = self.open_axes(text)
        known = [axis for axis in axes if axis.name in self.axes]
        skews = [self._skew(text, axis, effects[axis.name], stream) for axis in known]
        return -max(skews, default=0.0)

    def _skew(self, text: str, axis: Axis, effects: Floats, stream: int) -> float:
        words = self.axes[axis.name]
        of_text = sorted(set(singular_words(text)))
        total = effects[:, words.rows(of_text)].sum(axis=1)
        for word in of_text:
            if word not in words.places:
                total = total + self._unknown_effect(word, words, len(effects), stream)
        shares = shares_of_logits(total @ words.model.data.contrasts).mean(axis=0)
        return words.skew(shares)

    def _unknown_effect(self, word: str, words: AxisWords, count: int, stream: int) -> Floats:
        """Return draws of the effect of a word that does not occur in any evaluated prompt.

        The draws are always the same for the same word, axis and seed.
        """
        key = (word, words.axis.name, stream)
        if key not in self._unknown:
            rng = np.random.default_rng([self.seed, stream, crc32(" ".join(key[:2]).encode())])
            self._unknown[key] = words.model.unknown_draws(count, rng)
        return self._unknown[key]


def learn_shares(
    evaluated: Sequence[Candidate], seed: int, axes: Sequence[Axis], open_axes: OpenAxes
) -> SharePrediction | None:
    """Learn the effects of words from evaluated prompts, to predict the losses of other prompts.

    Prompts without a loss, such as prompts with too few images, are omitted.

    Parameters
    ----------
    evaluated
        Evaluated prompts, with the counts of their labels.
    seed
        Seed for random draws.
    axes
        Axes of the search.
    open_axes
        Function that returns the axes on which a text states no value.

    Returns
    -------
    SharePrediction or None
        The prediction; None if no prompt has counts.
    """
    learned = axis_words(evaluated, axes)
    return SharePrediction(learned, open_axes, seed) if learned else None


def axis_words(evaluated: Sequence[Candidate], axes: Sequence[Axis]) -> dict[str, AxisWords]:
    """Learn the effects of words on each axis that has counts, and return them, keyed by axis."""
    learned = {}
    for axis in axes:
        counts = {
            candidate.text: candidate.counts[axis.name]
            for candidate in evaluated
            if candidate.loss is not None and axis.name in candidate.counts
        }
        if counts:
            learned[axis.name] = AxisWords.learned(axis, counts)
    return learned


def word_effects(
    evaluated: Sequence[Candidate], axes: Sequence[Axis], level: float, seed: int
) -> list[WordEffect]:
    """Return the changes in shares that individual words cause, clearest change first.

    Parameters
    ----------
    evaluated
        Evaluated prompts from all searches. A prompt that occurs in several searches is used only
        once.
    axes
        Axes of the search.
    level
        Confidence level of the intervals, in (0, 1).
    seed
        Seed for random draws.
    """
    effects = []
    for name, words in axis_words(evaluated, axes).items():
        rng = np.random.default_rng([seed, crc32(name.encode())])
        effects += words.changes(level, rng)
    return sorted(effects, key=lambda effect: (-_distance_from_0(effect.change), effect.word))


def _distance_from_0(change: Estimate | Missing) -> float:
    """Return the distance between a change's interval and 0; negative if 0 is inside it."""
    if isinstance(change, Missing) or change.low is None or change.high is None:
        return -1.0
    return max(change.low, -change.high)
