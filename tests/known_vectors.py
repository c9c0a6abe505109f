"""A run, an embedder, an objective and images whose vectors are known: no network, no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from askew.methods.mine.objectives import BiasObjective
from askew.run.base import Outcome, Rows
from askew.types import Missing, Picture

PicturesOf = Callable[[str, int], Sequence[Outcome]]


class KnownEmbedder:
    """An embedder that embeds images by their ids, as if the ids were texts."""

    name = fingerprint = "known"

    def __init__(self, embed: Callable[[Sequence[str]], Rows]) -> None:
        self.embed_texts = embed

    def embed_pictures(self, pictures: Sequence[Picture]) -> Rows:
        return self.embed_texts([picture.id for picture in pictures])


class KnownRun:
    """A run that labels and embeds at once and stores nothing."""

    def read(self, reader: Any, pictures: Sequence[Picture]) -> Rows:
        return np.asarray(reader.embed_pictures(pictures))

    def look(self, lens: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [item if isinstance(item, Missing) else lens(item) for item in items]


RUN: Any = KnownRun()


def bias_objective(
    pictures: PicturesOf,
    variations: Sequence[str],
    embed: Callable[[Sequence[str]], Rows],
    planned: int = 2,
) -> BiasObjective:
    """Return the bias objective for these images, with one image named after each variation."""

    def one_each(texts: Sequence[str]) -> dict[str, Outcome]:
        return {text: Picture(text, "", text, 1) for text in texts}

    return BiasObjective(
        RUN,
        KnownEmbedder(embed),
        pictures,
        lambda prompt: variations,
        planned,
        0.25,
        False,
        one_each,
    )


DIRECTIONS = dict(zip(("male", "female", "old", "young"), np.eye(5)[1:], strict=True))
VARIATIONS = ["a male nurse", "a female nurse", "an old nurse", "a young nurse"]


def embed(texts: Sequence[str]) -> Rows:
    rows = []
    for text in texts:
        row = np.eye(5)[0] + sum(DIRECTIONS[w] for w in text.split() if w in DIRECTIONS)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows, np.float32)


def pictures_of(prompt: str, seed: int) -> list[Outcome]:
    """Return images of women for a nurse and of anybody for a person; two or four are missing."""
    shown = ["a female nurse"] if "nurse" in prompt else VARIATIONS
    pictures = [Picture(f"{shown[k % len(shown)]} {k}", "", prompt, seed) for k in range(9)]
    return [*pictures, *[Missing("refused")] * (4 if "blocked" in prompt else 2)]


NURSES = bias_objective(pictures_of, VARIATIONS, embed)
VARIED = {text: Picture(text, "", text, 1) for text in VARIATIONS}
"""An image of each variation, by its text."""
