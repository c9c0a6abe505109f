"""Recording attention maps of transformer models does not change the image."""

from __future__ import annotations

import copy
import gc
from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import tiny_pipelines
from askew.errors import NotEnoughData, UsageError
from askew.measure.attention import AttentionMaps, block_names
from askew.measure.attention.transformer import TransformerAttentionRecorder, layer_blocks
from askew.measure.attribution import INSTRUCTION
from slow_cases import quick_only
from tiny_transformers import (
    ATTRIBUTION,
    FAMILIES,
    HEADS,
    PICTURE,
    PROMPTS,
    SIDES,
    draw,
    error,
    every_family,
    guided,
    maps_of,
    pipeline,
)


@every_family
@pytest.mark.parametrize("guidance", quick_only([True], [False, True]))
def test_images_stay_the_same_to_the_bit(family: str, guidance: bool) -> None:
    more = guided(family) if guidance else {}
    bare = draw(family, **more)
    for softmax in ("text", "joint"):
        with TransformerAttentionRecorder(pipeline(family), ATTRIBUTION, softmax=softmax):
            recorded = draw(family, **more)
        assert np.array_equal(bare, recorded)
    assert np.array_equal(bare, draw(family, **more))


@every_family
@pytest.mark.parametrize("guidance", [False, True])
def test_every_step_counts_once_per_head(family: str, guidance: bool) -> None:
    more = guided(family) if guidance else {}
    for layer in maps_of(family, **more).values():
        assert layer.shape[0] == len(PROMPTS)
        assert layer.shape[2:] == SIDES
        np.testing.assert_allclose(layer.sum(axis=1), more.get("steps", 2) * HEADS, rtol=1e-5)


@every_family
def test_maps_do_not_depend_on_the_batch(family: str) -> None:
    together = maps_of(family, **guided(family))
    for k, prompt in enumerate(PROMPTS):
        alone = maps_of(family, prompts=(prompt,), seed=5 + k, **guided(family))
        assert error(alone, [layer[k : k + 1] for layer in together.values()]) < 1e-5


@every_family
def test_calls_append_their_images_even_of_one_step(family: str) -> None:
    with TransformerAttentionRecorder(pipeline(family), ATTRIBUTION) as maps:
        draw(family, steps=1)
        draw(family, prompts=("a baker",), steps=1, seed=9)
    last = maps_of(family, prompts=("a baker",), steps=1, seed=9)
    for name, layer in maps.layers().items():
        assert len(layer) == len(PROMPTS) + 1
        np.testing.assert_array_equal(layer[-1:], last[name])
    np.testing.assert_allclose(maps.aggregate(), sum(maps.layers().values()), rtol=1e-5)


@every_family
def test_two_texts_can_be_recorded_at_once(family: str) -> None:
    with (
        TransformerAttentionRecorder(pipeline(family), ATTRIBUTION) as first,
        TransformerAttentionRecorder(pipeline(family), "race") as second,
    ):
        draw(family)
    for maps, text in ((first, ATTRIBUTION), (second, "race")):
        assert error(maps.layers(), list(maps_of(family, text).values())) == 0


@every_family
def test_an_aborted_call_leaves_no_maps(family: str) -> None:
    pipe = pipeline(family)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with TransformerAttentionRecorder(pipe, ATTRIBUTION) as maps:
        hook = layer_blocks(pipe.transformer)["joint-2"].register_forward_hook(stop)
        with pytest.raises(KeyboardInterrupt):
            draw(family)
        hook.remove()
        with pytest.raises(NotEnoughData, match="need an image"):
            maps.layers()
        draw(family)
    assert error(maps.layers(), list(maps_of(family).values())) == 0


@every_family
def test_no_tensor_is_stored_between_steps(family: str) -> None:
    held: list[int] = []

    def count(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        gc.collect()
        held.append(sum(x.numel() for x in gc.get_objects() if issubclass(type(x), Tensor)))
        return {}

    pipeline(family)
    gc.freeze()  # modules that exist need not be searched in each step
    try:
        maps_of(family, steps=3, callback_on_step_end=count)
    finally:
        gc.unfreeze()
    assert len(held) == 3
    assert held[1] == held[2]


@pytest.mark.parametrize(("family", "readings"), [("sd3", 2), ("flux-dev", 1)])
def test_a_word_is_the_mean_of_its_tokens_of_every_text_encoder(family: str, readings: int) -> None:
    with AttentionMaps(pipeline(family), ATTRIBUTION, softmax="joint") as maps:
        draw(family)
    letters = [token.removesuffix("</w>") for token in maps.tokens]
    starts = [k for k in range(len(letters)) if letters[k : k + 6] == list("gender")]
    spaces = [k - 1 for k in starts if letters[k - 1] == "▁"]
    where = sorted([*spaces, *(k + i for k in starts for i in range(6))])
    assert len(starts) == readings
    assert maps.positions("gender") == where
    np.testing.assert_allclose(maps.word("gender"), maps.aggregate()[:, where].mean(axis=1))
    assert list(maps.word_layers("gender")) == list(
        block_names(dict.fromkeys(maps.layers(), SIDES))
    )


@pytest.mark.parametrize(("family", "readings"), [("sd3", 2), ("flux-dev", 1)])
def test_a_word_is_found_as_the_prompt_writes_it(family: str, readings: int) -> None:
    """CLIP uses lowercase letters; T5 distinguishes uppercase letters."""
    maps = AttentionMaps(pipeline(family), "a photo of a CEO and gender")
    letters = [
        maps.tokens[k].removesuffix("</w>").lstrip("▁").lower() for k in maps.positions("ceo")
    ]
    assert "".join(letters) == "ceo" * readings
    assert maps.positions("CEO") == maps.positions("ceo")


@every_family
def test_hooks_are_gone_afterwards(family: str) -> None:
    transformer = pipeline(family).transformer
    maps_of(family)
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in transformer.modules()
    )


def test_tokens_are_those_of_each_text_encoder() -> None:
    flux = TransformerAttentionRecorder(pipeline("flux-dev"), "a cat")
    assert flux.tokens == ["▁", "a", "▁", "c", "a", "t", "</s>"]
    sd3 = TransformerAttentionRecorder(pipeline("sd3"), "a cat")
    assert sd3.tokens == [
        "<|startoftext|>",
        "a</w>",
        "c",
        "a",
        "t</w>",
        "<|endoftext|>",
        *flux.tokens,
    ]


def test_sd3_without_its_largest_text_encoder_has_only_clip_tokens() -> None:
    pipe = d.StableDiffusion3Pipeline(
        **{**pipeline("sd3").components, "text_encoder_3": None, "tokenizer_3": None}
    )
    pipe.set_progress_bar_config(disable=True)
    with TransformerAttentionRecorder(pipe, "cat") as maps:
        pipe("a cat", num_inference_steps=1, **PICTURE)
    assert maps.tokens == ["<|startoftext|>", "c", "a", "t</w>", "<|endoftext|>"]
    assert maps.aggregate().shape == (1, 5, *SIDES)


@pytest.mark.parametrize("kind", [d.StableDiffusion3Img2ImgPipeline, d.FluxImg2ImgPipeline])
def test_maps_of_images_made_from_images(kind: Any) -> None:
    family = "sd3" if "Diffusion3" in kind.__name__ else "flux-dev"
    parts = dict(pipeline(family).components)
    pipe = kind(**{name: part for name, part in parts.items() if part is not None})
    pipe.set_progress_bar_config(disable=True)
    image = np.full((2, 32, 24, 3), 0.5)
    with TransformerAttentionRecorder(pipe, ATTRIBUTION) as maps:
        pipe(["a cat", "a dog"], image=image, strength=0.5, num_inference_steps=4, **PICTURE)
    np.testing.assert_allclose(
        maps.aggregate().sum(axis=1), 2 * HEADS * len(maps.layers()), rtol=1e-5
    )


@pytest.mark.parametrize("family", ["sd3.5", "flux-dev"])
@pytest.mark.parametrize("softmax", quick_only(["joint"], ["text", "joint"]))
def test_half_precision(family: str, softmax: Any) -> None:
    exact = maps_of(family, softmax=softmax)
    pipe = copy.deepcopy(pipeline(family)).to(torch.bfloat16)
    with TransformerAttentionRecorder(pipe, ATTRIBUTION, softmax=softmax) as maps:
        pipe(list(PROMPTS), num_inference_steps=2, max_sequence_length=32, **PICTURE)
    for name, layer in maps.layers().items():
        assert layer.dtype == np.float32
        assert layer.shape == exact[name].shape
        assert np.isfinite(layer).all()


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"qwen-image", "bria", "ovis-image"}))
def test_fused_projections_are_refused(family: str) -> None:
    pipe = pipeline(family)
    pipe.transformer.fuse_qkv_projections()
    try:
        with (
            pytest.raises(UsageError, match="unfuse_qkv_projections"),
            TransformerAttentionRecorder(pipe, ATTRIBUTION),
        ):
            pass
    finally:
        pipe.transformer.unfuse_qkv_projections()
    maps_of(family)


def test_qwen_image_cannot_be_fused() -> None:
    """diffusers does not change its attention blocks."""
    before = maps_of("qwen-image")
    pipeline("qwen-image").transformer.fuse_qkv_projections()
    assert error(maps_of("qwen-image"), list(before.values())) == 0


def test_auraflow_inserts_registers_before_each_text() -> None:
    maps = TransformerAttentionRecorder(pipeline("auraflow"), "a cat")
    assert maps.tokens == ["<register>"] * 8 + ["▁", "a", "▁", "c", "a", "t", "</s>"]
    assert maps.positions("cat") == [10, 11, 12, 13]


def test_the_instruction_of_qwen_image_has_no_maps() -> None:
    maps = TransformerAttentionRecorder(pipeline("qwen-image"), "a cat")
    assert "".join(maps.tokens[:6]) == "aĠcat<"
    assert maps.positions("cat") == [1, 2, 3, 4]


@pytest.mark.parametrize("family", ["flux2-klein", "ovis-image"])
def test_words_of_an_instruction_are_not_found(family: str) -> None:
    pipe = pipeline(family)
    chat = pipe.tokenizer.chat_template
    pipe.tokenizer.chat_template = "Draw a cat: {{ messages[0]['content'] }} <cat>"
    try:
        maps = TransformerAttentionRecorder(pipe, "a cat and gender")
    finally:
        pipe.tokenizer.chat_template = chat
    start = maps.tokens.count(INSTRUCTION)
    assert maps.tokens[:start] == [INSTRUCTION] * start
    assert "".join(maps.tokens[start:]).replace("Ġ", " ") == "a cat and gender <cat>"
    assert start > 0
    assert maps.positions("gender")[-1] < len(maps.tokens) - len("<cat>")


def test_reference_images_are_refused() -> None:
    pipe = pipeline("flux2-klein")
    with (
        TransformerAttentionRecorder(pipe, ATTRIBUTION),
        pytest.raises(UsageError, match="with reference images"),
    ):
        pipe(Image.new("RGB", (64, 64)), "a cat", num_inference_steps=1, **PICTURE)


def test_unsupported_requests_are_errors() -> None:
    pipe = pipeline("flux-dev")
    with pytest.raises(UsageError, match="empty"):
        TransformerAttentionRecorder(pipe, " ")
    with pytest.raises(UsageError, match="only 'cond'"):
        TransformerAttentionRecorder(pipe, "a", branch="uncond")
    with pytest.raises(UsageError, match="only 'ovam' and 'output'"):
        TransformerAttentionRecorder(pipe, "a", definition="mine")
    with pytest.raises(UsageError, match="Known: joint, text"):
        TransformerAttentionRecorder(pipe, "a", softmax="pixels")
    with pytest.raises(UsageError, match="SanaPipeline"):
        TransformerAttentionRecorder(tiny_pipelines.sana(), "a")
    with (
        pytest.raises(UsageError, match="82 CLIP tokens, but this model accepts 77"),
        TransformerAttentionRecorder(pipeline("sd3"), "c" * 80),
    ):
        pass
    with (
        TransformerAttentionRecorder(pipe, "a nurse and perceived gender"),
        pytest.raises(UsageError, match="accepts 8"),
    ):
        draw("flux-dev", max_sequence_length=8)


def test_images_of_two_sizes_are_refused() -> None:
    with TransformerAttentionRecorder(pipeline("sd3"), ATTRIBUTION) as maps:
        draw("sd3", steps=1)
        draw("sd3", steps=1, width=32)
    with pytest.raises(UsageError, match="different sizes"):
        maps.layers()
