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
"""Kinds of names that messages about estimates leave out or write in a different form."""

Scores = Mapping[str, Callable[..., Iterator[LocatedEstimate]]]
"""For each score's name, a function that yields the estimates of that score from findings."""

_FORM = re.compile(
    r"\s*(?:(?P<where>.+?)\s*:\s*)?(?P<score>\w+)(?:\.(?P<field>\w+))?"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})\s*(?P<number>[-+.\deE]+)\s*"
)


def all_scores(kind: type[Head]) -> Scores:
    """Return all scores that findings of a kind can contain, by field name."""
    return {name: partial(estimates_of, name) for name in score_names(kind)}


def estimates_of(name: str, findings: object) -> Iterator[LocatedEstimate]:
    """Return the estimates in all fields with this name, anywhere in the findings."""
    return (located for located in scored(findings) if located.score == name)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that compares a field of a score with a number.

    Attributes
    ----------
    where : str, optional
        Axis, group or other name that selects estimates. None selects all estimates.
    score, field : str
        Name of the score and name of the score's field.
    operator : str
        Key of `OPERATORS`.
    number : float
        The bound.
    find : callable
        Function that finds the estimates of the score in findings.
    """

    where: str | None
    score: str
    field: str
    operator: str
    number: float
    find: Callable[[object], Iterator[LocatedEstimate]]

    def violations(self, findings: object) -> list[str]:
        """Describe the estimates for which the condition holds, one line per estimate."""
        compare = OPERATORS[self.operator]
        lines = []
        for located in filter(self.matches, self.find(findings)):
            value = getattr(located.estimate, self.field)
            if value is not None and compare(value, self.number):
                lines.append(f"{place(located)}: {self.score}.{self.field} is {value:.3g}")
        return lines

    def matches(self, located: LocatedEstimate) -> bool:
        """Check whether an estimate is about the axis, group or name of the condition."""
        return self.where is None or _plain(self.where) in map(_plain, located.names.values())


def check(conditions: Sequence[Condition], findings: object, result: object = None) -> None:
    """Check that no condition holds.

    Parameters
    ----------
    conditions : sequence of Condition
        The conditions.
    findings : object
        Findings of a run, or records of a comparison.
    result : object
        Result of the command, which the error contains.

    Raises
    ------
    CheckFailed
        If a condition holds. The message lists all estimates for which a condition holds.
    UsageError
        If a condition names an axis, group or value that no score is about, for example because the
        name is misspelled.
    """
    for condition in conditions:
        _check_place(condition, findings)
    lines = []
    for condition in conditions:
        lines += condition.violations(findings)
    if lines:
        raise CheckFailed("a condition given by --fail-if holds: " + "; ".join(lines), result)


def _check_place(condition: Condition, findings: object) -> None:
    """Raise UsageError if no score is about the axis, group or name of a condition."""
    located = [*scored(findings), *condition.find(findings)]
    if condition.where is None or any(map(condition.matches, located)):
        return
    names = set()
    for estimate in located:
        names |= {name for kind, name in estimate.names.items() if kind != "prompt" and name}
    known = ", ".join(sorted(names)) or "nothing"
    raise UsageError(
        f"a condition of --fail-if names {condition.where!r}, but no score of this run is about it. "
        f"There are scores about: {known}"
    )


def parse(texts: str | Sequence[str] | None, scores: Scores) -> list[Condition]:
    """Parse conditions such as "mad.corrected > 0.3" or "gender: distance.q < 0.05".

    Parameters
    ----------
    texts : str or sequence of str, optional
        The conditions.
    scores : mapping
        Scores that a condition may name.

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
    """Describe what an estimate is about: its prompt in quotation marks, then its other names."""
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
            f"the condition {text!r} of --fail-if compares with {match['number']!r}, which is not "
            "a number"
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
            f"the condition {text!r} of --fail-if names the unknown {kind} {name!r}; "
            f"known: {', '.join(known)}"
        )
