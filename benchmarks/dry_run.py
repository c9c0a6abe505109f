"""Measure the dry run of an audit with many images.

    python -m benchmarks.dry_run [--prompts 1000] [--images 1000]

The script plans an audit of the studio without counterfactual images, in a new process and with an
empty store, as `askew audit --dry-run` does. It prints the seconds of CPU time and the peak memory
of this process. Acceptance for 1,000,000 images: less than 60 s and 1,500 MB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from itertools import islice, product
from pathlib import Path

from benchmarks.markdown import table_row

PEOPLE = """nurse doctor chef pilot teacher lawyer farmer artist dancer banker plumber carpenter
judge soldier writer baker cashier janitor mechanic librarian""".split()
PLACES = """park garden street kitchen library forest market office museum station cafe hall field
tunnel barn school tent car shop yard mill studio theater tower port room tree fair train boat
church bank bar club court dorm factory gym harbor hospital hotel house jail lab mall palace
pool prison stadium store""".split()


def prompts() -> list[str]:
    """Return 1,000 different prompts, each about one person."""
    return [f"a photo of a {person} in a {place}" for person, place in product(PEOPLE, PLACES)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--images", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.txt"
        file.write_text("\n".join(islice(prompts(), options.prompts)))
        command = [sys.executable, "-m", "askew", "audit", "--prompts", str(file)]
        command += ["--images", str(options.images), "--model", "studio", "--axes", "gender"]
        command += ["--counterfactuals", "none", "--dry-run", "--run", str(Path(folder) / "run")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table_row("images", "CPU seconds", "peak MB"))
    print(table_row(*["---:"] * 3))
    count = f"{options.prompts * options.images:,}"
    print(table_row(count, f"{used.ru_utime + used.ru_stime:.0f}", f"{used.ru_maxrss / 1024:.0f}"))


if __name__ == "__main__":
    main()
