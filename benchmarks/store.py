"""Measure time and memory of a store that grows.

    python -m benchmarks.store [--counts 1000,10000,100000] [--folder /tmp]

For each count, a separate process stores as many images of 20 kB in batches of 16, and an answer to
each. The script prints the time per stored image, and its ratio to the time of bare files with the
same flushing (at most 1.2). It also prints the seconds of CPU to count a finished run as --dry-run
does and to resume it (under 10 at 100,000), and the peak memory. Flushing takes most of the time, so
use a disk that nothing else uses.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from askew.models.base import Request, Setting
from askew.plan import RunPlan
from askew.run.base import Outcome, Run
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


def measured(count: int, folder: Path) -> None:
    """Print the row of a count."""
    bare = timed(lambda: write_all(folder, count))
    wanted = wanted_pictures(StoredModel(), ["a prompt"], count, 0)
    with Store(folder / "store") as store:
        stored = timed(lambda: store_all(store, wanted))
        plan = RunPlan()
        store.plan_pictures(plan.hash, wanted)
        flow(LiveRun(folder / "run", store, plan), count)
    counting = timed(lambda: count_again(folder, count), time.process_time)
    with Store(folder / "store") as store:
        resumed = timed(
            lambda: flow(LiveRun(folder / "run", store, plan), count), time.process_time
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = (
        f"{count:,}",
        f"{1000 * stored / count:.2f} ms",
        f"{stored / bare:.2f}",
        f"{counting:.1f} s",
        f"{resumed:.1f} s",
        f"{memory:.0f} MB",
    )
    print(table_row(*cells), flush=True)


def count_again(folder: Path, count: int) -> None:
    """Count the work of the run, as a dry run does."""
    with Store(folder / "store", create=False) as store:
        counted = CountingRun(store)
        flow(counted, count)
        assert counted.work.left == 0, counted.lines()


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
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measured(options.one, Path(folder))
        return
    print("| pictures | a stored picture | over bare files | dry run | going on | memory |")
    print("| --: " * 6 + "|", flush=True)
    for count in options.counts.split(","):
        command = [sys.executable, "-m", "benchmarks.store", "--one", count]
        if options.folder:
            command += ["--folder", str(options.folder)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
