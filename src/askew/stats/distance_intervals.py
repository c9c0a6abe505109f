"""Interval of a population's distance from an ideal, by inverting a test along two paths of possible populations.

The distance of n pictures' shares is too large: values that are as frequent as they should be still differ by chance,
and no resampling of the shares undoes that. So populations are tried instead. One is rejected if too few of its
samples have a distance as far out as the observed one. How large the excess is depends on where the true difference
sits, which the data tell only in part, so each end is sought where that is least favourable to it:

- low: the difference sits in as few values as possible (`sparse`); the others are ideal and add the most excess.
- high: from the observed shares on, ever more pictures show the values that are clearly in excess (`outward`); the
  others move away from the ideal on the other side, where they add no excess.

The ideal itself begins both paths, so the interval leaves out 0 only if a fair population would rarely look like this.
For the high end rejection is measured relative to the ideal (as in the CLs method of particle physics), and shares more
even than chance would make them count as the most even ones that chance does make: they would otherwise reject every
population and leave an interval of no width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.stats.distance import Distance
from askew.stats.intervals import TOLERANCE, Floats, first_accepted, tail

PSEUDO_PICTURES = 0.5  # by which the observed shares are pulled to the ideal where `outward` turns
CLEAR_Z = 1.0  # excess over the ideal, in standard errors, from which a value takes part in the turn
END = 3.0  # of the outward path
METHOD = "test inversion"


@dataclass(frozen=True, slots=True)
class SampledShares:
    """Shares (K,) of so many independent pictures, an ideal (K,), and the distance between them."""

    shares: Floats
    pictures: int
    ideal: Floats
    measure: Distance

    @property
    def observed(self) -> float:
        """The plug-in distance."""
        return self.distance(self.shares)

    def distance(self, population: Floats) -> float:
        """The distance of a population from the ideal."""
        return float(self.measure(population, self.ideal))

    def samples(self, population: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Distances of samples of as many pictures from a population: (draws,)."""
        counts = rng.multinomial(self.pictures, population, size=draws)
        return np.asarray(self.measure(counts, self.ideal))

    @property
    def errors(self) -> Floats:
        """Standard errors (K,) of the shares, not below those under the ideal."""
        q, p = self.ideal, self.shares
        return np.sqrt(np.maximum(q * (1 - q), p * (1 - p)) / self.pictures)

    def sparse(self, t: float) -> Floats:
        """The population at t in [0, 1] on the path to the observed shares where values leave the ideal by z-value."""
        gap, q, error = self.shares - self.ideal, self.ideal, self.errors
        furthest = np.max(np.divide(np.abs(gap), error, out=np.zeros_like(gap), where=error > 0))
        shrunk = np.sign(gap) * np.maximum(np.abs(gap) - (1 - t) * furthest * error, 0)
        more, less = np.maximum(shrunk, 0), np.maximum(-shrunk, 0)
        moved = min(more.sum(), less.sum())
        if moved == 0:
            return q
        return np.asarray(q + more * (moved / more.sum()) - less * (moved / less.sum()))

    def outward(self, t: float) -> Floats:
        """The population at t: ideal at 0, almost the observed shares at 1, values in excess at 2, one value at 3."""
        gap = self.shares - self.ideal
        turn = self.ideal + gap * self.pictures / (self.pictures + PSEUDO_PICTURES)
        corner = np.eye(len(gap))[np.argmax(gap)]
        clear = np.maximum(gap - CLEAR_Z * self.errors, 0)
        face = clear / clear.sum() if clear.any() else corner
        stations = (self.ideal, turn, face, corner)
        start = min(int(t), len(stations) - 2)
        return np.asarray(stations[start] + (t - start) * (stations[start + 1] - stations[start]))


def distance_interval(
    sample: SampledShares, fair: Floats, *, rng: np.random.Generator, level: float
) -> tuple[float, float]:
    """Interval of the population's distance: (low, high).

    Args:
        fair: (draws,) distances of samples from the ideal. As many samples are drawn from every population tried.
    """
    alpha = tail(level)
    observed = max(sample.observed, float(np.quantile(fair, alpha)))
    below_if_fair = _share_below(fair, observed)

    def share_below(population: Floats) -> float:
        return _share_below(sample.samples(population, len(fair), rng), observed)

    def not_too_far(t: float) -> bool:
        return (below_if_fair if t == 0 else share_below(sample.sparse(t))) < 1 - alpha

    def not_too_close(t: float) -> bool:
        return share_below(sample.outward(t)) > alpha * below_if_fair

    low = sample.distance(sample.sparse(first_accepted(not_too_far, 0.0, 1.0)))
    high = sample.distance(sample.outward(first_accepted(not_too_close, END, 0.0)))
    return low, max(low, high)


def _share_below(distances: Floats, observed: float) -> float:
    """Share of distances below the observed one; ties count half."""
    ties = np.abs(distances - observed) <= TOLERANCE
    return float(np.mean((distances < observed) & ~ties) + np.mean(ties) / 2)
