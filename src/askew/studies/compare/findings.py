"""What `askew compare` finds; comparison.json is a list of these."""

from __future__ import annotations

from dataclasses import replace

from askew.findings import E
from askew.types import Missing, record

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
