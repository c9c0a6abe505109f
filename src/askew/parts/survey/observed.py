"""Picture sets with what the instruments saw in them: the common ground of all methods. And whether
pictures are missing more often in some sets than in others, as when a safety checker hides one
group.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from askew.models.folder import INITIAL
from askew.parts.scoring import Scoring
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.intervals import benjamini_hochberg
from askew.types import Axis, Missing, MissingReason, Picture, Prompt, record

Answer = str | Missing


@dataclass(frozen=True, slots=True)
class ObservedSet:
    """The pictures of one prompt, and by instrument and axis the value read from each of them;
    `captions` and every tuple in `values` run parallel to `pictures`. A missing picture is missing
    to every instrument, for one reason.
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

    def picked(self, places: Iterable[int]) -> Self:
        """Some of the pictures, with what was read in them."""
        kept = [*places]
        values = {
            name: {axis: tuple(column[k] for k in kept) for axis, column in by_axis.items()}
            for name, by_axis in self.values.items()
        }
        pictures = tuple(self.pictures[k] for k in kept)
        captions = tuple(self.captions[k] for k in kept)
        return replace(self, pictures=pictures, values=values, captions=captions)


def observe(
    prompt: Prompt,
    pictures: Sequence[Picture | Missing],
    axes: Sequence[Axis],
    answers: Mapping[str, Mapping[str, Sequence[Answer]]],
    captioner: str | None,
) -> ObservedSet:
    """A set from raw answers: by instrument, then picture id, answers to the axes' questions in
    order. The instrument `captioner` was asked for a caption after the axes' questions.
    """
    values: dict[str, dict[str, tuple[Answer, ...]]] = {}
    for instrument, by_picture in answers.items():
        rows = [
            one if isinstance(one, Missing) else axis_answers(axes, by_picture[one.id])
            for one in pictures
        ]
        values[instrument] = {
            axis.name: tuple(row if isinstance(row, Missing) else row[axis.name] for row in rows)
            for axis in axes
        }
    captions = tuple(
        p
        if isinstance(p, Missing)
        else Missing("not_asked")
        if captioner is None
        else answers[captioner][p.id][-1]
        for p in pictures
    )
    return ObservedSet(prompt, tuple(pictures), values, captions)


def axis_answers(axes: Sequence[Axis], row: Sequence[Answer]) -> dict[str, Answer]:
    """By axis the value that answers say; they follow each other in the order of the axes'
    questions.
    """
    values = {}
    start = 0
    for axis in axes:
        stop = start + len(axis.questions)
        values[axis.name], start = axis.read(row[start:stop]), stop
    return values


def tally_missing(answers: Iterable[object]) -> dict[MissingReason, int]:
    """Counts of the missing ones by reason, in the order of the reasons' names."""
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Missing))
    return dict(sorted(reasons.items()))


def why_missing(
    sets: Iterable[ObservedSet], instrument: str, axis: Axis, detail: str = ""
) -> Missing:
    """For the commonest reason why pictures of some sets have no value on an axis."""
    reasons = Counter(
        gap.reason
        for one in sets
        for gap in one.values[instrument][axis.name]
        if isinstance(gap, Missing)
    )
    return Missing(max(reasons, key=lambda r: (reasons[r], r)) if reasons else "not_asked", detail)


DECISIVE = 0.05
"""The p about which more permutations are drawn."""


@record
class MissingCount:
    """How many pictures are missing, of how many that were planned."""

    missing: int
    planned: int

    @classmethod
    def of(cls, pictures: Sequence[object]) -> Self:
        """Of pictures, those that are `Missing`."""
        return cls(sum(isinstance(one, Missing) for one in pictures), len(pictures))


@record
class MissingPictures:
    """By value of an axis how many pictures are missing, and Pearson's chi-squared test of whether
    rates differ: by permutation, with `draws`, where counts are small; q by Benjamini-Hochberg over
    all entries of a run.
    """

    prompt: str | None
    axis: str
    counts: Mapping[str, MissingCount]
    chi2: float
    dof: int
    p: float
    draws: int
    cramers_v: float
    q: float


U = TypeVar("U", bound=MissingPictures)


def missing_pictures(
    sets: Mapping[str, Sequence[ObservedSet]], scoring: Scoring
) -> tuple[MissingPictures, ...]:
    """Per prompt and axis, the initial set beside those of the axis."""
    counted = [
        (
            {"prompt": prompt, "axis": axis},
            {
                one.prompt.value or INITIAL: MissingCount.of(one.pictures)
                for one in some
                if one.prompt.axis in (None, axis)
            },
        )
        for prompt, some in sets.items()
        for axis in dict.fromkeys(one.prompt.axis for one in some if one.prompt.axis is not None)
    ]
    return uneven(MissingPictures, counted, scoring)


def uneven(
    kind: type[U],
    counted: Sequence[tuple[Mapping[str, str | None], Mapping[str, MissingCount]]],
    scoring: Scoring,
) -> tuple[U, ...]:
    """A test per table of what is missing by value, one family of q-values. Each table comes with
    those fields of `kind` that say what it is about, in the order in which they name its random
    draws. Tables without a missing picture, or without any other, are left out.
    """
    tested = []
    for about, counts in counted:
        planned = {value: one for value, one in counts.items() if one.planned}
        missing = sum(one.missing for one in planned.values())
        if len(planned) < 2 or not 0 < missing < sum(one.planned for one in planned.values()):
            continue
        table = [[one.missing, one.planned - one.missing] for one in planned.values()]
        rng = scoring.rng(*map(str, about.values()), "missing pictures")
        test = chi_square(table, rng=rng, threshold=DECISIVE)
        assert isinstance(test, ChiSquare)  # some pictures are missing, some are not
        tested.append(
            kind(
                **about,  # type: ignore[arg-type]
                counts=planned,
                chi2=test.statistic,
                dof=test.dof,
                p=test.p,
                draws=test.draws or 0,
                cramers_v=test.cramers_v,
                q=test.p,
            )
        )
    qs = benjamini_hochberg(np.array([one.p for one in tested]))
    return tuple(replace(one, q=float(q)) for one, q in zip(tested, qs, strict=True))
