"""Attention of a studio model to words in drawings whose regions are known.

A drawing is encoded, noise is added, and one step is denoised with a caption about one attribute
while attention is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from askew.measure.attention import AttentionMaps, AttentionRecorder
from askew.measure.denoising import Denoiser, noise_of
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene
from benchmarks.captions import phrase
from benchmarks.evidence import evidence
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
"""Attributes in captions. Disability forbids values of others, and style changes each pixel."""

SIGNS = 8
"""Number of occupations that are drawn, at even distances of the list."""

TIMESTEPS = (100, 300, 500, 700, 900)

Maps = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Drawings:
    """Scenes of one person each, and their pixels (drawings, 128, 128, 3)."""

    scenes: Sequence[Scene]
    pixels: NDArray[np.uint8]

    @classmethod
    def make(cls, count: int) -> Drawings:
        """Make `count` drawings with uniform and independent attributes, the same each time."""
        rng = Random(SEED)
        occupations = list(OCCUPATIONS)[:: len(OCCUPATIONS) // SIGNS][:SIGNS]
        free = [name for name in (*SAID, "hair") if name != "occupation"]
        scenes = []
        for _ in range(count):
            attributes = {name: rng.choice(ATTRIBUTES[name]) for name in free}
            scenes.append(Scene.of(attributes, rng.choice(occupations)))
        return cls(scenes, render(scenes, range(SEED, SEED + count)))

    def values(self, attribute: str) -> list[str]:
        """Return the value of an attribute in each drawing."""
        return [str(getattr(scene, attribute)) for scene in self.scenes]

    def regions(self, attribute: str) -> NDArray[np.bool_]:
        """Return the pixels that change with an attribute, (drawings, 128, 128)."""
        return np.stack(
            [evidence(scene, SEED + k, attribute) for k, scene in enumerate(self.scenes)]
        )


def said_words(attribute: str, value: str) -> str:
    """Return the words of a caption for a value: the value, or the words around "person"."""
    text = phrase(attribute, value)
    if value in text:
        return value
    return text.split(" of a", 1)[1].removeprefix("n").replace("person", "").strip()


class OneStep:
    """A Stable Diffusion pipeline that denoises drawings for one step."""

    def __init__(self, pipe: Any, drawings: Drawings, timesteps: Sequence[int] = TIMESTEPS) -> None:
        self._pipe = pipe
        self._drawings = drawings
        self._timesteps = tuple(timesteps)
        # The UNet is called without the pipeline, which would set the guidance.
        pipe._guidance_scale = 1.0
        denoiser = Denoiser(pipe, ())
        latents = denoiser.latents([Image.fromarray(pixels) for pixels in drawings.pixels])
        noise = torch.stack(
            [noise_of(SEED + k, len(self._timesteps), denoiser.shape) for k in range(len(latents))]
        )
        schedule = pipe.scheduler.alphas_cumprod[list(self._timesteps)].float()
        alpha_bar = schedule[:, None, None, None]
        self._noisy = alpha_bar.sqrt() * latents[:, None] + (1 - alpha_bar).sqrt() * noise

    def layers(self, attribute: str) -> dict[str, Maps]:
        """Return the maps of the words for each drawing's value of an attribute, by layer.

        Maps are (drawings, timesteps, h, w).
        """
        values = np.array(self._drawings.values(attribute))
        layers: dict[str, Maps] = {}
        for value in sorted(set(values)):
            chosen = np.flatnonzero(values == value)
            for name, maps in self._watched(attribute, value, self._noisy[chosen]).items():
                if name not in layers:
                    layers[name] = np.empty((len(values), *maps.shape[1:]), dtype=np.float32)
                layers[name][chosen] = maps
        return layers

    def added_words(self, words: Sequence[str]) -> dict[str, Maps]:
        """Return the maps of words that are added to a prompt about the occupation.

        Maps are summed over timesteps and over all layers except the middle: (drawings, h, w).
        """
        occupations = np.array(self._drawings.values("occupation"))
        maps: dict[str, Maps] = {}
        for occupation in sorted(set(occupations)):
            chosen = np.flatnonzero(occupations == occupation)
            prompt = phrase("occupation", occupation)
            texts = [f"{prompt} and {word}" for word in words]
            recorders = self._recorded(prompt, texts, self._noisy[chosen], middle=False)
            for word, recorder in zip(words, recorders, strict=True):
                summed = recorder.word(word).reshape(len(chosen), len(self._timesteps), 16, 16)
                rows = maps.setdefault(word, np.empty((len(occupations), 16, 16), np.float32))
                rows[chosen] = summed.sum(axis=1)
        return maps

    def _watched(self, attribute: str, value: str, noisy: Tensor) -> dict[str, Maps]:
        """Return the maps for the drawings of one value, all timesteps in one batch."""
        text = phrase(attribute, value)
        (recorder,) = self._recorded(text, [text], noisy, middle=True)
        layers = recorder.word_layers(said_words(attribute, value))
        return {
            name: layer.reshape(len(noisy), len(self._timesteps), *layer.shape[1:])
            for name, layer in layers.items()
        }

    @torch.no_grad()
    def _recorded(
        self, prompt: str, texts: Sequence[str], noisy: Tensor, middle: bool
    ) -> list[AttentionRecorder]:
        """Denoise one step, and return the recorder of each attribution prompt."""
        steps = len(self._timesteps)
        states = self._pipe.encode_prompt(prompt, "cpu", 1, False)[0].expand(
            noisy.shape[0] * steps, -1, -1
        )
        at = torch.tensor(self._timesteps).repeat(len(noisy))
        with ExitStack() as stack:
            recorders = [
                stack.enter_context(AttentionMaps(self._pipe, text, middle=middle))
                for text in texts
            ]
            self._pipe.unet(noisy.flatten(0, 1), at, states)
        return recorders
