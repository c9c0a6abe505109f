"""Records of groups, edits and labels, and functions that compare input images with their edits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.measure.portraits import SkinChange
from askew.measure.skin import Bytes
from askew.methods.edit.plan import GENDER
from askew.parts.scoring import Scoring, Vectors
from askew.run.base import Answer, Outcome
from askew.types import Missing, Picture

Floats = NDArray[np.float64]
"""Array of shape (sources, words). The measure is NaN if either image has no measurement."""

PairMeasure = Callable[[Picture, Picture], float]
"""Function that computes a measure from an input image and its edit."""

SKIN_DIFFERENCES = {"ita": ("after", "before"), "beyond_exposure": ("lightness", "background")}
"""Measures of skin.

Each measure is a difference: the first field of `SkinChange` minus the second.
"""


@dataclass(frozen=True, slots=True)
class EditedGroup:
    """Input images and edits of a social group.

    Attributes
    ----------
    name : str
        Name of the group.
    sources : tuple of Outcome
        The input images.
    restored : tuple of Outcome
        Each input image after encoding and decoding without an edit. Empty if the autoencoder of
        the model is not accessible.
    edits : mapping of (word, strength) to tuple of Outcome
        For each word and strength, the edits of all input images, in the order of `sources`.
    """

    name: str
    sources: tuple[Outcome, ...]
    restored: tuple[Outcome, ...]
    edits: Mapping[tuple[str, float], tuple[Outcome, ...]]


@dataclass(frozen=True, slots=True)
class EditReadings:
    """Labels and measurements of the images, keyed by image id.

    Attributes
    ----------
    labels : mapping of axis to mapping of id to label
        Labels for each axis, from the first instrument that labels any image on this axis.
    occupations : mapping of id to answer
        Occupation shown in each image, keyed by image id.
    vectors : mapping of id to vector
        Embeddings of the images. Empty if there is no embedder.
    skin : mapping of (source id, edit id) to SkinChange
        Skin measurements before and after each edit, keyed by the ids of the input image and the
        edit.
    faces : mapping of id to ndarray or Missing
        Aligned faces, each of shape (height, width, 3). Empty if there is no face detector.
    mask : str
        Pixels that count as skin: "rule" or "geometry".
    """

    labels: Mapping[str, Mapping[str, Answer]]
    occupations: Mapping[str, Answer]
    vectors: Mapping[str, Vectors]
    skin: Mapping[tuple[str, str], SkinChange]
    faces: Mapping[str, Bytes | Missing]
    mask: str


@dataclass(frozen=True, slots=True)
class EditCell:
    """A group and its edits toward some words at one strength."""

    group: EditedGroup
    words: tuple[str, ...]
    strength: float

    @property
    def rows(self) -> list[tuple[Outcome, ...]]:
        """The edits toward each word."""
        return [self.group.edits[word, self.strength] for word in self.words]

    def pairs(self, measure: PairMeasure, rows: Sequence[Sequence[Outcome]] = ()) -> Floats:
        """Compute a measure for each pair of an input image and one of its edits.

        Parameters
        ----------
        measure : callable
            Function that computes the measure from an input image and an edit.
        rows : sequence of sequence of Outcome, optional
            Images to use instead of the edits. Each sequence has one image per input image.

        Returns
        -------
        ndarray, shape (sources, rows)
            Measures. NaN where an image is missing.
        """
        measured = [self._pairs_of(measure, row) for row in rows or self.rows]
        return np.array(measured, dtype=float).T

    def _pairs_of(self, measure: PairMeasure, row: Sequence[Outcome]) -> list[float]:
        values = []
        for source, edit in zip(self.group.sources, row, strict=True):
            if isinstance(source, Picture) and isinstance(edit, Picture):
                values.append(measure(source, edit))
            else:
                values.append(np.nan)
        return values

    def changes(
        self, labels: Mapping[str, Answer], rows: Sequence[Sequence[Outcome]] = ()
    ) -> Floats:
        """Return 1 where an edit's label differs from its input image's label, and 0 elsewhere.

        Parameters
        ----------
        labels : mapping of id to label
            Labels on one axis.
        rows : sequence of sequence of Outcome, optional
            Images to use instead of the edits.

        Returns
        -------
        ndarray, shape (sources, rows)
            Changes. NaN where an image is unlabeled.
        """

        def differs(source: Picture, edit: Picture) -> float:
            before = labels.get(source.id)
            after = labels.get(edit.id)
            if isinstance(before, str) and isinstance(after, str):
                return float(before != after)
            return np.nan

        return self.pairs(differs, rows)

    def skin(self, readings: EditReadings, measure: str) -> Floats:
        """Return a measure of the change in skin, as an array of shape (sources, words).

        Parameters
        ----------
        readings : EditReadings
            Measurements of the images.
        measure : str
            A field of `SkinChange`, or a key of `SKIN_DIFFERENCES`.
        """
        fields = SKIN_DIFFERENCES.get(measure, (measure,))

        def number(source: Picture, edit: Picture) -> float:
            change = readings.skin.get((source.id, edit.id))
            return np.nan if change is None else _skin_difference(change, fields)

        return self.pairs(number)


def _skin_difference(change: SkinChange, fields: Sequence[str]) -> float:
    """Return the first field of `SkinChange` minus the second; NaN if either is missing."""
    values = [getattr(change, field) for field in fields]
    if any(isinstance(value, Missing) for value in values):
        return np.nan
    first, *others = map(float, values)
    return first - sum(others)


@dataclass(frozen=True, slots=True)
class EditData:
    """All data from which `askew edit` computes its scores.

    Attributes
    ----------
    groups : sequence of EditedGroup
        The groups with their edits.
    edit_prompts : mapping of str to sequence of str
        Words toward which images are edited, keyed by the name of their set.
    strengths : sequence of float
        Strengths of the edits, in (0, 1].
    readings : EditReadings
        Labels and measurements.
    scoring : Scoring
        Settings for the scores.
    """

    groups: Sequence[EditedGroup]
    edit_prompts: Mapping[str, Sequence[str]]
    strengths: Sequence[float]
    readings: EditReadings
    scoring: Scoring

    def gender_changes(self, cells: Sequence[EditCell]) -> Floats:
        """Return 1 for each edit that changes perceived gender, else 0; one row per input image."""
        labels = self.readings.labels.get(GENDER, {})
        return np.concatenate([cell.changes(labels) for cell in cells])

    def tone_changes(self, cells: Sequence[EditCell]) -> Floats:
        """Return the change in ITA caused by each edit, in degrees, one row per input image."""
        return np.concatenate([cell.skin(self.readings, "ita") for cell in cells])


def average(values: Floats) -> float | None:
    """Return the mean of the known values, or None if no value is known."""
    return None if np.isnan(values).all() else float(np.nanmean(values))
