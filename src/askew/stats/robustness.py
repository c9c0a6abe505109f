"""How much association scores move when the instrument that answers questions errs (TIBET, section 5.3, Fig. 5c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.association import Variant, cas, mad, standard_deviation, uniform_wasserstein
from askew.stats.intervals import Floats

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """Mean absolute change in percent of the clean score; None where the clean score is 0."""

    cas: float | None
    mad: float | None
    wasserstein: float | None
    standard_deviation: float | None


def corrupt(answers: ArrayLike, vocabulary_sizes: ArrayLike, rate: float, *, rng: np.random.Generator) -> Codes:
    """Each answer replaced, independently with probability `rate`, by a different one of the same question's answers.

    The new answer is uniform over the others. A question with a single possible answer stays.

    Args:
        answers: (..., questions) codes; those of question j lie in 0 … vocabulary_sizes[j] - 1.
        vocabulary_sizes: (questions,) at least 1.
        rate: in [0, 1].

    Raises:
        ValueError: a code outside its vocabulary, or a rate outside [0, 1].
    """
    codes, sizes = _checked(answers, vocabulary_sizes)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}; it must lie in [0, 1]")
    others = np.maximum(sizes - 1, 1)
    step = 1 + np.floor(rng.random(codes.shape) * others).astype(np.int64)
    replaced = (rng.random(codes.shape) < rate) & (sizes > 1)
    return np.where(replaced, (codes + step) % sizes, codes)


def score_change(
    initial: ArrayLike,
    counterfactuals: Sequence[ArrayLike],
    vocabulary_sizes: ArrayLike,
    rate: float,
    *,
    rng: np.random.Generator,
    runs: int = 10,
    variant: Variant = "paper",
) -> ScoreChange:
    """Mean absolute change of CAS, MAD and MAD's alternatives over `runs` corruptions of all sets, in percent.

    Every possible answer is one concept. For CAS the mean also goes over the counterfactuals whose clean CAS is not 0.

    Args:
        initial: (pictures, questions) codes of the answers.
        counterfactuals: K >= 2 arrays (pictures, questions).
        vocabulary_sizes: (questions,) possible answers of each question.
        rate: probability that an answer is replaced by a different one.

    Raises:
        NotEnoughData: an empty set, or fewer than two counterfactuals.
        ValueError: as `corrupt`.
    """
    sets = [_checked(codes, vocabulary_sizes)[0] for codes in (initial, *counterfactuals)]
    if not all(codes.size for codes in sets):
        raise NotEnoughData("a picture set has no answers")
    sizes = np.asarray(vocabulary_sizes, dtype=np.int64)
    repeated = [np.broadcast_to(codes, (runs, *codes.shape)) for codes in sets]
    clean = _scores([_histogram(codes[None], sizes) for codes in sets], variant)
    noisy = _scores([_histogram(corrupt(codes, sizes, rate, rng=rng), sizes) for codes in repeated], variant)
    return ScoreChange(*(_change(before, after) for before, after in zip(clean, noisy, strict=True)))


def _checked(answers: ArrayLike, vocabulary_sizes: ArrayLike) -> tuple[Codes, Codes]:
    codes, sizes = np.asarray(answers, dtype=np.int64), np.asarray(vocabulary_sizes, dtype=np.int64)
    if sizes.ndim != 1 or codes.ndim < 1 or codes.shape[-1] != len(sizes):
        raise ValueError(f"answers of shape {codes.shape} do not fit {sizes.size} questions along their last axis")
    if np.any(codes < 0) or np.any(codes >= sizes):
        raise ValueError("an answer lies outside its question's vocabulary")
    return codes, sizes


def _histogram(codes: Codes, sizes: Codes) -> Floats:
    """(runs, pictures, questions) to the frequency of every answer of every question: (runs, concepts)."""
    tables = [(codes[:, :, j, None] == np.arange(size)).mean(axis=1) for j, size in enumerate(sizes)]
    return np.concatenate(tables, axis=-1)


def _scores(histograms: Sequence[Floats], variant: Variant) -> tuple[Floats, Floats, Floats, Floats]:
    initial, *counterfactuals = histograms
    found = np.stack([cas(initial, other, variant) for other in counterfactuals], axis=-1)
    return found, mad(found, variant), uniform_wasserstein(found), standard_deviation(found, variant)


def _change(clean: Floats, noisy: Floats) -> float | None:
    """Arrays (1, …) and (runs, …)."""
    some = clean[0] > 0
    if not np.any(some):
        return None
    return float(100 * np.mean(np.abs(noisy[:, some] - clean[0][some]) / clean[0][some]))
