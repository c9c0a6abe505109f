"""Pictures of social groups to begin with, made or given, and whether they are neutral ("downstream", section 3).

A picture is neutral if nothing in it shows what it will be edited towards or classified into.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.measure.base import VQA, Chooser
from askew.models.base import Collection, Model
from askew.models.folder import FolderCollection
from askew.prompts.axes import table_question
from askew.prompts.groups import group_names, prompt_of
from askew.run.run import Run
from askew.run.work import wanted_files, wanted_pictures
from askew.stats.shares import share_intervals
from askew.store.keys import derived_seed
from askew.store.store import Wanted
from askew.studio.caption import NO_OCCUPATION, parse
from askew.types import Estimate, Missing, Picture, Question

LABELS = "labels"
OCCUPATION_AXIS = "occupation"
OCCUPATION = Question(table_question(OCCUPATION_AXIS), (), OCCUPATION_AXIS)
"""The question whose answers tell whether a source picture shows a target already."""

TOLERATED = 0.05
"""A group is not neutral if surely more than this share of its pictures show a target."""

Outcomes = Mapping[str, Sequence[Picture | Missing]]


@dataclass(frozen=True, slots=True)
class Group:
    """A social group: its name, and the prompt that its pictures are made or filed by."""

    name: str
    prompt: str


def social_groups(source: Model | Collection, names: str | Sequence[str] | None) -> list[Group]:
    """The groups by name. Of a model each has the paper's prompt; of a collection its prompts are the groups.

    `names` None means all groups of a collection. Raises UsageError for no group, and UnknownName for one that a
    collection has no pictures of.
    """
    if isinstance(source, Model):
        if not names:
            raise UsageError('there is no group; give one or more: --groups "caucasian man, african-american woman"')
        return [Group(name, prompt_of(name)) for name in group_names(names)]
    filed = list(dict.fromkeys(one.prompt for one in source.pictures()))
    wanted = group_names(names) if names else tuple(filed)
    for name in wanted:
        if name not in filed:
            raise UnknownName(f"group in {source.name} (it has no pictures)", name, filed)
    return [Group(name, name) for name in wanted]


def wanted_sources(
    source: Model | Collection, groups: Sequence[Group], images: int, seed: int
) -> dict[str, list[Wanted]]:
    """The `images` pictures wanted of each group, by its name: to be made, or files sampled without replacement.

    Where a collection has fewer files of a group, all of them are taken.
    """
    if isinstance(source, Model):
        return {group.name: wanted_pictures(source, [group.prompt], images, seed) for group in groups}
    filed: dict[str, list[Wanted]] = {}
    for one in wanted_files(source):
        filed.setdefault(one.prompt, []).append(one)
    return {group.name: _sampled(filed.get(group.prompt, []), images, seed, group.name) for group in groups}


def source_pictures(
    run: Run, source: Model | Collection, groups: Sequence[Group], images: int, seed: int
) -> dict[str, list[Picture | Missing]]:
    """The pictures of each group, by its name, in the order of `wanted_sources`: made, or imported into the store.

    Raises UsageError for a group without a single usable picture.
    """
    if isinstance(source, Model):
        made = run.pictures(source, [group.prompt for group in groups], images, seed)
        found = {group.name: made[group.prompt] for group in groups}
    else:
        files = {filed.path: outcome for filed, outcome in run.collection(source)}
        wanted = wanted_sources(source, groups, images, seed)
        found = {name: [files[one.source] for one in some if one.source] for name, some in wanted.items()}
    check_filled(found, source.name)
    return found


def check_filled(sources: Outcomes, origin: str) -> None:
    """Raises UsageError for a group without a single picture; `origin` says where they come from."""
    for name, outcomes in sources.items():
        if not any(isinstance(one, Picture) for one in outcomes):
            reasons = sorted({one.reason for one in outcomes if isinstance(one, Missing)})
            raise UsageError(f"the group {name!r} has no pictures from {origin}: {', '.join(reasons) or 'none'}")


def neutrality(
    run: Run, vqa: VQA, sources: Outcomes, targets: Sequence[str], level: float = 0.95
) -> list[dict[str, Any]]:
    """Per group, the share of its pictures that are read as showing a target already: any of them, and each.

    An entry: {group, instrument, share: E | Missing, targets: {TARGET: E}, neutral: true | false | null}; `neutral` is
    None where the instrument does not tell occupations.
    """
    entries = []
    question = occupation_question(vqa, targets)
    for name, outcomes in sources.items():
        answers = run.answers(vqa, outcomes, [question])
        seen = [answers[one.id][0] for one in outcomes if isinstance(one, Picture)]
        entries.append({"group": name, "instrument": vqa.name, **_neutrality(seen, targets, level)})
    return entries


def neutrality_by_labels(
    source: Model | Collection, sources: Outcomes, targets: Sequence[str], level: float = 0.95
) -> list[dict[str, Any]]:
    """The same by what a person wrote of the pictures: entries of a collection with labels that could name a target.

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
    if not written:
        return []
    none = Missing("not_asked", "nobody wrote of this picture what it shows")
    return [
        {"group": name, "instrument": LABELS, **_neutrality([written.get(one.id) or none for one in outcomes
                                                             if isinstance(one, Picture)], targets, level)}
        for name, outcomes in sources.items()
    ]  # fmt: skip


def neutrality_warnings(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for every group that is not neutral."""
    return [
        f"the pictures of {entry['group']!r} are not neutral: by {entry['instrument']}, {entry['share'].value:.0%} of "
        f"them show what is asked for, {_most(entry['targets'])!r} most often, before anything was done to them"
        for entry in entries
        if entry["neutral"] is False
    ]


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


def _neutrality(seen: Sequence[str | Missing], targets: Sequence[str], level: float) -> dict[str, Any]:
    read = [answer for answer in seen if not isinstance(answer, Missing)]
    lost = len(seen) - len(read)
    if not read:
        none = Missing("not_asked", "no picture was asked for an occupation that could be read")
        return {"share": none, "targets": dict.fromkeys(targets, none), "neutral": None}
    each = {target: sum(names_target(answer, target) for answer in read) for target in targets}
    together = sum(_names_any(answer, targets) for answer in read)
    share = _share(together, len(read), lost, level)
    return {
        "share": share,
        "targets": {target: _share(count, len(read), lost, level) for target, count in each.items()},
        "neutral": share.low is not None and share.low <= TOLERATED,
    }


def _share(count: int, n: int, missing: int, level: float) -> Estimate:
    return share_intervals([count, n - count], level=level, missing=missing)[0]


def _most(targets: Mapping[str, Estimate]) -> str:
    return max(targets, key=lambda target: targets[target].value)


def _sampled(wanted: list[Wanted], images: int, seed: int, name: str) -> list[Wanted]:
    """At most `images` of them, in their order."""
    if len(wanted) <= images:
        return wanted
    rng = np.random.default_rng(derived_seed(seed, "sources", name))
    return [wanted[at] for at in sorted(rng.choice(len(wanted), images, replace=False))]


def _plain(text: str) -> str:
    """Lower-case letters and single spaces, "fast food" in the paper's spelling."""
    return re.sub(r"[^a-z]+", " ", text.lower()).strip().replace("fast food", "fastfood")
