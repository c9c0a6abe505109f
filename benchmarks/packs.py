"""Measure how fast packs are written, read and merged, compared with a store.

    python -m benchmarks.packs [--count 6400] [--size 15000] [--repeats 3] [--folder /tmp] [--packs s3://bucket/run]

The script stores as many images of a size in slices of 64, in turns into a store and into packs, and
reads and merges the packs. It prints images per second, milliseconds of CPU per image, and files per
slice, each as the median of the repeats. Packs are written at least twice as fast as a store is
(acceptance). A job of an array job also keeps the images of its packs in a temporary store.

A second table has the bytes per image of the index and of the journal (acceptance: at most 2,000
together), and of the file of vectors: planned, stored, with ten answers, and with a vector of 768
numbers. Flushing takes most of the time, so use a disk that nothing else uses.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from askew.models.base import Setting
from askew.run.packing import PackingStore
from askew.run.recording import ImageSlice
from askew.store.imagefile import EncodedPicture
from askew.store.merge import merge_all, read_pack
from askew.store.pack_address import opened_packs
from askew.store.pack_storage import PackStorage
from askew.store.packs import ImagePack, image_pack_name, packed_images, path_of
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Question, slices
from benchmarks.engines import SleepingMaker
from benchmarks.markdown import table_row

SLICE = 64
ANSWERS = 10
DIMENSIONS = 768
INSTRUMENT = "benchmark/instrument@0123456789abcdef0123456789abcdef01234567 size=224"
"""Fingerprint of an instrument, as long as that of a real one."""

PROVENANCE = {"device": "cpu", "packages": {"numpy": "2.0"}}


def requests_of(count: int) -> list[PictureRequest]:
    """Return requests with keys as long as real ones."""
    made_by: dict[str, Setting] = {"revision": "0" * 40, "steps": 30, "guidance": 7.5}
    return [
        PictureRequest(
            key=f"{number:064x}",
            prompt=f"a photo of a person number {number // SLICE}",
            seed=2**62 + number,
            model="benchmark/model",
            made_by=made_by,
            number=number % SLICE,
        )
        for number in range(count)
    ]


def images_of(requests: Sequence[PictureRequest], size: int) -> list[EncodedPicture]:
    """Return a different file for each request."""
    data = np.random.default_rng(0).bytes(size)
    return [EncodedPicture(bytes.fromhex(request.key) + data) for request in requests]


@dataclass
class Timings:
    """Seconds of wall time and of CPU per step, one pair for each repeat."""

    seconds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Time a step."""
        wall = time.perf_counter()
        cpu = time.process_time()
        yield
        taken = (time.perf_counter() - wall, time.process_time() - cpu)
        self.seconds.setdefault(step, []).append(taken)

    def row(self, step: str, count: int) -> list[str]:
        """Return the step, images per second, and milliseconds of CPU per image."""
        wall = median(wall for wall, _ in self.seconds[step])
        cpu = median(cpu for _, cpu in self.seconds[step])
        return [step, f"{count / wall:,.0f}", f"{1000 * cpu / count:.3f}"]


def write_store(store: Store, parts: Sequence[Sequence[PictureRequest]], size: int) -> None:
    """Store all images, slice by slice."""
    for part in parts:
        store.put_pictures(part, images_of(part, size), PROVENANCE)


def write_packs(
    packs: PackStorage, parts: Sequence[Sequence[PictureRequest]], size: int
) -> list[str]:
    """Write all images as packs, and return their paths."""
    paths = []
    for part in parts:
        path = path_of(image_pack_name(part, frozenset()), "images")
        pack = ImagePack(part, images_of(part, size), PROVENANCE)
        packs.put(path, packed_images(pack))
        paths.append(path)
    return paths


def write_as_job(store: PackingStore, parts: Sequence[Sequence[PictureRequest]], size: int) -> None:
    """Write all images as packs and into a temporary store, as a job of an array job does."""
    maker = SleepingMaker(seconds=0, size=size)
    for part in parts:
        image_slice = ImageSlice(
            source=maker, requests=part, files=(), tasks=[()] * len(part), is_known=False
        )
        store.expect(image_slice)
        store.put_pictures(part, images_of(part, size), PROVENANCE)


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Print the rates of a store and of packs."""
    parts = slices(requests_of(arguments.count), SLICE)
    timings = Timings()
    files = 0
    for number in range(arguments.repeats):
        place = folder / str(number)
        address = f"{arguments.packs}/{number}" if arguments.packs else str(place / "packs")
        packs = opened_packs(address)
        with timings.timed("write a store"), Store(place / "store") as store:
            write_store(store, parts, arguments.size)
        with timings.timed("write packs"):
            paths = write_packs(packs, parts, arguments.size)
        files = len(packs.paths())
        job_packs = opened_packs(f"{address}-of-job")
        with (
            timings.timed("write packs as a job"),
            PackingStore(place / "temporary", job_packs) as store,
        ):
            write_as_job(store, parts, arguments.size)
        with timings.timed("read packs"):
            for path in paths:
                read_pack(packs, path)
        with timings.timed("merge packs"), Store(place / "merged") as store:
            merge_all(packs, store)
    print(table_row("step", "images per second", "ms of CPU per image"))
    print(table_row("---", "--:", "--:"))
    for step in timings.seconds:
        print(table_row(*timings.row(step, arguments.count)))
    load = os.getloadavg()[0]
    print(f"\n{files / len(parts):.2f} files per slice of {SLICE} images; load {load:.1f}\n")


FILES = {"index": "index.sqlite", "journal": "journal.jsonl", "vectors": "vectors.sqlite"}


def sizes_of(folder: Path) -> np.ndarray:
    """Return the bytes of index, journal and vectors of a closed store."""
    paths = [folder / name for name in FILES.values()]
    return np.array([path.stat().st_size if path.exists() else 0 for path in paths])


def print_sizes(count: int, folder: Path) -> None:
    """Print the bytes per image of index, journal and vectors."""
    requests = requests_of(count)
    questions = [
        Question(f"What is the value of axis {number}?", ("one", "another"), f"axis {number}")
        for number in range(ANSWERS)
    ]
    rng = np.random.default_rng(0)

    def answer(store: Store, ids: Sequence[str]) -> None:
        for part in slices(ids, SLICE):
            rows = [["one"] * ANSWERS for _ in part]
            store.put_answers(INSTRUMENT, part, questions, rows)

    def embed(store: Store, ids: Sequence[str]) -> None:
        vectors = {name: rng.random(DIMENSIONS, np.float32) for name in ids}
        store.put_vectors(INSTRUMENT, vectors)

    steps: dict[str, Callable[[Store, Sequence[str]], None]] = {
        "planned": lambda store, _: store.plan_pictures("0" * 64, requests),
        "stored": lambda store, _: write_store(store, slices(requests, SLICE), 100),
        f"{ANSWERS} answers": answer,
        f"vector of {DIMENSIONS}": embed,
    }
    print(table_row("bytes per image", *FILES))
    print(table_row("---", *["--:" for _ in FILES]))
    before = sizes_of(folder / "sizes")
    for name, step in steps.items():
        with Store(folder / "sizes") as store:
            stored = store.pictures(request.key for request in requests)
            step(store, [picture.id for picture in stored.values() if hasattr(picture, "id")])
        after = sizes_of(folder / "sizes")
        print(table_row(name, *[f"{size:,.0f}" for size in (after - before) / count]))
        before = after
    print(table_row("all", *[f"{size:,.0f}" for size in before / count]))


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=6400)
    parser.add_argument("--size", type=int, default=15_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--packs", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        compare(arguments, Path(folder))
        print_sizes(min(arguments.count, 2000), Path(folder))


if __name__ == "__main__":
    main()
