"""Colors that everybody can read: the contrast of text and marks by WCAG in light and dark mode."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from askew.pages import figures, media
from askew.pages.elements import COLORS, RUNS
from askew.pages.html import SHADES

STYLE = resources.files("askew.pages").joinpath("style.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block))
    for block in STYLE.split("prefers-color-scheme")
)
PARTS = tuple(re.findall(r"\.part-\d \{ --part: (#[0-9a-f]{6})", STYLE))
SCHEMES = {"light": LIGHT, "dark": {**LIGHT, **DARK}}


def luminance(color: str) -> float:
    parts = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
@pytest.mark.parametrize("name", ["--ink", "--muted", "--accent", "--other"])
def test_text_is_readable(scheme: str, name: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors["--paper"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*(f"--run-{k}" for k in range(RUNS)), "--null-edge"])
def test_marks_are_visible(scheme: str, name: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors["--paper"]) >= 3


@pytest.mark.parametrize("k", range(COLORS))
def test_names_in_bars_are_readable(k: int) -> None:
    text = "#ffffff" if k == 0 else "#111111"
    assert contrast(PARTS[k], text) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("color", ["#0072b2", "#d55e00"])
def test_numbers_on_shades_are_readable(scheme: str, color: str) -> None:
    colors = SCHEMES[scheme]
    assert f".up-{SHADES}, .down-{SHADES} {{ --much: 40%; }}" in STYLE
    assert contrast(mixed(color, colors["--paper"], 0.4), colors["--ink"]) >= 4.5


def test_swatches_show_the_colors_of_overlays() -> None:
    for name, color in (("only-a", media.ONLY_A), ("only-b", media.ONLY_B), ("both", media.BOTH)):
        assert f"&.{name} {{ background: #{color}; }}" in STYLE
    assert ", ".join(f"#{anchor}" for anchor in media.VIRIDIS) in STYLE


def test_figures_use_the_colors_of_pages() -> None:
    assert tuple(LIGHT[f"--run-{k}"] for k in range(RUNS)) == figures.RUNS
    assert PARTS == figures.PARTS
    assert len(PARTS) == COLORS
