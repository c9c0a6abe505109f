"""Attention maps of all layers of SDXL and SD 2, for oblong images and images made from images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import tiny_pipelines
from askew.measure.attention import AttentionMaps, block_names
from slow_cases import quick_only

ATTRIBUTION = "a nurse and sex"
PROMPTS = ["a chef", "an old nurse"]
OBLONG = {"height": 24, "width": 40}
"""Latents of 12 x 20, so that the innermost level has odd sides."""

LEVELS: dict[str, Any] = {
    "block_out_channels": (8, 16, 16),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "attention_head_dim": (1, 2, 4),
    "use_linear_projection": True,
}
SIZES = {"sd2": {"down-6x10": 1, "down-3x5": 1, "mid": 1, "up-3x5": 2, "up-6x10": 2}}
SIZES["sdxl"] = {"down-6x10": 2, "down-3x5": 3, "mid": 3, "up-3x5": 6, "up-6x10": 4}
"""Layers of each block."""


def sdxl() -> Any:
    parts = tiny_pipelines.stable_diffusion_xl().components
    unet = tiny_pipelines.sdxl_unet(transformer_layers_per_block=(1, 2, 3), **LEVELS)
    return d.StableDiffusionXLPipeline(**parts | {"unet": unet})


def sd2() -> Any:
    parts = tiny_pipelines.stable_diffusion().components
    scheduler = d.DDIMScheduler(prediction_type="v_prediction", steps_offset=1)
    parts |= {"unet": tiny_pipelines.unet(**LEVELS), "scheduler": scheduler}
    return d.StableDiffusionPipeline(**parts, requires_safety_checker=False)


BUILDERS = {"sd2": sd2, "sdxl": sdxl}
IMAGE_TO_IMAGE = {
    "sd2": d.StableDiffusionImg2ImgPipeline,
    "sdxl": d.StableDiffusionXLImg2ImgPipeline,
}

every_family = pytest.mark.parametrize("family", BUILDERS)


@lru_cache
def pipeline(family: str, from_pictures: bool = False) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        pipe = (
            BUILDERS[family]()
            if not from_pictures
            else IMAGE_TO_IMAGE[family](**pipeline(family).components)
        )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def draw(pipe: Any, guidance: float = 5.0, **more: Any) -> np.ndarray:
    noise = [torch.Generator().manual_seed(k) for k in range(len(PROMPTS))]
    settings = {
        "num_inference_steps": 2,
        "guidance_scale": guidance,
        "output_type": "np",
        "generator": noise,
        **more,
    }
    pictures: np.ndarray = pipe(PROMPTS, **settings).images
    return pictures


@contextmanager
def layer_inputs(unet: Any) -> Iterator[dict[str, list[Tensor]]]:
    """Record the hidden states that each cross-attention receives, by its path in the network."""
    inputs: dict[str, list[Tensor]] = {}
    hooks = []
    for path, module in unet.named_modules():
        if path.endswith("attn2"):
            keep = inputs.setdefault(path, [])
            hooks.append(
                module.register_forward_pre_hook(
                    lambda _m, args, keep=keep: keep.append(args[0].clone())
                )
            )
    yield inputs
    for hook in hooks:
        hook.remove()


def path_of(layer: str) -> str:
    """Return a path such as up_blocks.1.attentions.0.transformer_blocks.0.attn2."""
    side, i, _, j, _, k, _ = layer.split("-")
    outer = "mid_block" if side == "mid" else f"{side}_blocks.{int(i) - 1}"
    return f"{outer}.attentions.{int(j) - 1}.transformer_blocks.{int(k) - 1}.attn2"


def text_rows(pipe: Any, count: int) -> Tensor:
    """Return the vectors of the attribution as the pipeline encodes a prompt, without padding."""
    rows: Tensor = pipe.encode_prompt(
        ATTRIBUTION, device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False
    )[0]
    return rows[0, :count]


@torch.no_grad()
def written_out(attn: Any, states: list[Tensor], text: Tensor) -> Tensor:
    """Compute the maps of the conditional rows head by head, (images, tokens, pixels)."""
    total = torch.zeros(())
    for state in states:
        rows = state[-len(PROMPTS) :]
        queries = attn.to_q(rows).chunk(attn.heads, dim=-1)
        keys = attn.to_k(text).chunk(attn.heads, dim=-1)
        for q, k in zip(queries, keys, strict=True):
            total = total + torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1).mT
    return total


@every_family
@pytest.mark.parametrize("guidance", quick_only([5.0], [1.0, 5.0]))
def test_every_level_is_recorded(family: str, guidance: float) -> None:
    pipe = pipeline(family)
    with layer_inputs(pipe.unet) as inputs, AttentionMaps(pipe, ATTRIBUTION, middle=True) as maps:
        recorded = draw(pipe, guidance, **OBLONG)
    assert np.array_equal(recorded, draw(pipe, guidance, **OBLONG))
    layers = maps.layers()
    text = text_rows(pipe, len(maps.tokens))
    assert {path_of(name) for name in layers} == set(inputs)
    for name, layer in layers.items():
        attn = pipe.unet.get_submodule(path_of(name))
        expected = written_out(attn, inputs[path_of(name)], text).numpy()
        np.testing.assert_allclose(layer.reshape(expected.shape), expected, rtol=1e-4)


@every_family
def test_layers_are_grouped_by_side_and_size(family: str) -> None:
    pipe = pipeline(family)
    with AttentionMaps(pipe, ATTRIBUTION, middle=True) as maps:
        draw(pipe, **OBLONG)
    layers = maps.layers()
    blocks = list(
        block_names(
            {name: (layer.shape[2], layer.shape[3]) for name, layer in layers.items()}
        ).values()
    )
    assert list(dict.fromkeys(blocks)) == list(SIZES[family])
    assert {block: blocks.count(block) for block in blocks} == SIZES[family]
    large = [
        functional.interpolate(torch.from_numpy(layer), (6, 10), mode="bilinear")
        for layer in layers.values()
    ]
    np.testing.assert_allclose(maps.aggregate(), torch.stack(large).sum(0), rtol=1e-4)


@every_family
@pytest.mark.parametrize("guidance", quick_only([5.0], [1.0, 5.0]))
def test_images_made_from_images(family: str, guidance: float) -> None:
    pipe = pipeline(family, from_pictures=True)
    image = torch.linspace(0, 1, 2 * 3 * 24 * 40).reshape(2, 3, 24, 40)
    settings = {"image": image, "strength": 0.5, "num_inference_steps": 6}
    with AttentionMaps(pipe, ATTRIBUTION) as maps:
        recorded = draw(pipe, guidance, **settings)
    assert np.array_equal(recorded, draw(pipe, guidance, **settings))
    assert maps.aggregate().shape == (2, len(maps.tokens), 6, 10)
    for name, layer in maps.layers().items():
        heads = pipe.unet.get_submodule(path_of(name)).heads
        np.testing.assert_allclose(layer.sum(axis=1), 3 * heads, rtol=1e-5)


@every_family
def test_the_maps_of_an_image_do_not_depend_on_its_batch(family: str) -> None:
    pipe = pipeline(family)
    with AttentionMaps(pipe, ATTRIBUTION) as together:
        draw(pipe)
    with AttentionMaps(pipe, ATTRIBUTION) as alone:
        pipe(
            PROMPTS[1],
            num_inference_steps=2,
            guidance_scale=5.0,
            generator=[torch.Generator().manual_seed(1)],
        )
    for name, layer in alone.layers().items():
        np.testing.assert_allclose(layer, together.layers()[name][1:], rtol=1e-4)
