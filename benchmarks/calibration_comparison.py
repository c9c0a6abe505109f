"""Measure the coverage of intervals of differences between two models, with planted populations.

    python -m benchmarks.calibration_comparison [REPEATS] [exchange]

The script prints Markdown tables. Every repeat draws images from two models whose true scores are
known. Rho is the correlation of the two models' images of the same seed. A row is computed from
REPEATS comparisons (default 400), for concepts from a third as many, with 300 draws each. All draws
are seeded. The script takes about twenty minutes on one free core, with "exchange" (only the tests
whether runs differ) six.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from askew.stats.association import (
    cas,
    mad,
    standard_deviation,
    unit_vectors,
    wasserstein,
)
from askew.stats.association_differences import association_differences
from askew.stats.differences import distance_difference, share_difference
from askew.stats.distance import total_variation
from askew.stats.exchange import exchange_test, exchange_test_of_value
from askew.stats.intervals import benjamini_hochberg, holm_then_bh
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate
from benchmarks.markdown import numbers, table_row

Floats = NDArray[np.float64]
SIZES = (10, 24, 48)
DRAWS = 300
LEVEL = 0.05
FAIR6 = [1 / 6] * 6
ONE6 = [0.5] + [0.1] * 5

ANSWERS: dict[str, tuple[Sequence[float], Sequence[float], float]] = {
    "6 values, fair; one over-represented": (FAIR6, ONE6, 0.5),
    "6 values, both fair": (FAIR6, FAIR6, 0.9),
    ".8; .8, independent": ([0.8, 0.2], [0.8, 0.2], 0.0),
    ".8; .78, nearly the same": ([0.8, 0.2], [0.78, 0.22], 0.99),
    ".85; .2, mirrored": ([0.85, 0.15], [0.2, 0.8], 0.7),
    ".03; .1, rare": ([0.03, 0.97], [0.1, 0.9], 0.5),
}
"""Shares of an axis's values in two models, and rho."""

BIASES: dict[str, tuple[float, float, float]] = {
    "biased .9; fair": (0.9, 0.5, 0.5),
    "both .85, independent": (0.85, 0.85, 0.0),
    "both .85, nearly the same": (0.85, 0.85, 0.95),
    "biased .95; .75": (0.95, 0.75, 0.8),
}
"""Share of the first of two values in the baseline images of two models, and rho."""


class Tally:
    """Estimates of a difference whose true value is known."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self._estimates: list[Estimate] = []

    def add(self, estimate: Estimate) -> None:
        """Add an estimate."""
        self._estimates.append(estimate)

    @property
    def coverage(self) -> float:
        """Share of intervals that contain the true value."""
        ends = [(e.low or 0.0, e.high or 0.0) for e in self._estimates]
        return float(np.mean([low - 1e-9 <= self.truth <= high + 1e-9 for low, high in ends]))

    @property
    def alarms(self) -> float:
        """Share of p-values below .05."""
        return float(np.mean([(e.p or 0.0) < 0.05 for e in self._estimates]))

    def cells(self) -> list[str]:
        """Return truth, mean value, coverage, mean width and share of p-values below .05."""
        value = float(np.mean([e.value for e in self._estimates]))
        width = float(np.mean([(e.high or 0.0) - (e.low or 0.0) for e in self._estimates]))
        values = numbers([self.truth, value], "+.3f")
        return [*values, *numbers([self.coverage, width, self.alarms])]


def noise(rng: np.random.Generator, shape: tuple[int, ...], rho: float) -> tuple[Floats, Floats]:
    """Return correlated uniform numbers, which two models derive from the same seeds."""
    common = rng.normal(size=shape)
    other = rho * common + math.sqrt(1 - rho * rho) * rng.normal(size=shape)
    return norm.cdf(common), norm.cdf(other)


def answered(
    rng: np.random.Generator, n: int, p: Sequence[float], q: Sequence[float], rho: float
) -> PairedSets:
    """Draw the values of an axis in n images by each of two models, with the same seeds.

    Parameters
    ----------
    rng
        Generator of the draws.
    n
        Number of images.
    p, q
        Shares of the values in the two models.
    rho
        Correlation of the models.
    """
    u, v = noise(rng, (n,), rho)
    codes = [np.searchsorted(np.cumsum(shares)[:-1], x) for shares, x in ((p, u), (q, v))]
    return PairedSets.of(np.eye(len(p))[codes[0]], np.eye(len(p))[codes[1]], range(n), range(n))


def share_and_distance(
    case: str, repeats: int, n: int = 48, draws: int = DRAWS
) -> tuple[Tally, Tally]:
    """Return tallies of differences of the first value's share and of the deviation from uniform.

    Parameters
    ----------
    case
        A case of ANSWERS.
    repeats
        Number of comparisons.
    n
        Number of images of each model.
    draws
        Number of draws for each interval.
    """
    p, q, rho = ANSWERS[case]
    reference = np.full(len(p), 1 / len(p))
    rng = np.random.default_rng(8)
    distance = float(total_variation(p, reference) - total_variation(q, reference))
    tallies = (Tally(p[0] - q[0]), Tally(distance))
    for _ in range(repeats):
        sets = answered(rng, n, p, q, rho)
        tallies[0].add(share_difference(sets, 0))
        tallies[1].add(distance_difference(sets, reference, rng=rng, draws=draws))
    return tallies


COUNTED: dict[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] = {
    ".3; .7, reference .5": ([0.3, 0.7], [0.7, 0.3], [0.5, 0.5]),
    ".9; .6, reference .5": ([0.9, 0.1], [0.6, 0.4], [0.5, 0.5]),
    "4 values, fair; one over-represented": ([0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.25] * 4),
    ".03; .03, reference .03": ([0.03, 0.97], [0.03, 0.97], [0.03, 0.97]),
}
"""Shares of an axis's values in two models and in the reference."""

REFERENCE_SIZES = (12, 24, 48)
"""Numbers of images in which a reference is counted."""


def counted_reference(case: str, repeats: int, n: int = 12) -> tuple[Tally, Tally]:
    """Return tallies of differences of the deviation from a counted reference, of 48 images.

    The second tally takes the reference as exact.

    Parameters
    ----------
    case
        A case of COUNTED.
    repeats
        Number of comparisons.
    n
        Number of images of the reference.
    """
    first, second, reference = COUNTED[case]
    rng = np.random.default_rng(10)
    truth = float(total_variation(first, reference) - total_variation(second, reference))
    tallies = (Tally(truth), Tally(truth))
    for _ in range(repeats):
        sets = PairedSets.of_counts(rng.multinomial(48, first), rng.multinomial(48, second))
        counted = rng.multinomial(n, reference)
        for tally, images in zip(tallies, (n, None), strict=True):
            tally.add(
                distance_difference(sets, counted, rng=rng, draws=DRAWS, reference_images=images)
            )
    return tallies


AXES: dict[str, tuple[tuple[int, ...], int]] = {
    "1 axis of 2 values": ((2,), 48),
    "1 axis of 6 values": ((6,), 48),
    "8 axes of 2 values": ((2,) * 8, 24),
    "8 axes of 2 to 6 values": ((2, 2, 3, 3, 4, 5, 6, 6), 24),
    "8 axes of 2 to 6 values, more images": ((2, 2, 3, 3, 4, 5, 6, 6), 48),
}
"""Numbers of values of the axes, and images of each of two models."""

CHANGED_AXES = (0, 5)
"""Axes on which the second model shows the first value more often."""


@dataclass(frozen=True)
class Findings:
    """Numbers of comparisons with a significant axis, and of significant axes that truly differ.

    `exchange` is askew's test. `exact` is Holm over the exact tests of the values, which askew used
    before.
    """

    exchange: int = 0
    exact: int = 0
    exchange_axes: int = 0
    exact_axes: int = 0

    def and_of(self, exchange: Sequence[float], exact: Sequence[float]) -> Findings:
        """Return the numbers with those of a further comparison, given the q of its axes."""
        by_exchange = [q < LEVEL for q in exchange]
        by_exact = [q < LEVEL for q in exact]
        return Findings(
            exchange=self.exchange + any(by_exchange),
            exact=self.exact + any(by_exact),
            exchange_axes=self.exchange_axes
            + sum(by_exchange[axis] for axis in _changed(exchange)),
            exact_axes=self.exact_axes + sum(by_exact[axis] for axis in _changed(exact)),
        )


def _changed(axes: Sequence[object]) -> list[int]:
    return [axis for axis in CHANGED_AXES if axis < len(axes)]


def significant_axes(
    case: str, repeats: int, shift: float, rho: float = 0.5, paired: bool = True
) -> Findings:
    """Count comparisons of two models in which an axis is significant.

    Parameters
    ----------
    case
        A case of AXES.
    repeats
        Number of comparisons.
    shift
        Part of the second model's images of CHANGED_AXES that show the first value in any case. The
        other images have equal shares.
    rho
        Correlation of the models.
    paired
        If False, the seeds are not known.
    """
    sizes, n = AXES[case]
    rng = np.random.default_rng([n, len(sizes), int(100 * shift)])
    findings = Findings()
    for _ in range(repeats):
        tests = []
        of_shares = []
        for axis, size in enumerate(sizes):
            first = np.full(size, 1 / size)
            second = first
            if axis in CHANGED_AXES:
                second = (1 - shift) * first + shift * np.eye(size)[0]
            sets = answered(rng, n, first.tolist(), second.tolist(), rho)
            if not paired:
                sets = PairedSets.of(sets.first, sets.second)
            tests.append(exchange_test(sets))
            values = range(1 if size == 2 else size)
            of_shares.append([exchange_test_of_value(sets, value).exact_p for value in values])
        tested = [test.p for test in tests if test.smallest_p < LEVEL]
        corrected = iter(benjamini_hochberg(tested).tolist())
        q_values = [next(corrected) if test.smallest_p < LEVEL else 1.0 for test in tests]
        findings = findings.and_of(q_values, [q for _, q, _ in holm_then_bh(of_shares)])
    return findings


def exchange_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often an axis is significant if no axis differs, and if `CHANGED_AXES` differ."""
    for case, paired in product(AXES, (True, False)):
        differing = len(_changed(AXES[case][0]))
        rho = 0.5 if paired else 0.0
        null = significant_axes(case, repeats, 0.0, rho=rho, paired=paired)
        planted = significant_axes(case, repeats, 0.4, rho=rho, paired=paired)
        rates = [null.exchange, null.exact, planted.exchange, planted.exact]
        cells = [rate / repeats for rate in rates]
        cells += [
            planted.exchange_axes / repeats / differing,
            planted.exact_axes / repeats / differing,
        ]
        yield [case, str(AXES[case][1]), "paired" if paired else "apart", *numbers(cells)]


def populations(share: float) -> list[Floats]:
    """Return frequencies of two values and twelve words in three populations.

    The populations are a biased baseline and its two counterfactuals.

    Parameters
    ----------
    share
        Share of the first value in the baseline.
    """
    words = 0.8 / np.arange(1, 13) ** 0.8
    first = np.append([1.0, 0.0], words)
    second = np.append([0.0, 1.0], words[::-1])
    return [share * first + (1 - share) * second, first, second]


CONCEPT_SCORES = ("CAS", "MAD", "Wasserstein distance", "standard deviation")
"""Names of the tallies of `concept_scores`."""


def concept_scores(case: str, repeats: int, n: int = 48, draws: int = DRAWS) -> tuple[Tally, ...]:
    """Return tallies of differences of the first CAS, of MAD and of its alternatives.

    Parameters
    ----------
    case
        A case of BIASES.
    repeats
        Number of comparisons.
    n
        Number of images of each set.
    draws
        Number of draws for each interval.
    """
    first_share, second_share, rho = BIASES[case]
    first = populations(first_share)
    second = populations(second_share)
    first_cas = _cas_of_counterfactuals(first)
    second_cas = _cas_of_counterfactuals(second)
    spreads = [mad, wasserstein, standard_deviation]
    truths = [first_cas[0] - second_cas[0]]
    truths += [spread(first_cas) - spread(second_cas) for spread in spreads]
    tallies = tuple(Tally(float(truth)) for truth in truths)
    rng = np.random.default_rng(9)
    for _ in range(repeats):
        sets = [_paired_set(p, q, n, rho, rng) for p, q in zip(first, second, strict=True)]
        scores = association_differences(sets, rng=rng, draws=draws)
        estimates = (scores.cas[0], scores.mad, scores.wasserstein, scores.standard_deviation)
        for tally, estimate in zip(tallies, estimates, strict=True):
            tally.add(estimate)
    return tallies


DIMENSIONS = 32
"""Length of the drawn vectors."""

POPULATION = 100_000
"""Images by which true scores by embedding are known."""


def _vectors(
    share: float, seeds: tuple[Floats, Floats], centers: Floats, noise_size: float = 0.25
) -> Floats:
    """Return unit vectors of images of which a share is near to the first of two centers.

    Parameters
    ----------
    share
        Share of the first center.
    seeds
        A uniform number, and normal numbers (images, DIMENSIONS), of each image.
    centers
        The two centers.
    noise_size
        Size of the noise.
    """
    uniform, normal = seeds
    center = np.where((uniform < share)[:, None], centers[0], centers[1])
    return unit_vectors(center + noise_size * normal)


def _seeds(n: int, rho: float, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """Draw the seeds of n images of each of two models, with a correlation."""
    uniforms = noise(rng, (n,), rho)
    normals = (norm.ppf(x) for x in noise(rng, (n, DIMENSIONS), rho))
    return list(zip(uniforms, normals, strict=True))


def scores_by_embedding(
    case: str, repeats: int, n: int = 48, draws: int = DRAWS
) -> tuple[Tally, Tally]:
    """Return tallies of differences of the first CAS^CLIP and of its MAD.

    Parameters
    ----------
    case, repeats, n, draws
        As in `concept_scores`.
    """
    *shares, rho = BIASES[case]
    rng = np.random.default_rng(11)
    centers = unit_vectors(1 + rng.normal(size=(2, DIMENSIONS)))
    populations_of_models = []
    for share in shares:
        means = [
            _vectors(part, _seeds(POPULATION, 0.0, rng)[0], centers).mean(axis=0)
            for part in (share, 1.0, 0.0)
        ]
        populations_of_models.append(np.array([means[0] @ other for other in means[1:]]))
    first, second = populations_of_models
    tallies = (Tally(float(first[0] - second[0])), Tally(float(mad(first) - mad(second))))
    for _ in range(repeats):
        sets = []
        for parts in ((shares[0], shares[1]), (1.0, 1.0), (0.0, 0.0)):
            rows = [
                _vectors(part, seeds, centers)
                for part, seeds in zip(parts, _seeds(n, rho, rng), strict=True)
            ]
            sets.append(PairedSets.of(rows[0], rows[1], range(n), range(n)))
        scores = association_differences(sets, rng=rng, draws=draws, embedded=True)
        tallies[0].add(scores.cas[0])
        tallies[1].add(scores.mad)
    return tallies


def _cas_of_counterfactuals(frequencies: Sequence[Floats]) -> Floats:
    baseline, *counterfactuals = frequencies
    return np.array([cas(baseline, counterfactual) for counterfactual in counterfactuals])


def _paired_set(p: Floats, q: Floats, n: int, rho: float, rng: np.random.Generator) -> PairedSets:
    """Draw n images by each of two models, with concept frequencies p and q."""
    u, v = noise(rng, (n, len(p)), rho)
    return PairedSets.of(u < p, v < q, range(n), range(n))


def table(
    title: str,
    cases: Sequence[str],
    names: Sequence[str],
    run: Callable[..., tuple[Tally, ...]],
    sizes: Sequence[int] = SIZES,
) -> None:
    """Print a Markdown table, row by row as it is computed.

    Parameters
    ----------
    title
        Title of the table.
    cases
        Names of the cases.
    names
        Names of the scores of the tallies.
    run
        Function that returns the tallies, given a case and the number of images.
    sizes
        Numbers of images.
    """
    header = ("models", "images", "score", "truth", "mean value", "coverage", "width", "p < .05")
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for n, case in product(sizes, cases):
        for name, tally in zip(names, run(case, n=n), strict=True):
            print(table_row(case, str(n), name, *tally.cells()), flush=True)


def print_exchange_table(repeats: int) -> None:
    """Print how often an axis is significant."""
    header = (
        "axes",
        "images",
        "seeds",
        "no difference: exchange",
        "Holm, exact",
        "difference: any axis, exchange",
        "Holm, exact",
        "axes found, exchange",
        "Holm, exact",
    )
    print(f"\n### Significant axes\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in exchange_rows(repeats):
        print(table_row(*row), flush=True)


def main(repeats: int, only_exchange: bool) -> None:
    """Print all tables."""
    print_exchange_table(repeats)
    if only_exchange:
        return

    def answers(case: str, n: int) -> tuple[Tally, Tally]:
        return share_and_distance(case, repeats, n)

    def concepts(case: str, n: int) -> tuple[Tally, ...]:
        return concept_scores(case, repeats // 3, n)

    def embeddings(case: str, n: int) -> tuple[Tally, Tally]:
        return scores_by_embedding(case, repeats // 3, n)

    def references(case: str, n: int) -> tuple[Tally, Tally]:
        return counted_reference(case, repeats, n)

    table("Shares and distances", list(ANSWERS), ("share", "distance"), answers)
    table(
        "Distances from a counted reference",
        list(COUNTED),
        ("allowing for its error", "as if exact"),
        references,
        REFERENCE_SIZES,
    )
    table("CAS, MAD and its alternatives", list(BIASES), CONCEPT_SCORES, concepts)
    table("CAS and MAD by embedding", list(BIASES), ("CAS", "MAD"), embeddings)


if __name__ == "__main__":
    main(
        repeats=int(sys.argv[1]) if len(sys.argv) > 1 else 400,
        only_exchange="exchange" in sys.argv,
    )
