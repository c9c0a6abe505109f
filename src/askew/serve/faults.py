"""Faults that a served model shows on purpose, so that clients can be tested.

A fault is written KIND, KIND=RATE, KIND:WORD or KIND:WORD=RATE. A rate is the share of requests
that show the fault. A fault with a word concerns requests whose prompt or question contains the
word. Refusals, rewritten prompts and wrong labels depend on the request only, so that a repeated
request has the same outcome. All other faults are drawn anew for each request, so that a repeated request can succeed.
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
    "mislabel": "replace the label WORD of an image by another",
    "429": "too many requests, with Retry-After",
    "500": "an internal error",
    "401": "an invalid key",
    "quota": "status 429 with the code insufficient_quota",
    "hang": "no answer",
    "drip": "one byte every 0.05 seconds",
    "half": "the first half of an answer",
    "garbage": "JSON whose image is not an image",
    "large": "an answer of 50 MB",
    "type": "a web page with status 200",
    "redirect": "a redirect to another address",
    "address": "the address of an image in place of the image",
}
"""Kinds of faults, each with its description."""

STABLE = ("refuse", "rewrite", "mislabel")
"""Kinds whose outcome depends on prompt and seed, or label and image, only."""

DEFAULT_WORD = "smiling"

FORM = re.compile(r"([^:=]+)(?::([^=]+))?(?:=(.+))?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a served model.

    Attributes
    ----------
    kind
        A key of `FAULTS`.
    word
        Word that the prompt must contain, or that `rewrite` adds; "" for none.
    rate
        Share of requests with the fault, in [0, 1].
    """

    kind: str
    word: str = ""
    rate: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Return a fault from its text, such as "refuse:female=0.3".

        Raises
        ------
        UsageError
            If the text has another form, or the rate is not a number from 0 to 1.
        UnknownName
            If there is no such kind.
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
        """Check whether the fault can occur for a prompt."""
        if self.kind == "rewrite" or not self.word:
            return True
        return bool(re.search(rf"\b{re.escape(self.word)}\b", prompt, re.IGNORECASE))


class FaultDraws:
    """Decide which requests show which faults.

    Parameters
    ----------
    faults
        The faults, in their order of precedence.
    seed
        Seed of the draws.
    """

    def __init__(self, faults: Iterable[Fault], seed: int = 0) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._rng = np.random.default_rng(derived_seed(seed, "faults"))

    def draw(self, prompt: str, seed: int) -> list[Fault]:
        """Return the faults of a request, in their order of precedence."""
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
