"""Estimate the shares of perceived values in image sets, with deviations and differences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from askew.findings import RESULTS_FILE, E, MappingKey, read_field, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet, why_missing
from askew.plan import AxisPlan
from askew.stats.confusion import ReadingErrors, corrected_share_intervals
from askew.stats.differences import distance_difference, share_difference
from askew.stats.goodness_of_fit import reference_test
from askew.stats.intervals import holm_then_bh
from askew.stats.missing_labels import closest_counts, worst_case_intervals
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import distance_estimate, share_intervals
from askew.types import Axis, Estimate, Missing, MissingItem, Scale, record

Counts = NDArray[np.int64]

DISTANCE = {"nominal": "total_variation", "ordinal": "wasserstein"}
"""Name of the distance between shares, keyed by the scale of the axis.

An ordinal scale uses ranks.
"""

INDISTINGUISHABLE = "the instrument does not distinguish the values of the axis"


@record
class Verdict:
    """Result of a test of whether an image set is biased on an axis.

    Pearson's test checks the null hypothesis that the images were drawn from the reference shares
    (`stats.goodness_of_fit`).

    Attributes
    ----------
    value : str
        The most over-represented value.
    p, q : float
        Mid-p-value, and q-value corrected over all sets and axes of an instrument
        (Benjamini-Hochberg).
    exact_p : float
        p-value that fully counts samples that are exactly as extreme as the observed sample.
    detectable : float or None
        Deviation that the corrected test has 90 % power to detect. None if there is no such
        deviation.
    tests : int or None
        Number of tests (sets and axes) over which q is corrected.
    corrected_for_errors : bool
        True if the test allows for the known errors of the instrument.
    worst_case_p, worst_case_q : float or None
        p and q in the worst case, in which the missing labels are as close to the reference as
        possible. None if no label is missing.
    looks : tuple of float
        Mid-p-value of each look, if images were added until a verdict was reached. In this case,
        `p` allows for all looks (`stats.looks`). Empty otherwise.
    """

    value: str
    p: float
    q: float
    exact_p: float
    detectable: float | None
    tests: int | None = None
    corrected_for_errors: bool = False
    worst_case_p: float | None = None
    worst_case_q: float | None = None
    looks: tuple[float, ...] = ()


@record
class SetShares:
    """Shares of an instrument's labels on one axis of an image set.

    Attributes
    ----------
    prompt, axis, instrument : str
        Prompt of the set, axis of the labels, and instrument that assigned the labels.
    set : str
        "initial", or "AXIS: VALUE" of a counterfactual or condition.
    reference : mapping of value to float
        Reference shares.
    counts : mapping of value to int
        Number of images with each label.
    missing : mapping of reason to int
        Number of images without a label, keyed by reason.
    shares : mapping of value to Estimate or Missing
        Shares of the labeled images.
    distance : Estimate or Missing
        Deviation of the shares from the reference.
    bounds : mapping of value to (low, high), or None
        Intervals for the shares in all images, which are valid whatever the missing labels are
        (Imbens and Manski 2004). None if no label is missing.
    instrument_corrected : mapping of value to Estimate or Missing, or None
        Shares corrected for the known errors of the instrument.
    verdict : Verdict or None
        None if the set was not tested.
    reference_images : int or None
        Number of images from which the reference was computed. None if it is exact.
    total_variation : Estimate, Missing or None
        On an ordinal axis, the deviation computed without regard to the order of the values. This
        deviation can reveal a peak at the middle values.
    reasons : tuple of MissingItem
        Examples of images without a label, at most five per reason.
    """

    prompt: str
    set: str
    axis: str
    instrument: str
    reference: Mapping[str, float]
    counts: Mapping[str, int]
    missing: Mapping[str, int]
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    distance: E
    bounds: Mapping[str, tuple[float, float]] | None
    instrument_corrected: Annotated[Mapping[str, E], MappingKey("value")] | None
    verdict: Verdict | None = None
    reference_images: int | None = None
    total_variation: E | None = None
    reasons: tuple[MissingItem, ...] = ()

    @property
    def even(self) -> bool:
        """True if the reference is uniform."""
        return len({round(share, 9) for share in self.reference.values()}) == 1

    @property
    def scale(self) -> Scale:
        """Scale of the axis."""
        return "nominal" if self.total_variation is None else "ordinal"

    @property
    def leading(self) -> str:
        """The most over-represented value."""
        labeled = sum(self.counts.values()) or 1
        return max(
            self.counts,
            key=lambda value: self.counts[value] / labeled - self.reference.get(value, 0.0),
        )

    @property
    def tested_images(self) -> int:
        """Number of labeled images on which the test is based."""
        return sum(self.counts.values())

    @property
    def of_prompt(self) -> bool:
        """True for baseline images and conditions, False for counterfactuals of the axis."""
        return not self.set.startswith(f"{self.axis}: ")


@record
class SharesDifference:
    """Differences in shares and deviation between two image sets (second minus first).

    Attributes
    ----------
    prompt, axis, instrument : str
        Prompt of both sets, axis of the labels, and instrument that assigned the labels.
    sets : tuple of str
        Names of the first and second sets.
    shares : mapping of value to Estimate or Missing
        Differences between the shares.
    distance : Estimate or Missing
        Difference between the two sets' deviations from the reference.
    """

    prompt: str
    axis: str
    instrument: str
    sets: tuple[str, str]
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    distance: E


def reference_of(axis: AxisPlan) -> dict[str, float]:
    """Return the reference shares of an axis, in the order of its values.

    By default, the reference shares are uniform.
    """
    uniform_share = 1 / len(axis.values)
    return {value: (axis.reference or {}).get(value, uniform_share) for value in axis.values}


def shares(
    observed: ObservedSet,
    planned: AxisPlan,
    prompt: str,
    scoring: Scoring,
    known_errors: Counts | None = None,
) -> SetShares:
    """Estimate the shares of an axis's values in a set, and test them against the reference.

    q-values are added later (`verdicts.with_verdicts`). There is no verdict if the instrument
    cannot distinguish the values of the axis.

    Parameters
    ----------
    observed, planned, prompt, scoring
        Labeled images, axis, prompt, and settings for the scores.
    known_errors
        Error counts of the instrument, of shape (true values, labels). The shares are corrected for
        these errors.
    """
    instrument = scoring.instrument
    axis = planned.axis()
    counts = np.array(observed.counts(instrument, axis))
    reasons = {str(reason): count for reason, count in observed.missing(instrument, axis).items()}
    unlabeled = SetShares(
        prompt=prompt,
        set=observed.name,
        axis=axis.name,
        instrument=instrument,
        reference=reference_of(planned),
        counts=dict(zip(axis.values, counts.tolist(), strict=True)),
        missing=reasons,
        shares={},
        distance=why_missing([observed], instrument, axis),
        bounds=None,
        instrument_corrected=None,
        reference_images=planned.reference_images,
        reasons=observed.missing_labels(instrument, axis),
    )
    if not counts.sum():
        return replace(unlabeled, shares=dict.fromkeys(axis.values, unlabeled.distance))
    return _estimated(unlabeled, axis, counts, scoring, known_errors)


def _estimated(
    unlabeled: SetShares, axis: Axis, counts: Counts, scoring: Scoring, known_errors: Counts | None
) -> SetShares:
    """Return the record of a set, which contains estimates of its shares and deviations."""
    missing = sum(unlabeled.missing.values())
    place = (unlabeled.prompt, unlabeled.set, unlabeled.axis, unlabeled.instrument)
    rng = scoring.rng(*place, "shares")
    estimates = share_intervals(counts, level=scoring.level, missing=missing)
    reference = list(unlabeled.reference.values())
    errors = usable_errors(known_errors)
    if errors is not None and not errors.tell_values_apart:
        return _indistinguishable(unlabeled, axis, estimates)
    test = reference_test(
        counts, reference, reference_images=unlabeled.reference_images, errors=errors
    )

    def deviation(distance: str, generator: np.random.Generator) -> Estimate:
        estimate = distance_estimate(
            counts,
            reference,
            distance=distance,
            missing=missing,
            reference_images=unlabeled.reference_images,
            rng=generator,
            **scoring.interval_options,
        )
        return replace(estimate, p=test.p)

    distance = deviation(DISTANCE[axis.scale], rng)
    corrected = _corrected(axis, counts, missing, scoring, errors, rng)
    total_variation = None
    if axis.scale == "ordinal":
        total_variation = deviation("total_variation", scoring.rng(*place, "total variation"))
    return replace(
        unlabeled,
        shares=dict(zip(axis.values, estimates, strict=True)),
        distance=distance,
        bounds=_bounds(axis, counts, missing, scoring.level) if missing else None,
        instrument_corrected=corrected,
        total_variation=total_variation,
        verdict=Verdict(
            value=unlabeled.leading,
            p=test.p,
            q=test.p,
            exact_p=test.exact_p,
            detectable=None,
            corrected_for_errors=errors is not None and unlabeled.reference_images is None,
            worst_case_p=worst_case_p(unlabeled, errors),
        ),
    )


def worst_case_p(entry: SetShares, errors: ReadingErrors | None) -> float | None:
    """Return a set's p-value for missing labels that are as close to the reference as possible.

    Parameters
    ----------
    entry
        A set with labeled images.
    errors
        Known errors of the labels.

    Returns
    -------
    float or None
        The p-value; None if no label is missing.
    """
    missing = sum(entry.missing.values())
    if not missing:
        return None
    reference = np.array(list(entry.reference.values()))
    expected = reference
    if errors is not None and entry.reference_images is None:
        expected = reference @ errors.rates
    counts = closest_counts(list(entry.counts.values()), missing, expected)
    test = reference_test(counts, reference, reference_images=entry.reference_images, errors=errors)
    return test.p


def usable_errors(known_errors: Counts | None) -> ReadingErrors | None:
    """Return an instrument's known errors; None if they are not known for all true values."""
    if known_errors is None or not known_errors.sum(axis=1).all():
        return None
    return ReadingErrors.of(known_errors)


def _indistinguishable(
    unlabeled: SetShares, axis: Axis, estimates: Sequence[Estimate]
) -> SetShares:
    """Return the record of a set whose instrument cannot distinguish the values of the axis."""
    missing = Missing("error", INDISTINGUISHABLE)
    return replace(
        unlabeled,
        shares=dict(zip(axis.values, estimates, strict=True)),
        distance=missing,
        instrument_corrected=dict.fromkeys(axis.values, missing),
    )


def _corrected(
    axis: Axis,
    counts: Counts,
    missing: int,
    scoring: Scoring,
    errors: ReadingErrors | None,
    rng: np.random.Generator,
) -> dict[str, Estimate] | None:
    """Correct shares for the instrument's errors; return None if the errors are unknown."""
    if errors is None:
        return None
    estimates = corrected_share_intervals(
        counts, errors.counts, rng=rng, missing=missing, **scoring.interval_options
    )
    return dict(zip(axis.values, estimates, strict=True))


def _bounds(
    axis: Axis, counts: Counts, missing: int, level: float
) -> dict[str, tuple[float, float]]:
    """Return an interval for each value's share that is valid whatever the missing labels are."""
    lows, highs = worst_case_intervals(counts, missing, level=level)
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    return dict(zip(axis.values, pairs, strict=True))


def differences(
    sets: Sequence[ObservedSet], plan: AxisPlan, prompt: str, scoring: Scoring
) -> list[SharesDifference]:
    """Estimate the difference between each pair of labeled sets. q-values are added later."""
    entries = []
    for first, second in combinations(sets, 2):
        entry = _difference(first, second, plan, prompt, scoring)
        if entry is not None:
            entries.append(entry)
    return entries


def _difference(
    first: ObservedSet, second: ObservedSet, plan: AxisPlan, prompt: str, scoring: Scoring
) -> SharesDifference | None:
    """Estimate the difference between two sets; None if a set has no label."""
    axis = plan.axis()
    first_counts = np.array(first.counts(scoring.instrument, axis))
    second_counts = np.array(second.counts(scoring.instrument, axis))
    if not (first_counts.sum() and second_counts.sum()):
        return None
    names = (first.name, second.name)
    rng = scoring.rng(prompt, *names, axis.name, scoring.instrument, "differences")
    paired = PairedSets.of_counts(second_counts, first_counts)
    share_changes = {
        value: share_difference(paired, place, level=scoring.level)
        for place, value in enumerate(axis.values)
    }
    distance = distance_difference(
        paired,
        list(reference_of(plan).values()),
        distance=DISTANCE[axis.scale],
        rng=rng,
        reference_images=plan.reference_images,
        **scoring.interval_options,
    )
    return SharesDifference(
        prompt=prompt,
        axis=axis.name,
        instrument=scoring.instrument,
        sets=names,
        shares=share_changes,
        distance=distance,
    )


def with_q_of_differences(entries: Iterable[SharesDifference]) -> tuple[SharesDifference, ...]:
    """Return differences with q-values, which are corrected separately for each instrument.

    The differences between distances form a family of tests. Within each entry, the tests of the
    shares are first corrected with Holm's method.
    """
    adjusted = list(entries)
    for instrument in dict.fromkeys(entry.instrument for entry in adjusted):
        places = [place for place, entry in enumerate(adjusted) if entry.instrument == instrument]
        of_instrument = _with_q_of_shares([adjusted[place] for place in places])
        for place, entry in zip(places, of_instrument, strict=True):
            adjusted[place] = entry

    def family(address: Sequence[str | int]) -> str | None:
        return adjusted[int(address[0])].instrument if address[-1] == "distance" else None

    return with_q(tuple(adjusted), family)


def _with_q_of_shares(entries: Sequence[SharesDifference]) -> list[SharesDifference]:
    """Return an instrument's entries, with q-values added to their shares."""
    known = [_estimates(entry.shares) for entry in entries]
    tests = []
    for estimates in known:
        tests.append([each.p for each in estimates.values() if each.p is not None])
    adjusted = []
    for entry, estimates, (_, _, q_values) in zip(entries, known, holm_then_bh(tests), strict=True):
        with_q_values = {
            value: replace(estimate, q=q)
            for (value, estimate), q in zip(estimates.items(), q_values, strict=True)
        }
        adjusted.append(replace(entry, shares=with_q_values))
    return adjusted


def _estimates(scores: Mapping[str, E]) -> dict[str, Estimate]:
    return {name: score for name, score in scores.items() if isinstance(score, Estimate)}


def recorded_shares(folder: Path) -> tuple[SetShares, ...]:
    """Load the shares of a finished run of any method.

    Raises
    ------
    UsageError
        If the folder has no results, or if its results cannot be read.
    """
    return read_field(tuple[SetShares, ...], folder / RESULTS_FILE, "shares")
