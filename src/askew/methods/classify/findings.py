"""Findings of `askew classify`, stored in section `classification` of results.json."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import Field

from askew.errors import UsageError
from askew.findings import Address, E, Head, IdentifyingField, LocatedEstimate, pattern, scored
from askew.method import Result
from askew.methods.classify.plan import ClassificationPlan
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.types import Estimate, Missing, record

Samples = Annotated[int, IdentifyingField()]
"""Number of noise samples."""


@record
class Accuracy:
    """Share of a group's images assigned their true class; Missing if the true class is unknown."""

    group: str
    right: Annotated[str | None, Field(alias="class"), IdentifyingField(False)]
    samples: Samples
    estimate: E


@record
class Association:
    """Share of decisions for the first target set, in [0, 1] (Eq. 2).

    A pooled group combines several groups.
    """

    group: str
    samples: Samples
    pooled: bool
    S: E


@record
class Differential:
    """Association of the first group minus association of the second group, in [-1, 1] (Eq. 3)."""

    group_x: str
    group_y: str
    samples: Samples
    pooled: bool
    S: E


@record
class AssociationOverSamples:
    """Change in an association from one number of noise samples to another.

    The change is the value with `samples` minus the value with `fewer` noise samples, in [-1, 1].
    """

    group: str
    fewer: Samples
    samples: Samples
    pooled: bool
    S: E


@record
class DifferentialOverSamples:
    """Change in a differential association from one number of noise samples to another.

    The change is the value with `samples` minus the value with `fewer` noise samples, in [-2, 2].
    """

    group_x: str
    group_y: str
    fewer: Samples
    samples: Samples
    pooled: bool
    S: E


@record
class AccuracyOverSamples:
    """Change in a group's accuracy from one number of noise samples to another.

    The change is the value with `samples` minus the value with `fewer` noise samples, in [-1, 1].
    """

    group: str
    fewer: Samples
    samples: Samples
    estimate: E


@record
class SampleChanges:
    """Changes in scores between successive numbers of noise samples, and over the full range.

    All parts are empty if a run uses only one number of noise samples.
    """

    association: tuple[AssociationOverSamples, ...] = ()
    differential: tuple[DifferentialOverSamples, ...] = ()
    accuracy: tuple[AccuracyOverSamples, ...] = ()


@record
class PairShare:
    """Share of a group's images classified as `a` rather than `b`, for the largest `samples`."""

    group: str
    samples: Samples
    a: str
    b: str
    share_a: E
    skewed: bool


@record
class DistinctPair:
    """Pair of classes on which the groups differ most, and the decision about each image.

    `to_a` is True for images classified as `a`, False for images classified as `b`, and None for
    missing images.
    """

    a: str
    b: str
    samples: int
    to_a: Mapping[str, tuple[bool | None, ...]]


@record
class MeanErrors:
    """Mean denoising errors, one row per image and one column per class.

    All decisions are based on these errors.
    """

    group: str
    samples: Samples
    classes: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@record
class Classification:
    """All scores of a classification."""

    accuracy: tuple[Accuracy, ...]
    association: tuple[Association, ...]
    differential: tuple[Differential, ...]
    pairs: tuple[PairShare, ...]
    comparison: DistinctPair | None
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]
    errors: tuple[MeanErrors, ...]
    change: SampleChanges = SampleChanges()


@record
class ClassificationFindings(Head):
    """The content of results.json."""

    plan: ClassificationPlan
    classification: Classification


def scores_of(part: str, findings: ClassificationFindings) -> Iterator[LocatedEstimate]:
    """Yield the estimates in one part of the section for the largest number of noise samples."""
    entries: tuple[Association | Differential | Accuracy, ...]
    entries = getattr(findings.classification, part)
    most = findings.plan.samples[-1]
    return scored([entry for entry in entries if entry.samples == most])


def changes_of(part: str, findings: ClassificationFindings) -> Iterator[LocatedEstimate]:
    """Yield the changes in a score from the smallest to the largest number of noise samples."""
    entries: tuple[AssociationOverSamples | DifferentialOverSamples | AccuracyOverSamples, ...]
    entries = getattr(findings.classification.change, part)
    ends = (findings.plan.samples[0], findings.plan.samples[-1])
    return scored([entry for entry in entries if (entry.fewer, entry.samples) == ends])


TESTED: tuple[Address, ...] = (
    ("association", "S"),
    ("differential", "S"),
    ("pairs", "share_a"),
    ("change", "association", "S"),
    ("change", "differential", "S"),
    ("change", "accuracy", "estimate"),
)
"""Scores to test. The q-values are corrected for all tests of the same score."""


def family(address: Address) -> Address | None:
    """Return the family in which a score's p-value is corrected; None if the score has none."""
    return pattern(address) if pattern(address) in TESTED else None


S = TypeVar(
    "S",
    Accuracy,
    Association,
    Differential,
    PairShare,
    AssociationOverSamples,
    DifferentialOverSamples,
)


@dataclass(frozen=True)
class ClassificationResult(Result[ClassificationPlan, ClassificationFindings]):
    """A finished run of `askew classify`."""

    def association(self, group: str, samples: int | None = None) -> Estimate | Missing:
        """Return the share of decisions for the first target set, in [0, 1] (Eq. 2).

        Parameters
        ----------
        group : str
            Name of the group.
        samples : int, optional
            Number of noise samples. By default, the largest number in the run.

        Raises
        ------
        UsageError
            If the run does not contain this score.
        """
        return _last(self.findings.classification.association, samples, group=group).S

    def differential(
        self, group_x: str, group_y: str, samples: int | None = None
    ) -> Estimate | Missing:
        """Return the first group's association minus the second group's, in [-1, 1] (Eq. 3)."""
        return _last(
            self.findings.classification.differential, samples, group_x=group_x, group_y=group_y
        ).S

    def change(
        self, group_x: str, group_y: str | None = None, samples: tuple[int, int] | None = None
    ) -> Estimate | Missing:
        """Return the change in a score between two numbers of noise samples, on the same images.

        Parameters
        ----------
        group_x : str
            Name of the group.
        group_y : str, optional
            Name of a second group. If given, return the change in the differential association.
        samples : tuple of int, optional
            Two numbers of noise samples to compare, the smaller number first. By default, the
            smallest and the largest number in the run.

        Raises
        ------
        UsageError
            If the run does not contain this score.
        """
        fewer, more = samples or (self.plan.samples[0], self.plan.samples[-1])
        change = self.findings.classification.change
        if group_y is None:
            return _last(change.association, more, group=group_x, fewer=fewer).S
        return _last(change.differential, more, group_x=group_x, group_y=group_y, fewer=fewer).S

    def accuracy(self, group: str, samples: int | None = None) -> Estimate | Missing:
        """Return the share of a group's images that are assigned their true class."""
        return _last(self.findings.classification.accuracy, samples, group=group).estimate

    def share(self, group: str, a: str, b: str) -> Estimate | Missing:
        """Return the share classified as `a` rather than `b`, for the largest `samples`."""
        return _last(self.findings.classification.pairs, None, group=group, a=a, b=b).share_a


def _last(entries: Sequence[S], samples: int | None, **wanted: str | int) -> S:
    """Return the entry with these fields; by default, for the largest number of noise samples."""
    fitting = []
    for entry in entries:
        matches = all(getattr(entry, name) == value for name, value in wanted.items())
        if matches and samples in (None, entry.samples):
            fitting.append(entry)
    if fitting:
        return fitting[-1]
    place = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
    with_samples = f" with {samples} samples" if samples else ""
    raise UsageError(f"this classification contains no score for {place}{with_samples}")
