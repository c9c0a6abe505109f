"""BiasMap: where in a picture, and in the network, two concepts are attended to in the same places.

Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social Biases?"; equation numbers
are theirs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.measure.attention import block_names, decode_maps
from askew.methods.map import findings as f
from askew.methods.map.findings import MIDDLE, ConceptPair, MapFindings, RiskDifference
from askew.methods.map.gather import MapsGathered, PromptAttention
from askew.methods.map.plan import MapPlan, axes_of
from askew.pages.media import Media
from askew.parts.scoring import Scoring, or_missing
from askew.stats import overlap
from askew.stats.differences import risk_difference
from askew.stats.means import student_mean
from askew.stats.overlap import Mask, bilinear
from askew.stats.rank import spearman
from askew.types import Axis, Estimate, Missing

Maps = NDArray[np.float64]
Masking = Callable[[Maps], Mask]
"""Where maps (..., H, W) count as high: `stats.overlap.mask` with the threshold of a plan."""

Mean = Callable[[list[float]], Estimate]

ROUNDING = 1e-5
"""Differences within a map, of its largest number, that summing in single precision makes."""

NO_MAP = Missing("error", "this prompt's pictures have no such map")
FLAT = Missing("error", "a map that is the same everywhere has no place that is high")
GROUPS: Mapping[str, tuple[str, str]] = {
    "gender": ("male", "female"),
    "ethnicity": ("white", "black"),
}
"""The groups of the paper's risk difference, by axis; of other axes the first two values."""


@dataclass(frozen=True, slots=True)
class PairMaps:
    """Maps of two words in the same pictures: by layer (2, pictures, h, w). `seeds` tell the
    pictures apart.
    """

    model: str
    prompt: str
    a: str
    b: str
    layers: Mapping[str, NDArray[np.floating[Any]]]
    seeds: tuple[int | None, ...]
    missing: int = 0

    def total(self) -> Maps:
        """(2, pictures, H, W): the sum of all layers but those in the middle, at the size of the
        largest (Eq. 2).
        """
        total: Maps = np.sum(
            [maps for block, maps in block_maps(self.layers).items() if block != MIDDLE], axis=0
        )
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
    def of(cls, maps: Maps, high: Masking) -> Self:
        """Of maps (2, pictures, H, W)."""
        masks = high(maps)
        return cls(overlap.iou_matrix(*masks), overlap.chance_iou(*masks), ~flat_pictures(maps))

    @classmethod
    def mean(cls, blocks: Mapping[str, Self]) -> Self:
        """Of all blocks but the middle that have a picture, for the pictures that all of them have
        (Eq. 6).
        """
        outer = [one for block, one in blocks.items() if block != MIDDLE]
        counted = [one for one in outer if one.usable.any()] or outer
        return cls(
            np.mean([one.matrix for one in counted], axis=0),
            np.mean([one.areas for one in counted], axis=0),
            np.all([one.usable for one in counted], axis=0),
        )

    def pictures(self) -> tuple[float | None, ...]:
        """IoU of every picture; None where it is missing."""
        return tuple(
            float(v) if ok else None
            for v, ok in zip(np.diagonal(self.matrix), self.usable, strict=True)
        )


def block_maps(layers: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Maps]:
    """By block (..., H, W): the sum of its layers' maps (..., h, w), at the size of the largest
    layer (Eq. 5).
    """
    size = max(maps.shape[-2:] for maps in layers.values())
    names = block_names({name: (maps.shape[-2], maps.shape[-1]) for name, maps in layers.items()})
    found: dict[str, Maps] = {}
    for layer, block in names.items():
        found[block] = found.get(block, 0) + bilinear(layers[layer], size)
    return found


def flat_pictures(maps: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """By picture, (pictures,), whether one of its maps (words, pictures, H, W) has no place that is
    high.

    Such a map is the same everywhere, but for rounding.
    """
    top = np.abs(maps).max(axis=(-2, -1))
    return np.asarray(np.any(np.ptp(maps, axis=(-2, -1)) <= ROUNDING * top, axis=0))


def score(plan: MapPlan, found: MapsGathered, head: Head) -> MapFindings:
    """The findings of a run. Raises NotEnoughData for a model without one overlap; a prompt alone
    may be missing.
    """
    masking = partial(overlap.mask, threshold=plan.threshold, tau=plan.tau)
    scoring = Scoring(plan.vqa[0], plan.seed, plan.bootstrap_samples, plan.confidence)
    pairs: list[ConceptPair] = []
    accuracy: list[f.MaskAccuracy] = []
    for one in found.prompts:
        if one.present:
            layers = decode_maps(one.rows)
            seeds = tuple(picture.seed for picture in one.present)
            lost = len(one.pictures) - len(seeds)
            maps = [
                PairMaps(one.model, one.prompt, a, b, _of_pair(layers, k), seeds, lost)
                for k, (a, b) in enumerate(one.words)
            ]
            pairs += [pair(words, masking, scoring) for words in maps]
            accuracy += accuracies(one, maps, plan, scoring)
        else:
            first = next(picture for picture in one.pictures if isinstance(picture, Missing))
            gap = Missing(first.reason, f"{one.model} made no usable picture of this prompt")
            pairs += [
                ConceptPair(
                    one.prompt, one.model, a, b, gap, gap, gap, gap, {}, None, None, (), (), ()
                )
                for a, b in one.words
            ]
    for model in dict.fromkeys(pair.model for pair in pairs):
        own = [pair.miou for pair in pairs if pair.model == model]
        reasons = dict.fromkeys(miou.detail for miou in own if isinstance(miou, Missing))
        if all(isinstance(miou, Missing) for miou in own):
            raise NotEnoughData(
                f"{model} has no map to measure in any prompt: {'; '.join(reasons)}"
            )
    axes = [axis.axis() for axis in plan.prompts[0].axes]
    axis_of = axes_of(plan.concepts)
    risks = [_risk(one, axis, scoring) for one in found.prompts for axis in axes]
    means = overall(pairs, risks, axis_of, plan.confidence)
    changed = changes(pairs, risks, axis_of, found.comparison_order, plan.confidence)
    near = tuple(
        gradient(one.model, one.prompt, one.words[0][1], one.cosines, pairs, scoring)
        for one in found.prompts
        if one.cosines and one.present
    )
    section = f.BiasMap(tuple(pairs), tuple(risks), means, changed, near, tuple(accuracy))
    files = tuple(f.MapFile(one.model, one.prompt, one.fingerprint) for one in found.prompts)
    return head.into(
        MapFindings, models=found.models, maps=files, biasmap=with_q(section, f.family)
    )


def maps_of(
    found: MapFindings, media: Media, a: str, prompt: str, model: str, picture: str
) -> PairMaps | None:
    """The maps of one picture, by its id, for a concept; None if the store has them no more."""
    fingerprint = next(
        (m.fingerprint for m in found.maps if (m.model, m.prompt) == (model, prompt)), ""
    )
    row = media.rows(fingerprint, [picture]).get(picture)
    if row is None:
        return None
    against = found.plan.against[[p.text for p in found.plan.prompts].index(prompt)]
    layers = _of_pair(decode_maps(row[None]), found.plan.concepts.index(a))
    return PairMaps(model, prompt, a, against, layers, (None,))


def _of_pair(layers: Mapping[str, NDArray[np.float32]], k: int) -> dict[str, NDArray[np.float32]]:
    """By layer the maps (2, pictures, h, w) of the pair of words `k`, of maps (pictures, words, h,
    w).
    """
    return {name: maps[:, 2 * k : 2 * k + 2].swapaxes(0, 1) for name, maps in layers.items()}


def pair(maps: PairMaps, masking: Masking, scoring: Scoring) -> ConceptPair:
    """mIoU, mBIoU and BIoU (Eq. 4-6) with intervals, chance and tests.

    A picture with a map that is the same everywhere is missing, be it in the sum of all layers or
    in a block; a score without any picture is Missing. mBIoU does without blocks that have no
    picture, and counts the pictures that all other blocks have.
    """

    def scored(overlaps: Overlaps, what: str) -> tuple[E, E]:
        """The overlap, and beyond chance."""
        kept = np.flatnonzero(overlaps.usable)
        if not len(kept):
            return FLAT, FLAT
        rng = scoring.rng(maps.model, maps.prompt, maps.a, maps.b, what)
        missing = maps.missing + len(overlaps.usable) - len(kept)
        return overlap.entanglement(
            overlaps.matrix[np.ix_(kept, kept)],
            rng=rng,
            missing=missing,
            **scoring.interval_options,
        )

    blocks = {
        block: Overlaps.of(found, masking) for block, found in block_maps(maps.layers).items()
    }
    whole = Overlaps.of(maps.total(), masking)
    mean = Overlaps.mean(blocks)
    (miou, corrected), (mbiou, mbiou_corrected) = (
        scored(whole, "whole"),
        scored(mean, "mean of blocks"),
    )
    by_area = float(whole.areas[whole.usable].mean()) if whole.usable.any() else None
    by_other = miou.null if isinstance(miou, Estimate) else None
    by_block = {block: scored(one, block)[0] for block, one in blocks.items()}
    return ConceptPair(
        maps.prompt,
        maps.model,
        maps.a,
        maps.b,
        miou,
        corrected,
        mbiou,
        mbiou_corrected,
        by_block,
        by_area,
        by_other,
        whole.pictures(),
        mean.pictures(),
        maps.seeds,
    )


def gradient(
    model: str,
    prompt: str,
    against: str,
    cosines: Mapping[str, float],
    pairs: Sequence[ConceptPair],
    scoring: Scoring,
) -> f.Gradient:
    """Whether words nearer in meaning overlap more (BiasMap, supplement E): a rank correlation over
    words.

    `cosines` are those of the text embeddings of concepts with the word `against`, by concept.
    """
    rng = scoring.rng(model, prompt, against, *cosines, "gradient")
    own = [p for p in pairs if (p.model, p.prompt) == (model, prompt)]
    known = [(cosines[p.a], p.miou.value) for p in own if isinstance(p.miou, Estimate)]
    near = [cosine for cosine, _ in known]
    overlaps = [overlap for _, overlap in known]
    found = or_missing(
        spearman, near, overlaps, rng=rng, reason="error", **scoring.interval_options
    )
    return f.Gradient(prompt, model, against, cosines, found)


def accuracies(
    one: PromptAttention, maps: Sequence[PairMaps], plan: MapPlan, scoring: Scoring
) -> Iterator[f.MaskAccuracy]:
    """By word and threshold: how much of its given places its masks cover, and of the rest leave
    out (supplement F).

    Pictures without such a place, or with a map that is the same everywhere, are missing.
    """
    for word, given in one.masks.items():
        pair = next(own for own in maps if word in (own.a, own.b))
        total = pair.total()[(pair.a, pair.b).index(word)]
        known = {k: place for k, place in enumerate(given) if isinstance(place, np.ndarray)}
        kept = [k for k in known if not flat_pictures(total[None])[k]]
        entry = partial(f.MaskAccuracy, one.prompt, one.model, word)
        if not kept:
            none = Missing("absent_file", "no usable mask of any picture was given")
            yield from (entry(tau, none, none) for tau in plan.taus)
            continue
        places = np.stack([known[k] for k in kept])
        large = bilinear(total[kept], places.shape[-2:])
        for tau in plan.taus:
            high = overlap.mask(large, plan.threshold, tau)
            sides = {"mask": (high, places), "complement": (~high, ~places)}
            found = (
                overlap.entanglement(
                    overlap.covered(*side),
                    rng=scoring.rng(one.model, one.prompt, word, what, f"{tau:g}"),
                    missing=len(one.pictures) - len(kept),
                    **scoring.interval_options,
                )[0]
                for what, side in sides.items()
            )
            yield entry(tau, *found)


def _risk(one: PromptAttention, axis: Axis, scoring: Scoring) -> RiskDifference:
    """How much more often one group is seen than another, by the first instrument."""
    groups = GROUPS.get(axis.name, axis.values[:2])
    counts = dict(zip(axis.values, one.observed.counts(scoring.instrument, axis), strict=True))
    missing = {
        str(reason): lost for reason, lost in one.observed.missing(scoring.instrument, axis).items()
    }
    answers = sum(counts.values())
    first, second = (counts.get(group, 0) for group in groups)
    estimate = (
        risk_difference(first, second, answers, level=scoring.level, missing=sum(missing.values()))
        if answers
        else Missing(
            "no_person", f"{scoring.instrument} could not read {axis.label} in any picture"
        )
    )
    return RiskDifference(
        one.prompt,
        one.model,
        axis.name,
        scoring.instrument,
        tuple(groups),
        counts,
        estimate,
        missing,
    )


def overall(
    pairs: Sequence[ConceptPair],
    risks: Sequence[RiskDifference],
    axis_of: Mapping[str, str],
    level: float,
) -> tuple[f.Overall, ...]:
    """Means over the prompts of a model, by concept, with t intervals over prompts."""
    entries = []
    for model, a in dict.fromkeys((p.model, p.a) for p in pairs):
        own = [p for p in pairs if (p.model, p.a) == (model, a)]
        found = [r.estimate for r in risks if (r.model, r.axis) == (model, axis_of.get(a))]
        entries.append(
            f.Overall(model, a, len(own), **_means(own, found, partial(_mean, level=level), level))
        )
    return tuple(entries)


def changes(
    pairs: Sequence[ConceptPair],
    risks: Sequence[RiskDifference],
    axis_of: Mapping[str, str],
    models: Sequence[str],
    level: float,
) -> tuple[f.ModelChange, ...]:
    """Every later model less the first, paired by seed, and by t-test over prompts.

    mBIoU is a mean over blocks: where a prompt's counted other blocks, their difference is Missing.
    """
    entries = []
    seen = {(r.model, r.prompt, r.axis): r.estimate for r in risks}
    tested = partial(student_mean, level=level, null=0.0, bounds=(-1.0, 1.0))
    for model in models[1:]:
        for a in dict.fromkeys(p.a for p in pairs):
            befores, afters = (
                [p for p in pairs if (p.model, p.a) == (m, a)] for m in (models[0], model)
            )
            matched = [(x, y, _less(y, x)) for x in befores for y in afters if x.prompt == y.prompt]
            if not matched:
                continue
            read = [
                [seen.get((p.model, p.prompt, axis_of.get(a, ""))) for p in (x, y)]
                for x, y, _ in matched
            ]
            risk = [
                _minus(y, x) for x, y in read if isinstance(x, Estimate) and isinstance(y, Estimate)
            ]
            prompts = tuple(
                f.PromptChange(
                    x.prompt,
                    _paired(less.miou, x, y, "pictures", tested),
                    _paired(less.mbiou, x, y, "block_pictures", tested),
                )
                for x, y, less in matched
            )
            means = _means(
                [less for _, _, less in matched], risk, partial(_combined, combine=tested), level
            )
            entries.append(f.ModelChange((models[0], model), a, prompts, **means))
    return tuple(entries)


def _means(
    pairs: Sequence[ConceptPair], risks: Sequence[E], mean: Callable[[Sequence[E]], E], level: float
) -> dict[str, Any]:
    """What `Overall` and `Change` tell of the pairs of all prompts, or of their differences."""
    blocks = dict.fromkeys(block for p in pairs for block in p.blocks)
    return {
        "miou": mean([p.miou for p in pairs]),
        "mbiou": mean([p.mbiou for p in pairs]),
        "corrected": _combined(
            [p.corrected for p in pairs], partial(student_mean, level=level, null=0.0)
        ),
        "blocks": {block: mean([p.blocks.get(block, NO_MAP) for p in pairs]) for block in blocks},
        "risk_difference": mean(risks) if risks else None,
    }


def _less(after: ConceptPair, before: ConceptPair) -> ConceptPair:
    """The pair with differences in the place of scores."""
    first, second = (
        [block for block, e in one.blocks.items() if block != MIDDLE and isinstance(e, Estimate)]
        for one in (before, after)
    )
    mbiou = _minus(after.mbiou, before.mbiou)
    if first and second and first != second:
        mbiou = Missing(
            "error", f"mBIoU counts other blocks: {', '.join(second)} and not {', '.join(first)}"
        )
    blocks = {
        name: _minus(after.blocks[name], e)
        for name, e in before.blocks.items()
        if name in after.blocks
    }
    return replace(
        after,
        miou=_minus(after.miou, before.miou),
        mbiou=mbiou,
        blocks=blocks,
        corrected=_minus(after.corrected, before.corrected),
    )


def _paired(difference: E, x: ConceptPair, y: ConceptPair, pictures: str, tested: Mean) -> E:
    """Mean difference of IoU between pictures of one seed, of those that have a score; Missing as
    the `difference`.
    """
    if isinstance(difference, Missing):
        return difference
    before, after = (dict(zip(one.seeds, getattr(one, pictures), strict=True)) for one in (x, y))
    values = [
        v - u
        for seed, u in before.items()
        if seed is not None and u is not None and (v := after.get(seed)) is not None
    ]
    return (
        tested(values)
        if values
        else Missing("error", "the models have no picture of one seed in common")
    )


def _mean(estimates: Sequence[E], level: float) -> E:
    mean = _combined(estimates, partial(student_mean, level=level, bounds=(0, 1)))
    if isinstance(mean, Missing):
        return mean
    nulls = [e.null for e in estimates if isinstance(e, Estimate)]
    known = [null for null in nulls if null is not None]
    return replace(mean, null=float(np.mean(known)) if len(nulls) == len(known) else None, max=1.0)


def _combined(scores: Sequence[E], combine: Mean) -> E:
    """What becomes of those scores that are known; without one, why the first is missing."""
    gaps = [one for one in scores if isinstance(one, Missing)]
    known = [one.value for one in scores if isinstance(one, Estimate)]
    return replace(combine(known), missing=len(gaps)) if known else gaps[0]


def _minus(a: E, b: E) -> E:
    if isinstance(a, Missing):
        return a
    return b if isinstance(b, Missing) else Estimate(a.value - b.value)
