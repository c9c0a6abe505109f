"""Probability distributions of common tests and intervals, computed with `scipy.special`.

`scipy.stats` has the same functions, but importing it takes about a second of CPU time in every
command. Therefore, askew imports it only for rarely used tests. The functions have the names that
SciPy uses: `cdf` is the probability of values up to x, `sf` (survival function) is the probability
of values above x, and `isf` is its inverse.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]


def normal_cdf(x: float) -> float:
    """Return the probability that a standard normal variable is at most x."""
    return float(special.ndtr(x))


def normal_sf(x: float) -> float:
    """Return the probability that a standard normal variable is larger than x."""
    return float(special.ndtr(-x))


def normal_isf(p: float) -> float:
    """Return the value that a standard normal variable exceeds with probability p, in (0, 1)."""
    return float(-special.ndtri(p))


def student_sf(t: float, freedom: float) -> float:
    """Return the probability that Student's t is larger than t.

    Parameters
    ----------
    t
        Value of the statistic.
    freedom
        Degrees of freedom, above 0.
    """
    return float(special.stdtr(freedom, -t))


def student_isf(p: float, freedom: float) -> float:
    """Return the value that Student's t exceeds with probability p.

    Parameters
    ----------
    p
        Probability, in (0, 1).
    freedom
        Degrees of freedom, above 0.
    """
    return float(-special.stdtrit(freedom, p))


def chi2_sf(x: ArrayLike, freedom: ArrayLike) -> Floats:
    """Return the probabilities that chi-squared variables are larger than x.

    Parameters
    ----------
    x : array
        Values of the statistic, at least 0.
    freedom : array
        Degrees of freedom, above 0. The shapes are broadcast against each other.
    """
    return np.asarray(special.chdtrc(freedom, x))


def chi2_isf(p: float, freedom: float) -> float:
    """Return the value that a chi-squared variable exceeds with probability p.

    Parameters
    ----------
    p
        Probability, in (0, 1).
    freedom
        Degrees of freedom, above 0.
    """
    return float(special.chdtri(freedom, p))


def f_sf(f: float, freedom: float, error_freedom: float) -> float:
    """Return the probability that Fisher's F is larger than f.

    Parameters
    ----------
    f
        Value of the statistic, at least 0.
    freedom, error_freedom
        Degrees of freedom of the numerator and of the denominator, above 0.
    """
    return float(special.fdtrc(freedom, error_freedom, f))


def folded_normal_moments(mean: float) -> tuple[float, float]:
    """Return the mean and the standard deviation of |Z + mean|, where Z is standard normal.

    Source: Leone, Nelson and Nottingham (1961), Technometrics 3, 543.
    """
    density = math.exp(-(mean**2) / 2) * math.sqrt(2 / math.pi)
    folded = density + mean * float(special.erf(mean / math.sqrt(2)))
    return folded, math.sqrt(mean**2 + 1 - folded**2)


def binomial_pmf(successes: ArrayLike, n: ArrayLike, share: ArrayLike) -> Floats:
    """For each given k, return the probability of k successes among n independent trials.

    Parameters
    ----------
    successes : array
        Whole numbers k. Numbers outside the range 0 to n have probability 0.
    n : array
        Numbers of trials.
    share : array
        Probabilities of success, in [0, 1]. The shapes are broadcast against each other.
    """
    k = np.asarray(successes, dtype=float)
    trials = np.asarray(n, dtype=float)
    p = np.asarray(share, dtype=float)
    possible = np.clip(k, 0.0, trials)
    logarithms = special.xlogy(possible, p) + special.xlog1py(trials - possible, -p)
    return np.asarray(np.exp(_log_choices(trials, k) + logarithms))


def binomial_cdf(successes: ArrayLike, n: ArrayLike, share: ArrayLike) -> Floats:
    """For each given k, return the probability of at most k successes among n independent trials.

    The parameters are the same as in `binomial_pmf`, but each k must lie between 0 and n.
    """
    return np.asarray(special.bdtr(successes, np.asarray(n, dtype=np.int64), share))


def sign_test(successes: int, n: int) -> float:
    """Return the two-sided p-value of `successes` among n trials, if both outcomes are equally likely.

    The test is exact.
    """
    return min(2 * float(special.bdtr(min(successes, n - successes), n, 0.5)), 1.0)


def hypergeometric_pmf(drawn: ArrayLike, total: int, marked: int, draws: int) -> Floats:
    """For each given k, return the probability that a draw contains k marked items.

    Parameters
    ----------
    drawn : array
        Whole numbers k of marked items among the drawn items.
    total
        Number of items.
    marked
        Number of marked items, from 0 to `total`.
    draws
        Number of items that are drawn without replacement, from 0 to `total`.
    """
    k = np.asarray(drawn, dtype=float)
    logarithms = (
        _log_choices(marked, k)
        + _log_choices(total - marked, draws - k)
        - _log_choices(total, draws)
    )
    return np.exp(logarithms)


def _log_choices(n: ArrayLike, k: ArrayLike) -> Floats:
    """Return the logarithm of the number of ways to choose k of n items, -inf if k is impossible."""
    items = np.asarray(n, dtype=float)
    chosen = np.asarray(k, dtype=float)
    is_possible = (chosen >= 0) & (chosen <= items)
    chosen = np.where(is_possible, chosen, 0.0)
    logarithms = special.gammaln(items + 1) - (
        special.gammaln(chosen + 1) + special.gammaln(items - chosen + 1)
    )
    return np.where(is_possible, logarithms, -np.inf)


def combined_p(p_values: ArrayLike) -> float:
    """Combine the p-values of independent tests with Fisher's method.

    Parameters
    ----------
    p_values : array, (tests,)
        p-values in [0, 1]. At least one.
    """
    p = np.asarray(p_values, dtype=float)
    with np.errstate(divide="ignore"):
        statistic = -2 * np.log(p).sum()
    return float(chi2_sf(statistic, 2 * len(p)))
