"""Encode the attribution prompt as tokens and vectors, using a pipeline's text encoders."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from askew.errors import UsageError
from askew.models.diffusers.repository import quiet


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Tokens of a text and their vectors, including special tokens but not padding.

    Attributes
    ----------
    tokens
        Tokens, in the spelling of the tokenizer.
    vectors
        Array of shape (tokens, channels).
    """

    tokens: list[str]
    vectors: Tensor


@dataclass(frozen=True, slots=True)
class _EncoderRows:
    """Rows of an encoded prompt that come from one text encoder, with this encoder's tokenizer."""

    encoder: str
    tokenizer: Any
    start: int
    stop: int


INSTRUCTION = "<instruction>"
"""Placeholder spelling for the tokens of an instruction, so that these tokens match no word."""


def _check_length(ids: Sequence[int], length: int, text: str, encoder: str = "") -> None:
    if len(ids) > length:
        raise UsageError(
            f"the attribution prompt {text!r} has {len(ids)} {encoder}tokens, but this model "
            f"accepts {length}; shorten the prompt or the concept"
        )


@torch.no_grad()
def encode_attribution(pipe: Any, text: str, clip_skip: int | None = None) -> EncodedText:
    """Encode a text in the same way as Stable Diffusion 1, 2 and XL.

    Padding is left out, because the vectors of CLIP's tokens do not depend on padding.

    Parameters
    ----------
    pipe
        Pipeline with a CLIP text encoder.
    text
        The attribution prompt.
    clip_skip
        Number of final layers of the text encoder to skip, as in the pipeline's argument of this
        name.

    Raises
    ------
    UsageError
        If the pipeline has no text encoder, or if the text has more tokens than the tokenizer
        accepts.
    """
    encoders = (getattr(pipe, "text_encoder", None), getattr(pipe, "text_encoder_2", None))
    if encoders == (None, None):
        raise UsageError(
            f"{type(pipe).__name__} was loaded without a text encoder; "
            f"load it with a text encoder to read the attribution prompt"
        )
    tokenizer = getattr(pipe, "tokenizer", None) or pipe.tokenizer_2
    ids = tokenizer(text, verbose=False).input_ids
    _check_length(ids, tokenizer.model_max_length, text)
    with quiet():
        rows = pipe.encode_prompt(
            text,
            device=pipe._execution_device,
            num_images_per_prompt=1,
            do_classifier_free_guidance=False,
            clip_skip=clip_skip,
        )[0]
    return EncodedText(tokens=tokenizer.convert_ids_to_tokens(ids), vectors=rows[0, : len(ids)])


@torch.no_grad()
def encode_by_pipeline(pipe: Any, text: str) -> EncodedText:
    """Encode a text in lower case, as PixArt and Sana do.

    Sana puts an instruction before the text. askew keeps only the first and the last token of the
    instruction.

    Raises
    ------
    UsageError
        If the text has more tokens than the pipeline accepts.
    """
    parameter = signature(type(pipe).__call__).parameters.get("complex_human_instruction")
    options = {}
    instruction = ""
    if parameter is not None and parameter.default:
        options["complex_human_instruction"] = parameter.default
        instruction = "\n".join(parameter.default)
    ids = pipe.tokenizer(instruction + text.lower().strip(), verbose=False).input_ids
    if instruction:
        ids = [ids[0], *ids[len(pipe.tokenizer.encode(instruction)) - 1 :]]
    with quiet():
        rows, mask, *_ = pipe.encode_prompt(text, **options)
    _check_length(ids, len(mask[0]), text)
    tokens = pipe.tokenizer.convert_ids_to_tokens(ids)
    return EncodedText(tokens=tokens, vectors=rows[0, : len(ids)])


@torch.no_grad()
def encode_rows(
    pipe: Any, text: str, length: int | None = None, clip_skip: int | None = None
) -> EncodedText:
    """Encode a text in the same way as pipelines whose transformer uses joint attention.

    The rows of SD3 come from CLIP, then from T5. The rows of Flux, Chroma, AuraFlow and Bria come
    from T5. The rows of Qwen-Image, Ovis-Image and FLUX.2 klein come from Qwen, which also receives
    an instruction. The pipelines of Qwen-Image and Ovis-Image drop the tokens before the prompt.
    FLUX.2 klein passes these tokens to the network, so they also belong to the encoded text here.

    Parameters
    ----------
    pipe
        Pipeline of one of the models listed above.
    text
        The attribution prompt.
    length
        Number of rows in the encoded prompt. The length affects the result because T5 also attends
        to padding. The default is the pipeline's default length.
    clip_skip
        Number of CLIP's final layers to skip (only for SD3).

    Raises
    ------
    UsageError
        If the text has more tokens than an encoder has rows.
    """
    has_clip = hasattr(pipe, "tokenizer_3")
    start = pipe.tokenizer_max_length if has_clip else 0
    if not length:
        default = signature(type(pipe).__call__).parameters["max_sequence_length"].default
        length = start + default
    template = instructed(pipe, text)
    skipped = _skipped_tokens(pipe)
    tokens: list[str] = []
    rows_of_tokens: list[int] = []
    for part in _parts(pipe, start, length):
        ids = part.tokenizer(template, verbose=False).input_ids[skipped:]
        _check_length(ids, part.stop - part.start, text, part.encoder)
        spellings = part.tokenizer.convert_ids_to_tokens(ids)
        before = _tokens_before(part.tokenizer, template, text) - skipped
        tokens += [INSTRUCTION] * before + spellings[max(0, before) :]
        rows_of_tokens += range(part.start, part.start + len(ids))
    options: dict[str, Any] = {"clip_skip": clip_skip} if has_clip else {}
    if "do_classifier_free_guidance" in signature(pipe.encode_prompt).parameters:
        options["do_classifier_free_guidance"] = False
    other_prompts = [None, None] if has_clip else [None]
    with quiet():
        rows = pipe.encode_prompt(
            text, *other_prompts, max_sequence_length=length - start, **options
        )[0]
    return EncodedText(tokens=tokens, vectors=rows[0][rows_of_tokens])


def instructed(pipe: Any, text: str) -> str:
    """Return the text that the tokenizer receives, including the pipeline's instruction."""
    if hasattr(pipe, "_get_messages"):  # Ovis-Image
        messages: list[str] = pipe._get_messages(text)
        return messages[0]
    if type(pipe).__name__.startswith("Flux2Klein"):
        chat: str = pipe.tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        return chat
    return str(getattr(pipe, "prompt_template_encode", "{}")).format(text)


def _skipped_tokens(pipe: Any) -> int:
    """Return the number of tokens that the pipeline drops from the start of an encoded prompt."""
    names = ("prompt_template_encode_start_idx", "user_prompt_begin_id")
    return max(int(getattr(pipe, name, 0)) for name in names)


def _tokens_before(tokenizer: Any, template: str, text: str) -> int:
    """Return the number of tokens that precede a text in a template; 0 if there are none."""
    start = template.rfind(text.strip())
    if start <= 0:
        return 0
    offsets = tokenizer(template, return_offsets_mapping=True).offset_mapping
    return sum(end <= start for _, end in offsets)


def _parts(pipe: Any, start: int, length: int) -> list[_EncoderRows]:
    """Return the range of rows that comes from each text encoder.

    If the pipeline has no T5, the rows of T5 are zeros and belong to no encoder.
    """
    if not hasattr(pipe, "tokenizer_3"):
        tokenizer = getattr(pipe, "tokenizer_2", pipe.tokenizer)
        return [_EncoderRows(encoder="", tokenizer=tokenizer, start=0, stop=length)]
    parts = [_EncoderRows(encoder="CLIP ", tokenizer=pipe.tokenizer, start=0, stop=start)]
    if pipe.text_encoder_3 is not None:
        tokenizer = pipe.tokenizer_3
        parts.append(_EncoderRows(encoder="T5 ", tokenizer=tokenizer, start=start, stop=length))
    return parts
