"""Coverage after stopping: `python -m benchmarks.sequential [SIMULATIONS] --part coverage`.

How often do the intervals that askew reports at the stop contain the truth? The first table is about
the winners of a search (`askew mine --until decided`), for the share of a value and for the deviation
from equal shares. The second table is about the difference of a share between two models whose images
form pairs (`askew audit --until decided --compared-run`).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from askew.prompts.axes import find_axis
from askew.stats.differences import share_difference
from askew.stats.looks import look_confidence, looks
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import distance_estimate
from askew.studio.planted import truth
from askew.types import Estimate
from benchmarks.sequential import (
    CAP,
    CONFIDENCE,
    WINNERS,
    Cell,
    contains,
    fair_cell,
    images_until_different,
    share_covers,
    winners_of,
    winners_until_decided,
)

WINNER_BIASES = (1.0, 0.5, 0.25, 0.1)
"""Planted biases of the winners. With a small bias, most winners stop at the cap."""


@dataclass(frozen=True, slots=True)
class PairedCase:
    """Two models: their true shares (K,), and the share of pairs whose labels share a draw."""

    name: str
    first: Cell
    second: Cell
    agreement: float


@dataclass(frozen=True, slots=True)
class WinnerCoverage:
    """Shares of the winners whose interval contains the truth, and of significant winners."""

    share: float
    deviation: float
    significant: float


@cache
def deviation(counts: tuple[int, ...]) -> Estimate:
    """Return the deviation from equal shares at the stop, with its interval."""
    return distance_estimate(
        counts,
        np.full(len(counts), 1 / len(counts)),
        rng=np.random.default_rng(0),
        draws=200,
        level=look_confidence(looks(CAP), CONFIDENCE, sum(counts)),
    )


def winner_coverage(bias: float, simulations: int, rng: np.random.Generator) -> WinnerCoverage:
    """Return how often the intervals of winners contain the truth at the stop."""
    winners = winners_of(bias) if bias else [fair_cell()] * WINNERS
    stops = winners_until_decided(winners, simulations, rng)
    share = []
    of_deviation = []
    for place, winner in enumerate(winners):
        true_deviation = float(np.abs(winner.shares - 0.5).sum() / 2)
        for row in stops.counts[:, place]:
            counts = tuple(row.astype(int).tolist())
            share.append(share_covers(counts, winner.shares[0]))
            of_deviation.append(contains(deviation(counts), true_deviation))
    return WinnerCoverage(
        share=float(np.mean(share)),
        deviation=float(np.mean(of_deviation)),
        significant=float(stops.significant.mean()),
    )


@cache
def difference(table: tuple[int, ...], value: int) -> Estimate:
    """Return the difference of a value's share at the stop, with its interval.

    Parameters
    ----------
    table
        Number of pairs with each pair of labels (K * K numbers).
    value
        Number of the value.
    """
    values = round(len(table) ** 0.5)
    first, second = np.divmod(np.repeat(np.arange(len(table)), table), values)
    keys = range(len(first))
    rows = np.eye(values)
    pairs = PairedSets.of(rows[first], rows[second], keys, keys)
    return share_difference(pairs, value, level=look_confidence(looks(CAP), CONFIDENCE, sum(table)))


def paired_coverage(case: PairedCase, simulations: int, rng: np.random.Generator) -> float:
    """Return how often the intervals of all values' differences contain the truth at the stop."""
    stops = images_until_different(case.first, case.second, case.agreement, simulations, rng)
    truths = case.first.shares - case.second.shares
    covered = []
    for row in stops.tables:
        table = tuple(row.astype(int).tolist())
        for value, true_difference in enumerate(truths):
            covered.append(contains(difference(table, value), float(true_difference)))
    return float(np.mean(covered))


def paired_cases() -> list[PairedCase]:
    """Return models with equal and with different shares."""
    fair = fair_cell()
    cases = []
    for agreement in (0.0, 0.5):
        for share in (0.5, 0.6, 0.7, 0.9):
            other = Cell("", "gender", np.array([share, 1 - share]))
            cases.append(PairedCase(f"50 % and {100 * share:.0f} %", fair, other, agreement))
        rare = Cell("", "gender", np.array([0.95, 0.05]))
        rarer = Cell("", "gender", np.array([0.85, 0.15]))
        cases.append(PairedCase("95 % and 85 %", rare, rarer, agreement))
    return cases


def age_case() -> PairedCase:
    """Return two models of the planted world that differ on an axis of three values."""
    first, second = (_age_of_nurses(bias) for bias in (0.0, 1.0))
    return PairedCase("age of nurses", first, second, agreement=0.0)


def _age_of_nurses(bias: float) -> Cell:
    """Return the true shares of the ages of nurses in the planted world."""
    prompt = "a photo of a nurse"
    by_value = truth(prompt, "age", bias)
    return Cell(prompt, "age", np.array([by_value[value] for value in find_axis("age").values]))


def print_coverage(simulations: int, rng: np.random.Generator) -> None:
    """Print the coverages of winners and of paired differences."""
    print(f"bias  significant winners  share  deviation  (coverage at the stop, cap {CAP})")
    for bias in (*WINNER_BIASES, 0.0):
        result = winner_coverage(bias, 5 * simulations, rng)
        print(
            f"{bias:4.2f}  {result.significant:19.2f}  {result.share:.3f}  {result.deviation:.3f}"
        )
    print("shares         equal pairs  difference  (coverage at the stop)")
    for case in paired_cases():
        coverage = paired_coverage(case, 5 * simulations, rng)
        print(f"{case.name:13s}  {case.agreement:11.1f}  {coverage:.3f}")
    case = age_case()
    print(f"{case.name:13s}  {case.agreement:11.1f}  {paired_coverage(case, simulations, rng):.3f}")
