"""Batches that a studio diffusion model learns from: latents, captions, noise and timesteps, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from torch import Tensor

from askew.studio.caption import caption
from askew.studio.planted import share_given_rest
from askew.studio.scene import Scene
from askew.studio.training.captioned import (
    Captioned,
    Latents,
    captioned_scenes,
    captioned_twins,
    latents,
    other_gender,
)

BATCH = 64
SEED = 22
TIMESTEPS = 1000

EMPTY = 1 / 12
NOISY, FIRST_NOISY = 0.75, 0.45
"""So many of the timesteps lie at the noisy end, from this share of them on, where it is decided what is shown."""

TWINS_EVERY = 3

LEARNT_LAST, MORE_OFTEN = ("male", "middle-aged", "middle eastern", "sad", "tired"), 4
"""Pairs of twins that show one of these values are drawn so much more often."""


class Batch(NamedTuple):
    """Scaled latents (64, channels, 16, 16), a caption and a timestep for each, and noise like the latents.

    `twins`: items 2i and 2i + 1 differ in one attribute alone. `others`: the latents of the same scenes with the other
    gender, and `chance` (64,) that the planted world has it so, given all else; 0 where the caption names the gender.
    """

    latents: Tensor
    captions: list[str]
    noise: Tensor
    timesteps: Tensor
    twins: bool = False
    others: Tensor | None = None
    chance: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Batch i is the same in every run: latents, captions, noise and timesteps. Every TWINS_EVERY-th is of twins."""

    examples: Sequence[Captioned]
    encoded: Latents
    encoded_others: Latents
    bias: float
    twins: Sequence[Captioned]
    encoded_twins: Latents
    twin_weights: NDArray[np.float64]

    @classmethod
    def drawn(cls, work: Path, bias: float, pictures: int, vae: AutoencoderKL, processes: int) -> Self:
        """From drawings and their latents, made once and kept in `work`."""
        examples, twins = captioned_scenes(pictures, bias, SEED), captioned_twins(SEED)
        scenes, pairs = [one.scene for one in examples], [one.scene for one in twins]
        seeds = range(SEED * pictures, (SEED + 1) * pictures)
        shared = [seed for seed in range(len(pairs) // 2) for _ in range(2)]
        stem = f"latents-{SEED}-{pictures}-{bias:g}"
        return cls(
            examples,
            latents(work / f"{stem}.npy", scenes, seeds, vae, processes),
            latents(work / f"{stem}-others.npy", [other_gender(scene) for scene in scenes], seeds, vae, processes),
            bias,
            twins,
            latents(work / f"latents-{SEED}-twins.npy", pairs, shared, vae, processes),
            pair_weights(pairs),
        )

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        return self.twin_batch(step) if step % TWINS_EVERY == 1 else self.batch(step)

    def batch(self, step: int) -> Batch:
        """Scenes with captions that leave much open, a few captions empty."""
        rng, words = np.random.default_rng([SEED, step]), Random(step)
        index = np.sort(rng.choice(len(self.examples), BATCH, replace=False))
        clean, others = (torch.from_numpy(known[index].astype(np.float32))
                         for known in (self.encoded, self.encoded_others))  # fmt: skip
        named = [None if words.random() < EMPTY else self.examples[i].named(words) for i in index]
        scenes = [self.examples[i].scene for i in index]
        captions = ["" if names is None else caption(scene, names, words)
                    for scene, names in zip(scenes, named, strict=True)]  # fmt: skip
        chance = [self._chance(scene, names or ()) for scene, names in zip(scenes, named, strict=True)]
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        return Batch(clean, captions, noise, _timesteps(rng, BATCH), others=others, chance=torch.tensor(chance))

    def _chance(self, scene: Scene, named: Sequence[str]) -> float:
        if not scene.person or "gender" in named:
            return 0.0
        return share_given_rest(scene, "gender", self.bias)[other_gender(scene).gender]

    def twin_batch(self, step: int) -> Batch:
        """Pairs of twins, one after the other, with the same noise, timestep and wording."""
        rng = np.random.default_rng([SEED, step])
        pairs = rng.choice(len(self.twin_weights), BATCH // 2, replace=False, p=self.twin_weights)
        first = 2 * np.sort(pairs)
        index = np.stack([first, first + 1], axis=1).ravel()
        clean = torch.from_numpy(self.encoded_twins[index].astype(np.float32))
        worded = [(self.twins[i], Random(f"{step} {i // 2}")) for i in index.tolist()]
        captions = [caption(one.scene, one.named(words), words) for one, words in worded]
        noise = torch.from_numpy(rng.standard_normal((BATCH // 2, *clean.shape[1:]), dtype=np.float32))
        times = _timesteps(rng, BATCH // 2)
        return Batch(clean, captions, noise.repeat_interleave(2, dim=0), times.repeat_interleave(2), twins=True)


def pair_weights(scenes: Sequence[Scene]) -> NDArray[np.float64]:
    """(pairs,): how often a pair of twins is drawn, by the two values in which they differ; the sum is 1."""
    pairs = zip(scenes[::2], scenes[1::2], strict=True)
    hard = [bool((_values(one) ^ _values(other)).intersection(LEARNT_LAST)) for one, other in pairs]
    weights = np.where(hard, float(MORE_OFTEN), 1.0)
    chances: NDArray[np.float64] = weights / weights.sum()
    return chances


def _values(scene: Scene) -> set[str]:
    return set(scene.attributes().values())


def _timesteps(rng: np.random.Generator, count: int) -> Tensor:
    """(count,): spread over all of them, more closely over the noisy ones."""
    places = (rng.permutation(count) + rng.random(count)) / count
    times = np.where(rng.random(count) < NOISY, FIRST_NOISY + (1 - FIRST_NOISY) * places, places)
    return torch.from_numpy((times * TIMESTEPS).astype(np.int64))
