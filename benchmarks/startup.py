"""Processor time of `askew --help` over that of importing cyclopts and rich alone: the smallest of
several starts each.

python -m benchmarks.startup [--rounds 15]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

WAYS = {
    "askew --help": ["-m", "askew", "--help"],
    "import cyclopts, rich": ["-c", "import cyclopts, rich"],
}


def seconds(arguments: list[str]) -> float:
    """Processor time of one Python process, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    least = {
        name: min(seconds(arguments) for _ in range(rounds)) for name, arguments in WAYS.items()
    }
    for name, took in least.items():
        print(f"{name:24} {took:.3f} s")
    help_took, imports_took = least.values()
    print(f"ratio {help_took / imports_took:.2f}")


if __name__ == "__main__":
    main()
