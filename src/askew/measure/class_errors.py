"""Denoising errors of stored pictures as an instrument's readings. PyTorch is imported when
something is to be read.
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

PICTURES_PER_BATCH = 64
Errors = NDArray[np.float32]

VERSION = 3
AT_ONCE = 1024
"""Evaluations of the network, about, after which errors are stored."""


class ClassErrors:
    """The errors of a model's network for some classes; what it reads of a picture depends on that
    picture alone.

    model    the diffusion model
    prompts  a text per class
    samples  noise samples per class
    seed_of  the seed of a picture's noise, from its id; `seed` names the function in the fingerprint
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
        self.at_once = max(1, min(PICTURES_PER_BATCH, AT_ONCE // self.evaluations))
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
        """One row per picture, to be stored as it is: errors by class and sample."""
        import torch

        from askew.measure.denoising import noise_of, timesteps

        at = timesteps(self.samples, self.denoiser.total)
        latents = self.denoiser.latents([opened(picture.path) for picture in pictures])
        shape = self.denoiser.shape
        noise = torch.stack(
            [noise_of(self._seed_of(picture.id), self.samples, shape) for picture in pictures]
        )
        return self.denoiser.errors(latents, at, noise).reshape(len(pictures), -1)

    def __getstate__(self) -> dict[str, Any]:
        """Without the network, which whoever gets this loads anew."""
        return {name: value for name, value in self.__dict__.items() if name != "denoiser"}

    @cached_property
    def denoiser(self) -> "Denoiser":
        """The network with the classes' texts."""
        from askew.measure.denoising import Denoiser

        return Denoiser(self._model.pipeline, self.prompts, self._loss)
