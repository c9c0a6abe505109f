"""Compute policies: choose the prompts of a policy, and the weight of each prompt.

The shares of prompts that state a single value are estimated from their images. The shares of
prompts that state several values are predicted from the shares of prompts that state a single
value. If the policy uses a prompt that states several values, askew generates images of this prompt
(`refine`) and solves again until the policy no longer changes.
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
Draw = Callable[[Sequence[str]], list[ObservedSet]]

MOST_ROUNDS = 2
"""Maximum number of rounds in which images are generated from the prompts of a policy."""

WORTHWHILE_CHANGE = 0.01
"""Minimum change in the total deviation that triggers another round."""

COST_OF_STATEMENT = 0.002
"""Penalty for each stated value, in units of deviation, because longer prompts are followed less
often."""

BOOTSTRAP_SAMPLES = 400
"""Number of bootstrap tables drawn to compute the interval of a prediction."""

PRIOR_IMAGES = 8.0
"""Weight of a prediction, expressed as an equivalent number of the prompt's images."""

SMALLEST_SHARE = 1e-9


@dataclass
class PolicyTables:
    """Shares on axes and pairs of axes, for each prompt that can be part of a policy.

    Attributes
    ----------
    prompt : PromptPlan
        Prompt for which the policy is made.
    target_axes : sequence of AxisPlan
        Target axes of the prompt.
    instrument : str
        Instrument that labeled the images.
    initial : ObservedSet
        Images of the prompt.
    stated : mapping of (axis, value) to ObservedSet
        Images of the prompts that state one value, keyed by the positions of the axis and the
        value.
    errors : mapping of axis to array
        Known errors of the instrument, of shape (true values, labels). The shares are corrected for
        these errors.
    drawn : dict of Cell to ObservedSet
        Images generated from prompts that state several values, keyed by the cell of these values.
    rng : Generator or None
        Random generator for `BOOTSTRAP_SAMPLES` bootstrap tables. If None, the observed table is
        used.
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
        """Build the tables of a prompt from its labeled images.

        Parameters
        ----------
        prompt, target_axes, instrument
            Prompt, names of its target axes, and instrument that labeled the images.
        sets
            Images of the prompt, followed by the images of its counterfactuals.
        known
            Known errors of instruments.
        """
        axes = [axis for axis in prompt.closed if axis.name in target_axes]
        places = {
            (axis.name, value): (axis_place, value_place)
            for axis_place, axis in enumerate(axes)
            for value_place, value in enumerate(axis.values)
        }
        stated = {}
        for image_set in sets[1:]:
            key = (image_set.prompt.axis or "", image_set.prompt.value or "")
            if key in places:
                stated[places[key]] = image_set
        return cls(
            prompt=prompt,
            target_axes=axes,
            instrument=instrument,
            initial=sets[0],
            stated=stated,
            errors=_usable_errors(known, instrument),
        )

    def text(self, cell: Cell) -> str:
        """Return the prompt that states the values of a cell.

        For a single value, this is the counterfactual prompt in the plan.
        """
        if len(cell) == 1:
            return self.stated[cell[0]].prompt.text
        text = self.prompt.text
        for axis, value in cell:
            target = self.target_axes[axis]
            text = counterfactual(text, target.name, target.values[value])
        return text

    def says(self, cell: Cell) -> dict[str, str]:
        """Return the values that a cell states, keyed by axis."""
        stated = {}
        for axis, value in cell:
            target = self.target_axes[axis]
            stated[target.name] = target.values[value]
        return stated

    def shares(self, cell: Cell, axes: Sequence[AxisPlan]) -> Counts:
        """Return the shares on one axis, or the joint shares on two axes, in a cell.

        The shares are predicted. If images of the cell were generated, the shares combine the
        prediction with the shares in these images.
        """
        predicted = self._predicted(cell, axes)
        if self.rng is not None and len(cell) > 1:
            # a prediction has the sampling error of the few images that it counts as
            predicted = normalised(self.rng.standard_gamma(PRIOR_IMAGES * predicted))
        if cell not in self.drawn:
            return predicted
        return normalised(self._counts(self.drawn[cell], axes) + PRIOR_IMAGES * predicted)

    def _predicted(self, cell: Cell, axes: Sequence[AxisPlan]) -> Counts:
        places = {self.target_axes[axis].name: (axis, value) for axis, value in cell}
        stated_axes = [axis.name for axis in axes if axis.name in places]
        if stated_axes and len(axes) == 2:
            # a stated axis does not depend on an axis that is left open
            first, second = (self._predicted(cell, [axis]) for axis in axes)
            return np.outer(first, second).ravel()
        if stated_axes:
            image_set = self.stated[places[stated_axes[0]]]
            return normalised(self._counts(image_set, axes) + SMALLEST_SHARE)
        by_statement = {statement: self._counts(self.stated[statement], axes) for statement in cell}
        return composed(cell, self._counts(self.initial, axes), by_statement)

    def _counts(self, observed: ObservedSet, axes: Sequence[AxisPlan]) -> Counts:
        """Count the images with each combination of values, corrected for known labeling errors."""
        key = (id(observed), *(axis.name for axis in axes))
        if key not in self._counted:
            self._counted[key] = self._corrected_counts(observed, axes)
        return self._counted[key]

    def observed_counts(self, observed: ObservedSet, axes: Sequence[AxisPlan]) -> Counts:
        """Count the images with each combination of labels."""
        columns = [observed.values[self.instrument][axis.name] for axis in axes]
        tally = Counter(zip(*columns, strict=True))
        combinations_of_values = product(*(axis.values for axis in axes))
        return np.array([float(tally[values]) for values in combinations_of_values])

    def _corrected_counts(self, observed: ObservedSet, axes: Sequence[AxisPlan]) -> Counts:
        table = self.observed_counts(observed, axes)
        images = table.sum()
        if self.rng is not None:
            table = images * compatible_shares(table, BOOTSTRAP_SAMPLES, self.rng)
        if images and any(axis.name in self.errors for axis in axes):
            table = images * self._corrected_shares(table, images, axes)
        return table

    def _corrected_shares(self, table: Counts, images: float, axes: Sequence[AxisPlan]) -> Counts:
        matrices = [self.errors.get(axis.name, np.eye(len(axis.values))) for axis in axes]
        errors = ReadingErrors.of(matrices[0] if len(axes) == 1 else np.kron(*matrices))
        if self.rng is None:
            return errors.shares(table)
        return least_squares_shares(table / images, errors.drawn(BOOTSTRAP_SAMPLES, 0))


def _usable_errors(known: Errors, instrument: str) -> dict[str, NDArray[np.int64]]:
    """Return an instrument's known errors on the axes whose values it can distinguish."""
    usable = {}
    for (name, axis), counts in known.items():
        if name != instrument or not counts.any(1).all():
            continue
        if ReadingErrors.of(counts).tell_values_apart:
            usable[axis] = counts
    return usable


@dataclass(frozen=True)
class SolvedPolicy:
    """A policy, and the predicted deviation of each axis from its target shares.

    Attributes
    ----------
    policy : Policy
        The policy.
    predicted : mapping of axis to Estimate
        Predicted deviation of each axis.
    overall : Estimate or None
        Predicted mean deviation of all axes, weighted by the priorities. None if the plan does not
        measure it.
    """

    policy: Policy
    predicted: Mapping[str, Estimate]
    overall: Estimate | None = None


@dataclass(frozen=True)
class Solution:
    """Weights of all cells, and the resulting weighted sum of the target axes' deviations."""

    weights: Counts
    total: float


def choose(plan: MitigationPlan, tables: PolicyTables, draw: Draw) -> SolvedPolicy:
    """Return the best policy for a prompt.

    Parameters
    ----------
    plan
        Plan of the mitigation.
    tables
        Shares of the prompts that can be part of a policy. Newly generated images are added to the
        tables.
    draw
        Function that generates and labels the planned number of images for each prompt in a list.

    Raises
    ------
    AskewError
        If no policy satisfies the limits in the plan.
    """
    prompt = tables.prompt
    candidates = _cells(plan, prompt)
    weights = _refined_weights(plan, tables, candidates, draw)
    used = np.flatnonzero(weights).tolist()
    used_cells = [candidates[place] for place in used]
    parts = tuple(
        PolicyPart(text=tables.text(cell), weight=float(weight), says=tables.says(cell))
        for cell, weight in zip(used_cells, weights[used], strict=True)
    )
    predicted = {
        axis.name: _predicted_deviation(plan, tables, axis, used_cells, weights[used])
        for axis in prompt.closed
    }
    return SolvedPolicy(
        policy=Policy(prompt=prompt.text, parts=parts),
        predicted=predicted,
        overall=_predicted_mean(plan, tables, used_cells, weights[used]),
    )


def _refined_weights(
    plan: MitigationPlan, tables: PolicyTables, candidates: Sequence[Cell], draw: Draw
) -> Counts:
    """Solve for the weights, generate images of the used prompts, and repeat if necessary."""
    solution = _solved(plan, tables, candidates)
    for _ in range(MOST_ROUNDS):
        used = [candidates[place] for place in np.flatnonzero(solution.weights).tolist()]
        new = [cell for cell in used if len(cell) > 1 and cell not in tables.drawn]
        if not new:
            break
        drawn = draw([tables.text(cell) for cell in new])
        tables.drawn |= zip(new, drawn, strict=True)
        refined = _solved(plan, tables, candidates)
        change = abs(refined.total - solution.total)
        solution = refined
        if change < WORTHWHILE_CHANGE:
            break
    return solution.weights


def _predicted_deviation(
    plan: MitigationPlan,
    tables: PolicyTables,
    axis: AxisPlan,
    used_cells: Sequence[Cell],
    weights: Counts,
) -> Estimate:
    """Predict the deviation of an axis under a policy, with a bootstrap interval.

    The weights were fitted to the observed shares, so the deviation of the observed shares is often
    0. The difference between true and observed shares is about as large as the difference between
    observed and bootstrap shares. Therefore, bootstrap shares mirrored at the observed shares are
    plausible true shares. The bias-corrected estimate is the median distance between these mirrored
    shares and the target. The median is used because the distance between the mean of the mirrored
    shares and the target would also often be 0.
    """
    rng = np.random.default_rng(derived_seed(plan.seed, "predicted", tables.prompt.text, axis.name))
    distance = DISTANCE[axis.scale]
    reference = target_shares(axis)
    observed = _mixture(tables, axis, used_cells, weights)
    drawn = _mixture(replace(tables, rng=rng, _counted={}), axis, used_cells, weights)
    forms, unit = linear_forms(distance, len(reference))
    gaps = (2 * observed - drawn - reference) @ forms.T
    distances = unit * np.abs(gaps).sum(axis=1)
    center = unit * float(np.abs(gaps.mean(axis=0)).sum())
    high = float(np.quantile(distances, 1 - tail(plan.confidence)))
    return Estimate(
        float(distance_named(distance)(observed, reference)),
        max(0.0, 2 * center - high),
        high,
        plan.confidence,
        "bootstrap of the planning pictures",
        debiased=float(np.median(distances)),
        max=distance_max(reference, distance),
    )


def _predicted_mean(
    plan: MitigationPlan, tables: PolicyTables, used_cells: Sequence[Cell], weights: Counts
) -> Estimate | None:
    """Predict the mean deviation of all axes under a policy, using the same bootstrap tables.

    The result is None if the plan does not measure the mean deviation.
    """
    if not plan.measures_overall:
        return None
    rng = np.random.default_rng(derived_seed(plan.seed, "predicted mean", tables.prompt.text))
    sampled_tables = replace(tables, rng=rng, _counted={})
    plain = []
    plausible = []
    for axis in tables.prompt.closed:
        reference = target_shares(axis)
        forms, unit = linear_forms(DISTANCE[axis.scale], len(reference))
        observed = _mixture(tables, axis, used_cells, weights)
        drawn = _mixture(sampled_tables, axis, used_cells, weights)
        plain.append(unit * float(np.abs((observed - reference) @ forms.T).sum()))
        gaps = (2 * observed - drawn - reference) @ forms.T
        plausible.append(unit * np.abs(gaps).sum(axis=1))
    axis_weights = plan.weights_of(tables.prompt.closed)
    means = np.average(plausible, axis=0, weights=axis_weights)
    low, median, high = np.quantile(means, [tail(plan.confidence), 0.5, 1 - tail(plan.confidence)])
    return Estimate(
        float(np.average(plain, weights=axis_weights)),
        float(low),
        float(high),
        plan.confidence,
        "bootstrap of the planning pictures",
        debiased=float(median),
    )


def _mixture(
    tables: PolicyTables, axis: AxisPlan, used_cells: Sequence[Cell], weights: Counts
) -> Counts:
    """Return an axis's shares under a policy: the weighted shares of the policy's prompts."""
    shares_of_cells = [tables.shares(cell, [axis]) for cell in used_cells]
    mixture: Counts = np.tensordot(weights, shares_of_cells, axes=1)
    return mixture


def most_drawn(plan: MitigationPlan, prompt: PromptPlan) -> int:
    """Return the maximum number of images that `choose` generates."""
    composite = sum(len(cell) > 1 for cell in _cells(plan, prompt))
    most_cells = (plan.max_prompts or composite) * MOST_ROUNDS
    return plan.refine * min(composite, most_cells)


def _cells(plan: MitigationPlan, prompt: PromptPlan) -> list[Cell]:
    """Return all cells: the combinations of values that the prompts of a policy can state."""
    sizes = [len(axis.values) for axis in prompt.closed if axis.name in plan.target_axes]
    return cells(sizes, plan.max_stated)


def target_shares(axis: AxisPlan) -> Counts:
    """Return the target shares of an axis, in the order of its values."""
    return np.array(list(reference_of(axis).values()))


def _solved(plan: MitigationPlan, tables: PolicyTables, candidates: Sequence[Cell]) -> Solution:
    """Return the best weights of the cells.

    The axes of each pair should be independent. For a target axis a and another axis b, the joint
    shares of the mixture should equal the target shares of a multiplied by the mixture's shares of
    b. The difference between these joint shares and this product is linear in the weights.
    """
    goals = _axis_goals(plan, tables, candidates)
    of_targets = [goal for goal in goals if goal.weight]
    if plan.tolerance is not None:
        unchanged = np.eye(len(candidates))[0]
        goals = [replace(goal, most=goal.distance_of(unchanged) + plan.tolerance) for goal in goals]
    goals += _independence_goals(plan, tables, candidates)
    costs = COST_OF_STATEMENT * np.array([len(cell) for cell in candidates])
    weights = plan_policy(goals, costs=costs, max_prompts=plan.max_prompts or None)
    total = sum(goal.weight * goal.distance_of(weights) for goal in of_targets)
    return Solution(weights=weights, total=total)


def _shares_of_cells(
    tables: PolicyTables, candidates: Sequence[Cell], axes: Sequence[AxisPlan]
) -> Counts:
    return np.array([tables.shares(cell, axes) for cell in candidates])


def _priorities(plan: MitigationPlan, tables: PolicyTables) -> dict[str, float]:
    return {axis.name: plan.priorities.get(axis.name, 1.0) for axis in tables.target_axes}


def _axis_goals(
    plan: MitigationPlan, tables: PolicyTables, candidates: Sequence[Cell]
) -> list[Goal]:
    """Return a goal for each axis: to reach its target shares.

    Monitored axes have weight 0. If the plan chooses the target axes, monitored axes have positive
    weights too, because the goal is then to improve all axes.
    """
    priorities = _priorities(plan, tables)
    monitored_weight = 0.0
    if plan.choose_axes is not None:
        priorities |= plan.priorities
        monitored_weight = 1.0
    return [
        Goal(
            _shares_of_cells(tables, candidates, [axis]),
            target_shares(axis),
            DISTANCE[axis.scale],
            priorities.get(axis.name, monitored_weight),
        )
        for axis in tables.prompt.closed
    ]


def _independence_goals(
    plan: MitigationPlan, tables: PolicyTables, candidates: Sequence[Cell]
) -> list[Goal]:
    """Return an independence goal for each pair of axes that includes a target axis."""
    if not plan.independence_weight:
        return []
    priorities = _priorities(plan, tables)
    monitored = [axis for axis in tables.prompt.closed if axis.name not in priorities]
    pairs = [*combinations(tables.target_axes, 2), *product(tables.target_axes, monitored)]
    goals = []
    for first, second in pairs:
        shares = _shares_of_cells(tables, candidates, [first, second])
        table = shares.reshape(len(candidates), len(first.values), len(second.values))
        independent = target_shares(first)[:, None] * table.sum(axis=1, keepdims=True)
        difference = (table - independent).reshape(len(candidates), -1)
        weight = (
            plan.independence_weight * priorities[first.name] * priorities.get(second.name, 1.0)
        )
        goals.append(Goal(difference, np.zeros(difference.shape[1]), weight=weight))
    return goals
