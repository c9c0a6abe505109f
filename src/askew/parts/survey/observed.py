"""Picture sets with what the instruments saw in them: the common ground of all methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from askew.types import Axis, Missing, MissingReason, Picture, Prompt

Answer = str | Missing


@dataclass(frozen=True, slots=True)
class ObservedSet:
    """The pictures of one prompt, and by instrument and axis the value read from each of them.

    `captions` and every tuple in `values` run parallel to `pictures`. A picture that is missing is missing, for
    the same reason, to every instrument.
    """

    prompt: Prompt
    pictures: tuple[Picture | Missing, ...]
    values: Mapping[str, Mapping[str, tuple[Answer, ...]]]
    captions: tuple[Answer, ...]

    @property
    def name(self) -> str:
        """The set's name within its audit: "initial" or "AXIS: VALUE"."""
        return self.prompt.set_name

    def counts(self, instrument: str, axis: Axis) -> list[int]:
        """How many pictures show each of the axis's values, in their order."""
        tally = Counter(v for v in self.values[instrument][axis.name] if not isinstance(v, Missing))
        return [tally[value] for value in axis.values]

    def missing(self, instrument: str, axis: Axis) -> dict[MissingReason, int]:
        """How many pictures gave no value on this axis, by reason."""
        return tally_missing(self.values[instrument][axis.name])

    def picked(self, places: Iterable[int]) -> ObservedSet:
        """Some of the pictures, with what was read in them."""
        kept = [*places]
        values = {
            name: {axis: tuple(column[k] for k in kept) for axis, column in by_axis.items()}
            for name, by_axis in self.values.items()
        }
        pictures, captions = tuple(self.pictures[k] for k in kept), tuple(self.captions[k] for k in kept)
        return replace(self, pictures=pictures, values=values, captions=captions)


def observe(
    prompt: Prompt,
    pictures: Sequence[Picture | Missing],
    axes: Sequence[Axis],
    answers: Mapping[str, Mapping[str, Sequence[Answer]]],
    captioner: str | None,
) -> ObservedSet:
    """A set from raw answers: by instrument, then picture id, answers to the axes' questions in order.

    The instrument `captioner` was asked for a caption after the axes' questions.
    """
    values: dict[str, dict[str, tuple[Answer, ...]]] = {}
    for instrument, by_picture in answers.items():
        rows = [one if isinstance(one, Missing) else axis_answers(axes, by_picture[one.id]) for one in pictures]
        values[instrument] = {
            axis.name: tuple(row if isinstance(row, Missing) else row[axis.name] for row in rows) for axis in axes
        }
    captions = tuple(
        p if isinstance(p, Missing) else Missing("not_asked") if captioner is None else answers[captioner][p.id][-1]
        for p in pictures
    )
    return ObservedSet(prompt, tuple(pictures), values, captions)


def axis_answers(axes: Sequence[Axis], row: Sequence[Answer]) -> dict[str, Answer]:
    """By axis the value that answers say; they follow each other in the order of the axes' questions."""
    values, start = {}, 0
    for axis in axes:
        stop = start + len(axis.questions)
        values[axis.name], start = axis.read(row[start:stop]), stop
    return values


def tally_missing(answers: Iterable[object]) -> dict[MissingReason, int]:
    """Counts of the missing ones by reason, in the order of the reasons' names."""
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Missing))
    return dict(sorted(reasons.items()))
