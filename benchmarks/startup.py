"""Compare processor time of `askew --help` with that of importing only cyclopts and rich.

    python -m benchmarks.startup [--rounds 15]

The smallest time of several starts counts.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

COMMANDS = {
    "askew --help": ["-m", "askew", "--help"],
    "import cyclopts, rich": ["-c", "import cyclopts, rich"],
}


def seconds(arguments: list[str]) -> float:
    """Return processor time of a Python process, including its start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    least = {}
    for name, arguments in COMMANDS.items():
        least[name] = min(seconds(arguments) for _ in range(rounds))
    for name, time in least.items():
        print(f"{name:24} {time:.3f} s")
    help_time, import_time = least.values()
    print(f"ratio {help_time / import_time:.2f}")


if __name__ == "__main__":
    main()
