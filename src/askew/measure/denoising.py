"""Zero-shot classification by denoising error.

Noise is added to an image, and a diffusion model predicts the noise, given the text of each class.
The class of the image is the class whose text yields the best prediction. The method comes from Li
et al. 2023 (Your diffusion model is secretly a zero-shot classifier). "downstream" (Saravanan et
al. 2023) uses the method in Eq. 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from askew.models.device import free_memory, overflow_safe
from askew.models.hub import is_out_of_memory
from askew.store.imagefile import as_rgb

Errors = NDArray[np.float32]

EVALUATIONS_PER_BATCH = 64

LOSSES: Mapping[str, Callable[..., Tensor]] = {
    "l2": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
}
"""Loss per noise element, keyed by name: squared, absolute or Huber error (δ = 1)."""


def timesteps(samples: int, total: int = 1000) -> list[int]:
    """Return evenly spaced timesteps that start at total / samples / 2.

    The distance between timesteps is total / samples.

    Parameters
    ----------
    samples
        Number of timesteps.
    total
        Number of timesteps in the model's training.

    Raises
    ------
    UsageError
        Unless 1 <= samples <= total.

    Examples
    --------
    >>> timesteps(10)
    [50, 150, 250, 350, 450, 550, 650, 750, 850, 950]
    """
    if not 1 <= samples <= total:
        raise UsageError(
            f"the number of noise samples is {samples}; with {total} timesteps, it must be from 1 "
            f"to {total}"
        )
    step = total // samples
    return list(range(step // 2, total, step))[:samples]


def noise_of(seed: int, samples: int, shape: Sequence[int]) -> Tensor:
    """Return standard normal noise of shape (samples, *shape) for an image.

    If the number of samples increases, the first samples stay the same.
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
    """Return, for each text, the error of a pipeline's noise prediction.

    The smaller the error, the better the text fits the image.

    For image x, text c and noise ε_j, the error is the mean over all elements of loss(ε_θ(√ᾱ x +
    √(1 − ᾱ) ε_j, t_j, c), ε_j). Here ᾱ is the noise schedule's value at timestep t_j, and x is the
    mean of the autoencoder's posterior. If the network predicts v or the image, the prediction is
    converted to ε. With flow matching (SD3, Flux), the mixture is (1 − σ) x + σ ε_j with σ = t_j /
    T, and the predicted velocity is converted to ε.

    Parameters
    ----------
    pipe
        Pipeline with an autoencoder, and a UNet or the transformer of SD3, Flux, AuraFlow or Sana.
    images_or_latents
        Images of any size and mode, or scaled latents of shape (images, channels, height, width).
    prompts
        Texts.
    timesteps
        One timestep per noise sample, below the scheduler's number of training timesteps.
    noise
        Array of shape (images, samples, channels, height, width), the same noise for all texts.
    loss
        l2, l1 or huber.
    batch_size
        Number of network evaluations per batch.

    Returns
    -------
    Errors
        Array of shape (images, prompts, samples), values >= 0.

    Raises
    ------
    UsageError
        If the pipeline is not supported, latents or noise have the wrong shape, or the loss is
        unknown.
    ModelError
        If an error is not finite.
    """
    denoiser = Denoiser(pipe, prompts, loss, batch_size)
    return denoiser.errors(denoiser.latents(images_or_latents), timesteps, noise)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Latents per image, timesteps per sample, and noise per image and sample.

    All tensors are in main memory.
    """

    latents: Tensor
    steps: Tensor
    noises: Tensor


class Denoiser:
    """A pipeline's network and the texts of the classes. The texts are encoded only once.

    Parameters
    ----------
    pipe, prompts, loss, batch_size
        As in `class_errors`. Invalid values raise the same errors.

    Attributes
    ----------
    total
        Number of timesteps in the network's training.
    shape
        Channels, height and width of the network's latents.
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
        """Return the width and height, in pixels, of the model's input images."""
        _, height, width = (side * int(self.pipe.vae_scale_factor) for side in self.shape)
        return width, height

    @torch.inference_mode()
    def latents(self, pictures: Sequence[Image.Image] | ArrayLike) -> Tensor:
        """Encode images as scaled posterior means of shape (images, channels, height, width).

        Images are cropped and resized to the size of the model's input images. If latents are
        given, they are checked and returned.

        Raises
        ------
        UsageError
            If the latents have the wrong shape.
        """
        if isinstance(pictures, Sequence):
            images = [picture for picture in pictures if isinstance(picture, Image.Image)]
            if images:
                return torch.cat([self._encode(image) for image in images])
        latents = torch.as_tensor(pictures, dtype=torch.float32)
        if latents.ndim != 4 or tuple(latents.shape[1:]) != self.shape:
            sides = ", ".join(map(str, self.shape))
            raise UsageError(
                f"the latents have the shape {tuple(latents.shape)}, but this model takes latents "
                f"of shape (images, {sides})"
            )
        return latents

    @torch.inference_mode()
    def errors(self, latents: Tensor, timesteps: Sequence[int], noise: ArrayLike) -> Errors:
        """Return the errors as an array of shape (images, classes, samples).

        A batch may contain several images, samples and classes; the class index changes fastest. If
        memory runs out, askew halves the batch size and repeats the computation.

        Parameters
        ----------
        latents
            Scaled latents, as `latents` returns them.
        timesteps, noise
            As in `class_errors`. Invalid values raise the same errors.
        """
        noises = torch.as_tensor(noise, dtype=torch.float32)
        self._check_samples(latents, timesteps, noises)
        inputs = _Inputs(latents=latents, steps=torch.tensor(list(timesteps)), noises=noises)
        shape = (len(latents), len(inputs.steps), len(self.prompts))
        total = math.prod(shape)
        parts: list[Tensor] = []
        start = 0
        while start < total:
            batch = np.arange(start, min(start + self._batch_size, total))
            part = self._batch_if_memory_suffices(inputs, batch, shape)
            if part is None:
                self._halve_batch(len(batch))
            else:
                parts.append(part)
                start += len(batch)
        # a transfer waits for the GPU, so there is one for all batches
        errors: Errors = torch.cat(parts).cpu().numpy() if parts else np.empty(0, np.float32)
        if not np.isfinite(errors).all():
            raise ModelError(
                "the model predicts noise that is not finite for some images; try -M dtype=float32"
            )
        return np.ascontiguousarray(errors.reshape(shape).transpose(0, 2, 1))

    def _batch_if_memory_suffices(
        self, inputs: "_Inputs", batch: NDArray[np.intp], shape: tuple[int, int, int]
    ) -> Tensor | None:
        """Return the errors of a batch, or None if memory runs out."""
        try:
            return self._batch_errors(inputs, *np.unravel_index(batch, shape))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        return None

    def _halve_batch(self, size: int) -> None:
        """Halve the batch size after a batch of this size needed too much memory."""
        device = self.pipe._execution_device
        if size == 1:
            raise ModelError(
                f"there is not enough memory on {device} for one evaluation of the model. Use "
                "-M offload=model on a GPU, or -M dtype=bfloat16"
            )
        self._batch_size = size // 2
        free_memory(device)

    def _check_samples(self, latents: Tensor, timesteps: Sequence[int], noise: Tensor) -> None:
        expected = (len(latents), len(timesteps), *latents.shape[1:])
        if tuple(noise.shape) != expected:
            raise UsageError(
                f"the noise has the shape {tuple(noise.shape)}; it must have the shape {expected} "
                "(images, samples, …)"
            )
        if timesteps and not 0 <= min(timesteps) <= max(timesteps) < self.total:
            raise UsageError(
                f"timesteps must be from 0 to {self.total - 1}, as in the model's training"
            )

    def _batch_errors(
        self,
        inputs: "_Inputs",
        images: NDArray[np.intp],
        samples: NDArray[np.intp],
        classes: NDArray[np.intp],
    ) -> Tensor:
        """Return the mean error of each row of a batch, as a tensor on the device.

        Rows for different classes share an image and a noise sample, which are transferred only
        once.
        """
        device = self.pipe._execution_device
        places = images * len(inputs.steps) + samples
        distinct, rows = np.unique(places, return_inverse=True)
        image, sample = (torch.from_numpy(part) for part in np.divmod(distinct, len(inputs.steps)))
        row = torch.from_numpy(rows).to(device)
        clean = inputs.latents[image].to(device)[row]
        noise = inputs.noises[image, sample].to(device)[row]
        steps = inputs.steps[sample].to(device)[row]
        numbers = torch.from_numpy(classes)
        conditions = tuple(part[numbers.to(part.device)] for part in self._conditions)
        guess = self._network.noise_in(clean, noise, steps, conditions)
        return self._loss(guess, noise, reduction="none").mean(dim=(1, 2, 3))

    @cached_property
    def _conditions(self) -> Conditions:
        """Return the encoded texts, without guidance."""
        return self._network.conditions(self.prompts)

    def _encode(self, picture: Image.Image) -> Tensor:
        """Return the scaled posterior mean of an image, in main memory."""
        vae = self.pipe.vae
        square = ImageOps.fit(as_rgb(picture), self.pixels, Image.Resampling.BICUBIC)
        scaled = torch.from_numpy(np.asarray(square, dtype=np.float32) / 127.5 - 1)
        pixels = scaled.permute(2, 0, 1)[None]
        with overflow_safe(vae):
            encoded = vae.encode(pixels.to(self.pipe._execution_device, vae.dtype))
        if hasattr(encoded, "latent_dist"):
            mean: Tensor = encoded.latent_dist.mean
        else:
            mean = encoded.latent
        return _scaled(mean.float().cpu(), vae.config)


def _scaled(latents: Tensor, config: Any) -> Tensor:
    """Scale latents for the network, as the configuration of the autoencoder requires."""
    factor = float(config.scaling_factor)
    means = getattr(config, "latents_mean", None)
    deviations = getattr(config, "latents_std", None)
    if means is not None and deviations is not None:
        mean = torch.tensor(means).view(1, -1, 1, 1)
        deviation = torch.tensor(deviations).view(1, -1, 1, 1)
        return (latents - mean) * factor / deviation
    shift = getattr(config, "shift_factor", None)
    return (latents - float(shift or 0.0)) * factor
