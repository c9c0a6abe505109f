"""MineTheGap's bias score: how well the pictures of a prompt cover what its variations ask for
(section 4.1).

A similarity matrix has a row per variation of the prompt and a column per picture: any finite
numbers with a mean above 0, NotEnoughData otherwise; ValueError is raised for what is no such
matrix. Lower scores are more biased. Quantiles lie in [0, 1].
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, array_of, p_value, percentile_interval, student_stretch
from askew.types import Estimate

QUANTILE = 0.25
"""The share of variations, and of pictures, that may find no match: the paper's choice (alpha)."""


def unit_similarity(cosine: ArrayLike) -> Floats:
    """Cosines, in [-1, 1], moved to [0, 1]: (1 + cosine) / 2. Eq. 1 divides by the mean similarity,
    which must be well above 0, as CLIP's cosines of pictures and texts are; those of many other
    embedders lie on both sides of 0.
    """
    return np.asarray((1 + np.asarray(cosine, dtype=float)) / 2)


def bias_score(similarity: ArrayLike, quantile: float = QUANTILE) -> float:
    """The bias score of one prompt (MineTheGap, Eq. 1); lower is more biased.

    The mean of the missed visual concepts score, Q{max over pictures}, and of the least-aligned
    images score, Q{max over variations}, divided by the mean similarity; positive, 1 where all
    similarities are equal. Q is the lower quantile: the 4th smallest of 15 at 0.25.
    """
    return float(_scores(_matrix(similarity), quantile))


def worst(
    similarity: ArrayLike, of: Literal["variations", "pictures"], quantile: float = QUANTILE
) -> NDArray[np.intp]:
    """The variations that no picture shows well, or the pictures that fit no variation well, the
    worst first. Those whose best match is at or below the quantile, equal ones in their order: four
    of 15 at a quantile of 0.25.
    """
    best: Floats = _matrix(similarity).max(axis=1 if of == "variations" else 0)
    order = np.argsort(best, kind="stable")
    return order[best[order] <= np.quantile(best, quantile, method="lower")]


def gap_estimate(
    similarity: ArrayLike,
    of_variations: ArrayLike | None = None,
    *,
    rng: Generator,
    quantile: float = QUANTILE,
    draws: int = 1000,
    level: float = 0.95,
    missing: int = 0,
) -> Estimate:
    """The bias score with an interval and, if pictures of the variations are given, corrected for
    chance.

    The interval is for the score that new pictures and new variations, as many as these, would have
    on average: more pictures cover more, so the score has no meaning apart from their number.
    Variations and pictures are resampled; a resample holds fewer different ones and scores lower,
    so only its deviation from the mean resample counts, stretched as Student's t is for so few rows
    or columns.

    The null is a model that shows what the variations ask for: as many pictures redrawn, with
    replacement, from pictures made of the variations themselves, whose similarity (variations,
    pictures) is in the same measure. Low scores are the biased ones, so p = (1 + draws at or below)
    / (1 + draws), and corrected = null - value, which grows with the bias.
    """
    s = _matrix(similarity)
    value = float(_scores(s, quantile))
    rows = rng.integers(s.shape[0], size=(draws, s.shape[0], 1))
    columns = rng.integers(s.shape[1], size=(draws, 1, s.shape[1]))
    resampled = _scores(s[rows, columns], quantile)
    stretch = student_stretch(level, max(min(s.shape) - 1, 1))
    below, above = percentile_interval(stretch * (resampled - resampled.mean()), level)
    low = min(value, value - above)
    high = max(value, value - below)
    found = Estimate(
        value, low, high, level, "bootstrap over variations and pictures", s.shape[1], missing
    )
    if of_variations is None:
        return found
    nulls = null_scores(of_variations, s.shape[1], quantile, draws, rng)
    null = float(nulls.mean())
    p = p_value(-value, -nulls)
    return replace(found, null=null, corrected=null - value, corrected_form="null - value", p=p)


def null_scores(
    of_variations: ArrayLike, pictures: int, quantile: float, draws: int, rng: Generator
) -> Floats:
    """Scores of `pictures` pictures redrawn with replacement from pictures of the variations:
    (draws,).
    """
    s = _matrix(of_variations)
    columns = rng.integers(s.shape[1], size=(draws, pictures))
    return _scores(np.moveaxis(s[:, columns], 0, 1), quantile)


def _scores(s: Floats, quantile: float) -> Floats:
    """Eq. 1 for every matrix of (…, variations, pictures): missed concepts, and least-aligned
    pictures.
    """
    mean = s.mean(axis=(-2, -1))
    if np.any(mean <= 0):
        raise NotEnoughData(
            f"the mean similarity of variations and pictures is {mean.min():.3f}, and the bias score divides by it: "
            "use a similarity that lies above 0, such as (1 + cosine) / 2"
        )
    missed, unaligned = (
        np.quantile(s.max(axis=of), quantile, axis=-1, method="lower") for of in (-1, -2)
    )
    return np.asarray((missed / mean + unaligned / mean) / 2)


def _matrix(similarity: ArrayLike) -> Floats:
    return array_of(similarity, "a similarity matrix", "(variations, pictures)")
