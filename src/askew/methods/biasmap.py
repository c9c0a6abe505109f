"""BiasMap: where in a picture, and in the network, two concepts are attended to in the same places.

Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social Biases?"; equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.measure.attention import block_names
from askew.methods.scoring import Scoring
from askew.stats.multiple import benjamini_hochberg
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
    t_test,
)
from askew.stats.rank import spearman
from askew.stats.resampling import bilinear
from askew.types import Estimate, Missing

Maps = NDArray[np.float64]
Entry = dict[str, Any]

MIDDLE = "mid"
"""The block between the two sides of a UNet; neither the sum of all layers nor mBIoU counts it, as in OVAM."""

DIFFERENCE = (-1.0, 1.0)
"""Bounds of the difference of two scores from 0 to 1."""

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

    A block or layer whose maps are the same everywhere is Missing, and mBIoU does without it. Raises NotEnoughData if
    there is no picture, or if all blocks are so.
    """
    total = maps.total()
    if is_flat(total):
        raise NotEnoughData(
            f"{maps.model} attends to {maps.a!r} or {maps.b!r} everywhere alike in a picture: {FLAT.detail}"
        )
    whole = _entanglement(masking(total), maps, scoring, "whole")
    matrices, areas = {}, {}
    blocks: dict[str, Estimate | Missing] = {}
    for block, found in maps.blocks().items():
        if is_flat(found):
            blocks[block] = FLAT
            continue
        masks = masking(found)
        matrices[block], areas[block] = iou_matrix(*masks), float(chance_iou(*masks).mean())
        blocks[block] = _of_matrix(matrices[block], areas[block], maps, scoring, block).miou
    counted = [block for block in matrices if block != MIDDLE]
    mean = np.mean([matrices[block] for block in counted], axis=0)
    mbiou = _of_matrix(mean, float(np.mean([areas[block] for block in counted])), maps, scoring, "mean of blocks")
    return {
        "prompt": maps.prompt,
        "model": maps.model,
        "a": maps.a,
        "b": maps.b,
        "miou": whole.miou,
        "corrected": whole.corrected,
        "mbiou": mbiou.miou,
        "mbiou_corrected": mbiou.corrected,
        "blocks": blocks,
        "layers": _layer_scores(maps, masking, scoring),
        "chance_area": whole.chance_area,
        "chance_other_picture": whole.chance_other_picture,
        "pictures": whole.pictures,
        "block_pictures": mbiou.pictures,
        "seeds": list(maps.seeds),
    }


def joint_scores(pairs: Sequence[PairMaps], masking: Masking, scoring: Scoring) -> list[Entry]:
    """Entries of `biasmap.intersections`: every two concepts of a prompt with the word that they are held against.

    The overlap of all three, against chance, and that of each two of them inside and outside the region of the third.
    """
    masks = {maps.a: masking(maps.total()) for maps in pairs}
    entries = []
    for first, second in combinations(pairs, 2):
        three = {first.a: masks[first.a][0], second.a: masks[second.a][0], first.b: masks[first.a][1]}
        stacked = np.stack(list(three.values()))
        rng = scoring.rng(first.model, first.prompt, *three, "intersection")
        overlap = joint_entanglement(stacked, rng=rng, draws=scoring.draws, level=scoring.level, missing=first.missing)
        entries.append({
            "prompt": first.prompt, "model": first.model, "concepts": list(three), "overlap": overlap,
            "chance_area": float(joint_chance(stacked).mean()),
            "conditional": [_conditional(three, given, scoring.level) for given in three],
        })  # fmt: skip
    return entries


def overall(pairs: Sequence[Entry], risks: Sequence[Entry], axis_of: Mapping[str, str], level: float) -> list[Entry]:
    """Entries of `biasmap.overall`: means over the prompts of a model, by concept, with t intervals over prompts."""
    entries = []
    for (model, a), own in _grouped(pairs, "model", "a").items():
        axis = axis_of.get(a)
        found = [r["estimate"] for r in risks if (r["model"], r["axis"]) == (model, axis)]
        entries.append({
            "model": model, "a": a, "prompts": len(own),
            **{score: _mean([e[score] for e in own], level) for score in ("miou", "mbiou")},
            "corrected": _tested([e["corrected"] for e in own], level),
            "risk_difference": _mean(found, level) if found else None,
            **{part: {name: _mean([e[part][name] for e in own], level) for name in own[0][part]}
               for part in ("blocks", "layers")},
            "chance_area": float(np.mean([e["chance_area"] for e in own])),
        })  # fmt: skip
    return entries


def changes(
    pairs: Sequence[Entry], risks: Sequence[Entry], axis_of: Mapping[str, str], models: Sequence[str], level: float
) -> list[Entry]:
    """Entries of `biasmap.changes`: every later model less the first, paired by seed, and by t-test over prompts."""
    entries = []
    by_model = _grouped(pairs, "model", "a")
    for model in models[1:]:
        for a in dict.fromkeys(e["a"] for e in pairs):
            befores, afters = by_model.get((models[0], a), []), by_model.get((model, a), [])
            matched = [(x, y) for x in befores for y in afters if x["prompt"] == y["prompt"]]
            if not matched:
                continue
            entries.append({
                "models": [models[0], model], "a": a,
                "prompts": [_prompt_change(before, after, level) for before, after in matched],
                **{score: t_test([after[score].value - before[score].value for before, after in matched],
                                 level=level, bounds=DIFFERENCE)
                   for score in ("miou", "mbiou")},
                "corrected": _tested([_minus(y["corrected"], x["corrected"]) for x, y in matched], level),
                "risk_difference": _risk_change(risks, axis_of.get(a), models[0], model, level),
            })  # fmt: skip
    return entries


def gradient_scores(entries: Sequence[Mapping[str, Any]], cosines: Mapping[str, float], scoring: Scoring) -> Entry:
    """An entry of `biasmap.gradient`: whether words nearer in meaning overlap more (BiasMap, supplement E).

    `entries` are the pairs of one prompt and model; `cosines` by concept that of its text embedding with the word that
    all are held against.
    """
    first = entries[0]
    found: Entry = {"prompt": first["prompt"], "model": first["model"], "b": first["b"], "cosines": dict(cosines)}
    rng = scoring.rng(first["model"], first["prompt"], first["b"], *cosines, "gradient")
    near, overlaps = [cosines[e["a"]] for e in entries], [e["miou"].value for e in entries]
    try:
        found["spearman"] = spearman(near, overlaps, rng=rng, draws=scoring.draws, level=scoring.level)
    except NotEnoughData as error:
        found["spearman"] = Missing("error", str(error))
    return found


def add_change_q(entries: Sequence[Entry]) -> None:
    """q-values of differences: per score one family of the means over prompts, and one of all single prompts."""
    for score in ("miou", "mbiou", "corrected", "risk_difference"):
        _adjust([(entry, score) for entry in entries])
    for score in ("miou", "mbiou"):
        _adjust([(one, score) for entry in entries for one in entry["prompts"]])


def add_q(pairs: Sequence[Entry]) -> None:
    """q-values: one family of every score's pairs, one of all their blocks."""
    for score in ("miou", "mbiou"):
        _adjust([(entry, score) for entry in pairs])
    for part in ("blocks", "layers"):
        _adjust([(entry[part], name) for entry in pairs for name in entry[part]])


def _adjust(places: Sequence[tuple[Entry, str]]) -> None:
    known = [(entry, name) for entry, name in places if isinstance(entry[name], Estimate)]
    tested = [(entry, name) for entry, name in known if entry[name].p is not None]
    if tested:
        q = benjamini_hochberg(np.array([entry[name].p for entry, name in tested]))
        for (entry, name), value in zip(tested, q, strict=True):
            entry[name] = replace(entry[name], q=float(value))


def _entanglement(masks: Mask, maps: PairMaps, scoring: Scoring, what: str) -> Entanglement:
    return _of_matrix(iou_matrix(*masks), float(chance_iou(*masks).mean()), maps, scoring, what)


def _of_matrix(matrix: NDArray[np.float64], area: float, maps: PairMaps, scoring: Scoring, what: str) -> Entanglement:
    rng = scoring.rng(maps.model, maps.prompt, maps.a, maps.b, what)
    return entanglement(matrix, area, rng=rng, draws=scoring.draws, level=scoring.level, missing=maps.missing)


def _layer_scores(maps: PairMaps, masking: Masking, scoring: Scoring) -> Entry:
    size = max(found.shape[-2:] for found in maps.layers.values())
    scores: Entry = {}
    for name, found in maps.layers.items():
        flat = is_flat(found)
        scores[name] = FLAT if flat else _entanglement(masking(bilinear(found, size)), maps, scoring, name).miou
    return scores


def is_flat(maps: NDArray[np.floating[Any]]) -> bool:
    """Whether any of these maps (..., H, W) is the same everywhere, but for rounding: it has no place that is high."""
    top = np.abs(maps).max(axis=(-2, -1))
    return bool(np.any(np.ptp(maps, axis=(-2, -1)) <= ROUNDING * top))


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


def _prompt_change(before: Entry, after: Entry, level: float) -> Entry:
    """Mean difference of IoU between pictures of one seed."""
    found: Entry = {"prompt": before["prompt"]}
    for score, pictures in (("miou", "pictures"), ("mbiou", "block_pictures")):
        earlier = dict(zip(before["seeds"], before[pictures], strict=True))
        later = dict(zip(after["seeds"], after[pictures], strict=True))
        common = [seed for seed in earlier if seed in later]
        gap = Missing("error", "the models have no picture of one seed in common")
        values = [later[seed] - earlier[seed] for seed in common]
        found[score] = t_test(values, level=level, bounds=DIFFERENCE) if common else gap
    return found


def _risk_change(
    risks: Sequence[Entry], axis: str | None, first: str, second: str, level: float
) -> Estimate | Missing | None:
    """Mean change of the risk difference over prompts, by t-test."""
    known = {
        (r["model"], r["prompt"]): r["estimate"].value
        for r in risks
        if r["axis"] == axis and isinstance(r["estimate"], Estimate)
    }
    gaps = [known[second, prompt] - value for (model, prompt), value in known.items()
            if model == first and (second, prompt) in known]  # fmt: skip
    return t_test(gaps, level=level, bounds=DIFFERENCE) if gaps else None


def _mean(estimates: Sequence[Estimate | Missing], level: float) -> Estimate | Missing:
    known = [e for e in estimates if isinstance(e, Estimate)]
    if not known:
        return next(e for e in estimates if isinstance(e, Missing))
    nulls = [e.null for e in known if e.null is not None]
    null = float(np.mean(nulls)) if len(nulls) == len(known) else None
    mean = mean_estimate([e.value for e in known], level=level, bounds=(0, 1))
    return replace(mean, missing=len(estimates) - len(known), null=null, max=1.0)


def _tested(estimates: Sequence[Estimate | Missing | float | None], level: float) -> Estimate | Missing:
    values = [e.value if isinstance(e, Estimate) else e for e in estimates if not isinstance(e, Missing)]
    known = [value for value in values if value is not None]
    return t_test(known, level=level) if known else Missing("not_asked", "no prompt has a corrected overlap")


def _minus(a: Estimate | Missing, b: Estimate | Missing) -> float | None:
    return a.value - b.value if isinstance(a, Estimate) and isinstance(b, Estimate) else None


def _grouped(entries: Iterable[Entry], *names: str) -> dict[tuple[Any, ...], list[Entry]]:
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry[name] for name in names), []).append(entry)
    return groups
