"""Vectors that represent the meaning of a word in a pipeline."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from askew.measure.attention.choice import AttentionMaps
from askew.models.diffusers.repository import quiet


@torch.no_grad()
def word_vector(pipe: Any, word: str) -> NDArray[np.float32]:
    """Return the text encoder's vector at the end of a word, scaled to unit length.

    For SD3, the vector belongs to CLIP's end-of-text token. For Flux, the function returns CLIP's
    pooled vector, because T5 has no token that summarizes a text.
    """
    if _has_summary_of_clip(pipe):
        with quiet():
            row = pipe.encode_prompt(word, None)[1][0]
    else:
        text = AttentionMaps(pipe, word).text
        end = pipe.tokenizer.eos_token
        row = text.vectors[text.tokens.index(end) if end in text.tokens else -1]
    states = row.float().cpu().numpy()
    return np.asarray(states / np.linalg.norm(states))


def _has_summary_of_clip(pipe: Any) -> bool:
    """Check whether a pipeline belongs to Flux, whose transformer takes two encodings of a text."""
    return (
        hasattr(pipe, "tokenizer_2")
        and not hasattr(pipe, "tokenizer_3")
        and hasattr(pipe, "transformer")
    )
