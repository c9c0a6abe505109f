"""Networks that predict the noise in an image: UNets and flow-matching transformers.

A network may predict the noise ε, v, the image, or a velocity. The classes in this module convert
every prediction to ε.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from askew.errors import UnknownName, UsageError

FAMILIES = "Stable Diffusion 1, 2, XL and 3, LCM, Flux, AuraFlow and Sana"
NO_GUIDANCE = 1.0
"""Guidance scale that turns guidance off, for networks that take the scale as an input."""

Conditions = tuple[Tensor, ...]
"""Encoded texts: tensors with one row per text."""


class DenoisingNetwork:
    """A pipeline's transformer, trained by flow matching.

    A noisy image is (1 − σ) x + σ ε, with σ = t / T.

    Attributes
    ----------
    total
        Number of timesteps in the network's training.
    shape
        Channels, height and width of the network's latents.
    packed
        Number of latents in one token of the network.
    """

    total: int
    shape: tuple[int, int, int]
    packed = 1
    # texts and device to conditions
    _encoded: Callable[[list[str], Any], Conditions]

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._network = pipe.transformer
        self.total = int(pipe.scheduler.config.num_train_timesteps)
        side = int(getattr(self._network.config, "sample_size", None) or pipe.default_sample_size)
        self.shape = self._network.config.in_channels // self.packed, side, side

    def conditions(self, prompts: Sequence[str]) -> Conditions:
        """Return the encoded texts, without guidance."""
        parts = self._encoded(list(prompts), self._pipe._execution_device)
        return tuple(
            part.to(self._network.dtype) if part.is_floating_point() else part for part in parts
        )

    def noise_in(
        self, clean: Tensor, noise: Tensor, steps: Tensor, conditions: Conditions
    ) -> Tensor:
        """Return the noise ε_θ that the network predicts.

        Parameters
        ----------
        clean
            Latents without noise, of shape (rows, channels, height, width).
        noise
            Noise to mix with the latents, of the same shape.
        steps
            Timestep of each row.
        conditions
            Encoded texts, one for each row.
        """
        noise_level = steps.float() / self.total
        sigma = noise_level[:, None, None, None]
        noisy = (1 - sigma) * clean + sigma * noise
        # v = ε − x, so ε = x_t + (1 − σ) v. At σ = 1, v does not depend on the noise, and ε = x_t.
        velocity = self._velocity(noisy.to(self._network.dtype), noise_level, conditions)
        return noisy + (1 - sigma) * velocity.float()

    def _velocity(self, noisy: Tensor, sigma: Tensor, conditions: Conditions) -> Tensor:
        output: Tensor = self._network(
            hidden_states=noisy,
            encoder_hidden_states=conditions[0],
            return_dict=False,
            **self._arguments(sigma, conditions),
        )[0]
        # Sana's further channels are a learned variance.
        return output[:, : noisy.shape[1]]

    def _arguments(self, sigma: Tensor, conditions: Conditions) -> dict[str, Tensor]:
        """Return additional arguments for the network, such as the time in the network's units."""
        return {"timestep": sigma * self.total}


class UNet(DenoisingNetwork):
    """The UNet of Stable Diffusion 1, 2 or XL, with the noise schedule ᾱ of its scheduler."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._network = pipe.unet
        if getattr(pipe.scheduler, "alphas_cumprod", None) is None:
            raise UsageError(
                f"a model trained with {type(pipe.scheduler).__name__} (EDM, such as Playground "
                "2.5) cannot classify: the errors require the timesteps of its training schedule, "
                "which askew does not have, and another scheduler would yield wrong errors; "
                f"choose {FAMILIES} with --model"
            )
        config = self._network.config
        size = config.sample_size
        height, width = (size, size) if isinstance(size, int) else size
        self.shape = (config.in_channels, height, width)
        self.total = len(pipe.scheduler.alphas_cumprod)
        self._guidance = None
        # Networks such as LCM are distilled with guidance as an input.
        if config.time_cond_proj_dim:
            self._guidance = pipe.get_guidance_scale_embedding(
                torch.tensor([NO_GUIDANCE - 1]), embedding_dim=config.time_cond_proj_dim
            )

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        """Return the hidden states of the texts, and for SDXL also a summary of each text."""
        encoded = self._pipe.encode_prompt(
            prompts, device=device, num_images_per_prompt=1, do_classifier_free_guidance=False
        )
        return (encoded[0], encoded[2]) if len(encoded) == 4 else (encoded[0],)

    def noise_in(
        self, clean: Tensor, noise: Tensor, steps: Tensor, conditions: Conditions
    ) -> Tensor:
        """Return the noise ε_θ that the UNet predicts, using the scheduler's noise schedule."""
        scheduler = self._pipe.scheduler
        dtype = self._network.dtype
        schedule = scheduler.alphas_cumprod.to(clean.device, torch.float32)
        alpha_bar = schedule[steps][:, None, None, None]
        noisy = alpha_bar.sqrt() * clean + (1 - alpha_bar).sqrt() * noise
        options: dict[str, Any] = {}
        if self._guidance is not None:
            options["timestep_cond"] = self._guidance.to(noisy.device, dtype).expand(len(noisy), -1)
        if len(conditions) == 2:
            options["added_cond_kwargs"] = self._sdxl_conditions(noisy, conditions[1])
        output = self._network(
            noisy.to(dtype),
            steps,
            encoder_hidden_states=conditions[0],
            return_dict=False,
            **options,
        )[0]
        return to_epsilon(output.float(), noisy, alpha_bar, scheduler.config.prediction_type)

    def _sdxl_conditions(self, noisy: Tensor, summary: Tensor) -> dict[str, Tensor]:
        """Return SDXL's additional conditions: a summary of each text, and the image size."""
        height, width = (side * int(self._pipe.vae_scale_factor) for side in self.shape[1:])
        sizes = noisy.new_tensor([[height, width, 0, 0, height, width]], dtype=self._network.dtype)
        return {"text_embeds": summary, "time_ids": sizes.expand(len(summary), -1)}


class StableDiffusion3(DenoisingNetwork):
    """The transformer of Stable Diffusion 3.

    The transformer takes the hidden states and a summary of each text.
    """

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        encoded = self._pipe.encode_prompt(
            prompts, None, None, device=device, do_classifier_free_guidance=False
        )
        return encoded[0], encoded[2]

    def _arguments(self, sigma: Tensor, conditions: Conditions) -> dict[str, Tensor]:
        return {**super()._arguments(sigma, conditions), "pooled_projections": conditions[1]}


class Flux(DenoisingNetwork):
    """The transformer of Flux.

    Each token covers two by two latents. The conditions are the same as for Stable Diffusion 3.
    """

    packed = 4

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        hidden, pooled, _ = self._pipe.encode_prompt(prompts, None, device=device)
        return hidden, pooled

    def _velocity(self, noisy: Tensor, sigma: Tensor, conditions: Conditions) -> Tensor:
        tokens = F.pixel_unshuffle(noisy, 2)
        rows, columns = tokens.shape[-2:]
        places = torch.cartesian_prod(torch.arange(1), torch.arange(rows), torch.arange(columns))
        guidance = None
        if self._network.config.guidance_embeds:
            guidance = noisy.new_full((len(noisy),), NO_GUIDANCE)
        output: Tensor = self._network(
            hidden_states=tokens.flatten(2).transpose(1, 2),
            timestep=sigma.to(noisy.dtype),
            guidance=guidance,
            encoder_hidden_states=conditions[0],
            pooled_projections=conditions[1],
            txt_ids=noisy.new_zeros(conditions[0].shape[1], 3),
            img_ids=places.to(noisy),
            return_dict=False,
        )[0]
        packed = output.transpose(1, 2).reshape(len(output), -1, rows, columns)
        return F.pixel_shuffle(packed, 2)


class AuraFlow(DenoisingNetwork):
    """The transformer of AuraFlow, which takes σ itself as its timestep."""

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        return (self._pipe.encode_prompt(prompts, None, False, device=device)[0],)

    def _arguments(self, sigma: Tensor, conditions: Conditions) -> dict[str, Tensor]:
        return {"timestep": sigma.to(self._network.dtype)}


class Sana(DenoisingNetwork):
    """The transformer of Sana. Sana's pipeline puts an instruction before each text."""

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        """Return the texts' hidden states and the attention mask."""
        parameters = signature(type(self._pipe).__call__).parameters
        instruction = parameters["complex_human_instruction"].default
        hidden, mask, *_ = self._pipe.encode_prompt(
            prompts, False, device=device, complex_human_instruction=instruction
        )
        return hidden, mask

    def _arguments(self, sigma: Tensor, conditions: Conditions) -> dict[str, Tensor]:
        timestep = sigma * self.total * self._network.config.timestep_scale
        return {"timestep": timestep, "encoder_attention_mask": conditions[1]}


TRANSFORMERS: Mapping[str, type[DenoisingNetwork]] = {
    "SD3Transformer2DModel": StableDiffusion3,
    "FluxTransformer2DModel": Flux,
    "AuraFlowTransformer2DModel": AuraFlow,
    "SanaTransformer2DModel": Sana,
}


def network_of(pipe: Any) -> DenoisingNetwork:
    """Return the `DenoisingNetwork` that fits a pipeline.

    Raises
    ------
    UsageError
        If the pipeline has no autoencoder or belongs to a model family that is not supported.
    """
    transformer = type(getattr(pipe, "transformer", None)).__name__
    has_unet = getattr(pipe, "unet", None) is not None
    # Sana-Sprint mixes noise by an angle.
    by_angle = type(getattr(pipe, "scheduler", None)).__name__ == "SCMScheduler"
    has_autoencoder = getattr(pipe, "vae", None) is not None
    is_known = has_unet or transformer in TRANSFORMERS
    if by_angle or not (has_autoencoder and is_known):
        raise UsageError(
            f"{type(pipe).__name__} cannot classify by noise prediction; "
            f"choose {FAMILIES} with --model"
        )
    return UNet(pipe) if has_unet else TRANSFORMERS[transformer](pipe)


def to_epsilon(output: Tensor, noisy: Tensor, alpha_bar: Tensor, prediction: str) -> Tensor:
    """Convert a UNet's output (noise, v or image) to noise.

    The result is ε itself, √ᾱ v + √(1 − ᾱ) x_t, or (x_t − √ᾱ x) / √(1 − ᾱ).

    Parameters
    ----------
    output
        Output of the network.
    noisy
        Noisy latents x_t that the network took as input.
    alpha_bar
        Value ᾱ of the noise schedule. If the schedule ends in pure noise, ᾱ is 0 at the last
        timestep. In this case, v does not depend on the noise, and ε = x_t.
    prediction
        Kind of output: epsilon, v_prediction or sample.
    """
    UnknownName.unless_known("prediction type", prediction, ("epsilon", "v_prediction", "sample"))
    if prediction == "v_prediction":
        return alpha_bar.sqrt() * output + (1 - alpha_bar).sqrt() * noisy
    if prediction == "epsilon":
        return output
    return (noisy - alpha_bar.sqrt() * output) / (1 - alpha_bar).sqrt()
