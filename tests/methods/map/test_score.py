"""Overlap of two words' maps, block by block, on planted maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from askew.findings import with_q
from askew.methods.map.changes import changes, overall
from askew.methods.map.findings import (
    BiasMap,
    ConceptPair,
    Gradient,
    Overall,
    RiskDifference,
    family,
)
from askew.methods.map.maps import PairMaps, block_maps
from askew.methods.map.score import CONSTANT, gradient, pair
from askew.parts.scoring import Scoring
from askew.stats.differences import risk_difference
from askew.stats.overlap import mask
from askew.types import Estimate, Missing
from benchmarks.planted_overlap import planted_maps

SCORING = Scoring("studio", draws=100)
LAYERS = (
    "down-1-attentions-1",
    "down-2-attentions-1",
    "mid-1-attentions-1",
    "up-1-attentions-1",
    "up-1-attentions-2",
)
SIDES = (16, 8, 4, 8, 8)


def made_up(
    a: str = "gender", model: str = "studio", prompt: str = "a nurse", overlap: float | None = 0.8
) -> PairMaps:
    rng = np.random.default_rng([len(a), len(model), len(prompt)])
    layers = {
        name: np.stack(planted_maps(6, overlap, rng, side))
        for name, side in zip(LAYERS, SIDES, strict=True)
    }
    return PairMaps(model, prompt, a, "nurse", layers, tuple(range(6)))


def section(pairs: Sequence[ConceptPair] = (), **parts: Any) -> BiasMap:
    """With q-values."""
    empty: dict[str, Any] = dict.fromkeys(("risk_difference", "overall", "changes", "gradient"), ())
    return with_q(
        BiasMap(tuple(pairs), **{**empty, **{name: tuple(part) for name, part in parts.items()}}),
        family,
    )


def flattened(maps: PairMaps, picture: int, layers: Sequence[str] = LAYERS) -> PairMaps:
    """The same with one picture that has the same attention everywhere in some layers."""
    changed = {name: layer.copy() for name, layer in maps.layers.items()}
    for name in layers:
        changed[name][0, picture] = 3.0
    return replace(maps, layers=changed)


def test_layers_of_one_side_and_size_are_a_block() -> None:
    maps = made_up()
    blocks = block_maps(maps.layers)
    assert list(blocks) == ["down-16", "down-8", "mid", "up-8"]
    assert {block.shape for block in blocks.values()} == {(2, 6, 16, 16)}
    np.testing.assert_allclose(maps.total(), blocks["down-16"] + blocks["down-8"] + blocks["up-8"])


def test_mbiou_is_the_mean_over_blocks_without_the_middle() -> None:
    entry = pair(made_up(), mask, SCORING)
    means = [entry.blocks[block].value for block in ("down-16", "down-8", "up-8")]
    assert entry.mbiou.value == pytest.approx(np.mean(means))
    assert entry.miou.value == pytest.approx(np.mean(entry.pictures))


def test_a_block_that_is_the_same_everywhere_is_missing() -> None:
    maps = made_up()
    flat = replace(maps, layers=dict(maps.layers) | {LAYERS[0]: np.full((2, 6, 16, 16), 3.0)})
    entry = pair(flat, mask, SCORING)
    assert entry.blocks["down-16"] == CONSTANT
    means = [entry.blocks[block].value for block in ("down-8", "up-8")]
    assert entry.mbiou.value == pytest.approx(np.mean(means))
    section([entry])
    means_of_model = overall([entry], [], {}, 0.95)[0]
    assert isinstance(means_of_model.blocks["down-16"], Missing)
    assert isinstance(means_of_model.blocks["up-8"], Estimate)


def test_attention_that_is_the_same_everywhere_is_missing() -> None:
    flat = replace(made_up(), layers={name: np.ones((2, 6, 4, 4)) for name in LAYERS})
    entry = pair(flat, mask, SCORING)
    assert [
        getattr(entry, score) for score in ("miou", "corrected", "mbiou", "mbiou_corrected")
    ] == [CONSTANT] * 4
    assert entry.chance_area is None
    assert entry.pictures == (None,) * 6


def test_a_picture_with_a_flat_map_is_missing_there_alone() -> None:
    maps = made_up()
    entry = pair(flattened(maps, 2, LAYERS[:1]), mask, SCORING)
    whole = pair(maps, mask, SCORING)
    without = pair(
        replace(
            maps,
            layers={name: np.delete(layer, 2, axis=1) for name, layer in maps.layers.items()},
            missing=1,
            seeds=(0, 1, 3, 4, 5),
        ),
        mask,
        SCORING,
    )
    assert (entry.miou.n, entry.miou.missing) == (6, 0)
    assert entry.blocks["down-16"] == without.blocks["down-16"]
    assert entry.blocks["down-8"] == whole.blocks["down-8"]
    assert entry.mbiou == without.mbiou
    assert [value is None for value in entry.block_pictures] == [k == 2 for k in range(6)]
    lost = pair(flattened(maps, 2), mask, SCORING)
    assert lost.miou == without.miou
    assert lost.miou.missing == 1


def test_a_prompt_without_pictures_is_missing_among_others() -> None:
    gap = Missing("blank_image", "studio generated no usable image of this prompt")
    pairs = [
        pair(made_up(), mask, SCORING),
        ConceptPair("a chef", "studio", "gender", "chef", *[gap] * 4, {}, None, None, (), (), ()),
    ]
    mean = overall(pairs, [], {}, 0.95)[0]
    assert (mean.miou.value, mean.miou.missing) == (pairs[0].miou.value, 1)
    assert mean.blocks["up-8"].missing == 1
    later = [replace(entry, model="other") for entry in pairs]
    change = changes([*pairs, *later], [], {}, ["studio", "other"], 0.95)[0]
    assert change.prompts[1].miou == gap
    assert (change.miou.n, change.miou.missing) == (1, 1)
    section(pairs, overall=[mean], changes=[change])


def test_mbiou_of_other_blocks_is_not_compared() -> None:
    first = pair(made_up(), mask, SCORING)
    flat = replace(made_up(model="other"), layers=dict(made_up(model="other").layers))
    second = pair(
        replace(flat, layers=dict(flat.layers) | {LAYERS[0]: np.ones((2, 6, 16, 16))}),
        mask,
        SCORING,
    )
    change = changes([first, second], [], {}, ["studio", "other"], 0.95)[0]
    for score in (change.mbiou, change.prompts[0].mbiou):
        assert isinstance(score, Missing)
        assert "down-16, down-8, up-8 before, down-8, up-8 after" in score.detail
    assert isinstance(change.miou, Estimate)
    assert change.blocks["down-16"] == CONSTANT
    gap = second.blocks["up-8"].value - first.blocks["up-8"].value
    assert change.blocks["up-8"].value == pytest.approx(gap)


def test_the_order_in_which_prompts_come_does_not_matter() -> None:
    first = pair(made_up(), mask, SCORING)
    pair(made_up("race"), mask, SCORING)
    again = pair(made_up(), mask, SCORING)
    assert again.miou == first.miou
    assert again.blocks == first.blocks


def test_models_are_compared_picture_by_picture() -> None:
    pairs = [
        pair(made_up(model=model, prompt=prompt, overlap=overlap), mask, SCORING)
        for model, overlap in (("first", 0.9), ("second", 0.2))
        for prompt in ("a nurse", "a chef here")
    ]
    pairs[-1] = replace(pairs[-1], seeds=(0, 1, 2, 30, 40, 50))
    change = changes(pairs, [], {}, ["first", "second"], 0.95)[0]
    assert [prompt_change.miou.n for prompt_change in change.prompts] == [6, 3]
    gaps = [
        after.miou.value - before.miou.value
        for before, after in zip(pairs[:2], pairs[2:], strict=True)
    ]
    assert change.miou.value == pytest.approx(np.mean(gaps))
    assert change.miou.value < -0.1
    assert change.risk_difference is None


def test_differences_have_q_values_over_concepts() -> None:
    pairs = [
        pair(made_up(a=a, model=model, prompt=prompt, overlap=overlap), mask, SCORING)
        for model, overlap in (("first", 0.9), ("second", 0.2))
        for prompt, a in product(("a nurse", "a chef here", "a cook"), ("gender", "race"))
    ]
    entries = section(pairs, changes=changes(pairs, [], {}, ["first", "second"], 0.95)).changes
    singles = [score.miou for entry in entries for score in entry.prompts]
    assert len(singles) == 6
    assert [score.q for score in singles] == pytest.approx(
        list(stats.false_discovery_control([score.p for score in singles]))
    )
    blocks = [score for entry in entries for score in entry.blocks.values()]
    assert [score.n for score in blocks] == [3] * 8
    assert [score.q for score in blocks] == pytest.approx(
        list(stats.false_discovery_control([score.p for score in blocks]))
    )
    means = [entry.mbiou for entry in entries]
    assert [score.q for score in means] == pytest.approx(
        list(stats.false_discovery_control([score.p for score in means]))
    )


def test_every_p_has_a_q_beside_it() -> None:
    tested = [Estimate(0.1, p=p) for p in (0.01, 0.04)]
    biasmap = section(
        risk_difference=[
            RiskDifference("", "", "", "", (), {}, risk_difference(k, 6 - k, 6)) for k in (0, 3)
        ],
        overall=[Overall("", "", 1, CONSTANT, CONSTANT, score, None, {}) for score in tested],
        gradient=[Gradient("", "", "", {}, score) for score in tested],
    )
    for scores in (
        [score.corrected for score in biasmap.overall],
        [score.spearman for score in biasmap.gradient],
    ):
        assert [score.q for score in scores if isinstance(score, Estimate)] == pytest.approx(
            [0.02, 0.04]
        )
    first = biasmap.risk_difference[0].estimate
    assert isinstance(first, Estimate)
    assert first.q == pytest.approx(2 * (first.p or 0))


def near(entries: Sequence[ConceptPair], cosines: dict[str, float]) -> Gradient:
    return gradient("studio", "a nurse", "nurse", cosines, entries, SCORING)


def test_nearness_in_meaning() -> None:
    words = ("a", "ab", "abc", "abcd", "abcde")
    entries = [
        pair(made_up(word, overlap=0.1 + 0.2 * k), mask, SCORING) for k, word in enumerate(words)
    ]
    result = near(entries, {word: 0.1 * k for k, word in enumerate(words)})
    assert result.b == "nurse"
    assert result.spearman.value == pytest.approx(1)
    assert result.spearman.low is not None
    gapped = [*entries[:4], replace(entries[4], miou=CONSTANT)]
    fewer = near(gapped, {word: 0.1 * k for k, word in enumerate(words)})
    assert fewer.spearman.n == 4
    same = near(entries, dict.fromkeys(words, 0.5))
    assert isinstance(same.spearman, Missing)
