"""What `askew classify` costs: pictures of social groups, and a network's errors in them for every class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments, PictureSet
from askew.measure.class_errors import ClassErrors
from askew.methods.classify.plan import NONE, ClassificationPlan
from askew.models.base import Model, WhiteBox
from askew.parts.showing import Showing, showing_pictures
from askew.parts.sources import (
    Neutrality,
    Outcomes,
    Source,
    neutrality,
    present,
    size_of,
    social_groups,
)
from askew.parts.survey.reader import beyond_drawings, fingerprints, load_instruments, oddities, unknown_words
from askew.prompts.given import prompt_of
from askew.run.base import Rows, Run
from askew.store.keys import derived_seed
from askew.types import Missing

UNREAD = (
    "nobody has read whether the pictures show their group, or one of the classes already: name who does by --vqa, or "
    "of a folder a person's labels by --label occupation=COLUMN"
)
"""A warning where nothing is known of neutrality."""


@dataclass(frozen=True, slots=True)
class ClassRows:
    """The errors of some classes in the pictures of all groups, one after another, with so many noise samples."""

    samples: int
    classes: tuple[str, ...]
    rows: Rows


@dataclass(frozen=True, slots=True)
class ClassesGathered:
    """All of a run: the pictures by group, and the errors of target classes and of those of the truth."""

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]
    sources: Outcomes
    targets: tuple[ClassRows, ...]
    labels: tuple[ClassRows, ...]
    showing: tuple[Showing, ...]
    neutrality: tuple[Neutrality, ...]


def gather(plan: ClassificationPlan, run: Run) -> ClassesGathered:
    """Pictures and errors. Raises UsageError for a model that cannot classify, before any picture is made."""
    model = diffusion_model(plan)
    source = registry.model(plan.sources, **plan.sources_args) if plan.sources else cast("Source", model)
    asked = () if plan.vqa == NONE else (plan.vqa,)
    instruments = load_instruments(asked, source, {}, {}, plan.vqa_args)
    groups = social_groups(source, plan.groups)
    (pixels,) = run.look(_pixels, [model])
    readers = tuple(instruments.values())
    sources, shown = showing_pictures(run, source, groups, plan.images, plan.seed, readers, plan.level)
    targets = _read(plan, run, model, sources, plan.target_classes)
    labels = _read(plan, run, model, sources, plan.classes)
    neutral = neutrality(run, readers, sources, plan.target_classes, plan.level)
    classes = [prompt_of(word, plan.template) for word in (*plan.target_classes, *plan.classes)]
    run.warn(
        *oddities([group.prompt for group in groups], source, instruments),
        *unknown_words(cast("Model", model), classes),
    )
    if all(one.neutral is None for one in neutral):
        run.warn(UNREAD)
    sizes = run.look(size_of, present(sources))
    if not isinstance(pixels, Missing) and (others := sum(size != pixels for size in sizes)):
        run.warn(f"{others} pictures were cut square and scaled to {pixels[0]}x{pixels[1]} pixels, the model's own")
    if plan.classes and (unknown := ", ".join(group for group in plan.groups if group not in plan.true_classes)):
        run.warn(f"no accuracy for {unknown}: which class is right is not known; name it by --truth GROUP=CLASS")
    run.warn(*beyond_drawings([plan.sources or model.name], instruments))
    return ClassesGathered(
        Identity(model.name, model.revision, dict(model.settings)), getattr(model, "device", None),
        fingerprints(instruments),
        tuple(PictureSet.of(group.name, sources[group.name], text=group.prompt) for group in groups),
        sources, targets, labels, shown, neutral,
    )  # fmt: skip


def diffusion_model(plan: ClassificationPlan) -> WhiteBox:
    """The plan's model. Raises UsageError for a black box, with commands that would work."""
    name, model = plan.model, registry.model(plan.model, **plan.model_args)
    if "mitigation" in getattr(model, "settings", {}):
        raise UsageError(f"a mitigation changes pictures that {name} makes, and not how it tells noise from a picture, "
                         "which is what classifies: leave --mitigation out")  # fmt: skip
    if not getattr(model, "has_pipeline", False):
        raise UsageError(
            f"{name} is a black box: its pictures can be seen, not how it removes noise, which is what classifies. "
            f"Classify them with a diffusion model: askew classify --model studio --sources {name}, or --model "
            f"diffusers/ID-OR-PATH; or measure {name} itself: askew audit … --model {name}"
        )
    return cast("WhiteBox", model)


def _read(
    plan: ClassificationPlan, run: Run, model: WhiteBox, sources: Outcomes, classes: tuple[str, ...]
) -> tuple[ClassRows, ...]:
    """The errors with every number of noise samples; of no class nothing."""
    pictures, prompts = present(sources), [prompt_of(word, plan.template) for word in classes]
    seed_of = partial(derived_seed, plan.seed, "denoising")
    found = []
    for samples in plan.samples if classes else ():
        reader = ClassErrors(model, prompts, samples, seed=plan.seed, seed_of=seed_of, loss=plan.loss)
        found.append(ClassRows(samples, classes, run.read(reader, pictures, "errors", reader.at_once)))
    return tuple(found)


def _pixels(model: WhiteBox) -> tuple[int, int]:
    """Width and height of the pictures that a model takes. Raises UsageError for a family that cannot classify."""
    from askew.measure.denoising import Denoiser

    return Denoiser(model.pipeline, ()).pixels
