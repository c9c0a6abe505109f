"""Image files are opened as they are displayed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.store.imagefile import EncodedPicture, encode, is_blank, opened, read
from askew.types import Missing

SIDEWAYS = {
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}
"""How a rotated camera stores an image, by EXIF orientation."""


def stored_as(orientation: int, image: Image.Image, path: Path) -> Path:
    """Store an image rotated, with the orientation that makes it upright."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.transpose(SIDEWAYS[orientation]).save(path, exif=exif)
    return path


@pytest.mark.parametrize("orientation", SIDEWAYS)
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_a_photograph_is_opened_upright(orientation: int, mode: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(orientation).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    path = stored_as(orientation, image, tmp_path / "photo.png")
    np.testing.assert_array_equal(np.asarray(opened(path)), np.asarray(image.convert("RGB")))


RAMP = np.arange(256, dtype=np.float64).reshape(8, 32)
"""All 8-bit grays."""


@pytest.mark.parametrize("orientation", [None, 6])
def test_deep_grays_are_scaled(orientation: int | None, tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    image = Image.fromarray((RAMP * 257).astype(np.uint16))
    stored_as(orientation, image, path) if orientation else image.save(path)
    with Image.open(path) as file:
        assert file.mode == "I;16"
    np.testing.assert_array_equal(np.asarray(opened(path)), np.repeat(RAMP[:, :, None], 3, axis=2))


HIDDEN = (200, 30, 40)
"""A color that is invisible because its alpha is 0."""


def transparent(mode: str) -> Image.Image:
    """Return an image with a blue or equally dark left half and a hidden right half."""
    image = Image.new("RGBA", (8, 4), (0, 0, 255, 255))
    image.paste((*HIDDEN, 0), (4, 0, 8, 4))
    if mode != "P":
        return image.convert(mode)
    indexed = Image.new("P", (8, 4), 1)
    indexed.putpalette([*HIDDEN, 0, 0, 255])
    indexed.paste(0, (4, 0, 8, 4))
    indexed.info["transparency"] = 0
    return indexed


@pytest.mark.parametrize(
    ("mode", "suffix", "left"),
    [
        ("RGBA", "png", (0, 0, 255)),
        ("RGBA", "webp", (0, 0, 255)),
        ("LA", "png", (29, 29, 29)),
        ("P", "png", (0, 0, 255)),
    ],
)
def test_transparent_pixels_are_white(
    mode: str, suffix: str, left: tuple[int, int, int], tmp_path: Path
) -> None:
    more = {"lossless": True, "exact": True} if suffix == "webp" else {}
    transparent(mode).save(tmp_path / f"hidden.{suffix}", **more)
    result = opened(tmp_path / f"hidden.{suffix}")
    assert [result.getpixel(place) for place in ((1, 1), (6, 1))] == [left, (255, 255, 255)]


def test_a_color_that_a_file_calls_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.full((4, 4, 3), 90, dtype=np.uint8)
    pixels[:, 2:] = HIDDEN
    Image.fromarray(pixels).save(tmp_path / "key.png", transparency=HIDDEN)
    Image.fromarray(pixels[:, :, 0]).save(tmp_path / "grey.png", transparency=HIDDEN[0])
    for name in ("key.png", "grey.png"):
        result = opened(tmp_path / name)
        assert [result.getpixel(place) for place in ((0, 0), (3, 0))] == [
            (90, 90, 90),
            (255, 255, 255),
        ]


def test_half_transparent_images_are_mixed_with_white_and_upright(tmp_path: Path) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (20, 30, 4), dtype=np.uint8)
    alpha = pixels[:, :, 3:].astype(float) / 255
    result = np.asarray(
        opened(stored_as(6, Image.fromarray(pixels), tmp_path / "half.png")), dtype=float
    )
    np.testing.assert_allclose(result, pixels[:, :, :3] * alpha + 255 * (1 - alpha), atol=1)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_images_that_hide_nothing_are_read_as_before(mode: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    path = tmp_path / ("any.jpg" if mode == "CMYK" else "any.png")
    Image.fromarray(pixels).convert(mode).save(path)
    with Image.open(path) as file:
        assert file.mode == mode
        np.testing.assert_array_equal(np.asarray(opened(path)), np.asarray(file.convert("RGB")))


NO_FORMAT = "not an image in one of these formats: PNG, JPEG, WEBP"


@pytest.mark.parametrize(
    ("suffix", "fault"),
    [
        ("gif", "askew does not read GIF; convert the file to PNG"),
        ("bmp", "askew does not read BMP; convert the file to PNG"),
        ("tif", "askew does not read TIFF; convert the file to PNG"),
        ("avif", "askew does not read AVIF; convert the file to PNG"),
        ("ppm", NO_FORMAT),
    ],
)
def test_other_formats_are_refused_by_name(suffix: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(RAMP.astype(np.uint8)).convert("RGB").save(path)
    assert read(path) == Missing("corrupt_file", f"{path}: {fault}")


@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_an_animation_is_refused(suffix: str, tmp_path: Path) -> None:
    frames = [Image.fromarray(np.roll(RAMP, k).astype(np.uint8)) for k in range(3)]
    frames[0].save(tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:])
    reading = read(tmp_path / f"a.{suffix}")
    assert isinstance(reading, Missing)
    assert "askew does not read animations; save one frame as PNG" in reading.detail


def test_a_photo_with_previews_for_other_screens_is_read(tmp_path: Path) -> None:
    photo, preview = (
        Image.fromarray(np.roll(RAMP, k).astype(np.uint8)).convert("RGB") for k in range(2)
    )
    photo.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[preview])
    reading = read(tmp_path / "a.jpg")
    assert isinstance(reading, EncodedPicture)
    assert reading.suffix == ".jpg"


@pytest.mark.parametrize(
    ("brand", "name"),
    [(b"heic", "HEIC"), (b"heix", "HEIC"), (b"hevc", "HEIC"), (b"mif1", "HEIF"), (b"avis", "AVIF")],
)
def test_formats_of_phones_are_refused_by_name(brand: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"\0\0\0\x18ftyp" + brand + b"\0" * 40)
    fault = f"askew does not read {name}; convert the file to PNG"
    assert read(path) == Missing("corrupt_file", f"{path}: {fault}")


def test_images_of_a_model_are_stored_as_displayed() -> None:
    stored = encode(transparent("RGBA"))
    assert isinstance(stored, EncodedPicture)
    with Image.open(io.BytesIO(stored.data)) as file:
        assert (file.mode, file.getpixel((1, 1)), file.getpixel((6, 1))) == (
            "RGB",
            (0, 0, 255),
            (255, 255, 255),
        )


def test_an_image_of_only_hidden_colors_is_blank() -> None:
    pixels = np.random.default_rng(4).integers(0, 256, (8, 8, 4), dtype=np.uint8)
    pixels[:, :, 3] = 0
    assert is_blank(Image.fromarray(pixels))


@pytest.mark.parametrize(("span", "blank"), [(0, True), (2, True), (3, False)])
def test_noise_on_one_color_is_blank(span: int, blank: bool) -> None:
    noise = np.random.default_rng(1).integers(0, span + 1, (20, 30, 3), dtype=np.uint8)
    assert is_blank(Image.fromarray(noise + np.array([253 - span, 0, 90], dtype=np.uint8))) is blank
