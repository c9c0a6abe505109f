"""Define the plan of a mitigation, and build it from a request."""

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.options import ProposalContext
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.shares import reference_of
from askew.plan import AxisPlan, NonEmptyText, Plan, PromptPlan, Settings, check_distinct
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.statements import states

PROMPTS = "prompts"
TOKENS = "iti-gen"
INTERMIT = "intermit"
FROM_IMAGES = {PROMPTS, TOKENS, INTERMIT}
"""Techniques whose planning uses images generated from counterfactual prompts."""


class MitigationPlan(Plan):
    """Plan of a run that mitigates several biases and evaluates the result.

    Attributes
    ----------
    techniques : tuple of str
        Names of techniques in `askew.mitigations`, each of which is applied separately.
    technique_args : dict
        Settings of the techniques, named TECHNIQUE:SETTING if there are several techniques.
    target_axes : tuple of str
        Axes whose shares should reach their `reference`. The other axes are monitored.
    choose_axes : int or None
        Number of target axes that the techniques mitigate. These axes are chosen so that all axes
        come closest to their references. If None, all target axes are mitigated.
    priorities : dict of axis to float
        Weights of target axes. The default weight is 1.
    independence_weight : float
        Weight of keeping two axes independent, relative to the weight of a target axis.
    tolerance : float or None
        Largest tolerated increase in the deviation of any axis. None sets no limit.
    max_stated : int
        Maximum number of axes on which a single prompt of a policy states a value.
    max_prompts : int
        Maximum number of prompts in a policy. 0 means no limit.
    refine : int
        Number of images that are generated from each prompt of a policy to improve the policy.
    eval_images : int
        Number of held-out images per prompt for the evaluation. askew generates this number before
        mitigation and for each technique.
    """

    method: str = "mitigate"
    techniques: tuple[NonEmptyText, ...] = Field(default=(PROMPTS,), min_length=1)
    technique_args: Settings = Field(default_factory=dict)
    target_axes: tuple[NonEmptyText, ...] = Field(min_length=1)
    choose_axes: int | None = Field(default=None, ge=1)
    priorities: dict[str, float] = Field(default_factory=dict)
    independence_weight: float = Field(default=1.0, ge=0)
    tolerance: float | None = Field(default=0.15, ge=0, le=1)
    max_stated: int = Field(default=2, ge=1, le=4)
    max_prompts: int = Field(default=12, ge=0)
    refine: int = Field(default=24, ge=1, le=10_000)
    eval_images: int = Field(default=96, ge=2, le=100_000)

    @model_validator(mode="after")
    def _fits_axes(self) -> Self:
        for prompt in self.prompts:
            self._check_prompt(prompt)
        self._check_equal_targets()
        self._check_priorities()
        self._check_technique_args()
        self._check_choice()
        check_distinct("technique", self.techniques)
        return self

    def _check_prompt(self, prompt: PromptPlan) -> None:
        known = {axis.name: axis for axis in prompt.closed}
        for name in self.target_axes:
            if name not in known:
                raise ValueError(
                    f"{name!r} has no values in {prompt.text!r}; a target axis needs "
                    "two or more values"
                )
            if self.needs_planning_images and not known[name].counterfactuals:
                raise ValueError(
                    f"{prompt.text!r} has no counterfactual prompts for {name!r}; --choose-axes and "
                    f"the techniques {PROMPTS}, {TOKENS} and {INTERMIT} need them"
                )

    @property
    def needs_planning_images(self) -> bool:
        """True if planning needs images generated from counterfactual prompts."""
        return self.choose_axes is not None or bool(FROM_IMAGES & {*self.techniques})

    @property
    def measures_overall(self) -> bool:
        """True if askew predicts and measures the mean deviation of all axes."""
        return self.choose_axes is not None or INTERMIT in self.techniques

    def weights_of(self, axes: Sequence[AxisPlan]) -> list[float]:
        """Return the weight of each axis in the mean deviation: its priority or, by default, 1."""
        return [self.priorities.get(axis.name, 1.0) for axis in axes]

    def _check_choice(self) -> None:
        number = len(self.target_axes)
        if self.choose_axes is not None and self.choose_axes > number:
            raise ValueError(
                f"--choose-axes {self.choose_axes} exceeds the number of axes to choose from, "
                f"which is {number}; choose at most {number}, or give more axes with --axes"
            )

    def _check_equal_targets(self) -> None:
        first, *others = [self.targets(prompt) for prompt in self.prompts]
        uses_networks = bool({*self.techniques} - {PROMPTS})
        if uses_networks and any(targets != first for targets in others):
            raise ValueError(
                "the prompts have different target shares, which only --technique prompts "
                "supports; use a separate run for each group of prompts with the same target "
                "shares"
            )

    def _check_priorities(self) -> None:
        unknown = {*self.priorities} - {*self.target_axes}
        if unknown:
            raise ValueError(
                f"--priority contains {', '.join(unknown)}, but the target axes are: "
                f"{', '.join(self.target_axes)}"
            )

    def _check_technique_args(self) -> None:
        owners = {key.rpartition(":")[0] for key in self.technique_args} - {""}
        unknown = owners - {*self.techniques}
        if unknown:
            raise ValueError(
                f"--technique-arg contains a setting of {', '.join(unknown)}, but the techniques "
                f"are: {', '.join(self.techniques)}"
            )

    def targets(self, prompt: PromptPlan) -> dict[str, dict[str, float]]:
        """Return the target shares for all target axes of a prompt."""
        return {
            axis.name: reference_of(axis) for axis in prompt.closed if axis.name in self.target_axes
        }

    def settings_of(self, technique: str) -> Settings:
        """Return the settings of a technique.

        Raises
        ------
        UsageError
            If there are several techniques and a setting does not name its technique.
        """
        settings: Settings = {}
        for key, value in self.technique_args.items():
            owner, _, name = key.rpartition(":")
            if not owner and len(self.techniques) > 1:
                raise UsageError(
                    f"--technique-arg {key}={value} does not name its technique. "
                    f"Write, for example, {self.techniques[0]}:{key}={value}"
                )
            if owner in ("", technique):
                settings[name] = value
        return settings


def plan_mitigation(
    prompts: Sequence[str],
    *,
    axes: Sequence[str],
    monitor: Sequence[str] | None = None,
    targets: Mapping[str, Mapping[str, float]] | None = None,
    desk: ProposalContext | None = None,
    **settings: object,
) -> MitigationPlan:
    """Return the plan for a request to mitigate prompts.

    Parameters
    ----------
    prompts
        Prompts to mitigate.
    axes
        Names of target axes. By default, BiasConnect's eight axes, except axes on which a prompt
        states a value.
    monitor
        Names of monitored axes. By default, BiasConnect's eight axes.
    targets
        Target shares, keyed by axis. By default, the targets are uniform.
    desk
        Settings for the prompt generator.
    **settings
        Other fields of `MitigationPlan`.

    Raises
    ------
    UsageError
        If the request cannot be planned.
    """
    if not prompts:
        raise UsageError(
            'no prompt is given. Give one, for example: askew mitigate "a photo of a nurse"'
        )
    target_axes = [find_axis(name).name for name in axes] or _open_axes(prompts, BIASCONNECT)
    _check_not_stated(prompts, target_axes)
    monitored = [find_axis(name).name for name in (BIASCONNECT if monitor is None else monitor)]
    open_axes = [axis for axis in _open_axes(prompts, monitored) if axis not in target_axes]
    settings["target_axes"] = target_axes
    survey = survey_plan(
        MitigationPlan,
        prompts,
        axes=[*target_axes, *open_axes],
        reference=(),
        asked=None,
        desk=desk,
        draft=None,
        **settings,
    )
    wanted = {find_axis(name).name: dict(shares) for name, shares in (targets or {}).items()}
    unknown = wanted.keys() - {*target_axes}
    if unknown:
        raise UsageError(
            f"--target-shares contains {', '.join(sorted(unknown))}, but the target axes are: "
            f"{', '.join(target_axes)}"
        )
    return _with_targets(survey, wanted)


def _open_axes(prompts: Sequence[str], axes: Sequence[str]) -> list[str]:
    """Return the axes on which no prompt states a value."""
    open_axes = []
    for axis in axes:
        if not any(states(text, axis) for text in prompts):
            open_axes.append(axis)
    return open_axes


def _check_not_stated(prompts: Sequence[str], target_axes: Sequence[str]) -> None:
    """Raise UsageError if a prompt states a value on a target axis."""
    for text in prompts:
        for axis in target_axes:
            if states(text, axis):
                raise UsageError(
                    f"{text!r} states its {axis}. Remove {axis} from --axes, or remove the word from "
                    "the prompt"
                )


def _with_targets(
    survey: MitigationPlan, targets: Mapping[str, Mapping[str, float]]
) -> MitigationPlan:
    """Return the plan with target shares added, and counterfactuals on monitored axes removed."""
    data = survey.model_dump()
    for prompt in data["prompts"]:
        for axis in prompt["axes"]:
            name = axis["name"]
            if name not in survey.target_axes:
                axis["counterfactuals"] = {}
            elif name in targets:
                fields = {**axis, "reference": dict(targets[name])}
                checked = AxisPlan.checked(fields, f"the target shares of {name}")
                axis["reference"] = checked.reference
    return MitigationPlan.checked(data, "this request")
