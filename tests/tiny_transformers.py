"""Tiny random pipelines of the transformer families, and their attention maps written out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import tiny_further_pipelines
import tiny_pipelines
from askew.measure.attention.transformer import TransformerAttentionRecorder, layer_blocks
from slow_cases import quick_only

HEADS = 2
SIDES = (8, 6)
"""Height and width of the maps of an image of PICTURE's size."""
PICTURE = {"height": 32, "width": 24}
GUIDED: dict[str, dict[str, Any]] = {
    "sd3": {"guidance_scale": 5.0, "negative_prompt": "blurred"},
    "sd3.5": {"guidance_scale": 5.0, "skip_guidance_layers": [1], "skip_layer_guidance_stop": 0.9},
    "flux-dev": {"true_cfg_scale": 3.0, "negative_prompt": "blurred"},
    "flux-schnell": {"true_cfg_scale": 3.0, "negative_prompt": "blurred"},
    "chroma": {"guidance_scale": 3.0, "negative_prompt": "blurred"},
    "auraflow": {"guidance_scale": 3.0, "negative_prompt": "blurred"},
    "bria": {"guidance_scale": 3.0, "negative_prompt": "blurred"},
    "qwen-image": {"true_cfg_scale": 3.0, "negative_prompt": "blurred"},
    "flux2-klein": {"guidance_scale": 3.0},
    "ovis-image": {"guidance_scale": 3.0, "negative_prompt": "blurred"},
}
GUIDED_BY_CALLS = ("chroma", "flux2-klein", "ovis-image")
"""Families that guide by a second call, unless guidance_scale is 1."""
UNGUIDED: dict[str, dict[str, Any]] = {
    family: {"guidance_scale": 1.0}
    for family in ("sd3", "sd3.5", "auraflow", "bria", *GUIDED_BY_CALLS)
}
PROMPTS = ("a photo of a nurse", "a chef", "an old doctor")
ATTRIBUTION = "a nurse and gender"


def sd3(**more: Any) -> d.DiffusionPipeline:
    shape = {
        "patch_size": 2,
        "num_layers": 3,
        "attention_head_dim": 16,
        "num_attention_heads": HEADS,
    }
    transformer = tiny_pipelines.sd3_transformer(**shape, **more)
    return with_transformer(tiny_pipelines.stable_diffusion_3(), transformer)


def sd35() -> d.DiffusionPipeline:
    return sd3(qk_norm="rms_norm", dual_attention_layers=(0, 1))


def flux(guidance: bool) -> d.DiffusionPipeline:
    shape = {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": HEADS}
    transformer = tiny_pipelines.flux_transformer(**shape, guidance_embeds=guidance)
    return with_transformer(tiny_pipelines.flux(), transformer)


def chroma() -> d.DiffusionPipeline:
    shape = {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": HEADS}
    return with_transformer(tiny_pipelines.chroma(), tiny_pipelines.chroma_transformer(**shape))


def auraflow() -> d.DiffusionPipeline:
    shape = {
        "patch_size": 2,
        "num_mmdit_layers": 2,
        "num_single_dit_layers": 2,
        "attention_head_dim": 16,
    }
    transformer = tiny_pipelines.auraflow_transformer(**shape, num_attention_heads=HEADS)
    return with_transformer(tiny_pipelines.auraflow(), transformer)


def bria() -> d.DiffusionPipeline:
    shape = {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": HEADS}
    return with_transformer(
        tiny_further_pipelines.bria(), tiny_further_pipelines.bria_transformer(**shape)
    )


def qwen_image() -> d.DiffusionPipeline:
    """Return Qwen-Image without its instruction and without a terminal shift of the noise.

    The real model drops the instruction's tokens too, but a tiny tokenizer makes more of them. One
    step cannot reach the terminal noise level.
    """
    pipe = tiny_pipelines.qwen_image()
    pipe.prompt_template_encode_start_idx = pipe.prompt_template_encode.index("{}")
    pipe.scheduler.register_to_config(shift_terminal=None)
    return with_transformer(pipe, tiny_pipelines.qwen_transformer(num_layers=3))


def flux2_klein() -> d.DiffusionPipeline:
    shape = {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": HEADS}
    return with_transformer(
        tiny_further_pipelines.flux_2_klein(),
        tiny_further_pipelines.flux_2_transformer(**shape),
    )


def ovis_image() -> d.DiffusionPipeline:
    """Return Ovis-Image, which drops all tokens of its instruction, as the real model does."""
    pipe = tiny_further_pipelines.ovis_image()
    pipe.user_prompt_begin_id = len(pipe.tokenizer(pipe.system_prompt).input_ids)
    shape = {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": HEADS}
    return with_transformer(pipe, tiny_further_pipelines.ovis_transformer(**shape))


def with_transformer(pipe: d.DiffusionPipeline, transformer: nn.Module) -> d.DiffusionPipeline:
    """Set the transformer with random weights: a norm's weight of 1 would hide its absence."""
    with torch.no_grad():
        for weight in transformer.parameters():
            weight += 0.15 * torch.randn(weight.shape)
    pipe.register_modules(transformer=transformer.eval())
    pipe.set_progress_bar_config(disable=True)
    return pipe


FAMILIES: dict[str, Callable[[], d.DiffusionPipeline]] = {
    "sd3": sd3,
    "sd3.5": sd35,
    "flux-dev": lambda: flux(True),
    "flux-schnell": lambda: flux(False),
    "chroma": chroma,
    "auraflow": auraflow,
    "bria": bria,
    "qwen-image": qwen_image,
    "flux2-klein": flux2_klein,
    "ovis-image": ovis_image,
}


QUICK = {"sd3.5", "flux-dev"}
"""Families of the quick tests: their layers are those of most other families."""

every_family = pytest.mark.parametrize("family", quick_only(QUICK, FAMILIES))


@lru_cache
def pipeline(family: str) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return FAMILIES[family]()


def draw(
    family: str, prompts: tuple[str, ...] = PROMPTS, steps: int = 2, seed: int = 5, **more: Any
) -> np.ndarray:
    pipe = pipeline(family)
    if "negative_prompt" in more:
        more["negative_prompt"] = [more["negative_prompt"]] * len(prompts)
    pictures: np.ndarray = pipe(
        prompt=list(prompts),
        num_inference_steps=steps,
        generator=[torch.Generator().manual_seed(seed + k) for k in range(len(prompts))],
        output_type="np",
        **{"max_sequence_length": 32, **PICTURE, **more},
    ).images
    return pictures


def guided(family: str, steps: int = 2) -> dict[str, Any]:
    """Return a call's settings with guidance; skip-layer guidance needs several steps to begin."""
    return {**GUIDED[family], "steps": 3 if family == "sd3.5" else steps}


def maps_of(
    family: str, attribution: str = ATTRIBUTION, softmax: Any = "text", **more: Any
) -> dict[str, np.ndarray]:
    with TransformerAttentionRecorder(pipeline(family), attribution, softmax=softmax) as maps:
        draw(family, **more)
    return maps.layers()


def error(computed: dict[str, np.ndarray], wanted: list[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest value of a block."""
    pairs = list(zip(computed.values(), wanted, strict=True))
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


class WrittenOut:
    """An attention processor for a text of the prompt and then `passive` rows.

    The passive rows attend to the image and themselves, and nothing else attends to them. For each
    call the processor records how the image attends to the passive rows: as shares among these rows
    (`text`) and among image and rows (`joint`), each (rows, passive, pixels), summed over heads.
    """

    def __init__(self, pixels: int, passive: int, hidden: bool) -> None:
        self.pixels = pixels
        self.passive = passive
        self.hidden = hidden
        self.text: list[Tensor] = []
        self.joint: list[Tensor] = []

    def __call__(
        self,
        attn: Any,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
        image_rotary_emb: tuple[Tensor, Tensor] | None = None,
        encoder_hidden_states_mask: Tensor | None = None,
    ) -> Any:
        feed_forward = None
        if hasattr(attn, "to_qkv_mlp_proj"):
            image_rotary_emb = attention_mask  # FLUX.2 gives no text as an argument
            attention_mask = None
            *image, feed_forward = self.parallel(attn, hidden_states)
        else:
            image = self.side(attn, hidden_states, "to_{}", "norm_{}")
        queries, keys, values = image
        if encoder_hidden_states is not None:
            text = self.side(attn, encoder_hidden_states, "add_{}_proj", "norm_added_{}")
            queries, keys, values = (
                torch.cat([t, i], dim=2) for t, i in zip(text, image, strict=True)
            )
        if image_rotary_emb is not None:
            rotation = (
                self.whole(image_rotary_emb)
                if image_rotary_emb[0].is_complex()
                else image_rotary_emb
            )
            queries = turned(queries, rotation)
            keys = turned(keys, rotation)
        if encoder_hidden_states_mask is not None:
            both = functional.pad(encoder_hidden_states_mask, (0, self.pixels), value=True)
            attention_mask = torch.zeros(both.shape).masked_fill(~both, -torch.inf)[:, None, None]
        scores = queries @ keys.mT / attn_width(attn) ** 0.5 + (
            0 if attention_mask is None else attention_mask
        )
        out = (self.masked(scores) if queries.shape[2] > self.pixels else scores).softmax(
            -1
        ) @ values
        out = out.transpose(1, 2).flatten(2)
        if feed_forward is not None:
            return attn.to_out(torch.cat([out, attn.mlp_act_fn(feed_forward)], dim=2))
        if encoder_hidden_states is None:
            return attn.to_out[0](out) if hasattr(attn, "to_out") else out
        length = encoder_hidden_states.shape[1]
        to_text = getattr(attn, "to_add_out", None) or nn.Identity()
        return attn.to_out[0](out[:, length:]), to_text(out[:, :length])

    def parallel(self, attn: Any, states: Tensor) -> list[Tensor]:
        """Return queries, keys and values by head, and the input of the feed-forward layer."""
        width = attn.inner_dim
        projected = attn.to_qkv_mlp_proj(states)
        heads = [
            projected[..., k * width : (k + 1) * width]
            .unflatten(2, (attn.heads, -1))
            .transpose(1, 2)
            for k in range(3)
        ]
        return [
            attn.norm_q(heads[0]),
            attn.norm_k(heads[1]),
            heads[2],
            projected[..., 3 * width :],
        ]

    def side(self, attn: Any, states: Tensor, projection: str, norm: str) -> list[Tensor]:
        parts = []
        for part in "qkv":
            by_head = (
                getattr(attn, projection.format(part))(states)
                .unflatten(2, (attn.heads, -1))
                .transpose(1, 2)
            )
            normalize = getattr(attn, norm.format(part), None)
            parts.append(normalize(by_head) if normalize is not None else by_head)
        return parts

    def whole(self, rotations: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return cosines and sines of [prompt, passive rows, image] from Qwen-Image's of image and
        text.

        Both texts begin at the same position.
        """
        image, text = rotations
        prompt_rows = len(text) - self.passive if self.hidden else 0
        angles = torch.cat([text[:prompt_rows], text[: self.passive], image]).repeat_interleave(
            2, dim=1
        )
        return angles.real, angles.imag

    def masked(self, scores: Tensor) -> Tensor:
        """Mask the scores; text comes first here, also for SD3, which changes nothing."""
        end = scores.shape[-1] - self.pixels
        start = end - self.passive
        from_image = scores[..., end:, :]
        self.text.append(from_image[..., start:end].softmax(-1).sum(1).mT)
        seen = from_image[..., start:] if self.hidden else from_image
        first = 0 if self.hidden else start
        self.joint.append(seen.softmax(-1)[..., first : first + self.passive].sum(1).mT)
        if not self.hidden:
            return scores
        scores = scores.clone()
        scores[..., :start, start:end] = -torch.inf
        scores[..., end:, start:end] = -torch.inf
        scores[..., start:end, :start] = -torch.inf
        return scores


def attn_width(attn: Any) -> int:
    width: int = getattr(attn, "head_dim", None) or attn.to_q.out_features // attn.heads
    return width


def turned(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate each pair of numbers by its angle."""
    cosine, sine = rotation
    quarter = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    return x * cosine + quarter * sine


def written_out(
    transformer: Any, call: dict[str, Any], passive: Tensor | None
) -> tuple[WrittenOut, list[Tensor]]:
    """Return the maps, and the text after each block, of one call as one masked sequence.

    `passive` holds rows (tokens, channels) added to the text, or None to use the prompt itself.
    """
    text = call["encoder_hidden_states"]
    added = text[:, :0] if passive is None else passive.expand(len(text), -1, -1)
    recorder = WrittenOut(
        SIDES[0] * SIDES[1], text.shape[1] if passive is None else len(passive), passive is not None
    )
    twin = copy.deepcopy(transformer)
    for module in twin.modules():
        if hasattr(module, "set_processor"):
            module.set_processor(recorder)
    if hasattr(twin, "register_tokens"):
        recorder.passive += twin.register_tokens.shape[1]
        twin.context_embedder = WithRegisters(twin, added.shape[1])
    streams: list[Tensor] = []
    for block in layer_blocks(twin).values():
        block.register_forward_hook(
            lambda _block, _args, out: streams.append(
                out[0] if isinstance(out, tuple) else out[:, : -recorder.pixels]
            )
        )
    call = {**call, "encoder_hidden_states": torch.cat([text, added], dim=1)}
    if call.get("attention_mask") is not None:  # Chroma adds it to the scores of [text, image]
        prompt_rows, image = call["attention_mask"].split(
            [text.shape[1], SIDES[0] * SIDES[1]], dim=1
        )
        call["attention_mask"] = torch.cat(
            [prompt_rows, torch.ones_like(added[..., 0]), image], dim=1
        )
    if call.get("encoder_hidden_states_mask") is not None:
        call["encoder_hidden_states_mask"] = functional.pad(
            call["encoder_hidden_states_mask"], (0, added.shape[1]), value=1
        )
    if "txt_ids" in call:  # each text begins at the same position
        places = call["txt_ids"]
        call["txt_ids"] = torch.cat([places, places[..., : added.shape[1], :]], dim=-2)
    with torch.no_grad():
        twin(**call)
    return recorder, [stream[:, -recorder.passive :] for stream in streams if stream is not None]


class WithRegisters(nn.Module):
    """Embeds [prompt, passive rows] with registers before each, as AuraFlow adds registers only
    once.
    """

    def __init__(self, transformer: Any, passive: int) -> None:
        super().__init__()
        self.embedder = transformer.context_embedder
        self.registers = transformer.register_tokens
        self.passive = passive
        transformer.register_tokens = nn.Parameter(self.registers[:, :0])

    def forward(self, rows: Tensor) -> Tensor:
        prompt_rows, passive = self.embedder(rows).split(
            [rows.shape[1] - self.passive, self.passive], dim=1
        )
        registers = self.registers.expand(len(rows), -1, -1)
        return torch.cat(
            [registers, prompt_rows, registers, passive]
            if self.passive
            else [registers, prompt_rows],
            dim=1,
        )


def calls_of(family: str, **more: Any) -> list[dict[str, Any]]:
    """Return the arguments of the transformer's conditional call in each step."""
    calls: list[dict[str, Any]] = []
    pipe = pipeline(family)
    hook = pipe.transformer.register_forward_pre_hook(
        lambda _m, args, kwargs: calls.append(
            {**dict(zip(["hidden_states"], args, strict=False)), **kwargs}
        ),
        with_kwargs=True,
    )
    draw(family, **more)
    hook.remove()
    if "true_cfg_scale" in more or (
        family in GUIDED_BY_CALLS and more.get("guidance_scale") != 1.0
    ):
        return calls[::2]
    return [call for call in calls if call.get("skip_layers") is None]


def expected(family: str, softmax: str, rows: Tensor | None, **more: Any) -> list[np.ndarray]:
    """Return the maps of each block by attention that is written out."""
    total: list[Tensor] = []
    pictures = len(more.get("prompts", PROMPTS))
    for call in calls_of(family, **more):
        recorder, _ = written_out(pipeline(family).transformer, call, rows)
        recorded = [shares[-pictures:] for shares in getattr(recorder, softmax)]
        total = [a + b for a, b in zip(total, recorded, strict=True)] if total else recorded
    return [shares.unflatten(2, SIDES).numpy() for shares in total]
