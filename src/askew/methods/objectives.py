"""What a search for prompts can look for: a loss per prompt, computed from its pictures. Lower is what is sought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import numpy as np
from PIL import Image, ImageColor

from askew.errors import AskewError, UsageError
from askew.stats.intervals import bootstrap_errors, percentile_interval
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture

PicturesOf = Callable[[str, int], Sequence[Picture | Missing]]
"""The pictures of a prompt for a run seed."""

OwnLoss = Callable[[str, Sequence[Image.Image]], float]
"""A function of a prompt and its pictures."""

NO_PICTURE = Missing("error", "no picture of this prompt could be made")


class Objective(Protocol):
    """A loss of prompts, by the pictures that a model makes of them for a run seed."""

    @property
    def name(self) -> str:
        """The objective as a plan names it."""
        ...

    @property
    def pictures(self) -> PicturesOf:
        """Where the pictures come from."""
        ...

    def loss(self, prompt: str, seed: int) -> float | Missing:
        """The loss alone: what a search needs of every prompt."""
        ...

    def estimate(self, prompt: str, seed: int) -> Estimate | Missing:
        """The loss with what tells how far it can be trusted: for the prompts that are reported."""
        ...


@dataclass(frozen=True, slots=True)
class ColorObjective:
    """How far pictures are from one colour: the mean squared error of their pixels, in [0, 1] (appendix A)."""

    name: str
    color: tuple[int, int, int]
    pictures: PicturesOf
    draws: int = 1000
    level: float = 0.95

    def loss(self, prompt: str, seed: int) -> float | Missing:
        """The mean over the pictures."""
        errors = self._errors(prompt, seed)
        return float(np.mean(errors)) if errors else NO_PICTURE

    def estimate(self, prompt: str, seed: int) -> Estimate | Missing:
        """The mean over the pictures, its interval by bootstrap over them."""
        errors = self._errors(prompt, seed)
        if not errors:
            return NO_PICTURE
        absent = len(self.pictures(prompt, seed)) - len(errors)
        value = float(np.mean(errors))
        rng = np.random.default_rng(derived_seed(seed, "color", prompt))
        drawn = bootstrap_errors(np.array(errors)[:, None], self.draws, rng)[:, 0]
        low, high = percentile_interval(value - drawn, self.level)
        return Estimate(
            value,
            max(low, 0.0),
            min(high, 1.0),
            self.level,
            "bootstrap over pictures",
            n=len(errors),
            missing=absent,
            max=1.0,
        )

    def _errors(self, prompt: str, seed: int) -> list[float]:
        target = np.array(self.color) / 255
        return [float(np.mean((pixels - target) ** 2)) for pixels in map(_pixels, _images(self.pictures, prompt, seed))]


@dataclass(frozen=True, slots=True)
class OwnObjective:
    """A function of the user's own: (prompt, pictures) to a number."""

    name: str
    function: OwnLoss
    pictures: PicturesOf

    def loss(self, prompt: str, seed: int) -> float | Missing:
        """What the function says. Raises AskewError for a function that fails, or gives no finite number."""
        images = _images(self.pictures, prompt, seed)
        if not images:
            return NO_PICTURE
        try:
            value = float(self.function(prompt, images))
        except Exception as error:
            raise AskewError(
                f"the objective {self.name} failed for {prompt!r}: {type(error).__name__}: {error}"
            ) from error
        if not np.isfinite(value):
            raise AskewError(f"the objective {self.name} gave {value} for {prompt!r}; a finite number is needed")
        return value

    def estimate(self, prompt: str, seed: int) -> Estimate | Missing:
        """The same without an interval: nothing is known of the function."""
        value, pictures = self.loss(prompt, seed), self.pictures(prompt, seed)
        if isinstance(value, Missing):
            return value
        absent = sum(isinstance(one, Missing) for one in pictures)
        return Estimate(value, n=len(pictures) - absent, missing=absent)


def named_color(name: str) -> tuple[int, int, int]:
    """The sRGB values of a colour by its CSS name or #rrggbb. Raises UsageError."""
    try:
        red, green, blue = ImageColor.getrgb(name)[:3]
    except ValueError as error:
        raise UsageError(f"{name!r} is no colour; write color:red, or color:#1e90ff for any other") from error
    return red, green, blue


def own_function(name: str) -> OwnLoss:
    """The function that module:function names. Raises UsageError where there is none."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise UsageError(f"unknown objective {name!r}; known: bias, color:NAME, module:function")
    try:
        found = getattr(import_module(module), function)
    except Exception as error:  # a module runs its own code when it is imported
        raise UsageError(f"the objective {name!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise UsageError(f"the objective {name!r} is no function of a prompt and its pictures")
    loss: OwnLoss = found
    return loss


def _images(pictures: PicturesOf, prompt: str, seed: int) -> list[Image.Image]:
    return [opened(one.path) for one in pictures(prompt, seed) if isinstance(one, Picture)]


def _pixels(image: Image.Image) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(image, dtype=float) / 255
