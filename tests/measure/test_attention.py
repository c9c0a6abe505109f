"""Attention maps of UNets agree with the original OVAM and with independent computations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch

from askew.errors import ModelError, NotEnoughData, UsageError
from askew.measure.attention import AttentionMaps, block_names
from askew.measure.attention.words import word_vector
from askew.measure.attribution import encode_attribution
from slow_cases import quick_only

PROMPT = "a nurse"
ATTRIBUTION = "a nurse and sex"
NAMES = (
    "down-2-attentions-1-transformer-1-attn2",
    "mid-1-attentions-1-transformer-1-attn2",
    "up-1-attentions-1-transformer-1-attn2",
    "up-1-attentions-2-transformer-1-attn2",
)

Load = Callable[..., Any]


@pytest.fixture(scope="module")
def load(tiny: Callable[[str], Path]) -> Load:
    """Return a tiny pipeline of a family, loaded once."""
    known: dict[tuple[str, Any], Any] = {}

    def loaded(family: str, kind: Any = diffusers.DiffusionPipeline) -> Any:
        if (family, kind) not in known:
            pipe = kind.from_pretrained(tiny(family), dtype=torch.float32)
            pipe.set_progress_bar_config(disable=True)
            known[family, kind] = pipe
        return known[family, kind]

    return loaded


@pytest.fixture(scope="module")
def sd(load: Load) -> Any:
    return load("stable-diffusion")


def make(pipe: Any, prompt: Any = PROMPT, **settings: Any) -> Any:
    count = len(prompt) if isinstance(prompt, list) else settings.get("num_images_per_prompt", 1)
    noise = [torch.Generator().manual_seed(seed) for seed in range(count)]
    chosen = {
        "num_inference_steps": 3,
        "guidance_scale": 5.0,
        "output_type": "np",
        "generator": noise,
    } | settings
    return pipe(prompt, **chosen).images


@contextmanager
def recorded_queries(pipe: Any) -> Iterator[dict[str, list[torch.Tensor]]]:
    """Record the inputs of all cross-attention layers."""
    inputs: dict[str, list[torch.Tensor]] = {}
    hooks = []
    for name, module in pipe.unet.named_modules():
        if name.endswith("attn2"):

            def keep(_m: Any, args: Any, name: str = name) -> None:
                inputs.setdefault(name, []).append(args[0].clone())

            hooks.append(module.register_forward_pre_hook(keep))
    yield inputs
    for hook in hooks:
        hook.remove()


class TestOriginalOVAM:
    @pytest.fixture(scope="class")
    def oracle(self, shared: Path) -> Any:
        return np.load(shared / "data" / "oracles" / "ovam.npz")

    @pytest.fixture(scope="class")
    def pipe(self, shared: Path) -> Any:
        pipe = diffusers.DiffusionPipeline.from_pretrained(
            shared / "data" / "oracles" / "tiny-pipeline"
        )
        pipe.set_progress_bar_config(disable=True)
        return pipe

    @pytest.mark.parametrize("case", ["cond", "nocfg"])
    def test_maps_agree_with_ovam(self, pipe: Any, oracle: Any, case: str) -> None:
        meta = json.loads(str(oracle["meta_json"]))[case]
        latents = torch.from_numpy(oracle["init_latents"])
        with AttentionMaps(pipe, meta["attribution"]) as maps:
            pipe(
                meta["prompt"],
                latents=latents,
                num_inference_steps=meta["steps"],
                guidance_scale=meta["guidance_scale"],
                output_type="latent",
            )
        expected = oracle[f"{case}/aggregated"]
        assert np.abs(maps.aggregate() - expected).max() <= 1e-4 * expected.max()
        assert set(maps.layers()) == set(meta["blocks"])
        for name in meta["blocks"] if case == "cond" else ():
            layer = oracle[f"{case}/block/{name}"]
            assert np.abs(maps.layers()[name] - layer).max() <= 1e-4 * layer.max()
        assert maps.tokens[0] == "<|startoftext|>"
        assert maps.tokens[-2:] == ["gender</w>", "<|endoftext|>"]


@pytest.mark.parametrize(
    "family",
    quick_only(["stable-diffusion-xl"], ["stable-diffusion", "stable-diffusion-xl", "sdxl-turbo"]),
)
@pytest.mark.parametrize("guidance", [1.0, 5.0])
def test_images_are_the_same_to_the_bit(load: Load, family: str, guidance: float) -> None:
    pipe = load(family)
    settings = {"guidance_scale": guidance, "num_images_per_prompt": 2}
    with AttentionMaps(pipe, ATTRIBUTION, middle=True) as maps:
        recorded = make(pipe, **settings)
    assert np.array_equal(recorded, make(pipe, **settings))
    assert maps.aggregate().shape == (2, len(maps.tokens), 8, 8)


@pytest.mark.parametrize(("branch", "row"), [("cond", 1), ("uncond", 0)])
def test_maps_follow_from_the_inputs_of_the_layers(sd: Any, branch: str, row: int) -> None:
    with (
        recorded_queries(sd) as inputs,
        AttentionMaps(sd, ATTRIBUTION, branch, middle=True) as maps,
    ):
        make(sd, width=24, height=32)
    ids = sd.tokenizer(ATTRIBUTION, return_tensors="pt").input_ids
    text = sd.text_encoder(ids).last_hidden_state[0]
    attn = sd.unet.up_blocks[0].attentions[1].transformer_blocks[0].attn2
    total = torch.zeros(len(text), 8 * 6)
    for states in inputs["up_blocks.0.attentions.1.transformer_blocks.0.attn2"]:
        for head in range(attn.heads):
            part = slice(head * 4, head * 4 + 4)
            q = attn.to_q(states[row])[:, part]
            k = attn.to_k(text)[:, part]
            total += torch.softmax(q @ k.T / 2.0, dim=-1).T
    layer = maps.layers()["up-1-attentions-2-transformer-1-attn2"]
    assert layer.shape == (1, len(text), 8, 6)
    np.testing.assert_allclose(layer[0], total.detach().reshape(-1, 8, 6), rtol=1e-4, atol=1e-6)


def test_the_shares_of_a_pixel_sum_to_steps_and_heads(sd: Any) -> None:
    with AttentionMaps(sd, ATTRIBUTION, middle=True) as maps:
        make(sd)
    assert tuple(maps.layers()) == NAMES
    for layer, heads in zip(maps.layers().values(), (4, 4, 4, 4), strict=True):
        # PNDM calls the network once more
        np.testing.assert_allclose(layer.sum(axis=1), 4 * heads, rtol=1e-5)


def test_the_middle_block_is_left_out_by_default(sd: Any) -> None:
    with (
        AttentionMaps(sd, ATTRIBUTION) as maps,
        AttentionMaps(sd, ATTRIBUTION, middle=True) as all_of_them,
    ):
        make(sd)
    assert tuple(maps.layers()) == NAMES[:1] + NAMES[2:]
    np.testing.assert_array_equal(maps.layers()[NAMES[0]], all_of_them.layers()[NAMES[0]])


@pytest.mark.parametrize("guidance", quick_only([5.0], [1.0, 5.0]))
def test_images_of_one_call_are_those_of_single_calls(sd: Any, guidance: float) -> None:
    prompts = [PROMPT, "a chef", "an old cat"]
    with AttentionMaps(sd, ATTRIBUTION) as together:
        make(sd, prompts, guidance_scale=guidance)
    with AttentionMaps(sd, ATTRIBUTION) as apart:
        for seed, prompt in enumerate(prompts):
            make(
                sd,
                [prompt],
                guidance_scale=guidance,
                generator=[torch.Generator().manual_seed(seed)],
            )
    assert len(apart.aggregate()) == 3
    np.testing.assert_allclose(together.aggregate(), apart.aggregate(), rtol=1e-4)
    assert not np.allclose(together.aggregate()[0], together.aggregate()[1], rtol=1e-4)


def test_image_to_image(load: Load) -> None:
    pipe = load("stable-diffusion", diffusers.StableDiffusionImg2ImgPipeline)
    settings = {"image": torch.linspace(0, 1, 3 * 16 * 16).reshape(1, 3, 16, 16), "strength": 0.6}
    with AttentionMaps(pipe, ATTRIBUTION) as maps:
        recorded = make(pipe, **settings)
    assert np.array_equal(recorded, make(pipe, **settings))
    assert maps.aggregate().shape[0] == 1


def test_layers_of_the_text_encoder_that_the_run_skips_are_skipped(load: Load) -> None:
    pipe = load("stable-diffusion-xl")
    encoded = pipe.encode_prompt(
        PROMPT,
        device="cpu",
        num_images_per_prompt=1,
        do_classifier_free_guidance=False,
        clip_skip=1,
    )
    vectors = encode_attribution(pipe, PROMPT, 1).vectors
    torch.testing.assert_close(vectors, encoded[0][0, : len(vectors)])
    assert not torch.allclose(vectors, encode_attribution(pipe, PROMPT).vectors)
    with AttentionMaps(pipe, PROMPT) as maps:
        make(pipe, clip_skip=1)
        torch.testing.assert_close(maps.text.vectors, vectors)
        make(pipe)
    assert len(maps.aggregate()) == 2


@pytest.mark.parametrize(
    "family", ["stable-diffusion", "stable-diffusion-xl", "stable-diffusion-3", "flux"]
)
def test_words_have_a_vector_in_every_family(load: Load, family: str) -> None:
    nurse, cat = (word_vector(load(family), word) for word in ("nurse", "cat"))
    assert float(nurse @ nurse) == pytest.approx(1)
    assert float(nurse @ cat) < 0.9999


def test_a_word_is_the_mean_of_its_tokens(sd: Any) -> None:
    with AttentionMaps(sd, ATTRIBUTION) as maps:
        make(sd)
    assert [maps.tokens[k] for k in maps.positions("sex")] == ["s", "e", "x</w>"]
    np.testing.assert_allclose(maps.word("sex"), maps.aggregate()[:, -4:-1].mean(axis=1))
    layer = maps.word_layers("nurse and")[NAMES[0]]
    np.testing.assert_allclose(layer, maps.layers()[NAMES[0]][:, 2:10].mean(axis=1))


def test_blocks_are_named_by_side_and_size() -> None:
    sizes = {"down-1-x": (64, 64), "mid-1-x": (8, 8), "up-2-x": (12, 16), "joint-3": (8, 8)}
    assert list(block_names(sizes).values()) == ["down-64", "mid", "up-12x16", "joint-3"]


class TestRefusals:
    def test_empty_attribution(self, sd: Any) -> None:
        with pytest.raises(UsageError, match="empty"):
            AttentionMaps(sd, "  ")

    def test_attribution_longer_than_the_window(self, sd: Any) -> None:
        with pytest.raises(UsageError, match="has 102 tokens, but this model accepts 77"):
            AttentionMaps(sd, "a" * 100)

    def test_a_word_that_is_not_there(self, sd: Any) -> None:
        with pytest.raises(UsageError, match="does not contain 'race'"):
            AttentionMaps(sd, ATTRIBUTION).positions("race")

    def test_an_empty_word(self, sd: Any) -> None:
        with pytest.raises(UsageError, match="empty"):
            AttentionMaps(sd, ATTRIBUTION).positions(" ")

    def test_no_cross_attention(self, load: Load) -> None:
        with pytest.raises(UsageError, match="no cross-attention"):
            AttentionMaps(load("kandinsky"), ATTRIBUTION)

    def test_unknown_branch_and_definition(self, sd: Any) -> None:
        with pytest.raises(UsageError, match="only 'cond' and 'uncond'"):
            AttentionMaps(sd, ATTRIBUTION, "both")
        with pytest.raises(UsageError, match="only 'ovam'"):
            AttentionMaps(sd, ATTRIBUTION, definition="mine")

    def test_no_unconditional_branch(self, sd: Any) -> None:
        with (
            pytest.raises(UsageError, match="no guidance"),
            AttentionMaps(sd, ATTRIBUTION, "uncond"),
        ):
            make(sd, guidance_scale=1.0)

    def test_an_unknown_arrangement_of_guidance_is_refused(self, sd: Any) -> None:
        sd._guidance_scale = 5.0
        with (
            pytest.raises(ModelError, match="guidance"),
            AttentionMaps(sd, ATTRIBUTION),
            torch.no_grad(),
        ):
            sd.unet(torch.randn(2, 4, 8, 8), 1, torch.zeros(2, 3, 32))

    def test_maps_without_an_image_are_refused(self, sd: Any) -> None:
        with pytest.raises(NotEnoughData, match="need an image"):
            AttentionMaps(sd, ATTRIBUTION).layers()

    def test_different_sizes(self, sd: Any) -> None:
        with AttentionMaps(sd, ATTRIBUTION) as maps:
            make(sd)
            make(sd, width=24, height=32)
        with pytest.raises(UsageError, match="different sizes"):
            maps.layers()


def test_hooks_are_gone_afterwards(sd: Any) -> None:
    with pytest.raises(ZeroDivisionError), AttentionMaps(sd, ATTRIBUTION):
        raise ZeroDivisionError
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in sd.unet.modules())
