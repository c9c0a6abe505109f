"""Mitigation strategies in the planted world: which axes a prompt should state in equal shares.

All true shares are exact. Strategies know them, or estimate them from images of single statements.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askew.prompts.axes import BIASCONNECT
from askew.stats.distance import distance_named
from askew.stats.intervals import Floats
from askew.stats.policy import Cell, Goal, cells, composed, plan_policy
from askew.studio.caption import CaptionContent
from askew.studio.planted import NAMES, conditional
from askew.studio.scene import OCCUPATIONS
from benchmarks.markdown import mean_cell, table_row
from benchmarks.planted_interactions import DISTANCES, SIZES

ENOUGH = 0.1
"""Mean deviation at which a greedy strategy stops."""

Counts = Mapping[Cell, list[Floats]]
"""Counts of each axis, by statements of a prompt."""

Shares = Callable[[Sequence[int]], list[Floats]]
"""Shares of each axis, given the axes that are stated in equal shares."""


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
    known = partial(uniform_margins, table)
    guesses: dict[str, Shares] = {"known": known, "estimated": partial(predicted_margins, counts)}
    for label, guess in guesses.items():
        for name in ("worst first", "considering interactions"):
            stated = greedy(guess, considers_interactions=name == "considering interactions")
            yield (
                f"{name}, {label}",
                StrategyResult(
                    stated=len(stated),
                    remaining=float(deviations(known(stated)).mean()),
                    remaining_after_two=float(deviations(known(stated[:2])).mean()),
                ),
            )
    for most in (1, 2, 3):
        yield f"linear program, {most} at once, estimated", program(table, counts, most)


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


def predicted_margins(counts: Counts, stated: Sequence[int]) -> list[Floats]:
    """Predict `uniform_margins` from images of single statements."""
    values = product(*(range(SIZES[axis]) for axis in stated))
    combinations = [tuple(zip(stated, chosen, strict=True)) for chosen in values]
    predicted = []
    for axis, size in enumerate(SIZES):
        shown = [_predicted_shares(counts, cell, axis) for cell in combinations]
        uniform = np.full(size, 1 / size)
        predicted.append(uniform if axis in stated else np.mean(shown, axis=0))
    return predicted


def _predicted_shares(counts: Counts, cell: Cell, axis: int) -> Floats:
    """Predict the shares of an axis for several statements from single statements."""
    single = {statements[0]: shares[axis] for statements, shares in counts.items() if statements}
    return composed(cell, counts[()][axis], single)


def greedy(guess: Shares, considers_interactions: bool) -> tuple[int, ...]:
    """Return the axes to state, until the mean deviation is ENOUGH or no further axis helps.

    Parameters
    ----------
    guess
        Shares that the strategy expects, given the stated axes.
    considers_interactions
        True if the next axis is the axis after which the mean deviation is smallest; False if it is
        the axis with the largest deviation.
    """
    stated: tuple[int, ...] = ()
    now = deviations(guess(stated))
    while now.mean() > ENOUGH and len(stated) < len(SIZES):
        unstated = [axis for axis in range(len(SIZES)) if axis not in stated]
        if considers_interactions:
            after = {axis: deviations(guess((*stated, axis))).mean() for axis in unstated}
            axis = min(unstated, key=after.__getitem__)
            if after[axis] >= now.mean():
                break
        else:
            axis = max(unstated, key=now.__getitem__)
        stated = (*stated, axis)
        now = deviations(guess(stated))
    return stated


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
