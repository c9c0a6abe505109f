"""Measure the CPU time of VQA answers, with the vision tower once per image and once per question.

    python -m benchmarks.vision_tower [--images 2] [--questions 1,4,8] [--tiny]

The model is BLIP-VQA base with random weights, in single precision on the CPU. The table contains
CPU seconds per image, and their ratio. The answers of both ways are compared. The questions are
open, since with random weights a choice among options needs many walks over their words.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from askew import registry
from askew.prompts.axes import find_axis
from askew.types import Picture, Question
from benchmarks.full_networks import save_blip
from benchmarks.gpu import AXES, noise_images
from benchmarks.markdown import table_row

TOKENS = 4
"""Length of an answer, as of a short word."""


def cpu_seconds(vqa: Any, pictures: Sequence[Picture], questions: Sequence[Question]) -> Any:
    """Return the CPU seconds of the answers, and the answers."""
    began = time.process_time()
    answers = vqa.answer(pictures, questions)
    return time.process_time() - began, answers


def table(images: int, counts: Sequence[int], tiny: bool, folder: Path) -> list[str]:
    """Return the rows of the table, one for each number of questions."""
    pictures = []
    for number, image in enumerate(noise_images(images, 64 if tiny else 512)):
        path = folder / f"{number}.png"
        image.save(path)
        pictures.append(Picture(str(number), str(path), "noise"))
    texts = [question.text for axis in AXES for question in find_axis(axis).questions]
    questions = [Question(text) for text in texts]
    settings: dict[str, Any] = {"device": "cpu", "dtype": "float32", "max_tokens": TOKENS}
    vqa: Any = registry.vqa(f"transformers/{save_blip(folder / 'blip', 'cpu', tiny)}", **settings)
    vqa.answer(pictures[:1], questions[:1])
    tower = vqa._tower
    rows = []
    for count in counts:
        seconds = {}
        answers = {}
        for way in (tower, None):
            vqa._tower = way
            seconds[way], answers[way] = cpu_seconds(vqa, pictures, questions[:count])
        vqa._tower = tower
        rows.append(
            table_row(
                str(count),
                f"{seconds[None] / images:.2f}",
                f"{seconds[tower] / images:.2f}",
                f"{seconds[None] / seconds[tower]:.1f}",
                "equal" if answers[None] == answers[tower] else "not equal",
            )
        )
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--questions", default="1,4,8")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    print(table_row("questions", "per question, s", "per image, s", "ratio", "answers"))
    print(table_row(*["---:"] * 4, "---"))
    counts = [int(count) for count in options.questions.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for row in table(options.images, counts, options.tiny, Path(folder)):
            print(row)


if __name__ == "__main__":
    main()
