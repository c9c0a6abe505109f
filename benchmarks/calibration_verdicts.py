"""Measure false positives, power and coverage of verdicts over several prompts.

    python -m benchmarks.calibration_verdicts [REPEATS]

The script prints Markdown tables. REPEATS (default 2000) runs are drawn for each row, all seeded.
It takes about a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.stats import false_discovery_control

from askew.stats.goodness_of_fit import reference_test, smallest_p
from askew.stats.intervals import ends
from askew.stats.over_prompts import PromptCounts, over_prompts_test, shares_over_prompts
from benchmarks.calibration_shares import Floats, table

LEVEL = 0.05
SPREADS = {"none": np.inf, "small": 20.0, "large": 2.0}
"""Variation of the share between prompts: the sum of the parameters of a beta distribution."""

PROMPTS = ((26, 1), (50, 2), (12, 8), (4, 24))
"""Numbers of prompts, and of images of each prompt."""


def drawn(
    prompts: int, images: int, share: float, spread: float, rng: np.random.Generator
) -> Floats:
    """Draw counts (prompts, 2) of labels whose mean share over all prompts is `share`."""
    shares = np.full(prompts, share)
    if spread < np.inf:
        shares = rng.beta(share * spread, (1 - share) * spread, size=prompts)
    first = rng.binomial(images, shares)
    return np.stack([first, images - first], axis=1).astype(float)


def _q_of_row(of_prompts: list[float], p: float, images: int) -> float:
    """Return q of the row over prompts, in a family without prompts of too few images."""
    family = of_prompts if smallest_p(images, (0.5, 0.5)) < LEVEL else []
    return float(false_discovery_control([*family, p])[-1])


def over_prompts_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often a row over prompts, and any prompt, is significant; and the coverage."""
    for prompts, images in PROMPTS:
        reference = np.full((prompts, 2), 0.5)
        for name, spread in SPREADS.items():
            if images == 1 and spread < np.inf:
                continue
            for share in (0.5, 0.8):
                rng = np.random.default_rng([prompts, images, int(10 * share)])
                p_below = 0
                together = 0
                earlier = 0
                covered = 0
                for _ in range(repeats):
                    counts = drawn(prompts, images, share, spread, rng)
                    prompt_counts = PromptCounts.of(counts, reference)
                    p = over_prompts_test(prompt_counts).p
                    of_prompts = [reference_test(row, [0.5, 0.5]).p for row in counts]
                    p_below += p < LEVEL
                    together += _q_of_row(of_prompts, p, images) < LEVEL
                    earlier += false_discovery_control(of_prompts).min() < LEVEL
                    low, high = ends(shares_over_prompts(prompt_counts)[0])
                    covered += low <= share <= high
                rates = (p_below, together, earlier, covered)
                cells = [f"{rate / repeats:.3f}" for rate in rates]
                yield [str(prompts), str(images), name, str(share), *cells]


def main(repeats: int) -> None:
    """Print the tables."""
    header = (
        "prompts",
        "images of each",
        "variation between prompts",
        "mean share",
        "row: p < .05",
        "row: q < .05",
        "a prompt: q < .05",
        "coverage",
    )
    table("All prompts together", header, over_prompts_rows(repeats))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
