"""Measure what the engines cost, with workers that sleep as if a GPU worked, and on real images.

    python -m benchmarks.engines [--engines threads,ray] [--workers 1,2,4,8] [--images 96]
        [--milliseconds 250] [--bytes 1400000] [--audit 0] [--encode]

`sleeping`: batches of 4 images whose model sleeps. The table contains the ideal wall time over the
measured one, the bound on this ratio from the last batches alone, the CPU time of the driver per
image, the part of this time that the same image files cost without askew, and the load of the
machine. `--bytes` is the size of an image file. The files are in a folder of `$TMPDIR`. On ext4,
creating files beside files that were deleted in the last minutes costs up to .9 ms per file.

`--audit IMAGES`: an audit of the planted model with this number of images per set, by each engine
and by one process in alternation: CPU milliseconds per image of all processes, without the start of
the engine. Wall times of busy workers depend on the load, so only CPU times are compared.

`--encode`: a model that sleeps as a GPU would, and returns images of 1024 x 1024 pixels, which are
encoded and stored. The table contains the share of the time in which the model is busy.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from PIL import Image

from askew.engine.opened import opened_engine
from askew.engine.turn import end_turn
from askew.models.base import Request
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.prompts.axes import find_axis
from askew.registry import model as model_named
from askew.registry import vqa as vqa_named
from askew.run.base import MakerOutput
from askew.run.live import LiveRun
from askew.run.work import unique
from askew.store.imagefile import EncodedPicture
from askew.store.requests import PictureRequest
from askew.store.store import Store
from benchmarks.markdown import table_row

BATCH = 4
SIDE = 1024
PROMPTS = [f"a photo of a {word}" for word in "nurse doctor chef pilot".split()]
AXES = ("gender", "age")


@dataclass(frozen=True)
class SleepingMaker:
    """A maker whose images are random bytes, after a pause for each image.

    Attributes
    ----------
    seconds
        Pause per image.
    size
        Bytes of an image file.
    """

    seconds: float
    size: int
    name: str = "sleeping"
    batch_size: int = BATCH
    sees: frozenset[str] = frozenset()

    def make(self, wanted: Sequence[PictureRequest]) -> list[MakerOutput]:
        """Return one batch of images."""
        end_turn()  # each worker has a GPU of its own
        time.sleep(self.seconds * len(wanted))
        return [MakerOutput(self._image(request.key)) for request in wanted]

    def _image(self, key: str) -> EncodedPicture:
        seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
        return EncodedPicture(np.random.default_rng(seed).bytes(self.size), ".png")


class SleepingModel:
    """A model that sleeps as if a GPU worked, and returns images of 1024 x 1024 pixels.

    Parameters
    ----------
    seconds
        Pause per image.
    """

    name = "sleeping"
    revision = "1"
    batch_size = BATCH
    settings: Mapping[str, Any] = {}

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        rng = np.random.default_rng(0)
        coarse = Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.int16)
        noise = rng.integers(-3, 4, smooth.shape)
        self._pixels = np.clip(smooth + noise, 0, 255).astype(np.uint8)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image]:
        """Return an image per request, which differ in one pixel."""
        time.sleep(self._seconds * len(requests))
        images = []
        for request in requests:
            pixels = self._pixels.copy()
            pixels[0, 0, 0] = (request.number or 0) % 256
            images.append(Image.fromarray(pixels))
        return images


def encoding(engine: str, workers: int, images: int, seconds: float, folder: Path) -> list[str]:
    """Return a row of the table of models whose images are encoded."""
    model: Any = SleepingModel(seconds)
    with opened_engine(engine, workers) as opened, Store(folder / f"{engine}-e") as store:
        live = LiveRun(folder / f"run-{engine}-e", store, plan(), engine=opened)
        processor = time.process_time()
        began = time.monotonic()
        live.pictures(model, ["a"], images, 0)
        wall = time.monotonic() - began
        processor = time.process_time() - processor
    share = images * seconds / wall
    return [
        engine,
        str(workers),
        f"{share:.2f}",
        f"{1000 * processor / images:.0f}",
        f"{os.getloadavg()[0]:.1f}",
    ]


@dataclass(frozen=True)
class Cost:
    """Wall seconds, and CPU seconds of this process and of all processes of an engine."""

    wall: float
    driver: float
    total: float


def sleeping(
    engine: str, workers: int, images: int, seconds: float, size: int, folder: Path
) -> list[str]:
    """Return a row of the table of sleeping workers."""
    requests = [
        PictureRequest(key=f"{number:064x}", prompt="a", seed=number, model="sleeping")
        for number in range(images)
    ]
    maker = SleepingMaker(seconds, size)
    with opened_engine(engine, workers) as opened, Store(folder / f"{engine}{workers}") as store:
        live = LiveRun(folder / f"run-{engine}{workers}", store, plan(), engine=opened)
        while len(getattr(opened, "processes", range(workers))) < workers:
            opened.welcome(1.0)
        warm = [PictureRequest(key=f"f{k:063x}", prompt="a", seed=k, model="s") for k in range(64)]
        for part in (warm[:32], warm[32:]):  # the second call reads the plan that the first wrote
            live.make(SleepingMaker(0.0, 10), part)
        before = os.times()
        began = time.monotonic()
        live.make(maker, requests)
        wall = time.monotonic() - began
        after = os.times()
    driver = (after.user - before.user) + (after.system - before.system)
    files = files_alone(images, size, folder / f"files-{engine}{workers}")
    batches = ceil(images / BATCH)
    bound = batches / workers / ceil(batches / workers)
    ideal = images * seconds / workers
    return [
        engine,
        str(workers),
        f"{ideal / wall:.2f}",
        f"{bound:.2f}",
        f"{1000 * driver / images:.2f}",
        f"{1000 * files / images:.2f}",
        f"{os.getloadavg()[0]:.1f}",
    ]


def files_alone(count: int, size: int, folder: Path) -> float:
    """Return the CPU seconds for writing, flushing and renaming files without askew."""
    folder.mkdir()
    data = bytes(size)
    before = time.process_time()
    for number in range(count):
        part = folder / f"{number}.part"
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.rename(folder / f"{number}.png")
    return time.process_time() - before


def plan() -> Plan:
    """Return a plan of some prompts."""
    return survey_plan(Plan, PROMPTS, axes=AXES, model="studio/planted", images=2, vqa=["studio"])


def audited(opened: Any, images: int, folder: Path) -> Cost:
    """Return the cost of making and labeling images of all prompts."""
    with Store(folder / "store") as store:
        live = LiveRun(folder / "run", store, plan(), engine=opened)
        model: Any = model_named("studio/planted")
        vqa = vqa_named("studio")
        questions = [question for name in AXES for question in find_axis(name).questions]
        began = time.monotonic()
        before = cpu_seconds()
        by_text = live.pictures(model, PROMPTS, images, 0)
        live.ask(vqa, unique(picture for row in by_text.values() for picture in row), questions)
        after = cpu_seconds()
        wall = time.monotonic() - began
    return Cost(wall=wall, driver=after[0] - before[0], total=sum(after) - sum(before))


def cpu_seconds() -> tuple[float, float]:
    """Return the CPU seconds of this process, and of its descendants that still run."""
    here = psutil.Process()
    others = 0.0
    for process in descendants(here):
        times = process.cpu_times()
        others += times.user + times.system
    here_times = here.cpu_times()
    return here_times.user + here_times.system, others


def descendants(process: psutil.Process) -> Iterator[psutil.Process]:
    """Yield the processes that a process started."""
    for child in process.children(recursive=True):
        if child.is_running():
            yield child


def audits(engines: Sequence[tuple[str, int]], images: int, repeats: int, folder: Path) -> None:
    """Print the CPU time per image by each engine, over that of one process."""
    print(table_row("engine", "workers", "CPU ms per image", "driver", "over local", "load"))
    print(table_row("---", *["---:"] * 5))
    count = images * len(PROMPTS)
    contexts: dict[tuple[str, int], AbstractContextManager[Any]] = {("local", 1): opened_engine()}
    for name, workers in engines:
        contexts[name, workers] = opened_engine(name, workers)
    costs: dict[tuple[str, int], list[Cost]] = {}
    for place, context in contexts.items():
        with context as opened:
            audited(opened, 16, folder / f"warm-{place[0]}{place[1]}")
            for repeat in range(repeats):
                where = folder / f"{place[0]}{place[1]}-{repeat}"
                costs.setdefault(place, []).append(audited(opened, images, where))
    local = np.median([cost.total for cost in costs["local", 1]])
    for (name, workers), of_place in costs.items():
        total = np.median([cost.total for cost in of_place])
        driver = np.median([cost.driver for cost in of_place])
        print(
            table_row(
                name,
                str(workers),
                f"{1000 * total / count:.2f}",
                f"{1000 * driver / count:.2f}",
                f"{total / local:.2f}",
                f"{os.getloadavg()[0]:.1f}",
            ),
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", default="threads,ray")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--milliseconds", type=float, default=250)
    parser.add_argument("--bytes", type=int, default=1_400_000)
    parser.add_argument("--audit", type=int, default=0)
    parser.add_argument("--encode", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    places = [
        (engine, int(workers))
        for engine in options.engines.split(",")
        for workers in options.workers.split(",")
    ]
    with tempfile.TemporaryDirectory() as folder:
        if options.audit:
            audits(places, options.audit, options.repeats, Path(folder))
            return
        if options.encode:
            heads = ("engine", "workers", "model busy", "CPU ms per image", "load")
            print(table_row(*heads))
            print(table_row("---", *["---:"] * 4))
            for engine, workers in (("local", 1), ("threads", 2), ("threads", 4)):
                seconds = options.milliseconds / 1000
                where = Path(folder) / str(workers)
                print(table_row(*encoding(engine, workers, options.images, seconds, where)))
            return
        columns = (
            "engine",
            "workers",
            "ideal / wall",
            "bound",
            "driver ms per image",
            "files",
            "load",
        )
        print(table_row(*columns))
        print(table_row("---", *["---:"] * 6))
        for engine, workers in places:
            row = sleeping(
                engine,
                workers,
                options.images,
                options.milliseconds / 1000,
                options.bytes,
                Path(folder),
            )
            print(table_row(*row), flush=True)


if __name__ == "__main__":
    main()
