"""Mitigation strategies in the planted world: which axes a prompt should state in equal shares.

All true shares are exact. Strategies know them, or estimate them from images of single statements as
`askew mitigate --choose-axes` and `--technique intermit` do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askew.methods.mitigate.axis_choice import SAMPLES
from askew.prompts.axes import BIASCONNECT
from askew.stats.axis_effects import AffectedAxis, EffectCounts, Pooling
from askew.stats.distance import distance_named
from askew.stats.intervals import Floats
from askew.stats.policy import Cell, Goal, cells, composed, plan_policy
from askew.stats.subset_choice import greedy_subsets, ranked_subsets
from askew.studio.caption import CaptionContent
from askew.studio.planted import NAMES, conditional
from askew.studio.scene import OCCUPATIONS
from benchmarks.markdown import mean_cell, table_row
from benchmarks.planted_interactions import DISTANCES, SIZES

ENOUGH = 0.1
"""Mean deviation at which a greedy strategy stops."""

Counts = Mapping[Cell, list[Floats]]
"""Counts of each axis, by statements of a prompt."""


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """Result of a strategy for an occupation.

    Attributes
    ----------
    stated
        Number of axes that a prompt states, mean over prompts.
    remaining
        Mean deviation of the axes.
    remaining_after_two
        Mean deviation after at most two axes.
    """

    stated: float
    remaining: float
    remaining_after_two: float


def strategies(options: argparse.Namespace) -> None:
    """Print a row for each strategy: axes stated, and remaining deviation, mean over occupations."""
    rng = np.random.default_rng(options.seed)
    results: dict[str, list[StrategyResult]] = {}
    for occupation in list(OCCUPATIONS)[:: options.every or 1]:
        joint = conditional(CaptionContent({}, occupation, True, ()), 1.0)
        table = joint.sum(axis=tuple(range(len(BIASCONNECT), len(NAMES))))
        counts = _drawn_counts(table, options.pictures or 48, rng)
        for name, result in _results(table, counts):
            results.setdefault(name, []).append(result)
    columns = ("strategy", "axes stated", "remaining", "remaining after two")
    differences = ("axes", "remaining,", "remaining after two,")
    print(table_row(*columns, *(f"{name} minus worst first" for name in differences)))
    print(table_row("---", "---:", "---:", "---:", "---", "---", "---"))
    for name, rows in results.items():
        base = results[f"worst first, {name.rpartition(', ')[2]}"]
        print(table_row(name, *_strategy_cells(rows, base)))


def _drawn_counts(table: Floats, images: int, rng: np.random.Generator) -> Counts:
    """Draw images of the plain prompt, and of each prompt with a single statement."""
    prompts: list[Cell] = [()]
    prompts += [((axis, value),) for axis, size in enumerate(SIZES) for value in range(size)]
    counts = {}
    for cell in prompts:
        shares = margins(table, cell)
        counts[cell] = [rng.multinomial(images, margin).astype(float) for margin in shares]
    return counts


def _results(table: Floats, counts: Counts) -> Iterator[tuple[str, StrategyResult]]:
    """Yield the names and results of all strategies for an occupation."""

    def exact(stated: Sequence[int]) -> Floats:
        return deviations(uniform_margins(table, stated))

    counts_of_axes = effect_counts(counts)
    observed = counts_of_axes.corrected()
    samples = counts_of_axes.sampled(SAMPLES, np.random.default_rng(0))
    effects = Pooling.of(observed, samples).pooled(observed)
    expectations = {"known": Expectation(exact), "estimated": Expectation(effects.remaining)}
    for label, expectation in expectations.items():
        paths = {
            "worst first": worst_first(expectation),
            "intermit": greedy_subsets(
                len(SIZES), len(SIZES), expectation.cost, expectation.is_enough
            )[-1].members,
            "choose-axes 2": ranked_subsets(len(SIZES), 2, expectation.cost)[0].members,
        }
        for name, stated in paths.items():
            yield (
                f"{name}, {label}",
                StrategyResult(
                    stated=len(stated),
                    remaining=float(exact(stated).mean()),
                    remaining_after_two=float(exact(stated[:2]).mean()),
                ),
            )
    for most in (1, 2, 3):
        yield f"linear program, {most} at once, estimated", program(table, counts, most)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Deviations (axes,) that a strategy expects, given the stated axes."""

    deviations: Callable[[Sequence[int]], Floats]

    def cost(self, stated: tuple[int, ...]) -> float:
        """Return the expected mean deviation."""
        return float(self.deviations(stated).mean())

    def is_enough(self, stated: tuple[int, ...]) -> bool:
        """Check whether the expected mean deviation reaches the bound."""
        return self.cost(stated) <= ENOUGH


def effect_counts(counts: Counts) -> EffectCounts:
    """Return the counts from which `askew mitigate --choose-axes` predicts, with equal weights."""
    axes = []
    for axis, size in enumerate(SIZES):
        stated = []
        for source, values in enumerate(SIZES):
            rows = [counts[((source, value),)][axis] for value in range(values)]
            stated.append(np.array(rows))
        reference = np.full(size, 1 / size)
        axes.append(AffectedAxis(counts[()][axis], stated, reference, DISTANCES[axis]))
    return EffectCounts(
        axes=axes,
        places=range(len(SIZES)),
        shares=[np.full(size, 1 / size) for size in SIZES],
        weights=np.ones(len(SIZES)),
    )


def worst_first(expectation: Expectation) -> tuple[int, ...]:
    """Return the axes to state, always the axis with the largest deviation, until it is enough."""
    stated: tuple[int, ...] = ()
    while len(stated) < len(SIZES) and not expectation.is_enough(stated):
        expected = expectation.deviations(stated)
        unstated = [axis for axis in range(len(SIZES)) if axis not in stated]
        stated = (*stated, max(unstated, key=expected.__getitem__))
    return stated


def _strategy_cells(rows: list[StrategyResult], base: list[StrategyResult]) -> list[str]:
    values = np.array([astuple(row) for row in rows])
    base_values = np.array([astuple(row) for row in base])
    stated, remaining, after_two = values.mean(axis=0)
    differences = ["", "", ""]
    if rows is not base:
        differences = [mean_cell(column) for column in (values - base_values).T]
    return [f"{stated:.2f}", f"{remaining:.3f}", f"{after_two:.3f}", *differences]


def deviation(counts: ArrayLike, axis: int) -> Floats:
    """Return the deviation of counts (..., K) of an axis from uniform shares."""
    distance = distance_named(DISTANCES[axis])
    return np.asarray(distance(np.asarray(counts, dtype=float), np.ones(SIZES[axis])))


def deviations(shares: Sequence[Floats]) -> Floats:
    """Return the deviation of each axis from uniform shares: (axes,)."""
    return np.array([float(deviation(marginal, axis)) for axis, marginal in enumerate(shares)])


def margins(table: Floats, cell: Cell) -> list[Floats]:
    """Return the shares of each axis in images of a prompt with the statements of a cell.

    Parameters
    ----------
    table
        Exact joint shares, with a dimension for each axis.
    cell
        Statements, as places of axes and of values.
    """
    places: list[Any] = [slice(None)] * table.ndim
    for axis, value in cell:
        places[axis] = slice(value, value + 1)
    shown = np.zeros_like(table)
    shown[tuple(places)] = table[tuple(places)]
    return [_margin(shown, axis) for axis in range(table.ndim)]


def uniform_margins(table: Floats, stated: Sequence[int]) -> list[Floats]:
    """Return the shares of each axis if the stated axes are uniform and independent."""
    unstated = tuple(axis for axis in range(table.ndim) if axis not in stated)
    uniform = table / table.sum(axis=unstated, keepdims=True)
    return [_margin(uniform, axis) for axis in range(table.ndim)]


def _margin(table: Floats, axis: int) -> Floats:
    shares = table.sum(axis=tuple(k for k in range(table.ndim) if k != axis))
    return np.asarray(shares / shares.sum())


def _predicted_shares(counts: Counts, cell: Cell, axis: int) -> Floats:
    """Predict the shares of an axis for several statements from single statements."""
    single = {statements[0]: shares[axis] for statements, shares in counts.items() if statements}
    return composed(cell, counts[()][axis], single)


def program(table: Floats, counts: Counts, most: int) -> StrategyResult:
    """Return the result of the best policy over prompts with at most `most` statements."""
    candidates = cells(SIZES, most)
    weights = plan_policy([_goal(counts, candidates, axis) for axis in range(len(SIZES))])
    exact = [margins(table, candidates[k]) for k in np.flatnonzero(weights)]
    mixed = [weights[weights > 0] @ np.array(column) for column in zip(*exact, strict=True)]
    remaining = float(deviations(mixed).mean())
    return StrategyResult(
        stated=float(weights @ [len(cell) for cell in candidates]),
        remaining=remaining,
        remaining_after_two=remaining,
    )


def _goal(counts: Counts, candidates: Sequence[Cell], axis: int) -> Goal:
    """Return the goal of uniform shares of an axis, with predicted shares of each candidate."""
    size = SIZES[axis]
    shares = []
    for cell in candidates:
        stated = dict(cell)
        if axis in stated:
            shares.append(np.eye(size)[stated[axis]])
        else:
            shares.append(_predicted_shares(counts, cell, axis))
    return Goal(np.array(shares), np.full(size, 1 / size), DISTANCES[axis])
