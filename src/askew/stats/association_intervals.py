"""All association scores of one axis with their intervals, nulls and p-values, from one set of
draws.

**What sets values apart.** CAS = (S - D) / (S + D) falls the more slowly the larger D is, and the D
of few pictures is too large: plug-in scores are too low and too close together. With C a score and
C* its debiased value, a difference in concepts that clearly differ is ((1 + C*) / (1 + C))**2 = c
times as large in the population (the ratio of the slopes). Spread over many concepts it is hidden
further by their noise, in simulated worlds by up to c**3 more. So the pattern of the scores is
stretched with its errors, by the powers of c in `STRETCH`: one for the low end, one for the high
end, and one between for the debiased value. Coverage: docs/reference/calibration.md.

**Fair models.** Their initial set is an equal mixture of the counterfactual populations. Redrawing
it from the counterfactual *samples* and holding those fixed gives a null that is too narrow: the
samples' mixture is off the populations' by its own sampling error. So a concept on which the
counterfactual sets clearly differ keeps its counterfactual frequencies, and the initial set is
drawn from an equal mixture of *resampled* counterfactual sets: that stands for the error of the
mixture, which is independent of the differences between the sets, and only these enter the scores.
Any other concept is exchangeable between all pictures of the axis, so its frequencies come from
permuting them: exact for rare concepts, where resampling would repeat the few pictures that hold
them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.association import (
    SPREADS,
    Spread,
    Variant,
    cas,
    cas_clip,
    mad,
    mad_max,
    unit_vectors,
    variant_of,
)
from askew.stats.concept_shift import concept_shift
from askew.stats.differences import ROUNDS, PairedSets, correlations, joined, twice
from askew.stats.intervals import (
    POINT,
    Floats,
    array_of,
    bootstrap_errors,
    bootstrap_weights,
    corrected,
    ends,
    first_accepted,
    p_by_rounds,
    p_value,
    student_stretch,
    tail,
)
from askew.types import Estimate

STRETCH = 1.0, 1.5, 4.25
"""Powers of c for the low end, the debiased value and the high end."""
# standard errors of the bootstrap, which are so much too small where sets differ in everything
WIDER = 1.06
Noisy = tuple[Floats, Floats]  # scores (K,) and draws of their joint error (draws, K)
Range = tuple[float, float, float]  # low and high end of a score's interval, and the debiased score
AssociationParts = tuple[Floats, Sequence[Range], tuple[float, ...], str, Sequence[Noisy], Floats]
"""K scores, their ranges, `Associations.apart`, the interval's name, noisy scores as in `STRETCH`,
null (draws, K).
"""


@dataclass(frozen=True, slots=True)
class Associations:
    """The scores of one axis: CAS and lean per counterfactual, in the order given, and their spread
    by three measures.

    A lean is a counterfactual's CAS less the mean of the others, in [-1, 1] (TIBET, section 5.2,
    figure 4). For two values MAD is the root of its size (paper), and so is MAD's interval. `apart`
    is how far a debiased CAS may be off because what sets two sets apart may lie in all concepts,
    or in as few as possible.
    """

    cas: tuple[Estimate, ...]
    cas_contrast: tuple[Estimate, ...]
    mad: Estimate
    wasserstein: Estimate
    standard_deviation: Estimate
    apart: tuple[float, ...]


def associations(
    initial: ArrayLike,
    counterfactuals: Sequence[ArrayLike],
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
    missing: Sequence[int] = (),
    embedded: bool = False,
) -> Associations:
    """CAS of every counterfactual and MAD with its alternatives (TIBET, Eq. 1-3, 6-7, appendix
    9.4).

    Values are the plug-in scores. Intervals are for the population scores: those of CAS by test
    inversion (`concept_shift`), those of MAD by test inversion on stretched scores. At small n the
    plug-in CAS is far too low and may lie outside its interval. Nulls: see `fair_histograms`. CAS
    has no null.

    `embedded` is for CAS^CLIP (Eq. 4): the mean cosine is a product of two means, so its plug-in
    value is unbiased and a bootstrap of both sets gives its interval (normal, with the bootstrap
    standard error).

    Sets are counts (pictures, concepts) of the same concepts, or embeddings (pictures, dimensions)
    without vectors of length zero, K >= 2 of them counterfactual; `variant` as in `cas` and `mad`,
    `missing` counts the pictures of each set that gave no answer. Raises NotEnoughData where a set
    has no picture or no concept, or of fewer than two counterfactuals; ValueError for negative
    counts or other concepts.
    """
    sets = _sets(initial, counterfactuals, "embeddings" if embedded else "counts")
    found = (
        _of_embeddings(sets, draws, level, rng)
        if embedded
        else _of_counts(sets, draws, level, variant, rng)
    )
    scores, ranges, apart, name, noisy, null = found
    k = len(scores)
    of_set = [len(pictures) for pictures in sets]
    lost = missing or [0] * len(sets)
    if len(lost) != len(sets):
        raise ValueError(f"missing counts of {len(lost)} sets were given for {len(sets)} sets")
    n = sum(of_set)
    gone = sum(lost)
    (near, of_near), (middle, of_middle), (far, of_far) = noisy
    each = tuple(
        Estimate(
            score,
            low,
            high,
            level,
            name,
            of_set[0] + own,
            lost[0] + out,
            max=1.0,
            debiased=debiased,
        )
        for score, (low, high, debiased), own, out in zip(
            scores.tolist(), ranges, of_set[1:], lost[1:], strict=True
        )
    )

    def lean(contrast: Floats) -> Estimate:
        reaches = [
            float(scipy.stats.norm.isf(tail(level)) * (drawn @ contrast).std())
            for drawn in (of_near, of_far)
        ]
        ends = [
            float(at @ contrast) + sign * r
            for at, r in zip((near, far), reaches, strict=True)
            for sign in (-1, 1)
        ]
        low = max(min(ends), -1.0)
        high = min(max(ends), 1.0)
        value = float(scores @ contrast)
        mark = float(middle @ contrast)
        return Estimate(
            value, low, high, level, "normal, stretched", n, gone, null=0.0, max=1.0, debiased=mark
        )

    leans = tuple(map(lean, (k * np.eye(k) - 1) / (k - 1)))

    def spread(measure: Spread, maximum: float, rooted: bool) -> Estimate:
        def of(some: Floats) -> Floats:
            return measure(some, variant)

        low = low_end(near, of_near, of, level)
        high = high_end(far, of_far, of, level)
        if rooted:
            a, b = ends(leans[0])
            low = math.sqrt(max(a, -b, 0.0))
            high = math.sqrt(max(-a, b))
        high = min(high, maximum)
        debiased = low_end(middle, of_middle, of, POINT)
        method = "root of the contrast's" if rooted else "test inversion on stretched scores"
        found = Estimate(
            float(of(scores)), min(low, high), high, level, method, n, gone, debiased=debiased
        )
        fair = of(null)
        return corrected(found, float(fair.mean()), p_value(found.value, fair), maximum)

    alone = k == 2 and variant == "paper"
    most = mad_max(k, variant)
    at_most = {"mad": most, "wasserstein": 1.0, "standard_deviation": math.sqrt(most)}
    spreads = {
        one: spread(SPREADS[one], top, alone and one != "wasserstein")
        for one, top in at_most.items()
    }
    return Associations(each, leans, **spreads, apart=apart)


def _sets(initial: ArrayLike, counterfactuals: Sequence[ArrayLike], what: str) -> list[Floats]:
    if len(counterfactuals) < 2:
        raise NotEnoughData(
            f"the spread of an axis needs at least 2 counterfactual sets, got {len(counterfactuals)}"
        )
    names = ["the initial set", *(f"counterfactual set {k}" for k in range(len(counterfactuals)))]
    sets = [
        array_of(s, f"{what} of {name}")
        for name, s in zip(names, (initial, *counterfactuals), strict=True)
    ]
    if len({pictures.shape[1] for pictures in sets}) > 1:
        raise ValueError(
            f"{what} of all sets must have the same columns, got {[s.shape[1] for s in sets]}"
        )
    return sets


def _of_counts(
    sets: list[Floats], draws: int, level: float, variant: Variant, rng: Generator
) -> AssociationParts:
    """The scores of counts of concepts."""
    if any(np.any(pictures < 0) for pictures in sets):
        raise ValueError("counts of concepts cannot be negative")
    histogram, *others = (pictures.mean(axis=0) for pictures in sets)
    scores = np.array([cas(histogram, other, variant) for other in others])
    if variant_of(variant) == "code":
        scaled = [pictures / pictures.sum(axis=1).mean() for pictures in sets]
        # rows whose mean is the histogram scaled to sum 1 and which vary as that histogram does
        # (first order)
        sets = [s - s.mean(axis=0) * (s.sum(axis=1, keepdims=True) - 1) for s in scaled]
    first = sets[0]
    errors = bootstrap_errors(sets[0], draws, rng)
    shifts = [
        concept_shift(first, other, errors, bootstrap_errors(other, draws, rng), rng)
        for other in sets[1:]
    ]
    found = [shift.interval(level) for shift in shifts]
    ranges = [one[:3] for one in found]
    apart = tuple(one[3] for one in found)
    w, v = (
        np.maximum(fair, 0) for fair in fair_histograms(first, sets[1:], draws, rng)
    )  # "code" may lead below 0
    union = np.maximum(w, v).sum(axis=-1)
    null = np.divide(
        np.minimum(w, v).sum(axis=-1), union, out=np.zeros_like(union), where=union > 0
    ).T
    drawn = np.stack([shift.draws(shift.difference) for shift in shifts], axis=-1)
    errors = (
        (drawn - drawn.mean(axis=0))
        * student_stretch(level, max(min(map(len, sets)) - 1, 1))
        * WIDER
    )
    marks = np.array([min(max(debiased, low), high) for low, high, debiased in ranges])
    nearer = max(1.0, float(np.mean(((1 + marks) / (1 + scores)) ** 2)))
    noisy = [(scores * nearer**power, errors * nearer**power) for power in STRETCH]
    return scores, ranges, apart, "test inversion, sparse and dense path", noisy, null


def _of_embeddings(
    sets: list[Floats], draws: int, level: float, rng: Generator
) -> AssociationParts:
    """The scores of embeddings."""
    first, *others = sets = [unit_vectors(pictures) for pictures in sets]
    scores = np.array([cas_clip(first, other) for other in others])
    drawn, *each = (
        pictures.mean(axis=0) + bootstrap_errors(pictures, draws, rng) for pictures in sets
    )
    errors = np.stack([np.einsum("ij,ij->i", drawn, other) for other in each], axis=-1)
    errors -= errors.mean(axis=0)
    reaches = float(scipy.stats.norm.isf(tail(level))) * errors.std(axis=0)
    ranges = [
        (max(s - r, -1.0), min(s + r, 1.0), s)
        for s, r in zip(scores.tolist(), reaches.tolist(), strict=True)
    ]
    null = (
        mixture_means(others, len(first), draws, rng)
        @ np.stack([other.mean(axis=0) for other in others]).T
    )
    noisy = [(scores, errors)] * len(STRETCH)
    name = "normal, bootstrap standard error"
    return scores, ranges, (0.0,) * len(others), name, noisy, null


CLEAR_DIFFERENCE = (
    0.05  # p-value of a concept's differences between counterfactual sets below which they are kept
)


def mixture_means(sets: list[Floats], n: int, draws: int, rng: Generator) -> Floats:
    """Means of n pictures from an equal mixture of resampled sets: [(n_k, columns)] to (draws,
    columns).
    """
    weights = [bootstrap_weights(len(pictures), draws, rng) / len(sets) for pictures in sets]
    return rng.multinomial(n, np.concatenate(weights, axis=1)) / n @ np.concatenate(sets)


def fair_histograms(
    initial: Floats, counterfactuals: list[Floats], draws: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Histograms under the null: (draws, concepts) of the initial set, (K, draws, concepts) of the
    others.
    """
    pooled = np.concatenate(counterfactuals)
    means = np.stack([pictures.mean(axis=0) for pictures in counterfactuals])
    n = np.array([len(pictures) for pictures in counterfactuals])[:, None]
    between = (n * (means - pooled.mean(axis=0)) ** 2).sum(axis=0)
    differs = between > pooled.var(axis=0) * scipy.stats.chi2.isf(
        CLEAR_DIFFERENCE, len(counterfactuals) - 1
    )

    sizes = [len(initial), *n[:, 0]]
    everything = np.concatenate([initial, pooled])
    shuffled = rng.permuted(np.tile(np.repeat(np.arange(len(sizes)), sizes), (draws, 1)), axis=1)
    permuted = np.stack(
        [(shuffled == k).astype(float) @ everything / size for k, size in enumerate(sizes)]
    )
    mixture = mixture_means(counterfactuals, len(initial), draws, rng)
    return np.where(differs, mixture, permuted[0]), np.where(differs, means[:, None], permuted[1:])


Measure = Callable[[Floats], Floats]
FURTHEST = 8.0  # standard errors beyond the observed pattern at which the search ends


def low_end(scores: Floats, errors: Floats, spread: Measure, level: float) -> float:
    """Low end of the interval of the spread of the K population scores, by test inversion.

    The spread of noisy scores is too large where they are nearly equal, so a percentile interval
    would never reach 0. Scores are drawn towards their median by the same amount each, so that few
    stay apart, which is unfavourable to this end: it is the smallest spread whose samples reach the
    observed one in at least (1 - level) / 2 of cases.

    `scores` are (K,), `errors` draws (draws, K) of their joint error, centred at 0; `spread` maps
    (..., K) to (...), 0 where all scores are equal.
    """
    observed = float(spread(scores))

    def reached(t: Floats) -> bool:
        return bool(np.quantile(spread(_gathered(scores, t) + errors), 1 - tail(level)) >= observed)

    return float(spread(_gathered(scores, first_accepted(reached, 0.0, 1.0))))


def high_end(scores: Floats, errors: Floats, spread: Measure, level: float) -> float:
    """High end of the same: the smallest spread whose samples exceed the observed one but for (1 -
    level) / 2 of cases.

    The pattern shrinks or grows as a whole; beyond the observed one each score moves outward by the
    same number of its standard errors. Scores more alike than equal populations usually give do not
    exclude a small spread: the observed spread counts at least as the median under equality.
    """
    at_least = max(float(spread(scores)), float(np.median(spread(_gathered(scores, 0.0) + errors))))
    deviation = scores - scores.mean()
    apart = np.where(
        np.arange(len(scores)) % 2, 1.0, -1.0
    )  # equal scores must not all move the same way
    outward = np.where(deviation == 0, apart, np.sign(deviation)) * errors.std(axis=0)

    def stretched(t: Floats) -> Floats:
        return np.asarray(
            scores.mean() + np.minimum(t, 1.0) * deviation + np.maximum(t - 1.0, 0.0) * outward
        )

    def exceeded(t: Floats) -> bool:
        return bool(np.quantile(spread(stretched(t) + errors), tail(level)) > at_least)

    within = (0.0, 1.0) if exceeded(np.ones(())) else (1.0, 1.0 + FURTHEST)
    return float(spread(stretched(first_accepted(exceeded, *within))))


def _gathered(scores: Floats, t: ArrayLike) -> Floats:
    """t = 0: all at the median; t = 1: as observed; between, every score is pulled in by the same
    amount.
    """
    deviation = scores - np.median(scores)
    size = np.abs(deviation)
    return np.asarray(
        np.median(scores)
        + np.sign(deviation) * np.maximum(size - (1 - np.asarray(t)) * size.max(), 0.0)
    )


def association_differences(
    sets: Sequence[PairedSets],
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
) -> tuple[tuple[Estimate, ...], Estimate]:
    """Differences of every counterfactual's CAS, and of MAD, between two models, as in
    `stats.differences`.

    The plug-in scores of few pictures are too low (CAS) or too high (MAD), and not by the same
    amount in both models. Values are differences of median-unbiased scores. The initial set and the
    counterfactual ones hold concept counts (pictures, concepts), and errors are as in
    `associations`.
    """

    def scores(means: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """CAS and MAD of both models, (..., K + 1)."""
        each = ([cas(x[0], other, variant) for other in x[1:]] for x in zip(*means, strict=True))
        first, second = (
            np.stack([*own, mad(np.stack(own, axis=-1), variant)], axis=-1) for own in each
        )
        return first, second

    a, b = (
        associations(rows[0], rows[1:], rng=again, draws=draws, level=level, variant=variant)
        for rows, again in zip(
            ([s.first for s in sets], [s.second for s in sets]), twice(rng), strict=True
        )
    )
    r = correlations(scores([s.resampled(draws, rng) for s in sets]), min(len(s) for s in sets))
    observed = np.abs(np.subtract(*scores([s.means for s in sets])))
    exchanged = (
        np.abs(np.subtract(*scores([s.exchanged(draws, rng) for s in sets]))) for _ in range(ROUNDS)
    )
    p = p_by_rounds(observed, exchanged)
    found = []
    for i, (one, other) in enumerate(zip((*a.cas, a.mad), (*b.cas, b.mad), strict=True)):
        if (
            i < len(sets) - 1
        ):  # a CAS may well be 1: of the distances from it, this is the bound 0 that `joined` heeds
            x, y = ((1 - high, 1 - low) for low, high in map(ends, (other, one)))
            low, _, high = joined(x, y, (1 - other.mark, 1 - one.mark), float(r[i]))
        else:
            low, _, high = joined(ends(one), ends(other), (one.mark, other.mark), float(r[i]))
        n = (one.n or 0) + (other.n or 0)
        missing = one.missing + other.missing
        name = f"MOVER, {one.interval}, paired"
        found.append(
            Estimate(
                one.mark - other.mark,
                low,
                high,
                level,
                name,
                n,
                missing,
                null=0.0,
                max=one.max,
                p=float(p[i]),
            )
        )
    return tuple(found[:-1]), found[-1]
