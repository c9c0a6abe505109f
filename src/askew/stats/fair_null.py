"""Concept histograms of fair models: the null of association scores.

The baseline set of a fair model is an equal mixture of the counterfactual populations. Drawing it
from fixed counterfactual *samples* gives a null that is too narrow, because the mixture of the
samples has a sampling error.

A concept on which the counterfactual sets clearly differ keeps its counterfactual frequencies, and
the baseline set is drawn from an equal mixture of *resampled* counterfactual sets. This represents
the error of the mixture, which is independent of the differences between the sets. Scores depend
only on these differences. Any other concept is exchangeable between all images of the axis, so its
frequencies come from permutations of the images. This is exact for rare concepts, for which
resampling would repeat the few images that show them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from askew.stats.intervals import Floats, bootstrap_weights

CLEAR_DIFFERENCE = 0.05
"""p-value below which a concept keeps its differences between counterfactual sets."""


def mixture_means(sets: Sequence[Floats], n: int, draws: int, rng: Generator) -> Floats:
    """Return means of n images drawn from an equal mixture of resampled sets.

    Parameters
    ----------
    sets : sequence of array, (images, columns)
        Sets with the same columns; their numbers of images may differ.
    n
        Number of images in each sample.
    draws
        Number of samples.
    rng
        Random generator for the samples.

    Returns
    -------
    array, (draws, columns)
    """
    weights = [bootstrap_weights(len(images), draws, rng) / len(sets) for images in sets]
    samples = rng.multinomial(n, np.concatenate(weights, axis=1)) / n
    return np.asarray(samples @ np.concatenate(sets))


def fair_histograms(
    initial: Floats, counterfactuals: Sequence[Floats], draws: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Return concept histograms under the null.

    Parameters
    ----------
    initial : array, (images, concepts)
        The initial set.
    counterfactuals : sequence of array, (images, concepts)
        K counterfactual sets.
    draws
        Number of draws.
    rng
        Random generator for the draws.

    Returns
    -------
    tuple of array
        Histograms of the initial set, (draws, concepts), and of the counterfactual sets, (K, draws,
        concepts).
    """
    differs = _clearly_different(counterfactuals)
    permuted = _permuted_means([initial, *counterfactuals], draws, rng)
    mixture = mixture_means(counterfactuals, len(initial), draws, rng)
    means = np.stack([images.mean(axis=0) for images in counterfactuals])
    of_initial = np.where(differs, mixture, permuted[0])
    of_counterfactuals = np.where(differs, means[:, None], permuted[1:])
    return of_initial, of_counterfactuals


def _clearly_different(sets: Sequence[Floats]) -> NDArray[np.bool_]:
    """Check by a chi-squared test in which concepts the sets differ: (concepts,)."""
    pooled = np.concatenate(sets)
    means = np.stack([images.mean(axis=0) for images in sets])
    sizes = np.array([len(images) for images in sets])[:, None]
    between = (sizes * (means - pooled.mean(axis=0)) ** 2).sum(axis=0)
    critical = scipy.stats.chi2.isf(CLEAR_DIFFERENCE, len(sets) - 1)
    return np.asarray(between > pooled.var(axis=0) * critical)


def _permuted_means(sets: Sequence[Floats], draws: int, rng: Generator) -> NDArray[Any]:
    """Return the means of sets whose images are assigned at random: (sets, draws, columns)."""
    sizes = [len(images) for images in sets]
    images = np.concatenate(sets)
    labels = np.repeat(np.arange(len(sets)), sizes)
    shuffled = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
    means = [(shuffled == k).astype(float) @ images / size for k, size in enumerate(sizes)]
    return np.stack(means)
