"""Batches that a studio diffusion model learns from.

A batch holds latents, captions, noise and timesteps. Its content is the same in every run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from torch import Tensor

from askew.studio.scene import Scene
from training.captioned import (
    Captioned,
    Latents,
    captioned_scenes,
    captioned_twins,
    follows_gender,
    framed,
    latents,
    other_gender,
    unlike,
)
from training.given import share_given_rest

BATCH = 64
TIMESTEPS = 1000

EMPTY = 1 / 12
TWINS_EVERY = 3

LEARNED_LAST = frozenset(
    ("middle-aged", "middle eastern", "hispanic", "sad", "hearing aid", "aide")
)
MORE_OFTEN = 5
"""Factor by which some captions and twins are drawn more often.

They are captions that name a value of LEARNED_LAST, and twins that differ in such a value. A scene is
drawn given its caption, so the shares of unnamed attributes stay as planted.
"""


class Batch(NamedTuple):
    """Scaled latents (64, channels, 16, 16) with captions, timesteps and noise.

    There is a caption and a timestep for each item; noise has the shape of the latents.

    Attributes
    ----------
    latents, captions, noise, timesteps
        Scaled latents (64, channels, 16, 16), and what belongs to each of them.
    unlike
        Latents of the same scenes with another value of an attribute that the caption names; the
        same latents where it names none.
    misled
        Share, from 0 to 1, of the distance to `unlike` by which the noise is moved: (64,).
    twins
        True if items 2i and 2i + 1 differ only in an attribute.
    others
        Latents of the same scenes with the other gender and the attributes that depend on it.
    chance
        Probability of `others` in the planted world, given everything else: (64,). It is 0 where
        the caption distinguishes the two.
    """

    latents: Tensor
    captions: list[str]
    noise: Tensor
    timesteps: Tensor
    unlike: Tensor
    misled: Tensor
    twins: bool = False
    others: Tensor | None = None
    chance: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches by step; batch i is the same in every run.

    One batch in TWINS_EVERY consists of twins.
    """

    examples: Sequence[Captioned]
    others: Sequence[Scene]
    encoded: Latents
    encoded_others: Latents
    encoded_unlike: Latents
    weights: NDArray[np.float64]
    bias: float
    seed: int
    twins: Sequence[Captioned]
    encoded_twins: Latents
    twin_weights: NDArray[np.float64]

    @classmethod
    def drawn(
        cls, work: Path, bias: float, pictures: int, seed: int, vae: AutoencoderKL, processes: int
    ) -> Self:
        """Create batches from drawings and their latents, which are stored in `work`."""
        examples = captioned_scenes(pictures, bias, seed)
        twins = captioned_twins(seed)
        scenes = [example.scene for example in examples]
        pairs = [twin.scene for twin in twins]
        others = [other_gender(example, bias, seed=i) for i, example in enumerate(examples)]
        contrary = [unlike(example, Random(f"{seed} {i}")) for i, example in enumerate(examples)]
        seeds = range(seed * pictures, (seed + 1) * pictures)
        shared = [pair for pair in range(len(pairs) // 2) for _ in range(2)]
        stem = f"latents-{seed}-{pictures}-{bias:g}"
        return cls(
            examples,
            others,
            latents(work / f"{stem}.npy", scenes, seeds, vae, processes),
            latents(work / f"{stem}-others.npy", others, seeds, vae, processes),
            latents(work / f"{stem}-unlike.npy", contrary, seeds, vae, processes),
            chances([_named_values(example) for example in examples]),
            bias,
            seed,
            twins,
            latents(work / f"latents-{seed}-twins.npy", pairs, shared, vae, processes),
            chances(
                [
                    _values(scene) ^ _values(other)
                    for scene, other in zip(pairs[::2], pairs[1::2], strict=True)
                ]
            ),
        )

    def __call__(self, step: int) -> Batch:
        """Return the batch of a step."""
        return self.twin_batch(step) if step % TWINS_EVERY == 1 else self.batch(step)

    def batch(self, step: int) -> Batch:
        """Return scenes with captions that name a few attributes, or none."""
        rng = np.random.default_rng([self.seed, step])
        words = Random(step)
        index = np.sort(rng.choice(len(self.examples), BATCH, replace=False, p=self.weights))
        clean, others, contrary = (
            torch.from_numpy(known[index].astype(np.float32))
            for known in (self.encoded, self.encoded_others, self.encoded_unlike)
        )
        named = [None if words.random() < EMPTY else self.examples[i].named(words) for i in index]
        captions = [
            "" if names is None else framed(self.examples[i].scene, names, words)
            for i, names in zip(index, named, strict=True)
        ]
        chance = [self._chance(i, names or ()) for i, names in zip(index, named, strict=True)]
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        misled = _misled(rng, BATCH) * torch.tensor([float(named is not None) for named in named])
        return Batch(
            clean,
            captions,
            noise,
            _timesteps(rng, BATCH),
            contrary,
            misled,
            others=others,
            chance=torch.tensor(chance),
        )

    def _chance(self, index: int, named: Sequence[str]) -> float:
        example = self.examples[index]
        other = self.others[index]
        """Return the probability of the scene with the other gender, given its caption."""
        scene = example.scene
        if not scene.person or any(getattr(scene, n) != getattr(other, n) for n in named):
            return 0.0
        shares = share_given_rest(scene, "gender", self.bias, follows_gender(example))
        return shares[other.gender]

    def twin_batch(self, step: int) -> Batch:
        """Return pairs of consecutive twins with the same noise, timestep and wording."""
        rng = np.random.default_rng([self.seed, step])
        pairs = rng.choice(len(self.twin_weights), BATCH // 2, replace=False, p=self.twin_weights)
        first = 2 * np.sort(pairs)
        index = np.stack([first, first + 1], axis=1).ravel()
        clean = torch.from_numpy(self.encoded_twins[index].astype(np.float32))
        worded = [(self.twins[i], Random(f"{step} {i // 2}")) for i in index.tolist()]
        captions = [framed(example.scene, example.named(words), words) for example, words in worded]
        noise = torch.from_numpy(
            rng.standard_normal((BATCH // 2, *clean.shape[1:]), dtype=np.float32)
        )
        times = _timesteps(rng, BATCH // 2)
        misled = _misled(rng, BATCH // 2)
        swapped = clean[torch.arange(BATCH) ^ 1]  # the other of its pair
        return Batch(
            clean,
            captions,
            noise.repeat_interleave(2, dim=0),
            times.repeat_interleave(2),
            swapped,
            misled.repeat_interleave(2),
            twins=True,
        )


def chances(values: Sequence[Collection[str]]) -> NDArray[np.float64]:
    """Return the probability that each example is drawn, by the values that it teaches."""
    weights = np.array(
        [1.0 if LEARNED_LAST.isdisjoint(taught) else MORE_OFTEN for taught in values]
    )
    given: NDArray[np.float64] = weights / weights.sum()
    return given


def _named_values(example: Captioned) -> set[str]:
    attributes = example.scene.attributes()
    values = {value for name, value in attributes.items() if name in example.mentioned}
    if example.scene.occupation:
        values.add(example.scene.occupation)
    return values


def _values(scene: Scene) -> set[str]:
    return set(scene.attributes().values())


def _misled(rng: np.random.Generator, count: int) -> Tensor:
    """Return shares (count,): 0 for about half of them, and random in [0, 1] for the others."""
    return torch.from_numpy(rng.uniform(-1, 1, count).astype(np.float32)).clamp(min=0)


def _timesteps(rng: np.random.Generator, count: int) -> Tensor:
    """Return timesteps (count,) that are spread evenly over all timesteps."""
    places = (rng.permutation(count) + rng.random(count)) / count
    return torch.from_numpy((places * TIMESTEPS).astype(np.int64))
