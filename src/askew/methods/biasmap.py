"""BiasMap: where in a picture, and in the network, two concepts are attended to in the same places.

Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social Biases?"; equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.measure.attention import block_names
from askew.parts.scoring import Scoring
from askew.stats.overlap import (
    Entanglement,
    Mask,
    Threshold,
    chance_iou,
    conditional_chance,
    conditional_iou,
    entanglement,
    iou_matrix,
    joint_chance,
    joint_entanglement,
    mask,
    mean_estimate,
)
from askew.stats.rank import spearman
from askew.stats.resampling import bilinear
from askew.types import Estimate, Missing

Maps = NDArray[np.float64]
Entry = dict[str, Any]

MIDDLE = "mid"
"""The block between the two sides of a UNet; neither the sum of all layers nor mBIoU counts it, as in OVAM."""

FLAT = Missing("error", "a map that is the same everywhere has no place that is high")
ROUNDING = 1e-5
"""Differences within a map, of its largest number, that summing in single precision makes."""


@dataclass(frozen=True, slots=True)
class Masking:
    """Where a map counts as high."""

    threshold: Threshold = "percentile"
    tau: float = 70.0

    def __call__(self, maps: Maps) -> Mask:
        """Masks of maps (..., H, W)."""
        return mask(maps, self.threshold, self.tau)


@dataclass(frozen=True, slots=True)
class PairMaps:
    """Maps of two words in the same pictures: by layer (2, pictures, h, w). `seeds` tell the pictures apart."""

    model: str
    prompt: str
    a: str
    b: str
    layers: Mapping[str, NDArray[np.floating[Any]]]
    seeds: tuple[int | None, ...]
    missing: int = 0

    def blocks(self) -> dict[str, Maps]:
        """By block (2, pictures, H, W), as of `block_maps`."""
        return block_maps(self.layers)

    def total(self) -> Maps:
        """(2, pictures, H, W): the sum of all layers but those in the middle, at the size of the largest (Eq. 2)."""
        total: Maps = np.sum([maps for block, maps in self.blocks().items() if block != MIDDLE], axis=0)
        return total


def block_maps(layers: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Maps]:
    """By block the maps (..., H, W) of layers (..., h, w): their sums, at the size of the largest layer (Eq. 5)."""
    size = max(maps.shape[-2:] for maps in layers.values())
    found: dict[str, Maps] = {}
    names = block_names({name: (maps.shape[-2], maps.shape[-1]) for name, maps in layers.items()})
    for layer, block in names.items():
        found[block] = found.get(block, 0) + bilinear(layers[layer], size)
    return found


def pair_scores(maps: PairMaps, masking: Masking, scoring: Scoring) -> Entry:
    """An entry of `biasmap.pairs`: mIoU, mBIoU and BIoU (Eq. 4-6) with intervals, chance and tests.

    A picture with a map that is the same everywhere is missing, be it in the sum of all layers, in a block or in a
    layer; a score without any picture is Missing. mBIoU does without blocks that have no picture, and counts the
    pictures that all other blocks have. Raises NotEnoughData if there is no picture at all.
    """
    blocks = {block: _overlaps(found, masking) for block, found in maps.blocks().items()}
    whole, mean = _overlaps(maps.total(), masking), _mean_of_blocks(blocks)
    found, of_blocks = _scored(whole, maps, scoring, "whole"), _scored(mean, maps, scoring, "mean of blocks")
    return {
        "prompt": maps.prompt,
        "model": maps.model,
        "a": maps.a,
        "b": maps.b,
        "miou": _field(found, "miou"),
        "corrected": _field(found, "corrected"),
        "mbiou": _field(of_blocks, "miou"),
        "mbiou_corrected": _field(of_blocks, "corrected"),
        "blocks": {block: _field(_scored(one, maps, scoring, block), "miou") for block, one in blocks.items()},
        "layers": _layer_scores(maps, masking, scoring),
        "chance_area": None if isinstance(found, Missing) else found.chance_area,
        "chance_other_picture": None if isinstance(found, Missing) else found.chance_other_picture,
        "pictures": whole.pictures(),
        "block_pictures": mean.pictures(),
        "seeds": list(maps.seeds),
    }


def no_scores(model: str, prompt: str, a: str, b: str, reason: Missing) -> Entry:
    """An entry of `biasmap.pairs` for a prompt that has no picture, with the reason in place of every score."""
    scores = dict.fromkeys(("miou", "corrected", "mbiou", "mbiou_corrected"), reason)
    return {"prompt": prompt, "model": model, "a": a, "b": b, **scores, "blocks": {}, "layers": {}, "chance_area": None,
            "chance_other_picture": None, "pictures": [], "block_pictures": [], "seeds": []}  # fmt: skip


def joint_scores(pairs: Sequence[PairMaps], masking: Masking, scoring: Scoring) -> list[Entry]:
    """Entries of `biasmap.intersections`: every two concepts of a prompt with the word that they are held against.

    The overlap of all three, against chance, and that of each two of them inside and outside the region of the third.
    Pictures with a map that is the same everywhere are missing.
    """
    totals = {maps.a: maps.total() for maps in pairs}
    usable = {a: ~flat_pictures(total) for a, total in totals.items()}
    masks = {a: masking(total) for a, total in totals.items()}
    entries = []
    for first, second in combinations(pairs, 2):
        three = {first.a: masks[first.a][0], second.a: masks[second.a][0], first.b: masks[first.a][1]}
        kept = np.flatnonzero(usable[first.a] & usable[second.a])
        entries.append(_joint_entry({name: m[kept] for name, m in three.items()}, first, scoring))
    return entries


def gradient_scores(entries: Sequence[Mapping[str, Any]], cosines: Mapping[str, float], scoring: Scoring) -> Entry:
    """An entry of `biasmap.gradient`: whether words nearer in meaning overlap more (BiasMap, supplement E).

    `entries` are the pairs of one prompt and model; `cosines` by concept that of its text embedding with the word that
    all are held against.
    """
    first = entries[0]
    found: Entry = {"prompt": first["prompt"], "model": first["model"], "b": first["b"], "cosines": dict(cosines)}
    rng = scoring.rng(first["model"], first["prompt"], first["b"], *cosines, "gradient")
    known = [(cosines[e["a"]], e["miou"].value) for e in entries if isinstance(e["miou"], Estimate)]
    near, overlaps = [cosine for cosine, _ in known], [overlap for _, overlap in known]
    try:
        found["spearman"] = spearman(near, overlaps, rng=rng, draws=scoring.draws, level=scoring.level)
    except NotEnoughData as error:
        found["spearman"] = Missing("error", str(error))
    return found


@dataclass(frozen=True, slots=True)
class _Overlaps:
    """IoU of one concept's masks with the other's, pictures of the first in the rows.

    matrix  (n, n)
    areas   (n,) chance by the areas of a picture's masks
    usable  (n,) whether both maps of a picture have a place that is high
    """

    matrix: NDArray[np.float64]
    areas: NDArray[np.float64]
    usable: NDArray[np.bool_]

    def pictures(self) -> list[float | None]:
        """IoU of every picture; None where it is missing."""
        return [float(v) if known else None for v, known in zip(np.diagonal(self.matrix), self.usable, strict=True)]


def _overlaps(found: Maps, masking: Masking) -> _Overlaps:
    """Of maps (2, pictures, H, W)."""
    masks = masking(found)
    return _Overlaps(iou_matrix(*masks), chance_iou(*masks), ~flat_pictures(found))


def _mean_of_blocks(blocks: Mapping[str, _Overlaps]) -> _Overlaps:
    """Of all blocks but the middle that have a picture, for the pictures that all of them have (Eq. 6)."""
    outer = [one for block, one in blocks.items() if block != MIDDLE]
    counted = [one for one in outer if one.usable.any()] or outer
    return _Overlaps(
        np.mean([one.matrix for one in counted], axis=0),
        np.mean([one.areas for one in counted], axis=0),
        np.all([one.usable for one in counted], axis=0),
    )


def _scored(overlaps: _Overlaps, maps: PairMaps, scoring: Scoring, what: str) -> Entanglement | Missing:
    kept = np.flatnonzero(overlaps.usable)
    if not len(kept):
        return FLAT
    rng = scoring.rng(maps.model, maps.prompt, maps.a, maps.b, what)
    lost = maps.missing + len(overlaps.usable) - len(kept)
    return entanglement(overlaps.matrix[np.ix_(kept, kept)], float(overlaps.areas[kept].mean()), rng=rng,
                        draws=scoring.draws, level=scoring.level, missing=lost)  # fmt: skip


def _field(found: Entanglement | Missing, name: str) -> Estimate | Missing:
    part: Estimate | Missing = found if isinstance(found, Missing) else getattr(found, name)
    return part


def _layer_scores(maps: PairMaps, masking: Masking, scoring: Scoring) -> Entry:
    size = max(found.shape[-2:] for found in maps.layers.values())
    return {
        name: _field(_scored(_overlaps(bilinear(found, size), masking), maps, scoring, name), "miou")
        for name, found in maps.layers.items()
    }


def flat_pictures(maps: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """By picture, (pictures,), whether one of its maps (words, pictures, H, W) has no place that is high.

    Such a map is the same everywhere, but for rounding.
    """
    top = np.abs(maps).max(axis=(-2, -1))
    return np.asarray(np.any(np.ptp(maps, axis=(-2, -1)) <= ROUNDING * top, axis=0))


def _joint_entry(three: Mapping[str, Mask], maps: PairMaps, scoring: Scoring) -> Entry:
    """Of masks (pictures, H, W) by word, of which the pictures with a flat map have been left out."""
    entry: Entry = {"prompt": maps.prompt, "model": maps.model, "concepts": list(three)}
    stacked = np.stack(list(three.values()))
    if not stacked.shape[1]:
        return entry | {"overlap": FLAT, "chance_area": None, "conditional": []}
    rng = scoring.rng(maps.model, maps.prompt, *three, "intersection")
    lost = maps.missing + len(maps.seeds) - stacked.shape[1]
    return entry | {
        "overlap": joint_entanglement(stacked, rng=rng, draws=scoring.draws, level=scoring.level, missing=lost),
        "chance_area": float(joint_chance(stacked).mean()),
        "conditional": [_conditional(three, given, scoring.level) for given in three],
    }


def _conditional(three: Mapping[str, Mask], given: str, level: float) -> Entry:
    (a, first), (b, second) = ((name, m) for name, m in three.items() if name != given)
    regions = {"inside": three[given], "outside": ~three[given]}
    found: Entry = {"a": a, "b": b, "given": given}
    for where, region in regions.items():
        values = conditional_iou(first, second, region)
        known = values[np.isfinite(values)]
        lost = len(values) - len(known)
        nothing = Missing("not_asked", f"neither {a} nor {b} reaches {where} the region of {given}")
        chance = conditional_chance(first, second, region)
        found[where] = (
            replace(mean_estimate(known, level=level, bounds=(0, 1)), missing=lost,
                    null=float(np.nanmean(chance)), max=1.0) if len(known) else nothing
        )  # fmt: skip
    return found
