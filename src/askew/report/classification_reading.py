"""Reading the results of a classification: which numbers are the main ones, and in which order they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from askew.report.formatting import Record, plural, shorten
from askew.report.reading import Reading, is_estimate

DENOISING = "denoising"
LEAST_PLANTED = 0.1


@dataclass(frozen=True)
class ClassificationReading(Reading):
    """The results of one classification."""

    @cached_property
    def section(self) -> Record:
        section: Record = self.results["classification"]
        return section

    @cached_property
    def sets(self) -> tuple[str, str]:
        """The names of the two target sets."""
        first, second = self.plan["targets"]
        return str(first), str(second)

    @cached_property
    def groups(self) -> list[str]:
        """The groups, and after them those that were pooled."""
        return list(dict.fromkeys(str(entry["group"]) for entry in self.section["association"]))

    @cached_property
    def pooled(self) -> set[str]:
        """Groups that hold several others."""
        return {str(entry["group"]) for entry in self.section["association"] if entry["pooled"]}

    @cached_property
    def columns(self) -> list[tuple[str, int | None]]:
        """Every classifier with every number of noise samples."""
        return list(dict.fromkeys((e["classifier"], e["samples"]) for e in self.section["association"]))

    @cached_property
    def most(self) -> int:
        """The largest number of noise samples."""
        return max(int(samples) for _, samples in self.columns if samples is not None)

    @cached_property
    def main(self) -> Record | None:
        """The differential association of the pooled groups, else of the first two, with most noise samples."""
        found = [e for e in self.section["differential"] if (e["classifier"], e["samples"]) == (DENOISING, self.most)]
        return next((e for e in found if e["pooled"]), found[0] if found else None)

    def association(self, group: str, column: tuple[str, int | None]) -> Record:
        """The association of one group by one classifier."""
        return self._one("association", group, column)["S"]  # type: ignore[no-any-return]

    def accuracy(self, group: str, column: tuple[str, int | None]) -> Record | None:
        """The accuracy on one group by one classifier; None if none was asked for."""
        entry = self._one("accuracy", group, column)
        return entry["estimate"] if entry else None

    def truths(self) -> list[Record]:
        """Planted and measured differences, by the denoising error with most samples, the largest planted one first.

        Groups between which hardly anything was planted are left out, unless nothing was planted at all.
        """
        wanted = (DENOISING, self.most)
        found = [e for e in self.section["truth"] if (e["classifier"], e["samples"]) == wanted]
        found.sort(key=lambda e: -abs(e["planted"]))
        return [e for e in found if abs(e["planted"]) >= LEAST_PLANTED] or found[:1]

    def truths_by_samples(self) -> list[Record]:
        """The same two groups' entries by every classifier and number of noise samples, in the order of the columns."""
        shown = [(e["group_x"], e["group_y"]) for e in self.truths()]
        known = (e for e in self.section["truth"] if is_estimate(e["recovered"]))
        return sorted(
            (e for e in known if (e["group_x"], e["group_y"]) in shown),
            key=lambda e: shown.index((e["group_x"], e["group_y"])),
        )

    def effect(self, score: str, group_x: str, group_y: str | None = None) -> Record | None:
        """What more noise samples change in a score."""
        for entry in self.section["samples_effect"]:
            if (entry["score"], entry["group_x"], entry["group_y"]) == (score, group_x, group_y):
                found: Record = entry
                return found
        return None

    def skewed_pairs(self, group: str) -> list[Record]:
        """The pairs of which one class gets most of a group's pictures, by the denoising error."""
        pairs = self.section["pairs"]
        return [e for e in pairs if e["group"] == group and e["classifier"] == DENOISING and e["skewed"]]

    def _one(self, part: str, group: str, column: tuple[str, int | None]) -> Record:
        wanted = (group, *column)
        found = (e for e in self.section[part] if (e["group"], e["classifier"], e["samples"]) == wanted)
        nothing: Mapping[str, object] = {}
        return next(found, nothing)


def column_label(column: tuple[str, int | None]) -> str:
    """A classifier in words: "10 samples", or the embedder's name."""
    classifier, samples = column
    return (
        shorten(f"{classifier} embedder" if classifier == "studio" else classifier, 40)
        if samples is None
        else (plural(samples, "sample"))
    )
