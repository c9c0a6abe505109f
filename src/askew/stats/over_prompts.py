"""Shares of values in the images of several prompts, where each prompt is a cluster.

Images of the same prompt are similar. So images from a few prompts contain less information about
all prompts than the same number of images from many prompts. The design effect is the observed
variance of shares between prompts, divided by the variance that the shares of independent images
would have (Rao and Scott 1981). Tests and intervals use the effective sample size: the number of
independent images that would have the same sampling error. If prompts vary no more than independent
images would, the effective sample size equals the number of images. If each prompt has only one
image, the effective sample size always equals the number of images.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.confusion import ReadingErrors
from askew.stats.distance import Distance, distance_max, distance_named, distributions
from askew.stats.distance_intervals import as_exact_together, sample_of
from askew.stats.distributions import f_sf
from askew.stats.goodness_of_fit import FitTest, pearson, reference_test
from askew.stats.intervals import Floats, student_stretch
from askew.stats.shares import sampled_distance, share_intervals, wilson
from askew.types import Estimate


@dataclass(frozen=True)
class PromptCounts:
    """Label counts for the images of several prompts, with reference shares for each prompt.

    Attributes
    ----------
    counts : array, (prompts, K)
        Number of images for each prompt and label, at least one image per prompt.
    references : array, (prompts, K)
        Reference shares of each prompt.
    """

    counts: Floats
    references: Floats

    @classmethod
    def of(cls, counts: ArrayLike, references: ArrayLike) -> Self:
        """Check counts and references, and return them.

        Raises
        ------
        NotEnoughData
            If there are fewer than two prompts with images.
        ValueError
            If a prompt has no images, or an array contains invalid counts or shares.
        """
        c = _counts(counts)
        _, q = distributions(c, references)
        return cls(counts=c, references=q)

    @property
    def sizes(self) -> Floats:
        """Number of images for each prompt."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def together(self) -> Floats:
        """Number of images with each label, summed over all prompts."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def reference(self) -> Floats:
        """Mean of the reference shares, weighted by the number of images per prompt."""
        return np.asarray(self.sizes @ self.references / self.sizes.sum())

    def design_effect(self, errors: ReadingErrors | None = None) -> float:
        """Return the design effect of the labels, at least 1."""
        expected = self.expected(errors)
        prompts, values = self.counts.shape
        n = float(self.sizes.sum())
        shares = self.together / n
        gaps = self.counts - self.sizes[:, None] * (expected + shares - self.sizes @ expected / n)
        variances = prompts / (prompts - 1) * np.square(gaps).sum(axis=0) / n
        terms = np.divide(variances, shares, out=np.zeros(values), where=shares > 0)
        return max(float(terms.sum()) / (int(values) - 1), 1.0)

    def expected(self, errors: ReadingErrors | None) -> Floats:
        """Return each prompt's expected label shares if the reference shares are true."""
        return self.references if errors is None else self.references @ errors.rates

    def independent_images(self, level: float = 0.95) -> int:
        """Return the effective sample size, at least 1.

        The effective sample size is the number of images divided by the design effect. If there are
        few prompts, the effective sample size is reduced further, because Student's t replaces the
        normal quantile. If the design effect is 1, the result equals the number of images.
        """
        n = int(self.sizes.sum())
        effect = self.design_effect()
        if effect <= 1:
            return n
        return max(round(n / effect / student_stretch(level, len(self.counts) - 1) ** 2), 1)


def shares_over_prompts(prompts: PromptCounts, *, level: float = 0.95) -> tuple[Estimate, ...]:
    """Estimate the share of each value in the images of all prompts.

    If the design effect is 1, the interval is a mid-P Clopper-Pearson interval. If the design
    effect is larger, the interval is a Wilson interval at the effective sample size.

    Parameters
    ----------
    prompts
        Labels of the images.
    level
        Confidence level of the intervals, in (0, 1).
    """
    together = prompts.together
    estimates = share_intervals(together, level=level)
    independent = prompts.independent_images(level)
    if independent == together.sum():
        return estimates
    clustered = []
    for estimate in estimates:
        low, high = wilson(estimate.value, independent, level)
        clustered.append(
            replace(estimate, low=low, high=high, interval="Wilson, independent images")
        )
    return tuple(clustered)


def distance_over_prompts(
    prompts: PromptCounts,
    *,
    p: float,
    distance: str | Distance,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    reference_images: int | None = None,
) -> Estimate:
    """Estimate the distance of the shares over all prompts from the mean reference.

    The interval and the null value are computed as in `shares.distance_estimate`, at the effective
    sample size.

    Parameters
    ----------
    prompts
        Labels of the images.
    p
        p-value from `over_prompts_test`.
    distance
        Name of a distance in `distance.DISTANCES`, or a function of two distributions.
    rng
        Random generator for all draws.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    reference_images
        Number of images from which the references were computed. None if they are exact.
    """
    measure = distance_named(distance)
    together = prompts.together
    reference = prompts.reference
    sample = replace(
        sample_of(together, reference, reference_images, measure),
        pictures=as_exact_together(prompts.independent_images(level), reference_images),
    )
    estimate = sampled_distance(
        sample,
        value=float(measure(together, reference)),
        maximum=distance_max(reference, measure),
        p=p,
        rng=rng,
        draws=draws,
        level=level,
    )
    return replace(estimate, n=int(together.sum()))


def over_prompts_test(
    prompts: PromptCounts,
    *,
    reference_images: int | None = None,
    errors: ReadingErrors | None = None,
) -> FitTest:
    """Test whether the images of all prompts together have the reference shares.

    p is the larger of two p-values. The first p-value is computed as if all images had the same
    prompt. For the second p-value, Pearson's statistic is divided by the design effect (Rao and
    Scott 1981) and compared with an F distribution.

    Parameters
    ----------
    prompts
        Labels of the images.
    reference_images
        Number of images from which the references were computed. None if they are exact.
    errors
        Known labeling errors.
    """
    pooled = reference_test(
        prompts.together, prompts.reference, reference_images=reference_images, errors=errors
    )
    if reference_images is not None:
        errors = None
    p = max(pooled.p, _clustered_p(prompts, errors, reference_images))
    return FitTest(p=p, exact_p=max(pooled.exact_p, p))


def _clustered_p(
    prompts: PromptCounts, errors: ReadingErrors | None, reference_images: int | None
) -> float:
    """Return the p-value of Rao and Scott's test, or 0 if the design effect is 1.

    A design effect of 1 means that the shares vary no more between prompts than they would if all
    images were independent. The p-value for independent images then applies. Because the caller
    uses the larger of the two p-values, 0 has no effect.
    """
    effect = prompts.design_effect(errors)
    if effect <= 1:
        return 0.0
    number, values = prompts.counts.shape
    n = int(prompts.sizes.sum())
    statistic = float(pearson(prompts.together, prompts.sizes @ prompts.expected(errors)))
    statistic *= as_exact_together(n, reference_images) / n
    freedom = values - 1
    return f_sf(statistic / effect / freedom, freedom, freedom * (number - 1))


def _counts(counts: ArrayLike) -> Floats:
    """Check that there are at least two prompts, each with images, and return their counts."""
    c = np.asarray(counts, dtype=float)
    if c.ndim != 2 or (c.sum(axis=1) > 0).sum() < 2:
        raise NotEnoughData("two prompts with labeled images are needed")
    if not c.sum(axis=1).all():
        raise ValueError("a prompt has no labeled images; leave out this prompt")
    return c
