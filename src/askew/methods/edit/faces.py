"""Average faces of a group before and after editing, and their skin tone ("downstream", figures 12-15, tables 2-3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.measure.portraits import CANONICAL, FRAME, cheek_mask
from askew.measure.skin import SCHEME, Bytes, Mask, ita, skin_mask, tone
from askew.methods.edit.findings import Coverage, FaceTone
from askew.methods.edit.reading import AlignedFaces, Cell, Readings
from askew.parts.scoring import Scoring
from askew.run.base import Outcome
from askew.stats.intervals import bootstrap_weights, percentile_interval
from askew.types import Estimate, Missing, Picture

DRAWS = 200
"""The most draws: an average face is made for each."""

THINNED = 2
"""Draws are scored on every second pixel and row; averages are smooth."""

RULE = "rule"
"""Skin by its colour."""

METHOD = "percentile bootstrap over sources"


def average_tones(cell: Cell, readings: Readings, rng: np.random.Generator, scoring: Scoring) -> FaceTone | None:
    """ITA of the average face of the sources and of all their edits, their difference, and how many faces they are of.

    None without landmarks. The readings' mask says which pixels are skin: rule, those of its colour, as in the paper;
    geometry, where an aligned face has its cheeks. Coverage is their share of the frame. Bootstrap over sources, with
    their edits.
    """
    faces, level = readings.faces, scoring.level
    if not faces:
        return None
    sources = cell.group.sources
    before, after = _stack([sources], faces), _stack(cell.rows, faces)
    whole, thinned = _masks(readings.mask)
    (value_before, covered_before), (value_after, covered_after) = _tone_of(before, whole), _tone_of(after, whole)
    weights = bootstrap_weights(len(sources), min(scoring.draws, DRAWS), rng)
    thin = [(np.ascontiguousarray(sums[:, ::THINNED, ::THINNED]), counts) for sums, counts in (before, after)]
    drawn = [np.array([_drawn(stack, row, thinned) for row in weights]) for stack in thin]
    faces_before, faces_after = int(before[1].sum()), int(after[1].sum())
    change = (
        value_before if isinstance(value_before, Missing)
        else value_after if isinstance(value_after, Missing) else value_after - value_before
    )  # fmt: skip
    return FaceTone(
        ita_before=_estimate(value_before, drawn[0], level, faces_before),
        ita_after=_estimate(value_after, drawn[1], level, faces_after),
        ita_change=_estimate(change, drawn[1] - drawn[0], level, faces_after, null=0.0),
        tone_before=None if isinstance(value_before, Missing) else tone(value_before),
        tone_after=None if isinstance(value_after, Missing) else tone(value_after),
        tone_scheme=SCHEME,
        coverage=Coverage(readings.mask, covered_before, covered_after),
        faces_before=faces_before,
        faces_after=faces_after,
    )


Stack = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Sums of the faces that belong to each source, (sources, height, width, 3), and how many they are."""


def _stack(rows: Sequence[Sequence[Outcome]], faces: AlignedFaces) -> Stack:
    shape = next((face.shape for face in faces.values() if isinstance(face, np.ndarray)), (1, 1, 3))
    sums, counts = np.zeros((len(rows[0]), *shape)), np.zeros(len(rows[0]), dtype=np.int64)
    for row in rows:
        for at, one in enumerate(row):
            face = faces.get(one.id) if isinstance(one, Picture) else None
            if isinstance(face, np.ndarray):
                sums[at] += face
                counts[at] += 1
    return sums, counts


MaskOf = Callable[[Bytes], Mask]
"""Which pixels of an average face are skin."""


def _masks(name: str) -> tuple[MaskOf, MaskOf]:
    """Of whole faces, and of thinned ones."""
    if name == RULE:
        return skin_mask, skin_mask
    cheeks = cheek_mask((FRAME, FRAME), CANONICAL)
    return lambda face: cheeks, lambda face: cheeks[::THINNED, ::THINNED]


def _tone_of(stack: Stack, mask_of: MaskOf) -> tuple[float | Missing, float | None]:
    """ITA of the average face, and the share of it that is skin."""
    sums, counts = stack
    if not counts.any():
        return Missing("no_face", "one face was found in no picture"), None
    face = _rounded(sums.sum(axis=0) / counts.sum())
    mask = mask_of(face)
    return ita(face, mask), float(mask.mean())


def _drawn(stack: Stack, weights: NDArray[np.float64], mask_of: MaskOf) -> float:
    """ITA of the average face at these weights of the sources, NaN if it shows no skin."""
    sums, counts = stack
    total = float(weights @ counts)
    if total == 0:
        return np.nan
    face = _rounded(np.tensordot(weights, sums, axes=1) / total)
    found = ita(face, mask_of(face))
    return np.nan if isinstance(found, Missing) else found


def _rounded(mean: NDArray[np.float64]) -> Bytes:
    return np.asarray(mean.round().clip(0, 255).astype(np.uint8))


def _estimate(
    value: float | Missing, drawn: NDArray[np.float64], level: float, n: int, null: float | None = None
) -> Estimate | Missing:
    """With percentiles of the draws that show skin."""
    if isinstance(value, Missing):
        return value
    known = drawn[~np.isnan(drawn)]
    low, high = percentile_interval(known, level) if len(known) else (value, value)
    return Estimate(value, low, high, level, METHOD, n, null=null)
