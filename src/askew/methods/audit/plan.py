"""Plan of an audit."""

from collections.abc import Callable
from typing import Literal, Self

from pydantic import model_validator

from askew.plan import AxisPlan, Plan, PromptPlan


class AuditPlan(Plan):
    """A plan to label images of prompts and counterfactuals, or of a collection (TIBET).

    Attributes
    ----------
    concepts : "all" or "axis"
        Concepts of CAS and MAD: from all answers (the paper's), or from the answers about the axis.
    counterfactuals : "all", "significant" or "none"
        Axes whose counterfactual images are generated: all axes (the paper's), axes on which the
        baseline images are significantly biased, or none.
    axes_in_depth : tuple of str
        Axes whose counterfactual images are generated in any case.
    """

    method: str = "audit"
    concepts: Literal["all", "axis"] = "all"
    counterfactuals: Literal["all", "significant", "none"] = "all"
    axes_in_depth: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _named_axes(self) -> Self:
        if not self.axes_in_depth:
            return self
        if self.counterfactuals == "all":
            raise ValueError(
                "--axes-in-depth adds axes to --counterfactuals significant or none. "
                "--counterfactuals all generates the counterfactual images of all axes"
            )
        names = list(dict.fromkeys(axis.name for prompt in self.prompts for axis in prompt.axes))
        unknown = [name for name in self.axes_in_depth if name not in names]
        if unknown:
            raise ValueError(
                f"--axes-in-depth names {unknown[0]!r}, but the plan has the axes {', '.join(names)}"
            )
        return self

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results, without unused fields of the depth."""
        fields = super().deciding()
        if self.counterfactuals == "all":
            del fields["counterfactuals"]
        if not self.axes_in_depth:
            del fields["axes_in_depth"]
        return fields

    def with_counterfactuals(self, wanted: Callable[[PromptPlan, AxisPlan], bool]) -> Self:
        """Return the plan with counterfactual prompts only of the wanted axes."""
        prompts = []
        for prompt in self.prompts:
            axes = []
            for axis in prompt.axes:
                planned = axis
                if not wanted(prompt, axis):
                    planned = axis.model_copy(update={"counterfactuals": {}})
                axes.append(planned)
            prompts.append(prompt.model_copy(update={"axes": tuple(axes)}))
        return self.model_copy(update={"prompts": tuple(prompts)})
