"""Stable Diffusion's original layout of checkpoints, in which single files are shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

RESNET = {
    "norm1": "in_layers.0",
    "conv1": "in_layers.2",
    "time_emb_proj": "emb_layers.1",
    "norm2": "out_layers.0",
    "conv2": "out_layers.3",
    "conv_shortcut": "skip_connection",
}
OUTER = {
    "time_embedding.linear_1": "time_embed.0",
    "time_embedding.linear_2": "time_embed.2",
    "conv_in": "input_blocks.0.0",
    "conv_norm_out": "out.0",
    "conv_out": "out.2",
}
VAE_ATTENTION = {
    "group_norm": "norm",
    "to_q": "q",
    "to_k": "k",
    "to_v": "v",
    "to_out.0": "proj_out",
}


def write(pipeline: Any, path: Path) -> None:
    """Write a Stable Diffusion pipeline as a single file."""
    weights: dict[str, torch.Tensor] = {}
    for old, new in unet_names(pipeline.unet):
        weights[f"model.diffusion_model.{new}"] = pipeline.unet.state_dict()[old]
    for old, new in vae_names(pipeline.vae):
        weights[f"first_stage_model.{new}"] = pipeline.vae.state_dict()[old]
    for name, value in pipeline.text_encoder.state_dict().items():
        prefix = "" if name.startswith("text_model.") else "text_model."
        weights[f"cond_stage_model.transformer.{prefix}{name}"] = value
    save_file({name: value.contiguous() for name, value in weights.items()}, path)


def unet_names(unet: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each weight of a UNet in diffusers, and in the original layout."""
    each = unet.config.layers_per_block
    last = len(unet.down_blocks) - 1
    prefixes = dict(OUTER)
    for block in range(last + 1):
        for layer in range(each):
            place = f"input_blocks.{block * (each + 1) + layer + 1}"
            prefixes[f"down_blocks.{block}.resnets.{layer}"] = f"{place}.0"
            prefixes[f"down_blocks.{block}.attentions.{layer}"] = f"{place}.1"
        downsampler = f"input_blocks.{(block + 1) * (each + 1)}.0.op"
        prefixes[f"down_blocks.{block}.downsamplers.0.conv"] = downsampler
        for layer in range(each + 1):
            place = f"output_blocks.{block * (each + 1) + layer}"
            prefixes[f"up_blocks.{block}.resnets.{layer}"] = f"{place}.0"
            prefixes[f"up_blocks.{block}.attentions.{layer}"] = f"{place}.1"
        at = 2 if hasattr(unet.up_blocks[block], "attentions") else 1
        upsampler = f"output_blocks.{block * (each + 1) + each}.{at}.conv"
        prefixes[f"up_blocks.{block}.upsamplers.0.conv"] = upsampler
    prefixes |= {
        "mid_block.resnets.0": "middle_block.0",
        "mid_block.attentions.0": "middle_block.1",
        "mid_block.resnets.1": "middle_block.2",
    }
    for name in unet.state_dict():
        yield name, _renamed(name, prefixes, "resnets", RESNET)


def vae_names(vae: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each weight of an autoencoder in diffusers, and in the original layout."""
    blocks = len(vae.config.block_out_channels)
    prefixes = {}
    for side, short in (("encoder", "down"), ("decoder", "up")):
        for block in range(blocks):
            level = block if short == "down" else blocks - 1 - block
            for layer in range(vae.config.layers_per_block + 1):
                prefixes[f"{side}.{short}_blocks.{block}.resnets.{layer}"] = (
                    f"{side}.{short}.{level}.block.{layer}"
                )
            sampler = f"{side}.{short}_blocks.{block}.{short}samplers.0.conv"
            prefixes[sampler] = f"{side}.{short}.{level}.{short}sample.conv"
        for layer in range(2):
            prefixes[f"{side}.mid_block.resnets.{layer}"] = f"{side}.mid.block_{layer + 1}"
        prefixes[f"{side}.mid_block.attentions.0"] = f"{side}.mid.attn_1"
        prefixes[f"{side}.conv_norm_out"] = f"{side}.norm_out"
    inner = {"conv_shortcut": "nin_shortcut", **VAE_ATTENTION}
    for name in vae.state_dict():
        yield name, _renamed(name, prefixes, "block", inner)


def _renamed(name: str, prefixes: Mapping[str, str], within: str, inner: Mapping[str, str]) -> str:
    """Return a name with its longest known prefix replaced, and the layer's own name within it."""
    known = [prefix for prefix in prefixes if name.startswith(f"{prefix}.")]
    if not known:
        return name
    prefix = max(known, key=len)
    rest = name[len(prefix) + 1 :]
    if within in prefix:
        layers = [layer for layer in inner if rest.startswith(f"{layer}.")]
        rest = f"{inner[layers[0]]}{rest[len(layers[0]) :]}" if layers else rest
    return f"{prefixes[prefix]}.{rest}"
