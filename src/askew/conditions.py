"""Conditions on findings, for use in a pipeline of checks: --fail-if "mad.corrected > 0.3"."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from askew.errors import CheckFailed, UsageError
from askew.findings import Head, LocatedEstimate, score_names, scored

FIELDS = ("value", "low", "high", "corrected", "null", "p", "q", "n", "missing")
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}

Scores = Mapping[str, Callable[..., Iterator[LocatedEstimate]]]
"""By the name of a score, where it stands in findings."""

_FORM = re.compile(
    r"\s*(?:(?P<where>.+?)\s*:\s*)?(?P<score>\w+)(?:\.(?P<field>\w+))?"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})\s*(?P<number>[-+.\deE]+)\s*"
)


def every(kind: type[Head]) -> Scores:
    """Every estimate that findings of a kind can hold, by the name of its field."""
    return {name: partial(of, name) for name in score_names(kind)}


def of(name: str, found: object) -> Iterator[LocatedEstimate]:
    """The estimates of a field, wherever it stands."""
    return (one for one in scored(found) if one.score == name)


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound on a field of a score, wherever it was measured, or in one place: an axis, a group, a
    set of targets.
    """

    where: str | None
    score: str
    field: str
    operator: str
    number: float
    find: Callable[[object], Iterator[LocatedEstimate]]

    def violations(self, found: object) -> list[str]:
        """Where the condition holds, in words."""

        compare = OPERATORS[self.operator]
        lines = []
        for one in filter(self.meant, self.find(found)):
            value = getattr(one.estimate, self.field)
            if value is not None and compare(value, self.number):
                lines.append(f"{place(one)}: {self.score}.{self.field} is {value:.3g}")
        return lines

    def meant(self, one: LocatedEstimate) -> bool:
        """Whether an estimate is about the condition's place."""
        return self.where is None or _plain(self.where) in map(_plain, one.names.values())


def check(conditions: Sequence[Condition], found: object, result: object = None) -> None:
    """Raises CheckFailed that tells where one of the conditions holds, with the result that holds
    what was found.

    Raises UsageError for a condition about something of which nothing was found, such as a misspelt
    axis.
    """
    for condition in conditions:
        there = [*scored(found), *condition.find(found)]
        if condition.where is not None and not any(map(condition.meant, there)):
            names = sorted(
                {
                    name
                    for one in there
                    for kind, name in one.names.items()
                    if kind != "prompt" and name
                }
            )
            raise UsageError(
                f"no score of this run is about {condition.where!r}, which a condition of --fail-if names; "
                f"there are scores of: {', '.join(names) or 'nothing'}"
            )
    failed = [line for condition in conditions for line in condition.violations(found)]
    if failed:
        raise CheckFailed("a condition given by --fail-if holds: " + "; ".join(failed), result)


def parse(texts: str | Sequence[str] | None, scores: Scores) -> list[Condition]:
    """Conditions such as "mad.corrected > 0.3" or "gender: distance.q < 0.05". Raises UsageError."""
    return [_parse(text, scores) for text in ([texts] if isinstance(texts, str) else texts or ())]


def place(one: LocatedEstimate) -> str:
    """What an estimate is about, in words: its prompt quoted, then the other names."""
    prompt = one.names.get("prompt")
    told = {
        name: text
        for name, text in one.names.items()
        if name not in ("prompt", "set", "kind", "instrument") and text
    }
    others = [f"{name} {text}" if text[0].isdigit() else text for name, text in told.items()]
    return ", ".join([*([repr(prompt)] if prompt else []), *others]) or "all of the run"


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()


def _parse(text: str, scores: Scores) -> Condition:
    match = _FORM.fullmatch(text)
    if match is None:
        first = next(iter(scores), "score")
        raise UsageError(
            f'cannot read the condition {text!r}; write, for example: "{first}.value > 0.3" '
            f'or "gender: {first}.q < 0.05"'
        )
    score = match["score"]
    field = match["field"] or "value"
    for what, name, known in (("score", score, scores), ("field", field, FIELDS)):
        if name not in known:
            raise UsageError(
                f"the condition {text!r} names an unknown {what} {name!r}; known: {', '.join(known)}"
            )
    try:
        number = float(match["number"])
    except ValueError as error:
        raise UsageError(
            f"the condition {text!r} compares with {match['number']!r}, which is no number"
        ) from error
    return Condition(match["where"], score, field, match["operator"], number, scores[score])
