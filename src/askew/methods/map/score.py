"""Compute BiasMap's scores: the overlap of attention to two words, over all layers and per block.

Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social Biases?"; equation numbers
refer to this paper.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.measure.attention import decode_maps
from askew.methods.map import findings as f
from askew.methods.map.changes import changes, overall
from askew.methods.map.findings import ConceptPair, MapFindings, RiskDifference
from askew.methods.map.gather import MapsGathered, PromptAttention
from askew.methods.map.maps import (
    Maps,
    Masking,
    Overlaps,
    PairMaps,
    block_maps,
    constant_images,
    layers_of_pair,
)
from askew.methods.map.plan import MapPlan, axes_of
from askew.parts.scoring import Scoring, or_missing
from askew.stats import overlap
from askew.stats.differences import risk_difference
from askew.stats.overlap import bilinear
from askew.stats.rank import spearman
from askew.types import Axis, Estimate, Missing, grouped

CONSTANT = Missing("error", "the attention map is constant, so it has no mask")
GROUPS: Mapping[str, tuple[str, str]] = {
    "gender": ("male", "female"),
    "ethnicity": ("white", "black"),
}
"""The two groups between which the paper computes the risk difference on each axis.

Other axes use their first two values.
"""


def score(plan: MapPlan, gathered: MapsGathered, head: Head) -> MapFindings:
    """Compute the findings of a run of `askew map`.

    Parameters
    ----------
    plan
        The plan.
    gathered
        Images, maps and labels of all prompts and models.
    head
        Head of the results.

    Returns
    -------
    MapFindings
        The findings. Scores of some prompts may be missing.

    Raises
    ------
    NotEnoughData
        If a model has no estimated overlap in any prompt.
    """
    scoring = Scoring.of(plan)
    pairs: list[ConceptPair] = []
    accuracy: list[f.MaskAccuracy] = []
    for prompt in gathered.prompts:
        if prompt.present:
            maps = _pair_maps(prompt)
            masking = partial(overlap.mask, threshold=plan.threshold, tau=plan.tau)
            pairs += [pair(words, masking, scoring) for words in maps]
            accuracy += accuracies(prompt, maps, plan, scoring)
        else:
            pairs += _missing_pairs(prompt)
    _check_measured(pairs)
    axes = [axis.axis() for axis in plan.prompts[0].axes]
    risks = [_risk(prompt, axis, scoring) for prompt in gathered.prompts for axis in axes]
    gradients = [
        gradient(prompt.model, prompt.prompt, prompt.words[0][1], prompt.cosines, pairs, scoring)
        for prompt in gathered.prompts
        if prompt.cosines and prompt.present
    ]
    axis_of = axes_of(plan.concepts)
    section = f.BiasMap(
        pairs=tuple(pairs),
        risk_difference=tuple(risks),
        overall=overall(pairs, risks, axis_of, plan.confidence),
        changes=changes(pairs, risks, axis_of, gathered.comparison_order, plan.confidence),
        gradient=tuple(gradients),
        accuracy=tuple(accuracy),
    )
    files = tuple(
        f.MapFile(model=prompt.model, prompt=prompt.prompt, fingerprint=prompt.fingerprint)
        for prompt in gathered.prompts
    )
    return head.into(
        MapFindings, models=gathered.models, maps=files, biasmap=with_q(section, f.family)
    )


def _pair_maps(prompt: PromptAttention) -> list[PairMaps]:
    """Return the maps for each pair of words: a concept and the prompt's word."""
    layers = decode_maps(prompt.rows)
    seeds = tuple(picture.seed for picture in prompt.present)
    return [
        PairMaps(
            model=prompt.model,
            prompt=prompt.prompt,
            a=a,
            b=b,
            layers=layers_of_pair(layers, k),
            seeds=seeds,
            missing=len(prompt.pictures) - len(seeds),
        )
        for k, (a, b) in enumerate(prompt.words)
    ]


def _missing_pairs(prompt: PromptAttention) -> list[ConceptPair]:
    """Return entries whose scores are all missing, for a prompt without usable images."""
    first = next(picture for picture in prompt.pictures if isinstance(picture, Missing))
    gap = Missing(first.reason, "the model generated no usable image of this prompt")
    return [
        ConceptPair(
            prompt=prompt.prompt,
            model=prompt.model,
            a=a,
            b=b,
            miou=gap,
            corrected=gap,
            mbiou=gap,
            mbiou_corrected=gap,
            blocks={},
            chance_area=None,
            chance_other_picture=None,
            pictures=(),
            block_pictures=(),
            seeds=(),
        )
        for a, b in prompt.words
    ]


def _check_measured(pairs: Sequence[ConceptPair]) -> None:
    """Raise NotEnoughData if a model has no estimated overlap in any prompt."""
    for model, of_model in grouped(pairs, lambda pair: pair.model).items():
        reasons = [pair.miou.detail for pair in of_model if isinstance(pair.miou, Missing)]
        if len(reasons) == len(of_model):
            raise NotEnoughData(
                f"no prompt has comparable attention maps from {model}: "
                f"{'; '.join(dict.fromkeys(reasons))}"
            )


def pair(maps: PairMaps, masking: Masking, scoring: Scoring) -> ConceptPair:
    """Estimate mIoU, mBIoU and BIoU between two words (Eq. 4-6), with intervals, nulls and tests.

    An image with a constant map counts as missing, both in a block and in the sum of all layers. A
    score is Missing if no image is usable. mBIoU leaves out blocks without a usable image, and uses
    only images that are usable in all remaining blocks.

    Parameters
    ----------
    maps
        Maps of both words.
    masking
        Function that converts maps to masks.
    scoring
        Settings of the scores.

    Returns
    -------
    ConceptPair
        The scores, without q-values.
    """
    entangled = partial(_entanglement, maps, scoring)
    blocks = {
        block: Overlaps.of(block_map, masking)
        for block, block_map in block_maps(maps.layers).items()
    }
    total_maps = maps.total()
    total = Overlaps.of(total_maps, masking)
    areas = overlap.chance_iou(*masking(total_maps))[total.usable]
    mean = Overlaps.mean(blocks)
    miou, corrected = entangled(total, "whole")
    mbiou, mbiou_corrected = entangled(mean, "mean of blocks")
    return ConceptPair(
        prompt=maps.prompt,
        model=maps.model,
        a=maps.a,
        b=maps.b,
        miou=miou,
        corrected=corrected,
        mbiou=mbiou,
        mbiou_corrected=mbiou_corrected,
        blocks={block: entangled(overlaps, block)[0] for block, overlaps in blocks.items()},
        chance_area=float(areas.mean()) if len(areas) else None,
        chance_other_picture=miou.null if isinstance(miou, Estimate) else None,
        pictures=total.by_image(),
        block_pictures=mean.by_image(),
        seeds=maps.seeds,
    )


def _entanglement(maps: PairMaps, scoring: Scoring, overlaps: Overlaps, name: str) -> tuple[E, E]:
    """Return the mean IoU over the usable images, and the mean IoU corrected for chance."""
    usable = np.flatnonzero(overlaps.usable)
    if not len(usable):
        return CONSTANT, CONSTANT
    return overlap.entanglement(
        overlaps.matrix[np.ix_(usable, usable)],
        rng=scoring.rng(maps.model, maps.prompt, maps.a, maps.b, name),
        missing=maps.missing + len(overlaps.usable) - len(usable),
        **scoring.interval_options,
    )


def gradient(
    model: str,
    prompt: str,
    against: str,
    cosines: Mapping[str, float],
    pairs: Sequence[ConceptPair],
    scoring: Scoring,
) -> f.Gradient:
    """Correlate the similarity between concepts and a word with their overlap (supplement E).

    Parameters
    ----------
    model, prompt
        Model and prompt that were used to generate the images.
    against
        Word of the prompt.
    cosines
        For each concept, the cosine similarity between its text embedding and the text embedding of
        `against`.
    pairs
        Scores for all models and prompts.
    scoring
        Settings of the scores.

    Returns
    -------
    Gradient
        Spearman's correlation between the cosines and mIoU.
    """
    known_cosines = []
    overlaps = []
    for pair in pairs:
        if (pair.model, pair.prompt) == (model, prompt) and isinstance(pair.miou, Estimate):
            known_cosines.append(cosines[pair.a])
            overlaps.append(pair.miou.value)
    correlation = or_missing(
        spearman,
        known_cosines,
        overlaps,
        rng=scoring.rng(model, prompt, against, *cosines, "gradient"),
        reason="error",
        **scoring.interval_options,
    )
    return f.Gradient(prompt=prompt, model=model, b=against, cosines=cosines, spearman=correlation)


def accuracies(
    prompt: PromptAttention, maps: Sequence[PairMaps], plan: MapPlan, scoring: Scoring
) -> Iterator[f.MaskAccuracy]:
    """Yield the mask accuracy of all words with ground-truth masks (BiasMap, supplement F).

    Images without a ground-truth mask, or with a constant map, count as missing.

    Parameters
    ----------
    prompt
        Images and ground-truth masks of a prompt.
    maps
        Maps of its words.
    plan
        Plan with the thresholds.
    scoring
        Settings of the scores.

    Yields
    ------
    MaskAccuracy
        Accuracy of a word's masks at one threshold.
    """
    for word in prompt.masks:
        words = next(words for words in maps if word in (words.a, words.b))
        total = words.total()[(words.a, words.b).index(word)]
        yield from _word_accuracies(prompt, word, total, plan, scoring)


def _word_accuracies(
    prompt: PromptAttention, word: str, maps: Maps, plan: MapPlan, scoring: Scoring
) -> Iterator[f.MaskAccuracy]:
    """Yield the accuracy of a word's masks at each threshold.

    The maps have the shape (images, H, W).
    """
    entry = partial(f.MaskAccuracy, prompt=prompt.prompt, model=prompt.model, word=word)
    constant = constant_images(maps[None])
    regions = {
        k: region
        for k, region in enumerate(prompt.masks[word])
        if isinstance(region, np.ndarray) and not constant[k]
    }
    if not regions:
        gap = Missing("absent_file", "no image has a usable ground-truth mask")
        for tau in plan.taus:
            yield entry(tau=tau, mask_accuracy=gap, complement_accuracy=gap)
        return
    places = np.stack(list(regions.values()))
    resized = bilinear(maps[list(regions)], places.shape[-2:])
    estimate = partial(
        overlap.entanglement,
        missing=len(prompt.pictures) - len(regions),
        **scoring.interval_options,
    )
    rng = partial(scoring.rng, prompt.model, prompt.prompt, word)
    for tau in plan.taus:
        masks = overlap.mask(resized, plan.threshold, tau)
        covered, _ = estimate(overlap.covered(masks, places), rng=rng("mask", f"{tau:g}"))
        omitted, _ = estimate(overlap.covered(~masks, ~places), rng=rng("complement", f"{tau:g}"))
        yield entry(tau=tau, mask_accuracy=covered, complement_accuracy=omitted)


def _risk(prompt: PromptAttention, axis: Axis, scoring: Scoring) -> RiskDifference:
    """Return the risk difference between two groups, from the first instrument's labels."""
    instrument = scoring.instrument
    groups = GROUPS.get(axis.name, axis.values[:2])
    counts = dict(zip(axis.values, prompt.observed.counts(instrument, axis), strict=True))
    unlabeled = prompt.observed.missing(instrument, axis)
    missing = {str(reason): count for reason, count in unlabeled.items()}
    labeled = sum(counts.values())
    estimate: E = Missing("no_person", f"{instrument} labels {axis.label} in none of the images")
    if labeled:
        first, second = (counts.get(group, 0) for group in groups)
        estimate = risk_difference(
            first, second, labeled, level=scoring.level, missing=sum(missing.values())
        )
    return RiskDifference(
        prompt=prompt.prompt,
        model=prompt.model,
        axis=axis.name,
        instrument=instrument,
        groups=tuple(groups),
        counts=counts,
        estimate=estimate,
        missing=missing,
    )
