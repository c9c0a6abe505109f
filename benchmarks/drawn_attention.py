"""Where a model of the studio world attends to words in drawings, of which it is known what shows
where.

A drawing is encoded, noise is added, and one step is denoised with a caption that says one thing,
under watch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from askew.measure.attention import AttentionMaps
from askew.measure.denoising import Denoiser, noise_of
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene
from benchmarks.evidence import evidence
from benchmarks.wording import phrase
from training.drawings import render

SEED = 16_180_339
SAID = (
    "occupation",
    "gender",
    "age",
    "ethnicity",
    "body_type",
    "emotion",
    "clothing",
    "environment",
    "glasses",
)
"""Attributes that captions speak of. Disability would forbid some values of others, and style
changes every pixel.
"""

SIGNS = 8
"""Occupations that are drawn, at even distances of the list: their words are said one by one."""

TIMESTEPS = (100, 300, 500, 700, 900)

Maps = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Drawings:
    """Scenes of one person each, drawn: pixels (drawings, 128, 128, 3)."""

    scenes: Sequence[Scene]
    pixels: NDArray[np.uint8]

    @classmethod
    def make(cls, count: int) -> Drawings:
        """`count` drawings whose said attributes are uniform and independent. The same each time."""
        rng = Random(SEED)
        occupations = list(OCCUPATIONS)[:: len(OCCUPATIONS) // SIGNS][:SIGNS]
        free = [name for name in (*SAID, "hair") if name != "occupation"]
        scenes = [
            Scene.of({name: rng.choice(ATTRIBUTES[name]) for name in free}, rng.choice(occupations))
            for _ in range(count)
        ]
        return cls(scenes, render(scenes, range(SEED, SEED + count)))

    def values(self, attribute: str) -> list[str]:
        """What each drawing shows."""
        return [str(getattr(scene, attribute)) for scene in self.scenes]

    def regions(self, attribute: str) -> NDArray[np.bool_]:
        """Where each drawing shows the attribute: every pixel that changes with it, (drawings, 128,
        128).
        """
        return np.stack(
            [evidence(scene, SEED + k, attribute) for k, scene in enumerate(self.scenes)]
        )


def said_words(attribute: str, value: str) -> str:
    """The words of a caption that say a value: the value itself, or what stands beside "person"."""
    text = phrase(attribute, value)
    return (
        value
        if value in text
        else text.split(" of a", 1)[1].removeprefix("n").replace("person", "").strip()
    )


class OneStep:
    """A pipeline of the Stable Diffusion kind, ready to denoise drawings for one step."""

    def __init__(self, pipe: Any, drawings: Drawings, timesteps: Sequence[int] = TIMESTEPS) -> None:
        self._pipe = pipe
        self._drawings = drawings
        self._timesteps = tuple(timesteps)
        pipe._guidance_scale = (
            1.0  # the UNet is called without the pipeline, which would tell how it guides
        )
        denoiser = Denoiser(pipe, ())
        latents = denoiser.latents([Image.fromarray(pixels) for pixels in drawings.pixels])
        noise = torch.stack(
            [noise_of(SEED + k, len(self._timesteps), denoiser.shape) for k in range(len(latents))]
        )
        kept = pipe.scheduler.alphas_cumprod[list(self._timesteps)].float()[:, None, None, None]
        self._noisy = kept.sqrt() * latents[:, None] + (1 - kept).sqrt() * noise

    def layers(self, attribute: str) -> dict[str, Maps]:
        """By layer maps (drawings, timesteps, h, w) of the words that say what each drawing shows
        of an attribute.
        """
        values = np.array(self._drawings.values(attribute))
        found: dict[str, Maps] = {}
        for value in sorted(set(values)):
            chosen = np.flatnonzero(values == value)
            for name, maps in self._watched(attribute, value, self._noisy[chosen]).items():
                whole = found.setdefault(
                    name, np.empty((len(values), *maps.shape[1:]), dtype=np.float32)
                )
                whole[chosen] = maps
        return found

    @torch.no_grad()
    def _watched(self, attribute: str, value: str, noisy: Tensor) -> dict[str, Maps]:
        """The same for the drawings of one value, all timesteps in one batch."""
        text = phrase(attribute, value)
        steps = len(self._timesteps)
        states = self._pipe.encode_prompt(text, "cpu", 1, False)[0].expand(
            noisy.shape[0] * steps, -1, -1
        )
        at = torch.tensor(self._timesteps).repeat(len(noisy))
        with AttentionMaps(self._pipe, text, middle=True) as maps:
            self._pipe.unet(noisy.flatten(0, 1), at, states)
        layers = maps.word_layers(said_words(attribute, value))
        return {
            name: found.reshape(len(noisy), steps, *found.shape[1:])
            for name, found in layers.items()
        }
