"""Words that text encoders do not receive because their pipeline cuts off the end of long prompts.

Many pipelines put a chat template or an instruction around each prompt before they cut it. askew
therefore lets the pipeline prepare the tokens without loading its networks: stand-ins for the text
encoders record the tokens that they receive.
"""

from collections.abc import Mapping
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Any

import torch

from askew.models.base import Setting
from askew.models.diffusers.repository import Repository, quiet

TEXT_ENCODER = "text_encoder"
TOKENIZER = "tokenizer"

WIDTH = 4
LAYERS = 64
"""Width and number of the hidden states that a stand-in returns.

No text encoder has more layers than this number.
"""


class AllRecorded(Exception):  # it ends a pipeline's work, and is no error
    """Exception that stops a pipeline when its only text encoder has received its tokens."""


class StandInStates:
    """Output of a stand-in for a text encoder, in the forms that pipelines read.

    Parameters
    ----------
    ids
        Tokens that the encoder received.
    projects
        True if the first part of the output is one vector for the entire text; false if it is one
        vector per token.
    """

    def __init__(self, ids: torch.Tensor, projects: bool) -> None:
        self.last_hidden_state = torch.zeros(*ids.shape, WIDTH)
        self.hidden_states = (self.last_hidden_state,) * LAYERS
        self.pooler_output = self.last_hidden_state[:, 0]
        self.text_embeds = self.pooler_output
        self._first = self.text_embeds if projects else self.last_hidden_state

    def __getitem__(self, index: int) -> torch.Tensor:
        return self._first


class RecordingEncoder(torch.nn.Module):
    """Stand-in for a text encoder that records the tokens it receives.

    Parameters
    ----------
    record
        List to which the encoder adds the tokens that it receives. All encoders of a pipeline share
        this list.
    name
        Name of the encoder in its pipeline.
    kind
        Name of the encoder's class.
    is_only
        True if the pipeline has no other text encoder. The stand-in then raises `AllRecorded`.
    """

    dtype = torch.float32
    device = torch.device("cpu")
    config = SimpleNamespace(hidden_size=WIDTH, d_model=WIDTH, eos_token_id=2)

    def __init__(
        self, record: list[tuple[str, torch.Tensor]], name: str, kind: str, is_only: bool
    ) -> None:
        super().__init__()
        self._record = record
        self._name = name
        self._projects = kind.endswith("WithProjection")
        self._is_only = is_only

    def forward(self, *arguments: Any, **named: Any) -> StandInStates:
        """Record the first argument, or the argument `input_ids`."""
        ids: torch.Tensor = named["input_ids"] if "input_ids" in named else arguments[0]
        self._record.append((self._name, ids))
        if self._is_only:
            raise AllRecorded
        return StandInStates(ids, self._projects)


class EncoderInput:
    """Tokens that a pipeline passes to its text encoders for a prompt.

    Parameters
    ----------
    family
        Class of the pipeline.
    tokenizers
        Tokenizers of the pipeline, keyed by component.
    encoders
        Class names of the pipeline's text encoders, keyed by component.
    settings
        Settings with which the pipeline is called.
    call
        Parameters of the pipeline's call.
    """

    def __init__(
        self,
        family: Any,
        tokenizers: Mapping[str, Any],
        encoders: Mapping[str, str],
        settings: Mapping[str, Setting],
        call: Mapping[str, Parameter],
    ) -> None:
        needed = signature(family.__init__).parameters.values()
        parts = {part.name: None for part in needed if part.default is Parameter.empty}
        parts.pop("self", None)
        with quiet():
            self._pipeline = family(**{**parts, **tokenizers})
        self._record: list[tuple[str, torch.Tensor]] = []
        self._encoders = set(encoders)
        for name, kind in encoders.items():
            vars(self._pipeline)[name] = RecordingEncoder(
                self._record, name=name, kind=kind, is_only=len(encoders) == 1
            )
        usual = {name: parameter.default for name, parameter in call.items()}
        known = signature(self._pipeline.encode_prompt).parameters
        self._arguments = {
            name: value
            for name, value in {**usual, **settings, "device": RecordingEncoder.device}.items()
            if name in known and value is not Parameter.empty
        }

    def cut_words(self, prompt: str) -> list[str]:
        """Return those words at the end of a prompt that do not change the input of any encoder.

        If the pipeline does not call its text encoders as expected, the list is empty.
        """
        words = prompt.split()
        try:
            whole = self._tokens(words)
            # The input is the same for all shorter prompts down to the first word that is cut off.
            least = 0
            most = len(words)
            while least < most:
                middle = (least + most) // 2
                if _equal(self._tokens(words[:middle]), whole):
                    most = middle
                else:
                    least = middle + 1
        except Exception:  # pipelines raise all kinds of exceptions without their networks
            return []
        return words[most:]

    def _tokens(self, words: list[str]) -> list[torch.Tensor]:
        """Return the tokens that text encoders receive for these words, in order of the calls.

        The pipeline may fail on the output of a stand-in, but only after it has called each text
        encoder.
        """
        self._record.clear()
        try:
            with quiet():
                self._pipeline.encode_prompt(**{**self._arguments, "prompt": [" ".join(words)]})
        except Exception:
            if {name for name, _ in self._record} != self._encoders:
                raise
        if not self._record:
            raise LookupError("the pipeline does not call its text encoders")
        return [ids for _, ids in self._record]


def _equal(tokens: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Check whether all encoders receive the same tokens."""
    return len(tokens) == len(others) and all(map(torch.equal, tokens, others))


def encoders_by_tokenizer(repository: Repository) -> dict[str, str]:
    """Return the text encoder that belongs to each tokenizer, keyed by component name.

    The result is empty if a tokenizer has no text encoder, or a text encoder has no tokenizer.
    """
    tokenizers = [name for name in repository.components if TOKENIZER in name]
    encoders = [name for name in repository.components if TEXT_ENCODER in name]
    pairs = {name: name.replace(TOKENIZER, TEXT_ENCODER) for name in tokenizers}
    return pairs if sorted(pairs.values()) == sorted(encoders) else {}
