"""Zero-shot classification by denoising error: which of several texts helps a diffusion model most
to find the noise.

Li et al. 2023 (Your diffusion model is secretly a zero-shot classifier); "downstream" (Saravanan et
al. 2023), Eq. 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageOps
from torch import Tensor

from askew.errors import ModelError, UnknownName, UsageError
from askew.measure.denoising_networks import Conditions, network_of
from askew.models.device import overflow_safe
from askew.store.imagefile import as_rgb

Errors = NDArray[np.float32]

EVALUATIONS_PER_BATCH = 64

LOSSES: Mapping[str, Callable[..., Tensor]] = {
    "l2": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
}
"""Squared, absolute and Huber error (δ = 1) of every element of the noise."""


def timesteps(samples: int, total: int = 1000) -> list[int]:
    """`samples` timesteps spread evenly over `total`: from total / samples / 2 in steps of total /
    samples.

    >>> timesteps(10)
    [50, 150, 250, 350, 450, 550, 650, 750, 850, 950]
    """
    if not 1 <= samples <= total:
        raise UsageError(
            f"{samples} noise samples were asked for; a model of {total} timesteps takes 1 to {total}"
        )
    step = total // samples
    return list(range(step // 2, total, step))[:samples]


def noise_of(seed: int, samples: int, shape: Sequence[int]) -> Tensor:
    """Standard normal noise (samples, *shape) of one picture. More samples begin with the same
    ones.
    """
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.stack([torch.randn(tuple(shape), generator=generator) for _ in range(samples)])


def class_errors(
    pipe: Any,
    images_or_latents: Sequence[Image.Image] | ArrayLike,
    prompts: Sequence[str],
    timesteps: Sequence[int],
    noise: ArrayLike,
    loss: str = "l2",
    *,
    batch_size: int = EVALUATIONS_PER_BATCH,
) -> Errors:
    """How badly a pipeline finds the noise in pictures when it is told each of several texts:
    smaller is more fitting.

    For picture x, text c and noise ε_j: the mean over all elements of loss(ε_θ(√ᾱ x + √(1 − ᾱ) ε_j,
    t_j, c), ε_j), with ᾱ of timestep t_j, x the mean of the autoencoder's posterior, and v- and
    sample-predictions converted to ε. By flow matching (SD3, Flux) the mixture is (1 − σ) x + σ ε_j
    with σ = t_j / T, and velocities are converted.

    `pipe` has an autoencoder, and a UNet or the transformer of SD3, Flux, AuraFlow or Sana.
    Pictures have any size and mode, or are scaled latents (pictures, channels, height, width).
    `timesteps` (samples,) lie below the scheduler's number for training; `noise` (pictures,
    samples, channels, height, width) is shared by all texts; `loss` is l2, l1 or huber;
    `batch_size` are evaluations of the network at once.

    Returns (pictures, prompts, samples) errors, at least 0. Raises UsageError for another kind of
    pipeline, latents or noise of another shape, or a loss that does not exist; ModelError for
    numbers that are not finite.
    """
    denoiser = Denoiser(pipe, prompts, loss, batch_size)
    return denoiser.errors(denoiser.latents(images_or_latents), timesteps, noise)


class Denoiser:
    """A pipeline's network with some texts, which are encoded once. Arguments and errors as in
    `class_errors`.
    """

    def __init__(
        self,
        pipe: Any,
        prompts: Sequence[str],
        loss: str = "l2",
        batch_size: int = EVALUATIONS_PER_BATCH,
    ) -> None:
        UnknownName.unless_known("loss", loss, LOSSES)
        self.pipe = pipe
        self.prompts = tuple(prompts)
        self._network = network_of(pipe)
        self._loss = LOSSES[loss]
        self._batch_size = batch_size
        self.total = self._network.total
        self.shape = self._network.shape

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of the pictures that the model takes."""
        _, height, width = (side * int(self.pipe.vae_scale_factor) for side in self.shape)
        return width, height

    @torch.inference_mode()
    def latents(self, pictures: Sequence[Image.Image] | ArrayLike) -> Tensor:
        """Scaled posterior means (pictures, channels, height, width) of pictures, cut square and
        scaled to the model. Latents are checked and passed through.
        """
        images = (
            [one for one in pictures if isinstance(one, Image.Image)]
            if isinstance(pictures, Sequence)
            else []
        )
        if images:
            return torch.cat([self._encode(one) for one in images])
        given = torch.as_tensor(pictures, dtype=torch.float32)
        if given.ndim != 4 or tuple(given.shape[1:]) != self.shape:
            sides = ", ".join(map(str, self.shape))
            raise UsageError(
                f"latents have the shape {tuple(given.shape)}; this model takes (pictures, {sides})"
            )
        return given

    @torch.inference_mode()
    def errors(self, latents: Tensor, timesteps: Sequence[int], noise: ArrayLike) -> Errors:
        """(pictures, classes, samples), by an evaluation per picture, sample and class, in this
        order, in batches.
        """
        drawn = torch.as_tensor(noise, dtype=torch.float32)
        at = torch.tensor(list(timesteps))
        wanted = (len(latents), len(at), *latents.shape[1:])
        if tuple(drawn.shape) != wanted:
            raise UsageError(
                f"the noise has the shape {tuple(drawn.shape)}; (pictures, samples, …) is {wanted}"
            )
        if timesteps and not 0 <= min(timesteps) <= max(timesteps) < self.total:
            raise UsageError(f"timesteps must lie in 0 to {self.total - 1}, the model's own")
        shape = (len(latents), len(at), len(self.prompts))
        found = np.empty(math.prod(shape), dtype=np.float32)
        for start in range(0, len(found), self._batch_size):
            place = np.arange(start, min(start + self._batch_size, len(found)))
            i, j, k = (torch.from_numpy(index) for index in np.unravel_index(place, shape))
            clean, t, own = (
                part.to(self.pipe._execution_device) for part in (latents[i], at[j], drawn[i, j])
            )
            said = tuple(part[k.to(part.device)] for part in self._said)
            guess = self._network.noise_in(clean, own, t, said)
            found[place] = (
                self._loss(guess, own, reduction="none").mean(dim=(1, 2, 3)).cpu().numpy()
            )
        if not np.isfinite(found).all():
            fault = "the model's noise is no number for some pictures"
            raise ModelError(f"{fault}; another dtype, such as float32, may help")
        return np.ascontiguousarray(found.reshape(shape).transpose(0, 2, 1))

    @cached_property
    def _said(self) -> Conditions:
        """The texts, encoded at once and without guidance."""
        return self._network.said(self.prompts)

    def _encode(self, picture: Image.Image) -> Tensor:
        """The scaled mean of the autoencoder's posterior, (1, channels, height, width), in main
        memory.
        """
        vae = self.pipe.vae
        config = self.pipe.vae.config
        square = ImageOps.fit(as_rgb(picture), self.pixels, Image.Resampling.BICUBIC)
        pixels = torch.from_numpy(np.asarray(square, dtype=np.float32) / 127.5 - 1).permute(
            2, 0, 1
        )[None]
        with overflow_safe(vae):
            encoded = vae.encode(pixels.to(self.pipe._execution_device, vae.dtype))
        mean: Tensor = (
            encoded.latent_dist.mean if hasattr(encoded, "latent_dist") else encoded.latent
        )
        mean = mean.float().cpu()
        factor = float(config.scaling_factor)
        if (
            getattr(config, "latents_mean", None) is not None
            and getattr(config, "latents_std", None) is not None
        ):
            shift, std = (
                torch.tensor(part).view(1, -1, 1, 1)
                for part in (config.latents_mean, config.latents_std)
            )
            return (mean - shift) * factor / std
        return (mean - float(getattr(config, "shift_factor", None) or 0.0)) * factor
