"""Picture files are opened as they are meant to be seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.store.imagefile import is_blank, opened

SIDEWAYS = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
"""By EXIF orientation how a camera that was held so stores a picture."""


def stored_as(orientation: int, image: Image.Image, path: Path) -> Path:
    """A picture stored turned, with the note that turns it upright again."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.transpose(SIDEWAYS[orientation]).save(path, exif=exif)
    return path


@pytest.mark.parametrize("orientation", SIDEWAYS)
def test_a_photograph_is_opened_upright(orientation: int, tmp_path: Path) -> None:
    pixels = np.random.default_rng(orientation).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    path = stored_as(orientation, Image.fromarray(pixels), tmp_path / "photo.png")
    np.testing.assert_array_equal(np.asarray(opened(path)), pixels)


def test_any_mode_is_opened_as_rgb(tmp_path: Path) -> None:
    Image.new("LA", (4, 4), (90, 255)).save(tmp_path / "grey.png")
    found = opened(tmp_path / "grey.png")
    assert found.mode == "RGB"
    assert found.getpixel((0, 0)) == (90, 90, 90)


@pytest.mark.parametrize(("span", "blank"), [(0, True), (2, True), (3, False)])
def test_noise_on_one_colour_shows_nothing(span: int, blank: bool) -> None:
    noise = np.random.default_rng(1).integers(0, span + 1, (20, 30, 3), dtype=np.uint8)
    assert is_blank(Image.fromarray(noise + np.array([253 - span, 0, 90], dtype=np.uint8))) is blank
