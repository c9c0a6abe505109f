"""The words of a prompt that say something: what near-duplicates share, and what each word does to a loss.

What each of many features adds to numbers that are mostly noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from askew.prompts.base import bare
from askew.stats.intervals import Floats

_EMPTY_WORDS = frozenset("a an the of in on at by to for from with and or some this that is are as who".split())


def essence(prompt: str) -> str:
    """What two prompts have in common if they are near-duplicates: their words but for small ones, sorted."""
    return " ".join(sorted(content_words(prompt)))


def content_words(text: str) -> list[str]:
    """The words of a text that say something, in small letters and their order."""
    return [word for word in bare(text).split() if word not in _EMPTY_WORDS]


@dataclass(frozen=True, slots=True)
class WordEffects:
    """What each word adds to the loss of a prompt that holds it, on top of `base`."""

    base: float
    effects: Mapping[str, float]

    @classmethod
    def learned(cls, losses: Mapping[str, float]) -> WordEffects:
        """From the losses of some prompts, at least one. What the words do not explain alike is taken as noise."""
        said = [frozenset(content_words(text)) for text in losses]
        words = sorted(frozenset().union(*said))
        features = np.array([[word in one for word in words] for one in said], dtype=float)
        base, effects = ridge_effects(features, list(losses.values()))
        return cls(base, dict(zip(words, effects.tolist(), strict=True)))

    def expected(self, text: str) -> float:
        """The loss that the words of a text let expect. Words that were in no prompt add nothing."""
        return self.base + sum(self.effects.get(word, 0.0) for word in sorted(set(content_words(text))))


RATIOS = np.geomspace(0.1, 10_000, 51)
"""Variances of the noise, in units of the variance of an effect, among which the most likely one is chosen."""


def ridge_effects(features: ArrayLike, values: ArrayLike) -> tuple[float, Floats]:
    """A level, and what each feature adds to it, drawn towards 0 as far as the values are noise.

    Ridge regression: effects are normal around 0, noise is normal, and the ratio of their variances is the one of
    `RATIOS` with the greatest restricted likelihood. One value says nothing of effects; nor do equal ones.

    Args:
        features: (n, features) finite numbers, such as 1 where a thing has the feature and 0 where not.
        values: (n,) finite numbers.

    Returns:
        the value expected without any feature, and the effects, (features,).

    Raises:
        ValueError: shapes that do not fit, no value, or a number that is not finite.
    """
    x, y = np.asarray(features, dtype=float), np.asarray(values, dtype=float)
    if x.ndim != 2 or y.shape != (len(x),) or len(y) == 0:
        raise ValueError(f"features {x.shape} and values {y.shape} do not fit: (n, features) and (n,) are wanted")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise ValueError("features or values hold numbers that are not finite")
    centre, level = x.mean(axis=0), float(y.mean())
    if np.ptp(y) == 0:
        return level, np.zeros(x.shape[1])
    x = x - centre
    variances, directions = np.linalg.eigh(x @ x.T)
    variances = np.clip(variances, 0, None)
    along = directions.T @ (y - level)
    ratio = min(RATIOS, key=lambda one: _misfit(variances, along, one))
    effects = x.T @ (directions @ (along / (variances + ratio)))
    return level - float(centre @ effects), np.asarray(effects)


def _misfit(variances: Floats, along: Floats, ratio: float) -> float:
    """Minus twice the restricted log-likelihood of a ratio, but for a constant; the scale has its best value."""
    total = variances + ratio
    return float((len(along) - 1) * np.log(np.sum(along**2 / total)) + np.sum(np.log(total)) - np.log(ratio))
