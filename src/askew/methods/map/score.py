"""BiasMap: where in a picture, and in the network, two concepts are attended to in the same places.

Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social Biases?"; equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.measure.attention import Row, block_names, decode_maps
from askew.methods.map import findings as f
from askew.methods.map import summary
from askew.methods.map.findings import MIDDLE, MapFindings, Pair, RiskDifference
from askew.methods.map.gather import MapsGathered, Watched
from askew.methods.map.plan import MapPlan, axes_of
from askew.pages.media import Media
from askew.parts.scoring import Scoring, or_missing
from askew.stats import overlap
from askew.stats.differences import risk_difference
from askew.stats.overlap import Mask, bilinear
from askew.stats.rank import spearman
from askew.types import Axis, Estimate, Missing

Maps = NDArray[np.float64]
Masking = Callable[[Maps], Mask]
"""Where maps (..., H, W) count as high: `stats.overlap.mask` with the threshold of a plan."""

ROUNDING = 1e-5
"""Differences within a map, of its largest number, that summing in single precision makes."""

NO_PLACE = Missing("absent_file", "no usable mask of any picture was given")
FLAT = Missing("error", "a map that is the same everywhere has no place that is high")
GROUPS: Mapping[str, tuple[str, str]] = {"gender": ("male", "female"), "ethnicity": ("white", "black")}
"""The groups of the paper's risk difference, by axis; of other axes the first two values."""


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

    def total(self) -> Maps:
        """(2, pictures, H, W): the sum of all layers but those in the middle, at the size of the largest (Eq. 2)."""
        total: Maps = np.sum([maps for block, maps in block_maps(self.layers).items() if block != MIDDLE], axis=0)
        return total


@dataclass(frozen=True, slots=True)
class Overlaps:
    """IoU of one concept's masks with the other's, pictures of the first in the rows.

    matrix  (n, n)
    areas   (n,) chance by the areas of a picture's masks
    usable  (n,) whether both maps of a picture have a place that is high
    """

    matrix: NDArray[np.float64]
    areas: NDArray[np.float64]
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, maps: Maps, high: Masking) -> Overlaps:
        """Of maps (2, pictures, H, W)."""
        masks = high(maps)
        return cls(overlap.iou_matrix(*masks), overlap.chance_iou(*masks), ~flat_pictures(maps))

    @classmethod
    def mean(cls, blocks: Mapping[str, Overlaps]) -> Overlaps:
        """Of all blocks but the middle that have a picture, for the pictures that all of them have (Eq. 6)."""
        outer = [one for block, one in blocks.items() if block != MIDDLE]
        counted = [one for one in outer if one.usable.any()] or outer
        return cls(np.mean([one.matrix for one in counted], axis=0), np.mean([one.areas for one in counted], axis=0),
                   np.all([one.usable for one in counted], axis=0))  # fmt: skip

    def pictures(self) -> tuple[float | None, ...]:
        """IoU of every picture; None where it is missing."""
        return tuple(float(v) if ok else None for v, ok in zip(np.diagonal(self.matrix), self.usable, strict=True))


def block_maps(layers: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Maps]:
    """By block (..., H, W): the sum of its layers' maps (..., h, w), at the size of the largest layer (Eq. 5)."""
    size = max(maps.shape[-2:] for maps in layers.values())
    names = block_names({name: (maps.shape[-2], maps.shape[-1]) for name, maps in layers.items()})
    found: dict[str, Maps] = {}
    for layer, block in names.items():
        found[block] = found.get(block, 0) + bilinear(layers[layer], size)
    return found


def flat_pictures(maps: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """By picture, (pictures,), whether one of its maps (words, pictures, H, W) has no place that is high.

    Such a map is the same everywhere, but for rounding.
    """
    top = np.abs(maps).max(axis=(-2, -1))
    return np.asarray(np.any(np.ptp(maps, axis=(-2, -1)) <= ROUNDING * top, axis=0))


def score(plan: MapPlan, found: MapsGathered, head: Head) -> MapFindings:
    """The findings of a run. Raises NotEnoughData for a model without one overlap; a prompt alone may be missing."""
    masking = partial(overlap.mask, threshold=plan.threshold, tau=plan.tau)
    scoring = Scoring(plan.vqa[0], plan.seed, plan.draws, plan.level)
    maps = {(one.model, one.prompt): pair_maps(one) for one in found.prompts}
    pairs: list[Pair] = []
    for one in found.prompts:
        pairs += [pair(words, masking, scoring) for words in maps[one.model, one.prompt]]
        if not one.present:
            first = next(picture for picture in one.pictures if isinstance(picture, Missing))
            gap = Missing(first.reason, f"{one.model} made no usable picture of this prompt")
            pairs += [no_pair(one.prompt, one.model, a, b, gap) for a, b in one.words]
    for model in dict.fromkeys(pair.model for pair in pairs):
        own = [pair.miou for pair in pairs if pair.model == model]
        reasons = dict.fromkeys(miou.detail for miou in own if isinstance(miou, Missing))
        if all(isinstance(miou, Missing) for miou in own):
            raise NotEnoughData(f"{model} has no map to measure in any prompt: {'; '.join(reasons)}")
    axes, axis_of = [axis.axis() for axis in plan.prompts[0].axes], axes_of(plan.concepts)
    risks = [_risk(one, axis, scoring) for one in found.prompts for axis in axes]
    section = f.BiasMap(
        tuple(pairs),
        tuple(risks),
        summary.overall(pairs, risks, axis_of, plan.level),
        summary.changes(pairs, risks, axis_of, found.held, plan.level),
        tuple(
            gradient(one.model, one.prompt, one.words[0][1], one.cosines, pairs, scoring)
            for one in found.prompts
            if one.cosines and one.present
        ),
        tuple(entry for one in found.prompts for entry in accuracies(one, maps[one.model, one.prompt], plan, scoring)),
    )
    return head.into(
        MapFindings,
        models=found.models,
        maps=tuple(f.MapFile(one.model, one.prompt, one.fingerprint) for one in found.prompts),
        biasmap=with_q(section, f.family),
    )


def pair_maps(one: Watched) -> list[PairMaps]:
    """The maps of a prompt's pictures, a pair of words each; none if no picture could be made."""
    if not one.present:
        return []
    seeds, lost = tuple(picture.seed for picture in one.present), len(one.pictures) - len(one.present)
    layers = decode_maps(one.rows)
    return [
        PairMaps(one.model, one.prompt, a, b, _of_pair(layers, k), seeds, lost) for k, (a, b) in enumerate(one.words)
    ]


def maps_of(found: MapFindings, media: Media, a: str, prompt: str, model: str, picture: str) -> PairMaps | None:
    """The maps of one picture, by its id, for a concept; None if the store has them no more."""
    fingerprint = next((m.fingerprint for m in found.maps if (m.model, m.prompt) == (model, prompt)), "")
    row = media.rows(fingerprint, [picture]).get(picture)
    if row is None:
        return None
    against = found.plan.against[[p.text for p in found.plan.prompts].index(prompt)]
    layers = _of_pair(decode_maps(row[None]), found.plan.concepts.index(a))
    return PairMaps(model, prompt, a, against, layers, (None,))


def _of_pair(layers: Mapping[str, Row], k: int) -> dict[str, Row]:
    """By layer the maps (2, pictures, h, w) of the pair of words `k`, of maps (pictures, words, h, w)."""
    return {name: maps[:, 2 * k : 2 * k + 2].swapaxes(0, 1) for name, maps in layers.items()}


def no_pair(prompt: str, model: str, a: str, b: str, gap: Missing) -> Pair:
    """The scores of a prompt without a picture."""
    return Pair(prompt, model, a, b, gap, gap, gap, gap, {}, None, None, (), (), ())


def pair(maps: PairMaps, masking: Masking, scoring: Scoring) -> Pair:
    """mIoU, mBIoU and BIoU (Eq. 4-6) with intervals, chance and tests.

    A picture with a map that is the same everywhere is missing, be it in the sum of all layers or in a block; a score
    without any picture is Missing. mBIoU does without blocks that have no picture, and counts the pictures that all
    other blocks have.
    """

    def scored(overlaps: Overlaps, what: str) -> tuple[E, E, float | None, float | None]:
        """The overlap, beyond chance, and the two chances."""
        kept = np.flatnonzero(overlaps.usable)
        if not len(kept):
            return FLAT, FLAT, None, None
        found = overlap.entanglement(
            overlaps.matrix[np.ix_(kept, kept)], float(overlaps.areas[kept].mean()),
            rng=scoring.rng(maps.model, maps.prompt, maps.a, maps.b, what),
            missing=maps.missing + len(overlaps.usable) - len(kept), **scoring.how,
        )  # fmt: skip
        return found.miou, found.corrected, found.chance_area, found.chance_other_picture

    blocks = {block: Overlaps.of(found, masking) for block, found in block_maps(maps.layers).items()}
    whole, mean = Overlaps.of(maps.total(), masking), Overlaps.mean(blocks)
    miou, corrected, by_area, by_other = scored(whole, "whole")
    mbiou, mbiou_corrected, *_ = scored(mean, "mean of blocks")
    by_block = {block: scored(one, block)[0] for block, one in blocks.items()}
    return Pair(maps.prompt, maps.model, maps.a, maps.b, miou, corrected, mbiou, mbiou_corrected, by_block, by_area,
                by_other, whole.pictures(), mean.pictures(), maps.seeds)  # fmt: skip


def gradient(
    model: str, prompt: str, against: str, cosines: Mapping[str, float], pairs: Sequence[Pair], scoring: Scoring
) -> f.Gradient:
    """Whether words nearer in meaning overlap more (BiasMap, supplement E): a rank correlation over words.

    `cosines` are those of the text embeddings of concepts with the word `against`, by concept.
    """
    rng = scoring.rng(model, prompt, against, *cosines, "gradient")
    own = [p for p in pairs if (p.model, p.prompt) == (model, prompt)]
    known = [(cosines[p.a], p.miou.value) for p in own if isinstance(p.miou, Estimate)]
    near, overlaps = [cosine for cosine, _ in known], [overlap for _, overlap in known]
    found = or_missing(spearman, near, overlaps, rng=rng, reason="error", **scoring.how)
    return f.Gradient(prompt, model, against, cosines, found)


def accuracies(one: Watched, maps: Sequence[PairMaps], plan: MapPlan, scoring: Scoring) -> Iterator[f.MaskAccuracy]:
    """By word and threshold: how much of its given places its masks cover, and of the rest leave out (supplement F).

    Pictures without such a place, or with a map that is the same everywhere, are missing.
    """
    for word, given in one.masks.items() if maps else ():
        pair = next(own for own in maps if word in (own.a, own.b))
        total = pair.total()[(pair.a, pair.b).index(word)]
        known = {k: place for k, place in enumerate(given) if isinstance(place, np.ndarray)}
        kept = [k for k in known if not flat_pictures(total[None])[k]]
        entry = partial(f.MaskAccuracy, one.prompt, one.model, word)
        if not kept:
            yield from (entry(tau, NO_PLACE, NO_PLACE) for tau in plan.taus)
            continue
        places = np.stack([known[k] for k in kept])
        large = bilinear(total[kept], places.shape[-2:])
        for tau in plan.taus:
            high = overlap.mask(large, plan.threshold, tau)
            sides = {"mask": (high, places), "complement": (~high, ~places)}
            found = (
                overlap.entanglement(
                    overlap.covered(*side), 0.0, rng=scoring.rng(one.model, one.prompt, word, what, f"{tau:g}"),
                    missing=len(one.pictures) - len(kept), **scoring.how,
                ).miou
                for what, side in sides.items()
            )  # fmt: skip
            yield entry(tau, *found)


def _risk(one: Watched, axis: Axis, scoring: Scoring) -> RiskDifference:
    """How much more often one group is seen than another, by the first instrument."""
    groups = GROUPS.get(axis.name, axis.values[:2])
    counts = dict(zip(axis.values, one.observed.counts(scoring.instrument, axis), strict=True))
    missing = {str(reason): lost for reason, lost in one.observed.missing(scoring.instrument, axis).items()}
    answers = sum(counts.values())
    first, second = (counts.get(group, 0) for group in groups)
    estimate = (
        risk_difference(first, second, answers, level=scoring.level, missing=sum(missing.values()))
        if answers
        else Missing("no_person", f"{scoring.instrument} could not read {axis.label} in any picture")
    )
    return RiskDifference(one.prompt, one.model, axis.name, scoring.instrument, tuple(groups), counts, estimate,
                          missing)  # fmt: skip
