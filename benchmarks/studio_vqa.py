"""How well the studio VQA reads fresh drawings, and whether it reads them in the right place.

    python -m benchmarks.studio_vqa [--count 2000] [--write PAGE]

Prints a table; --write also updates the instrument's known errors in the package and
docs/reference/studio.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import Vectors
from askew.measure.studio import KNOWN_ERRORS, VALUES, StudioVQA
from askew.studio.caption import NO_OCCUPATION
from askew.studio.scene import Scene
from benchmarks.evidence import evidence
from benchmarks.marked_page import update
from training.drawings import render, uniform_scenes

SEED = 31_415_926
GREY = 127
COVERED = 500
"""Drawings on which an attribute is painted over; a fifth for occupations, whose evidence takes 72
drawings to find.
"""


Counts = NDArray[np.int64]


def confusion(vqa: StudioVQA, scenes: Sequence[Scene], vectors: Vectors, attribute: str) -> Counts:
    """(true value, answered value) over the scenes that show somebody, given the embeddings of
    their drawings.
    """
    shown = [i for i, scene in enumerate(scenes) if _shows(scene, attribute)]
    answers = vqa.read(vectors[shown], attribute)
    values = VALUES[attribute]
    counts = np.zeros((len(values), len(values)), dtype=np.int64)
    for i, answer in zip(shown, answers, strict=True):
        counts[
            values.index(getattr(scenes[i], attribute) or NO_OCCUPATION), values.index(answer)
        ] += 1
    return counts


def covered(
    scenes: Sequence[Scene], pixels: NDArray[np.uint8], attribute: str
) -> NDArray[np.uint8]:
    """The drawings with everything that shows the attribute painted over in grey."""
    hidden = pixels.copy()
    for i, scene in enumerate(scenes):
        if scene.person:
            hidden[i][evidence(scene, SEED + i, attribute)] = GREY
    return hidden


def accuracy(counts: Counts) -> float:
    """Share of right answers."""
    return float(np.trace(counts) / counts.sum())


def chance(counts: Counts) -> float:
    """Share of right answers of someone who always gives the commonest true value."""
    return float(counts.sum(axis=1).max() / counts.sum())


def person_accuracy(vqa: StudioVQA, scenes: Sequence[Scene], vectors: Vectors) -> float:
    """Share of drawings of which it is told rightly whether they show somebody."""
    somebody = vqa.sees_somebody(vectors)
    return float(np.mean(somebody == np.array([scene.person for scene in scenes])))


def evaluate(count: int) -> tuple[list[str], dict[str, Counts]]:
    """Lines of a table in Markdown, and the confusion counts of every attribute."""
    vqa = StudioVQA()
    scenes = uniform_scenes(count, SEED)
    pixels = render(scenes, range(SEED, SEED + count))
    vectors = vqa.embedder.embed_pixels(pixels)
    lines = ["| attribute | right | covered | most common value |", "| --- | ---: | ---: | ---: |"]
    tables = {}
    for attribute in VALUES:
        tables[attribute] = confusion(vqa, scenes, vectors, attribute)
        covered_count = COVERED if attribute != "occupation" else COVERED // 5
        left_over = vqa.embedder.embed_pixels(
            covered(scenes[:covered_count], pixels[:covered_count], attribute)
        )
        hidden = confusion(vqa, scenes[:covered_count], left_over, attribute)
        right = accuracy(tables[attribute])
        left = accuracy(hidden)
        guess = chance(tables[attribute])
        lines.append(f"| {attribute.replace('_', ' ')} | {right:.1%} | {left:.1%} | {guess:.1%} |")
    lines.append(f"| a person or nobody | {person_accuracy(vqa, scenes, vectors):.1%} | | |")
    return lines, tables


def main() -> None:
    """Evaluate from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--write", type=Path, help="the page to update between its two markers")
    choice = parser.parse_args()
    lines, tables = evaluate(choice.count)
    print("\n".join(lines))
    if choice.write:
        KNOWN_ERRORS.write_text(
            json.dumps({name: table.tolist() for name, table in tables.items()})
        )
        update(choice.write, "figures", lines)


def _shows(scene: Scene, attribute: str) -> bool:
    """A blind person's dark glasses hide whether clear ones would be worn."""
    return scene.person and not (attribute == "glasses" and scene.disability == "blind")


if __name__ == "__main__":
    main()
