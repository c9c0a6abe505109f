"""A score that counts: how far what a prompt's pictures show on named axes lies from equal shares.

Every picture is assigned to a value of each axis: by a VQA, or by an embedder to the value whose
variation of the prompt ("a photo of a female nurse") it is nearest to, which is the most probable
one by softmax at any logit scale.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from askew.errors import UsageError
from askew.measure.base import PERSON, VQA, Embedder
from askew.methods.mine.objectives import NO_PICTURE, Objective, ObjectiveReading, enough
from askew.parts.scoring import Scoring
from askew.parts.survey import shares
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.parts.survey.reader import NOBODY
from askew.plan import AxisPlan
from askew.prompts.axes import catalogue
from askew.prompts.counterfactuals import counterfactual, counterfactuals
from askew.prompts.statements import states
from askew.run.base import Outcome, Run
from askew.stats.distance import distance_max, distance_named, expected_distance
from askew.types import Axis, Estimate, Missing, Picture, Prompt


@dataclass(frozen=True, slots=True)
class SkewReading:
    """Which values of the `axes` that a prompt leaves open its pictures show, as read by an
    instrument.

    `stated` is whether it states another one itself, which counts 0.
    """

    seen: ObservedSet
    instrument: str
    axes: tuple[Axis, ...]
    stated: bool

    def leans(self) -> dict[Axis, float | Missing]:
        """By open axis (distance - null) / (maximum - null) of the shares from equal ones.

        0 is the mean of a fair model whatever the number of pictures, 1 is reached where all show
        one value. The null is the exact mean distance of as many pictures drawn from equal shares.
        Missing where too few could be read.
        """
        found: dict[Axis, float | Missing] = {}
        for axis in self.axes:
            counts = self.seen.counts(self.instrument, axis)
            asked = len(self.seen.pictures)
            if sum(counts) < max(2, enough(asked)):
                told = (
                    f"{axis.label} could be read in fewer than {enough(asked)} of {asked} pictures"
                )
                found[axis] = Missing("error", told)
                continue
            even = np.full(len(counts), 1 / len(counts))
            name = shares.DISTANCE[axis.scale]
            null = expected_distance(sum(counts), even, name)
            found[axis] = float(
                (distance_named(name)(counts, even) - null) / (distance_max(even, name) - null)
            )
        return found

    def axis(self) -> Axis | None:
        """The open axis on which it leans most; None where none could be read."""
        known = {axis: lean for axis, lean in self.leans().items() if not isinstance(lean, Missing)}
        return max(known, key=lambda axis: known[axis], default=None)

    def loss(self) -> float | Missing:
        """Less the largest lean. An axis that the prompt states counts 0, so nothing is won by
        stating one.
        """
        leans = [*self.leans().values(), *([0.0] if self.stated else [])]
        known = [lean for lean in leans if not isinstance(lean, Missing)]
        return -max(known) if known else next(lean for lean in leans if isinstance(lean, Missing))

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """The distance from equal shares on that axis, with null, p and corrected, which is the
        lean.
        """
        seen = self.shares(scoring)
        return (
            Missing("not_asked", "the prompt states what is asked for")
            if seen is None
            else seen.distance
        )

    def shares(self, scoring: Scoring) -> shares.SetShares | None:
        """The shares of the axis on which it leans most, and their distance from equal ones with
        interval and p.
        """
        axis = self.axis()
        if axis is None:
            return None
        own = replace(scoring, instrument=self.instrument)
        return shares.shares(self.seen, AxisPlan.of(axis), self.seen.prompt.text, own)


@dataclass(frozen=True)
class SkewObjective(Objective):
    """How far a model leans on axes where a prompt leaves them open; `pictures` of a prompt, by run
    seed and number.
    """

    run: Run
    reader: VQA | Embedder
    pictures: Callable[[str, int, int], Sequence[Outcome]]
    axes: tuple[Axis, ...]
    images: int
    fresh: int

    def read(self, prompt: str, seed: int) -> SkewReading | Missing:
        """Missing where nothing in the prompt could have a value. Where all is stated, no picture
        is made.
        """
        return self._read(prompt, seed, self.images, self.axes)

    def again(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> SkewReading | Missing:
        """On fresh pictures, the axis alone on which it leant most at first: another pick would be
        lucky again.
        """
        axis = first.axis() if isinstance(first, SkewReading) else None
        return self._read(prompt, seed, self.fresh, (axis,)) if axis else self.read(prompt, seed)

    def _read(
        self, prompt: str, seed: int, images: int, axes: Sequence[Axis]
    ) -> SkewReading | Missing:
        forms = variations(prompt, axes)
        if isinstance(forms, Missing):
            return forms
        left = tuple(axis for axis in axes if axis.name in forms and not states(prompt, axis.name))
        pictures = self.pictures(prompt, seed, images) if left else ()
        if left and not any(isinstance(one, Picture) for one in pictures):
            return NO_PICTURE
        return SkewReading(
            self.observed(prompt, pictures, left), self.reader.name, left, len(left) < len(forms)
        )

    def observed(
        self, prompt: str, pictures: Sequence[Outcome], axes: Sequence[Axis]
    ) -> ObservedSet:
        """What these pictures show by a VQA or the nearest variation, of axes that the prompt could
        have a value of.
        """
        forms = variations(prompt, axes)
        known = {} if isinstance(forms, Missing) else forms
        reader = self.reader
        if isinstance(reader, VQA):
            asked = [axis for axis in axes if axis.name in known]
            questions = [*(question for axis in asked for question in axis.questions), PERSON]
            rows = self.run.ask(reader, pictures, questions) if asked else {}
            told = {
                one: [NOBODY] * len(row) if row[-1] == "no" else row for one, row in rows.items()
            }
            return observe(Prompt(prompt), pictures, asked, {reader.name: told}, None)
        vectors = self.run.read(reader, [one for one in pictures if isinstance(one, Picture)])
        texts = self.run.look(reader.embed_texts, [list(one.values()) for one in known.values()])
        values: dict[str, tuple[Answer, ...]] = {}
        for (axis, by_value), own in zip(known.items(), texts, strict=True):
            nearest: Iterator[Answer] = (
                repeat(own)
                if isinstance(own, Missing)
                else (list(by_value)[k] for k in np.argmax(vectors @ np.asarray(own).T, axis=1))
            )
            values[axis] = tuple(
                one if isinstance(one, Missing) else next(nearest) for one in pictures
            )
        nothing = tuple(
            one if isinstance(one, Missing) else Missing("not_asked") for one in pictures
        )
        return ObservedSet(Prompt(prompt), tuple(pictures), {reader.name: values}, nothing)


def details(prompt: str, variation: str) -> dict[str, str]:
    """By axis of the catalogue the value that a variation says of what its prompt leaves open."""
    found = {}
    for name, entry in catalogue().items():
        if states(variation, name) and not states(prompt, name):
            with suppress(UsageError):  # nothing in the variation could have the value
                said = (
                    value
                    for value in entry.axis.values
                    if counterfactual(variation, name, value) == variation
                )
                shown = next(said, None)
                if shown is not None:
                    found[name] = shown
    return found


def variations(prompt: str, axes: Sequence[Axis]) -> dict[str, dict[str, str]] | Missing:
    """By axis a variation of the prompt for each value; without axes that nothing in it could have
    a value of.
    """
    found = {}
    why = ""
    for axis in axes:
        try:
            found[axis.name] = counterfactuals(prompt, axis.name)
        except UsageError as error:
            why = str(error)
    return found or Missing("not_asked", why)
