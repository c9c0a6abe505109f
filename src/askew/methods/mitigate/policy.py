"""Which policy to take: what every prompt of it would show, and the weights that bring all axes
nearest to target.

Prompts of one statement are known from their pictures; longer ones are predicted from these, and
drawn where the policy uses them (`refine`), until it stays as it is.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.methods.mitigate.plan import MitigationPlan
from askew.mitigations.prompts import Policy, PolicyPart
from askew.parts.survey.confusion import Errors
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import DISTANCE, reference_of
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.counterfactuals import counterfactual
from askew.stats.confusion import ReadingErrors, compatible_shares, least_squares_shares
from askew.stats.distance import distance_max, distance_named, linear_forms, normalised
from askew.stats.intervals import tail
from askew.stats.policy import Cell, Goal, cells, composed, plan_policy
from askew.store.keys import derived_seed
from askew.types import Estimate

Counts = NDArray[np.float64]
Draw = Callable[[str], ObservedSet]
ROUNDS = 2
SETTLED = 0.01
"""How often prompts of a policy are drawn at most, and the change of the total distance that is
worth it.
"""
BREVITY = 0.002
"""What a statement costs, in units of distance: obedience falls with the length of a prompt."""
DRAWS = 400
"""Tables that what was seen is compatible with, for the interval of a prediction."""
PRIOR = 8.0
"""Pictures that a prediction counts as beside those that were drawn of its prompt."""


@dataclass
class PolicyTables:
    """What the prompts of a policy show of every axis and pair of mitigated axes, by their counts
    in pictures.

    errors  by axis counts of the instrument's answers (columns) against a reference (rows): they are corrected for
    rng     draws for each table of an axis `DRAWS` that are compatible with its pictures; None takes what was seen
    """

    prompt: PromptPlan
    target_axes: Sequence[AxisPlan]
    instrument: str
    initial: ObservedSet
    stated: Mapping[tuple[int, int], ObservedSet]
    errors: Mapping[str, NDArray[np.int64]]
    drawn: dict[Cell, ObservedSet] = field(default_factory=dict)
    rng: np.random.Generator | None = None
    _counted: dict[tuple[object, ...], Counts] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        prompt: PromptPlan,
        target_axes: Sequence[str],
        sets: Sequence[ObservedSet],
        instrument: str,
        known: Errors,
    ) -> Self:
        """From the prompt's own pictures and those of its counterfactuals; `known` are the errors
        of instruments.
        """
        axes = [axis for axis in prompt.closed if axis.name in target_axes]
        at = {
            (axis.name, value): (k, v)
            for k, axis in enumerate(axes)
            for v, value in enumerate(axis.values)
        }
        stated = {at[one.prompt.axis or "", one.prompt.value or ""]: one for one in sets[1:]}
        whole = {
            axis: counts
            for (name, axis), counts in known.items()
            if name == instrument and counts.any(1).all()
        }
        errors = {
            axis: counts
            for axis, counts in whole.items()
            if ReadingErrors.of(counts).tell_values_apart
        }
        return cls(prompt, axes, instrument, sets[0], stated, errors)

    def text(self, cell: Cell) -> str:
        """The prompt that states a cell; of one statement the plan's own counterfactual."""
        if len(cell) == 1:
            return self.stated[cell[0]].prompt.text
        text = self.prompt.text
        for axis, value in cell:
            text = counterfactual(
                text, self.target_axes[axis].name, self.target_axes[axis].values[value]
            )
        return text

    def shares(self, cell: Cell, axes: Sequence[AxisPlan]) -> Counts:
        """Shares of an axis, or of combinations of two, in a cell: predicted, and as far as it was
        drawn, seen.
        """
        predicted = self._predicted(cell, axes)
        if (
            self.rng is not None and len(cell) > 1
        ):  # it errs like the few pictures that it counts as
            predicted = normalised(self.rng.standard_gamma(PRIOR * predicted))
        return (
            normalised(self._counts(self.drawn[cell], axes) + PRIOR * predicted)
            if cell in self.drawn
            else predicted
        )

    def _predicted(self, cell: Cell, axes: Sequence[AxisPlan]) -> Counts:
        own = {self.target_axes[axis].name: (axis, value) for axis, value in cell}
        about = [axis.name for axis in axes if axis.name in own]
        if (
            about and len(axes) == 2
        ):  # what is stated of one does not hang on what is left of the other
            return np.outer(*(self._predicted(cell, [axis]) for axis in axes)).ravel()
        if about:
            return normalised(self._counts(self.stated[own[about[0]]], axes) + 1e-9)
        stated = {one: self._counts(self.stated[one], axes) for one in cell}
        return composed(cell, self._counts(self.initial, axes), stated)

    def _counts(self, observed: ObservedSet, axes: Sequence[AxisPlan]) -> Counts:
        """Pictures of each combination of the axes' values, without what the instrument is known to
        misread.
        """
        place = (id(observed), *(axis.name for axis in axes))
        if place not in self._counted:
            columns = [observed.values[self.instrument][axis.name] for axis in axes]
            cells = product(*(axis.values for axis in axes))
            tally = Counter(zip(*columns, strict=True))
            table = np.array([float(tally[cell]) for cell in cells])
            pictures = table.sum()
            if self.rng is not None:
                table = pictures * compatible_shares(table, DRAWS, self.rng)
            if pictures and any(axis.name in self.errors for axis in axes):
                misread = [self.errors.get(axis.name, np.eye(len(axis.values))) for axis in axes]
                errors = ReadingErrors.of(misread[0] if len(axes) == 1 else np.kron(*misread))
                table = pictures * (
                    errors.shares(table)
                    if self.rng is None
                    else least_squares_shares(table / pictures, errors.drawn(DRAWS, 0))
                )
            self._counted[place] = table
        return self._counted[place]


@dataclass(frozen=True)
class SolvedPolicy:
    """A policy, with the predicted distance of every axis from its target."""

    policy: Policy
    predicted: Mapping[str, Estimate]


def choose(plan: MitigationPlan, tables: PolicyTables, draw: Draw) -> SolvedPolicy:
    """The policy for one prompt; `draw` makes and reads pictures of a prompt, as many as the plan
    says.

    Raises AskewError where no policy keeps within the plan's bounds.
    """
    prompt = tables.prompt
    among = _cells(plan, prompt)
    weights, last = _solved(plan, tables, among)
    for _ in range(ROUNDS):
        new = [
            among[k]
            for k in np.flatnonzero(weights)
            if len(among[k]) > 1 and among[k] not in tables.drawn
        ]
        if not new:
            break
        tables.drawn |= {cell: draw(tables.text(cell)) for cell in new}
        weights, total = _solved(plan, tables, among)
        if abs(total - last) < SETTLED:
            break
        last = total
    used = np.flatnonzero(weights)
    sent = [among[k] for k in used]
    said = [
        {
            tables.target_axes[axis].name: tables.target_axes[axis].values[value]
            for axis, value in cell
        }
        for cell in sent
    ]
    parts = tuple(
        PolicyPart(text=tables.text(cell), weight=float(weight), says=says)
        for cell, weight, says in zip(sent, weights[used], said, strict=True)
    )
    told = {axis.name: _foretold(plan, tables, axis, sent, weights[used]) for axis in prompt.closed}
    return SolvedPolicy(Policy(prompt=prompt.text, parts=parts), told)


def _foretold(
    plan: MitigationPlan,
    tables: PolicyTables,
    axis: AxisPlan,
    among: Sequence[Cell],
    weights: Counts,
) -> Estimate:
    """The distance of an axis under a policy, by a bootstrap of all that planned it, at the
    policy's weights.

    These were fitted to what was seen, for which the distance is often 0. But the truth stands to
    what was seen as that does to what is drawn from it: drawn shares, mirrored at the seen ones,
    are shares that the truth may have.
    """
    rng = np.random.default_rng(derived_seed(plan.seed, "predicted", tables.prompt.text, axis.name))
    distance = DISTANCE[axis.scale]
    reference = target_shares(axis)
    seen, drawn = (
        np.tensordot(weights, [one.shares(cell, [axis]) for cell in among], axes=1)
        for one in (tables, replace(tables, rng=rng, _counted={}))
    )
    forms, unit = linear_forms(distance, len(reference))
    gaps = (2 * seen - drawn - reference) @ forms.T
    centre = unit * float(np.abs(gaps.mean(axis=0)).sum())
    high = float(np.quantile(unit * np.abs(gaps).sum(axis=1), 1 - tail(plan.confidence)))
    return Estimate(
        float(distance_named(distance)(seen, reference)),
        max(0.0, 2 * centre - high),
        high,
        plan.confidence,
        "bootstrap of the planning pictures",
        debiased=centre,
        max=distance_max(reference, distance),
    )


def most_drawn(plan: MitigationPlan, prompt: PromptPlan) -> int:
    """How many pictures `choose` draws at most: of prompts that state several values, each once."""
    composite = sum(len(cell) > 1 for cell in _cells(plan, prompt))
    return plan.refine * min(composite, (plan.max_prompts or composite) * ROUNDS)


def _cells(plan: MitigationPlan, prompt: PromptPlan) -> list[Cell]:
    """What a policy for a prompt may state."""
    return cells(
        [len(axis.values) for axis in prompt.closed if axis.name in plan.target_axes],
        plan.max_stated,
    )


def target_shares(axis: AxisPlan) -> Counts:
    """The shares that an axis should have, in the order of its values."""
    return np.array([*reference_of(axis).values()])


def _solved(
    plan: MitigationPlan, tables: PolicyTables, among: Sequence[Cell]
) -> tuple[Counts, float]:
    """The best weights of the cells, and the weighted sum of the mitigated axes' distances.

    A pair of axes should be independent: of a mitigated axis a and another b the mixture's table
    should be that of wanted shares of a and the mixture's own shares of b, whose difference is
    linear in the weights.
    """
    weight = {axis.name: plan.priorities.get(axis.name, 1.0) for axis in tables.target_axes}

    def of(*axes: AxisPlan) -> Counts:
        return np.array([tables.shares(cell, axes) for cell in among])

    goals = [
        Goal(of(axis), target_shares(axis), DISTANCE[axis.scale], weight.get(axis.name, 0.0))
        for axis in tables.prompt.closed
    ]
    is_target = [goal for goal in goals if goal.weight]
    if plan.tolerance is not None:
        start = np.eye(len(among))[0]
        goals = [replace(goal, most=goal.distance_of(start) + plan.tolerance) for goal in goals]
    others = [axis for axis in tables.prompt.closed if axis.name not in weight]
    pairs = (
        [*combinations(tables.target_axes, 2), *product(tables.target_axes, others)]
        if plan.independence_weight
        else []
    )
    for one, other in pairs:
        table = of(one, other).reshape(len(among), len(one.values), len(other.values))
        apart = table - target_shares(one)[:, None] * table.sum(axis=1, keepdims=True)
        importance = plan.independence_weight * weight[one.name] * weight.get(other.name, 1.0)
        goals.append(
            Goal(apart.reshape(len(among), -1), np.zeros(apart[0].size), weight=importance)
        )
    costs = BREVITY * np.array([len(cell) for cell in among])
    found = plan_policy(goals, costs=costs, max_prompts=plan.max_prompts or None)
    return found, sum(goal.weight * goal.distance_of(found) for goal in is_target)
