"""What `askew classify` costs: pictures of social groups, and a network's errors in them for every
class.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self, cast

import numpy as np

from askew import mitigations
from askew.errors import UsageError
from askew.findings import GatheredData, Identity, PictureSet
from askew.measure.class_errors import ClassErrors
from askew.methods.classify.plan import NONE, ClassificationPlan
from askew.models.base import Model, WhiteBox, is_mitigated
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.parts.sources.group_check import checked_pictures
from askew.parts.sources.groups import Outcomes, Source, present, size_of, social_groups
from askew.parts.sources.neutrality import neutrality
from askew.parts.survey.instruments import (
    fingerprints,
    load_instruments,
    source_warnings,
    studio_warnings,
    unknown_words,
)
from askew.prompts.given import prompt_of
from askew.run.base import Rows, Run
from askew.store.keys import derived_seed
from askew.types import Missing, Picture


@dataclass(frozen=True, slots=True)
class ErrorsOfClasses:
    """Errors with one number of noise samples: by group (pictures, classes, samples). Smaller
    errors fit better.
    """

    samples: int
    classes: tuple[str, ...]
    errors: Mapping[str, Rows]

    @classmethod
    def of(cls, samples: int, classes: tuple[str, ...], rows: Rows, sources: Outcomes) -> Self:
        """Of rows of the pictures of all groups, one after another."""
        ends = np.cumsum(
            [sum(isinstance(one, Picture) for one in outcomes) for outcomes in sources.values()]
        )
        errors = np.split(rows.reshape(len(rows), len(classes), -1), ends[:-1])
        return cls(samples, classes, dict(zip(sources, errors, strict=True)))


@dataclass(frozen=True, slots=True)
class ClassesGathered(GatheredData):
    """All of a run: the pictures by group, and the errors of target classes and of those of the
    truth.
    """

    targets: tuple[ErrorsOfClasses, ...]
    labels: tuple[ErrorsOfClasses, ...]
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]


def gather(plan: ClassificationPlan, run: Run) -> ClassesGathered:
    """Pictures and errors. Raises UsageError for a model that cannot classify, before any picture
    is made.
    """
    model = diffusion_model(plan)
    source = (
        mitigations.open_model(plan.sources, plan.sources_args)
        if plan.sources
        else cast("Source", model)
    )
    asked = () if plan.vqa == NONE else (plan.vqa,)
    instruments = load_instruments(asked, source, {}, {}, plan.vqa_args)
    groups = social_groups(source, plan.groups)
    (pixels,) = run.look(_pixels, [model])
    readers = tuple(instruments.values())
    sources, shown = checked_pictures(
        run, source, groups, plan.images, plan.seed, readers, plan.confidence
    )

    def read(classes: tuple[str, ...]) -> Iterator[ErrorsOfClasses]:
        """The errors with every number of noise samples; of no class nothing."""
        prompts = [prompt_of(word, plan.template) for word in classes]
        seed_of = partial(derived_seed, plan.seed, "denoising")
        for samples in plan.samples if classes else ():
            reader = ClassErrors(
                model, prompts, samples, seed=plan.seed, seed_of=seed_of, loss=plan.loss
            )
            rows = run.read(reader, present(sources), "errors", reader.at_once)
            yield ErrorsOfClasses.of(samples, classes, rows, sources)

    targets = tuple(read(plan.target_classes))
    labels = tuple(read(plan.classes))
    neutral = neutrality(run, readers, sources, plan.target_classes, plan.confidence)
    classes = [prompt_of(word, plan.template) for word in (*plan.target_classes, *plan.classes)]
    run.warn(*source_warnings([group.prompt for group in groups], source, instruments))
    run.warn(*unknown_words(cast("Model", model), classes))
    if all(one.neutral is None for one in neutral):
        run.warn(
            "nobody has read whether the pictures show their group, or one of the classes already: name who does "
            "by --vqa, or of a folder a person's labels by --label occupation=COLUMN"
        )
    sizes = run.look(size_of, present(sources))
    if not isinstance(pixels, Missing) and (others := sum(size != pixels for size in sizes)):
        run.warn(
            f"{others} pictures were cut square and scaled to {pixels[0]}x{pixels[1]} pixels, the model's own"
        )
    if plan.classes and (
        unknown := ", ".join(group for group in plan.groups if group not in plan.true_classes)
    ):
        run.warn(
            f"no accuracy for {unknown}: which class is right is not known; name it by --truth GROUP=CLASS"
        )
    run.warn(*studio_warnings([plan.sources or model.name], instruments))
    return ClassesGathered(
        Identity(model.name, model.revision, dict(model.settings)),
        getattr(model, "device", None),
        fingerprints(instruments),
        tuple(
            PictureSet.of(group.name, sources[group.name], text=group.prompt) for group in groups
        ),
        targets,
        labels,
        shown,
        neutral,
    )


def diffusion_model(plan: ClassificationPlan) -> WhiteBox:
    """The plan's model. Raises UsageError for a black box, with commands that would work."""
    name = plan.model
    model = mitigations.open_model(plan.model, plan.model_args)
    if is_mitigated(model):
        raise UsageError(
            f"a mitigation changes images that {name} makes, but not how it separates noise from "
            "an image, by which it classifies; leave out -M mitigation"
        )
    if not getattr(model, "has_pipeline", False):
        raise UsageError(
            f"{name} is a black box: its pictures can be seen, not how it removes noise, which is what classifies. "
            f"Classify them with a diffusion model: askew classify --model studio --sources {name}, or --model "
            f"diffusers/ID-OR-PATH; or measure {name} itself: askew audit … --model {name}"
        )
    return cast("WhiteBox", model)


def _pixels(model: WhiteBox) -> tuple[int, int]:
    """Width and height of the pictures that a model takes. Raises UsageError for a family that
    cannot classify.
    """
    from askew.measure.denoising import Denoiser

    return Denoiser(model.pipeline, ()).pixels
