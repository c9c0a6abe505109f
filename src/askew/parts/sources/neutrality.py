"""Whether source pictures are neutral: whether nothing in them shows what they will be edited or classified into."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from askew.findings import E, Keyed
from askew.measure.base import VQA, Chooser
from askew.models.folder import FolderCollection
from askew.pages import words
from askew.pages.blocks import Section, Text
from askew.parts.sources.groups import Outcomes, Source
from askew.parts.survey.instruments import LABELS
from askew.prompts.axes import table_question
from askew.run.base import Answer, Run
from askew.stats.shares import share_intervals
from askew.studio.caption import NO_OCCUPATION, parse
from askew.types import Estimate, Missing, Picture, Question, record

OCCUPATION_AXIS = "occupation"
OCCUPATION = Question(table_question(OCCUPATION_AXIS), (), OCCUPATION_AXIS)
"""The question whose answers tell whether a source picture shows a target already."""

TOLERATED = 0.05
"""A group is not neutral if surely more than this share of its pictures show a target."""

NOT_READ = Missing("not_asked", "no picture was asked for an occupation that could be read")
NOT_WRITTEN = Missing("not_asked", "nobody wrote of this picture what it shows")


@record
class Neutrality:
    """The share of a group's pictures that are read as showing a target already: any of them, and each.

    `neutral` is None where the instrument does not tell occupations.
    """

    group: str
    instrument: str
    share: E
    targets: Annotated[Mapping[str, E], Keyed("target")]
    neutral: bool | None


def neutrality(run: Run, vqa: VQA, sources: Outcomes, targets: Sequence[str], level: float) -> list[Neutrality]:
    """By group what an instrument sees."""
    answers = run.ask(vqa, [one for some in sources.values() for one in some], [occupation_question(vqa, targets)])
    seen = {one: row[0] for one, row in answers.items()}
    return [_neutrality(name, vqa.name, seen, sources, targets, level) for name in sources]


def neutrality_by_labels(source: Source, sources: Outcomes, targets: Sequence[str], level: float) -> list[Neutrality]:
    """By group what a person wrote, where a collection has labels that could name a target.

    Such labels are those of occupations, and all of an axis on which some picture's label names a target: labels of
    gender alone do not tell whether somebody is a doctor.
    """
    if not isinstance(source, FolderCollection):
        return []
    filed = source.pictures()
    axes = {a for one in filed for a, label in one.labels.items() if _names_any(label, targets)} | {OCCUPATION_AXIS}
    written = {
        source.digests[one.path]: "; ".join(label for axis, label in one.labels.items() if axis in axes and label)
        for one in filed
        if axes & one.labels.keys() and one.path in source.digests
    }
    seen = {one: label or NOT_WRITTEN for one, label in written.items()}
    return [_neutrality(name, LABELS, seen, sources, targets, level) for name in sources] if seen else []


def neutrality_warnings(entries: Sequence[Neutrality]) -> list[str]:
    """A sentence for every group that is not neutral."""
    return [
        f"the pictures of {one.group!r} are not neutral: by {one.instrument}, {one.share.value:.0%} of "
        f"them show what is asked for, {_most(one.targets)!r} most often, before anything was done to them"
        for one in entries
        if one.neutral is False and isinstance(one.share, Estimate)
    ]


def neutrality_section(entries: Sequence[Neutrality]) -> Section:
    """What a page says of it."""
    text = "A source picture is neutral if it shows none of the targets by itself."
    return Section("Are the pictures neutral?", (Text(text, items=tuple(map(_sentence, entries))),), screen=False)


def occupation_question(vqa: VQA, targets: Sequence[str]) -> Question:
    """The question that tells whether a picture shows a target.

    It is open, unless the instrument only chooses: then the options are the targets, and no occupation.
    """
    if not isinstance(vqa, Chooser):
        return OCCUPATION
    return replace(OCCUPATION, options=(*dict.fromkeys(targets), NO_OCCUPATION))


def names_target(answer: str, target: str) -> bool:
    """Whether an answer names a target, whatever its spelling: "A doctor." names "doctor".

    So do the studio's other words for the same occupation: "doctor" names "surgeon".
    """
    if f" {_plain(target.removesuffix('-worker'))} " in f" {_plain(answer)} ":
        return True
    own = parse(target).occupation
    return own is not None and own in {parse(part).occupation for part in answer.split(";")}


def _names_any(answer: str, targets: Sequence[str]) -> bool:
    return any(names_target(answer, target) for target in targets)


def _neutrality(
    group: str, instrument: str, seen: Mapping[str, Answer], sources: Outcomes, targets: Sequence[str], level: float
) -> Neutrality:
    answers = [seen.get(one.id, NOT_WRITTEN) for one in sources[group] if isinstance(one, Picture)]
    read = [answer for answer in answers if not isinstance(answer, Missing)]
    if not read:
        return Neutrality(group, instrument, NOT_READ, dict.fromkeys(targets, NOT_READ), None)

    def share(count: int) -> Estimate:
        return share_intervals([count, len(read) - count], level=level, missing=len(answers) - len(read))[0]

    together = share(sum(_names_any(answer, targets) for answer in read))
    each = {target: share(sum(names_target(answer, target) for answer in read)) for target in targets}
    return Neutrality(group, instrument, together, each, neutral=together.low is not None and together.low <= TOLERATED)


def _sentence(one: Neutrality) -> str:
    group = words.capital(words.shorten(one.group, 60))
    if not isinstance(one.share, Estimate):
        return f"{group}: {one.instrument} does not tell occupations."
    seen = [f"{words.shorten(target, 40)} {words.percent(e.value)}" for target, e in one.targets.items()
            if isinstance(e, Estimate) and e.value > 0]  # fmt: skip
    verdict, more = "neutral" if one.neutral else "not neutral", f": {words.listing(seen)}" if seen else ""
    share, pictures = words.measured(one.share, "share"), words.plural(one.share.n or 0, "picture")
    return f"{group}: {verdict}; by {one.instrument}, {share} of {pictures} show a target{more}."


def _most(targets: Mapping[str, E]) -> str:
    return max(targets, key=lambda target: e.value if isinstance(e := targets[target], Estimate) else 0.0)


def _plain(text: str) -> str:
    """Lower-case letters and single spaces, "fast food" in the paper's spelling."""
    return re.sub(r"[^a-z]+", " ", text.lower()).strip().replace("fast food", "fastfood")
