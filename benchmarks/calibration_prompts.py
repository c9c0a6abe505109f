"""Measure the comparison of two models over all prompts together, with planted populations.

    python -m benchmarks.calibration_prompts [REPEATS]

Two models draw a few images of each of many prompts. The share of the first value differs between the
prompts (standard deviation about .2). The script prints a Markdown table of false positives, power and
coverage. A row is computed from REPEATS comparisons (default 1000). All draws are seeded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.exchange import exchange_test
from askew.stats.intervals import benjamini_hochberg
from askew.stats.paired_sets import PairedSets
from askew.stats.prompt_pairs import PromptPairs
from benchmarks.markdown import numbers, table_row

Floats = NDArray[np.float64]
SIZES = ((8, 6), (12, 4), (26, 1), (26, 2), (50, 2))
"""Numbers of prompts, and of images of each prompt."""

SPREAD = 5.0
"""Concentration of the shares of prompts around their mean, as the sum of a beta law's parameters."""

CHANGE = 0.25
"""Difference of the second model where there is one."""

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of comparisons.

    Attributes
    ----------
    over_prompts, of_images, single
        The exchange of prompts is significant. The exchange of all images as if they were of one
        prompt is. Any test of a single prompt has q < .05.
    covered, width
        The interval of the change contains the truth, and its mean width.
    """

    over_prompts: float
    of_images: float
    single: float
    covered: float
    width: float


def labels(rng: np.random.Generator, shares: Floats, images: int) -> Floats:
    """Draw labels (prompts, images, 2) of prompts with shares (prompts,) of the first value."""
    shown = rng.random((len(shares), images)) < shares[:, None]
    return np.stack([shown, ~shown], axis=-1).astype(float)


def shares_of_models(
    rng: np.random.Generator, prompts: int, change: float, alike: bool
) -> tuple[Floats, Floats]:
    """Return the shares of both models. They differ by `change` on average.

    Parameters
    ----------
    rng
        Generator of the draws.
    prompts
        Number of prompts.
    change
        Difference of the models.
    alike
        If True, models differ in each prompt by `change`. If False, the shares of the second model
        are drawn anew.
    """
    first = rng.beta(SPREAD / 2, SPREAD / 2, size=prompts)
    second = first if alike else rng.beta(SPREAD / 2, SPREAD / 2, size=prompts)
    return first, np.clip(second + change, 0, 1)


def rates(prompts: int, images: int, repeats: int, change: float, alike: bool = True) -> Rates:
    """Return how often comparisons are significant.

    Parameters
    ----------
    prompts, images
        Number of prompts, and of images of each.
    repeats
        Number of comparisons.
    change, alike
        As in `shares_of_models`.
    """
    rng = np.random.default_rng([prompts, images, int(100 * change), alike])
    rows = [_comparison(rng, prompts, images, change, alike) for _ in range(repeats)]
    return Rates(*np.mean(rows, axis=0).tolist())


def _comparison(
    rng: np.random.Generator, prompts: int, images: int, change: float, alike: bool
) -> list[float]:
    """Return the fields of `Rates` for a single comparison."""
    shares = shares_of_models(rng, prompts, change, alike)
    first, second = (labels(rng, of_model, images) for of_model in shares)
    pairs = PromptPairs.of(second.sum(axis=1), first.sum(axis=1))
    test = pairs.test()
    difference = pairs.share_difference(0, test=test)
    low = difference.low or 0.0
    high = difference.high or 0.0
    # clipped shares have another mean, so the truth is that of the drawn shares where they change
    truth = float(np.mean(shares[1] - shares[0])) if change else 0.0
    keys = range(prompts * images)
    together = PairedSets.of(first.reshape(-1, 2), second.reshape(-1, 2), keys, keys)
    return [
        test.p < LEVEL,
        exchange_test(together).p < LEVEL,
        _any_prompt(first, second),
        low <= truth <= high,
        high - low,
    ]


def _any_prompt(first: Floats, second: Floats) -> bool:
    """Check whether any prompt has q < .05, in a family of the prompts that can be significant."""
    keys = range(first.shape[1])
    tests = [
        exchange_test(PairedSets.of(*sets, keys, keys)) for sets in zip(first, second, strict=True)
    ]
    p_values = [test.p for test in tests if test.smallest_p < LEVEL]
    return bool((benjamini_hochberg(p_values) < LEVEL).any())


def rows(repeats: int) -> Iterator[list[str]]:
    """Yield the cells of each row of the table."""
    for prompts, images in SIZES:
        equal = rates(prompts, images, repeats, 0.0)
        opposite = rates(prompts, images, repeats, 0.0, alike=False)
        planted = rates(prompts, images, repeats, CHANGE)
        cells = [equal.over_prompts, opposite.over_prompts, opposite.of_images]
        cells += [planted.over_prompts, planted.single]
        cells += [equal.covered, opposite.covered, planted.covered, equal.width]
        yield [str(prompts), str(images), *numbers(cells)]


def main(repeats: int) -> None:
    """Print the table."""
    header = (
        "prompts",
        "images of each",
        "false positives: equal models",
        "models equal on average",
        "the same, single images swapped",
        "power: all prompts",
        "any single prompt",
        "coverage: equal models",
        "equal on average",
        "difference",
        "width",
    )
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows(repeats):
        print(table_row(*row), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
