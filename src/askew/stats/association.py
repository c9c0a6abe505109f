"""Association scores from TIBET: similarity between baseline images and counterfactual images.

A concept association score (CAS) measures how similar the baseline images of a prompt are to the
images of a counterfactual prompt, which states a value of an axis. MAD, the mean absolute
deviation, measures how much CAS differs between the values of an axis. `corrupt` simulates errors
made by the model that answers questions about the images (TIBET, section 5.3, Fig. 5c).
`association_intervals` computes intervals and p-values.

Functions raise NotEnoughData if a set has no images or no concepts, or if there are fewer than two
counterfactual sets. They raise ValueError for negative or infinite numbers, and for shapes that do
not match.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal, cast, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData, UnknownName
from askew.stats.intervals import Floats, array_of, positive_counts

Codes = NDArray[np.int64]
Variant = Literal["paper", "code"]
ROUNDING = 1e-13


def cas(initial: ArrayLike, counterfactual: ArrayLike, variant: Variant = "paper") -> Floats:
    """Compute the Concept Association Score of two concept histograms (TIBET, Eq. 1-3).

    CAS = sum_c min(w_c, v_c) / sum_c max(w_c, v_c), the intersection over union.

    Parameters
    ----------
    initial, counterfactual : array, (..., concepts)
        Mean number of occurrences of each concept per image, in the same order in both sets.
        Leading axes broadcast.
    variant
        With "code", each histogram is first scaled to sum to 1, as in the paper's public code.

    Returns
    -------
    array, (...)
        CAS, in [0, 1]; 1 if the histograms are equal.
    """
    w = _histogram(initial, variant)
    v = _histogram(counterfactual, variant)
    if w.shape[-1] != v.shape[-1]:
        raise ValueError(
            f"the histograms have {w.shape[-1]} and {v.shape[-1]} concepts; both must have the "
            "same concepts"
        )
    return np.asarray(np.minimum(w, v).sum(axis=-1) / np.maximum(w, v).sum(axis=-1))[()]


def cas_clip(initial: ArrayLike, counterfactual: ArrayLike) -> float:
    """Compute the mean cosine similarity between two sets of images (TIBET, Eq. 4), in [-1, 1].

    The mean over all pairs of images is the dot product of the two mean unit vectors.

    Parameters
    ----------
    initial, counterfactual : array, (images, dimensions)
        Embeddings of the images. No embedding may have length zero.
    """
    return float(unit_vectors(initial).mean(axis=0) @ unit_vectors(counterfactual).mean(axis=0))


def mad(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """Compute the normalized mean absolute deviation of K association scores (TIBET, Eq. 6-7).

    The result is sqrt(MAD / MAD_K) with MAD = mean_k |s_k - mean(s)|. MAD_K = 2 (K - 1) / K**2 is
    the MAD if one score is 1 and the other K - 1 scores are 0.

    Parameters
    ----------
    scores : array, (..., K)
        Association scores, K >= 2.
    variant
        With "code", the K scores are first scaled to sum to 1. Negative scores count as 0. If all
        scores are 0, they are treated as equal.

    Returns
    -------
    array, (...)
        The spread. MAD is 0 if all scores are equal. MAD is at most `mad_max(K)`, which exceeds 1
        for K > 3. With the variant "code", MAD is in [0, 1].
    """
    s = _scores(scores, variant)
    deviation = np.abs(s - s.mean(axis=-1, keepdims=True)).mean(axis=-1)
    return _normalized_root(deviation, 2 * (s.shape[-1] - 1) / s.shape[-1] ** 2)


def wasserstein(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """Compute an alternative to MAD from the Wasserstein distance W1 (TIBET, appendix 9.4).

    The K scores are scaled to sum to 1, and W1 is their distance from K scores of 1/K. The result
    is sqrt(W1 / W1_K), where W1_K is the value of W1 if only one score is above 0. The result
    equals `mad` with the variant "code". The order of the counterfactuals does not matter. Unlike
    MAD, this spread also changes when all scores decrease by the same amount.

    Parameters
    ----------
    scores : array, (..., K)
        Association scores, K >= 2.
    variant
        Ignored.

    Returns
    -------
    array, (...)
        The spread, in [0, 1].
    """
    return mad(scores, "code")


def standard_deviation(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """Compute an alternative to MAD from the standard deviation SD (TIBET, appendix 9.4).

    The result is sqrt(SD / SD_K), where SD_K is the value of SD if one score is 1 and all other
    scores are 0. SD is the population standard deviation, which divides by K, not by K - 1.

    Parameters
    ----------
    scores : array, (..., K)
        Association scores, K >= 2.
    variant
        As in `mad`.

    Returns
    -------
    array, (...)
        The spread. If all scores are equal, the spread is 0. The spread is at most the square root
        of `mad_max(K)`.
    """
    s = _scores(scores, variant)
    return _normalized_root(s.std(axis=-1), math.sqrt(s.shape[-1] - 1) / s.shape[-1])


def mad_max(k: int, variant: Variant = "paper") -> float:
    """Return the maximum possible value of `mad` for K scores in [0, 1].

    MAD is largest if half of the scores are 1 and half are 0. With the variant "code", MAD is
    largest if only one score is above 0.

    Parameters
    ----------
    k
        Number of scores, at least 2.
    variant
        As in `mad`.
    """
    return 1.0 if variant_of(variant) == "code" else math.sqrt((k // 2) * ((k + 1) // 2) / (k - 1))


Spread = Callable[[Floats, Variant], Floats]
SPREADS: Mapping[str, Spread] = {
    "mad": mad,
    "wasserstein": wasserstein,
    "standard_deviation": standard_deviation,
}
"""Functions that compute MAD and its alternatives.

They map scores of shape (..., K) to spreads of shape (...).
"""


def bipartite(initial: ArrayLike, counterfactual: ArrayLike, cosine: ArrayLike) -> float:
    """Compute the similarity between two sets by matching their concepts (TIBET, section 5.4).

    Each concept is matched with at most one concept of the other set, based on the cosine
    similarity between their text embeddings. The paper uses this score as a baseline, but does not
    give its formula. The matching maximizes the sum of m * cosine over the matched pairs,
    where m is the smaller frequency of the two concepts. The score is this sum divided by (sum_i
    w_i + sum_j v_j - sum m). Like CAS, the score is 1 if both sets contain the same concepts at the
    same frequencies.

    Parameters
    ----------
    initial : array, (C0,)
        Frequencies w of the concepts in the baseline set.
    counterfactual : array, (C1,)
        Frequencies v of the concepts in the counterfactual set.
    cosine : array, (C0, C1)
        Cosines between the text embeddings of the concepts. Negative cosines count as 0.
    """
    w = _histogram(initial, "paper")
    v = _histogram(counterfactual, "paper")
    similarity = np.clip(np.asarray(cosine, dtype=float), 0.0, 1.0)
    if similarity.shape != (w.size, v.size):
        raise ValueError(f"cosine has shape {similarity.shape}; {(w.size, v.size)} is needed")
    shared = np.minimum(w[:, None], v[None, :])
    rows, columns = scipy.optimize.linear_sum_assignment(shared * similarity, maximize=True)
    matched = similarity[rows, columns] > 0
    rows = rows[matched]
    columns = columns[matched]
    union = w.sum() + v.sum() - shared[rows, columns].sum()
    return float((shared * similarity)[rows, columns].sum() / union)


def unit_vectors(embeddings: ArrayLike) -> Floats:
    """Scale each row of an array of embeddings to unit length."""
    rows = array_of(embeddings, "embeddings")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(length):
        raise ValueError("an embedding has length zero, so its cosine similarity is undefined")
    return np.asarray(rows / length)


def variant_of(name: str) -> Variant:
    """Return the name of a variant after checking that the variant exists."""
    UnknownName.unless_known("variant", name, get_args(Variant))
    return cast(Variant, name)


def _histogram(frequencies: ArrayLike, variant: str) -> Floats:
    w = positive_counts(frequencies, "a histogram of concepts")
    return w / w.sum(axis=-1, keepdims=True) if variant_of(variant) == "code" else w


def _scores(scores: ArrayLike, variant: str) -> Floats:
    s = np.asarray(scores, dtype=float)
    if s.ndim == 0 or s.shape[-1] < 2:
        raise NotEnoughData("a spread needs scores for at least two counterfactuals")
    if variant_of(variant) == "paper":
        return s
    s = np.maximum(s, 0.0)
    total = s.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(s, total, out=np.full_like(s, 1 / s.shape[-1]), where=total > 0))


def _normalized_root(spread: ArrayLike, most_skewed: float) -> Floats:
    """Divide a spread by its value for one-hot scores and take the square root (Eq. 7).

    Rounding errors become 0.
    """
    share = np.asarray(spread) / most_skewed
    return np.asarray(np.sqrt(np.where(share < ROUNDING, 0.0, share)))[()]


def corrupt(
    answers: ArrayLike, vocabulary_sizes: ArrayLike, rate: ArrayLike, *, rng: np.random.Generator
) -> Codes:
    """With probability `rate`, replace each answer with a different answer chosen at random.

    Parameters
    ----------
    answers : array, (..., questions)
        Codes of the answers. The codes for question j are the integers from 0 to
        vocabulary_sizes[j] - 1.
    vocabulary_sizes : array, (questions,)
        Number of possible answers to each question. If only one answer is possible, it is never
        replaced.
    rate : float or array, (questions,)
        Probability of a replacement, in [0, 1].
    rng
        Random generator for the replacements.

    Returns
    -------
    array, (..., questions)
        Codes of the answers after the replacements.
    """
    codes = np.asarray(answers, dtype=np.int64)
    sizes = np.asarray(vocabulary_sizes, dtype=np.int64)
    rates = np.asarray(rate, dtype=float)
    if codes.shape[-1:] != sizes.shape:
        raise ValueError(
            f"the answers have shape {codes.shape}, but their last axis must contain "
            f"{sizes.size} questions"
        )
    if np.any(codes < 0) or np.any(codes >= sizes):
        raise ValueError("an answer is not one of the possible answers to its question")
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(f"rate is {rate!r}; it must be in [0, 1]")
    step = 1 + np.floor(rng.random(codes.shape) * np.maximum(sizes - 1, 1)).astype(np.int64)
    replaced = (rng.random(codes.shape) < rates) & (sizes > 1)
    return np.where(replaced, (codes + step) % sizes, codes)
