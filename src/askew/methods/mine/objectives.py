"""Objectives for a search for prompts. An objective computes a loss, which the search minimizes."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
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
from askew.run.inquiries import Reading
from askew.stats.gap import bias_score, gap_estimate, null_scores, unit_similarity
from askew.stats.intervals import bootstrap_errors, from_enough, percentile_interval
from askew.store.files import sha256
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture, is_copy

PicturesOf = Callable[[str, int], Sequence[Outcome]]
"""Function that takes a prompt and a run seed, and returns images of the prompt."""

CustomLoss = Callable[[str, Sequence[Image.Image]], float]
"""Function, given by the user, that takes a prompt and its images and returns a number."""

NO_PICTURE = Missing("error", "no image of this prompt could be generated")

SEARCH_DRAWS = 200
"""Number of draws from the null distribution. `eq1-corrected` subtracts the mean of these draws."""


def enough(count: int) -> int:
    """Return how many of `count` planned images or variations must exist for a score.

    Fewer images or variations would lower the score. A search would then favor prompts whose images
    are blocked or whose variations could not be written.
    """
    return math.ceil(0.8 * count)


class ObjectiveReading(Protocol):
    """Measurement of a prompt's images by an objective."""

    def loss(self) -> float | Missing:
        """Return the loss that a search minimizes, without its uncertainty."""

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """Return the score with its uncertainty."""


class Objective(Protocol):
    """A score that a search for prompts minimizes."""

    def read(self, prompt: str, seed: int) -> ObjectiveReading | Missing:
        """Measure the images that a run seed produces for a prompt.

        Returns
        -------
        ObjectiveReading or Missing
            The measurement; Missing if there are too few images, labels or variations.
        """

    def needs_images(self, prompt: str) -> bool:
        """Check whether `read` needs images of a prompt."""
        return True

    def prepare(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Measure the images of several prompts at once; `read` then only looks up the results.

        Parameters
        ----------
        pictures
            Images by prompt.
        """
        return

    def read_held_out(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> ObjectiveReading | Missing:
        """Measure the held-out images of a prompt selected by a search.

        Parameters
        ----------
        first
            Measurement that the search used to select the prompt.
        prompt
            The prompt.
        seed
            Run seed of the held-out images.
        """
        return self.read(prompt, seed)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Similarities between a prompt's images and variations (MineTheGap, section 4.1).

    Attributes
    ----------
    prompt, seed
        Prompt, and run seed.
    variations, pictures
        Variations, and images.
    similarity
        Similarity between each variation and each image, of shape (variations, images).
    missing
        Number of images that could not be generated.
    quantile
        Quantile alpha in the score, in [0, 1].
    chance
        Similarities between the variations and images generated from the variations. The null
        distribution is drawn from these similarities. None if there are no such images.
    corrected
        True if the loss is the score minus its mean under the null. It needs `chance`.
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
        """Return the bias score of Equation 1; if `corrected`, subtract its mean under the null."""
        try:
            score = bias_score(self.similarity, self.quantile)
            if self.chance is None or not self.corrected:
                return score
            return score - self._null_mean(self.chance)
        except NotEnoughData as error:
            return Missing("error", str(error))

    def _null_mean(self, chance: "Alignment") -> float:
        rng = np.random.default_rng(derived_seed(self.seed, "corrected", self.prompt))
        count = len(self.pictures)
        null = null_scores(chance.similarity, count, self.quantile, SEARCH_DRAWS, rng)
        return float(null.mean())

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """Return the score with its interval, and with a null based on images of the variations."""
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
class TextVectors:
    """Embeddings of texts. Each list of texts is embedded only once.

    Attributes
    ----------
    run
        Run that embeds texts.
    embedder
        The embedder.
    """

    run: Run
    embedder: Embedder
    _known: dict[tuple[str, ...], NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def of(self, lists: Sequence[Sequence[str]]) -> list[NDArray[np.float32] | Missing]:
        """Return the embeddings of each list of texts; Missing in a `CountingRun`."""
        new = [texts for texts in dict.fromkeys(map(tuple, lists)) if texts not in self._known]
        rows = self.run.look(self.embedder.embed_texts, [list(texts) for texts in new])
        vectors: dict[tuple[str, ...], NDArray[np.float32] | Missing] = dict(
            zip(new, rows, strict=True)
        )
        for texts, of_texts in vectors.items():
            if not isinstance(of_texts, Missing):
                self._known[texts] = of_texts
        return [(vectors | self._known)[tuple(texts)] for texts in lists]


@dataclass(frozen=True)
class BiasObjective(Objective):
    """Objective that uses the bias score of Equation 1.

    The lower the score, the more of a prompt's variations its images leave out.

    Attributes
    ----------
    run
        Run that generates and embeds images.
    embedder
        Embedder for images and variations.
    pictures
        Function that takes a prompt and a run seed, and returns images of the prompt.
    variations
        Function that returns the variations of a prompt.
    planned
        Number of variations that are requested for each prompt.
    quantile
        Quantile alpha in the score, in [0, 1].
    is_unit
        True if similarities are (1 + cosine) / 2.
    one_each
        Function that takes texts and returns one image of each text, keyed by text.
    corrected
        True if the loss is the score minus its mean under the null.
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

    @cached_property
    def texts(self) -> TextVectors:
        """Vectors of the variations."""
        return TextVectors(self.run, self.embedder)

    def needs_images(self, prompt: str) -> bool:
        """Check whether a prompt has enough variations for a score."""
        return len(self.variations(prompt)) >= self._needed

    def prepare(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Embed images and variations of several prompts at once."""
        usable = [prompt for prompt, images in pictures.items() if not lacking_pictures(images)]
        self.run.read_all([Reading(self.embedder, present(pictures[text])) for text in usable])
        self.texts.of([self.variations(prompt) for prompt in usable])

    @property
    def _needed(self) -> int:
        """Minimum number of variations that a score needs."""
        return max(2, enough(self.planned))

    def read(self, prompt: str, seed: int) -> Alignment | Missing:
        """Measure a prompt's images.

        Returns
        -------
        Alignment or Missing
            The similarities; Missing if there are too few images or variations. If there are too
            few variations, no image is generated.
        """
        return self._read(prompt, seed, self.corrected)

    def read_held_out(
        self, first: ObjectiveReading | Missing, prompt: str, seed: int
    ) -> Alignment | Missing:
        """Measure held-out images and, for the null distribution, images of the variations."""
        return self._read(prompt, seed, True)

    def _read(self, prompt: str, seed: int, with_chance: bool) -> Alignment | Missing:
        variations = self.variations(prompt)
        if not self.needs_images(prompt):
            return Missing(
                "error",
                f"the prompt generator wrote fewer than {self._needed} of {self.planned} "
                "variations",
            )
        pictures = self.pictures(prompt, seed)
        lacking = lacking_pictures(pictures)
        if lacking:
            return lacking
        alignment = self._align(prompt, variations, pictures, seed)
        if isinstance(alignment, Missing) or not with_chance:
            return alignment
        return self._with_chance(alignment)

    def _with_chance(self, alignment: Alignment) -> Alignment | Missing:
        """Add the similarities of the variations' images, if there are any, to an alignment."""
        varied = self.one_each(alignment.variations)
        if not any(isinstance(picture, Picture) for picture in varied.values()):
            if self.corrected:
                return Missing("error", "no image of a variation could be generated")
            return alignment
        chance = self._align(alignment.prompt, tuple(varied), list(varied.values()), alignment.seed)
        if isinstance(chance, Missing):
            return alignment
        return replace(alignment, chance=chance, corrected=self.corrected)

    def _align(
        self, prompt: str, variations: Sequence[str], pictures: Sequence[Outcome], seed: int
    ) -> Alignment | Missing:
        """Return the similarities between images and texts; Missing in a `CountingRun`."""
        images = present(pictures)
        vectors = self.run.read(self.embedder, images)
        (texts,) = self.texts.of([variations])
        if isinstance(texts, Missing):
            return texts
        cosine = np.asarray(texts, float) @ np.asarray(vectors, float).T
        return Alignment(
            prompt=prompt,
            seed=seed,
            variations=tuple(variations),
            pictures=tuple(images),
            similarity=unit_similarity(cosine) if self.is_unit else cosine,
            missing=len(pictures) - len(images),
            quantile=self.quantile,
        )


def present(pictures: Sequence[Outcome]) -> list[Picture]:
    """Return the images that are not missing."""
    return [picture for picture in pictures if isinstance(picture, Picture)]


def lacking_pictures(pictures: Sequence[Outcome]) -> Missing | None:
    """Return a Missing that states why there are too few images; None if there are enough."""
    count = len(present(pictures))
    needed = enough(len(pictures))
    if not count:
        return NO_PICTURE
    if count < needed and any(map(is_copy, pictures)):
        return Missing("copy", f"only {count} of {len(pictures)} images are distinct")
    if count < needed:
        return Missing("error", f"fewer than {needed} of {len(pictures)} images could be generated")
    return None


@dataclass(frozen=True, slots=True)
class NumberReading:
    """Value of an objective on a prompt's images.

    Attributes
    ----------
    prompt, seed
        Prompt, and run seed.
    value
        The number.
    n, missing
        Number of measured images, and number of images that could not be generated.
    errors
        Error of each image, in [0, 1]. Empty unless the value is the mean of these errors.
    """

    prompt: str
    seed: int
    value: float
    n: int
    missing: int
    errors: tuple[float, ...] = ()

    def loss(self) -> float | Missing:
        """Return the value of the objective, which is the loss."""
        return self.value

    def estimate(self, scoring: Scoring) -> Estimate | Missing:
        """Return the value, with a bootstrap interval if it is the mean error of enough images."""
        if not self.errors:
            return Estimate(self.value, n=self.n, missing=self.missing)
        rng = np.random.default_rng(derived_seed(self.seed, "color", self.prompt))
        drawn = bootstrap_errors(np.array(self.errors)[:, None], scoring.draws, rng)[:, 0]
        low, high = percentile_interval(self.value - drawn, scoring.level)
        estimate = Estimate(
            self.value,
            low=max(low, 0),
            high=min(high, 1),
            level=scoring.level,
            interval="bootstrap over pictures",
            n=self.n,
            missing=self.missing,
            max=1.0,
        )
        return from_enough(estimate, len(self.errors))


@dataclass(frozen=True)
class ColorObjective(Objective):
    """Objective that measures the distance of images from a color (MineTheGap, appendix A).

    Attributes
    ----------
    run
        Run that opens images.
    color
        Red, green and blue values, each from 0 to 255.
    pictures
        Function that takes a prompt and a run seed, and returns images of the prompt.
    """

    run: Run
    color: tuple[int, int, int]
    pictures: PicturesOf
    _errors: dict[str, float] = field(default_factory=dict, repr=False)

    def prepare(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Measure the images of several prompts at once."""
        images = [picture for of_prompt in pictures.values() for picture in of_prompt]
        self._measured(images)

    def _measured(self, pictures: Sequence[Outcome]) -> list[float | Missing]:
        """Return the error of each image. An image is measured only once."""
        images = {picture.id: picture for picture in present(pictures)}
        new = [picture for name, picture in images.items() if name not in self._errors]
        errors: dict[str, float | Missing] = {**self._errors}
        measured = self.run.look(partial(pixel_error, self.color), new)
        for picture, error in zip(new, measured, strict=True):
            errors[picture.id] = error
            if not isinstance(error, Missing):
                self._errors[picture.id] = error
        return [
            errors[picture.id] if isinstance(picture, Picture) else picture for picture in pictures
        ]

    def read(self, prompt: str, seed: int) -> NumberReading | Missing:
        """Measure a prompt's images. The result is missing if there is no image."""
        results = self._measured(self.pictures(prompt, seed))
        errors = tuple(error for error in results if not isinstance(error, Missing))
        if not errors:
            return NO_PICTURE
        return NumberReading(
            prompt=prompt,
            seed=seed,
            value=float(np.mean(errors)),
            n=len(errors),
            missing=len(results) - len(errors),
            errors=errors,
        )


def pixel_error(color: tuple[int, int, int], picture: Picture) -> float:
    """Return the mean squared difference between an image's pixels and a color, in [0, 1].

    Parameters
    ----------
    color
        Red, green and blue values, each from 0 to 255.
    picture
        The image.
    """
    pixels = np.asarray(opened(picture.path), dtype=float) / 255
    return float(np.mean((pixels - np.array(color) / 255) ** 2))


@dataclass(frozen=True, slots=True)
class CustomObjective(Objective):
    """Objective whose loss is computed from a prompt and its images by a user's function.

    Attributes
    ----------
    name
        Name of the function, in the form module:function.
    function
        The function.
    pictures
        Function that takes a prompt and a run seed, and returns images of the prompt.
    """

    name: str
    function: CustomLoss
    pictures: PicturesOf

    def read(self, prompt: str, seed: int) -> NumberReading | Missing:
        """Measure a prompt's images. The result is missing if there is no image.

        Raises
        ------
        AskewError
            If the function fails, or does not return a finite number.
        """
        pictures = self.pictures(prompt, seed)
        images = [opened(picture.path) for picture in pictures if isinstance(picture, Picture)]
        if not images:
            return NO_PICTURE
        return NumberReading(
            prompt=prompt,
            seed=seed,
            value=self._value(prompt, images),
            n=len(images),
            missing=len(pictures) - len(images),
        )

    def _value(self, prompt: str, images: Sequence[Image.Image]) -> float:
        try:
            value = float(self.function(prompt, images))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise AskewError(
                f"the objective {self.name} failed for {prompt!r}: {reason}"
            ) from error
        if not np.isfinite(value):
            raise AskewError(
                f"the objective {self.name} returned {value} for {prompt!r}. "
                "It must return a finite number"
            )
        return value

    @property
    def fingerprint(self) -> str:
        """Hash of the function's file. If the file changes, the function is evaluated again."""
        file = getattr(sys.modules.get(self.function.__module__), "__file__", None)
        return sha256(Path(file).read_bytes()) if file else self.name


def named_color(name: str) -> tuple[int, int, int]:
    """Return the red, green and blue values of a color, each from 0 to 255.

    Parameters
    ----------
    name
        CSS name, or #rrggbb.

    Raises
    ------
    UsageError
        If the name is not a color.
    """
    try:
        red, green, blue = ImageColor.getrgb(name)[:3]
    except ValueError as error:
        raise UsageError(
            f"{name!r} is not a color. Give a name, as in --objective color:red, "
            "or a code, as in --objective color:#1e90ff"
        ) from error
    return red, green, blue


def custom_function(name: str) -> CustomLoss:
    """Import and return the function with a name of the form module:function.

    Raises
    ------
    UsageError
        If there is no such function.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise UsageError(
            f"unknown objective {name!r}. --objective is one of: skew, eq1, eq1-corrected, "
            "color:NAME, module:function"
        )
    try:
        function = getattr(import_module(module), attribute)
    except Exception as error:  # a module runs its code when it is imported
        raise UsageError(
            f"the objective {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(function):
        raise UsageError(
            f"the objective {name!r} is not a function. --objective module:function needs a "
            "function that takes a prompt and its images"
        )
    loss: CustomLoss = function
    return loss
