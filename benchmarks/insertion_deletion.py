"""Can a map's truth be told without masks, by insertion and deletion? On drawings of the studio
world.

    python -m benchmarks.insertion_deletion [--drawings 32] [--write
    docs/reference/calibration-maps.md]

The pixels of a drawing are covered in the order of a map, highest first (deletion), or uncovered in
that order (insertion); the embedder says how well what is left fits the words (Petsiuk et al. 2018,
RISE), by the cosine or by the probability of the value among those of its attribute. A map scores
the area under the curve of insertion less that of deletion. Three maps must score less than that of
the word: of another word in the same drawing, of the same attribute in another drawing, and a
random map as smooth (the same spectrum, other phases); and the true place more than that of another
drawing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
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
from benchmarks.drawn_attention import SAID, SEED, Drawings, OneStep
from benchmarks.marked_page import measured, update
from benchmarks.wording import phrase

STEPS = 8
BLUR = 16
"""Equal parts in which pixels are covered; standard deviation of the blur that covers them, in
pixels.
"""

SCALE = 100.0
"""By which CLIP multiplies cosines before it compares texts."""

WRONG = ("another word", "another drawing", "random map")
SCORES = ("cosine", "probability")

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Fit = Callable[[Pixels], Floats]
"""How well pictures (n, H, W, 3) fit their words, by several scores: (scores, n)."""


def fills(pixels: Pixels) -> dict[str, Pixels]:
    """What covers pictures (n, H, W, 3): their mean colour, or themselves, blurred."""
    mean = np.broadcast_to(
        pixels.mean(axis=(1, 2), keepdims=True).round().astype(np.uint8), pixels.shape
    )
    return {"mean color": mean, "blur": np.stack([blurred(one, BLUR) for one in pixels])}


def blurred(pixels: Pixels, radius: float) -> Pixels:
    """One picture, (H, W) or (H, W, 3)."""
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(radius)))


def areas(fit: Fit, pixels: Pixels, fill: Pixels, maps: Floats) -> Floats:
    """(scores, n): insertion less deletion of maps (n, H, W), by the trapezoidal rule over shares
    of the pixels.
    """
    size = maps.shape[-2] * maps.shape[-1]
    ranks = np.argsort(
        np.argsort(-maps.reshape(len(maps), -1), axis=1, kind="stable"), axis=1
    ).reshape(maps.shape)
    gained = []
    for step in range(1, STEPS):  # nothing and everything covered: insertion and deletion cancel
        first = (ranks < step * size / STEPS)[..., None]
        gained.append(fit(np.where(first, pixels, fill)) - fit(np.where(first, fill, pixels)))
    return np.asarray(np.sum(gained, axis=0) / STEPS)


def as_smooth(maps: Floats, rng: np.random.Generator) -> Floats:
    """Random maps (n, H, W), each with the spectrum of its own and the phases of noise."""
    noise = np.fft.fft2(rng.standard_normal(maps.shape))
    return np.asarray(np.fft.ifft2(np.abs(np.fft.fft2(maps)) * noise / np.abs(noise)).real)


def fitting(embedder: StudioEmbedder, attribute: str, values: Sequence[str]) -> Fit:
    """How well pictures fit what they are said to show of an attribute."""
    known = VALUES[attribute]
    texts = embedder.embed_texts([phrase(attribute, value) for value in known])
    own = [known.index(v) for v in values]

    def fit(pixels: Pixels) -> Floats:
        cosines = embedder.embed_pixels(pixels) @ texts.T
        scores = np.stack([cosines, softmax(SCALE * cosines, axis=1)])
        return np.asarray(scores[:, np.arange(len(own)), own], dtype=float)

    return fit


def scored(count: int) -> dict[str, dict[str, Floats]]:
    """By cover and map what it scores: (attributes, scores, drawings)."""
    drawings = Drawings.make(count)
    embedder = StudioEmbedder()
    rng = np.random.default_rng(SEED)
    step = OneStep(cast("Any", registry.model("studio")).pipeline, drawings)
    size = drawings.pixels.shape[1:3]
    maps = {name: bilinear(with_sum(step.layers(name))[ALL].sum(axis=1), size) for name in SAID}
    found: dict[str, dict[str, list[Floats]]] = {}
    for name, own in maps.items():
        others = np.stack([maps[other] for other in SAID if other != name])
        place = np.stack(
            [blurred(255 * region.astype(np.uint8), 2) for region in drawings.regions(name)]
        ).astype(float)
        wrong = (
            others[rng.integers(len(others), size=count), range(count)],
            np.roll(own, 1, axis=0),
            as_smooth(own, rng),
        )
        held = {
            "map": own,
            **dict(zip(WRONG, wrong, strict=True)),
            "place": place,
            "elsewhere": np.roll(place, 1, axis=0),
        }
        fit = fitting(embedder, name, drawings.values(name))
        for cover, fill in fills(drawings.pixels).items():
            for what, one in held.items():
                found.setdefault(cover, {}).setdefault(what, []).append(
                    areas(fit, drawings.pixels, fill, one)
                )
    return {
        cover: {what: np.stack(some) for what, some in by_map.items()}
        for cover, by_map in found.items()
    }


def lines(found: dict[str, dict[str, Floats]]) -> Iterator[str]:
    """How much more the right map scores than each wrong one, and how often it does, as a table."""
    columns = (
        "cover",
        "score",
        *(f"map minus {wrong}" for wrong in WRONG),
        "true region minus region of another drawing",
    )
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" * 2 + " ---: |" * 4
    for cover, by_map in found.items():
        for k, score in enumerate(SCORES):
            cells = []
            for right, wrong in (*(("map", one) for one in WRONG), ("place", "elsewhere")):
                more = by_map[right][:, k] - by_map[wrong][:, k]
                cells.append(
                    f"{measured(student_mean(more.mean(axis=0), 0.95), '+.3f')}, {np.mean(more > 0):.2f}"
                )
            yield f"| {cover} | {score} | {' | '.join(cells)} |"


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drawings", type=int, default=32)
    parser.add_argument("--write", type=Path, help="the page to update between its two markers")
    choice = parser.parse_args()
    told = list(lines(scored(choice.drawings)))
    print("\n".join(told))
    if choice.write:
        update(choice.write, "insertion and deletion", told)


if __name__ == "__main__":
    main()
