"""What a comparison of searches found, in Python."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import UnknownName, UsageError
from askew.method import Result
from askew.studies.mine_compare.findings import MiningComparisonFindings
from askew.studies.mine_compare.plan import MiningComparisonPlan
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MiningComparisonResult(Result[MiningComparisonPlan, MiningComparisonFindings]):
    """A finished run of `askew mine-compare`."""

    @property
    def ranking(self) -> list[str]:
        """The models, the most one-sided one first."""
        return [entry.model for entry in self.found.mining_comparison.ranking]

    def score(self, model: str, mined_for: str | None = None) -> Estimate | Missing:
        """The mean score of a model, on the prompts of one run or on all. Raises UnknownName."""
        section = self.found.mining_comparison
        if mined_for is None:
            over_all = {one.model: one.score for one in section.ranking}
            if model not in over_all:
                raise UnknownName("model of this comparison", model, sorted(over_all))
            return over_all[model]
        cells = {(one.model, one.mined_for): one.score for one in section.matrix}
        if (model, mined_for) not in cells:
            raise UnknownName("model of this comparison", mined_for, sorted({name for _, name in cells}))
        return cells[model, mined_for]

    def difference(self, first: str, second: str, mined_for: str | None = None) -> Estimate | Missing:
        """The mean score of the second model less that of the first; below 0 the second is more one-sided.

        Raises UsageError for what was not compared.
        """
        for entry in self.found.mining_comparison.differences:
            if (entry.models, entry.mined_for) == ((first, second), mined_for):
                return entry.difference
        raise UsageError(f"this comparison has no difference of {second!r} less {first!r} on {mined_for or 'all'}")
