"""Image sets and their labels, which are the common input of all methods."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import basename
from typing import Self

from askew.types import (
    Axis,
    Missing,
    MissingItem,
    MissingReason,
    Picture,
    Prompt,
    is_copy,
    missing_items,
)

Answer = str | Missing
AnswersByPicture = Mapping[str, Sequence[Answer]]
"""Answers to the questions of all axes, keyed by image id."""


@dataclass(frozen=True, slots=True)
class ObservedSet:
    """The images of a prompt, and their labels.

    A missing image is missing for all instruments, for the same reason.

    Attributes
    ----------
    prompt : Prompt
        The prompt of the images.
    pictures : tuple of Picture or Missing
        The images.
    values : mapping
        Labels, keyed by instrument and axis, in the order of `pictures`.
    captions : tuple of Answer
        Captions in the order of `pictures`.
    """

    prompt: Prompt
    pictures: tuple[Picture | Missing, ...]
    values: Mapping[str, Mapping[str, tuple[Answer, ...]]]
    captions: tuple[Answer, ...]

    @property
    def name(self) -> str:
        """Name of the set within its audit: "initial" or "AXIS: VALUE"."""
        return self.prompt.set_name

    def counts(self, instrument: str, axis: Axis) -> list[int]:
        """Count the images that show each value of an axis, in the order of the values."""
        tally = Counter(self.values[instrument][axis.name])
        return [tally[value] for value in axis.values]

    def missing(self, instrument: str, axis: Axis) -> dict[MissingReason, int]:
        """Count the images without a label on an axis, keyed by reason."""
        return tally_missing(self.values[instrument][axis.name])

    def missing_labels(self, instrument: str, axis: Axis) -> tuple[MissingItem, ...]:
        """Return, for each reason, examples of existing images without a label on an axis."""
        labels = self.values[instrument][axis.name]
        named = []
        for number, (picture, label) in enumerate(zip(self.pictures, labels, strict=True), 1):
            if isinstance(picture, Picture):
                named.append((basename(picture.source or "") or f"image {number}", label))
        return missing_items(named)

    def picked(self, places: Iterable[int]) -> Self:
        """Return a set that contains only the images at the given positions and their labels."""
        chosen = list(places)
        values = {}
        for instrument, by_axis in self.values.items():
            values[instrument] = {axis: _at(labels, chosen) for axis, labels in by_axis.items()}
        return replace(
            self,
            pictures=tuple(self.pictures[place] for place in chosen),
            values=values,
            captions=_at(self.captions, chosen),
        )


def _at(answers: Sequence[Answer], places: Sequence[int]) -> tuple[Answer, ...]:
    return tuple(answers[place] for place in places)


def observe(
    prompt: Prompt,
    pictures: Sequence[Picture | Missing],
    axes: Sequence[Axis],
    answers: Mapping[str, AnswersByPicture],
    captioner: str | None,
) -> ObservedSet:
    """Build an image set from the raw answers of instruments.

    Parameters
    ----------
    prompt, pictures, axes
        Prompt, its images, and the axes about which the instruments were asked.
    answers
        Answers to the axes' questions, in order, keyed by instrument and image id.
    captioner
        Instrument whose last answer about each image is a caption. None means no caption.
    """
    values = {
        instrument: _labels_by_axis(pictures, axes, by_picture)
        for instrument, by_picture in answers.items()
    }
    captions: list[Answer] = []
    for picture in pictures:
        if isinstance(picture, Missing):
            captions.append(picture)
        elif captioner is None:
            captions.append(Missing("not_asked"))
        else:
            captions.append(answers[captioner][picture.id][-1])
    return ObservedSet(
        prompt=prompt, pictures=tuple(pictures), values=values, captions=tuple(captions)
    )


def _labels_by_axis(
    pictures: Sequence[Picture | Missing], axes: Sequence[Axis], answers: AnswersByPicture
) -> dict[str, tuple[Answer, ...]]:
    """Return an instrument's labels for all images, keyed by axis."""
    columns: dict[str, list[Answer]] = {axis.name: [] for axis in axes}
    for picture in pictures:
        labels: Mapping[str, Answer] = {}
        if isinstance(picture, Picture):
            labels = axis_answers(axes, answers[picture.id])
        for name, column in columns.items():
            column.append(picture if isinstance(picture, Missing) else labels[name])
    return {name: tuple(column) for name, column in columns.items()}


def axis_answers(axes: Sequence[Axis], row: Sequence[Answer]) -> dict[str, Answer]:
    """Derive the label on each axis from the answers about an image.

    Parameters
    ----------
    axes
        Axes about which the instrument was asked.
    row
        Answers in the order of the axes' questions. Further answers may follow.
    """
    labels = {}
    start = 0
    for axis in axes:
        stop = start + len(axis.questions)
        labels[axis.name] = axis.read(row[start:stop])
        start = stop
    return labels


def tally_missing(answers: Iterable[object]) -> dict[MissingReason, int]:
    """Count the missing answers for each reason, in alphabetical order of the reasons.

    Repeated images are not counted, because the answers about the first copy apply to them.
    """
    missing = [answer for answer in answers if isinstance(answer, Missing)]
    reasons = Counter(answer.reason for answer in missing if not is_copy(answer))
    return dict(sorted(reasons.items()))


def why_missing(
    sets: Iterable[ObservedSet], instrument: str, axis: Axis, detail: str = ""
) -> Missing:
    """Return a `Missing` with the most frequent reason why labels on an axis are missing."""
    reasons: Counter[MissingReason] = Counter()
    for observed in sets:
        reasons.update(observed.missing(instrument, axis))
    if not reasons:
        return Missing("not_asked", detail)
    return Missing(max(reasons, key=lambda reason: (reasons[reason], reason)), detail)
