"""Instruments read an image as displayed: upright, gray at its depth, transparency as white."""

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
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import Picture

ORIENTATION = 0x0112
TURNED = 6


def turned(image: Image.Image, path: Path) -> Image.Image:
    """Store an image rotated, with the EXIF orientation that corrects it."""
    exif = Image.Exif()
    exif[ORIENTATION] = TURNED
    image.transpose(Image.Transpose.ROTATE_90).save(path, exif=exif)
    return image


def deep(image: Image.Image, path: Path) -> Image.Image:
    """Store an image as 16-bit gray."""
    grey = image.convert("L")
    Image.fromarray(np.asarray(grey, dtype=np.uint16) * 257).save(path)
    return grey


def cut_out(image: Image.Image, path: Path) -> Image.Image:
    """Store an image whose right half is transparent but has colors."""
    clear = image.convert("RGBA")
    seen = image.copy()
    right = (image.width // 2, 0, *image.size)
    alpha = Image.new("L", image.size, 255)
    alpha.paste(0, right)
    clear.putalpha(alpha)
    clear.save(path)
    seen.paste((255, 255, 255), right)
    return seen


@pytest.fixture(scope="module", params=[turned, deep, cut_out])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Picture, Picture]:
    """Return a drawing stored plainly, and the same drawing stored in another way."""
    folder = tmp_path_factory.mktemp("pair")
    request.param(draw(Scene(hair="long"), 1), folder / "other.png").save(folder / "plain.png")
    return Picture("plain", str(folder / "plain.png"), ""), Picture(
        "other", str(folder / "other.png"), ""
    )


def test_embedders_read_images_as_displayed(pair: tuple[Picture, Picture], tmp_path: Path) -> None:
    for embedder in (StudioEmbedder(), create_embedder(str(tiny_networks.clip(tmp_path)))):
        plain, other = embedder.embed_pictures(list(pair))
        np.testing.assert_allclose(plain, other, atol=1e-6)


def test_a_classifier_by_denoising_reads_images_as_displayed(
    pair: tuple[Picture, Picture], tiny: Callable[[str], Path]
) -> None:
    model: Any = create_model(str(tiny("stable-diffusion")))
    reader = ClassErrors(
        model,
        ("a nurse", "a maid"),
        2,
        seed=0,
        seed_of=partial(derived_seed, 0, "denoising"),
        loss="l2",
    )
    plain, other = (reader.denoiser.latents([opened(picture.path)]).numpy() for picture in pair)
    np.testing.assert_allclose(plain, other, atol=1e-6)
