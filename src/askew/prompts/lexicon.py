"""The built-in writer: axes from a catalogue, counterfactuals by rule. It needs no language model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

from askew.errors import UsageError
from askew.prompts.axes import BIASCONNECT, catalogue, find_axis
from askew.prompts.base import AxisProposal
from askew.prompts.content import read
from askew.prompts.counterfactuals import counterfactuals
from askew.prompts.statements import states

_VERSION = 1
"""To be raised whenever a change of code changes what is written."""

_OTHER_AXES = 6
"""How many axes are proposed for a prompt without people."""


class LexiconWriter:
    """Writes from word lists: the same prompt always gets the same axes and texts, whatever the seed.

    For a prompt with people it proposes BiasConnect's eight axes, for any other the first six of the catalogue that
    fit what the prompt holds; axes that the prompt settles itself are left out. `axes` asks for another number.
    """

    name = "lexicon"

    def __init__(self, axes: int | None = None) -> None:
        if axes is not None and axes < 1:
            raise UsageError(f"the lexicon was asked for {axes} axes; the number must be at least 1")
        self.axes = axes
        self.fingerprint = f"lexicon-{_VERSION}-{_data_hash()}"

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`. `seed` changes nothing."""
        if not prompt.strip():
            raise UsageError("the prompt is empty; it should describe a picture, such as 'a photo of a doctor'")
        names = self._choice(prompt) if axes is None else [find_axis(name).name for name in axes]
        return [AxisProposal(find_axis(name), counterfactuals(prompt, name)) for name in names]

    def _choice(self, prompt: str) -> list[str]:
        kind = _main_kind(prompt)
        fitting = [name for name, entry in catalogue().items() if entry.about & {kind, "any"}]
        names = [name for name in fitting if not states(prompt, name)]
        if self.axes is not None:
            return names[: self.axes]
        return [name for name in names if name in BIASCONNECT] if kind == "person" else names[:_OTHER_AXES]


def create(name: str = "", *, axes: int | None = None) -> LexiconWriter:
    """The writer that `--llm lexicon` names. Raises UsageError for a name after the slash: there is one lexicon."""
    if name:
        raise UsageError(f"there is one lexicon, so 'lexicon/{name}' means nothing; write 'lexicon'")
    return LexiconWriter(axes)


def _main_kind(prompt: str) -> str:
    """What the prompt is about: people if it names any, else its first noun; "any" if that is unknown."""
    kinds = [phrase.noun.kind if phrase.noun else "any" for phrase in read(" ".join(prompt.split())).phrases]
    return "person" if "person" in kinds else next(iter(kinds), "any")


@lru_cache
def _data_hash() -> str:
    parts = sorted((files("askew.prompts") / "data").iterdir(), key=lambda part: part.name)
    content = b"".join(part.read_bytes() for part in parts if part.name.endswith((".txt", ".toml")))
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:12]
