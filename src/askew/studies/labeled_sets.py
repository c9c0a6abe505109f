"""Read every instrument's labels for the images of a finished run from the run's store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askew.findings import PictureSet
from askew.method import Result
from askew.parts.survey.observed import Answer, axis_answers
from askew.plan import PromptPlan
from askew.store.keys import question_hash
from askew.store.store import Answers, Store
from askew.types import Axis, Missing

AnyResult = Result[Any, Any]
"""A finished run of any method."""

Labels = Mapping[str, Mapping[str, Answer]]
"""Labels by instrument and axis."""

NOT_STORED = Missing("error", "the store contains no answer")


@dataclass(frozen=True, slots=True)
class LabeledImage:
    """An image in a set, with its labels.

    Attributes
    ----------
    id
        Id of the image; None for a missing image.
    number
        Number of the image in the set, starting at 1.
    seed
        Seed of the image; None if the image was not generated.
    labels
        Labels of the image, keyed by instrument and axis.
    """

    id: str | None
    number: int
    seed: int | None
    labels: Labels


@dataclass(frozen=True, slots=True)
class LabeledSet:
    """An image set with the labels of its images.

    Attributes
    ----------
    number
        Number of the set in the results, starting at 0.
    prompt, name, text
        Audited prompt, name of the set, and prompt from which the images were generated.
    model
        Model that generated the images, if the run has several models.
    axes
        Axes on which the images are labeled.
    images
        Images of the set, with their labels.
    """

    number: int
    prompt: str
    name: str
    text: str
    model: str | None
    axes: tuple[Axis, ...]
    images: tuple[LabeledImage, ...]

    @property
    def values(self) -> Mapping[str, Sequence[str]]:
        """Values of each axis, including values that occur only in labels."""
        values = {axis.name: dict.fromkeys(axis.values) for axis in self.axes}
        for image in self.images:
            for by_axis in image.labels.values():
                for axis, label in by_axis.items():
                    if isinstance(label, str):
                        values[axis].setdefault(label)
        return {axis: tuple(names) for axis, names in values.items()}


def labeled_sets(result: AnyResult) -> tuple[LabeledSet, ...]:
    """Return the image sets of a run, with labels from all instruments of the run.

    If the plan of the run lists no axes, the images have no labels.
    """
    plans = {prompt.text: prompt for prompt in prompt_plans(result.plan)}
    instruments = result.findings.instruments.vqa or {}
    sets = []
    with Store(result.store, create=False) as store:
        for number, image_set in enumerate(result.findings.sets):
            planned = plans.get(image_set.prompt)
            axes = tuple(axis.axis() for axis in planned.axes) if planned else ()
            answers = {
                name: _answers(store, fingerprint, image_set, axes)
                for name, fingerprint in instruments.items()
            }
            sets.append(_labeled_set(number, image_set, axes, answers))
    return tuple(sets)


def prompt_plans(plan: object) -> Sequence[PromptPlan]:
    """Return the prompts of a plan and their axes; empty if the plan lists no axes."""
    prompts = getattr(plan, "prompts", ())
    return [prompt for prompt in prompts if isinstance(prompt, PromptPlan)]


def _answers(
    store: Store, fingerprint: str, image_set: PictureSet, axes: Sequence[Axis]
) -> Answers:
    """Return an instrument's stored answers about the images in a set."""
    names = [name for name in image_set.pictures if name is not None]
    questions = [question for axis in axes for question in axis.questions]
    return store.answers(fingerprint, names, questions) if questions else {}


def _labeled_set(
    number: int, image_set: PictureSet, axes: Sequence[Axis], answers: Mapping[str, Answers]
) -> LabeledSet:
    hashes = [question_hash(question) for axis in axes for question in axis.questions]
    images = []
    pairs = zip(image_set.pictures, image_set.seeds, strict=True)
    for place, (name, seed) in enumerate(pairs, start=1):
        labels: dict[str, Mapping[str, Answer]] = {}
        for instrument, known in answers.items():
            if name is not None and hashes:
                row = [known.get((name, asked), NOT_STORED) for asked in hashes]
                labels[instrument] = axis_answers(axes, row)
        images.append(LabeledImage(id=name, number=place, seed=seed, labels=labels))
    return LabeledSet(
        number=number,
        prompt=image_set.prompt,
        name=image_set.name,
        text=image_set.text,
        model=image_set.model,
        axes=tuple(axes),
        images=tuple(images),
    )
