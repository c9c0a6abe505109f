"""Skin-colored pixels and skin tone as an angle ("downstream", Saravanan et al., section 3).

The color rule rejects very dark skin, such as RGB (87, 50, 28), and accepts other objects that have
a similar color. Results therefore report the coverage: the share of pixels that the rule accepts.
`askew.measure.portraits` also has a mask that is based on landmarks. An image without skin-colored
pixels may still show a person.
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
"""Tolerance for rounding.

The computed mean of equal numbers may differ from them in the last digit.
"""

NO_SKIN = Missing("unparseable", "no pixel has a skin color")

SCHEME = "chardon"
"""Scheme of skin tone classes, from Chardon et al. 1991 and Del Bino and Bernerd 2013."""

CLASSES = (
    (55, "very light"),
    (41, "light"),
    (28, "intermediate"),
    (10, "tan"),
    (-30, "brown"),
    (-math.inf, "dark"),
)
"""Skin tone classes, each with the individual typology angle (in degrees) above which it begins."""


def skin_mask(image: Image.Image | ArrayLike) -> Mask:
    """Return a mask of skin-colored pixels, using bounds on RGB and YCbCr (Kolkur et al. 2017).

    All conditions must hold: R >= 95, G >= 40, B >= 20, R >= G, R >= B, |R - G| >= 15; Y >= 80, Cb
    >= 85, Cr
    >= 135, and Cr strictly below 1.5862 Cb + 20, above 0.3448 Cb + 76.2069, above -4.5652 Cb +
    234.5652, below -1.15 Cb + 301.75 and below -2.2857 Cb + 432.85.

    Parameters
    ----------
    image
        A Pillow image with 8 bits per channel, or an array of shape (H, W, 3) with values from 0 to
        255.

    Returns
    -------
    Mask
        Array of shape (H, W), True for skin.

    Raises
    ------
    UsageError
        If an array has the wrong shape or type.
    """
    pixels = rgb(image)
    mask = _is_skin_by_rgb(pixels)
    mask[mask] = _is_skin_by_ycbcr(pixels[mask])
    return mask


def _is_skin_by_rgb(pixels: Bytes) -> Mask:
    r = pixels[..., 0].astype(np.int16)
    g = pixels[..., 1].astype(np.int16)
    b = pixels[..., 2].astype(np.int16)
    bright = (r >= 95) & (g >= 40) & (b >= 20)
    red = (r >= g) & (r >= b) & (np.abs(r - g) >= 15)
    return np.asarray(bright & red)


def _is_skin_by_ycbcr(colors: Bytes) -> Mask:
    y, cb, cr = ycbcr(colors).T
    in_range = (y >= 80) & (cb >= 85) & (cr >= 135)
    above = (cr > 0.3448 * cb + 76.2069) & (cr > -4.5652 * cb + 234.5652)
    below = cr < 1.5862 * cb + 20
    below &= cr < -1.15 * cb + 301.75
    below &= cr < -2.2857 * cb + 432.85
    return np.asarray(in_range & above & below)


def ita(image: Image.Image | ArrayLike, mask: ArrayLike | None = None) -> float | Missing:
    """Return the individual typology angle atan2(mean L* - 50, mean b*) of CIELAB, in degrees.

    Larger is lighter. Pixels with L* = 0 or b* = 0 are dropped. Then L* and b* are trimmed
    separately: only values within one population standard deviation of their mean (inclusive) are
    used.

    Parameters
    ----------
    image
        As in `skin_mask`.
    mask
        Mask of the pixels to use, of shape (H, W). The default is the mask from `skin_mask`.

    Returns
    -------
    float or Missing
        Angle in degrees, in (-180, 180], or Missing if no pixel is left.

    Raises
    ------
    UsageError
        As in `skin_mask`, or if the mask and the image differ in size.
    """
    pixels = rgb(image)
    skin = skin_mask(pixels) if mask is None else _checked_mask(mask, pixels)
    colors = lab(pixels[skin])
    lightness = colors[:, 0]
    yellowness = colors[:, 2]
    used = (lightness != 0) & (yellowness != 0)
    if not used.any():
        return NO_SKIN
    mean_lightness = _trimmed_mean(lightness[used])
    mean_yellowness = _trimmed_mean(yellowness[used])
    return math.degrees(math.atan2(mean_lightness - 50, mean_yellowness))


def _trimmed_mean(values: Floats) -> float:
    """Return the mean of the values that lie within one standard deviation of the overall mean."""
    central = np.abs(values - values.mean()) <= values.std() + ROUNDING
    return float(values[central].mean())


def lightness(image: Image.Image | ArrayLike, mask: ArrayLike) -> float | Missing:
    """Return the mean L* (0 black to 100 white) of the pixels in a mask. Missing if it is empty.

    Parameters
    ----------
    image, mask
        As in `ita`.
    """
    pixels = rgb(image)
    colors = pixels[_checked_mask(mask, pixels)]
    return float(lab(colors)[:, 0].mean()) if len(colors) else NO_SKIN


def tone(degrees: float) -> str:
    """Return the skin tone class for an ITA in degrees. See `CLASSES`."""
    return next(name for above, name in CLASSES if degrees > above)


def rgb(image: Image.Image | ArrayLike) -> Bytes:
    """Return an image as an array of bytes, of shape (H, W, 3).

    Raises
    ------
    UsageError
        If an array has the wrong shape or type.
    """
    if isinstance(image, Image.Image):
        return np.asarray(as_rgb(image))
    pixels: NDArray[Any] = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise UsageError(
            f"the image array has the shape {pixels.shape} and the type {pixels.dtype}; it must "
            "have the shape (height, width, 3) and the type uint8"
        )
    return pixels


def _checked_mask(mask: ArrayLike, pixels: Bytes) -> Mask:
    checked = np.asarray(mask, dtype=bool)
    if checked.shape != pixels.shape[:2]:
        raise UsageError(
            f"the mask has the shape {checked.shape}, but the image has the shape "
            f"{pixels.shape[:2]}"
        )
    return checked


_TO_YCBCR = np.array(
    [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]
)
_TO_XYZ = np.array(
    [[0.412453, 0.35758, 0.180423], [0.212671, 0.71516, 0.072169], [0.019334, 0.119193, 0.950227]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])
_LINEAR_PART = 0.008856
"""Fraction of white below which CIELAB replaces the cube root with a straight line."""


def ycbcr(pixels: Bytes) -> Floats:
    """Convert RGB values from 0 to 255 to YCbCr (BT.601), along the last axis.

    Y is from 16 to 235. Cb and Cr are from 16 to 240.
    """
    return np.asarray(pixels / 255.0 @ _TO_YCBCR.T + np.array([16.0, 128.0, 128.0]))


def lab(pixels: Bytes) -> Floats:
    """Convert sRGB values from 0 to 255 to CIELAB (L*, a*, b*), along the last axis.

    The conversion assumes illuminant D65 and the 2-degree observer.
    """
    xyz = _LINEAR[pixels] @ _TO_XYZ.T / _WHITE
    root = np.where(xyz > _LINEAR_PART, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x = root[..., 0]
    y = root[..., 1]
    z = root[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


_SRGB = np.arange(256) / 255
_LINEAR = np.where(_SRGB > 0.04045, ((_SRGB + 0.055) / 1.055) ** 2.4, _SRGB / 12.92)
"""Linear light intensities for the sRGB values 0 to 255 (IEC 61966-2-1)."""
