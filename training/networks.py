"""UNet and text encoder of a studio diffusion model before they form a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.activations import GEGLU
from diffusers.models.attention_processor import Attention, AttnProcessor
from diffusers.models.resnet import ResnetBlock2D
from torch import Tensor, nn
from torch.nn import functional
from transformers import CLIPTextModel, CLIPTokenizer

from askew.studio import weights


class Networks(NamedTuple):
    """Network that learns, with frozen text encoder and tokenizer."""

    unet: UNet2DConditionModel
    text: CLIPTextModel
    tokenizer: CLIPTokenizer


def create(channels: int, widths: tuple[int, int, int] = (64, 96, 128)) -> Networks:
    """Create an untrained UNet, and load the text encoder of the embedder.

    The UNet has cross-attention at three sizes and in the middle.

    `widths`, by size, are multiples of 32, the width of an attention head.
    """
    text = CLIPTextModel.from_pretrained(weights("embedder"), dtype=torch.float32)
    unet = UNet2DConditionModel(
        sample_size=16,
        in_channels=channels,
        out_channels=channels,
        down_block_types=("CrossAttnDownBlock2D",) * 3,
        up_block_types=("CrossAttnUpBlock2D",) * 3,
        block_out_channels=widths,
        layers_per_block=1,
        cross_attention_dim=text.config.hidden_size,
        attention_head_dim=tuple(
            width // 32 for width in widths
        ),  # the number of heads, for all their name
        norm_num_groups=16,
    )
    for module in unet.modules():  # every block starts as the identity
        if isinstance(module, ResnetBlock2D):
            nn.init.zeros_(module.conv2.weight)
        elif isinstance(module, Attention):
            nn.init.zeros_(module.to_out[0].weight)
    return Networks(
        unet, text.requires_grad_(False), CLIPTokenizer.from_pretrained(weights("embedder"))
    )


def load(folder: Path) -> Networks:
    """Load the networks of a trained pipeline."""
    unet = UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=torch.float32)
    text = CLIPTextModel.from_pretrained(folder / "text_encoder", dtype=torch.float32)
    return Networks(
        unet, text.requires_grad_(False), CLIPTokenizer.from_pretrained(folder / "tokenizer")
    )


def quicken(unet: UNet2DConditionModel) -> None:
    """Replace operations that PyTorch computes slowly on a CPU. Results do not change.

    These are the backward pass of fused attention, group norm of bfloat16 with channels last, and
    gelu of half of an array.
    """
    unet.to(memory_format=torch.channels_last)
    unet.set_attn_processor(AttnProcessor())
    for module in unet.modules():
        if isinstance(module, nn.GroupNorm):
            module.forward = partial(_normalized, module)  # type: ignore[method-assign]
        elif isinstance(module, GEGLU):
            module.gelu = lambda gate: functional.gelu(gate.contiguous())


def _normalized(norm: nn.GroupNorm, x: Tensor) -> Tensor:
    normalized = functional.group_norm(x.float(), norm.num_groups, norm.weight, norm.bias, norm.eps)
    return normalized.to(x.dtype)


def tokens(tokenizer: CLIPTokenizer, captions: Sequence[str]) -> Tensor:
    """Return token numbers (captions, 48), padded as in a pipeline."""
    ids: Tensor = tokenizer(
        list(captions), padding="max_length", truncation=True, return_tensors="pt"
    ).input_ids
    return ids


@torch.no_grad()
def bound_attention(unet: UNet2DConditionModel) -> None:
    """Limit the singular values of query and key matrices to 1.

    With Muon they grow without limit, the largest fastest. Attention then selects the same token for
    every caption, and the softmax has no gradient. A bound on the Frobenius norm does not prevent
    this.
    """
    for module in unet.modules():
        if isinstance(module, Attention):
            for weight in (module.to_q.weight, module.to_k.weight):
                left, values, right = torch.linalg.svd(weight, full_matrices=False)
                weight.copy_(left * values.clamp(max=1) @ right)
