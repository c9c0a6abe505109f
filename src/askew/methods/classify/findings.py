"""What `askew classify` finds; section `classification` of results.json."""

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

Samples = Annotated[int, IdentifyingField()]  # of noise, by which classes were told apart


@record
class Accuracy:
    """The share of a group's pictures that are given to the right class, which `estimate` is
    Missing without.
    """

    group: str
    right: Annotated[str | None, Field(alias="class"), IdentifyingField(False)]
    samples: Samples
    estimate: E


@record
class Association:
    """S of Eq. 2: the share of decisions for the first target set, in [0, 1]. A pooled group holds
    several others.
    """

    group: str
    samples: Samples
    pooled: bool
    S: E


@record
class Differential:
    """S of Eq. 3: the association of the first group less that of the second, in [-1, 1]."""

    group_x: str
    group_y: str
    samples: Samples
    pooled: bool
    S: E


@record
class PairShare:
    """The share of a group's pictures that are taken for `a` rather than `b`, with most noise
    samples.
    """

    group: str
    samples: Samples
    a: str
    b: str
    share_a: E
    skewed: bool


@record
class DistinctPair:
    """The pair of classes between which the groups differ most; by group whether each picture went
    to its first one.
    """

    a: str
    b: str
    samples: int
    to_a: Mapping[str, tuple[bool | None, ...]]


@record
class MeanErrors:
    """Of every picture (rows) and class the mean error, of which all decisions follow."""

    group: str
    samples: Samples
    classes: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@record
class Classification:
    """Everything about decisions."""

    accuracy: tuple[Accuracy, ...]
    association: tuple[Association, ...]
    differential: tuple[Differential, ...]
    pairs: tuple[PairShare, ...]
    comparison: DistinctPair | None
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]
    errors: tuple[MeanErrors, ...]


@record
class ClassificationFindings(Head):
    """The content of results.json."""

    plan: ClassificationPlan
    classification: Classification


def scores_of(part: str, found: ClassificationFindings) -> Iterator[LocatedEstimate]:
    """The estimates of a part of the section, with most noise samples."""
    entries: tuple[Association | Differential | Accuracy, ...] = getattr(found.classification, part)
    return scored([one for one in entries if one.samples == found.plan.samples[-1]])


def family(at: Address) -> Address | None:
    """Tests that are adjusted together: those of one score."""
    tested = (("association", "S"), ("differential", "S"), ("pairs", "share_a"))
    return pattern(at) if pattern(at) in tested else None


S = TypeVar("S", Accuracy, Association, Differential, PairShare)


@dataclass(frozen=True)
class ClassificationResult(Result[ClassificationPlan, ClassificationFindings]):
    """A finished run of `askew classify`."""

    def association(self, group: str, samples: int | None = None) -> Estimate | Missing:
        """S of Eq. 2: the share of decisions about a group's pictures for the first target set, in
        [0, 1].

        `samples` None means the most noise samples. Raises UsageError for what was not measured.
        """
        return _last(self.findings.classification.association, samples, group=group).S

    def differential(
        self, group_x: str, group_y: str, samples: int | None = None
    ) -> Estimate | Missing:
        """S of Eq. 3: the first group's association less the second's, in [-1, 1]; otherwise as
        `association`.
        """
        return _last(
            self.findings.classification.differential, samples, group_x=group_x, group_y=group_y
        ).S

    def accuracy(self, group: str, samples: int | None = None) -> Estimate | Missing:
        """The share of a group's pictures that are given to the right class; otherwise as
        `association`.
        """
        return _last(self.findings.classification.accuracy, samples, group=group).estimate

    def share(self, group: str, a: str, b: str) -> Estimate | Missing:
        """The share of a group's pictures that are taken for `a` rather than `b`, with the most
        noise samples.
        """
        return _last(self.findings.classification.pairs, None, group=group, a=a, b=b).share_a


def _last(entries: Sequence[S], samples: int | None, **wanted: str) -> S:
    """The entry of what is wanted with so many noise samples, or with most."""
    found = [
        one for one in entries if all(getattr(one, name) == value for name, value in wanted.items())
    ]
    fitting = [one for one in found if samples in (None, one.samples)]
    if fitting:
        return fitting[-1]
    told = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
    raise UsageError(
        f"this classification measured nothing of {told}{f' with {samples} samples' if samples else ''}"
    )
