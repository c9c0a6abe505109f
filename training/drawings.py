"""Training images, which are drawings of scenes with uniform and independent attributes.

One array on disk stores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from askew.studio.drawing import draw
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene

SIZE = 128
WITHOUT_PERSON = 0.03
WITHOUT_OCCUPATION = 0.06

Pixels = NDArray[np.uint8]


def uniform_scene(rng: Random) -> Scene:
    """Draw a scene with uniform, independent attributes, except combinations that cannot occur."""
    values = {name: rng.choice(options) for name, options in ATTRIBUTES.items()}
    if values["disability"] == "blind":
        values["glasses"] = "no glasses"
    person = rng.random() >= WITHOUT_PERSON
    occupation = rng.choice(list(OCCUPATIONS)) if rng.random() >= WITHOUT_OCCUPATION else None
    return Scene(**values, occupation=occupation if person else None, person=person)


def uniform_scenes(count: int, seed: int) -> list[Scene]:
    """Return `count` scenes, the same for the same seed."""
    rng = Random(seed)
    return [uniform_scene(rng) for _ in range(count)]


def twins(count: int, seed: int, attribute: str, values: tuple[str, str]) -> list[Scene]:
    """Return `count` pairs of consecutive scenes that differ in one attribute only.

    Both scenes of a pair are drawn with one seed.
    """
    rng = Random(f"{seed} {attribute}")
    scenes: list[Scene] = []
    while len(scenes) < 2 * count:
        scene = uniform_scene(rng)
        if scene.person and getattr(scene, attribute) in values:
            scenes += [
                Scene.of({**scene.attributes(), attribute: value}, scene.occupation)
                for value in values
            ]
    return scenes


def render(scenes: Sequence[Scene], seeds: Sequence[int]) -> Pixels:
    """Draw every scene with its seed: (scenes, 128, 128, 3)."""
    drawings = [draw(scene, seed) for scene, seed in zip(scenes, seeds, strict=True)]
    return np.stack([np.asarray(drawing) for drawing in drawings])


def cached(
    path: Path, scenes: Sequence[Scene], seeds: Sequence[int], processes: int = 1, part: int = 500
) -> Pixels:
    """Return the drawings of `scenes`, rendered once into the file `path` and then read from it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        unfinished = path.with_suffix(".part")
        pixels = np.lib.format.open_memmap(unfinished, "w+", np.uint8, (len(scenes), SIZE, SIZE, 3))
        starts = range(0, len(scenes), part)
        jobs = ((scenes[start : start + part], seeds[start : start + part]) for start in starts)
        with get_context("fork").Pool(processes) as pool:
            for start, block in zip(starts, pool.starmap(render, jobs, chunksize=1), strict=True):
                pixels[start : start + len(block)] = block
        pixels.flush()
        unfinished.replace(path)
    drawings: Pixels = np.load(path, mmap_mode="r")
    return drawings
