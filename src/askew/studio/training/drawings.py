"""Training pictures: drawings of scenes whose attributes are uniform and independent, kept on disk as one array."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from askew.studio.drawing import draw
from askew.studio.occupations import OCCUPATIONS
from askew.studio.scene import ATTRIBUTES, Scene

SIZE = 128
WITHOUT_PERSON = 0.03
WITHOUT_OCCUPATION = 0.06

Pixels = NDArray[np.uint8]


def uniform_scene(rng: Random) -> Scene:
    """A scene with every attribute drawn uniformly and independently, but for what a scene forbids."""
    values = {name: rng.choice(options) for name, options in ATTRIBUTES.items()}
    if values["disability"] == "blind":
        values["glasses"] = "no glasses"
    person = rng.random() >= WITHOUT_PERSON
    occupation = rng.choice(list(OCCUPATIONS)) if rng.random() >= WITHOUT_OCCUPATION else None
    return Scene(**values, occupation=occupation if person else None, person=person)


def uniform_scenes(count: int, seed: int) -> list[Scene]:
    """`count` scenes, the same for the same seed."""
    rng = Random(seed)
    return [uniform_scene(rng) for _ in range(count)]


def render(scenes: Sequence[Scene], first_seed: int) -> Pixels:
    """(scenes, 128, 128, 3). Scene i is drawn with seed `first_seed` + i."""
    return np.stack([np.asarray(draw(scene, first_seed + i)) for i, scene in enumerate(scenes)])


def cached(folder: Path, count: int, seed: int, processes: int = 1, part: int = 2000) -> tuple[Pixels, list[Scene]]:
    """`count` drawings and their scenes, rendered once into `folder` and then read from it."""
    scenes = uniform_scenes(count, seed)
    folder.mkdir(parents=True, exist_ok=True)
    path, note = folder / f"drawings-{seed}-{count}.npy", folder / f"drawings-{seed}-{count}.json"
    if not note.exists():
        pixels = np.lib.format.open_memmap(path, "w+", np.uint8, (count, SIZE, SIZE, 3))
        starts = range(0, count, part)
        with get_context("fork").Pool(processes) as pool:
            jobs = ((scenes[start : start + part], seed * count + start) for start in starts)
            for start, block in zip(starts, pool.starmap(render, jobs, chunksize=1), strict=True):
                pixels[start : start + len(block)] = block
        pixels.flush()
        note.write_text(json.dumps({"count": count, "seed": seed, "first": asdict(scenes[0])}))
    return np.load(path, mmap_mode="r"), scenes
