"""Build InterMit's mitigation of the chosen axes, and the predictions for all techniques."""

from collections.abc import Mapping, Sequence

from askew.methods.mitigate.axis_choice import DeviationModel, Prediction
from askew.methods.mitigate.plan import INTERMIT, MitigationPlan
from askew.methods.mitigate.policy import SolvedPolicy
from askew.mitigations.intermit import InterMit


def widest_axes(plan: MitigationPlan) -> tuple[str, ...]:
    """Return the axes with the most values, since their mitigation needs the most images."""
    sizes = {axis.name: len(axis.values) for axis in plan.prompts[0].closed}
    ordered = sorted(plan.target_axes, key=lambda name: -sizes[name])
    return tuple(ordered[: plan.choose_axes])


def intermit_mitigation(plan: MitigationPlan, steps: Sequence[str]) -> InterMit:
    """Return the mitigation whose prompts state values on these axes."""
    targets = plan.targets(plan.prompts[0])
    fields: dict[str, object] = {
        **plan.settings_of(INTERMIT),
        "targets": {axis: targets[axis] for axis in steps},
        "prompts": [prompt.text for prompt in plan.prompts],
        "steps": list(steps),
    }
    return InterMit.checked(fields, f"the mitigation {INTERMIT}")


def policy_predictions(policies: Mapping[str, SolvedPolicy]) -> dict[str, Prediction]:
    """Return the deviations predicted under each prompt's policy, keyed by prompt."""
    return {
        text: Prediction(axes=solved.predicted, overall=solved.overall)
        for text, solved in policies.items()
    }


def intermit_predictions(
    deviations: DeviationModel | None, steps: Sequence[str]
) -> dict[str, Prediction]:
    """Return the deviations predicted if these axes are mitigated, keyed by prompt."""
    if deviations is None:
        return {}
    return {text: deviations.predicted(text, steps) for text in deviations.axes}
