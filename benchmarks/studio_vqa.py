"""Measure how well the studio VQA labels new drawings, and whether it uses the right regions.

    python -m benchmarks.studio_vqa [--count 2000] [--write PAGE]

The script prints a table. --write also updates the instrument's known errors in the package and
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
"""Drawings on which an attribute is painted over; a fifth for occupations.

To find the evidence of an occupation takes 72 drawings.
"""

Counts = NDArray[np.int64]


def confusion(vqa: StudioVQA, scenes: Sequence[Scene], vectors: Vectors, attribute: str) -> Counts:
    """Count true values and answers over the scenes with a person.

    Parameters
    ----------
    vqa
        The VQA model.
    scenes
        The scenes.
    vectors
        Embeddings of the drawings of the scenes.
    attribute
        The attribute.

    Returns
    -------
    ndarray of int
        Counts: (true value, answered value).
    """
    shown = [i for i, scene in enumerate(scenes) if _shows(scene, attribute)]
    answers = vqa.read(vectors[shown], attribute)
    values = VALUES[attribute]
    counts = np.zeros((len(values), len(values)), dtype=np.int64)
    for i, answer in zip(shown, answers, strict=True):
        true_value = getattr(scenes[i], attribute) or NO_OCCUPATION
        counts[values.index(true_value), values.index(answer)] += 1
    return counts


def covered(
    scenes: Sequence[Scene], pixels: NDArray[np.uint8], attribute: str
) -> NDArray[np.uint8]:
    """Return the drawings with everything that shows the attribute painted over in gray."""
    hidden = pixels.copy()
    for i, scene in enumerate(scenes):
        if scene.person:
            hidden[i][evidence(scene, SEED + i, attribute)] = GREY
    return hidden


def accuracy(counts: Counts) -> float:
    """Return the share of correct answers."""
    return float(np.trace(counts) / counts.sum())


def chance(counts: Counts) -> float:
    """Return the share of the most common true value."""
    return float(counts.sum(axis=1).max() / counts.sum())


def person_accuracy(vqa: StudioVQA, scenes: Sequence[Scene], vectors: Vectors) -> float:
    """Return the share of drawings that are labeled correctly as with or without a person."""
    somebody = vqa.sees_somebody(vectors)
    return float(np.mean(somebody == np.array([scene.person for scene in scenes])))


def evaluate(count: int) -> tuple[list[str], dict[str, Counts]]:
    """Return the lines of a Markdown table, and the confusion counts of every attribute."""
    vqa = StudioVQA()
    scenes = uniform_scenes(count, SEED)
    pixels = render(scenes, range(SEED, SEED + count))
    vectors = vqa.embedder.embed_pixels(pixels)
    lines = ["| attribute | right | covered | most common value |", "| --- | ---: | ---: | ---: |"]
    tables = {}
    for attribute in VALUES:
        tables[attribute] = confusion(vqa, scenes, vectors, attribute)
        covered_count = COVERED if attribute != "occupation" else COVERED // 5
        covered_scenes = scenes[:covered_count]
        covered_pixels = covered(covered_scenes, pixels[:covered_count], attribute)
        covered_vectors = vqa.embedder.embed_pixels(covered_pixels)
        hidden = confusion(vqa, covered_scenes, covered_vectors, attribute)
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
    parser.add_argument("--write", type=Path, help="page to update between its two markers")
    options = parser.parse_args()
    lines, tables = evaluate(options.count)
    print("\n".join(lines))
    if options.write:
        counts = {name: table.tolist() for name, table in tables.items()}
        KNOWN_ERRORS.write_text(json.dumps(counts))
        update(options.write, "figures", lines)


def _shows(scene: Scene, attribute: str) -> bool:
    """Check whether the attribute is visible; dark glasses of a blind person hide clear glasses."""
    return scene.person and not (attribute == "glasses" and scene.disability == "blind")


if __name__ == "__main__":
    main()
