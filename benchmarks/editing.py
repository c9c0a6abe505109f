"""Editing by askew against a bare loop over the same image-to-image pipeline.

    python -m benchmarks.editing [--model PATH] [--pictures N] [--repeats R]

Prints wall time and process CPU time of both, and their ratios, which must be at most 1.05. Where
other programs use the machine, CPU time is what counts. Both make the same edits from the same
noise in batches of the same size; askew also opens the sources, encodes and stores every edit
safely on disk.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from askew import registry
from askew.methods.edit.edits import FunctionMaker, edited, wanted_edit
from askew.methods.edit.plan import EditPlan, plan_editing
from askew.models.base import Model
from askew.models.diffusers import editor_of
from askew.models.pipeline import Editor
from askew.run.live import LiveRun
from askew.store.imagefile import opened
from askew.store.store import Store
from askew.types import Picture

STRENGTH = 0.8
WORD = "doctor"
GROUP = "african-american woman"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="studio")
    parser.add_argument("--pictures", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    choice = parser.parse_args()
    torch.set_num_threads(1)
    model = registry.model(choice.model)
    assert isinstance(model, Model)
    editor = editor_of(model, {})
    plan = plan_editing(GROUP, model=choice.model, sources="studio/planted", images=choice.pictures)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store") as store:
        sources = _sources(LiveRun(Path(folder) / "run", store, plan), plan)
        _bare(editor, sources[: editor.batch_size])  # loads and warms up
        ratios = []
        for repeat in range(choice.repeats):
            fresh = Path(folder) / str(repeat)
            bare = _bare(editor, sources)
            ours = _askew(editor, sources, fresh, plan)
            ratios.append((ours.wall / bare.wall, ours.cpu / bare.cpu))
            print(
                f"bare {bare}, askew {ours}; ratio {ratios[-1][0]:.3f}, of CPU {ratios[-1][1]:.3f}",
                flush=True,
            )
    wall, cpu = (sorted(kind)[len(ratios) // 2] for kind in zip(*ratios, strict=True))
    print(
        f"ratio {wall:.3f} of wall time, {cpu:.3f} of CPU (medians of {len(ratios)}; at most 1.05 is wanted)"
    )


def _sources(run: LiveRun, plan: EditPlan) -> list[Picture]:
    source: Any = registry.model(plan.sources)
    made = run.pictures(source, plan.texts(), plan.images, plan.seed)
    return [one for some in made.values() for one in some if isinstance(one, Picture)]


@dataclass(frozen=True)
class Spent:
    """Seconds."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of CPU)"


class Clock:
    """Counts from where it is made."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def spent(self) -> Spent:
        """Since then."""
        return Spent(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def _bare(editor: Editor, sources: list[Picture]) -> Spent:
    """Time of a loop over the pipeline with generators of its own."""
    edits = [wanted_edit(editor, one, k, WORD, STRENGTH, 0) for k, one in enumerate(sources)]
    images = [opened(one.path) for one in sources]
    settings: dict[str, Any] = dict(editor.settings)
    clock = Clock()
    for first in range(0, len(edits), editor.batch_size):
        part = edits[first : first + editor.batch_size]
        editor.network.pipeline(
            prompt=[edit.prompt for edit in part],
            image=images[first : first + editor.batch_size],
            strength=STRENGTH,
            generator=[torch.Generator().manual_seed(edit.seed or 0) for edit in part],
            **settings,
        )
    return clock.spent()


def _askew(editor: Editor, sources: list[Picture], folder: Path, plan: EditPlan) -> Spent:
    """Time of the same edits by a run with an empty store."""
    maker = FunctionMaker(editor.name, editor.batch_size, partial(edited, editor))
    wanted = [wanted_edit(editor, one, k, WORD, STRENGTH, 0) for k, one in enumerate(sources)]
    with Store(folder / "store") as store:
        run = LiveRun(folder / "run", store, plan)
        clock = Clock()
        run.make(maker, wanted)
        return clock.spent()


if __name__ == "__main__":
    main()
