"""Skin in a picture by its colour, and its tone as an angle ("downstream", Saravanan et al.,
section 3).

The rule rejects very dark skin, such as (87, 50, 28), and takes what merely has the colour of skin.
Coverage therefore belongs to every result, `askew.measure.portraits` offers a mask by the place of
the face, and where no pixel is skin by the rule, that does not mean that there is nobody.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from askew.errors import UsageError
from askew.store.imagefile import as_rgb
from askew.types import Missing

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

ROUNDING = 1e-9
"""The mean of equal numbers may differ from them by its last digit; they are within no deviation of
it all the same.
"""

NO_SKIN = Missing("unparseable", "no pixel has the colour of skin")

SCHEME = "chardon"
"""The scheme of classes: Chardon et al. 1991 with Del Bino and Bernerd 2013."""

CLASSES = (
    (55, "very light"),
    (41, "light"),
    (28, "intermediate"),
    (10, "tan"),
    (-30, "brown"),
    (-math.inf, "dark"),
)
"""Classes of skin tone, each with the ITA that it lies above."""


def skin_mask(image: Image.Image | ArrayLike) -> Mask:
    """Pixels with the colour of skin, (H, W), by bounds on RGB and on YCbCr (Kolkur et al. 2017).

    All must hold: R >= 95, G >= 40, B >= 20, R >= G, R >= B, |R - G| >= 15; Y >= 80, Cb >= 85, Cr
    >= 135, and Cr strictly below 1.5862 Cb + 20, above 0.3448 Cb + 76.2069, above -4.5652 Cb +
    234.5652, below -1.15 Cb + 301.75 and below -2.2857 Cb + 432.85.

    `image` is a Pillow image of 8 bits a channel, or an array (H, W, 3) of 0 to 255. Raises
    UsageError for another shape, deeper channels, or an array of other numbers.
    """
    pixels = rgb(image)
    r, g, b = (pixels[..., k].astype(np.int16) for k in range(3))
    by_rgb = (r >= 95) & (g >= 40) & (b >= 20) & (r >= g) & (r >= b) & (np.abs(r - g) >= 15)
    y, cb, cr = ycbcr(pixels[by_rgb]).T
    by_luma = (y >= 80) & (cb >= 85) & (cr >= 135)
    between = (cr > 0.3448 * cb + 76.2069) & (cr > -4.5652 * cb + 234.5652)
    below = (cr < 1.5862 * cb + 20) & (cr < -1.15 * cb + 301.75) & (cr < -2.2857 * cb + 432.85)
    by_rgb[by_rgb] = by_luma & between & below
    return np.asarray(by_rgb)


def ita(image: Image.Image | ArrayLike, mask: ArrayLike | None = None) -> float | Missing:
    """Individual typology angle in degrees: larger = lighter skin; atan2(mean L* - 50, mean b*) in
    CIELAB.

    Pixels with L* = 0 or b* = 0 are dropped; then L* and b* are trimmed, each by itself, to within
    one population standard deviation of their means, ends included. `mask` (H, W) are the pixels to
    use, by default those of `skin_mask`. Degrees in (-180, 180], or Missing where no pixel is left.
    Raises UsageError as `skin_mask` does, and for a mask of another size.
    """
    pixels = rgb(image)
    chosen = lab(pixels[skin_mask(pixels) if mask is None else _fitting(mask, pixels)])
    lightness = chosen[:, 0]
    yellow = chosen[:, 2]
    used = (lightness != 0) & (yellow != 0)
    if not used.any():
        return NO_SKIN
    kept = []
    for values in (lightness[used], yellow[used]):
        kept.append(values[np.abs(values - values.mean()) <= values.std() + ROUNDING].mean())
    return math.degrees(math.atan2(kept[0] - 50, kept[1]))


def lightness(image: Image.Image | ArrayLike, mask: ArrayLike) -> float | Missing:
    """Mean L* (0 black to 100 white) of the pixels in a mask, or Missing for an empty one.
    Arguments as in `ita`.
    """
    pixels = rgb(image)
    chosen = pixels[_fitting(mask, pixels)]
    return float(lab(chosen)[:, 0].mean()) if len(chosen) else NO_SKIN


def tone(degrees: float) -> str:
    """The class of an ITA, see `CLASSES`."""
    return next(name for above, name in CLASSES if degrees > above)


def rgb(image: Image.Image | ArrayLike) -> Bytes:
    """An image as (H, W, 3) bytes. Raises UsageError for what cannot be read so without loss of
    meaning.
    """
    if isinstance(image, Image.Image):
        return np.asarray(as_rgb(image))
    pixels: NDArray[Any] = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise UsageError(
            f"a picture of shape {pixels.shape} and {pixels.dtype} is unreadable: (height, width, 3) of uint8 is wanted"
        )
    return pixels


def _fitting(mask: ArrayLike, pixels: Bytes) -> Mask:
    chosen = np.asarray(mask, dtype=bool)
    if chosen.shape != pixels.shape[:2]:
        raise UsageError(
            f"a mask of shape {chosen.shape} does not fit a picture of {pixels.shape[:2]} pixels"
        )
    return chosen


_TO_YCBCR = np.array(
    [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]
)
_TO_XYZ = np.array(
    [[0.412453, 0.35758, 0.180423], [0.212671, 0.71516, 0.072169], [0.019334, 0.119193, 0.950227]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])
_LINEAR_PART = 0.008856
"""Below this share of white, CIELAB's root becomes a straight line."""


def ycbcr(pixels: Bytes) -> Floats:
    """RGB of 0 to 255 (..., 3) as Y from 16 to 235 and Cb, Cr from 16 to 240 (ITU-R BT.601, studio
    range).
    """
    return np.asarray(pixels / 255.0 @ _TO_YCBCR.T + np.array([16.0, 128.0, 128.0]))


def lab(pixels: Bytes) -> Floats:
    """sRGB of 0 to 255 (..., 3) as CIELAB (L* from 0 to 100, a*, b*), D65, the 2 degree observer."""
    xyz = _LINEAR[pixels] @ _TO_XYZ.T / _WHITE
    root = np.where(xyz > _LINEAR_PART, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x = root[..., 0]
    y = root[..., 1]
    z = root[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


_SRGB = np.arange(256) / 255
_LINEAR = np.where(_SRGB > 0.04045, ((_SRGB + 0.055) / 1.055) ** 2.4, _SRGB / 12.92)
"""Light by sRGB value from 0 to 255 (IEC 61966-2-1)."""
