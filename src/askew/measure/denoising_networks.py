"""Networks that find noise in pictures, each asked in its own way: UNets, and the flow-matching
ones of SD3 and Flux. Whatever a network predicts (the noise, v, the picture, a velocity), here it
becomes the noise ε that it means.
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
"""What a network that was distilled with guidance as an input is told."""

Conditions = tuple[Tensor, ...]
"""What a network is told of some texts: tensors with a row for each."""


class DenoisingNetwork:
    """A pipeline's transformer that removes noise mixed in by flow matching: (1 − σ) x + σ ε, σ = t
    / T.

    total  the number of timesteps that it was trained with
    shape  channels, height and width of its latents
    """

    total: int
    shape: tuple[int, int, int]
    packed = 1  # latents that one token of the network holds
    _encoded: Callable[[list[str], Any], Conditions]  # of texts, on a device

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._network = pipe.transformer
        self.total = int(pipe.scheduler.config.num_train_timesteps)
        side = int(getattr(self._network.config, "sample_size", None) or pipe.default_sample_size)
        self.shape = self._network.config.in_channels // self.packed, side, side

    def said(self, prompts: Sequence[str]) -> Conditions:
        """The texts, encoded at once and without guidance."""
        parts = self._encoded(list(prompts), self._pipe._execution_device)
        return tuple(
            part.to(self._network.dtype) if part.is_floating_point() else part for part in parts
        )

    def noise_in(self, clean: Tensor, noise: Tensor, at: Tensor, said: Conditions) -> Tensor:
        """ε_θ: the noise that the network finds after `noise` was mixed into clean latents (rows,
        …) at timesteps.
        """
        share = at.float() / self.total
        sigma = share[:, None, None, None]
        noisy = (1 - sigma) * clean + sigma * noise
        # v = ε − x, so that ε = x_t + (1 − σ) v; at σ = 1 it says nothing about the noise, and ε =
        # x_t
        return (
            noisy + (1 - sigma) * self._velocity(noisy.to(self._network.dtype), share, said).float()
        )

    def _velocity(self, noisy: Tensor, sigma: Tensor, said: Conditions) -> Tensor:
        told = {"hidden_states": noisy, "encoder_hidden_states": said[0], "return_dict": False}
        output: Tensor = self._network(**told, **self._told(sigma, said))[0]
        return output[:, : noisy.shape[1]]  # what follows, of Sana, is a learned variance

    def _told(self, sigma: Tensor, said: Conditions) -> dict[str, Tensor]:
        """What else the network is told: the time, as it takes it."""
        return {"timestep": sigma * self.total}


class UNet(DenoisingNetwork):
    """The UNet of a Stable Diffusion (1, 2 or XL), with the noise schedule ᾱ of its scheduler."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._network = pipe.unet
        if getattr(pipe.scheduler, "alphas_cumprod", None) is None:
            raise UsageError(
                f"a model that was trained as its {type(pipe.scheduler).__name__} says (EDM, such as Playground 2.5) "
                f"cannot classify: errors are defined by the timesteps of a noise schedule, which it never saw, so "
                f"another scheduler would give wrong numbers; {FAMILIES} can"
            )
        size = self._network.config.sample_size
        height, width = (size, size) if isinstance(size, int) else size
        self.shape = (self._network.config.in_channels, height, width)
        self.total = len(pipe.scheduler.alphas_cumprod)
        self._guidance = None
        width = self._network.config.time_cond_proj_dim
        if width:  # distilled with guidance as an input, such as LCM
            self._guidance = pipe.get_guidance_scale_embedding(
                torch.tensor([NO_GUIDANCE - 1]), embedding_dim=width
            )

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        """Hidden states, and for SDXL a summary."""
        encoded = self._pipe.encode_prompt(
            prompts, device=device, num_images_per_prompt=1, do_classifier_free_guidance=False
        )
        return (encoded[0], encoded[2]) if len(encoded) == 4 else (encoded[0],)

    def noise_in(self, clean: Tensor, noise: Tensor, at: Tensor, said: Conditions) -> Tensor:
        """As of every network."""
        scheduler = self._pipe.scheduler
        dtype = self._network.dtype
        kept = scheduler.alphas_cumprod.to(clean.device, torch.float32)[at][:, None, None, None]
        noisy = kept.sqrt() * clean + (1 - kept).sqrt() * noise
        more: dict[str, Any] = {}
        if self._guidance is not None:
            more["timestep_cond"] = self._guidance.to(noisy.device, dtype).expand(len(noisy), -1)
        if len(said) == 2:  # SDXL is also told the summary, and the size of an uncut picture
            height, width = (side * int(self._pipe.vae_scale_factor) for side in self.shape[1:])
            sizes = noisy.new_tensor([[height, width, 0, 0, height, width]], dtype=dtype)
            more["added_cond_kwargs"] = {
                "text_embeds": said[1],
                "time_ids": sizes.expand(len(said[1]), -1),
            }
        output = self._network(
            noisy.to(dtype), at, encoder_hidden_states=said[0], return_dict=False, **more
        )[0]
        return to_epsilon(output.float(), noisy, kept, scheduler.config.prediction_type)


class StableDiffusion3(DenoisingNetwork):
    """The transformer of a Stable Diffusion 3, which is told hidden states and a summary."""

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        encoded = self._pipe.encode_prompt(
            prompts, None, None, device=device, do_classifier_free_guidance=False
        )
        return encoded[0], encoded[2]

    def _told(self, sigma: Tensor, said: Conditions) -> dict[str, Tensor]:
        return {**super()._told(sigma, said), "pooled_projections": said[1]}


class Flux(DenoisingNetwork):
    """The transformer of a Flux, which sees squares of two by two latents as one token, told as
    SD3's is.
    """

    packed = 4

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        hidden, pooled, _ = self._pipe.encode_prompt(prompts, None, device=device)
        return hidden, pooled

    def _velocity(self, noisy: Tensor, sigma: Tensor, said: Conditions) -> Tensor:
        tokens = F.pixel_unshuffle(noisy, 2)
        rows, columns = tokens.shape[-2:]
        places = torch.cartesian_prod(torch.arange(1), torch.arange(rows), torch.arange(columns))
        guidance = (
            noisy.new_full((len(noisy),), NO_GUIDANCE)
            if self._network.config.guidance_embeds
            else None
        )
        output: Tensor = self._network(
            hidden_states=tokens.flatten(2).transpose(1, 2),
            timestep=sigma.to(noisy.dtype),
            guidance=guidance,
            encoder_hidden_states=said[0],
            pooled_projections=said[1],
            txt_ids=noisy.new_zeros(said[0].shape[1], 3),
            img_ids=places.to(noisy),
            return_dict=False,
        )[0]
        return F.pixel_shuffle(output.transpose(1, 2).reshape(len(output), -1, rows, columns), 2)


class AuraFlow(DenoisingNetwork):
    """The transformer of an AuraFlow, which takes σ itself as its timestep."""

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        return (self._pipe.encode_prompt(prompts, None, False, device=device)[0],)

    def _told(self, sigma: Tensor, said: Conditions) -> dict[str, Tensor]:
        return {"timestep": sigma.to(self._network.dtype)}


class Sana(DenoisingNetwork):
    """The transformer of a Sana, with the instruction by which its own pipeline completes a text."""

    def _encoded(self, prompts: list[str], device: Any) -> Conditions:
        """Hidden states and their mask."""
        told = signature(type(self._pipe).__call__).parameters["complex_human_instruction"].default
        hidden, mask, *_ = self._pipe.encode_prompt(
            prompts, False, device=device, complex_human_instruction=told
        )
        return hidden, mask

    def _told(self, sigma: Tensor, said: Conditions) -> dict[str, Tensor]:
        timestep = sigma * self.total * self._network.config.timestep_scale
        return {"timestep": timestep, "encoder_attention_mask": said[1]}


TRANSFORMERS: Mapping[str, type[DenoisingNetwork]] = {
    "SD3Transformer2DModel": StableDiffusion3,
    "FluxTransformer2DModel": Flux,
    "AuraFlowTransformer2DModel": AuraFlow,
    "SanaTransformer2DModel": Sana,
}


def network_of(pipe: Any) -> DenoisingNetwork:
    """A pipeline's network. Raises UsageError for a pipeline without autoencoder, or of another
    family.
    """
    transformer = type(getattr(pipe, "transformer", None)).__name__
    has_unet = getattr(pipe, "unet", None) is not None
    by_angle = (
        type(getattr(pipe, "scheduler", None)).__name__ == "SCMScheduler"
    )  # of Sana-Sprint: noise by an angle
    if (
        getattr(pipe, "vae", None) is None
        or by_angle
        or not (has_unet or transformer in TRANSFORMERS)
    ):
        raise UsageError(
            f"a {type(pipe).__name__} cannot classify by the noise that it finds: {FAMILIES} can"
        )
    return UNet(pipe) if has_unet else TRANSFORMERS[transformer](pipe)


def to_epsilon(output: Tensor, noisy: Tensor, kept: Tensor, prediction: str) -> Tensor:
    """The noise that a UNet's output means: itself, √ᾱ v + √(1 − ᾱ) x_t, or (x_t − √ᾱ x) / √(1 −
    ᾱ).

    `kept` is ᾱ; 0 at the last timestep of a schedule that ends in pure noise, where v says nothing
    about the noise and ε = x_t. `prediction` is epsilon, v_prediction or sample.
    """
    UnknownName.unless_known("prediction type", prediction, ("epsilon", "v_prediction", "sample"))
    if prediction == "v_prediction":
        return kept.sqrt() * output + (1 - kept).sqrt() * noisy
    return output if prediction == "epsilon" else (noisy - kept.sqrt() * output) / (1 - kept).sqrt()
