"""Compute denoising errors for stored images, and store them as an instrument's readings.

PyTorch is imported when the first image is read.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askew.models.base import WhiteBox
from askew.store.files import digest_of
from askew.store.imagefile import opened
from askew.types import Picture

if TYPE_CHECKING:
    from askew.measure.denoising import Denoiser

Errors = NDArray[np.float32]

VERSION = 3
IMAGES_PER_SLICE = 64
"""Maximum number of images whose errors are stored together."""

EVALUATIONS_PER_SLICE = 1024
"""Approximate number of network evaluations after which askew stores the errors."""


class ClassErrors:
    """Reader that computes a diffusion model's denoising errors on an image for each class's text.

    The errors for an image do not depend on other images.

    Parameters
    ----------
    model
        The diffusion model.
    prompts
        A text for each class.
    samples
        Number of noise samples for each class.
    seed
        Number that represents `seed_of` in the fingerprint.
    seed_of
        Function that maps the id of an image to the seed of its noise.
    loss
        Loss function, as in `askew.measure.denoising.class_errors`.

    Attributes
    ----------
    evaluations
        Number of network evaluations per image.
    at_once
        Number of images that are read before their errors are stored.
    """

    def __init__(
        self,
        model: WhiteBox,
        prompts: Sequence[str],
        samples: int,
        seed: int,
        seed_of: Callable[[str], int],
        loss: str,
    ) -> None:
        self.name = f"{model.name}, {len(prompts)} classes, {samples} samples"
        self.prompts = tuple(prompts)
        self.samples = samples
        self.evaluations = samples * len(prompts)
        self.at_once = max(1, min(IMAGES_PER_SLICE, EVALUATIONS_PER_SLICE // self.evaluations))
        self._model = model
        self._loss = loss
        self._seed_of = seed_of
        facts = [
            model.name,
            model.revision,
            dict(model.settings),
            model.dtype,
            self.prompts,
            samples,
            loss,
            seed,
        ]
        self.fingerprint = f"denoising/{VERSION} {digest_of(facts)}"

    def embed_pictures(self, pictures: Sequence[Picture]) -> Errors:
        """Return one row per image, with the errors for each class and noise sample."""
        import torch

        from askew.measure.denoising import noise_of, timesteps

        steps = timesteps(self.samples, self.denoiser.total)
        latents = self.denoiser.latents([opened(picture.path) for picture in pictures])
        shape = self.denoiser.shape
        noise = torch.stack(
            [noise_of(self._seed_of(picture.id), self.samples, shape) for picture in pictures]
        )
        return self.denoiser.errors(latents, steps, noise).reshape(len(pictures), -1)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the network.

        A process that receives the state loads the network.
        """
        return {name: value for name, value in self.__dict__.items() if name != "denoiser"}

    @cached_property
    def denoiser(self) -> "Denoiser":
        """Return the network with the encoded texts of the classes."""
        from askew.measure.denoising import Denoiser

        return Denoiser(self._model.pipeline, self.prompts, self._loss)
