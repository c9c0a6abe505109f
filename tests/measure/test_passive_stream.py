"""The passive stream of a text is the stream that the text has as a prompt, and one masked sequence agrees."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from askew.measure import attention_transformers
from askew.measure.attention_transformers import TransformerAttentionMaps
from askew.measure.attribution import encode_rows
from tiny_transformers import (
    ATTRIBUTION,
    FAMILIES,
    UNGUIDED,
    calls_of,
    draw,
    error,
    expected,
    guided,
    maps_of,
    pipeline,
    written_out,
)

FULL = "thefaceofanursewhosmilesatthecamerainabrighthospitalwardonarainydayinwinter"
"""A prompt that fills all 77 CLIP rows, letter by letter."""

every_family = pytest.mark.parametrize("family", FAMILIES)


def own_prompt(family: str) -> dict[str, Any]:
    """A prompt that leaves no row of text unused, so that it is a passive stream's equal."""
    pipe = pipeline(family)
    tokenizer = getattr(pipe, "tokenizer_3", None) or getattr(pipe, "tokenizer_2", pipe.tokenizer)
    return {"prompts": (FULL,), "max_sequence_length": len(tokenizer(FULL).input_ids)}


def stream_error(family: str, monkeypatch: pytest.MonkeyPatch) -> float:
    """How far the passive stream of a prompt is from the prompt's own stream, in the worst block."""
    heard: list[Tensor] = []

    def recording(advance: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
        def wrapped(*arguments: Any) -> tuple[Tensor, Tensor]:
            keys, tokens = advance(*arguments)
            heard.append(tokens)
            return keys, tokens

        return wrapped

    for name in ("joint_block", "single_block"):
        monkeypatch.setattr(attention_transformers, name, recording(getattr(attention_transformers, name)))
    more = {**own_prompt(family), **guided(family, steps=1), "steps": 1}
    maps_of(family, FULL, **more)
    _, own = written_out(pipeline(family).transformer, calls_of(family, **more)[0], None)
    pairs = list(zip(heard, own, strict=False))  # SD3's last block has no text
    assert len(pairs) >= len(heard) - 1
    return max(float((a - b[-1:]).abs().max() / b.abs().max()) for a, b in pairs)


@every_family
def test_the_prompt_itself_gives_its_own_stream(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stream_error(family, monkeypatch) <= 1e-6


@every_family
@pytest.mark.parametrize("softmax", ["text", "joint"])
def test_the_prompt_itself_gives_its_own_maps(family: str, softmax: str) -> None:
    more = {**own_prompt(family), **guided(family)}
    found = maps_of(family, FULL, softmax, **more)
    for layer, wanted in zip(found.values(), expected(family, softmax, None, **more), strict=True):
        np.testing.assert_allclose(layer, wanted, rtol=1e-5, atol=0)
        assert np.abs(layer - wanted).max() <= 1e-6


@every_family
def test_outputs_of_the_prompt_itself_are_those_of_its_own_text(family: str) -> None:
    """And the picture is the same to the bit. SD3's last block gathers nothing for its text."""
    pipe, kept = pipeline(family), dict[str, list[Tensor]]()
    blocks = attention_transformers.layer_blocks(pipe.transformer)
    more = {**own_prompt(family), **UNGUIDED.get(family, {})}

    def keep(name: str, found: Tensor) -> None:
        kept.setdefault(name, []).append(found.detach().clone())

    hooks = []
    for name, block in blocks.items():
        if name.startswith("single"):
            hooks.append(block.attn.register_forward_hook(lambda *a, n=name: keep(n, a[2])))
        elif block.attn.to_add_out is not None:
            hooks.append(block.attn.to_out[0].register_forward_pre_hook(lambda _, a, n=name: keep(f"{n} x", a[0])))
            hooks.append(block.attn.to_add_out.register_forward_pre_hook(lambda _, a, n=name: keep(f"{n} c", a[0])))
    bare = draw(family, **more)
    for hook in hooks:
        hook.remove()
    with TransformerAttentionMaps(pipe, FULL, definition="output") as maps:
        assert np.array_equal(draw(family, **more), bare)
    for name, layer in maps.layers().items():
        expected = 0
        for step in range(2):
            if name.startswith("single"):
                c, x = kept[name][step].split([len(maps.tokens), layer[0, 0].size], dim=1)
            else:
                c, x = kept[f"{name} c"][step], kept[f"{name} x"][step]
            expected = expected + (c @ x.mT).softmax(dim=1)
        np.testing.assert_allclose(layer.reshape(expected.shape), expected, rtol=1e-4, atol=1e-6)
    assert set(blocks) - set(maps.layers()) <= {f"joint-{len(pipe.transformer.transformer_blocks)}"}


@every_family
@pytest.mark.parametrize("softmax", ["text", "joint"])
@pytest.mark.parametrize("guidance", [False, True])
def test_maps_are_those_of_one_masked_sequence(family: str, softmax: str, guidance: bool) -> None:
    more = guided(family) if guidance else UNGUIDED.get(family, {})
    assert agreement(family, softmax, **more) <= 2e-6


def agreement(family: str, softmax: str = "text", **more: Any) -> float:
    """The error of maps, relative to what one masked sequence gives."""
    rows = encode_rows(pipeline(family), ATTRIBUTION, text_length(family)).vectors
    return error(maps_of(family, softmax=softmax, **more), expected(family, softmax, rows, **more))


def text_length(family: str) -> int:
    """Rows of text in a call with max_sequence_length=32."""
    return 77 + 32 if family.startswith("sd3") else 32


def without_rotation(by_head: Tensor, rotation: Any) -> Tensor:
    return by_head


def next_pixel(side: Callable[..., Any]) -> Callable[..., Any]:
    def shifted(attn: Any, projections: Any, rotation: Any) -> Any:
        return side(attn, projections, tuple(part.roll(1, dims=0) for part in rotation))

    return shifted


def without_norm(by_head: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda attn, projected, norm=None: by_head(attn, projected)


def deaf(queries: Tensor, keys: Tensor, values: Tensor, image: Any) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(queries, keys, values).transpose(1, 2).flatten(2)


def by_image_weights(advance: Callable[..., Any], **swapped: str) -> Callable[..., Any]:
    def wrong(block: Any, *arguments: Any) -> Any:
        if getattr(block, "context_pre_only", False):
            return advance(block, *arguments)
        names = ("attn", "norm1", "norm1_context", "norm2_context", "ff", "ff_context")
        parts = {name: getattr(block, name) for name in names}
        return advance(SimpleNamespace(**parts | {k: parts[v] for k, v in swapped.items()}), *arguments)

    return wrong


def timeless(advance: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(block: Any, tokens: Tensor, image: Any, temb: Tensor) -> Any:
        return advance(block, tokens, image, torch.zeros_like(temb))

    return wrong


def standing_still(advance: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(block: Any, tokens: Tensor, image: Any, temb: Tensor) -> Any:
        return advance(block, tokens, image, temb)[0], tokens

    return wrong


stream = capture = attention_transformers
joint = stream.joint_block
MUTATIONS: dict[str, tuple[tuple[str, ...], Any, str, Any]] = {
    "no rotation": (("flux-dev",), stream, "_rotated", without_rotation),
    "rotation of another pixel": (("flux-dev",), capture, "image_side", next_pixel(stream.image_side)),
    "no norm of queries and keys": (("sd3.5", "flux-dev"), stream, "_by_head", without_norm(stream._by_head)),
    "deaf to the image": (tuple(FAMILIES), stream, "_attended", deaf),
    "image feed-forward": (("sd3", "flux-dev"), capture, "joint_block", by_image_weights(joint, ff_context="ff")),
    "image norm": (("sd3", "flux-dev"), capture, "joint_block", by_image_weights(joint, norm1_context="norm1")),
    "timeless": (("sd3", "flux-dev"), capture, "joint_block", timeless(joint)),
    "joint blocks add nothing": (tuple(FAMILIES), capture, "joint_block", standing_still(joint)),
    "single blocks add nothing": (("flux-dev",), capture, "single_block", standing_still(stream.single_block)),
}


@pytest.mark.parametrize(
    ("family", "mutation"),
    [(family, name) for name, (families, *_) in MUTATIONS.items() for family in families],
)
def test_a_wrong_recipe_does_not_agree(family: str, mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module, name, wrong = MUTATIONS[mutation]
    monkeypatch.setattr(module, name, wrong)
    assert agreement(family, **UNGUIDED.get(family, {})) > 1e-3


def test_rows_of_the_wrong_branch_do_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unconditional(capture._Call):
        def __init__(self, pictures: slice, *arguments: Any) -> None:
            super().__init__(slice(0, pictures.start), *arguments)

    monkeypatch.setattr(capture, "_Call", Unconditional)
    assert agreement("sd3", **guided("sd3")) > 1e-3
