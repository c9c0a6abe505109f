"""Average faces of a group before and after editing, and their skin tone ("downstream", figures 12-15, tables 2-3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.measure.portraits import CANONICAL, FRAME, cheek_mask
from askew.measure.skin import SCHEME, Mask, ita, skin_mask, tone
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
    if not readings.faces:
        return None
    sources, cheeks = cell.group.sources, cheek_mask((FRAME, FRAME), CANONICAL)
    stacks = [_stack(rows, readings.faces) for rows in ([sources], cell.rows)]
    thin = [(np.ascontiguousarray(sums[:, ::THINNED, ::THINNED]), counts) for sums, counts in stacks]
    whole, thinned = (None, None) if readings.mask == RULE else (cheeks, cheeks[::THINNED, ::THINNED])
    (before, covered_before), (after, covered_after) = (_tone(one, np.ones(len(sources)), whole) for one in stacks)
    weights = bootstrap_weights(len(sources), min(scoring.draws, DRAWS), rng)
    tones = ([_tone(one, row, thinned)[0] for row in weights] for one in thin)
    drawn = [np.array([np.nan if isinstance(one, Missing) else one for one in some]) for some in tones]
    faces_before, faces_after = (int(counts.sum()) for _, counts in stacks)
    change = before if isinstance(before, Missing) else after if isinstance(after, Missing) else after - before
    return FaceTone(
        ita_before=_estimate(before, drawn[0], scoring.level, faces_before),
        ita_after=_estimate(after, drawn[1], scoring.level, faces_after),
        ita_change=_estimate(change, drawn[1] - drawn[0], scoring.level, faces_after, null=0.0),
        tone_before=None if isinstance(before, Missing) else tone(before),
        tone_after=None if isinstance(after, Missing) else tone(after),
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


def _tone(stack: Stack, weights: NDArray[np.float64], mask: Mask | None) -> tuple[float | Missing, float | None]:
    """ITA of the average face at these weights of the sources, and the share of it that is skin: without a mask, by
    its colour."""
    sums, counts = stack
    if not (total := float(weights @ counts)):
        return Missing("no_face", "one face was found in no picture"), None
    face = (np.tensordot(weights, sums, axes=1) / total).round().clip(0, 255).astype(np.uint8)
    skin = skin_mask(face) if mask is None else mask
    return ita(face, skin), float(skin.mean())


def _estimate(
    value: float | Missing, drawn: NDArray[np.float64], level: float, n: int, null: float | None = None
) -> Estimate | Missing:
    """With percentiles of the draws that show skin."""
    if isinstance(value, Missing):
        return value
    known = drawn[~np.isnan(drawn)]
    low, high = percentile_interval(known, level) if len(known) else (value, value)
    return Estimate(value, low, high, level, METHOD, n, null=null)
