"""Measure how well planted interactions are recovered, and write a page of tables.

    python -m benchmarks.calibration_interactions [--repeats 2000] [--draws 200] [--out PAGE.md]
    [PART ...]

Answers, not images, are drawn from the populations of the studio's planted world, so every truth is
exact. Parts: edges, sensitivity, equal, amplification, instrument, validation; without PART, all
parts. The script rewrites the page after every part. It takes about three minutes on one free core.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.prompts.axes import BIASCONNECT
from askew.stats.common_draws import CommonDraws
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.distance import sensitivity, total_variation
from askew.stats.distance_intervals import SampledShares, distance_intervals
from askew.stats.interaction_graph import amplification, correlation, mean_correlation
from askew.stats.intervals import benjamini_hochberg
from askew.stats.sensitivity import AxisPairSample, debiased_value, interactions, null_sizes
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.studio.scene import OCCUPATIONS
from askew.types import Estimate
from benchmarks.markdown import numbers, table_row
from benchmarks.planted_interactions import DISTANCES, SIZES, Floats, World, drawn, world

PAIRS = list(product(range(len(SIZES)), range(len(SIZES))))
OTHERS = [pair for pair in PAIRS if pair[0] != pair[1]]
THRESHOLD = 1e-4
PICTURES = (24, 48, 96)
PICTURES_OF_EDGES = (16, 48, 200)
NAMES = list(OCCUPATIONS)[:26]
CHOSEN = {
    1.0: [
        "gender gender",
        "gender age",
        "ethnicity ethnicity",
        "clothing emotion",
        "environment clothing",
        "clothing environment",
        "body_type emotion",
        "gender environment",
    ],
    0.0: ["ethnicity ethnicity", "gender age", "body_type emotion", "ethnicity disability"],
}
OCCUPATION = "nurse"
FAIR_GRAPHS = 500
Rows = Iterator[Sequence[object]]

STRENGTHS = (
    ("none", -1, 1e-6),
    ("weak", 1e-6, 0.1),
    ("middle", 0.1, 0.3),
    ("strong", 0.3, 1),
)
"""Groups of pairs by Cramér's V: name, exclusive lower limit, and upper limit."""


@dataclass(frozen=True, slots=True)
class TestedPair:
    """Chi-squared test of a pair of axes.

    Attributes
    ----------
    strength
        True Cramér's V.
    p
        p-value; 1 if there was nothing to test.
    q
        q-value over the pairs of its graph.
    """

    strength: float
    p: float
    q: float

    @property
    def is_edge(self) -> bool:
        """True if the pair is an edge of the graph by the paper's rule."""
        return self.p < THRESHOLD

    @property
    def is_edge_by_q(self) -> bool:
        """True if the pair is an edge of the graph by the default rule."""
        return self.q < SIGNIFICANCE_LEVEL


def edge_rows(options: argparse.Namespace) -> Rows:
    """Yield false edges per fair graph, and shares of pairs that are edges, by both rules.

    Pairs are grouped by the true strength of the association.
    """
    rng = np.random.default_rng(0)
    for pictures in PICTURES_OF_EDGES:
        fair = _tested_pairs([world(None, 0.0)] * FAIR_GRAPHS, pictures, rng)
        planted = _tested_pairs([world(name, 1.0) for name in NAMES], pictures, rng)
        for name in ("q < .05", "p < 1e-4"):

            def is_edge(pair: TestedPair, rule: str = name) -> bool:
                return pair.is_edge_by_q if rule == "q < .05" else pair.is_edge

            cells = []
            for _, low, high in (*STRENGTHS, ("any", 1e-6, 1)):
                group = [pair for pair in planted if low < pair.strength <= high]
                cells.append(f"{np.mean([is_edge(pair) for pair in group]):.3f}")
            false_edges = sum(is_edge(pair) for pair in fair) / FAIR_GRAPHS
            yield (name, pictures, f"{false_edges:.3f}", *cells)


def _tested_pairs(
    worlds: Sequence[World], pictures: int, rng: np.random.Generator
) -> list[TestedPair]:
    """Test every pair of different axes of every world."""
    tables = []
    strengths = []
    for planted, (source, target) in product(worlds, OTHERS):
        shares = planted.after[source][target]
        tables.append(drawn(shares, pictures, rng, 1)[0])
        strengths.append(strength(shares) if planted.dependent(source, target) else 0.0)
    tests = chi_squares(tables, rng=rng, threshold=THRESHOLD)
    p_values = [test.p if isinstance(test, ChiSquare) else 1.0 for test in tests]
    by_graph = np.reshape(p_values, (len(worlds), len(OTHERS)))
    q = np.concatenate([benjamini_hochberg(p_of_graph) for p_of_graph in by_graph])
    rows = zip(strengths, p_values, q.tolist(), strict=True)
    return [TestedPair(strength=v, p=p, q=of_family) for v, p, of_family in rows]


def strength(shares: NDArray[np.float64]) -> float:
    """Return Cramér's V of a table of shares."""
    counts = np.rint(shares * 1e9).astype(np.int64)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    return float(scipy.stats.contingency.association(counts, method="cramer"))


def sensitivity_rows(options: argparse.Namespace) -> Rows:
    """Yield bias and coverage of sensitivities of pairs."""
    for (bias, names), pictures in product(CHOSEN.items(), options.pictures):
        planted = world(OCCUPATION, bias)
        for name in names if bias in options.bias else ():
            source, target = _places(name)
            rng = np.random.default_rng([int(bias), pictures, source, target])
            pairs = _repeated(planted, source, target, pictures, rng, options.repeats)
            plug_in = np.mean([_plug_in(pair) for pair in pairs])
            truth = planted.truth(source, target)
            estimates = interactions(pairs, rng=rng, draws=options.draws)
            yield (
                f"{bias:g}",
                name.replace(" ", " → ").replace("_", " "),
                pictures,
                f"{truth:+.3f}",
                f"{plug_in - truth:+.3f}",
                *_against(truth, estimates),
            )


def _places(name: str) -> tuple[int, int]:
    """Return the places of the source and the target axis."""
    source, target = name.split()
    return BIASCONNECT.index(source), BIASCONNECT.index(target)


def _against(truth: float, outcomes: Sequence[object]) -> list[str]:
    """Return the cells of SIMULATED."""
    estimates = [outcome for outcome in outcomes if isinstance(outcome, Estimate)]
    value = np.array([estimate.value for estimate in estimates], dtype=float)
    low = np.array([estimate.low for estimate in estimates], dtype=float)
    high = np.array([estimate.high for estimate in estimates], dtype=float)
    p = np.array([estimate.p for estimate in estimates], dtype=float)
    below = float(np.mean(truth < low - 1e-9))
    above = float(np.mean(truth > high + 1e-9))
    width = float(np.mean(high - low))
    rates = (1 - below - above, below, above, width, float(np.mean(p < 0.05)))
    return [f"{np.mean(value) - truth:+.3f}", *numbers(rates)]


def _repeated(
    w: World, source: int, target: int, pictures: int, rng: np.random.Generator, repeats: int
) -> list[AxisPairSample]:
    """Draw the counts of a pair of axes several times."""
    initial = drawn(w.initial[target], pictures, rng, repeats)
    tables = drawn(w.after[source][target], pictures, rng, repeats)
    reference = np.ones(SIZES[target])
    return [
        AxisPairSample(i, t, reference, DISTANCES[target])
        for i, t in zip(initial, tables, strict=True)
    ]


def _plug_in(pair: AxisPairSample) -> float:
    mean = np.mean([row / row.sum() for row in np.asarray(pair.counterfactual)], axis=0)
    return float(sensitivity(pair.initial, mean, pair.reference, pair.distance))


@dataclass(frozen=True, slots=True)
class EqualDraws:
    """Draws of baseline images and three counterfactual sets from the same population.

    Attributes
    ----------
    initial
        Counts of the baseline images: (repeats, m).
    low, high
        Ends of the intervals of Intersectional Sensitivity: (repeats,).
    """

    initial: Floats
    low: Floats
    high: Floats

    @property
    def eccentricity(self) -> Floats:
        """Distance of the interval's midpoint from 0 in half lengths: 1 where an end is 0."""
        return np.asarray(np.abs(self.low + self.high) / (self.high - self.low))


def equal_rows(options: argparse.Namespace) -> Rows:
    """Yield the coverage of intervals where nothing happens.

    The populations deviate more and more from the reference. The last column is the coverage of
    narrowed intervals.
    """
    for values in (2, 4):
        narrowed = None
        for distance in (0.0, 0.05, 0.1, 0.2, 0.3):
            draws = _equal_draws(values, distance, options)
            eccentricity = draws.eccentricity
            if narrowed is None:
                narrowed = np.quantile(eccentricity, 0.95)
            low, high = _intervals_of_distance(draws.initial, options.draws)
            occurrences = (
                (draws.low <= 0) & (draws.high >= 0),
                draws.low > 0,
                draws.high < 0,
                low > distance + 1e-9,
                high < distance - 1e-9,
                eccentricity <= narrowed,
            )
            cells = [f"{np.mean(occurrence):.3f}" for occurrence in occurrences]
            yield (values, f"{distance:g}", *cells)


def _equal_draws(values: int, distance: float, options: argparse.Namespace) -> EqualDraws:
    """Draw from a population with a given total variation distance from uniform shares."""
    rng = np.random.default_rng([values, round(100 * distance)])
    shares = np.full(values, 1 / values)
    shares[:2] += (distance, -distance if values == 2 else 0)
    shares[2:] -= distance / max(values - 2, 1)
    initial = rng.multinomial(48, shares, size=options.repeats).astype(float)
    sets = rng.multinomial(48, shares, size=(options.repeats, 3)).astype(float)
    pairs = [AxisPairSample(i, s, np.ones(values)) for i, s in zip(initial, sets, strict=True)]
    results = interactions(pairs, rng=rng, draws=options.draws)
    ends = [(e.low, e.high) for e in results if isinstance(e, Estimate)]
    low, high = np.array(ends, dtype=float).T
    return EqualDraws(initial=initial, low=low, high=high)


def _intervals_of_distance(counts: Floats, draws: int) -> tuple[Floats, Floats]:
    """Return the intervals of distances from uniform shares, of counts (repeats, m)."""
    pictures = int(counts[0].sum())
    common = CommonDraws(1, draws)
    references = np.full(counts.shape, 1 / counts.shape[1])
    totals = np.full(len(counts), pictures)
    sample = SampledShares(counts / pictures, totals, references, total_variation)

    def sampler(populations: Floats) -> Floats:
        return np.asarray(
            total_variation(common.counts(populations, pictures), references[:, None])
        )

    return distance_intervals(sample, sampler(references), sampler, 0.95)


AMPLIFIED = ("gender", "age", "clothing", "emotion", "environment")
"""Axes of the graphs whose amplification is measured."""


def amplification_rows(options: argparse.Namespace) -> Rows:
    """Yield how often the amplification of a graph is significant, and coverage of its interval."""
    axes = [BIASCONNECT.index(name) for name in AMPLIFIED]
    pairs = [(source, target) for source in axes for target in axes if source != target]
    for bias, pictures in product((0.0, 0.5, 1.0), (48, 200)):
        planted = world(OCCUPATION, bias)
        truth = sum(abs(planted.truth(*pair)) for pair in pairs)
        rng = np.random.default_rng([int(2 * bias), pictures])
        rows = [
            _amplification(planted, pairs, pictures, options.draws, rng)
            for _ in range(options.graphs)
        ]
        debiased, p, low, high = np.array(rows).T
        covered = (low <= truth + 1e-9) & (truth <= high + 1e-9)
        means = map(
            float, (debiased.mean(), (p < 0.05).mean(), covered.mean(), (high - low).mean())
        )
        yield (f"{bias:g}", pictures, f"{truth:.2f}", *numbers(means))


def _amplification(
    w: World,
    pairs: Sequence[tuple[int, int]],
    pictures: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Return the debiased amplification of a drawn graph, its p, and the ends of its interval."""
    graph = _graph(w, pairs, pictures, rng)
    effects = {names: Estimate(float(debiased_value(pair))) for names, pair in graph.items()}  # type: ignore[arg-type]
    score = amplification(effects, null_sizes(graph, rng=rng, draws=draws))
    assert isinstance(score, Estimate)
    numbers_of_score = (score.corrected, score.p, score.low, score.high)
    return tuple(math.nan if number is None else number for number in numbers_of_score)


def _graph(
    w: World, pairs: Sequence[tuple[int, int]], pictures: int, rng: np.random.Generator
) -> dict[tuple[str, str], AxisPairSample]:
    """Draw the counts of a graph, whose pairs of a target share the baseline images."""
    initial = {}
    for _, target in pairs:
        if target not in initial:
            initial[target] = drawn(w.initial[target], pictures, rng, 1)[0]
    samples = {}
    for source, target in pairs:
        names = (BIASCONNECT[source], BIASCONNECT[target])
        counts = drawn(w.after[source][target], pictures, rng, 1)[0]
        reference = np.ones(SIZES[target])
        samples[names] = AxisPairSample(initial[target], counts, reference, DISTANCES[target])
    return samples


def instrument_rows(options: argparse.Namespace) -> Rows:
    """Yield bias and coverage with an instrument that errs, with and without correction."""
    rng = np.random.default_rng(2)
    planted = world(OCCUPATION, 1.0)
    for name, right in product(("gender age", "gender gender", "clothing environment"), (0.8, 0.9)):
        source, target = _places(name)
        m = SIZES[target]
        rates = np.full((m, m), (1 - right) / (m - 1))
        np.fill_diagonal(rates, right)
        labeled = _mislabeled(planted, target, rates)
        pairs = _repeated(labeled, source, target, 48, rng, options.instrument_repeats)
        confusions = rng.multinomial(100, rates, size=(len(pairs), m))
        plain = interactions(pairs, rng=rng, draws=options.draws)
        known = [
            replace(pair, confusion=counts) for pair, counts in zip(pairs, confusions, strict=True)
        ]
        corrected = interactions(known, rng=rng, draws=options.draws)
        truth = planted.truth(source, target)
        for label, estimates in (("uncorrected", plain), ("corrected", corrected)):
            yield (
                name.replace(" ", " → "),
                f"{right:.0%}",
                label,
                f"{truth:+.3f}",
                *_against(truth, estimates),
            )


def _mislabeled(planted: World, target: int, rates: Floats) -> World:
    """Return the world in which an axis is labeled with these error rates."""
    return World(
        initial=_mislabeled_axis(planted.initial, target, rates),
        after=tuple(_mislabeled_axis(shares, target, rates) for shares in planted.after),
    )


def _mislabeled_axis(shares: Sequence[Floats], target: int, rates: Floats) -> tuple[Floats, ...]:
    labeled = list(shares)
    labeled[target] = labeled[target] @ rates
    return tuple(labeled)


def validation_rows(options: argparse.Namespace) -> Rows:
    """Yield correlations of predicted sensitivities and those after an exact intervention."""
    rng = np.random.default_rng(3)
    for pictures in PICTURES:
        correlations = []
        tables = []
        for name in NAMES:
            table = _predicted_and_measured(world(name, 1.0), pictures, rng)
            correlations.append(correlation(*table, rng=rng, draws=99))
            tables.append(table)
        mean = mean_correlation(correlations)
        overall = correlation(*np.swapaxes(tables, 0, 1), rng=rng, draws=99)
        edges = np.count_nonzero(~np.isnan(np.array(tables)[:, 0]))
        yield (pictures, f"{edges / len(NAMES):.1f}", _interval(mean), _interval(overall))


def _predicted_and_measured(planted: World, pictures: int, rng: np.random.Generator) -> Floats:
    """Return sensitivities before and after an intervention: (2, axes, axes); NaN for no edge."""
    tested = _tested_pairs([planted], pictures, rng)
    edges = [pair for pair, test in zip(OTHERS, tested, strict=True) if test.is_edge]
    edges += [pair for pair in PAIRS if pair[0] == pair[1]]
    table = np.full((2, len(SIZES), len(SIZES)), np.nan)
    for pair in edges:
        table[:, *pair] = _before_and_after(planted, *pair, pictures, rng)
    return table


def _before_and_after(
    w: World, source: int, target: int, pictures: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the predicted sensitivity, and the sensitivity after an exact intervention."""
    (before,) = _repeated(w, source, target, pictures, rng, 1)
    mitigated = drawn(w.after[source][target].mean(axis=0), pictures, rng, 1)
    after = AxisPairSample(before.initial, mitigated, before.reference, before.distance)
    return float(debiased_value(before)), float(debiased_value(after))  # type: ignore[arg-type]


def _rate(called: Sequence[bool]) -> str:
    return f"{np.mean(called):.4f} of {len(called)}" if len(called) else "–"


def _interval(estimate: object) -> str:
    if not isinstance(estimate, Estimate):
        return "–"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


@dataclass(frozen=True, slots=True)
class Part:
    """Section of the page.

    Attributes
    ----------
    title
        Title.
    header
        Columns of the table.
    rows
        Function that yields the rows.
    """

    title: str
    header: Sequence[str]
    rows: Callable[[argparse.Namespace], Rows]


SIMULATED = ("bias", "coverage", "truth below", "truth above", "width", "p < .05")
PARTS = {
    "edges": Part(
        title="Edges",
        header=(
            "rule",
            "images per set",
            "bias 0: false edges per graph",
            "bias 1: false, V = 0",
            "recall, V ≤ .1",
            "recall, V .1 to .3",
            "recall, V > .3",
            "recall, all",
        ),
        rows=edge_rows,
    ),
    "sensitivity": Part(
        title="Intersectional Sensitivity",
        header=("bias setting", "pair", "images per set", "truth", "plug-in bias", *SIMULATED),
        rows=sensitivity_rows,
    ),
    "equal": Part(
        title="High coverage in a fair world",
        header=(
            "values",
            "distance of both",
            "coverage of IS = 0",
            "0 below",
            "0 above",
            "interval of the distance: too high",
            "too low",
            "coverage if narrowed",
        ),
        rows=equal_rows,
    ),
    "amplification": Part(
        title="Amplification",
        header=(
            "bias setting",
            "images per set",
            "truth",
            "mean debiased",
            "p < .05",
            "coverage",
            "width",
        ),
        rows=amplification_rows,
    ),
    "instrument": Part(
        title="An instrument that makes errors",
        header=("pair", "right", "sensitivity", "truth", *SIMULATED),
        rows=instrument_rows,
    ),
    "validation": Part(
        title="Prediction against an exact intervention",
        header=("images per set", "edges per prompt", "mean over prompts", "all edges together"),
        rows=validation_rows,
    ),
}


def write_page(options: argparse.Namespace) -> None:
    """Compute and print the parts, and write the page after each part."""
    page = "# Calibration of interactions\n"
    for name in options.parts or PARTS:
        part = PARTS[name]
        page += f"\n## {part.title}\n\n"
        page += f"{table_row(*part.header)}\n|{'---|' * len(part.header)}\n"
        for row in part.rows(options):
            line = table_row(*map(str, row)) + "\n"
            page += line
            print(line, end="", flush=True)
        if options.out:
            options.out.write_text(page, encoding="utf-8")


def main() -> None:
    """Compute the tables from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[], help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--instrument-repeats", type=int, default=200)
    parser.add_argument(
        "--graphs", type=int, default=200, help="number of graphs in the part amplification"
    )
    parser.add_argument(
        "--pictures",
        type=int,
        nargs="+",
        default=PICTURES,
        help="numbers of images in the part sensitivity",
    )
    parser.add_argument(
        "--bias", type=float, nargs="+", default=list(CHOSEN), help="biases in the part sensitivity"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    write_page(options)


if __name__ == "__main__":
    main()
