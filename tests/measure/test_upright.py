"""Whoever reads a picture reads it upright: one that a camera stored turned gives what the upright one gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tiny_networks
from askew.measure.class_errors import ClassErrors
from askew.measure.clip import create_embedder
from askew.measure.studio import StudioEmbedder
from askew.models.diffusers import create as create_model
from askew.store.keys import derived_seed
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import Picture

ORIENTATION = 0x0112
TURNED = 6


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Picture, Picture]:
    """The same drawing, upright and stored turned with a note that says so."""
    folder, image, exif = tmp_path_factory.mktemp("pair"), draw(Scene(hair="long"), 1), Image.Exif()
    exif[ORIENTATION] = TURNED
    image.save(folder / "upright.png")
    image.transpose(Image.Transpose.ROTATE_90).save(folder / "turned.png", exif=exif)
    return Picture("upright", str(folder / "upright.png"), ""), Picture("turned", str(folder / "turned.png"), "")


def test_embedders_see_it_upright(pair: tuple[Picture, Picture], tmp_path: Path) -> None:
    for embedder in (StudioEmbedder(), create_embedder(str(tiny_networks.clip(tmp_path)))):
        upright, turned = embedder.embed_pictures(list(pair))
        np.testing.assert_allclose(upright, turned, atol=1e-6)


def test_a_classifier_by_denoising_sees_it_upright(pair: tuple[Picture, Picture], tiny: Callable[[str], Path]) -> None:
    model: Any = create_model(str(tiny("stable-diffusion")))
    reader = ClassErrors(model, ("a nurse", "a maid"), 2, seed=0, seed_of=partial(derived_seed, 0, "denoising"))
    upright, turned = (reader._latents([one]).numpy() for one in pair)
    np.testing.assert_allclose(upright, turned, atol=1e-6)
