"""What is read from pictures of people, and from what editing makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from askew.measure.base import VQA, Embedder
from askew.measure.colour import Bytes
from askew.measure.landmarks import LandmarkFinder
from askew.measure.looks import Looks
from askew.measure.skin_change import SkinChange, skin_change
from askew.methods.editing import EditedGroup, Readings
from askew.methods.editing_faces import AlignedFaces
from askew.methods.sources import occupation_question
from askew.parts.scoring import Vectors
from askew.parts.survey.observed import Answer
from askew.plans.editing import EditPlan
from askew.run.edit_work import AverageFaces
from askew.run.run import Run
from askew.types import Missing, Picture, Question

PIECEWISE = "piecewise"


@dataclass(frozen=True)
class EditReader:
    """The instruments of a plan of edits: who answers questions, who tells likeness, who finds faces."""

    plan: EditPlan
    run: Run
    instruments: Mapping[str, VQA]
    embedder: Embedder | None
    finder: LandmarkFinder | None

    def questions(self, vqa: VQA) -> list[Question]:
        """What an instrument is asked about every picture."""
        axes = [axis.axis() for axis in self.plan.prompts[0].axes]
        return [*(question for axis in axes for question in axis.questions), self._occupation(vqa)]

    def __call__(self, groups: Sequence[EditedGroup]) -> Readings:
        """Everything that is read from sources, from what encoding and decoding makes of them, and from edits."""
        everything = [
            one
            for group in groups
            for row in (group.sources, group.restored, *group.edits.values())
            for one in row
            if isinstance(one, Picture)
        ]
        distinct = list({one.id: one for one in everything}.values())
        vectors = self._vectors(distinct)
        skin, faces = self._looks(groups)
        return Readings(self._values(distinct), self._occupations(distinct), vectors, skin, faces, self.plan.skin)

    def _occupation(self, vqa: VQA) -> Question:
        return occupation_question(vqa, self.plan.words)

    def _values(self, pictures: Sequence[Picture]) -> dict[str, dict[str, Answer]]:
        """By axis what was seen, by the first instrument that sees anything."""
        axes = [axis.axis() for axis in self.plan.prompts[0].axes]
        found: dict[str, dict[str, Answer]] = {}
        for vqa in self.instruments.values():
            answers, start = self.run.answers(vqa, pictures, self.questions(vqa)), 0
            for axis in axes:
                stop = start + len(axis.questions)
                seen = {one: axis.read(row[start:stop]) for one, row in answers.items()}
                if axis.name not in found or all(isinstance(value, Missing) for value in found[axis.name].values()):
                    found[axis.name] = seen
                start = stop
        return found

    def _occupations(self, pictures: Sequence[Picture]) -> dict[str, Answer]:
        """The occupation seen in every picture, by the first instrument that tells any."""
        found: dict[str, Answer] = {}
        for vqa in self.instruments.values():
            if all(isinstance(answer, Missing) for answer in found.values()):
                answers = self.run.answers(vqa, pictures, [self._occupation(vqa)])
                found = {one: row[0] for one, row in answers.items()}
        return found

    def _vectors(self, pictures: Sequence[Picture]) -> dict[str, Vectors]:
        if self.embedder is None:
            return {}
        rows = self.run.vectors(self.embedder, pictures)
        return dict(zip((one.id for one in pictures), rows, strict=True))

    def _looks(
        self, groups: Sequence[EditedGroup]
    ) -> tuple[dict[tuple[str, str], SkinChange], dict[str, Bytes | Missing]]:
        """Skin before and after every edit, and aligned faces. Every picture is opened once."""
        plan = self.plan
        looks, skin = Looks(self.finder, plan.skin, piecewise=plan.alignment == PIECEWISE), {}
        for group in groups:
            for at, source in enumerate(group.sources):
                edits = [row[at] for row in group.edits.values() if isinstance(row[at], Picture)]
                if isinstance(source, Missing):
                    continue
                before = looks.see(source)
                for edit in edits:
                    if isinstance(edit, Picture):
                        after = looks.see(edit)
                        skin[source.id, edit.id] = skin_change(before.image, after.image, (before.mask, after.mask))
        return skin, looks.faces

    def average_faces(self, groups: Sequence[EditedGroup], faces: AlignedFaces) -> list[dict[str, Any]]:
        """The average face of every group, and of its edits by set of targets and strength, stored as pictures."""
        if self.finder is None:
            return []
        plan = self.plan
        way = self.finder.fingerprint + (f" {PIECEWISE}" if plan.alignment == PIECEWISE else "")
        maker = AverageFaces(way, faces)
        cells: list[tuple[EditedGroup, str | None, float | None, list[Picture | Missing]]] = []
        for group in groups:
            cells.append((group, None, None, list(group.sources)))
            for name, words in plan.targets.items():
                for strength in plan.strengths:
                    cells.append(
                        (group, name, strength, [one for word in words for one in group.edits[word, strength]])
                    )
        wanted = [maker.wanted(group.name, some) for group, _, _, some in cells]
        sets = {one.key: cell[3] for one, cell in zip(wanted, cells, strict=True) if one}
        made = self.run.made(maker, [one for one in wanted if one], partial(maker.make, sets))
        return [
            {"group": group.name, "targets": name, "strength": strength, "n": len(some),
             "picture": None if one is None or isinstance(face := made[one.key], Missing) else face.id}
            for one, (group, name, strength, some) in zip(wanted, cells, strict=True)
        ]  # fmt: skip
