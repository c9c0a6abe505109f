"""Test designs: the reference shares of each axis, and the number of tests in the family."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from askew.errors import UsageError
from askew.parts.survey.shares import reference_of
from askew.plan import Plan, RunPlan
from askew.stats.distance import normalised
from askew.stats.power import PowerFunction, exchange_power, fit_power
from askew.stats.significance import SIGNIFICANCE_LEVEL

TestKind = Literal["reference", "comparison"]

POWER_OF: dict[TestKind, PowerFunction] = {
    "reference": fit_power,
    "comparison": exchange_power,
}
"""Power function of each kind of test."""


@dataclass(frozen=True, slots=True)
class AxisDesign:
    """Axes that have the same reference shares, so their tests have the same power.

    Attributes
    ----------
    names : tuple of str
        Names of the axes. The tuple is empty if the user specified only the number of values.
    reference : tuple of float
        Reference share of each value.
    """

    names: tuple[str, ...]
    reference: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """The tests of a planned run.

    Attributes
    ----------
    axes : tuple of AxisDesign
        The axes. Axes that have the same reference shares form one axis design.
    prompts : int
        Number of prompts.
    tests : int
        Maximum number of tests in the family of tests that decide verdicts.
    kind : TestKind
        "reference" to test a run against its reference, "comparison" to test two runs against each
        other.
    counterfactuals : int
        Number of counterfactual prompts. An audit also generates images for these prompts.
    """

    axes: tuple[AxisDesign, ...]
    prompts: int
    tests: int
    kind: TestKind
    counterfactuals: int = 0

    @property
    def level(self) -> float:
        """Significance level of a single test: .05 divided by the number of tests in the family."""
        return SIGNIFICANCE_LEVEL / self.tests

    @property
    def power_of(self) -> PowerFunction:
        """Function that computes the power of a test."""
        return POWER_OF[self.kind]


def design_of_values(
    values: Sequence[int], reference: Sequence[float], axes: int, prompts: int, kind: TestKind
) -> Design:
    """Return a design of axes that have a number of values but no names.

    Parameters
    ----------
    values
        Number of values of each axis design. The design contains one axis for each of these
        numbers.
    reference
        Reference shares of the values. Empty for equal shares.
    axes, prompts
        Number of axes, and number of prompts.
    kind
        Kind of the tests.

    Raises
    ------
    UsageError
        If a number is too small, a reference share is not positive, or the shares do not sum to 1.
    """
    for option, given, least in [
        ("--values", min(values), 2),
        ("--axes", axes, 1),
        ("--prompts", prompts, 1),
    ]:
        if given < least:
            raise UsageError(f"{option} {given} is too small. Give at least {least}")
    references = [(1 / number,) * number for number in values]
    if reference:
        references = [_checked(tuple(reference))]
    return Design(
        axes=tuple(AxisDesign(names=(), reference=shares) for shares in references),
        prompts=prompts,
        tests=_family(axes * prompts, axes, prompts),
        kind=kind,
    )


def design_of_plan(plan: RunPlan, kind: TestKind) -> Design:
    """Return the design that tests all axes and prompts of a plan.

    Raises
    ------
    UsageError
        If the plan has no prompts with axes whose values are known.
    """
    if not isinstance(plan, Plan):
        raise UsageError("the plan has no axes. Give a plan from askew plan, or --values")
    names: dict[tuple[float, ...], dict[str, None]] = {}
    tests = 0
    axes = set[str]()
    counterfactuals = 0
    for prompt in plan.prompts:
        counterfactuals += len(prompt.prompts()) - 1
        for axis in prompt.closed:
            shares = tuple(normalised(list(reference_of(axis).values())).tolist())
            names.setdefault(shares, {})[axis.name] = None
            axes.add(axis.name)
            tests += 1
    if not tests:
        raise UsageError("no axis of the plan has known values, so no shares are tested")
    return Design(
        axes=tuple(
            AxisDesign(names=tuple(of_shares), reference=shares)
            for shares, of_shares in names.items()
        ),
        prompts=len(plan.prompts),
        tests=_family(tests, len(axes), len(plan.prompts)),
        kind=kind,
        counterfactuals=counterfactuals,
    )


def _checked(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Return the reference shares, after checking that they are positive and sum to 1."""
    if len(shares) < 2 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        text = ",".join(f"{share:g}" for share in shares)
        raise UsageError(
            f"--reference {text} is invalid. Give at least two shares above 0 that sum to 1, such "
            "as --reference 0.9,0.1"
        )
    return shares


def _family(tests: int, axes: int, prompts: int) -> int:
    """Return the largest number of tests that a family can contain.

    If there are several prompts, each axis has an additional test over all prompts. An
    audit leaves this test out of the family if the prompts differ so much that the effective number
    of independent images is too small. The family is then smaller.
    """
    return tests + axes if prompts > 1 else tests
