"""Insertion and deletion as a test of maps without masks, on drawings of the studio world.

    python -m benchmarks.insertion_deletion [--drawings 32] [--write PAGE]

The pixels of a drawing are covered in the order of a map, highest first (deletion), or uncovered in
that order (insertion). The embedder scores how well the rest fits the words (Petsiuk et al. 2018,
RISE), by the cosine or by the probability of the value among the values of its attribute. The score
of a map is the area under the curve of insertion minus the area under the curve of deletion. Three
maps must score less than the map of the word: of another word in the same drawing, of the same
attribute in another drawing, and a random map with the same spectrum and other phases. The true
region must score more than the region of another drawing. PAGE is
docs/reference/calibration-maps.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from scipy.special import softmax

from askew import registry
from askew.measure.studio import VALUES, StudioEmbedder
from askew.stats.means import student_mean
from askew.stats.overlap import bilinear
from benchmarks.attention_truth import ALL, with_sum
from benchmarks.captions import phrase
from benchmarks.drawn_attention import SAID, SEED, Drawings, OneStep
from benchmarks.marked_page import measured, update

STEPS = 8
"""Number of equal parts in which pixels are covered."""

BLUR = 16
"""Standard deviation in pixels of the blur that covers them."""

SCALE = 100.0
"""Factor of cosines before CLIP compares texts."""

WRONG = ("another word", "another drawing", "random map")
SCORES = ("cosine", "probability")

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Fit = Callable[[Pixels], Floats]
"""Function that scores how well images (n, H, W, 3) fit their words: (scores, n)."""


def fills(pixels: Pixels) -> dict[str, Pixels]:
    """Return the covers of images (n, H, W, 3): their mean color, and the blurred images."""
    mean = np.broadcast_to(
        pixels.mean(axis=(1, 2), keepdims=True).round().astype(np.uint8), pixels.shape
    )
    return {"mean color": mean, "blur": np.stack([blurred(image, BLUR) for image in pixels])}


def blurred(pixels: Pixels, radius: float) -> Pixels:
    """Blur an image, (H, W) or (H, W, 3)."""
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(radius)))


def areas(fit: Fit, pixels: Pixels, fill: Pixels, maps: Floats) -> Floats:
    """Return insertion minus deletion of maps (n, H, W): (scores, n).

    The areas are by the trapezoidal rule over shares of the pixels.
    """
    size = maps.shape[-2] * maps.shape[-1]
    order = np.argsort(-maps.reshape(len(maps), -1), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1).reshape(maps.shape)
    gained = []
    # With no pixel or all pixels covered, insertion and deletion cancel.
    for step in range(1, STEPS):
        first = (ranks < step * size / STEPS)[..., None]
        gained.append(fit(np.where(first, pixels, fill)) - fit(np.where(first, fill, pixels)))
    return np.asarray(np.sum(gained, axis=0) / STEPS)


def as_smooth(maps: Floats, rng: np.random.Generator) -> Floats:
    """Return random maps (n, H, W), with the spectrum of each map and the phases of noise."""
    noise = np.fft.fft2(rng.standard_normal(maps.shape))
    return np.asarray(np.fft.ifft2(np.abs(np.fft.fft2(maps)) * noise / np.abs(noise)).real)


def fitting(embedder: StudioEmbedder, attribute: str, values: Sequence[str]) -> Fit:
    """Return a function that scores how well images fit their values of an attribute."""
    known = VALUES[attribute]
    texts = embedder.embed_texts([phrase(attribute, value) for value in known])
    columns = [known.index(value) for value in values]

    def fit(pixels: Pixels) -> Floats:
        cosines = embedder.embed_pixels(pixels) @ texts.T
        scores = np.stack([cosines, softmax(SCALE * cosines, axis=1)])
        return np.asarray(scores[:, np.arange(len(columns)), columns], dtype=float)

    return fit


def scored(count: int) -> dict[str, dict[str, Floats]]:
    """Return scores (attributes, scores, drawings), by cover and map."""
    drawings = Drawings.make(count)
    embedder = StudioEmbedder()
    rng = np.random.default_rng(SEED)
    step = OneStep(cast("Any", registry.model("studio")).pipeline, drawings)
    size = drawings.pixels.shape[1:3]
    maps = {name: bilinear(with_sum(step.layers(name))[ALL].sum(axis=1), size) for name in SAID}
    scores: dict[str, dict[str, list[Floats]]] = {}
    for name in maps:
        compared = _compared_maps(name, maps, drawings, rng)
        fit = fitting(embedder, name, drawings.values(name))
        for cover, fill in fills(drawings.pixels).items():
            scores_of_cover = scores.setdefault(cover, {})
            for kind, compared_map in compared.items():
                area = areas(fit, drawings.pixels, fill, compared_map)
                scores_of_cover.setdefault(kind, []).append(area)
    stacked = {}
    for cover, by_map in scores.items():
        stacked[cover] = {kind: np.stack(values) for kind, values in by_map.items()}
    return stacked


def _compared_maps(
    name: str, maps: Mapping[str, Floats], drawings: Drawings, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the map of an attribute, the wrong maps, and the true region and a wrong one."""
    right = maps[name]
    count = len(right)
    others = np.stack([maps[other] for other in SAID if other != name])
    regions = [blurred(255 * region.astype(np.uint8), 2) for region in drawings.regions(name)]
    place = np.stack(regions).astype(float)
    wrong = (
        others[rng.integers(len(others), size=count), range(count)],
        np.roll(right, 1, axis=0),
        as_smooth(right, rng),
    )
    return {
        "map": right,
        **dict(zip(WRONG, wrong, strict=True)),
        "place": place,
        "elsewhere": np.roll(place, 1, axis=0),
    }


def lines(scores: Mapping[str, Mapping[str, Floats]]) -> Iterator[str]:
    """Yield a table of the differences between right and wrong maps, and their share above 0."""
    columns = (
        "cover",
        "score",
        *(f"map minus {wrong}" for wrong in WRONG),
        "true region minus region of another drawing",
    )
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" * 2 + " ---: |" * 4
    pairs = [*(("map", wrong) for wrong in WRONG), ("place", "elsewhere")]
    for cover, by_map in scores.items():
        for k, score in enumerate(SCORES):
            cells = []
            for right, wrong in pairs:
                difference = by_map[right][:, k] - by_map[wrong][:, k]
                mean = measured(student_mean(difference.mean(axis=0), 0.95), "+.3f")
                cells.append(f"{mean}, {np.mean(difference > 0):.2f}")
            yield f"| {cover} | {score} | {' | '.join(cells)} |"


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drawings", type=int, default=32)
    parser.add_argument("--write", type=Path, help="the page to update between its two markers")
    choice = parser.parse_args()
    table = list(lines(scored(choice.drawings)))
    print("\n".join(table))
    if choice.write:
        update(choice.write, "insertion and deletion", table)


if __name__ == "__main__":
    main()
