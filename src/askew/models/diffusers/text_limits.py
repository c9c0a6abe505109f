"""Numbers of tokens after which the text encoders of a pipeline cut a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter

from askew.models.base import Setting
from askew.models.diffusers.repository import Repository

LENGTH = "max_sequence_length"
"""Parameter of a call that limits the tokens of large text encoders."""

QWEN = "Qwen2Tokenizer"

SPECIAL: Mapping[str, int] = {"CLIPTokenizer": 2, "T5Tokenizer": 1, QWEN: 0}
"""Number of marks that count towards the limit, by the class of a tokenizer.

CLIP has a mark at the start and at the end, T5 at the end. The pipelines of Qwen-Image put a
template around each prompt, and count the tokens behind its beginning.
"""

LIMITED_BY_CALL = ("T5Tokenizer", QWEN)
"""Tokenizers whose limit is the parameter `LENGTH`, where a call has it."""


@dataclass(frozen=True, slots=True)
class TextLimit:
    """Number of tokens that a text encoder receives.

    Attributes
    ----------
    tokenizer
        Name of the tokenizer in its pipeline.
    tokens
        Number of tokens, with marks. None for the number that the tokenizer states.
    special
        Number of marks among them.
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
        Settings with which it is called.
    call
        Parameters of its call.

    Returns
    -------
    list
        A limit for each tokenizer, empty if the limit of one of them is unknown.
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
