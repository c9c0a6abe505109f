"""Findings of `askew compare`: differences of scores, and the differences of runs on an axis."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from askew import findings
from askew.conditions import Scores
from askew.findings import E, LocatedEstimate
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.stats.significance import is_significant
from askew.types import Estimate, Missing, grouped, record

OF_SETS = ("share", "distance")
"""Scores of one picture set; the others are of an axis."""

WHERE = ("prompt", "axis", "set", "value", "instrument")
"""What tells one score of a run from another."""


@record
class ScoreDifference:
    """A score of the second run less that of the first, read by an instrument: of an axis (mad,
    cas) or of a set.
    """

    score: str
    prompt: str
    axis: str
    set: str | None
    value: str | None
    instrument: str
    runs: tuple[str, str]
    difference: E

    @property
    def of_prompt(self) -> bool:
        """Whether the pictures are a prompt's own or a condition's, not counterfactuals of the
        axis.
        """
        return self.set is None or not self.set.startswith(f"{self.axis}: ")

    def turned(self) -> Self:
        """The same with the two runs in the other order."""
        d = self.difference
        runs = self.runs[::-1]
        if isinstance(d, Missing) or d.low is None or d.high is None:
            return replace(self, runs=runs)
        turned = replace(
            d, value=0.0 - d.value, low=0.0 - d.high, high=0.0 - d.low, debiased=0.0 - d.mark
        )
        return replace(self, runs=runs, difference=turned)


def scored(
    entries: Iterable[ScoreDifference], score: str | None = None
) -> Iterator[LocatedEstimate]:
    """Every difference that there is, or those of one score, with what it is about: "model" is "B
    less A".
    """
    for k, e in enumerate(entries):
        if isinstance(e.difference, Estimate) and score in (None, e.score):
            names = {name: text for name in WHERE if (text := getattr(e, name)) is not None}
            names["model"] = f"{e.runs[1]} less {e.runs[0]}"
            yield LocatedEstimate(e.score, (k, "difference"), names, e.difference)


SCORES: Scores = {name: partial(scored, score=name) for name in ("mad", "cas", "share", "distance")}
"""What --fail-if can name."""


RunPair = tuple[str, str]
"""The names of two runs (A, B); differences are those of B less A."""

Key = tuple[str | None, ...]
"""A score's name, and `WHERE` it stands in a run; the instrument is that of shares."""


@dataclass(frozen=True, slots=True)
class AxisDifference:
    """What differs between two runs on one axis of one picture set.

    lean            of MAD where there are counterfactuals, else of the distance from the ideal
    share           of the value whose share differs most
    differs         the verdict: whether any share does so beyond chance; where there is none, MAD
    read_by_others  whether other instruments read these shares, too, which the verdict does not look at
    """

    prompt: str
    axis: str
    set: str
    lean: ScoreDifference | None
    share: ScoreDifference | None
    differs: bool
    read_by_others: bool

    @property
    def size(self) -> float:
        """The share's difference, else the lean's as a share of the largest one possible; -1 if
        neither is known.
        """
        known = (
            one.difference
            for one in (self.share, self.lean)
            if one and isinstance(one.difference, Estimate)
        )
        return next((abs(one.value) / (one.max or 1.0) for one in known), -1.0)


def changes(entries: Sequence[ScoreDifference], pair: RunPair) -> list[AxisDifference]:
    """What differs between two runs, by prompt, axis and set: beyond chance first, then by size."""
    found = []
    of_pair = (one for one in entries if one.runs == pair)
    for (prompt, axis), own in grouped(of_pair, lambda one: (one.prompt, one.axis)).items():
        for name in dict.fromkeys(e.set or "initial" for e in own if e.of_prompt):
            of_set = [e for e in own if e.set == name]
            spread = [e for e in own if e.score == "mad"] if name == "initial" else []
            leans = spread or [e for e in of_set if e.score == "distance"]
            read = [e for e in of_set if e.score == "share"]
            shares = [e for e in read if e.instrument == of_set[0].instrument]
            known = [(e, e.difference.value) for e in shares if isinstance(e.difference, Estimate)]
            # of shares that differ as much, the first that grows
            largest = (
                max(known, key=lambda item: (abs(item[1]), item[1] > 0))[0]
                if known
                else next(iter(shares), None)
            )
            differs = any(is_significant(e.difference) for e in shares or leans[:1])
            lean = next(iter(leans), None)
            others = len(read) > len(shares)
            found.append(AxisDifference(prompt, axis, name, lean, largest, differs, others))
    return sorted(found, key=lambda change: (not change.differs, -change.size))


def own_scores(found: AuditFindings) -> Mapping[Key, Estimate]:
    """A run's scores by what identifies them."""
    return {
        ("share" if one.score == "shares" else one.score, *map(one.names.get, WHERE)): one.estimate
        for one in findings.scored(found)
    }


def key(entry: ScoreDifference) -> Key:
    """Of the scores that a difference is of. Scores of TIBET have one instrument, so it need not be
    told.
    """
    return (
        entry.score,
        *(getattr(entry, name) for name in WHERE[:-1]),
        entry.instrument if entry.set else None,
    )


@dataclass(frozen=True)
class ComparisonFindings:
    """Differences between runs, and the runs.

    Attributes
    ----------
    folder
        Folder of the comparison.
    runs
        The compared runs by name.
    entries
        The differences, in the order of comparison.json.
    warnings
        What limits the comparison, in sentences.
    """

    folder: Path
    runs: Mapping[str, AuditResult]
    entries: tuple[ScoreDifference, ...]
    warnings: Sequence[str]
