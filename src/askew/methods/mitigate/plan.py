"""The plan of a mitigation, and how a request becomes one."""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.options import ProposalContext
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.shares import reference_of
from askew.plan import AxisPlan, NonEmptyText, Plan, PromptPlan, Settings, check_distinct
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.statements import states

PROMPTS = "prompts"


class MitigationPlan(Plan):
    """A plan of what to do about some biases together, and of how what was done is measured.

    ways         methods of `askew.mitigations`, each tried by itself
    way_args     settings of theirs, named WAY:SETTING where several are tried
    aims         the axes whose shares should become their `reference`; the others are watched
    priorities   importance of an axis; 1 where it is not named
    joint        importance of an axis being independent of another, watched or mitigated, beside that of the axis
    worsening    beyond so much further from its ideal than it is, any axis weighs like a mitigated one; None: never
    statements   axes that a prompt of a policy states at most
    most_prompts prompts of a policy at most; 0 is no limit
    refine       pictures of every prompt of a policy that are drawn to plan it better
    confirm      fresh pictures before, and after every way, by which all is judged
    """

    method: Literal["mitigate"] = "mitigate"
    ways: tuple[NonEmptyText, ...] = Field(default=(PROMPTS,), min_length=1)
    way_args: Settings = Field(default_factory=dict)
    aims: tuple[NonEmptyText, ...] = Field(min_length=1)
    priorities: dict[str, float] = Field(default_factory=dict)
    joint: float = Field(default=0.15, ge=0)
    worsening: float | None = Field(default=0.05, ge=0, le=1)
    statements: int = Field(default=2, ge=1, le=4)
    most_prompts: int = Field(default=12, ge=0)
    refine: int = Field(default=24, ge=1, le=10_000)
    confirm: int = Field(default=96, ge=2, le=100_000)

    @model_validator(mode="after")
    def _fits_axes(self) -> Self:
        for prompt in self.prompts:
            known = {axis.name: axis for axis in prompt.closed}
            for name in self.aims:
                if name not in known:
                    raise ValueError(
                        f"{name!r} has no values to even out in {prompt.text!r}; it needs two or more"
                    )
                if {PROMPTS, "iti-gen"} & {*self.ways} and not known[name].counterfactuals:
                    raise ValueError(
                        f"{prompt.text!r} has no counterfactuals of {name!r}, which policies and tokens are made of"
                    )
        first, *others = map(self.targets, self.prompts)
        if {*self.ways} - {PROMPTS} and any(one != first for one in others):
            raise ValueError(
                "the prompts have different targets, and only policies (--with prompts) heed each one's: "
                "give prompts with equal targets a run of their own"
            )
        unknown = {*self.priorities} - {*self.aims}
        if unknown:
            raise ValueError(
                f"priorities are of mitigated axes ({', '.join(self.aims)}), not {', '.join(unknown)}"
            )
        owners = {key.rpartition(":")[0] for key in self.way_args} - {""}
        unknown = owners - {*self.ways}
        if unknown:
            raise ValueError(
                f"settings are of ways that are tried ({', '.join(self.ways)}), not {', '.join(unknown)}"
            )
        check_distinct("way to mitigate", self.ways)
        return self

    def targets(self, prompt: PromptPlan) -> dict[str, dict[str, float]]:
        """The wanted shares of the mitigated axes of a prompt."""
        return {axis.name: reference_of(axis) for axis in prompt.closed if axis.name in self.aims}

    def settings_of(self, way: str) -> Settings:
        """The settings of one way. Raises UsageError for one that does not say whose it is."""
        found: Settings = {}
        for key, value in self.way_args.items():
            owner, _, name = key.rpartition(":")
            if not owner and len(self.ways) > 1:
                raise UsageError(
                    f"--way-arg {key}={value} does not say whose setting it is: {self.ways[0]}:{key}"
                )
            if owner in ("", way):
                found[name] = value
        return found


def plan_mitigation(
    prompts: Sequence[str],
    *,
    axes: Sequence[str],
    also: Sequence[str] | None = None,
    targets: Mapping[str, Mapping[str, float]] | None = None,
    desk: ProposalContext | None = None,
    **settings: object,
) -> MitigationPlan:
    """A plan for `prompts`: `axes` are mitigated, those of `also` watched, by default BiasConnect's
    eight of people.

    `targets` are wanted shares by axis, equal ones unless given; `settings` are the other fields of
    `MitigationPlan`. Raises UsageError.
    """
    if not prompts:
        raise UsageError(
            'there is no prompt to mitigate; give one, such as: askew mitigate "a photo of a nurse"'
        )
    aims = [find_axis(name).name for name in axes]
    watched = [find_axis(name).name for name in (BIASCONNECT if also is None else also)]
    stated = next(((axis, text) for text in prompts for axis in aims if states(text, axis)), None)
    if stated:
        raise UsageError(
            f"{stated[1]!r} states its {stated[0]} itself: leave the axis out, or the word"
        )
    open_ones = [
        axis
        for axis in watched
        if axis not in aims and not any(states(text, axis) for text in prompts)
    ]
    settings["aims"] = aims
    made = survey_plan(
        MitigationPlan,
        prompts,
        axes=[*aims, *open_ones],
        reference=(),
        asked=None,
        desk=desk,
        draft=None,
        **settings,
    )
    wanted = {find_axis(name).name: dict(shares) for name, shares in (targets or {}).items()}
    extra = wanted.keys() - {*aims}
    if extra:
        raise UsageError(
            f"targets are of mitigated axes ({', '.join(aims)}), not {', '.join(sorted(extra))}"
        )
    data = made.model_dump()
    for axis in (axis for prompt in data["prompts"] for axis in prompt["axes"]):
        if axis["name"] not in aims:  # of what is only watched no counterfactual is made
            axis["counterfactuals"] = {}
        elif axis["name"] in wanted:
            aim = AxisPlan.checked(
                {**axis, "reference": wanted[axis["name"]]}, f"the target of {axis['name']}"
            )
            axis["reference"] = aim.reference
    return MitigationPlan.checked(data, "this request")
