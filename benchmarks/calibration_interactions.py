"""Measure how well planted interactions are recovered, and write a page of tables.

    python -m benchmarks.calibration_interactions [--repeats 2000] [--draws 200] [--out PAGE.md]
    [PART ...]

Answers, not images, are drawn from the populations of the studio's planted world, so every truth is
exact. Parts: edges, sensitivity, equal, instrument, validation; without PART, all parts. The script
rewrites the page after every part. It takes about three minutes on one free core.
"""

from __future__ import annotations

import argparse
import textwrap
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
from askew.stats.interaction_graph import correlation, mean_correlation
from askew.stats.sensitivity import AxisPairSample, debiased_value, interactions
from askew.studio.scene import OCCUPATIONS
from askew.types import Estimate
from benchmarks.markdown import numbers, table_row
from benchmarks.planted_interactions import DISTANCES, SIZES, Floats, World, drawn, world

PAIRS = list(product(range(len(SIZES)), range(len(SIZES))))
OTHERS = [pair for pair in PAIRS if pair[0] != pair[1]]
THRESHOLD = 1e-4
PICTURES = (24, 48, 96)
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
Rows = Iterator[Sequence[object]]

HEAD = """# Calibration of interactions

How well does `interact` recover what is planted? Counts are drawn from the exact distributions of `studio/planted`. No
instrument errs, except in the section that simulates errors.

    python -m benchmarks.calibration_interactions

prints all cases (seeded).
"""


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
    """

    strength: float
    p: float

    @property
    def is_edge(self) -> bool:
        """True if the pair is an edge of the graph."""
        return self.p < THRESHOLD


def edge_rows(options: argparse.Namespace) -> Rows:
    """Yield shares of pairs that are edges, by the true strength of the association."""
    rng = np.random.default_rng(0)
    for pictures in PICTURES:
        fair = _tested_pairs([world(None, 0.0)] * 100, pictures, rng)
        planted = _tested_pairs([world(name, 1.0) for name in NAMES], pictures, rng)
        cells = []
        for _, low, high in STRENGTHS:
            cells.append(_rate([pair.is_edge for pair in planted if low < pair.strength <= high]))
        alarms = np.mean([pair.p < 0.05 for pair in fair])
        yield (pictures, _rate([pair.is_edge for pair in fair]), f"{alarms:.3f}", *cells)


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
    pairs = []
    for v, test in zip(strengths, tests, strict=True):
        pairs.append(TestedPair(strength=v, p=test.p if isinstance(test, ChiSquare) else 1.0))
    return pairs


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
    title, text
        Title and introduction.
    header
        Columns of the table.
    rows
        Function that yields the rows.
    """

    title: str
    text: str
    header: Sequence[str]
    rows: Callable[[argparse.Namespace], Rows]


SIMULATED = ("bias", "coverage", "truth below", "truth above", "width", "p < .05")
PARTS = {
    "edges": Part(
        title="Edges",
        text="Share of ordered pairs of different axes with p < 1e-4, by the true strength of the "
        "association (Cramér's V). Bias 0: 100 worlds. Bias 1: 26 occupations. At bias 0, p < .05"
        " is expected in 5 %. There are next to no false edges. With few images only strong "
        "associations become edges: the absence of an edge does not mean the absence of an "
        "influence.",
        header=(
            "images per set",
            "bias 0: false edges",
            "bias 0: p < .05",
            "bias 1: false edges, V = 0",
            "recall, V ≤ .1",
            "recall, V .1 to .3",
            "recall, V > .3",
        ),
        rows=edge_rows,
    ),
    "sensitivity": Part(
        title="Intersectional Sensitivity",
        text="Nurse, uniform reference, 95 % confidence intervals. `plug-in bias` is the bias of the "
        "paper's uncorrected number, and `bias` the bias of askew's estimate. At bias setting 0 "
        "nothing happens. There the plug-in finds an effect, and askew next to none. An "
        "intervention on the axis itself looks smaller than it is: its distribution afterward is "
        "known exactly, and askew blurs it to match the baseline images. Intervals do not depend "
        "on that value. In fair worlds intervals cover more than 95 %, because both distances are"
        " 0, their minimum. The next section shows why narrower intervals would be wrong.",
        header=("bias setting", "pair", "images per set", "truth", "plug-in bias", *SIMULATED),
        rows=sensitivity_rows,
    ),
    "equal": Part(
        title="High coverage in a fair world",
        text="48 baseline images and three counterfactual sets of 48 come from the same population, so"
        " IS is 0. `distance of both` is the distance of this population from equal shares (total"
        " variation). `interval of the distance` is the interval of the distance of the baseline "
        "images. At distance 0 it can miss on one side only. It then excludes 0 in a few percent "
        "of the cases. The interval of IS excludes 0 more rarely, since the interval of the "
        "second distance is as long. The larger the distance, the more both sides miss, and the "
        "coverage approaches 95 %. `coverage if narrowed` shows why narrower intervals are wrong."
        " These intervals are narrowed around their midpoints by the factor that gives 95 % "
        "coverage at distance 0. At other distances they cover too rarely, and the true distance "
        "is unknown.",
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
    "instrument": Part(
        title="An instrument that errs",
        text="48 images per set. The instrument labels an image correctly with the given probability, "
        "and otherwise with any other value. 100 labeled images of each value estimate its "
        "errors. Uncorrected errors make every effect look smaller. The correction removes half "
        "to all of this bias, and its interval covers. It mostly covers more than 95 %: the error"
        " of the confusion matrix is common to both distributions, but the interval treats it as "
        "independent.",
        header=("pair", "right", "sensitivity", "truth", *SIMULATED),
        rows=instrument_rows,
    ),
    "validation": Part(
        title="Prediction against an exact intervention",
        text="Eq. 7-8: correlation of IS predicted from counterfactual images and IS measured on as "
        "many held-out images of the equal mixture. It covers the edges of each of 26 "
        "occupations, including direct effects. Both share the baseline images, as in the paper, "
        "which by itself causes a small correlation.",
        header=("images per set", "edges per prompt", "mean over prompts", "all edges together"),
        rows=validation_rows,
    ),
}


def write_page(options: argparse.Namespace) -> None:
    """Compute and print the parts, and write the page after each part."""
    page = HEAD
    for name in options.parts or PARTS:
        part = PARTS[name]
        page += f"\n## {part.title}\n\n{textwrap.fill(part.text, 120)}\n\n"
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
        "--pictures", type=int, nargs="+", default=PICTURES, help="of the part sensitivity"
    )
    parser.add_argument(
        "--bias", type=float, nargs="+", default=list(CHOSEN), help="of the part sensitivity"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    write_page(options)


if __name__ == "__main__":
    main()
