"""InterMit (Shukla et al. 2025, arXiv 2505.17280): prompts state the values of a few chosen axes.

The axes are chosen greedily, using the interactions between axes. Each step adds one axis. From
then on, the prompts state this axis's values in their target shares. askew adds the axis for which
the predicted mean deviation of all axes from their references is smallest. askew stops adding axes
once this predicted deviation is at most a given bound. `askew.methods.mitigate` chooses the axes,
and this module applies the choice. Only a high-level description of the paper's algorithm was
available. The choice of axes follows this description, not the paper's code.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from askew.mitigations.assignment import HALTON_BASES, Rule, choose_part
from askew.mitigations.prompts import PromptReplacement
from askew.models.base import Request
from askew.plan import NonEmptyText
from askew.prompts.counterfactuals import counterfactual
from askew.store.files import digest_of


class InterMit(PromptReplacement):
    """Mitigation that states the values of a few axes in the prompt.

    Attributes
    ----------
    rule
        Rule that assigns a value to each image.
    bound
        Predicted mean deviation at which askew stops choosing axes.
    prompts
        Prompts for which the axes were chosen. Other prompts are sent unchanged.
    steps
        Axes whose values the prompts state, in the order in which the axes were chosen. `targets`
        contains the target shares of these values.
    """

    repeatable: ClassVar[bool] = True
    method: Literal["intermit"] = "intermit"
    rule: Rule = "quota"
    bound: float = Field(default=0.1, ge=0, le=1)
    prompts: tuple[NonEmptyText, ...] = ()
    steps: tuple[NonEmptyText, ...] = ()

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        unknown = [axis for axis in self.steps if axis not in self.targets]
        if unknown:
            raise ValueError(
                f"the steps contain {unknown[0]!r}, but there are no target shares for it"
            )
        return self

    def replaced_prompts(self) -> Sequence[str]:
        """Return the prompts for which the axes were chosen."""
        return self.prompts

    @property
    def requested_axes(self) -> set[str]:
        """Names of the axes whose values the prompts state."""
        return {*self.steps}

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the value requested for an image on each chosen axis."""
        if request.prompt not in self.prompts:
            return {}
        requested = {}
        for position, axis in enumerate(self.steps):
            shares = self.targets[axis]
            # points of two further bases would be associated in a few hundred images
            has_base = position < len(HALTON_BASES)
            index = choose_part(
                [*shares.values()],
                f"{request.prompt} {axis}",
                request,
                rule=self.rule if has_base else "independent",
                axis=position,
            )
            requested[axis] = [*shares][index]
        return requested

    def prompt_for(self, request: Request) -> str:
        """Return the prompt that states the requested values."""
        text = request.prompt
        for axis, value in self.requested_values(request).items():
            text = counterfactual(text, axis, value)
        return text

    def possible_prompts(self, prompt: str) -> list[str]:
        """Return one prompt for each combination of the axes' values."""
        texts = [prompt]
        if prompt not in self.prompts:
            return texts
        for axis in self.steps:
            values = self.targets[axis]
            texts = [counterfactual(text, axis, value) for text in texts for value in values]
        return texts

    @property
    def fingerprint(self) -> str:
        """Digest of the mitigation's fields, and of all prompts that state a single value."""
        texts = []
        for prompt in self.prompts:
            for axis in self.steps:
                texts += [counterfactual(prompt, axis, value) for value in self.targets[axis]]
        return digest_of([super().fingerprint, texts])[:16]
