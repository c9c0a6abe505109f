"""Denoising errors of stored pictures as an instrument's readings, and classes that are given up on the way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from askew.measure.denoising import BATCH, Denoiser, Errors, noise_of, timesteps
from askew.store.imagefile import opened
from askew.types import Picture

VERSION = 2
AT_ONCE = 1024
"""Evaluations of the network, about, after which errors are stored."""


class DiffusionModel(Protocol):
    """A model whose diffusion pipeline is at hand."""

    name: str
    revision: str

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def dtype(self) -> str: ...

    @property
    def pipeline(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """After so many noise samples of every class that is left, the `keep` best ones are left."""

    samples: int
    keep: int


class ClassErrors:
    """The errors of a model's network for some classes; what it reads of a picture depends on that picture alone.

    model    the diffusion model
    prompts  a text per class
    samples  noise samples per class
    seed_of  the seed of a picture's noise, from its id; `seed` names the function in the fingerprint
    stages   when to give up classes; those that come too late for `samples` are left out
    """

    def __init__(
        self,
        model: DiffusionModel,
        prompts: Sequence[str],
        samples: int,
        *,
        seed: int,
        seed_of: Callable[[str], int],
        loss: str = "l2",
        stages: Sequence[Stage] = (),
    ) -> None:
        self.name = f"{model.name}, {len(prompts)} classes, {samples} samples"
        self.prompts, self.samples = tuple(prompts), samples
        self.evaluations = samples * len(prompts)
        self.stages = tuple(stage for stage in stages if stage.samples < samples and stage.keep < len(prompts))
        self.at_once = max(1, min(BATCH, AT_ONCE // self.evaluations))
        self._model, self._loss, self._seed_of = model, loss, seed_of
        facts = [model.name, model.revision, dict(model.settings), model.dtype, self.prompts, samples, loss, seed,
                 [(stage.samples, stage.keep) for stage in self.stages]]  # fmt: skip
        text = json.dumps(facts, sort_keys=True)
        self.fingerprint = f"denoising/{VERSION} {hashlib.sha256(text.encode()).hexdigest()}"

    def embed_pictures(self, pictures: Sequence[Picture]) -> Errors:
        """One row per picture, to be stored as it is: errors by class and sample, 0 where a class had been given up.

        With stages as many numbers follow: 1 where there is an error, else 0.
        """
        found = self._pruned(pictures) if self.stages else self._whole(pictures)
        rows = found.reshape(len(pictures), -1)
        if not self.stages:
            return rows
        return np.concatenate([np.nan_to_num(rows), ~np.isnan(rows)], axis=1, dtype=np.float32)

    def __getstate__(self) -> dict[str, Any]:
        """Without the network, which whoever gets this loads anew."""
        return {name: value for name, value in self.__dict__.items() if name != "denoiser"}

    @cached_property
    def denoiser(self) -> Denoiser:
        """The network with the classes' texts."""
        return Denoiser(self._model.pipeline, self.prompts, self._loss)

    def _whole(self, pictures: Sequence[Picture]) -> Errors:
        noise = torch.stack([self._noise(picture) for picture in pictures])
        return self.denoiser.errors(self._latents(pictures), timesteps(self.samples, self.denoiser.total), noise)

    def _pruned(self, pictures: Sequence[Picture]) -> Errors:
        at = timesteps(self.samples, self.denoiser.total)
        rows = [
            pruned_errors(self.denoiser, self._latents([picture]), at, self._noise(picture)[None], self.stages)
            for picture in pictures
        ]
        return np.stack(rows)

    def _noise(self, picture: Picture) -> Tensor:
        return noise_of(self._seed_of(picture.id), self.samples, self.denoiser.shape)

    def _latents(self, pictures: Sequence[Picture]) -> Tensor:
        return self.denoiser.latents([opened(picture.path) for picture in pictures])


def pruned_errors(
    denoiser: Denoiser, latents: Tensor, timesteps_: Sequence[int], noise: Tensor, stages: Sequence[Stage]
) -> Errors:
    """Errors (classes, samples) of one picture when the worst classes are given up in stages (Li et al. 2023).

    The new samples of a stage are spread evenly over those that are left. NaN where a class had been given up; the
    classes with the smallest mean errors so far stay. `latents` and `noise` hold one picture.
    """
    samples, left = len(timesteps_), list(range(len(denoiser.prompts)))
    found = np.full((len(left), samples), np.nan, dtype=np.float32)
    for stage in (*stages, Stage(samples, 1)):
        unseen = np.flatnonzero(np.isnan(found[left[0]]))
        more = stage.samples - samples + len(unseen)
        new = [int(unseen[place]) for place in timesteps(more, len(unseen))]
        at = [timesteps_[place] for place in new]
        found[np.ix_(left, new)] = denoiser.errors(latents, at, noise[:, new], left)[0]
        means = np.nanmean(found[left], axis=1)
        left = sorted(left[place] for place in np.argsort(means, kind="stable")[: stage.keep])
    return found
