"""The words of a prompt that say something: what near-duplicates share, and what each word does to a loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askew.prompts.writer import bare
from askew.stats.shrinkage import ridge_effects

_EMPTY_WORDS = frozenset("a an the of in on at by to for from with and or some this that is are as who".split())


def essence(prompt: str) -> str:
    """What two prompts have in common if they are near-duplicates: their words but for small ones, sorted."""
    return " ".join(sorted(content_words(prompt)))


def content_words(text: str) -> list[str]:
    """The words of a text that say something, in small letters and their order."""
    return [word for word in bare(text).split() if word not in _EMPTY_WORDS]


@dataclass(frozen=True, slots=True)
class WordEffects:
    """What each word adds to the loss of a prompt that holds it, on top of `base`."""

    base: float
    effects: Mapping[str, float]

    @classmethod
    def learned(cls, losses: Mapping[str, float]) -> WordEffects:
        """From the losses of some prompts, at least one. What the words do not explain alike is taken as noise."""
        said = [frozenset(content_words(text)) for text in losses]
        words = sorted(frozenset().union(*said))
        features = np.array([[word in one for word in words] for one in said], dtype=float)
        base, effects = ridge_effects(features, list(losses.values()))
        return cls(base, dict(zip(words, effects.tolist(), strict=True)))

    def expected(self, text: str) -> float:
        """The loss that the words of a text let expect. Words that were in no prompt add nothing."""
        return self.base + sum(self.effects.get(word, 0.0) for word in sorted(set(content_words(text))))
