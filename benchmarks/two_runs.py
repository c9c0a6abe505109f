"""Compare the time of two runs at once with the time of a single run.

    python -m benchmarks.two_runs [--images 12] [--repeats 3]

A run is `askew audit "a photo of a nurse" --model studio` in a separate process with a separate
store. A single run and two runs at once take turns, after a round that does not count. The script
prints the wall seconds of a run, its seconds of CPU, which include threads that wait by spinning,
and the ratio of the medians: at most 1.4 on two free cores. Set OMP_WAIT_POLICY=active to measure
the effect of idle threads that spin.
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
    """Return the wall seconds of a run."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--images", str(images), "--run", str(Path(folder) / "run")]
        command = [sys.executable, "-m", "askew", *AUDIT, *options]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - start


def at_once(count: int, images: int) -> tuple[float, float]:
    """Return wall and CPU seconds of a run if `count` runs start at the same time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(count) as pool:
        wall = list(pool.map(seconds, [images] * count))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(np.mean(wall)), cpu / count


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rounds = []
    for _ in range(options.repeats + 1):
        rounds.append([at_once(count, options.images) for count in (1, 2)])
    (alone, alone_cpu), (two, two_cpu) = np.median(rounds[1:], axis=0)
    print(f"one alone    {alone:.1f} s wall, {alone_cpu:.1f} s CPU")
    print(f"two at once  {two:.1f} s wall, {two_cpu:.1f} s CPU each")
    print(f"ratio        {two / alone:.2f} wall, {two_cpu / alone_cpu:.2f} CPU")


if __name__ == "__main__":
    main()
