"""What a classification found, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from askew.errors import UsageError
from askew.method import Result
from askew.methods.classify.decisions import DENOISING
from askew.methods.classify.findings import Classification, ClassificationFindings
from askew.methods.classify.plan import ClassificationPlan
from askew.types import Estimate, Missing


class _Sampled(Protocol):
    @property
    def samples(self) -> int | None: ...


S = TypeVar("S", bound=_Sampled)


@dataclass(frozen=True)
class ClassificationResult(Result[ClassificationPlan, ClassificationFindings]):
    """A finished run of `askew classify`."""

    def association(self, group: str, samples: int | None = None, classifier: str = DENOISING) -> Estimate | Missing:
        """S of Eq. 2: the share of decisions about a group's pictures for the first target set, in [0, 1].

        `samples` None means the most noise samples. Raises UsageError for what was not measured.
        """
        found = [one for one in self._found.association if (one.group, one.classifier) == (group, classifier)]
        return _last(found, samples, f"association of {group!r} by {classifier}").S

    def differential(
        self, group_x: str, group_y: str, samples: int | None = None, classifier: str = DENOISING
    ) -> Estimate | Missing:
        """S of Eq. 3: the first group's association less the second's, in [-1, 1]; otherwise as `association`."""
        wanted = (group_x, group_y, classifier)
        found = [one for one in self._found.differential if (one.group_x, one.group_y, one.classifier) == wanted]
        return _last(found, samples, f"difference of {group_x!r} less {group_y!r} by {classifier}").S

    def accuracy(self, group: str, samples: int | None = None, classifier: str = DENOISING) -> Estimate | Missing:
        """The share of a group's pictures that are given to the right class; otherwise as `association`."""
        found = [one for one in self._found.accuracy if (one.group, one.classifier) == (group, classifier)]
        return _last(found, samples, f"accuracy on {group!r} by {classifier}").estimate

    def share(self, group: str, a: str, b: str) -> Estimate | Missing:
        """The share of a group's pictures that are taken for `a` rather than `b`, with the most noise samples."""
        wanted = (group, a, b, DENOISING)
        found = [one for one in self._found.pairs if (one.group, one.a, one.b, one.classifier) == wanted]
        return _last(found, None, f"share of {a!r} against {b!r} for {group!r}").share_a

    @property
    def _found(self) -> Classification:
        return self.found.classification


def _last(found: Sequence[S], samples: int | None, what: str) -> S:
    """The entry with so many noise samples, or with most."""
    fitting = [one for one in found if samples in (None, one.samples)]
    if not fitting:
        raise UsageError(f"this classification has no {what}{f' with {samples} samples' if samples else ''}")
    return fitting[-1]
