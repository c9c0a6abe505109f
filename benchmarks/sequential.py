"""Images until a verdict: `python -m benchmarks.sequential [SIMULATIONS] [--part PART]`.

Labels are drawn from the planted world, for every occupation and axis. Images are added as
`askew audit --until decided` adds them, and their mean number is compared with a fixed number of
images of the same mean power. Further tables show false positives without bias, and how often the
interval of the first value contains its true share at the stop. The last tables describe the
winners of a search, to which `askew mine --until decided` adds held-out images, and a model that
`askew audit --until decided --compared-run` compares with another model. The part `coverage` counts
how often the intervals of winners and of paired differences contain the truth at the stop
(`benchmarks.sequential_coverage`).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from askew.prompts.axes import BIASCONNECT, find_axis
from askew.stats.exchange import exchange_test
from askew.stats.goodness_of_fit import (
    counts_are_listed,
    exact_law,
    multinomial_probabilities,
    pearson,
    possible_counts,
)
from askew.stats.intervals import TOLERANCE, Floats, benjamini_hochberg, ends
from askew.stats.looks import (
    level_share,
    look_confidence,
    looks,
    p_of_smallest,
    paired_sequential_p,
)
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import share_intervals
from askew.studio.planted import truth
from askew.studio.scene import OCCUPATIONS
from askew.types import Estimate

CAP = 400
LEVEL = 0.05
CONFIDENCE = 0.95
BIASES = (1.0, 0.5)
OCCUPATION_STEP = 4
"""Every fourth occupation is simulated."""
AUDITS = 4
"""Simulated audits per simulation of the other tables: the ratio varies by about .01 with 100."""
POWER_DRAWS = 2_000
"""Simulated sets of a fixed number of images, if there are too many possible sets to enumerate."""
FAIR_PATHS = 4_000
PAIRED_NULLS = ((2, 0.0, FAIR_PATHS), (2, 0.5, FAIR_PATHS), (3, 0.0, 600))
"""Numbers of values, shares of pairs that agree, and simulations of two equal models."""
WINNERS = 5
"""Best prompts of a search."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An axis of a prompt: the true shares (K,) of its values."""

    prompt: str
    axis: str
    shares: Floats

    @property
    def reference(self) -> tuple[float, ...]:
        """Uniform reference shares."""
        return (1 / len(self.shares),) * len(self.shares)


def fair_cell(values: int = 2) -> Cell:
    """Return an axis whose values have equal shares."""
    return Cell("", "", np.full(values, 1 / values))


@dataclass(frozen=True, slots=True)
class Stops:
    """Simulated stops of a cell.

    Attributes
    ----------
    images : array, (simulations,)
        Images at the stop.
    significant : array of bool, (simulations,)
        True where the verdict is significant.
    counts : array, (simulations, K)
        Labels at the stop.
    p_values : array, (simulations, looks)
        Sequential p at each look.
    by_look : array, (looks, simulations, K)
        Labels at each look.
    """

    images: Floats
    significant: Floats
    counts: Floats
    p_values: Floats
    by_look: Floats


def cells(bias: float) -> list[Cell]:
    """Return the axes of every fourth occupation in the planted world."""
    of_world = []
    for occupation in [*OCCUPATIONS][::OCCUPATION_STEP]:
        prompt = f"a photo of a {occupation}"
        for axis in BIASCONNECT:
            by_value = truth(prompt, axis, bias)
            shares = np.array([by_value[value] for value in find_axis(axis).values])
            of_world.append(Cell(prompt, axis, shares))
    return of_world


def simulate(cell: Cell, simulations: int, rng: np.random.Generator) -> Stops:
    """Add images to simulated sets of a cell until its verdict is significant."""
    sizes = looks(CAP)
    counts = np.zeros((simulations, len(cell.shares)))
    by_look = []
    smallest = np.full(simulations, np.inf)
    scaled = []
    before = 0
    for size in sizes:
        counts = counts + rng.multinomial(size - before, cell.shares, size=simulations)
        before = size
        by_look.append(counts)
        at_look = look_p_values(counts, cell.reference) / level_share(size, CAP)
        smallest = np.minimum(smallest, at_look)
        scaled.append(smallest)
    corrected = sequential(np.stack(scaled, axis=1), sizes, cell.reference)
    stop = np.where((corrected < LEVEL).any(axis=1), (corrected < LEVEL).argmax(axis=1), -1)
    return Stops(
        images=np.array(sizes)[stop].astype(float),
        significant=(stop >= 0).astype(float),
        counts=np.array(by_look)[stop, np.arange(simulations)],
        p_values=corrected,
        by_look=np.array(by_look),
    )


def look_p_values(counts: Floats, reference: tuple[float, ...]) -> Floats:
    """Return the mid-p of sets (simulations, K) of the same size."""
    n = int(counts[0].sum())
    return exact_law(n, reference).p(pearson(counts, n * np.array(reference)))[0]


def sequential(smallest: Floats, sizes: Sequence[int], reference: tuple[float, ...]) -> Floats:
    """Return the sequential p of the smallest scaled p at each look of each simulation."""
    distinct, places = np.unique(smallest, return_inverse=True)
    p_values = np.array([p_of_smallest(float(p), sizes, reference) for p in distinct])
    return p_values[places].reshape(smallest.shape)


def fixed_images(world: Sequence[Cell], power: float) -> int:
    """Return the fixed number of images with the same mean power over all cells."""

    def reaches(images: int) -> bool:
        return mean_power(world, images) >= power

    fewest = 4
    most = 4 * CAP
    while most - fewest > 1:
        middle = (fewest + most) // 2
        if reaches(middle):
            most = middle
        else:
            fewest = middle
    return most


def mean_power(world: Sequence[Cell], images: int) -> float:
    """Return the mean power of a test of a fixed number of images."""
    rng = np.random.default_rng(images)
    return float(np.mean([fixed_power(cell, images, rng) for cell in world]))


def fixed_power(cell: Cell, images: int, rng: np.random.Generator) -> float:
    """Return the power of a test of a fixed number of images, exactly where this is possible."""
    values = len(cell.shares)
    if counts_are_listed(images, values):
        rejected = rejected_counts(images, cell.reference)
        return float(multinomial_probabilities(rejected, cell.shares).sum())
    counts = rng.multinomial(images, cell.shares, size=POWER_DRAWS).astype(float)
    return float((look_p_values(counts, cell.reference) < LEVEL).mean())


@cache
def rejected_counts(images: int, reference: tuple[float, ...]) -> Floats:
    """Return all possible counts of images whose p is significant."""
    outcomes = possible_counts(images, len(reference))
    return outcomes[look_p_values(outcomes, reference) < LEVEL]


def images_until_any(world: Sequence[Cell], stops: Sequence[Stops]) -> float:
    """Return the mean images of prompts that stop at the first significant axis of eight."""
    sizes = np.array(looks(CAP), dtype=float)
    means = []
    for prompt in dict.fromkeys(cell.prompt for cell in world):
        of_prompt = [
            result.p_values
            for cell, result in zip(world, stops, strict=True)
            if cell.prompt == prompt
        ]
        p_values = np.sort(of_prompt, axis=0)
        ranks = np.arange(1, len(of_prompt) + 1)[:, None, None]
        smallest_q = np.min(p_values * len(of_prompt) / ranks, axis=0)
        decided = smallest_q < LEVEL
        decided[:, -1] = True
        means.append(sizes[decided.argmax(axis=1)].mean())
    return float(np.mean(means))


def contains_truth(cell: Cell, result: Stops) -> float:
    """Return how often the interval of the first value contains its share at the stop."""
    distinct, numbers = np.unique(result.counts, axis=0, return_counts=True)
    covered = 0
    for counts, number in zip(distinct, numbers, strict=True):
        covered += int(number) * share_covers(tuple(counts.astype(int).tolist()), cell.shares[0])
    return covered / len(result.counts)


def share_covers(counts: tuple[int, ...], truth: float) -> bool:
    """Check whether the interval of the first value's share contains the truth at a stop."""
    confidence = look_confidence(looks(CAP), CONFIDENCE, sum(counts))
    return contains(share_intervals(counts, level=confidence)[0], truth)


def contains(estimate: Estimate, truth: float) -> bool:
    """Check whether an interval contains the truth."""
    low, high = ends(estimate)
    return low - TOLERANCE <= truth <= high + TOLERANCE


def winners_of(bias: float) -> list[Cell]:
    """Return the best prompts of a search by skew of gender in the planted world."""
    genders = [cell for cell in cells(bias) if cell.axis == "gender"]
    genders.sort(key=lambda cell: -abs(cell.shares[0] - 0.5))
    return genders[:WINNERS]


@dataclass(frozen=True, slots=True)
class WinnerStops:
    """Simulated stops of the winners of a search.

    Attributes
    ----------
    images, significant : array, (simulations, winners)
        Images of each winner, and whether its verdict is significant.
    counts : array, (simulations, winners, K)
        Labels at the stop.
    """

    images: Floats
    significant: Floats
    counts: Floats


def winners_until_decided(
    winners: Sequence[Cell], simulations: int, rng: np.random.Generator
) -> WinnerStops:
    """Add held-out images to the winners of simulated searches until each is significant."""
    sizes = np.array(looks(CAP), dtype=float)
    results = [simulate(winner, simulations, rng) for winner in winners]
    paths = np.stack([result.p_values for result in results], axis=1)
    images = np.full(paths.shape[:2], sizes[-1])
    significant = np.zeros(paths.shape[:2])
    for number, of_search in enumerate(paths):
        p_values = np.ones(len(winners))
        undecided = np.ones(len(winners), dtype=bool)
        for size, at_look in zip(sizes, of_search.T, strict=True):
            p_values[undecided] = at_look[undecided]
            decided = benjamini_hochberg(p_values) < LEVEL
            images[number, undecided & decided] = size
            undecided &= ~decided
        significant[number] = ~undecided
    stops = np.searchsorted(sizes, images)
    counts = [
        result.by_look[stops[:, place], np.arange(simulations)]
        for place, result in enumerate(results)
    ]
    return WinnerStops(images=images, significant=significant, counts=np.stack(counts, axis=1))


def print_winners(simulations: int, rng: np.random.Generator) -> None:
    """Print the images and verdicts of the winners of a search by skew of gender."""
    print(f"bias  images per winner  significant  (cap {CAP}; {WINNERS} winners)")
    for bias in BIASES:
        stops = winners_until_decided(winners_of(bias), simulations, rng)
        print(f"{bias:4.1f}  {stops.images.mean():17.1f}  {stops.significant.mean():11.2f}")
    fair = [fair_cell()] * WINNERS
    rate = winners_until_decided(fair, FAIR_PATHS, rng).significant.any(axis=1).mean()
    print(f"searches without bias in which a winner is significant: {rate:.3f}")


@cache
def exchange_p(table: tuple[int, ...]) -> float:
    """Return the mid-p of pairs, given how many have each pair of labels (K * K numbers)."""
    values = round(len(table) ** 0.5)
    first, second = np.divmod(np.repeat(np.arange(len(table)), table), values)
    keys = range(len(first))
    rows = np.eye(values)
    return exchange_test(PairedSets.of(rows[first], rows[second], keys, keys)).p


@dataclass(frozen=True, slots=True)
class PairedStops:
    """Simulated stops of a comparison of two models.

    Attributes
    ----------
    images, significant : array, (simulations,)
        Images of each model, and whether the verdict is significant.
    tables : array, (simulations, K * K)
        Number of pairs with each pair of labels at the stop.
    """

    images: Floats
    significant: Floats
    tables: Floats


def images_until_different(
    first: Cell, second: Cell, agreement: float, simulations: int, rng: np.random.Generator
) -> PairedStops:
    """Add pairs of images of two models until their shares differ significantly.

    Parameters
    ----------
    first, second
        True shares of the two models.
    agreement
        Share of pairs whose labels come from the same draw; the other pairs are independent.
    simulations, rng
        Number of simulations, and random generator.
    """
    sizes = looks(CAP)
    values = len(first.shares)
    images = np.full(simulations, float(sizes[-1]))
    significant = np.zeros(simulations)
    tables = np.zeros((simulations, values**2))
    bounds = [np.cumsum(cell.shares)[:-1] for cell in (first, second)]
    for number in range(simulations):
        draws = rng.random((2, CAP))
        same = rng.random(CAP) < agreement
        draws[1, same] = draws[0, same]
        labels = [np.searchsorted(bound, row) for bound, row in zip(bounds, draws, strict=True)]
        pairs = labels[0] * values + labels[1]
        p_values: list[float] = []
        for size in sizes:
            table = np.bincount(pairs[:size], minlength=values**2)
            tables[number] = table
            if values == 2:
                table[[0, 3]] = 1  # pairs with equal labels do not change p
            p_values.append(exchange_p(tuple(table.tolist())))
            if paired_sequential_p(p_values, sizes, values) < LEVEL:
                images[number] = size
                significant[number] = 1
                break
    return PairedStops(images=images, significant=significant, tables=tables)


def print_paired(simulations: int, rng: np.random.Generator) -> None:
    """Print the images until a model of the planted world differs from a model without bias."""
    print(f"bias  images of each model  significant  (gender against bias 0, cap {CAP})")
    fair = fair_cell()
    for bias in BIASES:
        results = [
            images_until_different(fair, cell, 0.0, max(simulations // 5, 1), rng)
            for cell in cells(bias)
            if cell.axis == "gender"
        ]
        images = np.mean([result.images.mean() for result in results])
        power = np.mean([result.significant.mean() for result in results])
        print(f"{bias:4.1f}  {images:20.1f}  {power:11.2f}")
    print("values  equal pairs  false positives between equal models")
    for values, agreement, paths in PAIRED_NULLS:
        equal = fair_cell(values)
        stops = images_until_different(equal, equal, agreement, paths, rng)
        print(f"{values:6d}  {agreement:11.1f}  {stops.significant.mean():.3f}")


def print_audits(simulations: int, rng: np.random.Generator) -> None:
    """Print the images of audits until one axis, or any axis, is decided."""
    print(f"bias  power  images  fixed n  ratio  (cap {CAP}; one axis decides)")
    for bias in BIASES:
        world = cells(bias)
        stops = [simulate(cell, AUDITS * simulations, rng) for cell in world]
        power = float(np.mean([result.significant.mean() for result in stops]))
        images = float(np.mean([result.images.mean() for result in stops]))
        fixed = fixed_images(world, power)
        print(f"{bias:4.1f}  {power:5.2f}  {images:6.1f}  {fixed:7d}  {images / fixed:5.2f}")
        any_axis = images_until_any(world, stops)
        print(f"      any axis of 8 decides: {any_axis:.1f} images per prompt")
        coverage = np.mean([contains_truth(c, r) for c, r in zip(world, stops, strict=True)])
        print(f"      intervals at the stop contain the true share: {coverage:.3f}")
    print("values  false positives without bias")
    for values in (2, 3, 4, 6):
        rate = simulate(fair_cell(values), FAIR_PATHS, rng).significant.mean()
        print(f"{values:6d}  {rate:.3f}")


def print_all_winners(simulations: int, rng: np.random.Generator) -> None:
    """Print the winners of ten times as many searches."""
    print_winners(10 * simulations, rng)


def main() -> None:
    """Print the tables of one part, or of all parts."""
    from benchmarks.sequential_coverage import print_coverage

    parts: dict[str, Callable[[int, np.random.Generator], None]] = {
        "audits": print_audits,
        "winners": print_all_winners,
        "paired": print_paired,
        "coverage": print_coverage,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("simulations", type=int, nargs="?", default=100)
    parser.add_argument("--part", choices=[*parts])
    options = parser.parse_args()
    for name in [options.part] if options.part else parts:
        parts[name](options.simulations, np.random.default_rng(0))


if __name__ == "__main__":
    main()
