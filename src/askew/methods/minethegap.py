"""MineTheGap: prompts that a model is most one-sided on, and what it leaves out there.

A search (section 3) evaluates prompts by the bias score (section 4.1) on a model's pictures and a writer's variations.
The best of it are scored again on pictures of fresh seeds, since a search picks lucky ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.objectives import NO_PICTURE, Objective, PicturesOf
from askew.parts.scoring import Vectors, Vision
from askew.prompts.evolution import Evaluated, Selection, best, word_effects
from askew.stats.gap import bias_score, gap_estimate, least_aligned, missed_concepts, null_scores, unit_similarity
from askew.stats.intervals import percentile_interval
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture

VariationsOf = Callable[[str], Sequence[str]]
"""The variations of a prompt: the same for every model."""

OneOfEach = Callable[[Sequence[str]], Sequence[Picture | Missing]]
"""One picture of every text, in their order."""

Entry = dict[str, Any]


COMPLETE = 0.8
"""Share of the pictures, and of the variations, that were asked for without which a prompt has no score.

Fewer pictures show less and fewer variations ask for less, so a score of fewer is lower. A search would follow a
writer that fails, or a filter that blocks.
"""


def enough(count: int) -> int:
    """How many of `count` must be there."""
    return math.ceil(COMPLETE * count)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The pictures of a prompt held against its variations."""

    variations: Sequence[str]
    pictures: Sequence[Picture]
    similarity: NDArray[np.float64]
    missing: int

    @classmethod
    def of(
        cls, variations: Sequence[str], pictures: Sequence[Picture | Missing], vision: Vision, is_unit: bool
    ) -> Alignment | Missing:
        """Missing where too few pictures could be made. `is_unit` says that similarities are (1 + cosine) / 2."""
        present = [one for one in pictures if isinstance(one, Picture)]
        if not present:
            return NO_PICTURE
        if len(present) < enough(len(pictures)):
            return Missing("error", f"fewer than {enough(len(pictures))} of {len(pictures)} pictures could be made")
        similarity = similarities(vision, variations, present, is_unit)
        return cls(variations, present, similarity, len(pictures) - len(present))

    def score(self, quantile: float) -> float | Missing:
        """The bias score of Eq. 1."""
        try:
            return bias_score(self.similarity, quantile)
        except NotEnoughData as error:
            return Missing("error", str(error))


@dataclass(frozen=True)
class BiasObjective:
    """The bias score of Eq. 1. `seed` decides the random draws; `planned` variations were asked for."""

    pictures: PicturesOf
    one_of_each: OneOfEach
    variations: VariationsOf
    vision: Vision
    seed: int
    planned: int = 2
    quantile: float = 0.25
    is_unit: bool = False
    draws: int = 1000
    level: float = 0.95
    name: str = "bias"

    def loss(self, prompt: str, seed: int) -> float | Missing:
        """The score alone."""
        found = self.alignment(prompt, seed)
        return found if isinstance(found, Missing) else found.score(self.quantile)

    def estimate(self, prompt: str, seed: int) -> Estimate | Missing:
        """The score with its interval, and corrected by the pictures of the variations."""
        found = self.alignment(prompt, seed)
        if isinstance(found, Missing):
            return found
        own = [one for one in self.one_of_each(found.variations) if isinstance(one, Picture)]
        null = self.similarities(found.variations, own) if own else None
        rng = np.random.default_rng(derived_seed(self.seed, "minethegap", prompt, str(seed)))
        try:
            return gap_estimate(found.similarity, null, rng=rng, quantile=self.quantile, draws=self.draws,
                                level=self.level, missing=found.missing)  # fmt: skip
        except NotEnoughData as error:
            return Missing("error", str(error))

    def alignment(self, prompt: str, seed: int) -> Alignment | Missing:
        """Variations, pictures, and their similarities."""
        variations = list(self.variations(prompt))
        least = max(2, enough(self.planned))
        if len(variations) < least:
            return Missing("error", f"the writer found fewer than {least} of {self.planned} variations")
        return Alignment.of(variations, self.pictures(prompt, seed), self.vision, self.is_unit)

    def similarities(self, texts: Sequence[str], pictures: Sequence[Picture]) -> NDArray[np.float64]:
        """(texts, pictures)."""
        return similarities(self.vision, texts, pictures, self.is_unit)

    def explain(self, prompt: str, seed: int) -> Entry:
        """Variations that are missed, pictures that fit none, and a map of both; nothing where nothing was scored."""
        found = self.alignment(prompt, seed)
        if isinstance(found, Missing):
            return {}
        own = self.one_of_each(found.variations)
        missed = [int(i) for i in missed_concepts(found.similarity, self.quantile)]
        return {
            "missed_visual_concepts": [found.variations[i] for i in missed],
            "missed_pictures": [_id(own[i]) for i in missed],
            "least_aligned_pictures": [found.pictures[j].id for j in least_aligned(found.similarity, self.quantile)],
            "variations": list(found.variations),
            "variation_pictures": [_id(one) for one in own],
            "null_range": self._null_range(found, [one for one in own if isinstance(one, Picture)]),
            "map": self._map(found.pictures, [one for one in own if isinstance(one, Picture)]),
        }

    def _null_range(self, found: Alignment, own: Sequence[Picture]) -> list[float] | None:
        """Between which scores the central `level` of the null lies."""
        if not own:
            return None
        rng = np.random.default_rng(derived_seed(self.seed, "minethegap null", found.variations[0]))
        similarity = self.similarities(found.variations, own)
        scores = null_scores(similarity, len(found.pictures), self.quantile, self.draws, rng)
        return list(percentile_interval(scores, self.level))

    def _map(self, pictures: Sequence[Picture], of_variations: Sequence[Picture]) -> Entry:
        vectors = self.vision.pictures([*pictures, *of_variations])
        places, explained = principal_components(vectors)
        count = len(pictures)
        return {
            "pictures": [[one.id, *place] for one, place in zip(pictures, places[:count].tolist(), strict=True)],
            "variations": [[one.id, *place] for one, place in zip(of_variations, places[count:].tolist(), strict=True)],
            "explained": explained.tolist(),
        }


@dataclass(frozen=True)
class Search:
    """All evaluated prompts of one search, and the best of them scored on fresh seeds."""

    evaluated: Sequence[Evaluated]
    objective: Objective
    seed: int
    fresh: int
    top: int
    selection: Selection = "score"

    @cached_property
    def best(self) -> list[Evaluated]:
        """The prompts of the lowest loss, or of the lowest expected one where the search has learnt from all."""
        return best(self.evaluated, self.top, word_effects(self.evaluated, self.selection))

    @cached_property
    def fresh_losses(self) -> list[float | Missing]:
        """What the best score on fresh seeds."""
        return [self.objective.loss(one.candidate.text, self.fresh) for one in self.best]

    @property
    def measured(self) -> list[float]:
        """Fresh losses of those of the best that could be scored."""
        return [value for value in self.fresh_losses if not isinstance(value, Missing)]

    def entries(self, number: int) -> list[Entry]:
        """The best prompts as they stand in results.json."""
        return [self._entry(one, number) for one in self.best]

    def _entry(self, one: Evaluated, number: int) -> Entry:
        text = one.candidate.text
        return {
            "run": number,
            "prompt": text,
            "score": self.objective.estimate(text, self.seed),
            "fresh_score": self.objective.estimate(text, self.fresh),
            "iteration": one.candidate.iteration,
            "lineage": lineage(self.evaluated, one),
            **(self.objective.explain(text, self.fresh) if isinstance(self.objective, BiasObjective) else {}),
        }

    def history(self, number: int) -> list[Entry]:
        """Iteration by iteration: the best loss so far, the best and the median of the iteration, every prompt."""
        entries, record = [], None
        for iteration in sorted({one.candidate.iteration for one in self.evaluated}):
            population = [one for one in self.evaluated if one.candidate.iteration == iteration]
            losses = [one.loss for one in population if one.loss is not None]
            record = min([*losses, *([record] if record is not None else [])], default=None)
            entries.append(
                {
                    "run": number,
                    "iteration": iteration,
                    "best": min(losses, default=None),
                    "median": float(np.median(losses)) if losses else None,
                    "best_so_far": record,
                    "prompts": [_prompt(one) for one in population],
                }
            )
        return entries


def similarities(
    vision: Vision, texts: Sequence[str], pictures: Sequence[Picture], is_unit: bool
) -> NDArray[np.float64]:
    """Cosines of texts and pictures, (texts, pictures); moved to [0, 1] if `is_unit`."""
    cosine = np.asarray(vision.texts(texts), float) @ np.asarray(vision.pictures(pictures), float).T
    return unit_similarity(cosine) if is_unit else cosine


def lineage(evaluated: Sequence[Evaluated], one: Evaluated) -> list[str]:
    """The prompts that one comes from by mutation, the first ancestor first, itself last."""
    by_text = {other.candidate.text: other for other in evaluated}
    line = [one.candidate.text]
    while (parent := by_text[line[0]].candidate.parent) is not None:
        line.insert(0, parent)
    return line


def principal_components(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, dimensions) to places on the two directions of greatest variance, (n, 2), and their shares of it, (2,).

    Each direction is turned so that its largest component is positive. Missing directions are 0.
    """
    centred = np.asarray(vectors, float) - np.mean(vectors, axis=0, dtype=float)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    turned = directions * np.sign(np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1))
    total = float((sizes**2).sum())
    places, shares = np.zeros((len(centred), 2)), np.zeros(2)
    count = min(2, len(sizes))
    places[:, :count] = centred @ turned[:count].T
    shares[:count] = sizes[:count] ** 2 / total if total > 0 else 0.0
    return places, shares


def _prompt(one: Evaluated) -> Entry:
    candidate = one.candidate
    return {"prompt": candidate.text, "score": one.loss, "origin": candidate.origin, "parent": candidate.parent}


def _id(picture: Picture | Missing) -> str | None:
    return picture.id if isinstance(picture, Picture) else None
