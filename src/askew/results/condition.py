"""Conditions on results, for use in a pipeline of checks: --fail-if "mad.corrected > 0.3"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from askew.errors import CheckFailed, UsageError

FIELDS = ("value", "low", "high", "corrected", "null", "p", "q", "n", "missing")
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}

Results = Mapping[str, Any]
Found = Iterator[tuple[str, tuple[str, ...], Mapping[str, Any] | None]]
"""Where a score was measured, in words; the names by which a condition picks it; its estimate, if there is one."""

Scores = Mapping[str, Callable[[Results], Found]]
"""By the name of a score, where it stands in results."""

_FORM = re.compile(
    r"\s*(?:(?P<where>.+?)\s*:\s*)?(?P<score>\w+)(?:\.(?P<field>\w+))?"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})\s*(?P<number>[-+.\deE]+)\s*"
)


def _tibet(score: str, results: Results) -> Found:
    return ((f"{e['prompt']!r}, {a}", (a,), s[score]) for e in results["tibet"] for a, s in e["axes"].items())


def _distances(results: Results) -> Found:
    initial = (e for e in results["shares"] if e["set"] == "initial")
    return ((f"{e['prompt']!r}, {e['axis']}", (e["axis"],), e["distance"]) for e in initial)


def _pulls(results: Results) -> Found:
    """Sensitivities of edges between different axes, picked by either axis."""
    for graph in results["biasconnect"]:
        for e in graph["edges"]:
            if e["significant"] and e["source"] != e["target"]:
                where = f"{_about(graph['prompt'])}, {e['source']} on {e['target']}"
                yield where, (e["source"], e["target"]), e["sensitivity"]


def _of_graph(score: str, results: Results) -> Found:
    return ((_about(graph["prompt"]), (), graph[score]) for graph in results["biasconnect"])


def _about(prompt: str | None) -> str:
    return "all prompts together" if prompt is None else repr(prompt)


AUDIT: Scores = {"mad": partial(_tibet, "mad"), "mad_clip": partial(_tibet, "mad_clip"), "distance": _distances}
INTERACTIONS: Scores = {
    "sensitivity": _pulls,
    "amplification": partial(_of_graph, "amplification"),
    "negative_share": partial(_of_graph, "negative_share"),
    "distance": _distances,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound on a field of a score, wherever it was measured or in one place: an axis."""

    text: str
    where: str | None
    score: str
    field: str
    operator: str
    number: float
    find: Callable[[Results], Found]

    def violations(self, results: Results) -> list[str]:
        """Where the condition holds, in words."""
        compare = OPERATORS[self.operator]
        return [
            f"{place}: {self.score}.{self.field} is {estimate[self.field]:.3g}"
            for place, names, estimate in self.find(results)
            if estimate and self._meant(names)
            and estimate.get(self.field) is not None and compare(estimate[self.field], self.number)
        ]  # fmt: skip

    def _meant(self, names: Sequence[str]) -> bool:
        return self.where is None or _plain(self.where) in map(_plain, names)


def parse_condition(text: str, scores: Scores = AUDIT) -> Condition:
    """A condition such as "mad.corrected > 0.3" or "gender: distance.q < 0.05". Raises UsageError."""
    match = _FORM.fullmatch(text)
    if match is None:
        first = next(iter(scores))
        raise UsageError(f'cannot read the condition {text!r}; write, for example: "{first}.value > 0.3" '
                         f'or "gender: {first}.q < 0.05"')  # fmt: skip
    score, field = match["score"], match["field"] or "value"
    for what, name, known in (("score", score, scores), ("field", field, FIELDS)):
        if name not in known:
            raise UsageError(f"the condition {text!r} names an unknown {what} {name!r}; known: {', '.join(known)}")
    try:
        number = float(match["number"])
    except ValueError as error:
        raise UsageError(f"the condition {text!r} compares with {match['number']!r}, which is no number") from error
    return Condition(text, match["where"], score, field, match["operator"], number, scores[score])


def check_conditions(conditions: Sequence[Condition], results: Results) -> None:
    """Raises CheckFailed that tells where one of the conditions holds."""
    failed = [line for condition in conditions for line in condition.violations(results)]
    if failed:
        raise CheckFailed("a condition given by --fail-if holds: " + "; ".join(failed))


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()
