"""Choose the axes whose mitigation brings all axes closest to their references (InterMit).

To mitigate some axes, askew uses prompts that state all combinations of their values, so that each
value gets its target share. askew predicts the remaining deviation from the Intersectional
Sensitivities that `askew interact` measures (`stats.axis_effects`). These sensitivities are
computed from images of the prompt and of its counterfactuals. The mean deviation of a prompt is the
mean over all axes, weighted by the priorities.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from askew.methods.mitigate.plan import MitigationPlan
from askew.methods.mitigate.policy import PolicyTables, target_shares
from askew.parts.survey.shares import DISTANCE
from askew.plan import AxisPlan
from askew.stats.axis_effects import AffectedAxis, AxisEffects, EffectCounts, Pooling
from askew.stats.confusion import ReadingErrors
from askew.stats.intervals import Floats, critical_value, tail
from askew.stats.subset_choice import Subset, greedy_subsets, ranked_subsets
from askew.store.keys import derived_seed
from askew.types import Estimate

METHOD = "bootstrap of the planning images, normal"

SAMPLES = 200
"""Number of bootstrap tables drawn to compute the interval of a prediction."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted deviations under a mitigation.

    Attributes
    ----------
    axes : mapping of axis to Estimate
        Predicted deviation of each axis.
    overall : Estimate or None
        Predicted mean deviation of all axes, weighted by the priorities. None if it was not
        requested.
    """

    axes: Mapping[str, Estimate]
    overall: Estimate | None


@dataclass(frozen=True)
class AxisSelection:
    """Selection of the axes to mitigate.

    Attributes
    ----------
    candidates : sequence of str
        Names of the axes that could be selected.
    ranked : sequence of Subset
        All subsets of the requested size, best first. Empty if there are too many subsets.
    greedy : sequence of Subset
        The subset after each step of the greedy rule, starting with the empty subset.
    """

    candidates: Sequence[str]
    ranked: Sequence[Subset]
    greedy: Sequence[Subset]

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of the best subset or, if there are too many subsets, of the greedy subset."""
        return self.names(self.ranked[0] if self.ranked else self.greedy[-1])

    def names(self, subset: Subset) -> tuple[str, ...]:
        """Return the names of the axes of a subset."""
        return tuple(self.candidates[member] for member in subset.members)


@dataclass(frozen=True)
class DeviationModel:
    """Predictor of the deviations of all axes after a mitigation, for some prompts.

    Attributes
    ----------
    plan : MitigationPlan
        Plan of the mitigation. Its target axes are the candidates for a selection.
    axes : mapping of prompt to sequence of str
        Names of all axes of each prompt.
    effects : mapping of prompt to AxisEffects
        For each prompt, the pooled effects that mitigating each candidate axis has on all axes.
    sampled, unbiased : mapping of prompt to AxisEffects
        Pooled effects, computed from bootstrap samples of the images and from samples of
        populations without a deviation. The intervals are computed from these effects.
    """

    plan: MitigationPlan
    axes: Mapping[str, Sequence[str]]
    effects: Mapping[str, AxisEffects]
    sampled: Mapping[str, AxisEffects]
    unbiased: Mapping[str, AxisEffects]

    @classmethod
    def of(cls, plan: MitigationPlan, all_tables: Sequence[PolicyTables]) -> Self:
        """Build the model from the tables of some prompts.

        Parameters
        ----------
        plan
            Plan of the mitigation.
        all_tables
            Tables of each prompt.
        """
        axes = {}
        effects = {}
        sampled = {}
        unbiased = {}
        for tables in all_tables:
            text = tables.prompt.text
            axes[text] = [axis.name for axis in tables.prompt.closed]
            counts = _effect_counts(plan, tables)
            rng = np.random.default_rng(derived_seed(plan.seed, "axis choice", text))
            observed = counts.corrected()
            of_samples = counts.sampled(SAMPLES, rng)
            pooling = Pooling.of(observed, of_samples)
            effects[text] = pooling.pooled(observed)
            sampled[text] = pooling.pooled(of_samples)
            unbiased[text] = pooling.pooled(counts.unbiased(SAMPLES, rng))
        return cls(plan=plan, axes=axes, effects=effects, sampled=sampled, unbiased=unbiased)

    def select(self, number: int) -> AxisSelection:
        """Select the axes whose mitigation is predicted to leave the smallest deviation.

        Parameters
        ----------
        number
            Number of axes to select.
        """
        candidates = len(self.plan.target_axes)
        return AxisSelection(
            candidates=self.plan.target_axes,
            ranked=ranked_subsets(candidates, number, self.cost),
            greedy=greedy_subsets(candidates, number, self.cost),
        )

    def intermit_steps(self, bound: float) -> tuple[str, ...]:
        """Return the axes that InterMit's greedy rule selects, in order of selection.

        Parameters
        ----------
        bound
            Predicted mean deviation at which the rule stops.
        """

        def is_enough(members: tuple[int, ...]) -> bool:
            return self.cost(members) <= bound

        candidates = len(self.plan.target_axes)
        path = greedy_subsets(candidates, self.plan.choose_axes or candidates, self.cost, is_enough)
        return tuple(self.plan.target_axes[member] for member in path[-1].members)

    def cost(self, members: tuple[int, ...]) -> float:
        """Predict the mean deviation of all axes that remains after a mitigation.

        Parameters
        ----------
        members
            The mitigated axes, as positions in the target axes of the plan. Their order does not
            matter.
        """
        return float(_mean(self.effects, tuple(sorted(members))))

    def overall(self, names: Sequence[str]) -> Estimate:
        """Predict the mean deviation over all axes and prompts, with an interval.

        Parameters
        ----------
        names
            Names of the mitigated axes.
        """
        members = self._members(names)
        return _estimate(
            _mean(self.effects, members),
            _mean(self.sampled, members),
            _mean(self.unbiased, members),
            self.plan.confidence,
        )

    def predicted(self, text: str, names: Sequence[str]) -> Prediction:
        """Predict the deviation of each axis of a prompt, and the mean deviation.

        Parameters
        ----------
        text
            The prompt.
        names
            Names of the mitigated axes.
        """
        members = self._members(names)
        level = self.plan.confidence
        sources = (self.effects[text], self.sampled[text], self.unbiased[text])
        values, samples, unbiased = (effects.remaining(members) for effects in sources)
        axes = {}
        for place, name in enumerate(self.axes[text]):
            of_samples = samples[:, place]
            axes[name] = _estimate(values[place], of_samples, unbiased[:, place], level)
        value, of_samples, of_unbiased = (effects.mean_remaining(members) for effects in sources)
        overall = _estimate(value, of_samples, of_unbiased, level)
        return Prediction(axes=axes, overall=overall)

    def mean_sensitivities(self) -> dict[str, float]:
        """Return each candidate's bias-corrected mean Intersectional Sensitivity.

        The mean is taken over all axes, weighted by the priorities, and over all prompts.
        """
        means = {}
        for member, name in enumerate(self.plan.target_axes):
            of_prompts = [effects.mean_sensitivity(member) for effects in self.effects.values()]
            means[name] = float(np.mean(of_prompts))
        return means

    def _members(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.plan.target_axes.index(name) for name in names)


def _mean(effects: Mapping[str, AxisEffects], members: tuple[int, ...]) -> Floats:
    """Average the remaining deviation over all axes and prompts."""
    means = [of_prompt.mean_remaining(members) for of_prompt in effects.values()]
    return np.asarray(np.mean(means, axis=0))


def _estimate(value: Floats, samples: Floats, unbiased: Floats, level: float) -> Estimate:
    """Return a prediction with a normal interval. The standard error is computed from the samples.

    The interval contains 0 if predictions this large are common for populations without a
    deviation.
    """
    center = float(value)
    reach = float(samples.std(ddof=1)) * critical_value(level)
    low = max(0.0, center - reach)
    if center <= float(np.quantile(unbiased, 1 - tail(level))):
        low = 0.0
    null = float(unbiased.mean())
    return Estimate(center, low, center + reach, level, METHOD, null=null)


def _effect_counts(plan: MitigationPlan, tables: PolicyTables) -> EffectCounts:
    """Count the labels on all axes in all image sets of a prompt."""
    names = [axis.name for axis in tables.prompt.closed]
    candidates = {axis.name: place for place, axis in enumerate(tables.target_axes)}
    affected = []
    for axis in tables.prompt.closed:
        stated = [_stated_counts(tables, candidates[name], axis) for name in plan.target_axes]
        errors = tables.errors.get(axis.name)
        affected.append(
            AffectedAxis(
                initial=tables.observed_counts(tables.initial, [axis]),
                stated=stated,
                reference=target_shares(axis),
                distance=DISTANCE[axis.scale],
                errors=None if errors is None else ReadingErrors.of(errors),
            )
        )
    return EffectCounts(
        axes=affected,
        places=[names.index(name) for name in plan.target_axes],
        shares=[target_shares(tables.target_axes[candidates[name]]) for name in plan.target_axes],
        weights=np.array(plan.weights_of(tables.prompt.closed)),
    )


def _stated_counts(tables: PolicyTables, candidate: int, axis: AxisPlan) -> Floats:
    """Count one axis's labels in the images of prompts that state the values of a candidate axis.

    The result has the shape (K, m): one row per value of the candidate, one column per label.
    """
    values = range(len(tables.target_axes[candidate].values))
    return np.array(
        [tables.observed_counts(tables.stated[candidate, value], [axis]) for value in values]
    )
