"""Errors of stored images do not depend on the batch; classes may be dropped early."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from askew.measure.class_errors import ClassErrors
from askew.measure.denoising import class_errors, noise_of, timesteps
from askew.models.diffusers import create
from askew.store.keys import derived_seed
from askew.types import Picture

PROMPTS = tuple(f"a portrait of a {word}." for word in ("nurse", "mechanic", "plumber", "maid"))


@pytest.fixture(scope="module")
def model(tiny: Callable[[str], Path]) -> Any:
    return create(str(tiny("stable-diffusion")))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    folder = tmp_path_factory.mktemp("pictures")
    records = []
    for k in range(3):
        path = folder / f"{k}.png"
        pixels = np.random.default_rng(k).integers(0, 256, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        records.append(Picture(f"picture-{k}", str(path), ""))
    return records


def reader(model: Any, samples: int = 6) -> ClassErrors:
    return ClassErrors(
        model, PROMPTS, samples, seed=0, seed_of=partial(derived_seed, 0, "denoising"), loss="l2"
    )


def test_errors_use_noise_that_depends_only_on_the_image(
    model: Any, pictures: list[Picture]
) -> None:
    whole = reader(model)
    errors = whole.embed_pictures(pictures).reshape(-1, len(PROMPTS), 6)
    images = [Image.open(picture.path) for picture in pictures]
    noise = torch.stack(
        [noise_of(derived_seed(0, "denoising", picture.id), 6, (4, 16, 16)) for picture in pictures]
    )
    np.testing.assert_allclose(
        errors, class_errors(model.pipeline, images, PROMPTS, timesteps(6), noise), rtol=1e-4
    )
    alone = whole.embed_pictures(pictures[2:]).reshape(-1, len(PROMPTS), 6)
    np.testing.assert_allclose(alone[0], errors[2], rtol=1e-4)


def test_other_samples_are_other_readings(model: Any) -> None:
    assert reader(model, samples=5).fingerprint != reader(model).fingerprint


def test_it_is_pickled_without_its_network(model: Any, pictures: list[Picture]) -> None:
    here = reader(model)
    before = here.embed_pictures(pictures[:1])
    state = here.__getstate__()
    assert "denoiser" not in state
    there = ClassErrors.__new__(ClassErrors)
    there.__dict__.update(state)
    np.testing.assert_array_equal(there.embed_pictures(pictures[:1]), before)
