"""The attribution prompt as the text encoders of a Stable Diffusion pipeline read it: tokens and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from askew.errors import UsageError
from askew.models.diffusers.quiet import quiet

SECOND_LAST = -2
"""Hidden states that pipelines with two text encoders (SDXL) hand to their network."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text's tokens, special ones kept and padding left out, and their vectors (tokens, channels)."""

    tokens: list[str]
    vectors: Tensor


@torch.no_grad()
def encode_attribution(pipe: Any, text: str) -> EncodedText:
    """An attribution prompt for a Stable Diffusion 1, 2 or XL pipeline.

    Raises UsageError for a text that is empty or longer than the tokenizer's window.
    """
    if not text.strip():
        raise UsageError("the attribution prompt is empty; give a text such as 'a photo of a nurse and gender'")
    encoders = _encoders(pipe)
    several = hasattr(pipe, "text_encoder_2")
    vectors = [_encode(tokenizer, encoder, text, several) for tokenizer, encoder in encoders]
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


def _encode(tokenizer: Any, encoder: Any, text: str, several: bool) -> Tensor:
    ids = torch.tensor([_ids(tokenizer, text)], device=encoder.device)
    with quiet():
        output = encoder(ids, output_hidden_states=several)
    rows: Tensor = output.hidden_states[SECOND_LAST] if several else output.last_hidden_state
    return rows[0]


def _ids(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, padding=False, truncation=False, verbose=False).input_ids
    if len(ids) > tokenizer.model_max_length:
        raise UsageError(
            f"the attribution prompt {text!r} has {len(ids)} tokens, but this model reads "
            f"{tokenizer.model_max_length}: shorten the prompt or the concept"
        )
    return ids


def word_vector(pipe: Any, word: str) -> NDArray[np.float32]:
    """The meaning of a word to a pipeline's text encoders: a unit vector, the state at its end-of-text token."""
    state = encode_attribution(pipe, word).vectors[-1].float().cpu().numpy()
    unit: NDArray[np.float32] = state / np.linalg.norm(state)
    return unit
