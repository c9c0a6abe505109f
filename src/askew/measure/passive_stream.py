"""Text that listens to a transformer while it draws: one block at a time.

The tokens of any text, the *passive stream*, run through the text side of every block of SD3, SD3.5 or Flux. They
attend to the picture and to themselves; neither the picture nor its own prompt attends to them, so that the picture
stays what it would have been. If the text is the prompt itself, the stream is the prompt's own. The pattern of
attention is that of ConceptAttention (Helbling et al., arXiv 2502.04320).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Rotation = tuple[Tensor, Tensor]
"""Cosines and sines by which queries and keys turn with the place of a pixel, each (pixels, width)."""


@dataclass(frozen=True, slots=True)
class ImageSide:
    """What the pixels of the pictures bring to the attention of a block: each (pictures, heads, pixels, width)."""

    queries: Tensor
    keys: Tensor
    values: Tensor


def image_side(attn: Any, projections: Iterable[Tensor], rotation: Rotation | None) -> ImageSide:
    """The image side from plain queries, keys and values, each (pictures, pixels, heads x width): normed, then rotated.

    `rotation` is None where places are not told by turning (SD3).
    """
    queries, keys, values = (_by_head(attn, x) for x in projections)
    queries, keys = _normed(attn.norm_q, queries), _normed(attn.norm_k, keys)
    return ImageSide(_rotated(queries, rotation), _rotated(keys, rotation), values)


def joint_block(block: Any, tokens: Tensor, image: ImageSide, temb: Tensor) -> tuple[Tensor, Tensor]:
    """One block with a text side of its own: all of SD3, the first blocks of Flux.

    `tokens` are (pictures, tokens, channels), `temb` (pictures, channels). Returns the keys of the tokens, (pictures,
    heads, tokens, width), and the tokens after the block; SD3's last block leaves its text as it was.
    """
    attn = block.attn
    if getattr(block, "context_pre_only", False):
        return _normed(attn.norm_added_k, _by_head(attn, attn.add_k_proj(block.norm1_context(tokens, temb)))), tokens
    normed, gate, shift, scale, gate_mlp = block.norm1_context(tokens, emb=temb)
    queries, keys, values = (_by_head(attn, p(normed)) for p in (attn.add_q_proj, attn.add_k_proj, attn.add_v_proj))
    queries, keys = _normed(attn.norm_added_q, queries), _normed(attn.norm_added_k, keys)
    tokens = tokens + gate[:, None] * attn.to_add_out(_attended(queries, keys, values, image))
    normed = block.norm2_context(tokens) * (1 + scale[:, None]) + shift[:, None]
    return keys, _in_range(tokens + gate_mlp[:, None] * block.ff_context(normed))


def single_block(block: Any, tokens: Tensor, image: ImageSide, temb: Tensor) -> tuple[Tensor, Tensor]:
    """One block whose weights serve text and picture alike: the later ones of Flux. As `joint_block`."""
    attn = block.attn
    normed, gate = block.norm(tokens, emb=temb)
    queries, keys, values = (_by_head(attn, projection(normed)) for projection in (attn.to_q, attn.to_k, attn.to_v))
    queries, keys = _normed(attn.norm_q, queries), _normed(attn.norm_k, keys)
    both = torch.cat([_attended(queries, keys, values, image), block.act_mlp(block.proj_mlp(normed))], dim=2)
    return keys, _in_range(tokens + gate[:, None] * block.proj_out(both))


def shares_among_tokens(image: ImageSide, keys: Tensor) -> Tensor:
    """How every pixel's attention divides among the tokens alone, summed over heads: (pictures, tokens, pixels)."""
    scores = torch.matmul(keys * keys.shape[-1] ** -0.5, image.queries.transpose(-1, -2))
    return scores.softmax(dim=2, dtype=torch.float32).sum(dim=1)


def shares_among_all(image: ImageSide, keys: Tensor) -> Tensor:
    """The part of every pixel's attention to [pixels, tokens] that falls on each token, summed over heads.

    Shaped (pictures, tokens, pixels). Attention to values that are 1 for a single token reads its share off without the
    matrix of pixels by pixels; the values of a head hold as many tokens as the head is wide.
    """
    width, tokens, pixels = keys.shape[-1], keys.shape[2], image.keys.shape[2]
    everything = torch.cat([image.keys, keys], dim=2)
    parts = []
    for start in range(0, tokens, width):
        marks = everything.new_zeros(pixels + tokens, width)
        marked = torch.arange(start, min(start + width, tokens))
        marks[pixels + marked, marked - start] = 1
        shares = functional.scaled_dot_product_attention(image.queries, everything, marks.expand_as(everything))
        parts.append(shares[..., : len(marked)].float().sum(dim=1))
    return torch.cat(parts, dim=2).transpose(1, 2)


SHARES = {"text": shares_among_tokens, "joint": shares_among_all}


def _attended(queries: Tensor, keys: Tensor, values: Tensor, image: ImageSide) -> Tensor:
    """What the tokens gather from [pixels, tokens]: (pictures, tokens, heads x width)."""
    keys, values = torch.cat([image.keys, keys], dim=2), torch.cat([image.values, values], dim=2)
    return functional.scaled_dot_product_attention(queries, keys, values).transpose(1, 2).flatten(2)


def _by_head(attn: Any, projected: Tensor) -> Tensor:
    """(pictures, n, heads x width) -> (pictures, heads, n, width)."""
    return projected.view(*projected.shape[:2], attn.heads, -1).transpose(1, 2)


def _normed(norm: nn.Module | None, by_head: Tensor) -> Tensor:
    if norm is None:
        return by_head
    normed: Tensor = norm(by_head)
    return normed


def _rotated(by_head: Tensor, rotation: Rotation | None) -> Tensor:
    """Turn neighbouring pairs of numbers by the angle of their pixel, in fp32 as Flux does."""
    if rotation is None:
        return by_head
    cosine, sine = (part[:, ::2].to(by_head.device) for part in rotation)  # every angle is written twice
    pairs = torch.view_as_complex(by_head.float().reshape(*by_head.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cosine, sine)).flatten(-2).to(by_head.dtype)


def _in_range(tokens: Tensor) -> Tensor:
    """Flux keeps its fp16 streams finite in this way."""
    return tokens.clip(-65504, 65504) if tokens.dtype == torch.float16 else tokens
