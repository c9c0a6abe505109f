"""Time and memory of a store that grows.

    python -m benchmarks.store [--counts 1000,10000,100000] [--folder /tmp]

For each count, in a process of its own, it stores so many pictures of 20 kB in batches of 16, and
an answer to each. Prints the time per stored picture, and that over the time of bare files with the
same flushing (at most 1.2 is wanted); the seconds of CPU to count a finished run as --dry-run does,
and to go on with it (under 10 at 100,000); and the most memory. Flushing is most of the time: use a
disk that is quiet.
"""

from __future__ import annotations

import argparse
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

BATCH = 16
SIZE = 20_000
BRIGHT = Question("Is it bright?", ("no", "yes"), "light")


class Named:
    """A model whose pictures are there already."""

    name = "benchmark/none"
    revision = "1"
    batch_size = BATCH

    def __init__(self) -> None:
        self.settings: Mapping[str, Setting] = {}

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        raise NotImplementedError

    def unknown_words(self, prompt: str) -> list[str]:
        return []


class Yes:
    """An instrument that was asked already."""

    name = fingerprint = "benchmark/yes"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        return [["yes"] * len(questions) for _ in pictures]


def flow(run: Run, count: int) -> None:
    """Pictures and their answers, as a gather asks for them."""
    images: list[Outcome] = run.pictures(Named(), ["a prompt"], count, 0)["a prompt"]
    run.ask(Yes(), images, [BRIGHT])


def batch(k: int) -> list[EncodedPicture]:
    """Files that differ from all others."""
    data = np.random.default_rng(0).bytes(SIZE)
    return [EncodedPicture((k * BATCH + j).to_bytes(8, "big") + data) for j in range(BATCH)]


def store_all(store: Store, wanted: Sequence[PictureRequest]) -> None:
    """Store every picture, batch by batch."""
    for k, part in enumerate(slices(wanted, BATCH)):
        store.put_pictures(part, batch(k)[: len(part)], {})


def write_all(folder: Path, count: int) -> None:
    """Write as many bare files."""
    (folder / "bare").mkdir()
    for k in range(-(-count // BATCH)):
        write_whole(
            {folder / "bare" / f"{k}-{j}": picture.data for j, picture in enumerate(batch(k))},
            folder,
        )


def measured(count: int, folder: Path) -> None:
    """One line for one count."""
    bare = timed(lambda: write_all(folder, count))
    wanted = wanted_pictures(Named(), ["a prompt"], count, 0)
    with Store(folder / "store") as store:
        stored = timed(lambda: store_all(store, wanted))
        plan = RunPlan()
        store.plan_pictures(plan.hash, wanted)
        flow(LiveRun(folder / "run", store, plan), count)
    counting = timed(lambda: count_again(folder, count), time.process_time)
    again = 0.0
    with Store(folder / "store") as store:
        again = timed(lambda: flow(LiveRun(folder / "run", store, plan), count), time.process_time)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"| {count:,} | {1000 * stored / count:.2f} ms | {stored / bare:.2f} | {counting:.1f} s | {again:.1f} s | "
        f"{memory:.0f} MB |",
        flush=True,
    )


def count_again(folder: Path, count: int) -> None:
    """As a dry run does."""
    with Store(folder / "store", create=False) as store:
        flow(counted := CountingRun(store), count)
        assert counted.work.left == 0, counted.lines()


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that it takes."""
    begun = clock()
    work()
    return clock() - begun


def main() -> None:
    """The table."""
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
        where = ["--folder", str(options.folder)] if options.folder else []
        subprocess.run(
            [sys.executable, "-m", "benchmarks.store", "--one", count, *where], check=True
        )


if __name__ == "__main__":
    main()
