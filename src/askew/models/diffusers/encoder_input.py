"""Words that a text encoder does not receive because its pipeline cuts off the end of long prompts.

Many pipelines put a chat template or an instruction around each prompt before they cut it. askew
therefore lets the pipeline prepare the tokens without loading its networks: a stand-in for the text
encoder records the tokens that it receives.
"""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, NoReturn

import torch

from askew.models.base import Setting
from askew.models.diffusers.repository import Repository, quiet

TEXT_ENCODER = "text_encoder"
TOKENIZER = "tokenizer"


class Tokens(Exception):  # it ends a pipeline's work, and is no error
    """Exception that stops a pipeline at its text encoder and contains the encoder's input."""

    def __init__(self, ids: torch.Tensor) -> None:
        super().__init__()
        self.ids = ids


class RecordingEncoder(torch.nn.Module):
    """Stand-in for a text encoder that raises `Tokens` when it receives tokens."""

    dtype = torch.float32
    device = torch.device("cpu")

    def forward(self, *arguments: Any, **named: Any) -> NoReturn:
        """Raise `Tokens` with the first argument, or with the argument `input_ids`."""
        raise Tokens(named["input_ids"] if "input_ids" in named else arguments[0])


class EncoderInput:
    """Tokens that a pipeline with a single text encoder passes to the encoder for a prompt.

    Parameters
    ----------
    family
        Class of the pipeline.
    tokenizer
        Tokenizer of the pipeline.
    settings
        Settings with which the pipeline is called.
    call
        Parameters of the pipeline's call.
    """

    def __init__(
        self,
        family: Any,
        tokenizer: Any,
        settings: Mapping[str, Setting],
        call: Mapping[str, Parameter],
    ) -> None:
        needed = signature(family.__init__).parameters.values()
        parts = {part.name: None for part in needed if part.default is Parameter.empty}
        parts.pop("self", None)
        with quiet():
            self._pipeline = family(**(parts | {TOKENIZER: tokenizer}))
        vars(self._pipeline)[TEXT_ENCODER] = RecordingEncoder()
        usual = {name: parameter.default for name, parameter in call.items()}
        known = signature(self._pipeline.encode_prompt).parameters
        self._arguments = {
            name: value
            for name, value in {**usual, **settings, "device": RecordingEncoder.device}.items()
            if name in known and value is not Parameter.empty
        }

    def cut_words(self, prompt: str) -> list[str]:
        """Return the words at the end of a prompt that do not change the encoder's input.

        If the pipeline does not call its text encoder as expected, the list is empty.
        """
        words = prompt.split()
        try:
            whole = self._tokens(words)
            # The input is the same for all shorter prompts down to the first word that is cut off.
            least = 0
            most = len(words)
            while least < most:
                middle = (least + most) // 2
                if torch.equal(self._tokens(words[:middle]), whole):
                    most = middle
                else:
                    least = middle + 1
        except Exception:  # pipelines raise all kinds of exceptions without their networks
            return []
        return words[most:]

    def _tokens(self, words: list[str]) -> torch.Tensor:
        """Return the tokens that the text encoder receives for these words."""
        try:
            with quiet():
                self._pipeline.encode_prompt(**{**self._arguments, "prompt": [" ".join(words)]})
        except Tokens as tokens:
            return tokens.ids
        raise LookupError("the pipeline does not call its text encoder")


def has_single_encoder(repository: Repository) -> bool:
    """Check whether a pipeline has exactly one tokenizer and one text encoder."""
    names = [name for name in repository.components if TOKENIZER in name or TEXT_ENCODER in name]
    return sorted(names) == [TEXT_ENCODER, TOKENIZER]
