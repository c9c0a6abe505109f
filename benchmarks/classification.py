"""Compare the time of classification by errors of classes with a loop over pairs of classes.

    python -m benchmarks.classification [--pictures 4] [--folder PIPELINE]

The loop does for each of the 25 pairs what the paper's classifier does: encode image and texts,
evaluate both classes at N = 10 timesteps in a batch, and choose the class with the smaller mean
error. Both make the same decisions.
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
    """Return all decisions, from the errors of ten classes."""
    return pair_decisions(class_errors(pipe, images, prompts, timesteps(SAMPLES), noise), PAIRS)


def plain(
    pipe: Any, images: Sequence[Image.Image], prompts: Sequence[str], noise: torch.Tensor
) -> Any:
    """Return all decisions, from separate errors for each pair of classes."""
    decided = np.empty((len(images), len(PAIRS)))
    for i, image in enumerate(images):
        for pair, (a, b) in enumerate(PAIRS):
            errors = class_errors(
                pipe,
                [image],
                [prompts[a], prompts[b]],
                timesteps(SAMPLES),
                noise[i : i + 1],
                batch_size=2 * SAMPLES,
            )[0].mean(axis=1, dtype=float)
            decided[i, pair] = errors[0] < errors[1]
    return decided


METHODS = (plain, batched)


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument(
        "--folder", type=Path, help="folder of a Stable Diffusion pipeline [default: the studio's]"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    pipe = StableDiffusionPipeline.from_pretrained(
        options.folder or weights("studio"), torch_dtype=torch.float32
    )
    images = person_images(options.pictures)
    prompts = [prompt_of(word, "a photo of {}") for word in CLASSES]
    shape = Denoiser(pipe, prompts).shape
    noise = torch.stack([noise_of(seed, SAMPLES, shape) for seed in range(len(images))])
    batched(pipe, images[:1], prompts, noise[:1])  # the first call is slower
    wall = []
    cpu = []
    decisions = []
    for method in METHODS:
        wall_start = time.perf_counter()
        cpu_start = time.process_time()
        decisions.append(method(pipe, images, prompts, noise))
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
    equal = int((decisions[0] == decisions[1]).sum())
    print(
        f"{len(images)} images, {len(PAIRS)} pairs, {SAMPLES} samples; "
        f"alike: {equal} of {decisions[0].size}"
    )
    for clock, (by_pair, by_class) in (("wall time", wall), ("CPU", cpu)):
        print(
            f"pair by pair {by_pair:.1f} s, by class {by_class:.1f} s of {clock}: "
            f"{by_pair / by_class:.1f} times faster"
        )


def person_images(count: int) -> list[Image.Image]:
    """Draw images of persons."""
    requests = [Request("a photo of a person", seed) for seed in range(count)]
    outcomes = PlantedModel().generate(requests)
    return [outcome for outcome in outcomes if isinstance(outcome, Image.Image)]


if __name__ == "__main__":
    main()
