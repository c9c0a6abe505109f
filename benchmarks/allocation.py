"""Compare time and memory of studio images with and without `askew.environment.keep_freed_memory`.

    python -m benchmarks.allocation [--rounds 5] [--images 8]

Each measurement is a process that makes the images twice. The second time counts. The smallest of
several rounds is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import NamedTuple

CODE = """
import json, resource, sys
from askew import registry
from askew.models.base import Request
from askew.store.files import sha256

def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

model = registry.model("studio")
requests = [Request("a photo of a nurse", seed) for seed in range(int(sys.argv[1]))]
model.generate(requests)
before = used()
images = model.generate(requests)
seconds = used() - before
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
digest = sha256(b"".join(image.tobytes() for image in images))
print(json.dumps([seconds, memory, digest]))
"""

ENVIRONMENTS = {
    "default": {"MALLOC_PERTURB_": "0"},  # any such variable switches askew's setting off
    "kept": {},
}


class Measurement(NamedTuple):
    """Processor time, memory and images of a process.

    Attributes
    ----------
    seconds
        Processor time of the images.
    memory
        Largest resident memory, in MiB.
    digest
        Digest of all pixels.
    """

    seconds: float
    memory: float
    digest: str


def measure(variables: dict[str, str], images: int) -> Measurement:
    """Return the measurement of a new process with these variables of the environment."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(images)],
        env=inherited | {"OMP_NUM_THREADS": "1"} | variables,
        check=True,
        capture_output=True,
        text=True,
    )
    return Measurement(*json.loads(done.stdout))


def main() -> None:
    """Print processor time and memory of both settings, and the ratio of times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=8)
    options = parser.parse_args()
    least: dict[str, float] = {}
    digests = set()
    for name, variables in ENVIRONMENTS.items():
        measured = [measure(variables, options.images) for _ in range(options.rounds)]
        least[name] = min(result.seconds for result in measured)
        memory = min(result.memory for result in measured)
        digests |= {result.digest for result in measured}
        print(f"{name:8} {least[name]:.2f} s, {memory:.0f} MiB")
    print(f"ratio {least['kept'] / least['default']:.2f}, equal images: {len(digests) == 1}")


if __name__ == "__main__":
    main()
