"""Measure time and memory of a store that grows.

    python -m benchmarks.store [--counts 1000,10000,100000] [--folder /tmp]

For each count, a separate process stores as many images of 20 kB in batches of 16, and an answer to
each. The script prints the time per stored image, and its ratio to the time of bare files with the
same flushing. It also prints the seconds of CPU to plan a finished run as --dry-run does, to resume
it and to check it, and the peak memory. Flushing takes most of the time, so use a disk that nothing
else uses. docs/reference/promises.md states the measured times of 100,000 images.

A second row reports a folder of as many image files of 100 bytes. Its plan opens the folder and
finds the digest of each file. The dry run also looks every image and answer up in the store, as the
dry run of a model does.
"""

from __future__ import annotations

import argparse
import io
import math
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from askew.models.base import Collection, Request, Setting
from askew.models.file_memory import FRESH, remember_files
from askew.models.folder import create
from askew.plan import RunPlan
from askew.run.base import Outcome, Run
from askew.run.check import check
from askew.run.count import CountingRun
from askew.run.live import LiveRun
from askew.run.work import wanted_pictures
from askew.store.files import write_whole
from askew.store.imagefile import EncodedPicture
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Missing, Picture, Question, slices
from benchmarks.markdown import table_row

BATCH = 16
SIZE = 20_000
BRIGHT = Question("Is it bright?", ("no", "yes"), "light")


class StoredModel:
    """Model whose images are stored already."""

    name = "benchmark/none"
    revision = "1"
    batch_size = BATCH

    def __init__(self) -> None:
        self.settings: Mapping[str, Setting] = {}

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Fail, since no image is missing."""
        raise NotImplementedError

    def unknown_words(self, prompt: str) -> list[str]:
        """Return no words."""
        return []


class AffirmativeVQA:
    """Instrument that answers "yes" to every question."""

    name = fingerprint = "benchmark/yes"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return "yes" for every image and question."""
        return [["yes"] * len(questions) for _ in pictures]


def flow(run: Run, count: int) -> None:
    """Request images and answers, as a method does."""
    images: list[Outcome] = run.pictures(StoredModel(), ["a prompt"], count, 0)["a prompt"]
    run.ask(AffirmativeVQA(), images, [BRIGHT])


def batch(k: int) -> list[EncodedPicture]:
    """Return the files of batch k, which differ from all other files."""
    data = np.random.default_rng(0).bytes(SIZE)
    return [EncodedPicture((k * BATCH + j).to_bytes(8, "big") + data) for j in range(BATCH)]


def store_all(store: Store, wanted: Sequence[PictureRequest]) -> None:
    """Store every image, batch by batch."""
    for k, part in enumerate(slices(wanted, BATCH)):
        store.put_pictures(part, batch(k)[: len(part)], {})


def write_all(folder: Path, count: int) -> None:
    """Write as many bare files."""
    bare = folder / "bare"
    bare.mkdir()
    for k in range(math.ceil(count / BATCH)):
        files = {bare / f"{k}-{j}": image.data for j, image in enumerate(batch(k))}
        write_whole(files, folder)


@dataclass(frozen=True)
class Timing:
    """Seconds of a store.

    Attributes
    ----------
    stored
        Wall time to store the images.
    bare
        Wall time to write bare files with the same flushing; None for a folder.
    first_plan, plan
        CPU time to open the source and its digests, the first time and later; 0 for a model.
    counted, resumed, checked
        CPU time to count the work, to resume the run, and to check it.
    """

    stored: float
    bare: float | None
    first_plan: float
    plan: float
    counted: float
    resumed: float
    checked: float

    def cells(self, title: str, count: int) -> list[str]:
        """Return a row of the table."""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        ratio = "" if self.bare is None else f"{self.stored / self.bare:.2f}"
        plans = (self.first_plan, self.plan, self.counted, self.resumed, self.checked)
        each = f"{1000 * self.stored / count:.2f} ms"
        seconds = [f"{time:.1f} s" for time in plans]
        return [title, f"{count:,}", each, ratio, *seconds, f"{memory:.0f} MB"]


def measure_model(count: int, folder: Path) -> Timing:
    """Measure a store of a model's images."""
    bare = timed(lambda: write_all(folder, count))
    wanted = wanted_pictures(StoredModel(), ["a prompt"], count, 0)
    plan = RunPlan()

    def store_and_ask() -> float:
        with Store(folder / "store") as store:
            stored = timed(lambda: store_all(store, wanted))
            store.plan_pictures(plan.hash, wanted)
            flow(LiveRun(folder / "run", store, plan), count)
        return stored

    return Timing(
        stored=store_and_ask(),
        bare=bare,
        first_plan=0.0,
        plan=0.0,
        counted=cpu(lambda: count_again(folder, lambda run: flow(run, count))),
        resumed=cpu(lambda: resume(folder, lambda run: flow(run, count))),
        checked=cpu(lambda: check_again(folder)),
    )


def measure_folder(count: int, folder: Path) -> Timing:
    """Measure a store of the images of a folder."""
    write_images(folder / "images", count)
    time.sleep(FRESH / 1e9)

    def opened() -> Collection:
        with Store(folder / "store", create=False) as store, remember_files(store.digests):
            collection = cast("Collection", create(str(folder / "images")))
            assert collection.revision
        return collection

    def import_all() -> None:
        with Store(folder / "store") as store, remember_files(store.digests):
            collection = cast("Collection", create(str(folder / "images")))
            collect(LiveRun(folder / "run", store, RunPlan()), collection)

    first_plan = cpu(opened)
    stored = timed(import_all)
    collection = opened()
    return Timing(
        stored=stored,
        bare=None,
        first_plan=first_plan,
        plan=cpu(opened),
        counted=cpu(lambda: count_again(folder, lambda run: collect(run, collection))),
        resumed=cpu(lambda: resume(folder, lambda run: collect(run, collection))),
        checked=cpu(lambda: check_again(folder)),
    )


def collect(run: Run, collection: Collection) -> None:
    """Collect images and request answers, as an audit of a folder does."""
    images = [image for _, image in run.collect(collection)]
    run.ask(AffirmativeVQA(), images, [BRIGHT])


def write_images(folder: Path, count: int) -> None:
    """Write image files in ten folders. They differ by a comment."""
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (2, 2, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "PNG")
    header = buffer.getvalue()[:33]
    rest = buffer.getvalue()[33:]
    for k in range(count):
        text = b"tEXtnumber\0%d" % k
        sizes = struct.pack(">I", len(text) - 4), struct.pack(">I", zlib.crc32(text))
        file = folder / f"prompt {k % 10}" / f"{k}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(header + sizes[0] + text + sizes[1] + rest)


def count_again(folder: Path, work: Callable[[Run], None]) -> None:
    """Count the work of the run, as a dry run does."""
    with Store(folder / "store", create=False) as store:
        counted = CountingRun(store)
        work(counted)
        assert counted.work.left == 0, counted.lines()


def resume(folder: Path, work: Callable[[Run], None]) -> None:
    """Repeat the finished run."""
    with Store(folder / "store") as store:
        work(LiveRun(folder / "run", store, RunPlan()))


def check_again(folder: Path) -> None:
    """Check the run, as `askew check` does."""
    with Store(folder / "store", create=False) as store:
        # the plan of this benchmark belongs to no method, which is a fault
        report = check(folder / "run", store)
        assert report.left == 0, report.lines()
        assert len(report.faults) == 1, report.lines()


def cpu(work: Callable[[], object]) -> float:
    """Return the seconds of CPU of a call."""
    return timed(work, time.process_time)


MEASURES: Mapping[str, Callable[[int, Path], Timing]] = {
    "model": measure_model,
    "folder": measure_folder,
}

HEADER = (
    "source",
    "images",
    "a stored image",
    "over bare files",
    "first plan",
    "plan",
    "dry run",
    "resuming",
    "checking",
    "memory",
)


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of a call."""
    start = clock()
    work()
    return clock() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", default="1000,10000,100000")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--one", nargs=2, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        title, count = options.one
        measure = MEASURES[title]
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            timing = measure(int(count), Path(folder))
        print(table_row(*timing.cells(title, int(count))), flush=True)
        return
    print(table_row(*HEADER))
    print("| :-- " + "| --: " * (len(HEADER) - 1) + "|", flush=True)
    for count in options.counts.split(","):
        for title in MEASURES:
            command = [sys.executable, "-m", "benchmarks.store", "--one", title, count]
            if options.folder:
                command += ["--folder", str(options.folder)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
