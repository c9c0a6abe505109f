"""Shares of a value in the images of several prompts, which are clusters.

Images of a prompt are alike, so that many images of few prompts say less about all prompts than as
many images of many prompts do.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.clustered import clustered_rate
from askew.stats.confusion import ReadingErrors
from askew.stats.distance import distributions
from askew.stats.goodness_of_fit import FitTest, pearson, reference_test
from askew.stats.intervals import Floats
from askew.types import Estimate


def shares_over_prompts(counts: ArrayLike, *, level: float = 0.95) -> tuple[Estimate, ...]:
    """Estimate the share of each value in the images of all prompts, by `clustered_rate`.

    Parameters
    ----------
    counts : array, (prompts, K)
        Images by prompt and label.
    level
        Level of the intervals, in (0, 1).
    """
    c = _counts(counts)
    return tuple(clustered_rate(members(c, value), level=level) for value in range(c.shape[1]))


def members(counts: Floats, value: int) -> Floats:
    """Return images (prompts, most images) as 1 where they show a value, 0, or NaN for no image."""
    totals = counts.sum(axis=1, keepdims=True)
    places = np.arange(int(totals.max(initial=0)))
    shown = (places < counts[:, value : value + 1]).astype(float)
    shown[places >= totals] = np.nan
    return shown


def over_prompts_test(
    counts: ArrayLike,
    references: ArrayLike,
    *,
    reference_images: int | None = None,
    errors: ReadingErrors | None = None,
) -> FitTest:
    """Test whether the images of all prompts together have the reference shares.

    The p of all images as if they were of one prompt, or the p of Pearson's statistic divided by
    the design effect (Rao and Scott 1981), by an F law, whichever is larger. The design effect is
    the variance of the shares between prompts over that of independent images, at least 1.

    Parameters
    ----------
    counts : array, (prompts, K)
        Images by prompt and label.
    references : array, (prompts, K)
        Reference shares of each prompt.
    reference_images
        Number of images in which the references were counted. None if they are exact.
    errors
        Known errors of the labels.
    """
    c = _counts(counts)
    _, q = distributions(c, references)
    sizes = c.sum(axis=1)
    mean_reference = sizes @ q / sizes.sum()
    pooled = reference_test(
        c.sum(axis=0), mean_reference, reference_images=reference_images, errors=errors
    )
    expected = q if errors is None else q @ errors.rates
    p = max(pooled.p, _clustered_p(c, expected))
    return FitTest(p=p, exact_p=max(pooled.exact_p, p))


def _clustered_p(counts: Floats, expected: Floats) -> float:
    """Return the p by Rao and Scott; 0 where prompts vary no more than independent images do."""
    prompts, values = counts.shape
    sizes = counts.sum(axis=1)
    n = sizes.sum()
    shares = counts.sum(axis=0) / n
    gaps = counts - sizes[:, None] * (expected + shares - sizes @ expected / n)
    variances = prompts / (prompts - 1) * np.square(gaps).sum(axis=0) / n
    terms = np.divide(variances, shares, out=np.zeros(values), where=shares > 0)
    effect = float(terms.sum()) / (values - 1)
    if effect <= 1:
        return 0.0
    statistic = float(pearson(counts.sum(axis=0), sizes @ expected)) / effect / (values - 1)
    return float(scipy.stats.f.sf(statistic, values - 1, (values - 1) * (prompts - 1)))


def _counts(counts: ArrayLike) -> Floats:
    """Return the counts (prompts, K) of prompts with images. Raises NotEnoughData for fewer than two."""
    c = np.asarray(counts, dtype=float)
    if c.ndim != 2 or (c.sum(axis=1) > 0).sum() < 2:
        raise NotEnoughData("two prompts with labeled images are needed")
    if not c.sum(axis=1).all():
        raise ValueError("a prompt has no labeled image; leave it out")
    return c
