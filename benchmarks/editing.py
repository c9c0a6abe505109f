"""Compare the time of editing by askew with a bare loop over the same image-to-image pipeline.

    python -m benchmarks.editing [--model PATH] [--pictures N] [--repeats R]

The script prints wall time and process CPU time of both, and their ratios, which must be at most
1.05. Where other programs use the machine, CPU time counts. Both make the same edits from the same
noise in batches of the same size. askew also opens the input images, and encodes and stores every
edit safely on disk.
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
from askew.methods.edit.edits import EditPictureRequest, FunctionMaker, edited, wanted_edit
from askew.methods.edit.plan import EditPlan, plan_editing
from askew.models.base import Model
from askew.models.editors import editor_of
from askew.models.pipeline import PipelineEditor
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
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = registry.model(options.model)
    assert isinstance(model, Model)
    editor = editor_of(model, {})
    assert isinstance(editor, PipelineEditor)
    plan = plan_editing(
        GROUP, model=options.model, sources="studio/planted", images=options.pictures
    )
    ratios = []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store") as store:
        sources = _sources(LiveRun(Path(folder) / "run", store, plan), plan)
        _bare(editor, sources[: editor.batch_size])  # loads and warms up
        for repeat in range(options.repeats):
            bare = _bare(editor, sources)
            ours = _askew(editor, sources, Path(folder) / str(repeat), plan)
            wall_ratio = ours.wall / bare.wall
            cpu_ratio = ours.cpu / bare.cpu
            ratios.append((wall_ratio, cpu_ratio))
            print(
                f"bare {bare}, askew {ours}; ratio {wall_ratio:.3f}, of CPU {cpu_ratio:.3f}",
                flush=True,
            )
    wall, cpu = (sorted(values)[len(ratios) // 2] for values in zip(*ratios, strict=True))
    print(
        f"ratio {wall:.3f} of wall time, {cpu:.3f} of CPU "
        f"(medians of {len(ratios)}; the goal is at most 1.05)"
    )


def _sources(run: LiveRun, plan: EditPlan) -> list[Picture]:
    """Return the input images."""
    source: Any = registry.model(plan.sources)
    sources: list[Picture] = []
    for outcomes in run.pictures(source, plan.texts(), plan.images, plan.seed).values():
        sources += [outcome for outcome in outcomes if isinstance(outcome, Picture)]
    return sources


def _requests(editor: PipelineEditor, sources: list[Picture]) -> list[EditPictureRequest]:
    return [wanted_edit(editor, source, k, WORD, STRENGTH, 0) for k, source in enumerate(sources)]


@dataclass(frozen=True)
class Spent:
    """Wall time and CPU time in seconds."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of CPU)"


class Clock:
    """Clock that starts when it is created."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def spent(self) -> Spent:
        """Return the time since the start."""
        wall = time.perf_counter() - self._wall
        return Spent(wall=wall, cpu=time.process_time() - self._cpu)


def _bare(editor: PipelineEditor, sources: list[Picture]) -> Spent:
    """Return the time of a loop over the pipeline."""
    edits = _requests(editor, sources)
    images = [opened(source.path) for source in sources]
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


def _askew(editor: PipelineEditor, sources: list[Picture], folder: Path, plan: EditPlan) -> Spent:
    """Return the time of the same edits by a run with an empty store."""
    maker = FunctionMaker(editor.name, editor.batch_size, partial(edited, editor))
    wanted = _requests(editor, sources)
    with Store(folder / "store") as store:
        run = LiveRun(folder / "run", store, plan)
        clock = Clock()
        run.make(maker, wanted)
        return clock.spent()


if __name__ == "__main__":
    main()
