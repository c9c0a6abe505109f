"""A run in a separate process, to be killed, interrupted, or run twice at once.

Usage: python -m faults.worker RUN STORE LOG IMAGES DELAY [BYTES]. BYTES limits the size of any file, as a full
disk does.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from askew.errors import AskewError
from askew.run.live import LiveRun
from askew.run.progress import JsonLines
from askew.store.store import Store
from askew.types import Picture
from faults.doubles import (
    BRIGHT,
    OPEN,
    BrightVQA,
    MeanEmbedder,
    PatternModel,
    small_plan,
    write,
)


def main(folder: str, store: str, log: str, images: str, delay: str, limit: str = "") -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    plan = small_plan(int(images))
    model = PatternModel(log=Path(log), delay=float(delay))
    with Store(store) as opened:
        run = LiveRun(Path(folder), opened, plan, progress=JsonLines(sys.stderr))
        outputs = run.pictures(model, plan.texts(), plan.images, plan.seed)
        pictures = [
            entry for row in outputs.values() for entry in row if isinstance(entry, Picture)
        ]
        answers = run.ask(BrightVQA(), pictures, [BRIGHT, OPEN])
        vectors = run.read(MeanEmbedder(), pictures)
        sets = []
        for text, row in outputs.items():
            sets.append({"text": text, "pictures": [entry.id for entry in row]})
        write(run, {"plan_hash": plan.hash, "sets": sets, "answers": answers, "vectors": vectors})


def run(arguments: Sequence[str]) -> None:
    """Call `main`, and print an error as JSON."""
    try:
        main(*arguments)
    except AskewError as error:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
        sys.exit(1)


if __name__ == "__main__":
    run(sys.argv[1:])
