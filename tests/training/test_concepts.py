"""Learning concept tokens uses the maps that askew records, and changes nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import CLIPTokenizer

from askew.measure.attention import AttentionMaps
from askew.studio import weights
from training.concepts import SIDE, Batch, Queries, encoded, extend, learned, misfit, shares
from training.networks import Networks, load, tokens

CAPTIONS = ["a photo of a nurse", "a portrait of a person indoors"]


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load(weights("studio"))


def test_maps_equal_those_that_are_recorded(networks: Networks) -> None:
    batch = Batch(
        noisy=torch.randn(2, 12, SIDE, SIDE, generator=torch.Generator().manual_seed(1)),
        timesteps=torch.tensor([300, 700]),
        captions=CAPTIONS,
        regions=torch.zeros(2, 2, SIDE, SIDE),
    )
    queries = Queries(networks)
    queries.record(batch)
    texts = [f"{caption} and happy" for caption in CAPTIONS]
    maps = queries.maps(texts, "happy</w>").detach().numpy()
    pipe = SimpleNamespace(
        unet=networks.unet,
        components={"tokenizer": networks.tokenizer},
        tokenizer=networks.tokenizer,
        text_encoder=networks.text,
        scheduler=SimpleNamespace(timesteps=torch.zeros(1)),
        do_classifier_free_guidance=False,
        _execution_device="cpu",
        encode_prompt=lambda text, **_: (encoded(networks, [text]),),
    )
    for k, text in enumerate(texts):
        with AttentionMaps(pipe, text) as recorder, torch.no_grad():
            states = encoded(networks, [CAPTIONS[k]])
            networks.unet(batch.noisy[k : k + 1], batch.timesteps[k : k + 1], states)
        positions = recorder.positions("happy")
        wanted = recorder.aggregate()[0, positions].sum(axis=0)
        np.testing.assert_allclose(maps[k], wanted, rtol=1e-4)


def test_tokens_are_added_after_all_others(networks: Networks) -> None:
    known = CLIPTokenizer.from_pretrained(weights("studio") / "tokenizer")
    before = networks.text.get_input_embeddings().weight.detach().clone()
    extend(networks)
    assert torch.equal(networks.text.get_input_embeddings().weight[: len(before)], before)
    assert torch.equal(tokens(networks.tokenizer, CAPTIONS), tokens(known, CAPTIONS))
    assert learned() == {"gender": "<gender>", "ethnicity": "<race>"}


def test_a_map_like_its_region_has_no_misfit() -> None:
    masks = np.zeros((2, 128, 128), dtype=bool)
    masks[0, :64] = True
    masks[1, 32:, :20] = True
    regions = torch.from_numpy(shares(masks))
    assert regions[1, 4, 2] == 0.5
    assert misfit(3 + 2 * regions, regions).item() == pytest.approx(0, abs=1e-6)
    assert misfit(-regions, regions).item() == pytest.approx(2, abs=1e-6)
