"""How well a model of the studio world shows what a prompt says, and leaves open what it does not
say.

    python -m benchmarks.fidelity [MODEL] [--count 24] [--each 12] [--open 48] [--bias B] [--write
    PAGE]

MODEL is a model string such as studio or studio/planted. The studio VQA reads the pictures. --write
updates the page between the two markers that carry the model's name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
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
from askew.types import Estimate, Missing
from benchmarks.marked_page import measured, update
from benchmarks.wording import phrase, spread

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
    """Shares of pictures that show the value asked for, and how open shares compare with the
    planted ones.

    values       attribute -> value -> share of pictures that show it when the prompt says so
    occupations  occupation -> share of pictures that show its sign
    counts       pictures per value, per occupation, and per occupation where gender is left open
    order        Spearman's correlation of the measured and planted shares of women over occupations, where the prompt
                 says no gender; Missing if all planted ones are the same
    error        mean absolute difference of the two
    chance       what that difference would be on average if every picture had the planted chance
    """

    values: dict[str, dict[str, float]]
    occupations: dict[str, float]
    counts: tuple[int, int, int]
    order: Estimate | Missing
    error: Estimate
    chance: float

    def lines(self) -> Iterator[str]:
        """A table in Markdown, and what it was made of."""
        each_value, each, open_count = self.counts
        yield "| requested | shown |"
        yield "| --- | --- |"
        for attribute, shares in self.values.items():
            shown = ", ".join(f"{value} {share:.0%}" for value, share in shares.items())
            yield f"| {attribute.replace('_', ' ')} | {shown} |"
        low = sorted(self.occupations, key=lambda name: (self.occupations[name], name))[:5]
        least = ", ".join(f"{name} {self.occupations[name]:.0%}" for name in low)
        yield f"| occupation | mean {np.mean(list(self.occupations.values())):.0%}; minimum: {least} |"
        yield ""
        order = (
            f"Spearman {measured(self.order, '.3f')}, " if isinstance(self.order, Estimate) else ""
        )
        yield (
            f"Share of women in prompts that leave gender open, compared with the planted share: {order}mean absolute error "
            f"{measured(self.error, '.3f')}. Expected by chance: {self.chance:.3f}."
        )
        yield ""
        yield (
            f"{each_value} images of each value, {each} of each occupation for its sign, {open_count} of each of "
            f"{self.error.n} occupations with open gender. Brackets are confidence intervals at level {LEVEL}."
        )


class Reader:
    """Makes pictures of prompts with a model, and reads them with the studio VQA."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.vqa = StudioVQA()

    def read(self, prompts: Sequence[str], attribute: str) -> list[str | None]:
        """What one picture of each prompt shows; None where there is no picture, or nobody in it."""
        requests = [
            Request(prompt, picture_seed(SEED, prompt, k)) for k, prompt in enumerate(prompts)
        ]
        size = self.model.batch_size
        parts = [self.model.generate(requests[i : i + size]) for i in range(0, len(requests), size)]
        images = [image for part in parts for image in part]
        found: list[str | None] = [None] * len(prompts)
        there = [i for i, image in enumerate(images) if not isinstance(image, Missing)]
        if not there:
            return found
        vectors = self.vqa.embedder.embed_pixels(np.stack([np.asarray(images[i]) for i in there]))
        seen = self.vqa.sees_somebody(vectors) | (attribute in OF_ANY_SCENE)
        for i, value, somebody in zip(there, self.vqa.read(vectors, attribute), seen, strict=True):
            found[i] = value if somebody else None
        return found


def fidelity(model: Model, count: int, each: int, open_count: int, bias: float) -> Fidelity:
    """Measure with `count` pictures per value, `each` per occupation, `open_count` per occupation
    left open.
    """
    reader = Reader(model)
    values = {
        attribute: {
            value: _shown(reader, attribute, value, count) for value in ATTRIBUTES[attribute]
        }
        for attribute in BIASCONNECT_AND_STYLE
    }
    occupations = {
        name: _share(reader.read([phrase("occupation", name)] * each, "occupation"), name)
        for name in OCCUPATIONS
    }
    names = spread(36)
    prompts = [phrase("occupation", name) for name in names]
    women = [_share(reader.read([prompt] * open_count, "gender"), "female") for prompt in prompts]
    planted = [truth(prompt, "gender", bias)["female"] for prompt in prompts]
    order = (
        spearman(women, planted, rng=np.random.default_rng(SEED), level=LEVEL)
        if bias
        else Missing("not_asked")
    )
    error = student_mean(np.abs(np.subtract(women, planted)), LEVEL, "Student's t over occupations")
    return Fidelity(
        values,
        occupations,
        (count, each, open_count),
        order,
        error,
        chance_error(planted, open_count),
    )


def chance_error(planted: Sequence[float], count: int) -> float:
    """The mean of |share of `count` draws - p| over these probabilities p."""
    hits = np.arange(count + 1)[:, None]
    p = np.asarray(planted)
    return float((np.abs(hits / count - p) * binom.pmf(hits, count, p)).sum(axis=0).mean())


def _shown(reader: Reader, attribute: str, value: str, count: int) -> float:
    """The share of pictures that show a value when the prompt says it of somebody with an
    occupation.
    """
    scenes = [Scene.of({attribute: value}, name) for name in spread(count)]
    return _share(
        reader.read([caption(scene, (attribute, "occupation")) for scene in scenes], attribute),
        value,
    )


def _share(found: Sequence[str | None], wanted: str) -> float:
    return float(np.mean([value == wanted for value in found]))


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
