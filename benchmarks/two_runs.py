"""Time of two runs at once over that of one alone.

    python -m benchmarks.two_runs [--images 12] [--repeats 3]

A run is `askew audit "a photo of a nurse" --model studio` in a process and with a store of its own.
One alone and two at once take turns, after a round that does not count. Prints the wall seconds of
a run, its seconds of CPU, in which threads that wait by spinning show, and the ratio of the
medians: on two free cores at most 1.4 is wanted. OMP_WAIT_POLICY=active in front shows what happens
where idle threads spin.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

AUDIT = ("audit", "a photo of a nurse", "--model", "studio")


def seconds(images: int) -> float:
    """Wall seconds of a run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "askew",
            *AUDIT,
            "--images",
            str(images),
            "--run",
            str(Path(folder) / "run"),
        ]
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - begun


def at_once(count: int, images: int) -> tuple[float, float]:
    """Wall and CPU seconds of a run, of so many at the same time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(count) as pool:
        wall = list(pool.map(seconds, [images] * count))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(np.mean(wall)), cpu / count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    choice = parser.parse_args()
    rounds = [
        [at_once(count, choice.images) for count in (1, 2)] for _ in range(choice.repeats + 1)
    ][1:]
    (alone, alone_cpu), (two, two_cpu) = np.median(rounds, axis=0)
    print(f"one alone    {alone:.1f} s wall, {alone_cpu:.1f} s CPU")
    print(f"two at once  {two:.1f} s wall, {two_cpu:.1f} s CPU each")
    print(f"ratio        {two / alone:.2f} wall, {two_cpu / alone_cpu:.2f} CPU")


if __name__ == "__main__":
    main()
