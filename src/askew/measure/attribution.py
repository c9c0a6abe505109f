"""The attribution prompt as the text encoders of a pipeline read it: tokens and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from askew.errors import UsageError
from askew.models.diffusers.repository import quiet

LAST, SECOND_LAST = -1, -2
"""Hidden states that pipelines with one text encoder, and with two (SDXL), hand to their network."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text's tokens, special ones kept and padding left out, and their vectors (tokens, channels)."""

    tokens: list[str]
    vectors: Tensor


@torch.no_grad()
def encode_attribution(pipe: Any, text: str, clip_skip: int | None = None) -> EncodedText:
    """An attribution prompt for a Stable Diffusion 1, 2 or XL pipeline, as the pipeline itself would read it.

    `clip_skip` last layers of the text encoders are left out, as by the pipeline's setting of that name. Raises
    UsageError for a text that is longer than the tokenizer's window, or if that many layers cannot be skipped.
    """
    encoders = _encoders(pipe)
    several = hasattr(pipe, "text_encoder_2")
    vectors = [_encode(pipe, *pair, text, several, clip_skip) for pair in encoders]
    ids = _ids(encoders[0][0], text)
    return EncodedText(encoders[0][0].convert_ids_to_tokens(ids), torch.cat(vectors, dim=-1))


def _encoders(pipe: Any) -> list[tuple[Any, Any]]:
    names = (("tokenizer", "text_encoder"), ("tokenizer_2", "text_encoder_2"))
    found = [(getattr(pipe, tokenizer, None), getattr(pipe, encoder, None)) for tokenizer, encoder in names]
    known = [(tokenizer, encoder) for tokenizer, encoder in found if tokenizer is not None and encoder is not None]
    if not known:
        raise UsageError(
            f"a {type(pipe).__name__} was loaded without a text encoder, which reads the attribution prompt: load it "
            f"with one"
        )
    return known


def _encode(pipe: Any, tokenizer: Any, encoder: Any, text: str, several: bool, clip_skip: int | None) -> Tensor:
    """Vectors (tokens, channels) of the layer that the pipeline reads; of a single encoder they are normalised."""
    ids = torch.tensor([_ids(tokenizer, text)], device=pipe._execution_device)
    states = several or clip_skip is not None
    with quiet():
        output = encoder(ids, output_hidden_states=states)
    if not states:
        last: Tensor = output.last_hidden_state[0]
        return last
    layer = (SECOND_LAST if several else LAST) - (clip_skip or 0)
    if -layer > len(output.hidden_states):
        raise UsageError(f"clip_skip={clip_skip} skips more layers than a text encoder of this model has")
    rows: Tensor = output.hidden_states[layer][0]
    return rows if several else getattr(encoder, "text_model", encoder).final_layer_norm(rows)


def _ids(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, padding=False, truncation=False, verbose=False).input_ids
    if len(ids) > tokenizer.model_max_length:
        raise UsageError(
            f"the attribution prompt {text!r} has {len(ids)} tokens, but this model reads "
            f"{tokenizer.model_max_length}: shorten the prompt or the concept"
        )
    return ids


@torch.no_grad()
def encode_by_pipeline(pipe: Any, text: str) -> EncodedText:
    """An attribution prompt as PixArt and Sana read it: in small letters, and Sana behind its own instruction, of which
    the first token stays, and the last. Raises UsageError if it is too long."""
    told = signature(type(pipe).__call__).parameters.get("complex_human_instruction")
    own = {"complex_human_instruction": told.default} if told and told.default else {}
    before = "\n".join(own.get("complex_human_instruction", ()))
    ids = pipe.tokenizer(before + text.lower().strip(), verbose=False).input_ids
    if before:
        ids = [ids[0], *ids[len(pipe.tokenizer.encode(before)) - 1 :]]
    with quiet():
        rows, mask, *_ = pipe.encode_prompt(text, **own)
    if len(ids) > len(mask[0]):
        raise UsageError(
            f"the attribution prompt {text!r} has {len(ids)} tokens, but this model reads {len(mask[0])}: shorten it"
        )
    return EncodedText(pipe.tokenizer.convert_ids_to_tokens(ids), rows[0, : len(ids)])


@torch.no_grad()
def encode_rows(pipe: Any, text: str, length: int | None = None, clip_skip: int | None = None) -> EncodedText:
    """An attribution prompt as SD3 (rows of CLIP, then of T5) and Flux (of T5) read it in a text of `length` rows.

    The length matters because T5 reads the padding too; None is what the pipeline does by default. Raises UsageError
    for an attribution prompt with more tokens than rows.
    """
    with_clip = hasattr(pipe, "tokenizer_3")
    start = pipe.tokenizer_max_length if with_clip else 0
    length = length or (start + 256 if with_clip else 512)
    parts = [("CLIP", pipe.tokenizer, 0, start)] if with_clip else []
    if not with_clip or pipe.text_encoder_3 is not None:  # without it, these rows are zeros
        parts.append(("T5", pipe.tokenizer_3 if with_clip else pipe.tokenizer_2, start, length))
    tokens: list[str] = []
    used: list[int] = []
    for encoder, tokenizer, first, end in parts:
        ids = tokenizer(text, verbose=False).input_ids
        if len(ids) > end - first:
            raise UsageError(f"the attribution prompt {text!r} has {len(ids)} {encoder} tokens, but this model reads "
                             f"{end - first}: shorten it")  # fmt: skip
        tokens += tokenizer.convert_ids_to_tokens(ids)
        used += range(first, first + len(ids))
    more = {"do_classifier_free_guidance": False, "clip_skip": clip_skip} if with_clip else {}
    with quiet():
        rows = pipe.encode_prompt(text, *[None] * (1 + with_clip), max_sequence_length=length - start, **more)[0]
    return EncodedText(tokens, rows[0][used])


@torch.no_grad()
def word_vector(pipe: Any, word: str) -> NDArray[np.float32]:
    """The meaning of a word to a pipeline's CLIP text encoders: a unit vector, the states at its end-of-text token.

    Of the last layer if the pipeline has one text encoder, else of the second last. T5, which SD3 and Flux read too,
    has no such token that sums a text up. Raises UsageError for a pipeline without a text encoder.
    """
    several = hasattr(pipe, "text_encoder_2")
    encoders = _encoders(pipe)
    clip = [pair for pair in encoders if pair[1].config.model_type.startswith("clip")] or encoders
    states = torch.cat([_encode(pipe, *pair, word, several, None)[-1].float() for pair in clip]).cpu().numpy()
    unit: NDArray[np.float32] = states / np.linalg.norm(states)
    return unit
