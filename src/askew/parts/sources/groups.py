"""List social groups, and obtain their input images from a model or from files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.mitigations import open_model_if_fast
from askew.models.base import Collection, FiledPicture, Model, Setting
from askew.models.diffusers.recommended import is_stable_diffusion
from askew.options import NamesOption
from askew.plan import DEFAULT_MODEL, PlanFields
from askew.prompts.given import PAPER_GROUPS, group_names, prompt_of
from askew.run.base import Outcome, Run
from askew.run.work import once_each
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.types import Missing, Picture

PAPER_SOURCES: Mapping[str, Setting] = {"num_inference_steps": 100, "guidance_scale": 8.5}
"""The paper's settings for the model that generates input images (section 3)."""

Source = Model | Collection
Outcomes = Mapping[str, Sequence[Outcome]]
"""Images, keyed by group name."""


@dataclass(frozen=True, slots=True)
class SocialGroup:
    """Social group: its name, and the prompt from which its images are generated or looked up."""

    name: str
    prompt: str


class PlannedSources(NamedTuple):
    """Planned input images: fields of the plan, the groups, and the names of models."""

    fields: dict[str, object]
    groups: list[SocialGroup]
    model: str
    maker: str


def social_groups(
    source: Source | None, names: str | Sequence[str] | None = None
) -> list[SocialGroup]:
    """Return the groups for a request.

    Parameters
    ----------
    source
        Model or collection from which the images come. The groups of a collection are its prompts.
        For a model, each group has the paper's prompt.
    names
        The wanted groups. None means the paper's four groups, or all groups of a
        collection.

    Raises
    ------
    UsageError
        If no group is named.
    UnknownName
        If a collection has no images of a group.
    """
    if isinstance(source, Collection):
        filed = list(dict.fromkeys(picture.prompt for picture in source.pictures()))
        wanted = tuple(filed) if names is None else group_names(names)
        for name in wanted:
            UnknownName.unless_known(f"group in {source.name} (it has no images)", name, filed)
        return [SocialGroup(name, prompt=name) for name in wanted]

    wanted = group_names(PAPER_GROUPS if names is None else names)
    return [SocialGroup(name, prompt=prompt_of(name)) for name in wanted]


def source_pictures(
    run: Run, source: Source, groups: Sequence[SocialGroup], images: int, seed: int
) -> dict[str, list[Outcome]]:
    """Obtain up to `images` images of each group, keyed by group name.

    Raises
    ------
    UsageError
        If a group has no usable image.
    """
    if isinstance(source, Model):
        by_prompt = run.pictures(source, [group.prompt for group in groups], images, seed)
        pictures = {group.name: by_prompt[group.prompt] for group in groups}
    else:
        pictures = _collected_pictures(run, source, groups, images, seed)
    check_filled(pictures, source.name)
    return pictures


def _collected_pictures(
    run: Run, source: Collection, groups: Sequence[SocialGroup], images: int, seed: int
) -> dict[str, list[Outcome]]:
    """Import the sampled files of all groups in one pass."""
    files = sampled_files(source, groups, images, seed)
    all_files = [file for of_group in files.values() for file in of_group]
    outcomes = iter([outcome for _, outcome in run.collect(source, all_files)])
    pictures = {}
    for name, of_group in files.items():
        pictures[name] = once_each([next(outcomes) for _ in of_group])
    return pictures


def sampled_files(
    source: Collection, groups: Sequence[SocialGroup], images: int, seed: int
) -> dict[str, list[FiledPicture]]:
    """Sample `images` files of each group without replacement, keeping the order of the files.

    If a group has fewer files, all of them are used.
    """
    sampled = {}
    for group in groups:
        files = [file for file in source.pictures() if file.prompt == group.prompt]
        if len(files) > images:
            rng = np.random.default_rng(derived_seed(seed, "sources", group.name))
            places = rng.choice(len(files), images, replace=False)
            files = [files[place] for place in sorted(places)]
        sampled[group.name] = files
    return sampled


def check_filled(sources: Outcomes, origin: str) -> None:
    """Raise UsageError if a group has no image. `origin` describes where the images come from."""
    for name, outcomes in sources.items():
        if any(isinstance(outcome, Picture) for outcome in outcomes):
            continue
        reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, Missing)}
        listed = ", ".join(sorted(reasons)) or "none"
        raise UsageError(f"the group {name!r} has no images from {origin}: {listed}")


def present(sources: Outcomes) -> list[Picture]:
    """Return the images of all groups in order, omitting missing images."""
    return [
        outcome
        for outcomes in sources.values()
        for outcome in outcomes
        if isinstance(outcome, Picture)
    ]


def size_of(picture: Picture) -> tuple[int, int]:
    """Return the width and height of an image in pixels."""
    return opened(picture.path).size


def planned_sources(groups: NamesOption, fields: Mapping[str, object]) -> PlannedSources:
    """Plan input images: determine their groups and the fields of the plan that describe them.

    The model of the plan generates the input images, unless `sources` is another model or a
    collection. By default, the model uses the paper's settings.

    Raises
    ------
    UsageError
        If settings for `sources` are given without `sources`.
    """
    chosen = cast("PlanFields", fields)
    model = chosen.get("model", DEFAULT_MODEL)
    sources = chosen.get("sources", "")
    sources_args = chosen.get("sources_args")
    if sources_args and not sources:
        raise UsageError(
            f"{', '.join(sources_args)}: these settings describe existing images, but no images "
            "are given. Give their folder with --sources folder/PATH"
        )

    if sources:
        maker = sources
        field = "sources_args"
        given = sources_args
    else:
        maker = model
        field = "model_args"
        given = chosen.get("model_args")
    settings = {**paper_settings(maker, PAPER_SOURCES, given or {}), **(given or {})}
    return PlannedSources(
        fields={**chosen, "model": model, field: settings},
        groups=social_groups(open_model_if_fast(maker, settings), groups),
        model=model,
        maker=maker,
    )


def paper_settings(
    model: str, settings: Mapping[str, Setting], given: Mapping[str, Setting]
) -> dict[str, Setting]:
    """Return the paper's settings if the model is Stable Diffusion 1 or 2.

    Other models use the settings recommended by their developers, or the defaults of their
    pipelines.

    Parameters
    ----------
    model
        Provider and name.
    settings
        The paper's settings.
    given
        Settings for the model, as given by the user.
    """
    provider, _, name = model.partition("/")
    files = {key: str(given.get(key, "")) for key in ("config", "revision")}
    if provider == "diffusers" and is_stable_diffusion(name, **files):
        return dict(settings)
    return {}
