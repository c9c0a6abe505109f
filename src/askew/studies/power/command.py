"""The command `askew power`, which computes the power of a planned audit or comparison."""

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
    Sequence[float] | None,
    numbers(float, "numbers from 0 to 1, separated by commas, such as 0.1,0.2,"),
]
Counts = Annotated[
    Sequence[int] | None, numbers(int, "whole numbers, separated by commas, such as 24,48,")
]


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
    """Show how many images a verdict needs, or what deviation a given number of images can reveal.

    The power refers to the test that decides a verdict. The verdict uses Pearson's test (with the
    mid-p) or, with --compare, the permutation test between two runs. The significance level of each
    test is .05 divided by the number of tests in its family, so the test has the stated power even
    if only one axis is biased.

    Examples
    --------
    `askew power --values 2,3 --effect 0.2 --power 0.9`

    `askew power --images 24,48,96 --axes 8`

    `askew power plan.toml --effect 0.2 --price 0.04`

    Parameters
    ----------
    plan
        Plan file with the axes, prompts and references: a file from `askew plan`, or the plan.toml
        of a run.
    values
        Number of values of an axis, or several numbers, separated by commas. [default: 2]
    reference
        Reference shares of the values, separated by commas. [default: equal shares of --values]
    effect
        Deviations from the reference (total variation distance), separated by commas. [default:
        0.1,0.2,0.3]
    power
        Probabilities of a significant result, separated by commas. [default: 0.8,0.9]
    images
        Numbers of images per prompt, separated by commas. askew shows the power at --effect.
        Without --effect, askew shows the smallest deviation that each number of images can detect.
    axes
        Number of tested axes.
    prompts
        Number of tested prompts.
    compare
        Plan a comparison of two runs instead of a test of one run against its reference.
    seconds_per_image
        Seconds per image, from which askew computes the total time.
    megabytes_per_image
        Size of an image file in megabytes, from which askew computes the disk space.
    price
        Price of an image in dollars, from which askew computes the total cost.
    json
        Print the rows of the table as JSON.

    Returns
    -------
    RenderableType or None
        A table, followed by the total cost. None if JSON was printed.

    Raises
    ------
    UsageError
        If an option is out of range or cannot be combined with a plan.
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
            f"{options[0]} cannot be used with a plan, because the plan contains the axes and "
            f"prompts. Leave out {options[0]} or the plan"
        )


def _fractions(option: str, numbers_given: Sequence[float] | None) -> tuple[float, ...]:
    """Return the specified numbers. Raise UsageError if a number is not between 0 and 1."""
    for value in numbers_given or ():
        if not 0 < value < 1:
            raise UsageError(f"{option} {value:g} is out of range. Give numbers between 0 and 1")
    return tuple(numbers_given or ())


def _counts(images: Sequence[int] | None) -> tuple[int, ...]:
    """Return the specified numbers of images. Raise UsageError if a number is out of range."""
    for value in images or ():
        if not 1 <= value <= MOST_IMAGES:
            raise UsageError(
                f"--images {value} is out of range. Give numbers from 1 to {MOST_IMAGES:,}"
            )
    return tuple(images or ())


def _cost(option: str, value: float | None) -> float | None:
    """Return the given cost. Raise UsageError if the cost is negative or infinite."""
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(f"{option} {value:g} is out of range. Give a number that is not negative")
    return value
