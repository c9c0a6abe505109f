"""Faults that a served model produces on purpose, so that users can test clients.

The text of a fault has the form KIND, KIND=RATE, KIND:WORD or KIND:WORD=RATE. The rate is the share
of requests for which the fault occurs. A fault with a word affects only requests whose prompt or
question contains the word. Whether a refusal, a rewritten prompt or a wrong label occurs depends
only on the request, so repeating the request does not help. All other faults are drawn at random
for each request, so repeating the request can succeed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.store.keys import derived_seed

FAULTS: Mapping[str, str] = {
    "refuse": "refuse the prompt, as a content filter does",
    "rewrite": "add the WORD (smiling) to the prompt, and report the rewritten prompt",
    "mislabel": "replace the label WORD of an image with another label",
    "429": "reply with status 429 and a Retry-After header",
    "500": "report an internal error",
    "401": "report an invalid key",
    "quota": "reply with status 429 and the code insufficient_quota",
    "hang": "do not reply",
    "drip": "send one byte every 0.05 seconds",
    "half": "send only the first half of the response",
    "garbage": "send JSON with invalid image data",
    "large": "send a response of 50 MB",
    "type": "send a web page with status 200",
    "redirect": "redirect to another address",
    "address": "send the address of an image instead of the image",
}
"""Kinds of faults, each with a description of what the server does."""

STABLE = ("refuse", "rewrite", "mislabel")
"""Kinds of faults that depend only on the prompt and seed, or only on the label and image."""

DEFAULT_WORD = "smiling"

FORM = re.compile(r"([^:=]+)(?::([^=]+))?(?:=(.+))?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a served model produces on purpose.

    Attributes
    ----------
    kind
        Kind of fault, a key of `FAULTS`.
    word
        Word that the prompt must contain, or that `rewrite` adds to the prompt; empty if there is
        no word.
    rate
        Share of requests for which the fault occurs, in [0, 1]. If there is a word, the rate refers
        only to requests that contain the word.
    """

    kind: str
    word: str = ""
    rate: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Parse the text of a fault, such as "refuse:female=0.3".

        Raises
        ------
        UsageError
            If the text does not describe a fault, or the rate is not a number from 0 to 1.
        UnknownName
            If the kind is not a key of `FAULTS`.
        """
        match = FORM.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--fault {text!r} is not of the form KIND:WORD=RATE")
        UnknownName.unless_known("fault", match[1], FAULTS)
        try:
            rate = float(match[3] or 1)
        except ValueError:
            rate = -1.0
        if not 0 <= rate <= 1:
            raise UsageError(f"--fault {text!r}: the rate must be a number from 0 to 1")
        return cls(match[1], match[2] or "", rate)

    def concerns(self, prompt: str) -> bool:
        """Check whether the fault affects requests with this prompt."""
        if self.kind == "rewrite" or not self.word:
            return True
        return bool(re.search(rf"\b{re.escape(self.word)}\b", prompt, re.IGNORECASE))


class FaultDraws:
    """Random draws that decide which faults occur for which requests.

    Parameters
    ----------
    faults
        The faults, in order of precedence.
    seed
        Seed for the random draws.
    """

    def __init__(self, faults: Iterable[Fault], seed: int = 0) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._rng = np.random.default_rng(derived_seed(seed, "faults"))

    def draw(self, prompt: str, seed: int) -> list[Fault]:
        """Return the faults that occur for a request, in order of precedence."""
        return [
            fault
            for fault in self._faults
            if fault.concerns(prompt) and self._occurs(fault, prompt, seed)
        ]

    def _occurs(self, fault: Fault, prompt: str, seed: int) -> bool:
        if fault.kind not in STABLE:
            return bool(self._rng.random() < fault.rate)
        drawn = derived_seed(self._seed, fault.kind, fault.word, prompt, str(seed))
        return bool(np.random.default_rng(drawn).random() < fault.rate)
