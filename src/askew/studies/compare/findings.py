"""What `askew compare` finds: comparison.json is a list of differences; those of one axis are a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from askew import findings
from askew.conditions import Scores
from askew.findings import E, Scored
from askew.methods.audit.findings import AuditFindings
from askew.parts.survey.words import exceeds_chance
from askew.types import Estimate, Missing, record

OF_SETS = ("share", "distance")
"""Scores of one picture set; the others compare the initial set with the counterfactual ones."""

WHERE = ("prompt", "axis", "set", "value", "instrument")
"""What tells one score of a run from another."""


@record
class Difference:
    """One score of the second run less that of the first.

    score       mad, cas (of an axis), share, distance (of a set)
    instrument  whose answers it rests on
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
        """Whether the pictures are a prompt's own or a condition's, not counterfactuals of the axis."""
        return self.set is None or not self.set.startswith(f"{self.axis}: ")

    def turned(self) -> Difference:
        """The same with the two runs in the other order."""
        d, runs = self.difference, (self.runs[1], self.runs[0])
        if isinstance(d, Missing) or d.low is None or d.high is None:
            return replace(self, runs=runs)
        turned = replace(d, value=0.0 - d.value, low=0.0 - d.high, high=0.0 - d.low, debiased=0.0 - d.mark)
        return replace(self, runs=runs, difference=turned)


def scored(entries: Iterable[Difference], score: str | None = None) -> Iterator[Scored]:
    """Every difference that there is, or those of one score, with what it is about: "model" is "B less A"."""
    for k, e in enumerate(entries):
        if isinstance(e.difference, Estimate) and score in (None, e.score):
            names = {name: text for name in WHERE if (text := getattr(e, name)) is not None}
            names["model"] = f"{e.runs[1]} less {e.runs[0]}"
            yield Scored(e.score, (k, "difference"), names, e.difference)


SCORES: Scores = {name: partial(scored, score=name) for name in ("mad", "cas", "share", "distance")}
"""What --fail-if can name."""


Pair = tuple[str, str]
"""The names of two runs (A, B); differences are those of B less A."""

Key = tuple[str | None, ...]
"""A score's name, and `WHERE` it stands in a run; the instrument is that of shares."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two runs on one axis of one picture set.

    lean     of the score that says how one-sided the pictures are: MAD where there are counterfactuals, else the
             distance from the ideal
    share    of the value whose share differs most
    differs  the verdict: whether any share does so beyond chance; where there is none, MAD
    """

    prompt: str
    axis: str
    set: str
    lean: Difference | None
    share: Difference | None
    differs: bool

    @property
    def size(self) -> float:
        """The share's difference, else the lean's as a share of the largest one possible; -1 if neither is known."""
        for entry in (self.share, self.lean):
            if entry is not None and isinstance(entry.difference, Estimate):
                return abs(entry.difference.value) / (entry.difference.max or 1.0)
        return -1.0


def changes(entries: Sequence[Difference], pair: Pair) -> list[Change]:
    """What differs between two runs, by prompt, axis and set: beyond chance first, then by size."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for entry in entries:
        if entry.runs == pair:
            groups.setdefault((entry.prompt, entry.axis), []).append(entry)
    found = [
        _change(prompt, axis, name, own)
        for (prompt, axis), own in groups.items()
        for name in dict.fromkeys(e.set or "initial" for e in own)
        if not name.startswith(f"{axis}: ")
    ]
    return sorted(found, key=lambda change: (not change.differs, -change.size))


def own_scores(found: AuditFindings) -> Mapping[Key, Estimate]:
    """A run's scores by what identifies them."""
    return {("share" if one.score == "shares" else one.score, *map(one.names.get, WHERE)): one.estimate
            for one in findings.scored(found)}  # fmt: skip


def key(entry: Difference) -> Key:
    """Of the scores that a difference is of. Scores of TIBET have one instrument, so it need not be told."""
    return entry.score, *(getattr(entry, name) for name in WHERE[:-1]), entry.instrument if entry.set else None


def _change(prompt: str, axis: str, name: str, entries: Sequence[Difference]) -> Change:
    of_set = [e for e in entries if e.set == name]
    spread = [e for e in entries if e.set is None] if name == "initial" else []
    leans = [e for e in spread if e.score == "mad"] or [e for e in of_set if e.score == "distance"]
    shares = [e for e in of_set if e.score == "share" and e.instrument == of_set[0].instrument]
    known = [(e, e.difference.value) for e in shares if isinstance(e.difference, Estimate)]
    # of shares that differ as much, the first that grows
    largest = max(known, key=lambda item: (abs(item[1]), item[1] > 0))[0] if known else next(iter(shares), None)
    differs = any(exceeds_chance(e.difference) for e in shares or leans[:1])
    return Change(prompt, axis, name, leans[0] if leans else None, largest, differs)
