"""Conditions on results, for use in a pipeline of checks: --fail-if "mad.corrected > 0.3"."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from askew.errors import UsageError

SCORES = ("mad", "mad_clip", "distance")
FIELDS = ("value", "low", "high", "corrected", "null", "p", "q", "n", "missing")
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}

_FORM = re.compile(
    r"\s*(?:(?P<axis>[\w -]+?)\s*:\s*)?(?P<score>\w+)(?:\.(?P<field>\w+))?"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})\s*(?P<number>[-+.\deE]+)\s*"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound on a field of a score, on one axis or on all."""

    text: str
    axis: str | None
    score: str
    field: str
    operator: str
    number: float

    def violations(self, results: Mapping[str, Any]) -> list[str]:
        """Where the condition holds, in words."""
        compare = OPERATORS[self.operator]
        return [
            f"{prompt!r}, {axis}: {self.score}.{self.field} is {estimate[self.field]:.3g}"
            for prompt, axis, estimate in self._estimates(results)
            if estimate.get(self.field) is not None and compare(estimate[self.field], self.number)
        ]

    def _estimates(self, results: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        if self.score == "distance":
            found = ((e["prompt"], e["axis"], e["distance"]) for e in results["shares"] if e["set"] == "initial")
        else:
            found = ((e["prompt"], a, s[self.score]) for e in results["tibet"] for a, s in e["axes"].items())
        return ((p, a, e) for p, a, e in found if e and self.axis in (None, a))


def parse_condition(text: str) -> Condition:
    """A condition such as "mad.corrected > 0.3" or "gender: distance.q < 0.05". Raises UsageError."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"cannot read the condition {text!r}; write, for example: \"mad.corrected > 0.3\" "
                         "or \"gender: distance.q < 0.05\"")  # fmt: skip
    score, field = match["score"], match["field"] or "value"
    for what, name, known in (("score", score, SCORES), ("field", field, FIELDS)):
        if name not in known:
            raise UsageError(f"the condition {text!r} names an unknown {what} {name!r}; known: {', '.join(known)}")
    try:
        number = float(match["number"])
    except ValueError as error:
        raise UsageError(f"the condition {text!r} compares with {match['number']!r}, which is no number") from error
    axis = match["axis"].replace(" ", "_") if match["axis"] else None
    return Condition(text, axis, score, field, match["operator"], number)
