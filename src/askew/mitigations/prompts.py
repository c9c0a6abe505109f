"""Prompt policies: replace a prompt with prompts that state values at given frequencies.

A policy works with every model that accepts prompts, including hosted models. Users can call
`PromptPolicy.draw` in their own code to obtain the prompts to send.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.mitigations.assignment import Rule, choose_part
from askew.mitigations.base import TOLERANCE, Mitigation
from askew.models.base import Request
from askew.plan import NonEmptyText, PlanPart


class PolicyPart(PlanPart):
    """One of the prompts that a policy sends to the model.

    Attributes
    ----------
    text
        The prompt that the model receives.
    weight
        Share of the images that are generated from this prompt, in (0, 1].
    says
        Values that this prompt states, but the initial prompt does not, keyed by axis.
    """

    text: NonEmptyText
    weight: float = Field(gt=0, le=1)
    says: dict[str, str] = Field(default_factory=dict)


class Policy(PlanPart):
    """Prompts that a model receives in place of a single prompt.

    Attributes
    ----------
    prompt
        The replaced prompt.
    parts
        The prompts that replace this prompt. Their weights sum to 1.
    """

    prompt: NonEmptyText
    parts: tuple[PolicyPart, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        total = sum(part.weight for part in self.parts)
        if abs(total - 1) > TOLERANCE:
            raise ValueError(
                f"the weights of the policy for {self.prompt!r} sum to {total:g}; "
                "they must sum to 1"
            )
        return self


class PromptReplacement(Mitigation):
    """Mitigation that replaces certain prompts with prompts that askew has planned for them."""

    def replaced_prompts(self) -> Sequence[str]:
        """Return the prompts that the mitigation replaces."""
        raise NotImplementedError

    def known_prompts(self) -> set[str]:
        """Return the prompts that the mitigation replaces, and the prompts that it sends."""
        prompts = {*self.replaced_prompts()}
        return prompts.union(*(self.possible_prompts(prompt) for prompt in prompts))

    def conflict_with(self, other: Mitigation) -> str | None:
        """Return the reason why a mitigation conflicts with this one, such as a shared prompt."""
        if not isinstance(other, PromptReplacement):
            return super().conflict_with(other)
        prompts = self.known_prompts()
        prompts_of_other = other.known_prompts()
        shared = [prompt for prompt in self.replaced_prompts() if prompt in prompts_of_other]
        shared += [prompt for prompt in other.replaced_prompts() if prompt in prompts]
        if not shared:
            return None
        return (
            f"both mitigations change the prompt {shared[0]!r}; plan a single policy for all "
            "axes, as in askew mitigate PROMPT --axes gender,age"
        )


class PromptPolicy(PromptReplacement):
    """Mitigation that replaces a prompt with the prompts of its policy.

    Attributes
    ----------
    rule
        Rule that assigns a prompt to each image.
    policies
        A policy for each replaced prompt. Other prompts are sent unchanged.
    """

    repeatable: ClassVar[bool] = True
    method: Literal["prompts"] = "prompts"
    rule: Rule = "quota"
    policies: tuple[Policy, ...] = Field(min_length=1)

    def policy(self, prompt: str) -> Policy | None:
        """Return the policy for a prompt, or None if the prompt is sent unchanged."""
        return next((policy for policy in self.policies if policy.prompt == prompt), None)

    def draw(self, prompt: str, seed: int, number: int | None = None) -> str:
        """Return the prompt to send to the model in place of `prompt`.

        Parameters
        ----------
        prompt
            A prompt for which there is a policy.
        seed
            Seed of the image. The seed determines the prompt if there is no `number`.
        number
            Position of the image among the images of the prompt, from 0.

        Raises
        ------
        UsageError
            If there is no policy for the prompt.
        """
        if self.policy(prompt) is None:
            known = ", ".join(repr(policy.prompt) for policy in self.policies)
            raise UsageError(f"this policy does not apply to {prompt!r}; it applies to: {known}")
        return self.prompt_for(Request(prompt, seed, number))

    @property
    def requested_axes(self) -> set[str]:
        """Names of the axes whose values the prompts of the policies state."""
        axes: set[str] = set()
        for policy in self.policies:
            axes.update(*(part.says for part in policy.parts))
        return axes

    def replaced_prompts(self) -> list[str]:
        """Return the prompts that the policies replace."""
        return [policy.prompt for policy in self.policies]

    def prompt_for(self, request: Request) -> str:
        """Return the prompt that the model receives for a requested image."""
        return self.part_for(request).text

    def possible_prompts(self, prompt: str) -> list[str]:
        """Return all prompts that the model may receive in place of a prompt."""
        policy = self.policy(prompt)
        return [prompt] if policy is None else [part.text for part in policy.parts]

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the values that the sent prompt states, but the initial prompt does not."""
        return self.part_for(request).says

    def part_for(self, request: Request) -> PolicyPart:
        """Return the part of the policy whose prompt is used for an image."""
        policy = self.policy(request.prompt)
        if policy is None:
            return PolicyPart(text=request.prompt, weight=1)
        weights = [part.weight for part in policy.parts]
        return policy.parts[choose_part(weights, request.prompt, request, self.rule)]
