"""Text that listens to a transformer while it draws: one block at a time.

The tokens of any text, the *passive stream*, run through the text side of every block of SD3, SD3.5 or Flux. They
attend to the picture and to themselves; neither the picture nor its own prompt attends to them, so that the picture
stays what it would have been. If the text is the prompt itself, the stream is the prompt's own. The pattern of
attention is that of ConceptAttention (Helbling et al., arXiv 2502.04320).

The attribution prompt as a transformer model reads it: its tokens, and the rows of text that stand for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from askew.errors import UsageError
from askew.models.diffusers.components import quiet

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


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of the text that come from one tokenizer: they begin at `start`, one per token."""

    encoder: str
    start: int
    tokens: tuple[str, ...]


class AttributionText:
    """An attribution prompt for a pipeline whose transformer reads CLIP and T5 rows (SD3), or T5 rows alone (Flux).

    tokens  the tokens of every part in turn, special ones kept, padding left out
    """

    def __init__(self, pipe: Any, attribution: str) -> None:
        self._pipe, self._attribution = pipe, attribution
        self._parts = _parts(pipe, attribution)
        self._embedded: dict[tuple[int, int | None], Tensor] = {}
        self.tokens = [token for part in self._parts for token in part.tokens]

    def embedded(self, length: int | None = None, clip_skip: int | None = None) -> Tensor:
        """The rows of the tokens, (tokens, channels), as encoded for a text of `length` rows.

        The length matters because T5 reads the padding too; None is what the pipeline does by default. Each length is
        encoded once. Raises UsageError for an attribution prompt with more tokens than rows.
        """
        if length is None:
            length = self._pipe.tokenizer_max_length + 256 if _reads_clip(self._pipe) else 512
        if (length, clip_skip) not in self._embedded:
            self._check_fit(length)
            with torch.no_grad(), quiet():
                rows = self._encode(length, clip_skip)[0]
            used = [row for part in self._parts for row in range(part.start, part.start + len(part.tokens))]
            self._embedded = {(length, clip_skip): rows[used]}
        return self._embedded[length, clip_skip]

    def _encode(self, length: int, clip_skip: int | None) -> Tensor:
        if not _reads_clip(self._pipe):
            rows: Tensor = self._pipe.encode_prompt(self._attribution, None, max_sequence_length=length)[0]
            return rows
        rows = self._pipe.encode_prompt(
            self._attribution,
            None,
            None,
            do_classifier_free_guidance=False,
            clip_skip=clip_skip,
            max_sequence_length=length - self._pipe.tokenizer_max_length,
        )[0]
        return rows

    def _check_fit(self, length: int) -> None:
        ends = [*(part.start for part in self._parts[1:]), length]
        for part, end in zip(self._parts, ends, strict=True):
            if len(part.tokens) > end - part.start:
                raise UsageError(
                    f"the attribution prompt {self._attribution!r} has {len(part.tokens)} {part.encoder} tokens, but "
                    f"this model reads {end - part.start}: shorten it"
                )


def _reads_clip(pipe: Any) -> bool:
    return hasattr(pipe, "tokenizer_3")


def _parts(pipe: Any, attribution: str) -> list[Part]:
    if not _reads_clip(pipe):
        return [Part("T5", 0, _tokens(pipe.tokenizer_2, attribution))]
    parts = [Part("CLIP", 0, _tokens(pipe.tokenizer, attribution))]
    if pipe.text_encoder_3 is not None:  # without it, these rows are zeros
        parts.append(Part("T5", pipe.tokenizer_max_length, _tokens(pipe.tokenizer_3, attribution)))
    return parts


def _tokens(tokenizer: Any, text: str) -> tuple[str, ...]:
    return tuple(tokenizer.convert_ids_to_tokens(tokenizer(text, verbose=False).input_ids))
