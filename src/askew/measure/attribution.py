"""The attribution prompt as the text encoders of a pipeline read it: tokens and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from askew.errors import UsageError
from askew.measure.attention.base import AttentionMaps
from askew.models.diffusers.repository import quiet


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text's tokens, special ones kept and padding left out, and their vectors (tokens,
    channels).
    """

    tokens: list[str]
    vectors: Tensor


def _fitting(ids: Sequence[int], length: int, text: str, kind: str = "") -> None:
    if len(ids) > length:
        raise UsageError(
            f"the attribution prompt {text!r} has {len(ids)} {kind}tokens, but this model reads {length}: shorten the "
            f"prompt or the concept"
        )


@torch.no_grad()
def encode_attribution(pipe: Any, text: str, clip_skip: int | None = None) -> EncodedText:
    """An attribution prompt as Stable Diffusion 1, 2 and XL read it: CLIP's tokens do not see the
    padding after them.

    `clip_skip` last layers of the text encoders are left out, as by the pipeline's setting of that
    name. Raises UsageError for a text that is longer than the tokenizer's window.
    """
    if (
        getattr(pipe, "text_encoder", None) is None
        and getattr(pipe, "text_encoder_2", None) is None
    ):
        raise UsageError(
            f"a {type(pipe).__name__} was loaded without a text encoder, which reads the attribution prompt: load it "
            f"with one"
        )
    tokenizer = getattr(pipe, "tokenizer", None) or pipe.tokenizer_2
    ids = tokenizer(text, verbose=False).input_ids
    _fitting(ids, tokenizer.model_max_length, text)
    with quiet():
        rows = pipe.encode_prompt(
            text,
            device=pipe._execution_device,
            num_images_per_prompt=1,
            do_classifier_free_guidance=False,
            clip_skip=clip_skip,
        )[0]
    return EncodedText(tokenizer.convert_ids_to_tokens(ids), rows[0, : len(ids)])


@torch.no_grad()
def encode_by_pipeline(pipe: Any, text: str) -> EncodedText:
    """An attribution prompt as PixArt and Sana read it: in small letters, and Sana behind its own
    instruction, of which the first token stays, and the last. Raises UsageError if it is too long.
    """
    told = signature(type(pipe).__call__).parameters.get("complex_human_instruction")
    own = {"complex_human_instruction": told.default} if told and told.default else {}
    before = "\n".join(own.get("complex_human_instruction", ()))
    ids = pipe.tokenizer(before + text.lower().strip(), verbose=False).input_ids
    if before:
        ids = [ids[0], *ids[len(pipe.tokenizer.encode(before)) - 1 :]]
    with quiet():
        rows, mask, *_ = pipe.encode_prompt(text, **own)
    _fitting(ids, len(mask[0]), text)
    return EncodedText(pipe.tokenizer.convert_ids_to_tokens(ids), rows[0, : len(ids)])


@torch.no_grad()
def encode_rows(
    pipe: Any, text: str, length: int | None = None, clip_skip: int | None = None
) -> EncodedText:
    """An attribution prompt as SD3 (rows of CLIP, then of T5), Flux, Chroma, AuraFlow (of T5) and
    Qwen-Image (of Qwen, behind an instruction whose tokens are left out) read it in `length` rows.

    The length matters because T5 reads the padding too; None is what the pipeline does by default.
    Raises UsageError for an attribution prompt with more tokens than rows.
    """
    with_clip = hasattr(pipe, "tokenizer_3")
    start = pipe.tokenizer_max_length if with_clip else 0
    length = (
        length or start + signature(type(pipe).__call__).parameters["max_sequence_length"].default
    )
    parts = [("", getattr(pipe, "tokenizer_2", pipe.tokenizer), 0, length)]
    if with_clip:
        parts = [("CLIP ", pipe.tokenizer, 0, start)]
        if pipe.text_encoder_3 is not None:  # without it, its rows are zeros
            parts.append(("T5 ", pipe.tokenizer_3, start, length))
    told = getattr(pipe, "prompt_template_encode", "{}").format(text)
    tokens: list[str] = []
    used: list[int] = []
    for encoder, tokenizer, first, end in parts:
        ids = tokenizer(told, verbose=False).input_ids[
            getattr(pipe, "prompt_template_encode_start_idx", 0) :
        ]
        _fitting(ids, end - first, text, encoder)
        tokens += tokenizer.convert_ids_to_tokens(ids)
        used += range(first, first + len(ids))
    more: dict[str, Any] = {"clip_skip": clip_skip} if with_clip else {}
    if "do_classifier_free_guidance" in signature(pipe.encode_prompt).parameters:
        more["do_classifier_free_guidance"] = False
    with quiet():
        rows = pipe.encode_prompt(
            text, *[None] * (1 + with_clip), max_sequence_length=length - start, **more
        )[0]
    return EncodedText(tokens, rows[0][used])


@torch.no_grad()
def word_vector(pipe: Any, word: str) -> NDArray[np.float32]:
    """The meaning of a word to a pipeline: a unit vector, what its text encoder gives at the end of
    the word. Of SD3, at CLIP's end-of-text token; of Flux, CLIP's summary, since T5 has no token
    that sums a text up.
    """
    if (
        hasattr(pipe, "tokenizer_2")
        and not hasattr(pipe, "tokenizer_3")
        and hasattr(pipe, "transformer")
    ):
        with quiet():
            row = pipe.encode_prompt(word, None)[1][0]
    else:
        text = AttentionMaps(pipe, word).text
        end = pipe.tokenizer.eos_token
        row = text.vectors[text.tokens.index(end) if end in text.tokens else -1]
    states = row.float().cpu().numpy()
    return np.asarray(states / np.linalg.norm(states))
