"""Simulate concept histograms of fair models, for the null distribution of association scores.

The baseline images of a fair model are an equal mixture of the populations of counterfactual
images. askew only has samples from these populations. If askew drew baseline images from fixed
counterfactual *samples*, the null distribution would be too narrow, because such draws ignore the
sampling error of the mixture.

If the frequency of a concept clearly differs between the counterfactual sets, the concept keeps its
frequencies in these sets. The concept's frequency in the baseline set is drawn from an equal
mixture of *resampled* counterfactual sets. The resampling reproduces the sampling error of the
mixture. This error is independent of the differences between the counterfactual sets, and the
scores depend only on the differences.

If the sets do not clearly differ in a concept, the concept is exchangeable between all images of
the axis. So its frequencies come from permutations of the images. Permutations are exact even for
rare concepts, whereas resampling would only repeat the few images that show such a concept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from askew.stats.distributions import chi2_isf
from askew.stats.intervals import Floats, bootstrap_weights

CLEAR_DIFFERENCE = 0.05
"""p-value below which a concept's frequency clearly differs between counterfactual sets."""


def mixture_means(sets: Sequence[Floats], n: int, draws: int, rng: Generator) -> Floats:
    """Draw samples from an equal mixture of resampled sets, and return the mean of each sample.

    Parameters
    ----------
    sets : sequence of array, (images, columns)
        Image sets with the same columns. The sets may have different numbers of images.
    n
        Number of images in each sample.
    draws
        Number of samples.
    rng
        Random generator for the samples.

    Returns
    -------
    array, (draws, columns)
        Mean of each sample.
    """
    weights = [bootstrap_weights(len(images), draws, rng) / len(sets) for images in sets]
    samples = rng.multinomial(n, np.concatenate(weights, axis=1)) / n
    return np.asarray(samples @ np.concatenate(sets))


def fair_histograms(
    initial: Floats, counterfactuals: Sequence[Floats], draws: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Draw concept histograms under the null hypothesis that the model is fair.

    Parameters
    ----------
    initial : array, (images, concepts)
        Baseline set.
    counterfactuals : sequence of array, (images, concepts)
        K counterfactual sets.
    draws
        Number of draws.
    rng
        Random generator for the draws.

    Returns
    -------
    tuple of array
        Histograms (draws, concepts) of the baseline set, and histograms (K, draws, concepts) of the
        counterfactual sets.
    """
    differs = _clearly_different(counterfactuals)
    permuted = _permuted_means([initial, *counterfactuals], draws, rng)
    mixture = mixture_means(counterfactuals, len(initial), draws, rng)
    means = np.stack([images.mean(axis=0) for images in counterfactuals])
    of_initial = np.where(differs, mixture, permuted[0])
    of_counterfactuals = np.where(differs, means[:, None], permuted[1:])
    return of_initial, of_counterfactuals


def _clearly_different(sets: Sequence[Floats]) -> NDArray[np.bool_]:
    """Return a mask that is True for each concept whose frequency clearly differs between sets."""
    pooled = np.concatenate(sets)
    means = np.stack([images.mean(axis=0) for images in sets])
    sizes = np.array([len(images) for images in sets])[:, None]
    between = (sizes * (means - pooled.mean(axis=0)) ** 2).sum(axis=0)
    critical = chi2_isf(CLEAR_DIFFERENCE, len(sets) - 1)
    return np.asarray(between > pooled.var(axis=0) * critical)


def _permuted_means(sets: Sequence[Floats], draws: int, rng: Generator) -> NDArray[Any]:
    """Return the mean of each set after randomly assigning all images to the sets."""
    sizes = [len(images) for images in sets]
    images = np.concatenate(sets)
    labels = np.repeat(np.arange(len(sets)), sizes)
    shuffled = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
    means = [(shuffled == k).astype(float) @ images / size for k, size in enumerate(sizes)]
    return np.stack(means)
