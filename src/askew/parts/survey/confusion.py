"""Obtain the labeling errors of instruments, from human labels or from the instruments."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, CalibratedInstrument, SampledLabels
from askew.parts.survey.instruments import is_by_people
from askew.parts.survey.observed import ObservedSet
from askew.plan import PromptPlan
from askew.types import MISSING_REASONS, Axis, Missing, Picture, record

Errors = Mapping[tuple[str, str], NDArray[np.int64]]
"""For each instrument and axis, counts of images: one row per true value, one column per label."""


@record
class Confusion:
    """Comparison of an instrument's labels with true values.

    Attributes
    ----------
    axis, instrument : str
        Axis of the labels, and the instrument that assigned the labels.
    truth : str
        Instrument whose labels are the true values. These are human labels.
    values : tuple of str
        Values of the axis.
    counts : tuple of tuple of int
        Counts of images, with a row per true value and a column per label.
    missing : mapping
        Number of images that the instrument did not label, keyed by true value and reason.
    """

    axis: str
    instrument: str
    truth: str
    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: Mapping[str, Mapping[str, int]]

    @property
    def table(self) -> NDArray[np.int64]:
        """Counts as an array of shape (true values, labels)."""
        return np.array(self.counts, dtype=np.int64)


def confusion(sets: Iterable[ObservedSet], axis: Axis, instrument: str, truth: str) -> Confusion:
    """Count the images for each combination of true value and instrument label.

    Raises
    ------
    ValueError
        If a label is not a value of the axis.
    """
    pairs = _pairs(sets, axis, instrument, truth)
    known_labels = (*axis.values, *MISSING_REASONS)
    for true, label in pairs:
        if true not in axis.values or label not in known_labels:
            raise ValueError(
                f"{true!r} is compared with {label!r}, but both must be among "
                f"{', '.join(axis.values)}"
            )
    missing: dict[str, dict[str, int]] = {value: {} for value in axis.values}
    for (true, label), count in pairs.items():
        if label not in axis.values:
            missing[true][label] = count
    counts = []
    for true in axis.values:
        counts.append(tuple(pairs.get((true, label), 0) for label in axis.values))
    return Confusion(
        axis=axis.name,
        instrument=instrument,
        truth=truth,
        values=axis.values,
        counts=tuple(counts),
        missing=missing,
    )


def _pairs(
    sets: Iterable[ObservedSet], axis: Axis, instrument: str, truth: str
) -> dict[tuple[str, str], int]:
    """Count the pairs of true value and label (or reason why the label is missing)."""
    pairs: Counter[tuple[str, str]] = Counter()
    for observed in sets:
        true_values = observed.values[truth][axis.name]
        labels = observed.values[instrument][axis.name]
        for true, label in zip(true_values, labels, strict=True):
            if not isinstance(true, Missing):
                pairs[true, label.reason if isinstance(label, Missing) else label] += 1
    return dict(sorted(pairs.items()))


def confusions(
    prompts: Sequence[PromptPlan],
    sets: Mapping[str, Sequence[ObservedSet]],
    instruments: Sequence[str],
) -> tuple[Confusion, ...]:
    """Compare each instrument's labels with the first set of human labels, on axes with both.

    The result is empty if there are no human labels.
    """
    truth = next(filter(is_by_people, instruments), None)
    if truth is None:
        return ()
    all_sets = [observed for of_prompt in sets.values() for observed in of_prompt]
    entries = []
    for name in instruments:
        if is_by_people(name):
            continue
        for axis in closed_axes(prompts).values():
            asked = [observed for observed in all_sets if axis.name in observed.values[name]]
            entries.append(confusion(asked, axis, instrument=name, truth=truth))
    return tuple(entry for entry in entries if entry.table.any())


def sampled_errors(
    entries: Iterable[Confusion],
    axes: Mapping[str, Axis],
    sets: Iterable[ObservedSet],
    instruments: Mapping[str, VQA],
) -> Errors:
    """Estimate the instruments' errors from human labels for a sample of the images.

    Parameters
    ----------
    entries
        Comparisons of instruments with human labels, one per axis.
    axes
        Axes by name.
    sets
        All image sets.
    instruments
        Instruments by name.
    """
    all_sets = list(sets)
    errors = {}
    for entry in entries:
        people = instruments[entry.truth]
        if not isinstance(people, SampledLabels):
            continue
        labels = _labels_by_image(all_sets, entry.instrument, entry.axis)
        counts = people.labeling_errors(axes[entry.axis], labels)
        if counts is not None:
            errors[entry.instrument, entry.axis] = counts
    return errors


def _labels_by_image(
    sets: Iterable[ObservedSet], instrument: str, axis: str
) -> dict[str, str | Missing]:
    labels: dict[str, str | Missing] = {}
    for observed in sets:
        column = observed.values[instrument].get(axis, ())
        for picture, label in zip(observed.pictures, column, strict=False):
            if isinstance(picture, Picture):
                labels[picture.id] = label
    return labels


def instrument_errors(
    prompts: Sequence[PromptPlan],
    instruments: Mapping[str, VQA],
    sets: Mapping[str, Sequence[ObservedSet]],
    entries: Iterable[Confusion],
) -> Errors:
    """Return instruments' error counts: measured counts or, if there are none, reported counts.

    Parameters
    ----------
    prompts
        Prompts of the plan.
    instruments
        Instruments by name.
    sets
        Image sets by prompt.
    entries
        Comparisons of instruments with human labels of these image sets.
    """
    comparisons = list(entries)
    all_sets = [observed for of_prompt in sets.values() for observed in of_prompt]
    measured = {(entry.instrument, entry.axis): entry.table for entry in comparisons}
    return {
        **calibrations(prompts, instruments),
        **measured,
        **sampled_errors(comparisons, closed_axes(prompts), all_sets, instruments),
    }


def calibrations(prompts: Sequence[PromptPlan], instruments: Mapping[str, VQA]) -> Errors:
    """Return the error counts that instruments report."""
    axes = closed_axes(prompts).values()
    errors: dict[tuple[str, str], NDArray[np.int64]] = {}
    for name, vqa in instruments.items():
        errors |= calibration(name, vqa, axes)
    return errors


def calibration(name: str, instrument: object, axes: Iterable[Axis]) -> Errors:
    """Return an instrument's own error counts on the axes; empty if it reports none.

    Parameters
    ----------
    name
        Name of the instrument.
    instrument
        Instrument, which may or may not report error counts.
    axes
        The axes.
    """
    if not isinstance(instrument, CalibratedInstrument):
        return {}
    errors = {}
    for axis in axes:
        counts = instrument.known_errors(axis)
        if counts is not None:
            errors[name, axis.name] = counts
    return errors


def closed_axes(prompts: Sequence[PromptPlan]) -> dict[str, Axis]:
    """Return the prompts' axes that have known values, keyed by name."""
    return {axis.name: axis.axis() for prompt in prompts for axis in prompt.closed}
