"""Compare the time of generating and storing images by askew with a bare loop over the pipeline.

    python -m benchmarks.generation [--images 24] [--rounds 5] [--model studio]

Both generate the same images. Each round runs both, in alternating order, after a first round that
does not count. The script prints wall and CPU time of both, their ratios by round, and the ratio of
the sums.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from PIL import Image

from askew import registry
from askew.models.base import Model
from askew.models.diffusers.model import DiffusersModel
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.run.live import LiveRun
from askew.store.keys import picture_seed
from askew.store.store import Store
from askew.types import Picture

PROMPTS = ("a photo of a nurse", "a photo of a pilot")

Times = dict[str, np.ndarray]
"""Wall and CPU seconds of the bare loop and of a run."""


def bare(model: DiffusersModel, images: int) -> list[Image.Image]:
    """Generate images as a script would: batch by batch, in memory."""
    wanted = [(prompt, picture_seed(0, prompt, k)) for prompt in PROMPTS for k in range(images)]
    bare_images: list[Image.Image] = []
    for i in range(0, len(wanted), model.batch_size):
        part = wanted[i : i + model.batch_size]
        noise = [torch.Generator().manual_seed(seed) for _, seed in part]
        prompts = [prompt for prompt, _ in part]
        bare_images += model.pipeline(prompts, generator=noise, **model.settings).images
    return bare_images


def stored(model: Model, images: int) -> list[Image.Image]:
    """Generate the same images by a run: encoded, written to disk and indexed."""
    plan = survey_plan(Plan, PROMPTS, axes=["gender"], model=model.name, images=images)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store") as store:
        pictures = LiveRun(Path(folder) / "run", store, plan).pictures(model, PROMPTS, images, 0)
        stored = [p for prompt in PROMPTS for p in pictures[prompt] if isinstance(p, Picture)]
        return [Image.open(picture.path).copy() for picture in stored]


def timed(work: Callable[[], Sequence[Image.Image]]) -> tuple[np.ndarray, Sequence[Image.Image]]:
    """Return wall and CPU seconds, and the images."""
    wall = time.perf_counter()
    cpu = time.process_time()
    product = work()
    return np.array([time.perf_counter() - wall, time.process_time() - cpu]), product


def compare(model: DiffusersModel, images: int, backward: bool) -> Times:
    """Time both, and check that the images are equal.

    Parameters
    ----------
    model
        The model.
    images
        Number of images of each prompt.
    backward
        True if the bare loop comes second.
    """
    methods: list[tuple[str, Callable[[], Sequence[Image.Image]]]] = [
        ("bare", lambda: bare(model, images)),
        ("stored", lambda: stored(cast(Model, model), images)),
    ]
    if backward:
        methods.reverse()
    times = {}
    products = {}
    for name, work in methods:
        times[name], products[name] = timed(work)
    for a, b in zip(products["bare"], products["stored"], strict=True):
        if a.tobytes() != b.tobytes():
            raise SystemExit("bare loop and askew generated different images")
    return times


def main() -> None:
    """Print the times and their ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--images", type=int, default=24, help="number of images for each of two prompts"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="studio")
    options = parser.parse_args()
    model = cast(DiffusersModel, registry.model(options.model))
    model.pipeline.set_progress_bar_config(disable=True)
    compare(model, options.images, backward=True)
    rounds = []
    for turn in range(1, options.rounds + 1):
        times = compare(model, options.images, backward=turn % 2 == 0)
        rounds.append(times)
        wall, cpu = times["stored"] / times["bare"]
        print(f"round {turn}: wall ratio {wall:.3f}, CPU ratio {cpu:.3f}")
    total = {}
    for name in ("bare", "stored"):
        total[name] = np.sum([times[name] for times in rounds], axis=0)
        wall, cpu = total[name]
        print(f"{name:<7} {wall:.1f} s wall, {cpu:.1f} s CPU")
    wall, cpu = total["stored"] / total["bare"]
    images = 2 * options.images
    print(f"ratio   {wall:.3f} wall, {cpu:.3f} CPU, {images} images, {options.rounds} rounds")


if __name__ == "__main__":
    main()
