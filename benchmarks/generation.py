"""Time of askew's generation, with storing, over a bare loop on the same pipeline that makes the
same pictures.

    python -m benchmarks.generation [--images 24] [--rounds 5] [--model studio]

Each round runs both, in turns first and second, after a first round that does not count. Prints
wall and CPU time of both, their ratios by round, and the ratio of the sums.
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


def bare(model: DiffusersModel, images: int) -> list[Image.Image]:
    """What a script would do: the pipeline on one slice of prompts after another, the pictures kept
    in memory.
    """
    wanted = [(prompt, picture_seed(0, prompt, k)) for prompt in PROMPTS for k in range(images)]
    bare_images: list[Image.Image] = []
    for i in range(0, len(wanted), model.batch_size):
        part = wanted[i : i + model.batch_size]
        noise = [torch.Generator().manual_seed(seed) for _, seed in part]
        bare_images += model.pipeline(
            [prompt for prompt, _ in part], generator=noise, **model.settings
        ).images
    return bare_images


def stored(model: Model, images: int) -> list[Image.Image]:
    """The same by a run: encoded, written to disk and indexed."""
    plan = survey_plan(Plan, PROMPTS, axes=["gender"], model=model.name, images=images)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store") as store:
        pictures = LiveRun(Path(folder) / "run", store, plan).pictures(model, PROMPTS, images, 0)
        stored = [p for prompt in PROMPTS for p in pictures[prompt] if isinstance(p, Picture)]
        return [Image.open(picture.path).copy() for picture in stored]


def timed(work: Callable[[], Sequence[Image.Image]]) -> tuple[np.ndarray, Sequence[Image.Image]]:
    """Wall and CPU seconds, and the pictures."""
    wall = time.perf_counter()
    cpu = time.process_time()
    product = work()
    return np.array([time.perf_counter() - wall, time.process_time() - cpu]), product


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=24, help="of each of two prompts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="studio")
    choice = parser.parse_args()
    model = cast(DiffusersModel, registry.model(choice.model))
    model.pipeline.set_progress_bar_config(disable=True)
    seconds: dict[str, list[np.ndarray]] = {"bare": [], "stored": []}
    ways: list[tuple[str, Callable[[], Sequence[Image.Image]]]] = [
        ("bare", lambda: bare(model, choice.images)),
        ("stored", lambda: stored(cast(Model, model), choice.images)),
    ]
    for turn in range(choice.rounds + 1):
        products = {}
        for name, work in ways if turn % 2 else ways[::-1]:
            took, products[name] = timed(work)
            if turn:
                seconds[name].append(took)
        same = all(
            a.tobytes() == b.tobytes()
            for a, b in zip(products["bare"], products["stored"], strict=True)
        )
        if not same:
            raise SystemExit("the two made different pictures")
        if turn:
            ratio = seconds["stored"][-1] / seconds["bare"][-1]
            print(f"round {turn}: wall ratio {ratio[0]:.3f}, CPU ratio {ratio[1]:.3f}")
    total = {name: np.sum(rows, axis=0) for name, rows in seconds.items()}
    for name, (wall, cpu) in total.items():
        print(f"{name:<7} {wall:.1f} s wall, {cpu:.1f} s CPU")
    ratio = total["stored"] / total["bare"]
    print(
        f"ratio   {ratio[0]:.3f} wall, {ratio[1]:.3f} CPU, {2 * choice.images} pictures, {choice.rounds} rounds"
    )


if __name__ == "__main__":
    main()
