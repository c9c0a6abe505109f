"""Pictures of social groups, made or given ("downstream", Saravanan et al., section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.findings import Identity
from askew.models.base import Collection, FiledPicture, Model, Setting
from askew.models.diffusers.recommended import recommended
from askew.models.folder import FolderCollection
from askew.parts.survey.reader import unknown_words
from askew.prompts.groups import PAPER_GROUPS, group_names, prompt_of
from askew.run.base import Outcome, Run
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.types import Missing, Picture

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


def identity(source: Source, settings: Mapping[str, Setting]) -> Identity:
    """Name, revision and settings of who made the pictures; of a collection those `settings` that a plan gives."""
    own = source.settings if isinstance(source, Model) else settings
    return Identity(source.name, source.revision, dict(own))


def oddities(source: Source, texts: Sequence[str]) -> list[str]:
    """What a reader should know: words of the texts that a model ignores, or oddities of a folder."""
    if isinstance(source, Model):
        return unknown_words(source, texts)
    return list(source.warnings) if isinstance(source, FolderCollection) else []


def with_source_settings(fields: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The fields of a plan with the paper's settings for the model that makes the sources, under those that are given.

    `model` makes them unless `fields` name other `sources`. Raises UsageError for settings of sources that are not
    named.
    """
    sources, given = fields.get("sources"), fields.get("sources_args")
    if given and not sources:
        raise UsageError(
            f"{', '.join(given)}: such settings describe pictures that are given, and none are; say where they are, as "
            f"in --sources folder/PATH"
        )
    name = "sources_args" if sources else "model_args"
    return {**fields, name: {**paper_settings(sources or model, PAPER_SOURCES), **(fields.get(name) or {})}}


def paper_settings(model: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The paper's settings, if `model` is one of diffusers whose makers recommend no others; else none."""
    provider, _, name = model.partition("/")
    return {} if provider != DIFFUSERS or recommended(name) else dict(settings)
