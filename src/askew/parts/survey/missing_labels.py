"""Test whether an instrument leaves some sets, prompts or groups unlabeled more often than others.

For example, a face detector more often misses small faces and faces in profile. If these faces are
more frequent for some values, the shares in the labeled images are biased.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.instruments import is_by_people
from askew.parts.survey.missing_pictures import (
    CountsOfSets,
    MissingCount,
    MissingPictures,
    sets_by_axis,
    uneven,
)
from askew.parts.survey.observed import ObservedSet
from askew.types import Missing, Picture, record

PROMPT = "prompt"
"""Name used as the axis of tests that compare the baseline images of all prompts."""

UNASKED = ("not_asked", "copy")
"""Reasons for missing labels that were not requested from the instrument."""


@record
class MissingLabels(MissingPictures):
    """Test of whether labels are missing more often for some groups of images than for others.

    Attributes
    ----------
    instrument : str
        Instrument whose labels are missing.
    labeled : str
        Axis on which labels are missing.
    truth : str or None
        Name of the human labels that define the groups of images to compare. None if image sets or
        prompts are compared.
    """

    instrument: str
    labeled: str
    truth: str | None = None


def missing_labels(
    sets: Mapping[str, Sequence[ObservedSet]], confusions: Iterable[Confusion], scoring: Scoring
) -> tuple[MissingLabels, ...]:
    """Compare missing labels between image sets, prompts, and images with different true values.

    If an instrument labels exactly the same images on several axes, these axes share one entry.
    True values are human labels. Missing human labels are not tested.

    Parameters
    ----------
    sets
        The image sets of each prompt.
    confusions
        Comparisons of instrument labels with human labels.
    scoring
        Seed of the permutations.
    """
    tables = [*_tables_of_sets(sets), *_tables_of_prompts(sets), *_tables_of_people(confusions)]
    return uneven(MissingLabels, _distinct(tables), scoring)


def _tables_of_sets(sets: Mapping[str, Sequence[ObservedSet]]) -> Iterator[CountsOfSets]:
    """Yield tables of counts that compare the image sets of each prompt and axis."""
    for prompt, axis, members in sets_by_axis(sets):
        yield from _tables(prompt, axis, members)


def _tables_of_prompts(sets: Mapping[str, Sequence[ObservedSet]]) -> Iterator[CountsOfSets]:
    """Yield tables of counts that compare the baseline images of all prompts."""
    members = {
        prompt: observed
        for prompt, observed_sets in sets.items()
        for observed in observed_sets
        if observed.prompt.axis is None
    }
    yield from _tables(None, PROMPT, members)


def _tables(
    prompt: str | None, axis: str, members: Mapping[str, ObservedSet]
) -> Iterator[CountsOfSets]:
    """Yield a table for each instrument and each axis that the instrument labels in all sets."""
    first = next(iter(members.values()), None)
    if first is None:
        return
    for instrument, labels in first.values.items():
        if is_by_people(instrument):
            continue
        for labeled in labels:
            if all(labeled in observed.values[instrument] for observed in members.values()):
                counts = {
                    value: _count(observed, instrument, labeled)
                    for value, observed in members.items()
                }
                identifiers = {"prompt": prompt, "axis": axis}
                yield identifiers | {"instrument": instrument, "labeled": labeled}, counts


def _count(observed: ObservedSet, instrument: str, axis: str) -> MissingCount:
    """Count the requested labels and the missing labels for the existing images of a set."""
    labels = [
        label
        for picture, label in zip(observed.pictures, observed.values[instrument][axis], strict=True)
        if isinstance(picture, Picture)
        and not (isinstance(label, Missing) and label.reason in UNASKED)
    ]
    return MissingCount.of(labels)


def _tables_of_people(confusions: Iterable[Confusion]) -> Iterator[CountsOfSets]:
    """Yield tables that count an instrument's missing labels separately for each human label."""
    for entry in confusions:
        counts = {}
        for value, row in zip(entry.values, entry.counts, strict=True):
            reasons = entry.missing.get(value, {})
            missing = sum(number for reason, number in reasons.items() if reason not in UNASKED)
            counts[value] = MissingCount(missing=missing, planned=missing + sum(row))
        identifiers = {"prompt": None, "axis": entry.axis, "instrument": entry.instrument}
        yield identifiers | {"labeled": entry.axis, "truth": entry.truth}, counts


def _distinct(tables: Iterable[CountsOfSets]) -> list[CountsOfSets]:
    """Return the tables, leaving out tables that repeat an earlier table for another axis."""
    distinct: dict[object, CountsOfSets] = {}
    for identifiers, counts in tables:
        others = tuple(text for name, text in identifiers.items() if name != "labeled")
        distinct.setdefault((others, tuple(counts.items())), (identifiers, counts))
    return list(distinct.values())
