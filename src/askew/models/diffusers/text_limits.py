"""Limits on the number of tokens that the text encoders of a pipeline read from a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter

from askew.models.base import Setting
from askew.models.diffusers.repository import Repository

LENGTH = "max_sequence_length"
"""Parameter of a pipeline's call that limits the number of tokens for large text encoders."""

QWEN = "Qwen2Tokenizer"

SPECIAL: Mapping[str, int] = {"CLIPTokenizer": 2, "T5Tokenizer": 1, QWEN: 0}
"""Number of special tokens that count toward the limit, for each tokenizer class.

CLIP has one special token at the start and one at the end. T5 has one special token at the end. The
Qwen-Image pipelines put a template around each prompt, and count the tokens after the first part of
the template.
"""

LIMITED_BY_CALL = ("T5Tokenizer", QWEN)
"""Tokenizers whose token limit is set by the pipeline's `LENGTH` parameter, if it has one."""


@dataclass(frozen=True, slots=True)
class TextLimit:
    """Maximum number of tokens that a text encoder receives.

    Attributes
    ----------
    tokenizer
        Name of the tokenizer in its pipeline.
    tokens
        Maximum number of tokens, including special tokens. None if the tokenizer's own maximum
        applies.
    special
        Number of special tokens that count toward this maximum.
    """

    tokenizer: str
    tokens: int | None
    special: int


def text_limits(
    repository: Repository, settings: Mapping[str, Setting], call: Mapping[str, Parameter]
) -> list[TextLimit]:
    """Return the limits of all text encoders of a pipeline.

    Parameters
    ----------
    repository
        Repository of the pipeline.
    settings
        Settings with which the pipeline is called.
    call
        Parameters of the pipeline's call.

    Returns
    -------
    list
        One limit for each tokenizer; empty if the limit of any tokenizer is unknown.
    """
    limits = []
    for name in repository.components:
        if "tokenizer" not in name:
            continue
        kind = repository.components[name][1].removesuffix("Fast")
        tokens: int | None = None
        if kind in LIMITED_BY_CALL:
            # Other pipelines count their own chat template as well.
            has_template = kind == QWEN and not repository.class_name.startswith("QwenImage")
            if LENGTH not in call or has_template:
                return []
            tokens = int(settings.get(LENGTH, call[LENGTH].default))
        elif kind not in SPECIAL:
            return []
        limits.append(TextLimit(tokenizer=name, tokens=tokens, special=SPECIAL[kind]))
    return limits
