"""Measure how steps and guidance of the studio model affect cost, stated values and open shares.

    python -m benchmarks.sampling [--model studio] [--count 4] [--open 24] [--steps 8,12]
    [--guidance 1,1.5,2,3]

The script prints a line for each setting: seconds for 48 images, the mean and the least share of
images that show the stated value or occupation, and Spearman correlation and mean absolute
difference of open and planted gender shares.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import cast

import numpy as np

from askew import registry
from askew.models.base import Model, Request
from askew.types import Estimate
from benchmarks.fidelity import fidelity

TIMED = 48


def seconds(model: Model) -> float:
    """Return wall seconds for 48 images, after a batch that does not count."""
    requests = [Request("a photo of a nurse", seed) for seed in range(TIMED)]
    model.generate(requests[: model.batch_size])
    start = time.perf_counter()
    model.generate(requests)
    return time.perf_counter() - start


def row(steps: str, guidance: str, options: argparse.Namespace) -> str:
    """Return the line of a setting."""
    settings = {"num_inference_steps": int(steps), "guidance_scale": float(guidance)}
    model = cast(Model, registry.model(options.model, **settings))
    result = fidelity(model, count=options.count, each=1, open_count=options.open, bias=1.0)
    shares = []
    for share_of_values in result.values.values():
        shares += [(share, value) for value, share in share_of_values.items()]
    least, least_value = min(shares)
    mean = np.mean([share for share, _ in shares])
    occupations = np.mean(list(result.occupations.values()))
    order = result.order.value if isinstance(result.order, Estimate) else np.nan
    return (
        f"{steps:>5}  {guidance:>8}  {seconds(model):4.1f}  {mean:6.1%}  "
        f"{least:.0%} {least_value:<12} {occupations:6.1%}  "
        f"{order:8.3f}  {result.error.value:10.3f}"
    )


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="studio")
    parser.add_argument("--count", type=int, default=4, help="number of images per value")
    parser.add_argument(
        "--open",
        type=int,
        default=24,
        help="number of images per occupation without a stated gender",
    )
    parser.add_argument("--steps", default="8,12")
    parser.add_argument("--guidance", default="1,1.5,2,3")
    options = parser.parse_args()
    print("steps  guidance  s/48  values  least   occupations  Spearman  difference")
    for steps, guidance in product(options.steps.split(","), options.guidance.split(",")):
        print(row(steps, guidance, options), flush=True)


if __name__ == "__main__":
    main()
