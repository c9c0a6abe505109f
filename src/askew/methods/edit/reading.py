"""What was made of a group's pictures by editing, what is read from all of them, and some of a
group's edits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, Embedder
from askew.measure.faces import Landmarks
from askew.measure.portraits import NOT_SOUGHT, Face, SkinChange, find_face, skin_changes
from askew.measure.skin import Bytes
from askew.methods.edit.plan import NONE, EditPlan
from askew.parts.scoring import Vectors
from askew.parts.sources.group_check import axis_values
from askew.parts.sources.neutrality import occupation_question
from askew.run.base import Answer, Outcome, Run
from askew.types import Missing, Picture

Floats = NDArray[np.float64]
"""(sources, words), NaN where one of a pair is missing."""

DIFFERENCES = {"ita": ("after", "before"), "beyond_exposure": ("lightness", "background")}
"""Measures of skin that are one field of `SkinChange` less another."""


@dataclass(frozen=True, slots=True)
class EditedGroup:
    """The pictures of one group, what they become by encoding and decoding alone, and their edits.

    `restored` and every row of `edits`, by target and strength, run parallel to `sources`.
    """

    name: str
    sources: tuple[Outcome, ...]
    restored: tuple[Outcome, ...]
    edits: Mapping[tuple[str, float], tuple[Outcome, ...]]


@dataclass(frozen=True, slots=True)
class EditReadings:
    """What was read from the pictures, by their id.

    values  by axis the value seen by the first instrument that tells it; `occupations` as a person is seen to have
    skin    by (id of a source, id of its edit); `mask`: how it was found, rule or geometry
    faces   aligned faces, or why there is none; empty without landmarks, as `vectors` are without an embedder
    """

    values: Mapping[str, Mapping[str, Answer]]
    occupations: Mapping[str, Answer]
    vectors: Mapping[str, Vectors]
    skin: Mapping[tuple[str, str], SkinChange]
    faces: Mapping[str, Bytes | Missing]
    mask: str


def read(
    plan: EditPlan,
    run: Run,
    instruments: Mapping[str, VQA],
    embedder: Embedder | None,
    groups: Sequence[EditedGroup],
) -> EditReadings:
    """Everything that is read from sources, from what encoding and decoding makes of them, and from
    edits.
    """
    looked = _distinct(row for group in groups for row in (group.sources, *group.edits.values()))
    pictures = _distinct([looked, *(group.restored for group in groups)])
    axes = [axis.axis() for axis in plan.axes]
    values = axis_values(
        run,
        instruments.values(),
        axes,
        pictures,
        lambda vqa: [occupation_question(vqa, plan.words)],
    )
    occupations = values.pop("")
    vectors = (
        {}
        if embedder is None
        else dict(zip((p.id for p in pictures), run.read(embedder, pictures), strict=True))
    )
    faces: dict[str, Face | Missing] = {}
    if plan.landmarks != NONE:
        faces = dict(
            zip(
                (p.id for p in looked),
                run.look(partial(find_face, plan.landmarks), looked),
                strict=True,
            )
        )

    def located(one: Picture) -> tuple[Picture, Landmarks | Missing]:
        face = faces.get(one.id, NOT_SOUGHT)
        return one, face.landmarks if isinstance(face, Face) else face

    compared = []
    for group in groups:
        for source, *edits in zip(group.sources, *group.edits.values(), strict=True):
            if isinstance(source, Picture):
                compared.append(
                    [located(one) for one in (source, *edits) if isinstance(one, Picture)]
                )
    skin: dict[tuple[str, str], SkinChange] = {}
    for (source, *edits), changes in zip(
        compared, run.look(partial(skin_changes, plan.skin), compared), strict=True
    ):
        if not isinstance(changes, Missing):
            skin |= {
                (source[0].id, edit.id): c for (edit, _), c in zip(edits, changes, strict=True)
            }
    aligned = {one: face.pixels if isinstance(face, Face) else face for one, face in faces.items()}
    return EditReadings(values, occupations, vectors, skin, aligned, plan.skin)


def _distinct(rows: Iterable[Iterable[Outcome]]) -> list[Picture]:
    return list({one.id: one for row in rows for one in row if isinstance(one, Picture)}.values())


@dataclass(frozen=True, slots=True)
class EditCell:
    """A group with its edits towards some words at a strength."""

    group: EditedGroup
    words: tuple[str, ...]
    strength: float

    @property
    def rows(self) -> list[tuple[Outcome, ...]]:
        """The edits towards each word."""
        return [self.group.edits[word, self.strength] for word in self.words]

    def pairs(
        self, measure: Callable[[Picture, Picture], float], rows: Sequence[Sequence[Outcome]] = ()
    ) -> Floats:
        """A measure of every picture (rows) and each of its edits (columns), or what stands for it
        in other `rows`.
        """
        return np.array(
            [
                [
                    measure(a, b) if isinstance(a, Picture) and isinstance(b, Picture) else np.nan
                    for a, b in zip(self.group.sources, row, strict=True)
                ]
                for row in rows or self.rows
            ],
            dtype=float,
        ).T

    def changes(self, seen: Mapping[str, Answer], rows: Sequence[Sequence[Outcome]] = ()) -> Floats:
        """Whether the value of an axis changed: 1 or 0, NaN where it was not read from both."""

        def differs(a: Picture, b: Picture) -> float:
            before = seen.get(a.id)
            after = seen.get(b.id)
            return (
                float(before != after)
                if isinstance(before, str) and isinstance(after, str)
                else np.nan
            )

        return self.pairs(differs, rows)

    def skin(self, readings: EditReadings, measure: str) -> Floats:
        """A measure of the change of skin: a field of `SkinChange`, or one of `DIFFERENCES`."""

        def number(a: Picture, b: Picture) -> float:
            change = readings.skin.get((a.id, b.id))
            parts = [getattr(change, name, None) for name in DIFFERENCES.get(measure, (measure,))]
            known = [
                float(part) for part in parts if part is not None and not isinstance(part, Missing)
            ]
            return known[0] - sum(known[1:]) if len(known) == len(parts) else np.nan

        return self.pairs(number)


def average(values: Floats) -> float | None:
    """The mean of what is known; None where nothing is."""
    return None if np.isnan(values).all() else float(np.nanmean(values))
