"""What a search for prompts can look for: a loss of their pictures. Lower is what is sought."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from askew.errors import AskewError, NotEnoughData, UsageError
from askew.measure.base import Embedder
from askew.parts.scoring import Scoring, or_missing
from askew.run.base import Outcome, Run
from askew.stats.gap import bias_score, gap_estimate, null_scores, unit_similarity
from askew.stats.intervals import bootstrap_errors, percentile_interval
from askew.store.files import sha256
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture

PicturesOf = Callable[[str, int], Sequence[Outcome]]
"""The pictures of a prompt for a run seed."""

CustomLoss = Callable[[str, Sequence[Image.Image]], float]
"""A function of a prompt and its pictures."""

NO_PICTURE = Missing("error", "no picture of this prompt could be made")

SEARCH_DRAWS = 200
"""Draws of the null that a search by the corrected score takes off each prompt's."""


def enough(count: int) -> int:
    """How many of `count` pictures or variations a score needs: one of fewer is lower, and a search
    would follow a writer that fails, or a filter that blocks.
    """
    return math.ceil(0.8 * count)


class ObjectiveReading(Protocol):
    """What an objective found in the pictures of a prompt."""

    def loss(self) -> float | Missing:
        """The loss alone: what a search needs of every prompt."""

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """The score with what tells how far it can be trusted."""


class Objective(Protocol):
    """Who reads the pictures that a model makes of prompts."""

    def read(self, prompt: str, seed: int) -> ObjectiveReading | Missing:
        """What is in a prompt's pictures for a run seed. Missing where there is too little to tell."""

    def again(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> ObjectiveReading | Missing:
        """What is in the pictures of a prompt that was found by its `first` ones, for another seed."""
        return self.read(prompt, seed)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Pictures of a prompt held against its variations (MineTheGap, section 4.1).

    similarity  (variations, pictures)
    missing     pictures that could not be made
    quantile    alpha of the score
    chance      pictures of the variations held against them in the same way, where there are any
    corrected   whether the mean score of as many of those, which there are then, is taken off the loss
    """

    prompt: str
    seed: int
    variations: tuple[str, ...]
    pictures: tuple[Picture, ...]
    similarity: NDArray[np.float64]
    missing: int
    quantile: float
    chance: "Alignment | None" = None
    corrected: bool = False

    def loss(self) -> float | Missing:
        """The bias score of Eq. 1, or what it is above that of pictures of the variations."""
        try:
            value = bias_score(self.similarity, self.quantile)
            if self.chance is None or not self.corrected:
                return value
            rng = np.random.default_rng(derived_seed(self.seed, "corrected", self.prompt))
            null = null_scores(
                self.chance.similarity, len(self.pictures), self.quantile, SEARCH_DRAWS, rng
            )
            return value - float(null.mean())
        except NotEnoughData as error:
            return Missing("error", str(error))

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """The score with its interval, corrected by the pictures of the variations."""
        null = self.chance.similarity if self.chance else None
        rng = scoring.rng("minethegap", self.prompt, str(self.seed))
        return or_missing(
            gap_estimate,
            self.similarity,
            null,
            rng=rng,
            quantile=self.quantile,
            missing=self.missing,
            reason="error",
            **scoring.interval_options,
        )


@dataclass(frozen=True)
class BiasObjective(Objective):
    """How much the pictures of a prompt leave out of what its variations ask for, of which there
    are to be `planned`.

    is_unit    similarities are (1 + cosine) / 2
    one_each   by text a picture of it
    corrected  take the score of these pictures off that of every prompt
    """

    run: Run
    embedder: Embedder
    pictures: PicturesOf
    variations: Callable[[str], Sequence[str]]
    planned: int
    quantile: float
    is_unit: bool
    one_each: Callable[[Sequence[str]], Mapping[str, Outcome]]
    corrected: bool = False

    def read(self, prompt: str, seed: int) -> Alignment | Missing:
        """Missing with too few variations, of which no picture is made then, or too few pictures."""
        return self._read(prompt, seed, self.corrected)

    def again(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> Alignment | Missing:
        """Beside pictures of the variations, which tell what is chance."""
        return self._read(prompt, seed, True)

    def _read(self, prompt: str, seed: int, with_chance: bool) -> Alignment | Missing:
        variations = self.variations(prompt)
        least = max(2, enough(self.planned))
        if len(variations) < least:
            return Missing(
                "error", f"the writer found fewer than {least} of {self.planned} variations"
            )
        pictures = self.pictures(prompt, seed)
        present = [one for one in pictures if isinstance(one, Picture)]
        if not present:
            return NO_PICTURE
        if len(present) < enough(len(pictures)):
            return Missing(
                "error",
                f"fewer than {enough(len(pictures))} of {len(pictures)} pictures could be made",
            )
        found = self._align(prompt, variations, pictures, seed)
        if isinstance(found, Missing) or not with_chance:
            return found
        varied = self.one_each(variations)
        if not any(isinstance(one, Picture) for one in varied.values()):
            return (
                Missing("error", "no picture of a variation could be made")
                if self.corrected
                else found
            )
        chance = self._align(prompt, tuple(varied), list(varied.values()), seed)
        return (
            found
            if isinstance(chance, Missing)
            else replace(found, chance=chance, corrected=self.corrected)
        )

    def _align(
        self, prompt: str, variations: Sequence[str], pictures: Sequence[Outcome], seed: int
    ) -> Alignment | Missing:
        """As many pictures as there are, at least one, against these texts. Missing where a run
        only counts.
        """
        present = tuple(one for one in pictures if isinstance(one, Picture))
        vectors = self.run.read(self.embedder, present)
        (texts,) = self.run.look(self.embedder.embed_texts, [variations])
        if isinstance(texts, Missing):
            return texts
        cosine = np.asarray(texts, float) @ np.asarray(vectors, float).T
        similarity = unit_similarity(cosine) if self.is_unit else cosine
        lost = len(pictures) - len(present)
        return Alignment(prompt, seed, tuple(variations), present, similarity, lost, self.quantile)


@dataclass(frozen=True, slots=True)
class NumberReading:
    """A number of a prompt's pictures; of a mean of errors in [0, 1] those of each picture, too."""

    prompt: str
    seed: int
    value: float
    n: int
    missing: int
    errors: tuple[float, ...] = ()

    def loss(self) -> float | Missing:
        """The number."""
        return self.value

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """The same, with an interval by bootstrap over the pictures where their errors are known."""
        if not self.errors:
            return Estimate(self.value, n=self.n, missing=self.missing)
        rng = np.random.default_rng(derived_seed(self.seed, "color", self.prompt))
        drawn = bootstrap_errors(np.array(self.errors)[:, None], scoring.draws, rng)[:, 0]
        low, high = percentile_interval(self.value - drawn, scoring.level)
        how = "bootstrap over pictures"
        return Estimate(
            self.value, max(low, 0), min(high, 1), scoring.level, how, self.n, self.missing, max=1.0
        )


@dataclass(frozen=True, slots=True)
class ColorObjective(Objective):
    """How far pictures are from one colour (MineTheGap, appendix A)."""

    run: Run
    color: tuple[int, int, int]
    pictures: PicturesOf

    def read(self, prompt: str, seed: int) -> NumberReading | Missing:
        """Missing without a picture."""
        seen = self.run.look(partial(pixel_error, self.color), self.pictures(prompt, seed))
        errors = tuple(one for one in seen if not isinstance(one, Missing))
        if not errors:
            return NO_PICTURE
        return NumberReading(
            prompt, seed, float(np.mean(errors)), len(errors), len(seen) - len(errors), errors
        )


def pixel_error(color: tuple[int, int, int], picture: Picture) -> float:
    """The mean squared error of a picture's pixels from a colour of 8 bits a channel."""
    pixels = np.asarray(opened(picture.path), dtype=float) / 255
    return float(np.mean((pixels - np.array(color) / 255) ** 2))


@dataclass(frozen=True, slots=True)
class CustomObjective(Objective):
    """A function of the user's own: (prompt, pictures) to a number."""

    name: str
    function: CustomLoss
    pictures: PicturesOf

    def read(self, prompt: str, seed: int) -> NumberReading | Missing:
        """Missing without a picture. Raises AskewError for a function that fails, or gives no
        finite number.
        """
        pictures = self.pictures(prompt, seed)
        images = [opened(one.path) for one in pictures if isinstance(one, Picture)]
        if not images:
            return NO_PICTURE
        try:
            value = float(self.function(prompt, images))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise AskewError(
                f"the objective {self.name} failed for {prompt!r}: {reason}"
            ) from error
        if not np.isfinite(value):
            raise AskewError(
                f"the objective {self.name} gave {value} for {prompt!r}; a finite number is needed"
            )
        return NumberReading(prompt, seed, value, len(images), len(pictures) - len(images))

    @property
    def fingerprint(self) -> str:
        """A hash of the file that holds the function: who changes it, asks something else."""
        file = getattr(sys.modules.get(self.function.__module__), "__file__", None)
        return sha256(Path(file).read_bytes()) if file else self.name


def named_color(name: str) -> tuple[int, int, int]:
    """The sRGB values of a colour by its CSS name or #rrggbb. Raises UsageError."""
    try:
        red, green, blue = ImageColor.getrgb(name)[:3]
    except ValueError as error:
        raise UsageError(
            f"{name!r} is no colour; write color:red, or color:#1e90ff for any other"
        ) from error
    return red, green, blue


def own_function(name: str) -> CustomLoss:
    """The function that module:function names. Raises UsageError where there is none."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise UsageError(
            f"unknown objective {name!r}; known: skew, eq1, eq1-corrected, color:NAME, module:function"
        )
    try:
        found = getattr(import_module(module), function)
    except Exception as error:  # a module runs its own code when it is imported
        raise UsageError(
            f"the objective {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise UsageError(f"the objective {name!r} is no function of a prompt and its pictures")
    loss: CustomLoss = found
    return loss
