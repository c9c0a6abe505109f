"""What `askew compare` finds; comparison.json is a list of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from askew.conditions import Scores
from askew.findings import E, Scored
from askew.types import Estimate, Missing, record

OF_SETS = ("share", "distance")
"""Scores of one picture set; the others compare the initial set with the counterfactual ones."""


@record
class Difference:
    """One score of the second run less that of the first.

    score       mad, cas, wasserstein, standard_deviation, mad_clip, cas_clip (of an axis), share, distance (of a set)
    instrument  whose answers or vectors it rests on
    """

    score: str
    prompt: str
    axis: str
    set: str | None
    value: str | None
    instrument: str
    runs: tuple[str, str]
    difference: E

    def turned(self) -> Difference:
        """The same with the two runs in the other order."""
        d, runs = self.difference, (self.runs[1], self.runs[0])
        if isinstance(d, Missing) or d.low is None or d.high is None:
            return replace(self, runs=runs)
        turned = replace(d, value=0.0 - d.value, low=0.0 - d.high, high=0.0 - d.low)
        return replace(self, runs=runs, difference=turned)


def scored(entries: Iterable[Difference], score: str | None = None) -> Iterator[Scored]:
    """Every difference that there is, or those of one score, with what it is about: "model" is "B less A"."""
    for k, e in enumerate(entries):
        if isinstance(e.difference, Estimate) and score in (None, e.score):
            a, b = e.runs
            about = {"prompt": e.prompt, "axis": e.axis, "set": e.set, "value": e.value, "model": f"{b} less {a}",
                     "instrument": e.instrument}  # fmt: skip
            names = {name: text for name, text in about.items() if text is not None}
            yield Scored(e.score, (k, "difference"), names, e.difference)


SCORES: Scores = {
    name: partial(scored, score=name)
    for name in ("mad", "cas", "share", "distance", "mad_clip", "cas_clip", "wasserstein", "standard_deviation")
}
"""What --fail-if can name."""
