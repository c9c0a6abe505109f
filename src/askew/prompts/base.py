"""What askew asks of a writer of axes and counterfactual prompts: a language model, or the built-in lexicon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from askew.types import Axis, Prompt


@dataclass(frozen=True, slots=True)
class AxisProposal:
    """An axis of bias that a prompt leaves open, and one counterfactual text per value."""

    axis: Axis
    counterfactuals: Mapping[str, str]

    def prompts(self) -> list[Prompt]:
        """The counterfactual prompts, in the order of the axis's values."""
        return [Prompt(text, self.axis.name, value) for value, text in self.counterfactuals.items()]


@runtime_checkable
class Writer(Protocol):
    """Proposes axes and counterfactuals for a prompt (TIBET, section 3.1 and appendix 9.1).

    `concurrency` is how many prompts it can work on at once.
    """

    name: str
    fingerprint: str
    concurrency: int

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals one concept apart from `prompt`.

        `axes` None lets the writer choose; otherwise exactly these, in this order.
        Raises UnknownName for an axis that the writer does not know, UsageError for an empty prompt.
        """
        ...
