"""Measure the skin tone of average faces ("downstream" paper, tables 1 to 3).

The mask determines which pixels count as skin. With `rule`, these are all pixels whose color is a
skin color, as in the paper. With `geometry`, they are the cheeks of an aligned face.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.findings import E
from askew.measure.portraits import CANONICAL, FRAME, cheek_mask
from askew.measure.skin import Mask, ita, skin_mask
from askew.methods.edit.cells import EditCell, EditReadings, Floats
from askew.methods.edit.findings import FaceTone
from askew.parts.scoring import Scoring
from askew.run.base import Outcome
from askew.stats.intervals import bootstrap_weights, from_enough, percentile_interval
from askew.types import Estimate, Missing, Picture

FACE_DRAWS = 200
"""Maximum number of bootstrap samples. askew computes an average face for each sample."""

THINNED = 2
"""Step between the rows and columns of an average face that bootstrap samples use.

Every second row and column is enough because average faces are smooth.
"""

CHEEK_MASK = cheek_mask((FRAME, FRAME), CANONICAL)
"""Pixels of the cheeks in an aligned face."""


@dataclass(frozen=True, slots=True)
class AverageTone:
    """ITA of an average face.

    Attributes
    ----------
    ita : float or Missing
        ITA in degrees.
    draws : ndarray, shape (draws,)
        ITA of the average face in each bootstrap sample of the input images. NaN if a sample shows
        no skin.
    faces : int
        Number of averaged faces.
    sources : int
        Number of input images from which these faces come.
    """

    ita: float | Missing
    draws: Floats
    faces: int
    sources: int


def average_tones(
    cell: EditCell, readings: EditReadings, rng: np.random.Generator, scoring: Scoring
) -> FaceTone | None:
    """Compute the ITA of the average input face and the average edited face, and their difference.

    Intervals come from a percentile bootstrap that resamples input images together with their
    edits. Samples that show no skin are omitted.

    Parameters
    ----------
    cell : EditCell
        A group and some of its edits.
    readings : EditReadings
        Aligned faces, and the mask that selects skin.
    rng : Generator
        Random generator for the bootstrap.
    scoring : Scoring
        Number of bootstrap samples, at most `FACE_DRAWS`, and confidence level.

    Returns
    -------
    FaceTone or None
        ITA in degrees. None if faces were not detected.
    """
    if not readings.faces:
        return None
    weights = bootstrap_weights(len(cell.group.sources), min(scoring.draws, FACE_DRAWS), rng)
    before = _average_tone([cell.group.sources], readings, weights)
    after = _average_tone(cell.rows, readings, weights)
    change = AverageTone(
        ita=_difference(after.ita, before.ita),
        draws=after.draws - before.draws,
        faces=after.faces,
        sources=min(after.sources, before.sources),
    )
    return FaceTone(
        ita_before=_estimate(before, scoring.level),
        ita_after=_estimate(after, scoring.level),
        ita_change=_estimate(change, scoring.level, null=0.0),
    )


def _difference(after: float | Missing, before: float | Missing) -> float | Missing:
    if isinstance(before, Missing):
        return before
    if isinstance(after, Missing):
        return after
    return after - before


def _estimate(tone: AverageTone, level: float, null: float | None = None) -> E:
    if isinstance(tone.ita, Missing):
        return tone.ita
    estimate = Estimate(value=tone.ita, n=tone.faces, null=null)
    known = tone.draws[~np.isnan(tone.draws)]
    if not len(known):
        return estimate
    low, high = percentile_interval(known, level)
    estimate = replace(
        estimate,
        low=low,
        high=high,
        level=level,
        interval="percentile bootstrap over sources",
    )
    return from_enough(estimate, tone.sources)


@dataclass(frozen=True, slots=True)
class FaceSums:
    """Sums of aligned faces: for each input image, its own face or the faces in its edits.

    Attributes
    ----------
    pixels : ndarray, shape (sources, height, width, 3)
        Sum of the faces for each input image.
    counts : ndarray of int, shape (sources,)
        Number of faces in each sum.
    cheeks : ndarray of bool, shape (height, width)
        Pixels of the cheeks.
    mask : str
        Pixels that count as skin: "rule" or "geometry".
    """

    pixels: Floats
    counts: NDArray[np.int64]
    cheeks: Mask
    mask: str

    def thinned(self) -> "FaceSums":
        """Return the sums with only every second row and column of pixels."""
        return FaceSums(
            pixels=np.ascontiguousarray(self.pixels[:, ::THINNED, ::THINNED]),
            counts=self.counts,
            cheeks=self.cheeks[::THINNED, ::THINNED],
            mask=self.mask,
        )

    def tone(self, weights: Floats) -> float | Missing:
        """Return the ITA of the average face, given a weight for each input image."""
        total = float(weights @ self.counts)
        if not total:
            return Missing("no_face", "no image has exactly one detected face")
        mean = np.tensordot(weights, self.pixels, axes=1) / total
        face = mean.round().clip(0, 255).astype(np.uint8)
        return ita(face, skin_mask(face) if self.mask == "rule" else self.cheeks)


def _average_tone(
    rows: Sequence[Sequence[Outcome]], readings: EditReadings, weights: Floats
) -> AverageTone:
    """Return the ITA of the average face of all images in `rows`, with its bootstrap samples."""
    sums = _face_sums(rows, readings)
    thin = sums.thinned()
    draws = []
    for of_draw in weights:
        tone = thin.tone(of_draw)
        draws.append(np.nan if isinstance(tone, Missing) else tone)
    return AverageTone(
        ita=sums.tone(np.ones(len(sums.counts))),
        draws=np.array(draws),
        faces=int(sums.counts.sum()),
        sources=int(np.count_nonzero(sums.counts)),
    )


def _face_sums(rows: Sequence[Sequence[Outcome]], readings: EditReadings) -> FaceSums:
    sources = len(rows[0])
    pixels = np.zeros((sources, *_face_shape(readings)))
    counts = np.zeros(sources, dtype=np.int64)
    for row in rows:
        for number, outcome in enumerate(row):
            face = readings.faces.get(outcome.id) if isinstance(outcome, Picture) else None
            if isinstance(face, np.ndarray):
                pixels[number] += face
                counts[number] += 1
    return FaceSums(pixels=pixels, counts=counts, cheeks=CHEEK_MASK, mask=readings.mask)


def _face_shape(readings: EditReadings) -> tuple[int, ...]:
    faces = (face.shape for face in readings.faces.values() if isinstance(face, np.ndarray))
    return next(faces, (1, 1, 3))
