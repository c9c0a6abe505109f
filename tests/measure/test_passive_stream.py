"""The passive stream of a text equals its stream as a prompt, and that of one masked sequence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from askew.measure.attention import transformer as attention_transformers
from askew.measure.attention.transformer import TransformerAttentionRecorder
from askew.measure.attribution import encode_rows
from tiny_transformers import (
    ATTRIBUTION,
    FAMILIES,
    UNGUIDED,
    calls_of,
    draw,
    error,
    every_family,
    expected,
    guided,
    maps_of,
    pipeline,
    written_out,
)

FULL = "thefaceofanursewhosmilesatthecamerainabrighthospitalwardonarainydayinwinter"
"""A prompt that fills all 77 CLIP rows with single letters."""

ROUNDING = 2e-6
"""Largest rounding error of a stream in float32. Processors differ; AuraFlow reached 1.03e-6."""


def own_prompt(family: str) -> dict[str, Any]:
    """Return a prompt without unused text rows, so that it can equal a passive stream."""
    pipe = pipeline(family)
    tokenizer = getattr(pipe, "tokenizer_3", None) or getattr(pipe, "tokenizer_2", pipe.tokenizer)
    # Qwen-Image has no unused rows
    length = None if family == "qwen-image" else len(tokenizer(FULL).input_ids)
    return {"prompts": (FULL,), "max_sequence_length": length or 512}


def stream_error(family: str, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the largest relative error over blocks of the passive stream."""
    heard: list[Tensor] = []

    def recording(*arguments: Any) -> Tensor:
        heard.append(advance(*arguments))
        return heard[-1]

    monkeypatch.setattr(attention_transformers, "advance", recording)
    more = {**own_prompt(family), **guided(family, steps=1), "steps": 1}
    maps_of(family, FULL, **more)
    _, written = written_out(pipeline(family).transformer, calls_of(family, **more)[0], None)
    pairs = list(zip(heard, written, strict=False))  # SD3's last block has no text
    assert len(pairs) >= len(heard) - 1
    return max(float((a - b[-1:]).abs().max() / b.abs().max()) for a, b in pairs)


@every_family
def test_the_prompt_itself_gives_its_own_stream(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stream_error(family, monkeypatch) <= ROUNDING


@every_family
@pytest.mark.parametrize("softmax", ["text", "joint"])
def test_the_prompt_itself_gives_its_own_maps(family: str, softmax: str) -> None:
    more = {**own_prompt(family), **guided(family)}
    maps = maps_of(family, FULL, softmax, **more)
    for layer, wanted in zip(maps.values(), expected(family, softmax, None, **more), strict=True):
        np.testing.assert_allclose(layer, wanted, rtol=1e-5, atol=0)
        assert np.abs(layer - wanted).max() <= 1e-6


def output_hooks(name: str, attn: Any, keep: Callable[[str, Tensor], None]) -> list[Any]:
    """Keep the attention's outputs before their projection: "NAME", or "NAME x" and "NAME c"."""
    if hasattr(attn, "to_qkv_mlp_proj"):
        width = attn.inner_dim
        return [attn.to_out.register_forward_pre_hook(lambda _, a: keep(name, a[0][..., :width]))]
    if not hasattr(attn, "to_out"):
        return [attn.register_forward_hook(lambda *a: keep(name, a[2]))]
    if name.startswith("single"):
        return [attn.to_out[0].register_forward_pre_hook(lambda _, a: keep(name, a[0]))]
    if attn.to_add_out is None:
        return []
    return [
        attn.to_out[0].register_forward_pre_hook(lambda _, a: keep(f"{name} x", a[0])),
        attn.to_add_out.register_forward_pre_hook(lambda _, a: keep(f"{name} c", a[0])),
    ]


@every_family
def test_outputs_of_the_prompt_itself_are_those_of_its_own_text(family: str) -> None:
    """The image is also equal to the bit. SD3's last block computes nothing for its text."""
    pipe = pipeline(family)
    outputs = dict[str, list[Tensor]]()
    blocks = attention_transformers.layer_blocks(pipe.transformer)
    more = {**own_prompt(family), **UNGUIDED.get(family, {})}

    def keep(name: str, output: Tensor) -> None:
        outputs.setdefault(name, []).append(output.detach().clone())

    hooks = [
        hook for name, block in blocks.items() for hook in output_hooks(name, block.attn, keep)
    ]
    bare = draw(family, **more)
    for hook in hooks:
        hook.remove()
    with TransformerAttentionRecorder(pipe, FULL, definition="output") as maps:
        assert np.array_equal(draw(family, **more), bare)
    for name, layer in maps.layers().items():
        expected = 0
        for step in range(2):
            if name.startswith("single"):
                c, x = outputs[name][step].split([len(maps.tokens), layer[0, 0].size], dim=1)
            else:
                c = outputs[f"{name} c"][step]
                x = outputs[f"{name} x"][step]
            expected = expected + (c @ x.mT).softmax(dim=1)
        np.testing.assert_allclose(layer.reshape(expected.shape), expected, rtol=1e-4, atol=1e-6)
    silent = (
        {f"joint-{len(pipe.transformer.transformer_blocks)}"} if family.startswith("sd3") else set()
    )
    assert set(maps.layers()) == set(blocks) - silent


@every_family
@pytest.mark.parametrize(
    ("softmax", "guidance"),
    [
        ("text", True),
        ("joint", False),
        pytest.param("text", False, marks=pytest.mark.slow),
        pytest.param("joint", True, marks=pytest.mark.slow),
    ],
)
def test_maps_agree_with_one_masked_sequence(family: str, softmax: str, guidance: bool) -> None:
    more = guided(family) if guidance else UNGUIDED.get(family, {})
    assert agreement(family, softmax, **more) <= 2e-6


def agreement(family: str, softmax: str = "text", **more: Any) -> float:
    """Return the error of maps relative to those of one masked sequence."""
    rows = encode_rows(pipeline(family), ATTRIBUTION, text_length(family)).vectors
    return error(maps_of(family, softmax=softmax, **more), expected(family, softmax, rows, **more))


def text_length(family: str) -> int:
    """Return the rows of text in a call with max_sequence_length=32."""
    if family.startswith("sd3"):
        return 77 + 32
    return 512 if family == "qwen-image" else 32


recipe = attention_transformers
advance = recipe.advance
by_head = recipe._by_head
side = recipe.side


def without_rotation(by_head: Tensor, rotation: Any) -> Tensor:
    return by_head


def next_place(attn: Any, projected: Any, norms: Any, rotation: Any) -> Any:
    return side(attn, projected, norms, None if rotation is None else rotation.roll(1, dims=0))


def without_norm(attn: Any, projected: Tensor, norm: Any = None) -> Tensor:
    return by_head(attn, projected)


def deaf(tokens: Any, pixels: Any) -> Tensor:
    gathered = torch.nn.functional.scaled_dot_product_attention(
        tokens.queries, tokens.keys, tokens.values
    )
    return gathered.transpose(1, 2).flatten(2)


def by_image_weights(**swapped: str) -> Callable[..., Tensor]:
    """Use the modules of the image side for the text."""

    def wrong(block: Any, *arguments: Any) -> Tensor:
        if not hasattr(block, next(iter(swapped))) or getattr(block, "context_pre_only", False):
            return advance(block, *arguments)
        twin = copy.copy(block)
        twin._modules = {
            **block._modules,
            **{text: getattr(block, image) for text, image in swapped.items()},
        }
        return advance(twin, *arguments)

    return wrong


def timeless(block: Any, given: Any, *arguments: Any) -> Tensor:
    still = {name: torch.zeros_like(given[name]) for name in recipe.MODULATIONS if name in given}
    return advance(block, {**given, **still}, *arguments)


def standing_still(kind: str) -> Callable[..., Tensor]:
    def wrong(block: Any, given: Any, tokens: Tensor, listening: Any) -> Tensor:
        after = advance(block, given, tokens, listening)
        return tokens if recipe.has_text_side(block.attn) == (kind == "joint") else after

    return wrong


ROTATED = ("flux-dev", "chroma", "qwen-image", "flux2-klein", "ovis-image")
SINGLE = ("flux-dev", "chroma", "auraflow", "flux2-klein", "ovis-image")
CONTEXT = ("sd3", "flux-dev", "auraflow")
MUTATIONS: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "no rotation": (ROTATED, "_rotated", without_rotation),
    "rotation of another place": (ROTATED, "side", next_place),
    "no norm of queries and keys": (("sd3.5", *ROTATED, "auraflow"), "_by_head", without_norm),
    "deaf to the image": (tuple(FAMILIES), "_attended", deaf),
    "image feed-forward": (CONTEXT, "advance", by_image_weights(ff_context="ff")),
    "image norm": (CONTEXT, "advance", by_image_weights(norm1_context="norm1")),
    "image modulation": (("qwen-image",), "advance", by_image_weights(txt_mod="img_mod")),
    "timeless": (tuple(FAMILIES), "advance", timeless),
    "joint blocks add nothing": (tuple(FAMILIES), "advance", standing_still("joint")),
    "single blocks add nothing": (SINGLE, "advance", standing_still("single")),
}


@pytest.mark.parametrize(
    ("family", "mutation"),
    [
        pytest.param(family, name, marks=() if family == "flux-dev" else pytest.mark.slow)
        for name, (families, *_) in MUTATIONS.items()
        for family in families
    ],
)
def test_a_wrong_recipe_does_not_agree(
    family: str, mutation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, name, wrong = MUTATIONS[mutation]
    monkeypatch.setattr(recipe, name, wrong)
    assert agreement(family, **UNGUIDED.get(family, {})) > 1e-3


def test_rows_of_the_wrong_branch_do_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unconditional(recipe._TransformerCall):
        def __init__(self, rows: slice, **arguments: Any) -> None:
            super().__init__(rows=slice(0, rows.start), **arguments)

    monkeypatch.setattr(recipe, "_TransformerCall", Unconditional)
    assert agreement("sd3", **guided("sd3")) > 1e-3
