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
from dataclasses import replace
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


def edge_rows(options: argparse.Namespace) -> Rows:
    """Shares of pairs called an edge, by what is true of them."""
    rng = np.random.default_rng(0)
    for pictures in PICTURES:
        fair = _tests([world(None, 0.0)] * 100, pictures, rng)
        planted = _tests([world(name, 1.0) for name in NAMES], pictures, rng)
        called = {
            name: [p < THRESHOLD for v, p in planted if low < v <= high]
            for name, low, high in (
                ("none", -1, 1e-6),
                ("weak", 1e-6, 0.1),
                ("middle", 0.1, 0.3),
                ("strong", 0.3, 1),
            )
        }
        alarms = [p for _, p in fair]
        yield (
            pictures,
            _rate([p < THRESHOLD for p in alarms]),
            f"{np.mean(np.array(alarms) < 0.05):.3f}",
            *(_rate(group) for group in called.values()),
        )


def _tests(
    worlds: Sequence[World], pictures: int, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """Of every pair of different axes: the true Cramér's V, and the p found; 1 where there was
    nothing to test.
    """
    cells = [(w, pair) for w in worlds for pair in OTHERS]
    tables = [drawn(w.after[s][t], pictures, rng, 1)[0] for w, (s, t) in cells]
    results = chi_squares(tables, rng=rng, threshold=THRESHOLD)
    strengths = [strength(w.after[s][t]) if w.dependent(s, t) else 0.0 for w, (s, t) in cells]
    return [
        (v, test.p if isinstance(test, ChiSquare) else 1.0)
        for v, test in zip(strengths, results, strict=True)
    ]


def strength(shares: NDArray[np.float64]) -> float:
    """Cramér's V of a table of shares."""
    counts = np.rint(shares * 1e9).astype(np.int64)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    return float(scipy.stats.contingency.association(counts, method="cramer"))


def sensitivity_rows(options: argparse.Namespace) -> Rows:
    """Bias and coverage of single sensitivities."""
    for (bias, names), pictures in product(CHOSEN.items(), options.pictures):
        planted = world(OCCUPATION, bias)
        for name in names if bias in options.bias else ():
            source, target = (BIASCONNECT.index(axis) for axis in name.split())
            rng = np.random.default_rng([int(bias), pictures, source, target])
            pairs = _repeated(planted, source, target, pictures, rng, options.repeats)
            plug_in = np.mean([_plug_in(pair) for pair in pairs])
            truth = planted.truth(source, target)
            result = interactions(pairs, rng=rng, draws=options.draws)
            yield (
                f"{bias:g}",
                name.replace(" ", " → ").replace("_", " "),
                pictures,
                f"{truth:+.3f}",
                f"{plug_in - truth:+.3f}",
                *_against(truth, result),
            )


def _against(truth: float, outcomes: Sequence[object]) -> list[str]:
    estimates = [outcome for outcome in outcomes if isinstance(outcome, Estimate)]
    value, low, high, p = np.array(
        [[e.value, e.low, e.high, e.p] for e in estimates], dtype=float
    ).T
    below = np.mean(truth < low - 1e-9)
    above = np.mean(truth > high + 1e-9)
    rates = (1 - below - above, below, above, np.mean(high - low), np.mean(p < 0.05))
    return [f"{np.mean(value) - truth:+.3f}", *(f"{rate:.3f}" for rate in rates)]


def _repeated(
    w: World, source: int, target: int, pictures: int, rng: np.random.Generator, repeats: int
) -> list[AxisPairSample]:
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


def equal_rows(options: argparse.Namespace) -> Rows:
    """Nothing happens, in populations ever further from the ideal: coverage, and that of intervals
    made narrower.
    """
    for values in (2, 4):
        narrowed = None
        for distance in (0.0, 0.05, 0.1, 0.2, 0.3):
            rng = np.random.default_rng([values, round(100 * distance)])
            shares = np.full(values, 1 / values)
            shares[:2] += distance, -distance if values == 2 else 0
            shares[2:] -= distance / max(values - 2, 1)
            initial = rng.multinomial(48, shares, size=options.repeats).astype(float)
            sets = rng.multinomial(48, shares, size=(options.repeats, 3)).astype(float)
            pairs = [
                AxisPairSample(i, s, np.ones(values)) for i, s in zip(initial, sets, strict=True)
            ]
            results = interactions(pairs, rng=rng, draws=options.draws)
            low, high = np.array([(e.low, e.high) for e in results if isinstance(e, Estimate)]).T
            off = np.abs(low + high) / (high - low)  # 1 where an end is 0
            narrowed = np.quantile(off, 0.95) if narrowed is None else narrowed
            own_intervals = _own_intervals(initial, options.draws)
            happened = (
                (low <= 0) & (high >= 0),
                low > 0,
                high < 0,
                own_intervals[0] > distance + 1e-9,
                own_intervals[1] < distance - 1e-9,
                off <= narrowed,
            )
            yield (
                values,
                f"{distance:g}",
                *(f"{np.mean(occurrences):.3f}" for occurrences in happened),
            )


def _own_intervals(counts: Floats, draws: int) -> tuple[Floats, Floats]:
    """The intervals of single distances from equal shares, of counts (repeats, m)."""
    pictures = int(counts[0].sum())
    common = CommonDraws(1, draws)
    references = np.full(counts.shape, 1 / counts.shape[1])
    numbers = np.full(len(counts), pictures)
    sample = SampledShares(counts / pictures, numbers, references, total_variation)

    def sampler(populations: Floats) -> Floats:
        return np.asarray(
            total_variation(common.counts(populations, pictures), references[:, None])
        )

    return distance_intervals(sample, sampler(references), sampler, 0.95)


def instrument_rows(options: argparse.Namespace) -> Rows:
    """An instrument that errs, with and without its confusion matrix."""
    rng = np.random.default_rng(2)
    for name, right in product(("gender age", "gender gender", "clothing environment"), (0.8, 0.9)):
        source, target = (BIASCONNECT.index(axis) for axis in name.split())
        planted = world(OCCUPATION, 1.0)
        m = SIZES[target]
        rates = np.full((m, m), (1 - right) / (m - 1))
        np.fill_diagonal(rates, right)
        seen = World(
            tuple(s @ rates if i == target else s for i, s in enumerate(planted.initial)),
            tuple(
                tuple(s @ rates if i == target else s for i, s in enumerate(axis))
                for axis in planted.after
            ),
        )
        pairs = _repeated(seen, source, target, 48, rng, options.instrument_repeats)
        labels = rng.multinomial(100, rates, size=(len(pairs), m))
        plain = interactions(pairs, rng=rng, draws=options.draws)
        known = [
            replace(pair, confusion=counts) for pair, counts in zip(pairs, labels, strict=True)
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


def validation_rows(options: argparse.Namespace) -> Rows:
    """Sensitivities that counterfactual pictures predict, against those after an exact
    intervention.
    """
    rng = np.random.default_rng(3)
    for pictures in PICTURES:
        prompts = []
        all_pairs = []
        pairs = 0
        for name in NAMES:
            planted = world(name, 1.0)
            edges = [
                pair
                for pair, (_, p) in zip(OTHERS, _tests([planted], pictures, rng), strict=True)
                if p < THRESHOLD
            ] + [pair for pair in PAIRS if pair[0] == pair[1]]
            both = np.full((2, len(SIZES), len(SIZES)), np.nan)
            for pair in edges:
                both[:, *pair] = _before_and_after(planted, *pair, pictures, rng)
            pairs += len(edges)
            prompts.append(correlation(*both, rng=rng, draws=99))
            all_pairs.append(both)
        mean = mean_correlation(prompts)
        overall = correlation(*np.swapaxes(all_pairs, 0, 1), rng=rng, draws=99)
        yield (
            pictures,
            f"{pairs / len(NAMES):.1f}",
            *(_interval(estimate) for estimate in (mean, overall)),
        )


def _before_and_after(
    w: World, source: int, target: int, pictures: int, rng: np.random.Generator
) -> tuple[float, float]:
    (before,) = _repeated(w, source, target, pictures, rng, 1)
    mitigated = drawn(w.after[source][target].mean(axis=0), pictures, rng, 1)
    after = AxisPairSample(before.initial, mitigated, before.reference, before.distance)
    return float(debiased_value(before)), float(debiased_value(after))  # type: ignore[arg-type]


def _rate(called: Sequence[bool]) -> str:
    return f"{np.mean(called):.4f} of {len(called)}" if len(called) else "–"


def _interval(estimate: object) -> str:
    return (
        f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        if isinstance(estimate, Estimate)
        else "–"
    )


SIMULATED = ("bias", "coverage", "truth below", "truth above", "width", "p < .05")
PARTS: dict[str, tuple[str, str, Sequence[str], Callable[[argparse.Namespace], Rows]]] = {
    "edges": (
        "Edges",
        "Share of ordered pairs of different axes with p < 1e-4, by the true strength of the "
        "association (Cramér's V). Bias 0: 100 worlds. Bias 1: 26 occupations. At bias 0, p < .05"
        " is expected in 5 %. There are next to no false edges. With few images only strong "
        "associations become edges: the absence of an edge does not mean the absence of an "
        "influence.",
        (
            "images per set",
            "bias 0: false edges",
            "bias 0: p < .05",
            "bias 1: false edges, V = 0",
            "recall, V ≤ .1",
            "recall, V .1 to .3",
            "recall, V > .3",
        ),
        edge_rows,
    ),
    "sensitivity": (
        "Intersectional Sensitivity",
        "Nurse, uniform reference, 95 % confidence intervals. `plug-in bias` is the bias of the "
        "paper's uncorrected number, and `bias` the bias of askew's estimate. At bias setting 0 "
        "nothing happens. There the plug-in finds an effect, and askew next to none. An "
        "intervention on the axis itself looks smaller than it is: its distribution afterward is "
        "known exactly, and askew blurs it to match the baseline images. Intervals do not depend "
        "on that value. In fair worlds intervals cover more than 95 %, because both distances are"
        " 0, their minimum. The next section shows why narrower intervals would be wrong.",
        ("bias setting", "pair", "images per set", "truth", "plug-in bias", *SIMULATED),
        sensitivity_rows,
    ),
    "equal": (
        "High coverage in a fair world",
        "48 baseline images and three counterfactual sets of 48 come from the same population, so"
        " IS is 0. `distance of both` is the distance of this population from equal shares (total"
        " variation). `interval of the distance` is the interval of the distance of the baseline "
        "images. At distance 0 it can miss on one side only. It then excludes 0 in a few percent "
        "of the cases. The interval of IS excludes 0 more rarely, since the interval of the "
        "second distance is as long. The larger the distance, the more both sides miss, and the "
        "coverage approaches 95 %. `coverage if narrowed` shows why narrower intervals are wrong."
        " These intervals are narrowed around their midpoints by the factor that gives 95 % "
        "coverage at distance 0. At other distances they cover too rarely, and the true distance "
        "is unknown.",
        (
            "values",
            "distance of both",
            "coverage of IS = 0",
            "0 below",
            "0 above",
            "interval of the distance: too high",
            "too low",
            "coverage if narrowed",
        ),
        equal_rows,
    ),
    "instrument": (
        "An instrument that errs",
        "48 images per set. The instrument labels an image correctly with the given probability, "
        "and otherwise with any other value. 100 labeled images of each value estimate its "
        "errors. Uncorrected errors make every effect look smaller. The correction removes half "
        "to all of this bias, and its interval covers. It mostly covers more than 95 %: the error"
        " of the confusion matrix is common to both distributions, but the interval treats it as "
        "independent.",
        ("pair", "right", "sensitivity", "truth", *SIMULATED),
        instrument_rows,
    ),
    "validation": (
        "Prediction against an exact intervention",
        "Eq. 7-8: correlation of IS predicted from counterfactual images and IS measured on as "
        "many held-out images of the equal mixture. It covers the edges of each of 26 "
        "occupations, including direct effects. Both share the baseline images, as in the paper, "
        "which by itself causes a small correlation.",
        ("images per set", "edges per prompt", "mean over prompts", "all edges together"),
        validation_rows,
    ),
}


def main() -> None:
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
    page = HEAD
    for part in options.parts or PARTS:
        title, text, header, rows = PARTS[part]
        page += f"\n## {title}\n\n{textwrap.fill(text, 120)}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}\n"
        for row in rows(options):
            line = f"| {' | '.join(str(cell) for cell in row)} |\n"
            page += line
            print(line, end="", flush=True)
        if options.out:
            options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
