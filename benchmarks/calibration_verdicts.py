"""Measure false positives, power and coverage of verdicts, and intervals that differ from them.

    python -m benchmarks.calibration_verdicts [REPEATS]

The script prints Markdown tables. REPEATS (default 2000) runs are drawn for each row, all seeded.
It takes about a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import false_discovery_control

from askew.parts.survey.sentences import above_reference, below_reference, sentence, verdict
from askew.parts.survey.shares import SetShares, Verdict
from askew.parts.survey.verdicts import is_biased, with_verdicts
from askew.stats.goodness_of_fit import reference_test, smallest_p
from askew.stats.intervals import ends
from askew.stats.over_prompts import PromptCounts, over_prompts_test, shares_over_prompts
from askew.stats.shares import share_intervals
from askew.types import Estimate
from benchmarks.calibration_shares import Floats, table

LEVEL = 0.05
AXES = (2, 3, 6, 3, 4, 2, 2, 4)
"""Numbers of values of the axes of a fair page."""

DIFFERING = (
    "images",
    "pages with a significant axis",
    "pages with an interval that excludes the reference of an axis that is not significant",
    "pages with such an interval and no reason in a row or a sentence",
)
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


def fair_page(images: int, rng: np.random.Generator) -> tuple[SetShares, ...]:
    """Return the shares of eight axes in images of a fair model, with their verdicts."""
    entries = []
    for axis, values in enumerate(AXES):
        reference = {f"value {k}": 1 / values for k in range(values)}
        counts = rng.multinomial(images, [*reference.values()])
        test = reference_test(counts, [*reference.values()])
        entry = SetShares(
            prompt="a photo of a nurse",
            set="initial",
            axis=f"axis {axis}",
            instrument="simulated",
            reference=reference,
            counts=dict(zip(reference, counts.tolist(), strict=True)),
            missing={},
            shares=dict(zip(reference, share_intervals(counts), strict=True)),
            distance=Estimate(0.0, p=test.p),
            bounds=None,
            instrument_corrected=None,
        )
        test_result = Verdict(
            value=entry.leading, p=test.p, q=test.p, exact_p=test.exact_p, detectable=None
        )
        entries.append(replace(entry, verdict=test_result))
    return with_verdicts(entries)


def differing_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often an interval excludes the reference without a verdict, and has a reason."""
    for images in (24, 48, 96):
        rng = np.random.default_rng(images)
        significant = 0
        differing = 0
        unexplained = 0
        for _ in range(repeats):
            page = fair_page(images, rng)
            significant += any(map(is_biased, page))
            rows = [entry for entry in page if not is_biased(entry) and _differs(entry)]
            differing += bool(rows)
            unexplained += not all(map(is_explained, rows))
        rates = (significant, differing, unexplained)
        yield [str(images), *(f"{rate / repeats:.3f}" for rate in rates)]


def _differs(entry: SetShares) -> bool:
    return bool(above_reference(entry) or below_reference(entry))


def is_explained(entry: SetShares) -> bool:
    """Check whether the row and the sentence of an axis give a reason for "not significant"."""
    return all("after correction for" in text for text in (verdict(entry), sentence(entry)))


def main(repeats: int) -> None:
    """Print the tables."""
    table("Intervals beside verdicts, eight axes", DIFFERING, differing_rows(repeats))
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
