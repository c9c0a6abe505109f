"""What a classification found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import RenderableType

from askew.errors import UsageError
from askew.plans.classification import ClassificationPlan
from askew.report.classification_page import write_classification
from askew.report.classification_table import classification_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.types import Estimate, Missing

DENOISING = "denoising"


@dataclass(frozen=True)
class ClassificationResult(RunResult):
    """A classification's plan, its run folder, and the store that holds its pictures."""

    plan: ClassificationPlan

    def association(self, group: str, samples: int | None = None, classifier: str = DENOISING) -> Estimate | Missing:
        """S of Eq. 2: the share of decisions about a group's pictures for the first target set, in [0, 1].

        `samples` None means the most noise samples. Raises UsageError for what was not measured.
        """
        return self._estimate("association", "S", samples, classifier, group=group)

    def differential(
        self, group_x: str, group_y: str, samples: int | None = None, classifier: str = DENOISING
    ) -> Estimate | Missing:
        """S of Eq. 3: the first group's association less the second's, in [-1, 1]; otherwise as `association`."""
        return self._estimate("differential", "S", samples, classifier, group_x=group_x, group_y=group_y)

    def accuracy(self, group: str, samples: int | None = None, classifier: str = DENOISING) -> Estimate | Missing:
        """The share of a group's pictures that are given to the right class; otherwise as `association`."""
        return self._estimate("accuracy", "estimate", samples, classifier, group=group)

    def share(self, group: str, a: str, b: str) -> Estimate | Missing:
        """The share of a group's pictures that are taken for `a` rather than `b`, with the most noise samples."""
        return self._estimate("pairs", "share_a", None, DENOISING, group=group, a=a, b=b)

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return classification_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_classification(self.results, self.open_picture, self.report)

    def _estimate(self, part: str, key: str, samples: int | None, classifier: str, **names: str) -> Estimate | Missing:
        wanted: dict[str, Any] = {**names, "classifier": classifier}
        if samples is not None:
            wanted["samples"] = samples
        found = [e for e in self.results["classification"][part] if all(e[n] == value for n, value in wanted.items())]
        if not found:
            sought = ", ".join(f"{name} {value!r}" for name, value in wanted.items())
            raise UsageError(f"this classification has no {part} with {sought}")
        return estimate_of(cast("Mapping[str, Any]", found[-1][key]))
