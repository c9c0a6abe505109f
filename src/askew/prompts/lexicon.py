"""The built-in writer: axes from a catalogue, texts by rule and word list. It needs no language model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from random import Random

from askew.errors import UsageError
from askew.prompts.axes import BIASCONNECT, catalogue, find_axis
from askew.prompts.base import AxesOn, AxisProposal, Kind, Words, bare, length_of, whole_prompt
from askew.prompts.counterfactuals import counterfactuals
from askew.prompts.llm import CompletionCache
from askew.prompts.mutations import invent, mutate, vary
from askew.prompts.noun_phrases import parse_prompt
from askew.prompts.open_details import Knows, find_target
from askew.prompts.statements import states

_VERSION = 3
"""To be raised whenever a change of code changes what is written."""

_OTHER_AXES = 6
"""How many axes are proposed for a prompt without people."""

_TRIES = 40
"""How many texts are written at most for each one wanted, before fewer are returned."""


class LexiconWriter:
    """Writes from word lists: the same prompt and seed always get the same texts.

    Axes and counterfactuals do not even depend on the seed. For a prompt with people the lexicon proposes BiasConnect's
    eight axes, for any other the first six of the catalogue that fit what the prompt holds; `axes` asks for another
    number. Axes that the prompt settles itself are left out, or with `on` "stated" they alone are proposed.

    `knows` tells whether a text stays inside a model's vocabulary, which `vocabulary` names; new prompts, mutations
    and variations then add no other words.
    """

    concurrency = 1

    def __init__(
        self, axes: int | None = None, knows: Knows | None = None, vocabulary: str = "", on: AxesOn = "open"
    ) -> None:
        if axes is not None and axes < 1:
            raise UsageError(f"the lexicon was asked for {axes} axes; the number must be at least 1")
        self.axes, self._on = axes, on
        self.name = f"lexicon/{vocabulary}" if vocabulary else "lexicon"
        self.fingerprint = f"{self.name}-{_VERSION}-{_data_hash()}"
        self._knows = knows

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`. `seed` changes nothing."""
        text = whole_prompt(prompt)
        if axes is None:
            phrases = parse_prompt(text).phrases
            kinds = [phrase.noun.kind if phrase.noun else "any" for phrase in phrases]
            people = "person" in kinds
            about = {"any", "person" if people else next(iter(kinds), "any")}
            fitting = [name for name, entry in catalogue().items() if entry.about & about]
            stated = [name for name in fitting if states(prompt, name)]
            free = [name for name in fitting if name not in stated]
            usual = [name for name in free if name in BIASCONNECT] if people else free[:_OTHER_AXES]
            free = usual if self.axes is None else free
            axes = {"open": free, "stated": stated, "all": [*stated, *free]}[self._on][: self.axes]
        return [AxisProposal(find_axis(name), counterfactuals(prompt, name)) for name in axes]

    def write(
        self, kind: Kind, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words | None = None
    ) -> list[str]:
        """Random prompts about things, people and nature in equal parts, mutations or variations; see `Writer`.

        Mutations have a related subject, another setting, a detail more or less. Variations say who, where, when, how
        and in which style, each about equally often. With a target those come first that it is about. Others fill up
        where a prompt leaves too few of them open, as one that says what somebody wears does of clothing.
        """
        words = length_of(kind, prompt, count, words)
        if kind == "random prompts":
            rng = Random(f"{kind} {seed} {target}")
            return _distinct(invent(find_target(target, self._knows), words, self._knows, rng), count)
        if kind == "mutations":
            rng = Random(f"{kind} {seed} {target} {prompt}")
            return _distinct(mutate(prompt, find_target(target, self._knows), words, self._knows, rng), count, prompt)
        found: list[str] = []
        for aim in dict.fromkeys((target, None)):
            rng = Random(f"{kind} {seed} {aim} {prompt}")
            more = _distinct(vary(prompt, find_target(aim), words, self._knows, rng), count, prompt)
            found = _distinct(iter([*found, *more]), count, prompt)
            if len(found) == count:
                break
        return found


def create(
    name: str = "", *, axes: int | None = None, axes_on: AxesOn = "open", cache: CompletionCache | None = None
) -> LexiconWriter:
    """The writer that `--llm lexicon` names. Raises UsageError for a name after the slash that is no vocabulary.

    `cache` is what every writer is given; the lexicon has nothing to keep.
    """
    if name:
        raise UsageError(f"'lexicon/{name}' means nothing; write 'lexicon', or 'lexicon/studio' for the studio's words")
    return LexiconWriter(axes, on=axes_on)


def _distinct(texts: Iterator[str], count: int, prompt: str = "") -> list[str]:
    """The first `count` different texts that are not the prompt itself, or as many as there are among many tries."""
    found: dict[str, str] = {}
    for text in islice(texts, count * _TRIES):
        if text and bare(text) != bare(prompt):
            found.setdefault(bare(text), text)
        if len(found) == count:
            break
    return list(found.values())


@lru_cache
def _data_hash() -> str:
    parts = sorted((files("askew.prompts") / "data").iterdir(), key=lambda part: part.name)
    content = b"".join(part.read_bytes() for part in parts if part.name.endswith((".txt", ".toml")))
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:12]
