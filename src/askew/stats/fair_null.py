"""Association scores of a fair model: its initial set is an equal mixture of the counterfactual populations.

Redrawing the initial set from the counterfactual *samples* and holding those samples fixed gives a null that is too
narrow: the samples' mixture is off the populations' mixture by its own sampling error. So

- a concept on which the counterfactual sets clearly differ keeps its counterfactual frequencies, and the initial set is
  drawn from an equal mixture of *resampled* counterfactual sets. The resampling stands for the error of the mixture,
  which is independent of the differences between the sets, and only these enter the scores.
- any other concept is exchangeable between all pictures of the axis, so its frequencies come from permuting them. For
  rare concepts this is exact, where resampling would repeat the few pictures that hold them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from askew.stats.intervals import Floats, bootstrap_weights

CLEAR_DIFFERENCE = 0.05  # p-value of a concept's differences between counterfactual sets below which they are kept


def mixture_means(sets: list[Floats], n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Means of n pictures from an equal mixture of resampled sets: [(n_k, columns)] to (draws, columns)."""
    weights = [bootstrap_weights(len(pictures), draws, rng) / len(sets) for pictures in sets]
    return rng.multinomial(n, np.concatenate(weights, axis=1)) / n @ np.concatenate(sets)


def fair_histograms(
    initial: Floats, counterfactuals: list[Floats], draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Histograms under the null: (draws, concepts) of the initial set, (K, draws, concepts) of the others."""
    differs = _differs(counterfactuals)
    permuted = _permuted_means([initial, *counterfactuals], draws, rng)
    mixture = mixture_means(counterfactuals, len(initial), draws, rng)
    kept = np.stack([pictures.mean(axis=0) for pictures in counterfactuals])[:, None, :]
    return np.where(differs, mixture, permuted[0]), np.where(differs, kept, permuted[1:])


def _differs(sets: list[Floats]) -> NDArray[np.bool_]:
    """Whether each concept's frequency clearly differs between the sets: (concepts,)."""
    pooled = np.concatenate(sets)
    n = np.array([len(pictures) for pictures in sets])[:, None]
    means = np.stack([pictures.mean(axis=0) for pictures in sets])
    between = (n * (means - pooled.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(between > pooled.var(axis=0) * chi2.isf(CLEAR_DIFFERENCE, len(sets) - 1))


def _permuted_means(sets: list[Floats], draws: int, rng: np.random.Generator) -> Floats:
    sizes = [len(pictures) for pictures in sets]
    labels = np.repeat(np.arange(len(sets)), sizes)
    shuffled = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
    pooled = np.concatenate(sets)
    return np.stack([(shuffled == k).astype(float) @ pooled / size for k, size in enumerate(sizes)])
