"""Learning nouns does not change anything else that the studio's networks know."""

from __future__ import annotations

from random import Random

import pytest
import torch

from askew.studio import NETWORKS, weights
from askew.studio.caption import parse
from training.captioned import captioned_scenes, framed
from training.networks import Networks, load, tokens
from training.nouns import MEANINGS, SAME, extend, token, worded


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load(weights("studio"))


def test_both_captions_state_the_same() -> None:
    people = [example for example in captioned_scenes(400, 1.0, 3) if example.scene.person]
    for k, entry in enumerate(people):
        noun, known = map(parse, worded(entry, Random(k)))
        assert (noun.attributes, noun.occupation, noun.unknown) == (
            known.attributes,
            known.occupation,
            known.unknown,
        )
        assert noun.person


def test_no_training_caption_contains_a_new_token(networks: Networks) -> None:
    new = networks.tokenizer.convert_tokens_to_ids([token(noun) for noun in (*MEANINGS, *SAME)])
    captions = [
        framed(example.scene, example.named(Random(k)), Random(k))
        for k, example in enumerate(captioned_scenes(300, 1.0, 5))
    ]
    assert tokens(networks.tokenizer, captions).max() < min(new)
    assert (
        tokens(networks.tokenizer, ["a photo of a MAN", "nurses"])
        .flatten()
        .tolist()
        .count(min(new))
        == 1
    )


def test_repeated_training_restarts_and_changes_nothing_else(networks: Networks) -> None:
    before = networks.text.get_input_embeddings().weight.detach().clone()
    extend(networks)
    after = networks.text.get_input_embeddings().weight
    numbers = networks.tokenizer.convert_tokens_to_ids
    assert len(after) == len(before)
    first = min(numbers([token(noun) for noun in MEANINGS]))
    assert torch.equal(after[:first], before[:first])
    assert torch.equal(after[numbers("nurses")], before[numbers("nurse</w>")])


def test_all_networks_of_the_studio_embed_nouns_equally() -> None:
    tables = [
        load(weights(name)).text.get_input_embeddings().weight
        for name in NETWORKS
        if name != "embedder"
    ]
    assert torch.equal(*tables)
