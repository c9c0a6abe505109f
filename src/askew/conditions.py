"""Conditions on results for automated checks, such as --fail-if "mad.corrected > 0.3"."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from askew.errors import CheckFailed, UsageError
from askew.findings import Head, LocatedEstimate, score_names, scored

FIELDS = ("value", "low", "high", "corrected", "null", "p", "q", "n", "missing")
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
UNNAMED = ("prompt", "set", "kind", "instrument")
"""Names that the description of an estimate omits, or formats differently from other names."""

Scores = Mapping[str, Callable[..., Iterator[LocatedEstimate]]]
"""Functions that yield the estimates of a score from findings, keyed by score name.
"""

_FORM = re.compile(
    r"\s*(?:(?P<where>.+?)\s*:\s*)?(?P<score>\w+)(?:\.(?P<field>\w+))?"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})\s*(?P<number>[-+.\deE]+)\s*"
)


def all_scores(kind: type[Head]) -> Scores:
    """Return all scores that this type of findings can contain, keyed by field name."""
    return {name: partial(estimates_of, name) for name in score_names(kind)}


def estimates_of(name: str, findings: object) -> Iterator[LocatedEstimate]:
    """Return all estimates in the findings that are stored in fields with this name."""
    return (located for located in scored(findings) if located.score == name)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that compares a field of a score with a number.

    Attributes
    ----------
    where : str, optional
        Axis, group or other name that selects estimates. None selects all estimates.
    score, field : str
        Names of the score and of the field that is compared.
    operator : str
        Comparison operator, which is a key of `OPERATORS`.
    number : float
        The bound.
    find : callable
        Function that yields the score's estimates in findings.
    """

    where: str | None
    score: str
    field: str
    operator: str
    number: float
    find: Callable[[object], Iterator[LocatedEstimate]]

    def violations(self, findings: object) -> list[str]:
        """Return a one-line description of each estimate that meets the condition."""
        compare = OPERATORS[self.operator]
        lines = []
        for located in filter(self.matches, self.find(findings)):
            value = getattr(located.estimate, self.field)
            if value is not None and compare(value, self.number):
                lines.append(f"{place(located)}: {self.score}.{self.field} is {value:.3g}")
        return lines

    def matches(self, located: LocatedEstimate) -> bool:
        """Check whether an estimate concerns the axis, group or name in the condition."""
        return self.where is None or _plain(self.where) in map(_plain, located.names.values())


def check(conditions: Sequence[Condition], findings: object, result: object = None) -> None:
    """Check that no condition is met.

    Parameters
    ----------
    conditions : sequence of Condition
        The conditions.
    findings : object
        Findings of a run, or records from a comparison.
    result : object
        Result of the command, which is attached to the error.

    Raises
    ------
    CheckFailed
        If a condition is met. The message lists all estimates that meet a condition.
    UsageError
        If a condition names an axis, group or value for which there is no score, for example
        because of a misspelled name.
    """
    for condition in conditions:
        _check_place(condition, findings)
    lines = []
    for condition in conditions:
        lines += condition.violations(findings)
    if lines:
        raise CheckFailed("a --fail-if condition is met: " + "; ".join(lines), result)


def _check_place(condition: Condition, findings: object) -> None:
    """Raise UsageError if there is no score for the axis, group or name in a condition."""
    located = [*scored(findings), *condition.find(findings)]
    if condition.where is None or any(map(condition.matches, located)):
        return
    names = set()
    for estimate in located:
        names |= {name for kind, name in estimate.names.items() if kind != "prompt" and name}
    known = ", ".join(sorted(names)) or "nothing"
    raise UsageError(
        f"a --fail-if condition names {condition.where!r}, but this run has no score for it. "
        f"There are scores for: {known}"
    )


def parse(texts: str | Sequence[str] | None, scores: Scores) -> list[Condition]:
    """Parse conditions such as "mad.corrected > 0.3" or "gender: distance.q < 0.05".

    Parameters
    ----------
    texts : str or sequence of str, optional
        The conditions.
    scores : mapping
        Scores that a condition can name.

    Returns
    -------
    list of Condition
        The conditions.

    Raises
    ------
    UsageError
        If a text is not a condition, or names an unknown score or field.
    """
    if texts is None:
        return []
    return [_parse(text, scores) for text in ([texts] if isinstance(texts, str) else texts)]


def place(located: LocatedEstimate) -> str:
    """Describe an estimate by its prompt (in quotation marks) and its other names."""
    prompt = located.names.get("prompt")
    texts = [repr(prompt)] if prompt else []
    for name, text in located.names.items():
        if name not in UNNAMED and text:
            texts.append(f"{name} {text}" if text[0].isdigit() else text)
    return ", ".join(texts) or "all of the run"


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()


def _parse(text: str, scores: Scores) -> Condition:
    match = _FORM.fullmatch(text)
    if match is None:
        first = next(iter(scores), "score")
        raise UsageError(
            f"--fail-if cannot read the condition {text!r}. Write, for example, "
            f'"{first}.value > 0.3" or "gender: {first}.q < 0.05"'
        )
    score = match["score"]
    field = match["field"] or "value"
    _check_name(text, "score", score, scores)
    _check_name(text, "field", field, FIELDS)
    try:
        number = float(match["number"])
    except ValueError as error:
        raise UsageError(
            f"the --fail-if condition {text!r} compares a score with {match['number']!r}, which "
            "is not a number"
        ) from error
    return Condition(
        where=match["where"],
        score=score,
        field=field,
        operator=match["operator"],
        number=number,
        find=scores[score],
    )


def _check_name(
    text: str, kind: str, name: str, known: Mapping[str, object] | Sequence[str]
) -> None:
    """Raise UsageError if a condition names an unknown score or field."""
    if name not in known:
        raise UsageError(
            f"the --fail-if condition {text!r} names the unknown {kind} {name!r}. Known names: "
            f"{', '.join(known)}"
        )
