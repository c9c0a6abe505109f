"""Command `power`: images that a test needs, or deviations that given images detect."""

import json as jsons
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rich.console import Group, RenderableType

from askew.console import write
from askew.errors import UsageError
from askew.options import Flag, numbers
from askew.pages.terminal import FittedTable, UnbrokenText
from askew.plan import read_plan
from askew.stats.power import MOST_IMAGES
from askew.studies.power.designs import TestKind, design_of_plan, design_of_values
from askew.studies.power.rows import POWERS, PowerQuestion
from askew.studies.power.table import ImageCost, table, totals

Fractions = Annotated[
    Sequence[float] | None, numbers(float, "numbers from 0 to 1 with commas, such as 0.1,0.2,")
]
Counts = Annotated[Sequence[int] | None, numbers(int, "whole numbers with commas, such as 24,48,")]


def power(
    plan: Path | None = None,
    /,
    *,
    values: Counts = None,
    reference: Fractions = None,
    effect: Fractions = None,
    power: Fractions = None,
    images: Counts = None,
    axes: int = 1,
    prompts: int = 1,
    compare: Flag = False,
    seconds_per_image: float | None = None,
    megabytes_per_image: float | None = None,
    price: float | None = None,
    json: Flag = False,
) -> RenderableType | None:
    """Show how many images a verdict needs, or which deviation a number of images detects.

    The tests are those of the verdicts: Pearson's test with the mid-p, and with --compare the
    permutation test of two runs. Each test has the level .05 divided by the number of tests in its family, so
    the power holds even if only one axis is biased.

    Examples
    --------
    `askew power --values 2,3 --effect 0.2 --power 0.9`

    `askew power --images 24,48,96 --axes 8`

    `askew power plan.toml --effect 0.2 --price 0.04`

    Parameters
    ----------
    plan
        Plan file of `askew plan` or plan.toml of a run, with the axes, prompts and references.
    values
        Number of values of an axis, or several numbers separated by commas. [default: 2]
    reference
        Reference shares of the values, separated by commas. [default: equal shares of --values]
    effect
        Deviations from the reference, as total variation distance. [default: 0.1,0.2,0.3]
    power
        Probabilities of a significant result. [default: 0.8,0.9]
    images
        Images per prompt, separated by commas. askew shows the power for --effect, or the smallest
        deviation that can be detected.
    axes
        Number of tested axes.
    prompts
        Number of tested prompts.
    compare
        Plan the comparison of two runs, instead of the test of a run against its reference.
    seconds_per_image
        Seconds per image, to compute the duration.
    megabytes_per_image
        Size of an image file in megabytes, to compute the disk space.
    price
        Price of an image in dollars, to compute the cost.
    json
        Print the rows as JSON.

    Returns
    -------
    RenderableType or None
        A table and the total cost; None if JSON was printed.

    Raises
    ------
    UsageError
        If an option is out of its range, or does not fit a plan.
    """
    kind: TestKind = "comparison" if compare else "reference"
    if plan is None:
        design = design_of_values(values or (2,), reference or (), axes, prompts, kind)
    else:
        given = {"--values": bool(values), "--reference": bool(reference)}
        given |= {"--axes": axes != 1, "--prompts": prompts != 1}
        _refuse_beside_a_plan([option for option, is_given in given.items() if is_given])
        design = design_of_plan(read_plan(plan), kind)
    question = PowerQuestion(
        effects=_fractions("--effect", effect),
        powers=_fractions("--power", power) or POWERS,
        images=_counts(images),
    )
    cost = ImageCost(
        seconds=_cost("--seconds-per-image", seconds_per_image),
        megabytes=_cost("--megabytes-per-image", megabytes_per_image),
        price=_cost("--price", price),
    )
    rows = question.rows(design)
    if json:
        write(jsons.dumps([asdict(row) for row in rows], indent=2) + "\n")
        return None
    sentences = totals(rows, question, design, cost)
    return Group(
        FittedTable(table(rows, question, design)),
        *[UnbrokenText(sentence) for sentence in sentences],
    )


def _refuse_beside_a_plan(options: Sequence[str]) -> None:
    if options:
        raise UsageError(
            f"{options[0]} does not fit a plan, which contains the axes and prompts. Leave one out"
        )


def _fractions(option: str, numbers_given: Sequence[float] | None) -> tuple[float, ...]:
    """Return numbers between 0 and 1, or raise UsageError."""
    for value in numbers_given or ():
        if not 0 < value < 1:
            raise UsageError(f"{option} {value:g} is out of range. Give numbers between 0 and 1")
    return tuple(numbers_given or ())


def _counts(images: Sequence[int] | None) -> tuple[int, ...]:
    """Return numbers of images, or raise UsageError."""
    for value in images or ():
        if not 1 <= value <= MOST_IMAGES:
            raise UsageError(
                f"--images {value} is out of range. Give numbers from 1 to {MOST_IMAGES:,}"
            )
    return tuple(images or ())


def _cost(option: str, value: float | None) -> float | None:
    """Return a cost, or raise UsageError for a negative number."""
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(f"{option} {value:g} is out of range. Give a number that is not negative")
    return value
