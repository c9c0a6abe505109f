"""Steps and guidance of the studio model: what they cost, and what they do to asked-for values and
to open shares.

    python -m benchmarks.sampling [--model studio] [--count 4] [--open 24] [--steps 8,12]
    [--guidance 1,1.5,2,3]

Prints a line for each setting: seconds for 48 pictures, the mean and the least share of pictures
that show the value or occupation asked for, and Spearman correlation and mean absolute difference
of open gender shares against the planted ones.
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
    """Wall seconds for 48 pictures, after one batch that does not count."""
    requests = [Request("a photo of a nurse", seed) for seed in range(TIMED)]
    model.generate(requests[: model.batch_size])
    begun = time.perf_counter()
    model.generate(requests)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="studio")
    parser.add_argument("--count", type=int, default=4, help="pictures per value")
    parser.add_argument(
        "--open", type=int, default=24, help="pictures per occupation with gender left open"
    )
    parser.add_argument("--steps", default="8,12")
    parser.add_argument("--guidance", default="1,1.5,2,3")
    choice = parser.parse_args()
    print("steps  guidance  s/48  values  least   occupations  Spearman  difference")
    for steps, guidance in product(choice.steps.split(","), choice.guidance.split(",")):
        settings = {"num_inference_steps": int(steps), "guidance_scale": float(guidance)}
        model = cast(Model, registry.model(choice.model, **settings))
        result = fidelity(model, count=choice.count, each=1, open_count=choice.open, bias=1.0)
        shares = [(share, value) for of in result.values.values() for value, share in of.items()]
        order = result.order.value if isinstance(result.order, Estimate) else np.nan
        print(
            f"{steps:>5}  {guidance:>8}  {seconds(model):4.1f}  {np.mean([s for s, _ in shares]):6.1%}  "
            f"{min(shares)[0]:.0%} {min(shares)[1]:<12} {np.mean(list(result.occupations.values())):6.1%}  "
            f"{order:8.3f}  {result.error.value:10.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
