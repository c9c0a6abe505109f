"""Colors that everybody can read: the contrast of text and marks by WCAG in light and dark mode."""

from __future__ import annotations

import math
import re
from importlib import resources

import numpy as np
import pytest

from askew.pages import figures, media
from askew.pages.elements import RUNS
from askew.pages.panels import SHADES

STYLE = resources.files("askew.pages").joinpath("style.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block))
    for block in STYLE.split("prefers-color-scheme")
)
SCHEMES = {"light": LIGHT, "dark": {**LIGHT, **DARK}}


def fills(block: str) -> dict[str, str]:
    """Return the colors of shaded cells by name."""
    colors = {}
    for name, *parts in re.findall(r"(--[\w-]+-fill): (\d+) (\d+) (\d+)", block):
        colors[name] = "#" + "".join(f"{int(part):02x}" for part in parts)
    return colors


FILLS = dict(zip(SCHEMES, map(fills, STYLE.split("prefers-color-scheme")), strict=True))
VISIONS = {
    "deutan": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "protan": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "tritan": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""Linear RGB as seen without one kind of cones (Machado, Oliveira and Fernandes 2009, table 1)."""


def luminance(color: str) -> float:
    parts = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lab(color: str, vision: str | None) -> tuple[float, float, float]:
    """Return CIE Lab of a color (D65) as a vision sees it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    if vision is not None:
        seen = np.array(VISIONS[vision]) @ linear
        linear = seen.clip(0.0, 1.0).tolist()
    to_xyz = (
        (0.4124, 0.3576, 0.1805),
        (0.2126, 0.7152, 0.0722),
        (0.0193, 0.1192, 0.9505),
    )
    white = (0.9505, 1.0, 1.089)
    relative = np.array(to_xyz) @ linear / np.array(white)
    x, y, z = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116).tolist()
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def mixed(first: str, second: str, share: float) -> str:
    parts = []
    for k in (1, 3, 5):
        ends = (int(first[k : k + 2], 16), int(second[k : k + 2], 16))
        parts.append(ends[0] * share + ends[1] * (1 - share))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["--ink", "--muted", "--over", "--under"])
def test_text_is_readable(scheme: str, name: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors["--paper"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "name", [*(f"--run-{k}" for k in range(RUNS)), "--null-edge", "--neutral", "--over", "--under"]
)
def test_marks_are_visible(scheme: str, name: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors["--paper"]) >= 3


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("fill", ["--over-fill", "--under-fill"])
def test_numbers_on_shades_are_readable(scheme: str, fill: str) -> None:
    colors = SCHEMES[scheme]
    color = FILLS[scheme][fill]
    shades = re.findall(rf"\.\w+-(\d) {{ background: rgb\(var\({fill}\) / ([.\d]+)\)", STYLE)
    assert [int(step) for step, _ in shades] == list(range(1, SHADES + 1))
    for _, share in shades:
        assert contrast(mixed(color, colors["--paper"], float(share)), colors["--ink"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("vision", [None, *VISIONS], ids=["usual", *VISIONS])
def test_the_two_accents_differ_for_every_vision(scheme: str, vision: str | None) -> None:
    """Orange and blue differ from each other and from gray, also with color blindness."""
    colors = SCHEMES[scheme]
    over, under, neutral = (
        lab(colors[name], vision) for name in ("--over", "--under", "--neutral")
    )
    assert math.dist(over, under) > 50
    assert math.dist(over, neutral) > 20
    assert math.dist(under, neutral) > 20


def test_swatches_show_the_colors_of_overlays() -> None:
    for name, color in (("only-a", media.ONLY_A), ("only-b", media.ONLY_B), ("both", media.BOTH)):
        assert f"&.{name} {{ background: #{color}; }}" in STYLE
    assert ", ".join(f"#{anchor}" for anchor in media.VIRIDIS) in STYLE


def test_figures_use_the_colors_of_pages() -> None:
    assert tuple(LIGHT[f"--run-{k}"] for k in range(RUNS)) == figures.RUNS
    names = {"over": "--over", "under": "--under", "none": "--neutral"}
    assert {kind: LIGHT[name] for kind, name in names.items()} == figures.COLORS
