"""Print a small version of all tables of docs/reference/calibration*.md.

    python -m benchmarks.calibration [PART ...]

Parts are the names of the scripts benchmarks/calibration_PART.py; without PART, all parts. Each row
is computed from fewer repeats than the row in the documentation, so that all parts end within ten
minutes on two free cores. Two parts run at the same time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

PARTS = {
    "associations": ("--runs", "40", "--draws", "200", "--pictures", "24", "48"),
    "comparison": ("40",),
    "interactions": ("--repeats", "300", "--instrument-repeats", "40", "--graphs", "60"),
    "shares": ("60",),
    "verdicts": ("600",),
    "pearson": ("400",),
    "copies": ("1000",),
    "missing": ("200",),
    "rank": ("200",),
    "prompts": ("100",),
    "maps": ("--repeats", "100"),
    "samples": ("60",),
    "runs": ("60",),
    "classification": ("--repeats", "100", "--draws", "300"),
}
"""Arguments of each part, which set the number of repeats. The longest parts come first."""

PARALLEL = 2
"""Number of parts that run at the same time."""


def run(part: str) -> tuple[str, float]:
    """Run a part.

    Parameters
    ----------
    part : str
        A key of PARTS.

    Returns
    -------
    tuple of (str, float)
        The tables, and the seconds.

    Raises
    ------
    SystemExit
        If the part fails.
    """
    command = [sys.executable, "-m", f"benchmarks.calibration_{part}", *PARTS[part]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    start = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    return done.stdout, time.monotonic() - start


def main(parts: Sequence[str]) -> None:
    """Run parts, and print their tables in the order of PARTS.

    Parameters
    ----------
    parts : sequence of str
        Keys of PARTS.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]}. Known parts: {', '.join(PARTS)}")
    start = time.monotonic()
    chosen = [part for part in PARTS if part in parts or not parts]
    with ThreadPoolExecutor(PARALLEL) as pool:
        for part, (tables, seconds) in zip(chosen, pool.map(run, chosen), strict=True):
            print(f"# {part}: {' '.join(PARTS[part])} ({seconds:.0f} s)\n\n{tables}", flush=True)
    print(f"{len(chosen)} parts in {(time.monotonic() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main(sys.argv[1:])
