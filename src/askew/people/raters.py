"""Raters' answers, and a summary of each rater's work, including the reason for an exclusion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

import numpy as np
from numpy.typing import NDArray

from askew.measure.raters import majority
from askew.people.findings import RaterSummary
from askew.people.folder import StudyFolder
from askew.people.records import AnswerRecord, Item, RaterRecord, label_of
from askew.store.keys import derived_seed
from askew.types import Missing

Label = str | Missing

TIME_FLOOR_ANSWERS = 5
"""Minimum number of timed answers before a rater can be excluded for answering too fast."""


@dataclass(frozen=True)
class StudyAnswers:
    """A study and its answers, limited to some of its raters.

    Attributes
    ----------
    folder
        The study.
    raters
        Ids of the raters whose answers count.
    answers
        Last answers, keyed by rater id and item id.
    """

    folder: StudyFolder
    raters: tuple[str, ...]
    answers: Mapping[tuple[str, str], AnswerRecord]

    def without(self, excluded: set[str]) -> "StudyAnswers":
        """Return the study without the answers of the excluded raters."""
        return replace(self, raters=tuple(name for name in self.raters if name not in excluded))

    @cached_property
    def items(self) -> list[Item]:
        """Items of the study, excluding attention checks and repeated items."""
        return [item for item in self.folder.items.values() if item.role == "item"]

    def of_item(self, item: str) -> list[AnswerRecord]:
        """Return the answers to an item, in the order of the raters."""
        keys = ((rater, item) for rater in self.raters)
        return [self.answers[key] for key in keys if key in self.answers]

    def labels(self, item: str) -> list[Label]:
        """Return the raters' labels for an item. A label is the first option that a rater chose."""
        return [label_of(answer.answer[0]) for answer in self.of_item(item) if answer.answer]

    def majority(self, item: str) -> Label:
        """Return the label that most raters gave to an item."""
        return majority(self.labels(item))

    def first_option(self, rater: str, item: str) -> str | None:
        """Return the first option that a rater chose for an item; None if there is no answer."""
        answer = self.answers.get((rater, item))
        return answer.answer[0] if answer is not None and answer.answer else None

    def codes(self, items: Sequence[str], values: Sequence[str]) -> NDArray[np.int64]:
        """Return the index of the value that each rater chose for each item.

        Parameters
        ----------
        items
            Ids of the items.
        values
            The values. If an answer is missing or is not one of the axis's values, its index is -1.
        """
        places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
        codes = np.full((len(self.raters), len(items)), -1, dtype=np.int64)
        for row, rater in enumerate(self.raters):
            for column, item in enumerate(items):
                codes[row, column] = places.get(self.first_option(rater, item), -1)
        return codes

    def rng(self, *names: str) -> np.random.Generator:
        """Return a random generator for a named computation.

        Generators for different names are independent.
        """
        return np.random.default_rng(derived_seed(self.folder.plan.seed, "results", *names))


def all_answers(folder: StudyFolder) -> StudyAnswers:
    """Return a study and its answers, for all raters who answered at least one item."""
    answers = folder.answers()
    with_answers = {rater for rater, _ in answers}
    raters = tuple(rater.id for rater in folder.raters() if rater.id in with_answers)
    return StudyAnswers(folder=folder, raters=raters, answers=answers)


def summaries(study: StudyAnswers) -> list[RaterSummary]:
    """Return a summary of each rater's work, including the reason if the rater is excluded."""
    known = {rater.id: rater for rater in study.folder.raters()}
    return [_summary(study, known[name]) for name in study.raters]


def _summary(study: StudyAnswers, rater: RaterRecord) -> RaterSummary:
    items = study.folder.items
    given = {name: study.answers.get((rater.id, name)) for name in rater.items}
    answered = {name: answer for name, answer in given.items() if answer is not None}
    checks = [name for name in answered if items[name].role == "check"]
    passed = [name for name in checks if answered[name].answer == (items[name].expected,)]
    repeats = [name for name in answered if items[name].repeats in answered]
    equal = [
        name
        for name in repeats
        if answered[name].answer == answered[str(items[name].repeats)].answer
    ]
    seconds = [answer.seconds for answer in answered.values() if answer.seconds is not None]
    summary = RaterSummary(
        id=rater.id,
        assigned=len(rater.items),
        answered=len(answered),
        checks=len(checks),
        checks_passed=len(passed),
        repeats=len(repeats),
        repeats_equal=len(equal),
        seconds=median(seconds) if len(seconds) >= TIME_FLOOR_ANSWERS else None,
        excluded="",
    )
    return replace(summary, excluded=_exclusion(summary, study))


def _exclusion(summary: RaterSummary, study: StudyAnswers) -> str:
    """Return the reason why a rater is excluded; empty if the rater is included."""
    rules = study.folder.plan.rules
    if summary.checks and summary.checks_passed / summary.checks < rules.least_checks:
        return (
            f"passed {summary.checks_passed} of {summary.checks} attention checks, fewer than "
            f"{rules.least_checks:.0%}"
        )
    if summary.seconds is not None and summary.seconds < rules.least_seconds:
        return (
            f"took a median of {summary.seconds:.1f} seconds per answer, less than "
            f"{rules.least_seconds:g}"
        )
    return ""
