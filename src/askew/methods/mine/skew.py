"""Measure the skew of a prompt's images: how far an axis's shares deviate from equal shares.

Each image is assigned to a value of each axis. Either a VQA model or an embedder labels the image.
The embedder assigns the image to the value whose variation of the prompt (such as "a photo of a
female nurse") is most similar to the image. The most similar value has the largest softmax
probability at any logit scale. An image that does not show a person has no value on an axis about
people. An embedder decides whether an image shows a person by comparing it with captions of people
and of other subjects.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError
from askew.measure.base import PERSON, VQA, Embedder
from askew.measure.subjects import needs_person, shows_person, subject_vectors
from askew.methods.mine.objectives import (
    NO_PICTURE,
    Objective,
    ObjectiveReading,
    TextVectors,
    enough,
    present,
)
from askew.parts.scoring import Scoring
from askew.parts.survey import shares
from askew.parts.survey.confusion import Errors, calibration
from askew.parts.survey.observed import Answer, ObservedSet, observe, why_missing
from askew.parts.survey.reader import NOBODY
from askew.parts.survey.shares import Counts
from askew.plan import AxisPlan
from askew.prompts.axes import catalogue
from askew.prompts.counterfactuals import counterfactual, counterfactuals
from askew.prompts.fitting import is_stated
from askew.prompts.statements import states
from askew.run.base import Outcome, Rows, Run
from askew.run.inquiries import Inquiry, Reading
from askew.stats.distance import distance_max, distance_named, expected_distance
from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question


@dataclass(frozen=True, slots=True)
class SkewReading:
    """Labels of a prompt's images on the axes on which the prompt states no value.

    Attributes
    ----------
    seen
        The images and their labels.
    instrument
        Name of the VQA model or embedder that labeled the images.
    axes
        Axes on which the prompt states no value.
    stated
        True if the prompt states a value on another axis of the search. The skew on that axis is 0.
    errors
        Known errors of the instrument.
    """

    seen: ObservedSet
    instrument: str
    axes: tuple[Axis, ...]
    stated: bool
    errors: Errors = field(default_factory=dict)

    def deviations(self) -> dict[Axis, float | Missing]:
        """Return the skew of each axis.

        The skew is (distance - null) / (maximum - null), where "distance" is the distance of the
        shares from equal shares. The null is the exact mean distance that the same number of images
        would have if they were drawn from equal shares. The mean skew of an unbiased model is
        therefore 0 for any number of images. A skew of 1 means that all images have the same value.

        Returns
        -------
        dict of Axis to float or Missing
            Skew of each axis; missing if too few images are labeled.
        """
        return {axis: self._deviation(axis) for axis in self.axes}

    def _deviation(self, axis: Axis) -> float | Missing:
        counts = self.seen.counts(self.instrument, axis)
        images = len(self.seen.pictures)
        if sum(counts) < max(2, enough(images)):
            return self._unlabeled(axis)
        equal = np.full(len(counts), 1 / len(counts))
        name = shares.DISTANCE[axis.scale]
        null = expected_distance(sum(counts), equal, name)
        distance = distance_named(name)(counts, equal)
        return float((distance - null) / (distance_max(equal, name) - null))

    def _unlabeled(self, axis: Axis) -> Missing:
        """Return a Missing that states how few images are labeled on an axis."""
        missing = why_missing([self.seen], self.instrument, axis)
        images = len(self.seen.pictures)
        return replace(
            missing,
            detail=f"{axis.label} could be labeled in fewer than {enough(images)} of {images} images",
        )

    def counts(self) -> dict[str, tuple[int, ...]]:
        """Count the images with each value, for all axes that have enough labeled images."""
        return {
            axis.name: tuple(self.seen.counts(self.instrument, axis))
            for axis, deviation in self.deviations().items()
            if not isinstance(deviation, Missing)
        }

    def axis(self) -> Axis | None:
        """Return the axis with the largest skew; None if no axis has enough labeled images."""
        known = {
            axis: deviation
            for axis, deviation in self.deviations().items()
            if not isinstance(deviation, Missing)
        }
        return max(known, key=lambda axis: known[axis], default=None)

    def loss(self) -> float | Missing:
        """Return minus the largest skew.

        An axis on which the prompt states a value has skew 0, so a search gains nothing from such a
        prompt.
        """
        deviations = list(self.deviations().values())
        if self.stated:
            deviations.append(0.0)
        known = [deviation for deviation in deviations if not isinstance(deviation, Missing)]
        return -max(known) if known else self._first_missing()

    def _first_missing(self) -> Missing:
        """Return the reason why the first axis has no skew."""
        for deviation in self.deviations().values():
            if isinstance(deviation, Missing):
                return deviation
        return Missing("not_asked", "the prompt states the axis")

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """Return the distance from equal shares on the axis with the largest skew.

        The field `corrected` of the result is the skew.
        """
        entry = self.shares(scoring)
        return self._first_missing() if entry is None else entry.distance

    def shares(self, scoring: Scoring) -> shares.SetShares | None:
        """Return the shares on the most skewed axis, with their distance from equal shares.

        The result is None if no axis has enough labeled images.
        """
        axis = self.axis()
        if axis is None:
            return None
        by_instrument = replace(scoring, instrument=self.instrument)
        prompt = self.seen.prompt.text
        return shares.shares(
            self.seen, AxisPlan.of(axis), prompt, by_instrument, self.errors_on(axis)
        )

    def errors_on(self, axis: Axis) -> Counts | None:
        """Return the known errors of the instrument on an axis; None if they are unknown."""
        return self.errors.get((self.instrument, axis.name))

    def first_images(self, count: int) -> "SkewReading":
        """Return the measurement, restricted to the first images."""
        return replace(self, seen=self.seen.picked(range(min(count, len(self.seen.pictures)))))


@dataclass(frozen=True)
class SkewObjective(Objective):
    """Objective that measures skew on the axes for which a prompt states no value.

    Attributes
    ----------
    run
        Run that generates and labels images.
    reader
        VQA model or embedder that labels images.
    pictures
        Function that takes a prompt, a run seed and a number of images, and returns the prompt's
        images.
    axes
        Axes of the search.
    images
        Number of images that a search uses for each prompt.
    eval_images
        Number of held-out images for each selected prompt.
    """

    run: Run
    reader: VQA | Embedder
    pictures: Callable[[str, int, int], Sequence[Outcome]]
    axes: tuple[Axis, ...]
    images: int
    eval_images: int
    _subjects: dict[str, Rows] = field(default_factory=dict, repr=False)
    _open_axes: dict[str, tuple[Axis, ...]] = field(default_factory=dict, repr=False)

    def needs_images(self, prompt: str) -> bool:
        """Check whether an axis applies to a prompt that states no value on it."""
        return bool(self.open_axes(prompt))

    def open_axes(self, prompt: str) -> tuple[Axis, ...]:
        """Return the axes that apply to a prompt and on which it states no value."""
        if prompt not in self._open_axes:
            self._open_axes[prompt] = unstated(prompt, self.axes)
        return self._open_axes[prompt]

    def prepare(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Label the images of several prompts at once."""
        self.prepare_axes(pictures, self.axes)

    def prepare_axes(self, pictures: Mapping[str, Sequence[Outcome]], axes: Sequence[Axis]) -> None:
        """Label the images of several prompts on the axes on which each prompt states no value."""
        axes_of = {prompt: unstated(prompt, axes) for prompt in pictures}
        prompts = [prompt for prompt, of_prompt in axes_of.items() if of_prompt]
        if isinstance(self.reader, VQA):
            inquiries = [
                Inquiry(self.reader, pictures[prompt], _questions(axes_of[prompt]))
                for prompt in prompts
            ]
            self.run.ask_all(inquiries)
            return
        self.run.read_all([Reading(self.reader, present(pictures[text])) for text in prompts])
        lists: list[Sequence[str]] = []
        for prompt in prompts:
            lists += _lists_of_texts(variations(prompt, axes_of[prompt]))
        self.texts.of(lists)

    def ask_all(self, image_sets: Sequence[tuple[str, Sequence[Outcome]]], axis: Axis) -> None:
        """Label images of several prompts on an axis.

        Prompts to which the axis does not apply are omitted.
        """
        assert isinstance(self.reader, VQA)
        inquiries = [
            Inquiry(self.reader, pictures, _questions([axis]))
            for prompt, pictures in image_sets
            if not isinstance(variations(prompt, [axis]), Missing)
        ]
        self.run.ask_all(inquiries)

    @cached_property
    def texts(self) -> TextVectors:
        """Embeddings of variations, from the embedder that labels images."""
        assert not isinstance(self.reader, VQA)
        return TextVectors(self.run, self.reader)

    def held_out_axes(self, first: ObjectiveReading | Missing) -> tuple[Axis, ...]:
        """Return the axis with the largest skew in the first images; all axes if it is unknown."""
        axis = first.axis() if isinstance(first, SkewReading) else None
        return self.axes if axis is None else (axis,)

    def held_out_images(self, first: ObjectiveReading | Missing) -> int:
        """Return how many held-out images a prompt needs."""
        axis = first.axis() if isinstance(first, SkewReading) else None
        return self.images if axis is None else self.eval_images

    def read(self, prompt: str, seed: int) -> SkewReading | Missing:
        """Label a prompt's images.

        Returns
        -------
        SkewReading or Missing
            The labels; Missing if no axis applies to the prompt. If the prompt states a value on
            every axis, no image is generated.
        """
        return self._read(prompt, seed, self.images, self.axes)

    def read_held_out(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> SkewReading | Missing:
        """Label held-out images on the axis with the largest skew in the first images.

        If the held-out images determined the axis, deviations that are large by chance would be
        favored.
        """
        return self._read(prompt, seed, self.held_out_images(first), self.held_out_axes(first))

    def _read(
        self, prompt: str, seed: int, images: int, axes: Sequence[Axis]
    ) -> SkewReading | Missing:
        texts = variations(prompt, axes)
        if isinstance(texts, Missing):
            return texts
        asked = unstated(prompt, axes)
        pictures = self.pictures(prompt, seed, images) if asked else ()
        if asked and not any(isinstance(picture, Picture) for picture in pictures):
            return NO_PICTURE
        return SkewReading(
            seen=self.observed(prompt, pictures, asked),
            instrument=self.reader.name,
            axes=asked,
            stated=len(asked) < len(texts),
            errors=calibration(self.reader.name, self.reader, asked),
        )

    def observed(
        self, prompt: str, pictures: Sequence[Outcome], axes: Sequence[Axis]
    ) -> ObservedSet:
        """Return labels for images, from the VQA model or from the most similar variations.

        Parameters
        ----------
        prompt
            The prompt.
        pictures
            Images of the prompt.
        axes
            Axes to label. Axes that do not apply to the prompt are omitted.
        """
        texts = variations(prompt, axes)
        known = {} if isinstance(texts, Missing) else texts
        if isinstance(self.reader, VQA):
            asked = [axis for axis in axes if axis.name in known]
            return self._answered(self.reader, prompt, pictures, asked)
        return self._most_similar(self.reader, prompt, pictures, known)

    def _answered(
        self, vqa: VQA, prompt: str, pictures: Sequence[Outcome], axes: Sequence[Axis]
    ) -> ObservedSet:
        """Return labels from a VQA model.

        Images without a person get no label on axes about people.
        """
        rows = self.run.ask(vqa, pictures, _questions(axes)) if axes else {}
        answers: dict[str, Sequence[Answer]] = {}
        for picture, row in rows.items():
            answers[picture] = _without_person(axes, row) if row[-1] == "no" else row
        return observe(Prompt(prompt), pictures, axes, {vqa.name: answers}, None)

    def _shows_person(self, embedder: Embedder, vectors: Rows) -> NDArray[np.bool_]:
        """Check for each image whether it shows a person; all True in a `CountingRun`."""
        if not len(vectors):
            return np.ones(0, dtype=bool)
        if embedder.name not in self._subjects:
            (subjects,) = self.run.look(subject_vectors, [embedder])
            if isinstance(subjects, Missing):
                return np.ones(len(vectors), dtype=bool)
            self._subjects[embedder.name] = subjects
        return shows_person(vectors, self._subjects[embedder.name])

    def _most_similar(
        self,
        embedder: Embedder,
        prompt: str,
        pictures: Sequence[Outcome],
        texts: Mapping[str, Mapping[str, str]],
    ) -> ObservedSet:
        """Return labels from an embedder, which compares images with the variations for each axis.

        Images without a person get no label on axes about people.
        """
        vectors = self.run.read(embedder, present(pictures))
        embedded = self.texts.of(_lists_of_texts(texts))
        somebody = self._shows_person(embedder, vectors)
        labels: dict[str, tuple[Answer, ...]] = {}
        for (axis, by_value), rows in zip(texts.items(), embedded, strict=True):
            nearest = _nearest_values(vectors, list(by_value), rows)
            if needs_person(axis):
                nearest = [
                    label if there else NOBODY
                    for label, there in zip(nearest, somebody, strict=True)
                ]
            labels[axis] = _with_missing(pictures, nearest)
        unasked = tuple(
            picture if isinstance(picture, Missing) else Missing("not_asked")
            for picture in pictures
        )
        return ObservedSet(Prompt(prompt), tuple(pictures), {embedder.name: labels}, unasked)


def unstated(prompt: str, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the axes that apply to a prompt and on which it states no value."""
    texts = variations(prompt, axes)
    if isinstance(texts, Missing):
        return ()
    return tuple(axis for axis in axes if axis.name in texts and not is_stated(prompt, axis.name))


def _questions(axes: Sequence[Axis]) -> list[Question]:
    """Return the questions about all axes, then a question that asks whether a person is shown."""
    return [*(question for axis in axes for question in axis.questions), PERSON]


def _lists_of_texts(texts: Mapping[str, Mapping[str, str]] | Missing) -> list[list[str]]:
    """Return a list of variations for each axis."""
    if isinstance(texts, Missing):
        return []
    return [list(by_value.values()) for by_value in texts.values()]


def _nearest_values(
    vectors: Rows, values: Sequence[str], texts: Rows | Missing
) -> Sequence[Answer]:
    """Return, for each image, the value whose text is most similar to the image.

    `texts` contains an embedding for each value. `texts` is Missing in a `CountingRun`.
    """
    if isinstance(texts, Missing):
        return [texts] * len(vectors)
    return [values[place] for place in np.argmax(vectors @ np.asarray(texts).T, axis=1)]


def _with_missing(pictures: Sequence[Outcome], labels: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return labels for all images, given the labels of the images that are not missing."""
    remaining = iter(labels)
    return tuple(
        picture if isinstance(picture, Missing) else next(remaining) for picture in pictures
    )


def _without_person(axes: Sequence[Axis], answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers about an image without a person; mark answers about people as missing."""
    labels: list[Answer] = []
    for axis in axes:
        of_axis = answers[len(labels) : len(labels) + len(axis.questions)]
        labels += [NOBODY] * len(of_axis) if needs_person(axis.name) else of_axis
    return labels


def details(prompt: str, variation: str) -> dict[str, str]:
    """Return the values that a variation states, for axes on which its prompt states no value.

    Returns
    -------
    dict of str to str
        Stated values, keyed by the name of an axis in the catalog.
    """
    stated: dict[str, str] = {}
    for name, entry in catalogue().items():
        if states(variation, name) and not states(prompt, name):
            value = _stated_value(variation, name, entry.axis.values)
            if value is not None:
                stated[name] = value
    return stated


def _stated_value(text: str, axis: str, values: Sequence[str]) -> str | None:
    """Return the value of an axis that a text states; None if it states no value."""
    with suppress(UsageError):
        for value in values:
            if counterfactual(text, axis, value) == text:
                return value
    return None


def variations(prompt: str, axes: Sequence[Axis]) -> dict[str, dict[str, str]] | Missing:
    """Return a variation of the prompt for each value of each axis.

    Returns
    -------
    dict or Missing
        Texts, keyed by axis and value. Axes that do not apply to the prompt are omitted. Missing
        if no axis applies.
    """
    texts = {}
    reason = ""
    for axis in axes:
        try:
            texts[axis.name] = counterfactuals(prompt, axis.name)
        except UsageError as error:
            reason = str(error)
    return texts or Missing("not_asked", reason)
