"""What a search for prompts found, in Python."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import UnknownName
from askew.method import Result
from askew.methods.mine.findings import MineFindings
from askew.methods.mine.plan import MinePlan
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MiningResult(Result[MinePlan, MineFindings]):
    """A finished run of `askew mine`."""

    @property
    def prompts(self) -> list[str]:
        """The prompts found, each once, the lowest loss on fresh seeds first."""
        return [one.prompt for one in self.found.minethegap.ranked()]

    def score(self, prompt: str | None = None) -> Estimate | Missing:
        """The score of a prompt (the first found by default) on fresh seeds. Raises UnknownName for one not found."""
        scores = {one.prompt: one.fresh_score for one in self.found.minethegap.best}
        wanted = prompt or self.prompts[0]
        if wanted not in scores:
            raise UnknownName("prompt of this search", wanted, scores)
        return scores[wanted]

    def difference(self) -> Estimate | Missing:
        """The loss of the prompts found less that of random prompts on the same budget; below 0, mining found better.

        Missing where no random search was made.
        """
        random = self.found.minethegap.random
        return random.difference if random else Missing("not_asked", "no random search was made")
