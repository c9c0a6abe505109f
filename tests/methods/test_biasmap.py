"""Overlap of two words' maps, block by block, on maps that were made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from askew.errors import NotEnoughData
from askew.methods.biasmap import (
    FLAT,
    Masking,
    PairMaps,
    add_change_q,
    add_q,
    changes,
    gradient_scores,
    joint_scores,
    overall,
    pair_scores,
)
from askew.methods.scoring import Scoring
from askew.stats.planted_overlap import planted_maps
from askew.types import Estimate, Missing

SCORING = Scoring("studio", draws=100)
LAYERS = ("down-1-attentions-1", "down-2-attentions-1", "mid-1-attentions-1", "up-1-attentions-1", "up-1-attentions-2")
SIDES = (16, 8, 4, 8, 8)


def made_up(a: str = "gender", model: str = "studio", prompt: str = "a nurse", overlap: float | None = 0.8) -> PairMaps:
    rng = np.random.default_rng([len(a), len(model), len(prompt)])
    layers = {name: np.stack(planted_maps(6, overlap, rng, side)) for name, side in zip(LAYERS, SIDES, strict=True)}
    return PairMaps(model, prompt, a, "nurse", layers, tuple(range(6)))


def test_layers_of_one_side_and_size_are_a_block() -> None:
    maps = made_up()
    blocks = maps.blocks()
    assert list(blocks) == ["down-16", "down-8", "mid", "up-8"]
    assert {found.shape for found in blocks.values()} == {(2, 6, 16, 16)}
    np.testing.assert_allclose(maps.total(), blocks["down-16"] + blocks["down-8"] + blocks["up-8"])


def test_mbiou_is_the_mean_over_blocks_without_the_middle() -> None:
    entry = pair_scores(made_up(), Masking(), SCORING)
    means = [entry["blocks"][block].value for block in ("down-16", "down-8", "up-8")]
    assert entry["mbiou"].value == pytest.approx(np.mean(means))
    assert entry["miou"].value == pytest.approx(np.mean(entry["pictures"]))
    assert len(entry["layers"]) == 5


def test_a_block_that_is_the_same_everywhere_is_missing() -> None:
    maps = made_up()
    flat = replace(maps, layers=dict(maps.layers) | {LAYERS[0]: np.full((2, 6, 16, 16), 3.0)})
    entry = pair_scores(flat, Masking(), SCORING)
    assert entry["blocks"]["down-16"] == FLAT
    assert entry["layers"][LAYERS[0]] == FLAT
    means = [entry["blocks"][block].value for block in ("down-8", "up-8")]
    assert entry["mbiou"].value == pytest.approx(np.mean(means))
    add_q([entry])
    found = overall([entry], [], {}, 0.95)[0]
    assert isinstance(found["blocks"]["down-16"], Missing)
    assert isinstance(found["blocks"]["up-8"], Estimate)
    assert isinstance(found["layers"][LAYERS[0]], Missing)
    assert found["layers"][LAYERS[-1]].value == pytest.approx(entry["layers"][LAYERS[-1]].value)


def test_attention_that_is_the_same_everywhere_is_no_data() -> None:
    flat = replace(made_up(), layers={name: np.ones((2, 6, 4, 4)) for name in LAYERS})
    with pytest.raises(NotEnoughData, match="everywhere alike"):
        pair_scores(flat, Masking(), SCORING)


def test_the_order_in_which_prompts_come_does_not_matter() -> None:
    first = pair_scores(made_up(), Masking(), SCORING)
    pair_scores(made_up("race"), Masking(), SCORING)
    again = pair_scores(made_up(), Masking(), SCORING)
    assert again["miou"] == first["miou"]
    assert again["blocks"] == first["blocks"]


def test_models_are_compared_picture_by_picture() -> None:
    pairs = [
        pair_scores(made_up(model=model, prompt=prompt, overlap=overlap), Masking(), SCORING)
        for model, overlap in (("first", 0.9), ("second", 0.2))
        for prompt in ("a nurse", "a chef here")
    ]
    pairs[-1]["seeds"] = [0, 1, 2, 30, 40, 50]
    found = changes(pairs, [], {}, ["first", "second"], 0.95)[0]
    assert [one["miou"].n for one in found["prompts"]] == [6, 3]
    gaps = [after["miou"].value - before["miou"].value for before, after in zip(pairs[:2], pairs[2:], strict=True)]
    assert found["miou"].value == pytest.approx(np.mean(gaps))
    assert found["miou"].value < -0.1
    assert found["risk_difference"] is None


def test_differences_have_q_values_over_concepts() -> None:
    pairs = [
        pair_scores(made_up(a=a, model=model, prompt=prompt, overlap=overlap), Masking(), SCORING)
        for model, overlap in (("first", 0.9), ("second", 0.2))
        for prompt in ("a nurse", "a chef here")
        for a in ("gender", "race")
    ]
    found = changes(pairs, [], {}, ["first", "second"], 0.95)
    add_change_q(found)
    singles = [one["miou"] for entry in found for one in entry["prompts"]]
    assert len(singles) == 4
    assert [one.q for one in singles] == pytest.approx(list(stats.false_discovery_control([one.p for one in singles])))
    means = [entry["mbiou"] for entry in found]
    assert [one.q for one in means] == pytest.approx(list(stats.false_discovery_control([one.p for one in means])))


def test_nearness_in_meaning() -> None:
    words = ("a", "ab", "abc", "abcd", "abcde")
    entries = [pair_scores(made_up(word, overlap=0.1 + 0.2 * k), Masking(), SCORING) for k, word in enumerate(words)]
    found = gradient_scores(entries, {word: 0.1 * k for k, word in enumerate(words)}, SCORING)
    assert found["b"] == "nurse"
    assert found["spearman"].value == pytest.approx(1)
    assert found["spearman"].low is not None
    same = gradient_scores(entries, dict.fromkeys(words, 0.5), SCORING)
    assert isinstance(same["spearman"], Missing)


def test_three_words_at_once() -> None:
    found = joint_scores([made_up(), made_up("race")], Masking(), SCORING)[0]
    assert found["concepts"] == ["gender", "race", "nurse"]
    assert [c["given"] for c in found["conditional"]] == ["gender", "race", "nurse"]
    assert 0 <= found["overlap"].value <= 1
    for conditional in found["conditional"]:
        assert isinstance(conditional["inside"], Estimate)
