"""Association scores of TIBET: how close the initial set is to each counterfactual set, and how
uneven that is.

Intervals and p-values are in `association_intervals`. And how much the scores move when the
instrument that answers questions errs (TIBET, section 5.3, Fig. 5c). NotEnoughData is raised for a
set without a picture or a concept and for fewer than two counterfactuals, ValueError for numbers
that are negative or not finite and for shapes that do not fit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
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
    """Concept Association Score: intersection over union of two concept histograms (TIBET, Eq.
    1-3).

    CAS = sum_c min(w_c, v_c) / sum_c max(w_c, v_c), (...) in [0, 1]; 1 where the histograms are
    equal. Both are (..., concepts), frequencies divided by the number of pictures, over the same
    concepts in the same order; leading axes broadcast. The variant "code" first scales each
    histogram to sum 1, as the paper's public code does.
    """
    w = _histogram(initial, variant)
    v = _histogram(counterfactual, variant)
    if w.shape[-1] != v.shape[-1]:
        raise ValueError(
            f"histograms have {w.shape[-1]} and {v.shape[-1]} concepts; they must share one list"
        )
    return np.asarray(np.minimum(w, v).sum(axis=-1) / np.maximum(w, v).sum(axis=-1))[()]


def cas_clip(initial: ArrayLike, counterfactual: ArrayLike) -> float:
    """Mean cosine of every picture of one set with every picture of the other (TIBET, Eq. 4), in
    [-1, 1].

    Both are embeddings (pictures, dimensions), none of length zero. The mean over all pairs is the
    dot product of the two mean unit vectors, so no pair is ever formed.
    """
    return float(unit_vectors(initial).mean(axis=0) @ unit_vectors(counterfactual).mean(axis=0))


def mad(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """Normalised mean absolute deviation of K association scores (TIBET, Eq. 6-7).

    sqrt(MAD / MAD_K) with MAD = mean_k |s_k - mean(s)| and MAD_K = 2 (K - 1) / K**2, the MAD of one
    1 and K - 1 zeros. 0 where all scores (..., K), K >= 2, are equal, at most `mad_max(K)`, which
    exceeds 1 for K > 3. The variant "code" first scales the K scores to sum 1 (those below 0 count
    as 0, all zero as all equal); the range is then [0, 1].
    """
    s = _scores(scores, variant)
    deviation = np.abs(s - s.mean(axis=-1, keepdims=True)).mean(axis=-1)
    return _normalised_root(deviation, 2 * (s.shape[-1] - 1) / s.shape[-1] ** 2)


def wasserstein(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """First alternative to MAD (TIBET, appendix 9.4): sqrt(W1 / W1 of the one-hot scores), in [0,
    1].

    W1 is between the K scores scaled to sum 1 and K times 1/K, whatever the variant: `mad` with
    "code". The order of the counterfactuals does not matter, and unlike MAD it changes when all
    scores shrink together.
    """
    return mad(scores, "code")


def standard_deviation(scores: ArrayLike, variant: Variant = "paper") -> Floats:
    """Second alternative to MAD (TIBET, appendix 9.4): sqrt(SD / SD of the one-hot scores),
    population SD.

    As `mad`, but at most the root of `mad_max(K)`.
    """
    s = _scores(scores, variant)
    return _normalised_root(s.std(axis=-1), math.sqrt(s.shape[-1] - 1) / s.shape[-1])


def mad_max(k: int, variant: Variant = "paper") -> float:
    """Largest `mad` of K scores in [0, 1]: half of them 1, the others 0. With "code" one score
    alone is the largest.
    """
    return 1.0 if variant_of(variant) == "code" else math.sqrt((k // 2) * ((k + 1) // 2) / (k - 1))


Spread = Callable[[Floats, Variant], Floats]
SPREADS: Mapping[str, Spread] = {
    "mad": mad,
    "wasserstein": wasserstein,
    "standard_deviation": standard_deviation,
}
"""MAD and its alternatives, (..., K) scores to (...)."""


def bipartite(initial: ArrayLike, counterfactual: ArrayLike, cosine: ArrayLike) -> float:
    """Baseline of TIBET, section 5.4: concepts matched one to one by the cosine of their text
    embeddings.

    The paper gives no formula. Here: of all one-to-one matchings, the one with the largest sum of m
    * cosine is taken, where m is the smaller of the two frequencies, (C0,) and (C1,), and negative
    cosines (C0, C1) count as 0. The score is that sum over sum_i w_i + sum_j v_j - sum of the
    matched m: 1 for equal sets of concepts, as CAS is.
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
    """Rows scaled to length 1: (pictures, dimensions) to the same shape."""
    rows = array_of(embeddings, "embeddings")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(length):
        raise ValueError("an embedding has length zero; cosine is not defined for it")
    return np.asarray(rows / length)


def variant_of(name: str) -> Variant:
    """`name`, checked to be a known variant."""
    UnknownName.unless_known("variant", name, get_args(Variant))
    return cast(Variant, name)


def _histogram(frequencies: ArrayLike, variant: str) -> Floats:
    w = positive_counts(frequencies, "a histogram of concepts")
    return w / w.sum(axis=-1, keepdims=True) if variant_of(variant) == "code" else w


def _scores(scores: ArrayLike, variant: str) -> Floats:
    s = np.asarray(scores, dtype=float)
    if s.ndim == 0 or s.shape[-1] < 2:
        raise NotEnoughData("a spread needs the scores of at least two counterfactuals")
    if variant_of(variant) == "paper":
        return s
    s = np.maximum(s, 0.0)
    total = s.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(s, total, out=np.full_like(s, 1 / s.shape[-1]), where=total > 0))


def _normalised_root(spread: ArrayLike, most_skewed: float) -> Floats:
    """Eq. 7. A spread of the size of rounding errors is 0: the root would make it visible."""
    share = np.asarray(spread) / most_skewed
    return np.asarray(np.sqrt(np.where(share < ROUNDING, 0.0, share)))[()]


def score_change(
    initial: ArrayLike,
    counterfactuals: Sequence[ArrayLike],
    vocabulary_sizes: ArrayLike,
    rate: float,
    *,
    rng: np.random.Generator,
    runs: int = 10,
    variant: Variant = "paper",
) -> dict[str, float]:
    """Mean change of CAS, MAD and MAD's alternatives over `runs` corruptions of all sets, in the
    scores' own units.

    Every possible answer is one concept. For CAS, "cas", the mean also goes over the
    counterfactuals; the others have their names in `SPREADS`. The sets, K >= 2 counterfactual ones,
    are codes of answers (pictures, questions); sizes and `rate` as in `corrupt`.
    """
    sets = [np.asarray(codes, dtype=np.int64) for codes in (initial, *counterfactuals)]
    if not all(codes.size for codes in sets):
        raise NotEnoughData("a picture set has no answers")
    sizes = np.asarray(vocabulary_sizes, dtype=np.int64)
    noisy = [
        corrupt(np.broadcast_to(codes, (runs, *codes.shape)), sizes, rate, rng=rng)
        for codes in sets
    ]

    def scores(some: Sequence[Codes]) -> Floats:
        first, *others = (
            np.concatenate(
                [(s[..., j, None] == np.arange(k)).mean(axis=-2) for j, k in enumerate(sizes)],
                axis=-1,
            )
            for s in some
        )
        return cas(first, np.stack(others), variant).T

    before = scores(sets)
    after = scores(noisy)
    moved = {
        name: spread(after, variant) - spread(before, variant) for name, spread in SPREADS.items()
    }
    return {
        name: float(np.mean(change)) for name, change in {"cas": after - before, **moved}.items()
    }


def corrupt(
    answers: ArrayLike, vocabulary_sizes: ArrayLike, rate: float, *, rng: np.random.Generator
) -> Codes:
    """Answers (..., questions), each replaced with probability `rate` by a different one, uniform
    over the others.

    The codes of question j lie in 0 … vocabulary_sizes[j] - 1; a question with a single possible
    answer stays.
    """
    codes = np.asarray(answers, dtype=np.int64)
    sizes = np.asarray(vocabulary_sizes, dtype=np.int64)
    if codes.shape[-1:] != sizes.shape:
        raise ValueError(
            f"answers of shape {codes.shape} do not fit {sizes.size} questions along their last axis"
        )
    if np.any(codes < 0) or np.any(codes >= sizes):
        raise ValueError("an answer lies outside its question's vocabulary")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}; it must lie in [0, 1]")
    step = 1 + np.floor(rng.random(codes.shape) * np.maximum(sizes - 1, 1)).astype(np.int64)
    replaced = (rng.random(codes.shape) < rate) & (sizes > 1)
    return np.where(replaced, (codes + step) % sizes, codes)
