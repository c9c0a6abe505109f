"""Measure neutrality: how many input images show a target before they are edited."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from askew.measure.base import VQA, Chooser
from askew.parts.sources.findings import Neutrality
from askew.parts.sources.groups import Outcomes
from askew.parts.sources.words import neutrality_warnings
from askew.prompts.axes import table_question
from askew.run.base import Answer, Run
from askew.stats.shares import share_intervals
from askew.studio.caption import NO_OCCUPATION, parse
from askew.types import Estimate, Missing, Picture, Question

OCCUPATION = Question(table_question("occupation"), (), "occupation")
"""Question that askew asks to find out whether an input image already shows a target."""

TOLERATED_SHARE = 0.05
"""A group is not neutral if the confidence interval of its share lies entirely above this value."""

UNLABELED = Missing("not_asked", "no image has an occupation label")


def neutrality(
    run: Run, instruments: Iterable[VQA], sources: Outcomes, targets: Sequence[str], level: float
) -> tuple[Neutrality, ...]:
    """Measure neutrality for each instrument and group.

    askew warns about groups that are not neutral.
    """
    all_outcomes = [outcome for outcomes in sources.values() for outcome in outcomes]
    entries = []
    for vqa in instruments:
        answers = run.ask(vqa, all_outcomes, [occupation_question(vqa, targets)])
        for group, outcomes in sources.items():
            pictures = [outcome for outcome in outcomes if isinstance(outcome, Picture)]
            of_group = [answers[picture.id][0] for picture in pictures]
            entries.append(_neutrality_of(group, vqa.name, of_group, targets, level))
    run.warn(*neutrality_warnings(entries))
    return tuple(entries)


def _neutrality_of(
    group: str, instrument: str, answers: Sequence[Answer], targets: Sequence[str], level: float
) -> Neutrality:
    """Return the finding about a group, computed from an instrument's answers."""
    labels = [answer for answer in answers if not isinstance(answer, Missing)]
    if not labels:
        return Neutrality(
            group=group,
            instrument=instrument,
            share=UNLABELED,
            targets=dict.fromkeys(targets, UNLABELED),
            neutral=None,
        )

    rows = []
    for answer in labels:
        rows.append([names_target(answer, target) for target in targets])
    named = np.array(rows)

    def share_of(count: int) -> Estimate:
        counts = [count, len(labels) - count]
        return share_intervals(counts, level=level, missing=len(answers) - len(labels))[0]

    share = share_of(int(named.any(axis=1).sum()))
    counts_of_targets = named.sum(axis=0).tolist()
    return Neutrality(
        group=group,
        instrument=instrument,
        share=share,
        targets={
            target: share_of(count)
            for target, count in zip(targets, counts_of_targets, strict=True)
        },
        neutral=share.low is not None and share.low <= TOLERATED_SHARE,
    )


def occupation_question(vqa: VQA, targets: Sequence[str]) -> Question:
    """Return the question that askew asks to find out whether an image shows a target.

    The question is open-ended. If an instrument can only choose among given options, the options
    are the targets and "none".
    """
    if not isinstance(vqa, Chooser):
        return OCCUPATION
    return replace(OCCUPATION, options=(*dict.fromkeys(targets), NO_OCCUPATION))


def names_target(answer: str, target: str) -> bool:
    """Check whether an answer contains a target, ignoring case and punctuation.

    The studio's synonyms for occupations also match ("doctor" matches "surgeon").
    """
    if f" {_plain(target.removesuffix('-worker'))} " in f" {_plain(answer)} ":
        return True
    occupation = parse(target).occupation
    named = {parse(part).occupation for part in answer.split(";")}
    return occupation is not None and occupation in named


def _plain(text: str) -> str:
    """Reduce a text to lowercase words separated by single spaces.

    As in the paper, "fast food" becomes a single word.
    """
    letters = re.sub(r"[^a-z]+", " ", text.lower()).strip()
    return letters.replace("fast food", "fastfood")
