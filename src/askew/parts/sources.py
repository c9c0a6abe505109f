"""Pictures of social groups to begin with, made or given, and whether they are neutral ("downstream", section 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.findings import E, Keyed
from askew.measure.base import VQA, Chooser
from askew.models.base import Collection, FiledPicture, Model, Setting
from askew.models.diffusers import recommended
from askew.pages import words
from askew.pages.blocks import Section, Text
from askew.prompts.axes import table_question
from askew.prompts.given import PAPER_GROUPS, group_names, prompt_of
from askew.run.base import Answer, Outcome, Run
from askew.stats.shares import share_intervals
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.studio.caption import NO_OCCUPATION, parse
from askew.types import Estimate, Missing, Picture, Question, record

DIFFUSERS = "diffusers"
PAPER_SOURCES: Mapping[str, Setting] = {"num_inference_steps": 100, "guidance_scale": 8.5}
"""The paper's settings of whoever makes source pictures (section 3)."""

Source = Model | Collection
Outcomes = Mapping[str, Sequence[Outcome]]
"""Pictures by the name of their group."""


@dataclass(frozen=True, slots=True)
class Group:
    """A social group: its name, and the prompt that its pictures are made or filed by."""

    name: str
    prompt: str


def social_groups(source: Source, names: str | Sequence[str] | None = None) -> list[Group]:
    """The groups by name. Of a model each has the paper's prompt; of a collection its prompts are the groups.

    `names` None means the paper's four groups, of a collection all of its own. Raises UsageError for no group, and
    UnknownName for one that a collection has no pictures of.
    """
    if isinstance(source, Model):
        return [Group(name, prompt_of(name)) for name in group_names(PAPER_GROUPS if names is None else names)]
    filed = list(dict.fromkeys(one.prompt for one in source.pictures()))
    wanted = tuple(filed) if names is None else group_names(names)
    for name in wanted:
        if name not in filed:
            raise UnknownName(f"group in {source.name} (it has no pictures)", name, filed)
    return [Group(name, name) for name in wanted]


def source_pictures(
    run: Run, source: Source, groups: Sequence[Group], images: int, seed: int
) -> dict[str, list[Outcome]]:
    """The pictures of each group, by its name: made, or files of a collection.

    Raises UsageError for a group without a single usable picture.
    """
    if isinstance(source, Model):
        made = run.pictures(source, [group.prompt for group in groups], images, seed)
        found = {group.name: made[group.prompt] for group in groups}
    else:
        files = sampled_files(source, groups, images, seed)
        taken = iter(run.collect(source, [one for some in files.values() for one in some]))
        found = {name: [next(taken)[1] for _ in some] for name, some in files.items()}
    check_filled(found, source.name)
    return found


def sampled_files(source: Collection, groups: Sequence[Group], images: int, seed: int) -> dict[str, list[FiledPicture]]:
    """`images` files of each group, by its name, in their order and without replacement; all where there are fewer."""
    found = {}
    for group in groups:
        filed = [one for one in source.pictures() if one.prompt == group.prompt]
        if len(filed) > images:
            rng = np.random.default_rng(derived_seed(seed, "sources", group.name))
            filed = [filed[at] for at in sorted(rng.choice(len(filed), images, replace=False))]
        found[group.name] = filed
    return found


def check_filled(sources: Outcomes, origin: str) -> None:
    """Raises UsageError for a group without a single picture; `origin` says where they come from."""
    for name, outcomes in sources.items():
        if not any(isinstance(one, Picture) for one in outcomes):
            reasons = sorted({one.reason for one in outcomes if isinstance(one, Missing)})
            raise UsageError(f"the group {name!r} has no pictures from {origin}: {', '.join(reasons) or 'none'}")


def present(sources: Outcomes) -> list[Picture]:
    """The pictures of all groups, in order."""
    return [one for some in sources.values() for one in some if isinstance(one, Picture)]


def size_of(picture: Picture) -> tuple[int, int]:
    """Width and height."""
    return opened(picture.path).size


Given = Mapping[str, Setting] | None
"""Settings as they were given."""


def planned_sources(
    groups: str | Sequence[str] | None, model: str, model_args: Given, sources: str, sources_args: Given
) -> tuple[dict[str, object], list[Group]]:
    """The fields of a plan that say who makes the sources, the paper's settings under those that are given; the groups.

    `model` makes them unless other `sources` are named. Raises UsageError for settings of sources that are not named.
    """
    if sources_args and not sources:
        raise UsageError(
            f"{', '.join(sources_args)}: such settings describe pictures that are given, and none are; say where they "
            f"are, as in --sources folder/PATH"
        )
    own = {**paper_settings(sources or model, PAPER_SOURCES), **((sources_args if sources else model_args) or {})}
    named = social_groups(registry.model(sources or model, **own), groups)
    args = {"model_args": model_args or {}, "sources_args": own} if sources else {"model_args": own}
    return {"model": model, "sources": sources, **args}, named


def paper_settings(model: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The paper's settings, if `model` is one of diffusers whose makers recommend no others; else none."""
    provider, _, name = model.partition("/")
    return {} if provider != DIFFUSERS or recommended(name) else dict(settings)


OCCUPATION_AXIS = "occupation"
OCCUPATION = Question(table_question(OCCUPATION_AXIS), (), OCCUPATION_AXIS)
"""The question whose answers tell whether a source picture shows a target already."""

TOLERATED = 0.05
"""A group is not neutral if surely more than this share of its pictures show a target."""

NOT_READ = Missing("not_asked", "no picture was asked for an occupation that could be read")


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


def neutrality(
    run: Run, instruments: Iterable[VQA], sources: Outcomes, targets: Sequence[str], level: float
) -> tuple[Neutrality, ...]:
    """By instrument and group what is seen in the sources. The run is warned of groups that are not neutral."""
    pictures, found = [one for some in sources.values() for one in some], []
    for vqa in instruments:
        answers = run.ask(vqa, pictures, [occupation_question(vqa, targets)])
        for name, some in sources.items():
            seen = [answers[one.id][0] for one in some if isinstance(one, Picture)]
            found.append(_neutrality(name, vqa.name, seen, targets, level))
    run.warn(*neutrality_warnings(found))
    return tuple(found)


def neutrality_warnings(entries: Sequence[Neutrality]) -> list[str]:
    """A sentence for every group that is not neutral."""
    told = []
    for one in entries:
        if one.neutral is False and isinstance(one.share, Estimate):
            shares = {target: e.value for target, e in one.targets.items() if isinstance(e, Estimate)}
            told.append(
                f"the pictures of {one.group!r} are not neutral: by {one.instrument}, {one.share.value:.0%} of them "
                f"show what is asked for, {max(shares, key=lambda target: shares[target])!r} most often, before "
                "anything was done to them"
            )
    return told


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


def _neutrality(
    group: str, instrument: str, answers: Sequence[Answer], targets: Sequence[str], level: float
) -> Neutrality:
    read = [answer for answer in answers if not isinstance(answer, Missing)]
    if not read:
        return Neutrality(group, instrument, NOT_READ, dict.fromkeys(targets, NOT_READ), None)
    named = np.array([[names_target(answer, target) for target in targets] for answer in read])
    counts = [int(named.any(axis=1).sum()), *named.sum(axis=0).tolist()]
    together, *each = (share_intervals([k, len(read) - k], level=level, missing=len(answers) - len(read))[0]
                       for k in counts)  # fmt: skip
    neutral = together.low is not None and together.low <= TOLERATED
    return Neutrality(group, instrument, together, dict(zip(targets, each, strict=True)), neutral)


def _sentence(one: Neutrality) -> str:
    group = words.capital(words.shorten(one.group, 60))
    if not isinstance(one.share, Estimate):
        return f"{group}: {one.instrument} does not tell occupations."
    seen = [f"{words.shorten(target, 40)} {words.percent(e.value)}" for target, e in one.targets.items()
            if isinstance(e, Estimate) and e.value > 0]  # fmt: skip
    verdict, more = "neutral" if one.neutral else "not neutral", f": {words.listing(seen)}" if seen else ""
    share, pictures = words.measured(one.share, "share"), words.plural(one.share.n or 0, "picture")
    return f"{group}: {verdict}; by {one.instrument}, {share} of {pictures} show a target{more}."


def _plain(text: str) -> str:
    """Lower-case letters and single spaces, "fast food" in the paper's spelling."""
    return re.sub(r"[^a-z]+", " ", text.lower()).strip().replace("fast food", "fastfood")
