"""Fidelity of a studio model: images show the prompt's values, and open attributes their shares.

    python -m benchmarks.fidelity [MODEL] [--count 24] [--each 12] [--open 48] [--bias B]
        [--write PAGE]

MODEL is a model string such as studio or studio/planted. The studio VQA labels the images. --write
updates the page between the two markers with the model's name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image
from scipy.stats import binom

from askew import registry
from askew.measure.studio import StudioVQA
from askew.models.base import Model, Request
from askew.stats.means import student_mean
from askew.stats.rank import spearman
from askew.store.keys import picture_seed
from askew.studio.caption import caption
from askew.studio.planted import truth
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, OF_ANY_SCENE, Scene
from askew.types import Estimate, Missing, slices
from benchmarks.captions import phrase, spread
from benchmarks.marked_page import measured, update

SEED = 27_182_818
LEVEL = 0.95
BIASCONNECT_AND_STYLE = (
    "gender",
    "age",
    "ethnicity",
    "body_type",
    "emotion",
    "clothing",
    "environment",
    "disability",
    "style",
)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Shares of images with the requested value, and open shares against planted shares.

    Attributes
    ----------
    values
        Share of images with a value that the prompt states, by attribute and value.
    occupations
        Share of images with the sign of an occupation.
    counts
        Images per value, per occupation, and per occupation with open gender.
    order
        Spearman's correlation of measured and planted shares of women over occupations, where the
        prompt leaves gender open; Missing if all planted shares are equal.
    error
        Mean absolute difference of measured and planted shares.
    chance
        Expected value of that difference if each image had the planted probability.
    """

    values: dict[str, dict[str, float]]
    occupations: dict[str, float]
    counts: tuple[int, int, int]
    order: Estimate | Missing
    error: Estimate
    chance: float

    def lines(self) -> Iterator[str]:
        """Yield a table in Markdown, then the numbers of images."""
        each_value, each, open_count = self.counts
        yield "| requested | shown |"
        yield "| --- | --- |"
        for attribute, shares in self.values.items():
            shown = ", ".join(f"{value} {share:.0%}" for value, share in shares.items())
            yield f"| {attribute.replace('_', ' ')} | {shown} |"
        low = sorted(self.occupations, key=lambda name: (self.occupations[name], name))[:5]
        least = ", ".join(f"{name} {self.occupations[name]:.0%}" for name in low)
        mean = np.mean(list(self.occupations.values()))
        yield f"| occupation | mean {mean:.0%}; minimum: {least} |"
        yield ""
        order = (
            f"rank correlation {measured(self.order, '.3f')}, "
            if isinstance(self.order, Estimate)
            else ""
        )
        yield (
            f"For prompts that do not specify gender, we compared the share of women in the images "
            f"with the planted share: {order}mean absolute error {measured(self.error, '.3f')}. "
            f"A mean absolute error of {self.chance:.3f} is expected by chance."
        )
        yield ""
        yield (
            f"We generated {each_value} images per value, {each} images per occupation, and, for the "
            f"shares of women, {open_count} images for each of {self.error.n} occupations without a "
            f"stated gender. An image shows an occupation if it contains the occupation's sign, "
            f"such as a stethoscope. "
            f"Brackets contain confidence intervals at level {LEVEL}."
        )


class Reader:
    """Instrument that makes images of prompts with a model, and labels them by the studio VQA."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.vqa = StudioVQA()

    def read(self, prompts: Sequence[str], attribute: str) -> list[str | None]:
        """Return the value in an image of each prompt; None for no image, or no person in it."""
        images = self._images(prompts)
        present = [i for i, image in enumerate(images) if not isinstance(image, Missing)]
        values: list[str | None] = [None] * len(prompts)
        if not present:
            return values
        pixels = np.stack([np.asarray(images[i]) for i in present])
        vectors = self.vqa.embedder.embed_pixels(pixels)
        labels = self.vqa.read(vectors, attribute)
        seen = self.vqa.sees_somebody(vectors) | (attribute in OF_ANY_SCENE)
        for i, label, is_seen in zip(present, labels, seen, strict=True):
            values[i] = label if is_seen else None
        return values

    def _images(self, prompts: Sequence[str]) -> list[Image.Image | Missing]:
        requests = [
            Request(prompt, picture_seed(SEED, prompt, k)) for k, prompt in enumerate(prompts)
        ]
        images = []
        for part in slices(requests, self.model.batch_size):
            images += self.model.generate(part)
        return images


def fidelity(model: Model, count: int, each: int, open_count: int, bias: float) -> Fidelity:
    """Measure the fidelity of a model.

    Parameters
    ----------
    model
        Model of the studio world.
    count
        Images per value.
    each
        Images per occupation.
    open_count
        Images per occupation with open gender.
    bias
        Bias that was planted, 0 to 1.
    """
    reader = Reader(model)
    values = {}
    for attribute in BIASCONNECT_AND_STYLE:
        known = ATTRIBUTES[attribute]
        values[attribute] = {value: _shown(reader, attribute, value, count) for value in known}
    occupations = {}
    for name in OCCUPATIONS:
        prompts = [phrase("occupation", name)] * each
        occupations[name] = _share(reader.read(prompts, "occupation"), name)
    prompts = [phrase("occupation", name) for name in spread(36)]
    women = [_share(reader.read([prompt] * open_count, "gender"), "female") for prompt in prompts]
    planted = [truth(prompt, "gender", bias)["female"] for prompt in prompts]
    order: Estimate | Missing = Missing("not_asked")
    if bias:
        order = spearman(women, planted, rng=np.random.default_rng(SEED), level=LEVEL)
    differences = np.abs(np.subtract(women, planted))
    return Fidelity(
        values=values,
        occupations=occupations,
        counts=(count, each, open_count),
        order=order,
        error=student_mean(differences, LEVEL, "Student's t over occupations"),
        chance=chance_error(planted, open_count),
    )


def chance_error(planted: Sequence[float], count: int) -> float:
    """Return the mean of |share of `count` draws - p| over probabilities p."""
    hits = np.arange(count + 1)[:, None]
    p = np.asarray(planted)
    return float((np.abs(hits / count - p) * binom.pmf(hits, count, p)).sum(axis=0).mean())


def _shown(reader: Reader, attribute: str, value: str, count: int) -> float:
    """Return the share of images with a value that the prompt states of a person at work."""
    scenes = [Scene.of({attribute: value}, name) for name in spread(count)]
    prompts = [caption(scene, (attribute, "occupation")) for scene in scenes]
    return _share(reader.read(prompts, attribute), value)


def _share(values: Sequence[str | None], wanted: str) -> float:
    return float(np.mean([value == wanted for value in values]))


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="studio")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--open", type=int, default=48)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument(
        "--write", type=Path, help="the page to update between the model's two markers"
    )
    choice = parser.parse_args()
    model = cast(Model, registry.model(choice.model))
    lines = list(fidelity(model, choice.count, choice.each, choice.open, choice.bias).lines())
    print("\n".join(lines))
    if choice.write:
        update(choice.write, choice.model, lines)


if __name__ == "__main__":
    main()
