"""A run in a separate process, to be killed, interrupted, or run twice at once.

Usage: worker.py RUN STORE LOG IMAGES DELAY [BYTES]. BYTES limits the size of any file, as a full
disk does.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from doubles import BRIGHT, OPEN, BrightVQA, MeanEmbedder, PatternModel, small_plan, write

from askew.errors import AskewError
from askew.run.live import LiveRun
from askew.run.progress import JsonLines
from askew.store.store import Store
from askew.types import Picture


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


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AskewError as error:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
        sys.exit(1)
