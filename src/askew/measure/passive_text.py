"""The attribution prompt as a transformer model reads it: its tokens, and the rows of text that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from askew.errors import UsageError
from askew.models.diffusers.components import quiet


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
        if not attribution.strip():
            raise UsageError("the attribution prompt is empty; give a text such as 'a photo of a nurse and gender'")
        self._pipe, self._attribution = pipe, attribution
        self._parts = _parts(pipe, attribution)
        self._embedded: dict[tuple[int, int | None], Tensor] = {}
        self.tokens = [token for part in self._parts for token in part.tokens]

    def embedded(self, length: int | None = None, clip_skip: int | None = None) -> Tensor:
        """The rows of the tokens, (tokens, channels), as encoded for a text of `length` rows.

        The length matters because T5 reads the padding too; None is what the pipeline does by default. Each length is
        encoded once. Raises UsageError for an attribution prompt with more tokens than rows.
        """
        length = self._default_length() if length is None else length
        if (length, clip_skip) not in self._embedded:
            self._check_fit(length)
            with torch.no_grad(), quiet():
                rows = self._encode(length, clip_skip)[0]
            used = [row for part in self._parts for row in range(part.start, part.start + len(part.tokens))]
            self._embedded = {(length, clip_skip): rows[used]}
        return self._embedded[length, clip_skip]

    def _default_length(self) -> int:
        return self._pipe.tokenizer_max_length + 256 if _reads_clip(self._pipe) else 512

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
