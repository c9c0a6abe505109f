"""Transformers with plain cross-attention: OVAM's formula, and images that do not change."""

from __future__ import annotations

from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch

import tiny_pipelines
from askew.errors import UsageError
from askew.measure.attention import AttentionMaps

PROMPT = "a nurse and sex"
ATTRIBUTION = "a nurse and gender"


@pytest.fixture(
    scope="module",
    params=[
        "pixart",
        "sana",
        pytest.param("pixart_sigma", marks=pytest.mark.slow),
        pytest.param("sana_sprint", marks=pytest.mark.slow),
    ],
)
def pipe(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(3)
    pipe = getattr(tiny_pipelines, request.param)()
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make(pipe: Any, prompts: Any = PROMPT, guidance: float = 4.0) -> Any:
    count = len(prompts) if isinstance(prompts, list) else 1
    noise = [torch.Generator().manual_seed(seed) for seed in range(count)]
    return pipe(
        prompts,
        num_inference_steps=2,
        guidance_scale=guidance,
        height=32,
        width=64,
        generator=noise,
        output_type="np",
        use_resolution_binning=False,
        clean_caption=False,
    ).images


@pytest.mark.parametrize("guidance", [1.0, 4.0])
def test_images_are_the_same_to_the_bit(pipe: Any, guidance: float) -> None:
    with AttentionMaps(pipe, ATTRIBUTION) as maps:
        recorded = make(pipe, [PROMPT, "a cat"], guidance)
    assert np.array_equal(recorded, make(pipe, [PROMPT, "a cat"], guidance))
    assert len(maps.aggregate()) == 2
    heads = pipe.transformer.transformer_blocks[0].attn2.heads
    np.testing.assert_allclose(maps.aggregate().sum(axis=1), 2 * heads, rtol=1e-5)


@pytest.mark.parametrize(("branch", "guidance"), [("cond", 1.0), ("cond", 4.0), ("uncond", 4.0)])
def test_maps_of_its_own_prompt_are_the_weights_that_the_model_used(
    pipe: Any, branch: str, guidance: float
) -> None:
    """With the prompt as attribution, maps are the softmax over the run's unmasked keys."""
    attn = pipe.transformer.transformer_blocks[0].attn2
    calls = []

    def keep(_: Any, args: Any, kwargs: Any) -> None:
        calls.append((args[0].clone(), kwargs["encoder_hidden_states"].clone()))

    if branch == "uncond" and isinstance(pipe, d.SanaSprintPipeline):
        with pytest.raises(UsageError, match="no guidance"), AttentionMaps(pipe, PROMPT, branch):
            make(pipe, guidance=guidance)  # a number that the network reads, not a branch
        return
    hook = attn.register_forward_pre_hook(keep, with_kwargs=True)
    with AttentionMaps(pipe, PROMPT, branch) as maps:
        make(pipe, guidance=guidance)
    hook.remove()
    guided = len(calls[0][0]) > 1
    tokens = len(maps.tokens)
    # the prompt's mask, in both branches
    row = int(branch == "cond" and guided)
    text = calls[0][1][int(guided)][:tokens]
    expected = 0
    for hidden, _ in calls:
        q = attn.to_q(hidden[row])
        k = attn.to_k(text)
        q, k = (q, k) if attn.norm_q is None else (attn.norm_q(q), attn.norm_k(k))
        q, k = (x.reshape(len(x), attn.heads, -1).transpose(0, 1) for x in (q, k))
        expected = expected + torch.softmax(q @ k.mT * attn.scale, dim=-1).sum(dim=0)
    layer = maps.layers()["block-1"][0]
    np.testing.assert_allclose(layer.reshape(tokens, -1), expected.T.detach(), rtol=1e-4, atol=1e-6)


def test_words_are_found_despite_capital_letters(pipe: Any) -> None:
    maps = AttentionMaps(pipe, "a CEO and gender")
    assert maps.positions("CEO") == maps.positions("ceo")


def test_unsupported_requests_are_errors(pipe: Any) -> None:
    with pytest.raises(UsageError, match="only 'ovam'"):
        AttentionMaps(pipe, ATTRIBUTION, definition="output")
    with pytest.raises(UsageError, match="shorten the prompt"):
        AttentionMaps(pipe, "c" * 400)
    with pytest.raises(UsageError, match="no guidance"), AttentionMaps(pipe, ATTRIBUTION, "uncond"):
        make(pipe, guidance=1.0)


def test_guidance_by_the_prompt_does_not_count_as_two_images(pipe: Any) -> None:
    if isinstance(pipe, d.SanaSprintPipeline):
        return  # it takes no negative prompt
    with (
        pytest.raises(UsageError, match="negative prompt equals the prompt"),
        AttentionMaps(pipe, ATTRIBUTION),
    ):
        pipe(
            PROMPT,
            negative_prompt=PROMPT,
            num_inference_steps=1,
            guidance_scale=4.0,
            height=32,
            width=64,
            output_type="np",
            use_resolution_binning=False,
            clean_caption=False,
            **({"complex_human_instruction": None} if isinstance(pipe, d.SanaPipeline) else {}),
        )
