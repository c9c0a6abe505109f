"""Time of classification by per-class errors against a plain loop over pairs of classes, at equal
decisions.

    python -m benchmarks.classification [--pictures 4] [--folder PIPELINE]

The plain loop does for each of the 25 pairs what the paper's classifier does: encode picture and
texts, evaluate both classes at N = 10 timesteps in one batch, and choose the class with the smaller
mean error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import StableDiffusionPipeline
from PIL import Image

from askew.measure.denoising import Denoiser, class_errors, noise_of, timesteps
from askew.methods.classify.plan import FEMALE_DOMINATED, MALE_DOMINATED
from askew.models.base import Request
from askew.models.planted import PlantedModel
from askew.prompts.given import prompt_of
from askew.stats.classification import pair_decisions
from askew.studio import weights

SAMPLES = 10
CLASSES = (*MALE_DOMINATED, *FEMALE_DOMINATED)
PAIRS = list(product(range(5), range(5, 10)))


def batched(
    pipe: Any, images: Sequence[Image.Image], prompts: Sequence[str], noise: torch.Tensor
) -> Any:
    """Every decision from the errors of ten classes."""
    return pair_decisions(class_errors(pipe, images, prompts, timesteps(SAMPLES), noise), PAIRS)


def plain(
    pipe: Any, images: Sequence[Image.Image], prompts: Sequence[str], noise: torch.Tensor
) -> Any:
    """Every decision for itself."""
    decided = np.empty((len(images), len(PAIRS)))
    for i, image in enumerate(images):
        for at, (a, b) in enumerate(PAIRS):
            errors = class_errors(
                pipe,
                [image],
                [prompts[a], prompts[b]],
                timesteps(SAMPLES),
                noise[i : i + 1],
                batch_size=2 * SAMPLES,
            )[0].mean(axis=1, dtype=float)
            decided[i, at] = errors[0] < errors[1]
    return decided


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument(
        "--folder", type=Path, help="a Stable Diffusion pipeline; the studio's by default"
    )
    choice = parser.parse_args()
    torch.set_num_threads(1)
    pipe = StableDiffusionPipeline.from_pretrained(
        choice.folder or weights("studio"), torch_dtype=torch.float32
    )
    drawn = PlantedModel().generate(
        [Request("a photo of a person", seed) for seed in range(choice.pictures)]
    )
    images = [one for one in drawn if isinstance(one, Image.Image)]
    prompts = [prompt_of(word, "a photo of {}") for word in CLASSES]
    shape = Denoiser(pipe, prompts).shape
    noise = torch.stack([noise_of(seed, SAMPLES, shape) for seed in range(len(images))])
    batched(pipe, images[:1], prompts, noise[:1])  # the first call is slower
    wall = []
    cpu = []
    decisions = []
    for way in (plain, batched):
        started = time.perf_counter()
        used = time.process_time()
        decisions.append(way(pipe, images, prompts, noise))
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
    equal = int((decisions[0] == decisions[1]).sum())
    print(
        f"{len(images)} pictures, {len(PAIRS)} pairs, {SAMPLES} samples; alike: {equal} of {decisions[0].size}"
    )
    for what, (one, other) in (("wall time", wall), ("CPU", cpu)):
        print(
            f"pair by pair {one:.1f} s, by class {other:.1f} s of {what}: {one / other:.1f} times faster"
        )


if __name__ == "__main__":
    main()
