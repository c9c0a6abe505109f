"""Run the costly part of `askew classify`: obtain input images and their denoising errors."""

from collections.abc import Iterator, Mapping, Sequence
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
from askew.types import Missing


@dataclass(frozen=True, slots=True)
class ErrorsOfClasses:
    """Denoising errors of classes, measured with a given number of noise samples.

    The class with the smaller error fits an image better.

    Attributes
    ----------
    samples : int
        Number of noise samples.
    classes : tuple of str
        The classes.
    errors : mapping of str to ndarray, shape (images, classes, samples)
        Denoising errors, keyed by group.
    """

    samples: int
    classes: tuple[str, ...]
    errors: Mapping[str, Rows]

    @classmethod
    def of(cls, samples: int, classes: tuple[str, ...], rows: Rows, sources: Outcomes) -> Self:
        """Split rows of errors by group. The rows belong to the images of all groups, in order."""
        counts = [len(present({group: outcomes})) for group, outcomes in sources.items()]
        ends = np.cumsum(counts)
        errors = np.split(rows.reshape(len(rows), len(classes), -1), ends[:-1])
        return cls(samples=samples, classes=classes, errors=dict(zip(sources, errors, strict=True)))


@dataclass(frozen=True, slots=True)
class ClassesGathered(GatheredData):
    """All data that a run of `askew classify` obtained.

    Attributes
    ----------
    targets, labels : tuple of ErrorsOfClasses
        Errors of the target classes, and of the classes for which accuracy is measured. Each tuple
        has one entry per number of noise samples.
    showing : tuple of GroupCheck
        For each group, how many of its input images show what the group's name states.
    neutrality : tuple of Neutrality
        For each group, how many of its input images already show a target class.
    """

    targets: tuple[ErrorsOfClasses, ...]
    labels: tuple[ErrorsOfClasses, ...]
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]


def gather(plan: ClassificationPlan, run: Run) -> ClassesGathered:
    """Obtain input images and their denoising errors for each class prompt.

    Parameters
    ----------
    plan : ClassificationPlan
        Plan of the run.
    run : Run
        Run that generates the images and evaluates the model.

    Returns
    -------
    ClassesGathered
        The data from which the scores are computed.

    Raises
    ------
    UsageError
        If the model cannot classify images. The error is raised before any image is generated.
    """
    model = diffusion_model(plan)
    source = cast("Source", model)
    if plan.sources:
        source = mitigations.open_model(plan.sources, plan.sources_args)
    instrument_names = () if plan.vqa == NONE else (plan.vqa,)
    instruments = load_instruments(instrument_names, source, {}, {}, plan.vqa_args)
    labelers = tuple(instruments.values())
    groups = social_groups(source, plan.groups)
    (pixels,) = run.look(_pixels, [model])
    sources, checks = checked_pictures(
        run=run,
        source=source,
        groups=groups,
        images=plan.images,
        seed=plan.seed,
        instruments=labelers,
        level=plan.confidence,
    )
    targets = tuple(_errors(plan, run, model, sources, plan.target_classes))
    labels = tuple(_errors(plan, run, model, sources, plan.classes))
    neutral = neutrality(run, labelers, sources, plan.target_classes, plan.confidence)
    classes = [prompt_of(word, plan.template) for word in (*plan.target_classes, *plan.classes)]
    run.warn(*source_warnings([group.prompt for group in groups], source, instruments))
    run.warn(*unknown_words(cast("Model", model), classes))
    run.warn(*_label_warnings(neutral))
    run.warn(*_size_warnings(pixels, run.look(size_of, present(sources))))
    run.warn(*_truth_warnings(plan))
    run.warn(*studio_warnings([plan.sources or model.name], instruments))
    sets = [PictureSet.of(group.name, sources[group.name], text=group.prompt) for group in groups]
    return ClassesGathered(
        model=Identity(model.name, model.revision, dict(model.settings)),
        device=getattr(model, "device", None),
        instruments=fingerprints(instruments),
        sets=tuple(sets),
        targets=targets,
        labels=labels,
        showing=checks,
        neutrality=neutral,
    )


def _errors(
    plan: ClassificationPlan,
    run: Run,
    model: WhiteBox,
    sources: Outcomes,
    classes: tuple[str, ...],
) -> Iterator[ErrorsOfClasses]:
    """Yield the denoising errors of the classes for each number of noise samples."""
    if not classes:
        return
    prompts = [prompt_of(word, plan.template) for word in classes]
    seed_of = partial(derived_seed, plan.seed, "denoising")
    for samples in plan.samples:
        reader = ClassErrors(
            model, prompts, samples, seed=plan.seed, seed_of=seed_of, loss=plan.loss
        )
        rows = run.read(reader, present(sources), "errors", reader.at_once)
        yield ErrorsOfClasses.of(samples, classes, rows, sources)


def _label_warnings(neutral: Sequence[Neutrality]) -> list[str]:
    if any(entry.neutral is not None for entry in neutral):
        return []
    return [
        "no instrument checks whether the input images show their group or a target class. "
        "Choose an instrument with --vqa, or give the labels of a folder with --label "
        "occupation=COLUMN"
    ]


def _size_warnings(
    pixels: tuple[int, int] | Missing, sizes: Sequence[tuple[int, int] | Missing]
) -> list[str]:
    others = sum(size != pixels for size in sizes)
    if isinstance(pixels, Missing) or not others:
        return []
    width, height = pixels
    return [
        f"{others} images were cropped to a square and resized to {width}x{height} pixels, the "
        "image size of the model"
    ]


def _truth_warnings(plan: ClassificationPlan) -> list[str]:
    unknown = [group for group in plan.groups if group not in plan.true_classes]
    if not plan.classes or not unknown:
        return []
    return [
        f"accuracy is not measured for {', '.join(unknown)} because the true class is unknown. "
        "Give the true class with --truth GROUP=CLASS"
    ]


def diffusion_model(plan: ClassificationPlan) -> WhiteBox:
    """Load the diffusion model of a plan.

    Raises
    ------
    UsageError
        If the model cannot classify images. The error message suggests other commands.
    """
    name = plan.model
    model = mitigations.open_model(plan.model, plan.model_args)
    if is_mitigated(model):
        raise UsageError(
            f"a mitigation changes the images that {name} generates from prompts, but not the "
            "denoising errors by which the model classifies images; leave out -M mitigation"
        )
    if not getattr(model, "has_pipeline", False):
        raise UsageError(
            f"{name} is a black box: askew can obtain its images, but not its denoising errors. "
            "Classify the images with a diffusion model: askew classify --model studio --sources "
            f"{name}, or --model diffusers/ID-OR-PATH. To measure {name} itself, use askew audit "
            f"… --model {name}"
        )
    return cast("WhiteBox", model)


def _pixels(model: WhiteBox) -> tuple[int, int]:
    """Return the size of a model's images; raise UsageError if it cannot classify images."""
    from askew.measure.denoising import Denoiser

    return Denoiser(model.pipeline, ()).pixels
