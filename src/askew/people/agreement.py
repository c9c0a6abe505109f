"""Agreement between the raters of a study."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from askew.parts.scoring import or_missing
from askew.people.findings import GroupAgreement
from askew.people.raters import StudyAnswers
from askew.stats.agreement import alpha_estimate, kappa_estimate
from askew.types import Scale

ALL = "all"
DRAWS = 1000


def coded_agreement(
    study: StudyAnswers,
    codes: NDArray[np.int64],
    values: int,
    *,
    name: str,
    group: str = ALL,
    scale: Scale = "nominal",
) -> GroupAgreement:
    """Return Cohen's kappa for two raters, or Krippendorff's alpha for more than two raters.

    Parameters
    ----------
    study
        The study with its answers.
    codes : array, (raters, items)
        Index of the value that each rater chose for each item; -1 if the rater chose no value.
    values
        Number of values.
    name
        Name of the property that the raters judge, such as an axis.
    group
        Name of the group to which the items belong, such as a prompt.
    scale
        Whether the values are nominal or ordinal.
    """
    is_pair = len(study.raters) == 2
    compute = partial(kappa_estimate if is_pair else alpha_estimate, scale=scale)
    estimate = or_missing(
        compute,
        codes,
        values,
        rng=study.rng(name, group, "agreement"),
        draws=DRAWS,
        level=study.folder.plan.confidence,
    )
    counts = np.stack([(codes == value).sum(axis=0) for value in range(values)])
    votes = counts.sum(axis=0)
    most = counts.max(axis=0, initial=0)
    return GroupAgreement(
        axis=name,
        group=group,
        coefficient="kappa" if is_pair else "alpha",
        agreement=estimate,
        images=codes.shape[1],
        unanimous=int(((votes >= 2) & (most == votes)).sum()),
        no_majority=int(((votes > 0) & (2 * most <= votes)).sum()),
    )
