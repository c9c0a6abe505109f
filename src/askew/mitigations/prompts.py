"""A policy over prompts: what a prompt leaves open is said for it, each value as often as the
policy wants.

Works on every model that takes prompts, a hosted one too. In code of one's own `draw` gives the
prompts to send.
"""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.mitigations.base import Mitigation, Rule, choose_part
from askew.models.base import Request
from askew.plan import NonEmptyText, PlanPart


class PolicyPart(PlanPart):
    """A prompt of a policy: its text, how often it is used, and by axis what it says beyond the
    initial prompt.
    """

    text: NonEmptyText
    weight: float = Field(gt=0, le=1)
    says: dict[str, str] = Field(default_factory=dict)


class Policy(PlanPart):
    """What is sent in place of one prompt."""

    prompt: NonEmptyText
    parts: tuple[PolicyPart, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        total = sum(part.weight for part in self.parts)
        if abs(total - 1) > 1e-6:
            raise ValueError(
                f"the weights of the policy for {self.prompt!r} sum to {total:g}; they must sum to 1"
            )
        return self


class PromptPolicy(Mitigation):
    """Prompts in the place of prompts."""

    method: Literal["prompts"] = "prompts"
    rule: Rule = "quota"
    policies: tuple[Policy, ...] = Field(min_length=1)

    def policy(self, prompt: str) -> Policy | None:
        """The policy for a prompt; None where there is none, and the prompt is sent as it is."""
        return next((one for one in self.policies if one.prompt == prompt), None)

    def draw(self, prompt: str, seed: int, number: int | None = None) -> str:
        """The prompt to send for picture `number` of `prompt`, or for one with that seed.

        Raises UsageError where the policy is for other prompts.
        """
        if self.policy(prompt) is None:
            known = ", ".join(repr(one.prompt) for one in self.policies)
            raise UsageError(f"this policy is not for {prompt!r}; it is for: {known}")
        return self.prompt_for(Request(prompt, seed, number))

    def prompt_for(self, request: Request) -> str:
        """The text of the picture's part."""
        return self.part_for(request).text

    def possible_prompts(self, prompt: str) -> list[str]:
        """The texts of the prompt's policy."""
        policy = self.policy(prompt)
        return [part.text for part in policy.parts] if policy else [prompt]

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """What the picture's prompt says by the policy."""
        return self.part_for(request).says

    def part_for(self, request: Request) -> PolicyPart:
        """The part by which a picture is made."""
        policy = self.policy(request.prompt)
        if policy is None:
            return PolicyPart(text=request.prompt, weight=1)
        return policy.parts[
            choose_part([part.weight for part in policy.parts], request.prompt, request, self.rule)
        ]
