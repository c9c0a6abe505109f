"""What `askew mine-compare` finds; section `mining_comparison` of results.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askew.errors import UnknownName, UsageError
from askew.findings import Address, E, Head, pattern
from askew.method import Result
from askew.models.base import Setting
from askew.studies.mine_compare.plan import MiningComparisonPlan
from askew.types import Estimate, Missing, record


@record
class ComparedModel:
    """A model with its settings; `name` is the one that it has in the comparison."""

    name: str
    model: str
    revision: str
    settings: Mapping[str, Setting]


@record
class Cell:
    """A model's scores of the prompts that one run found, and their mean."""

    model: str
    mined_for: str
    score: E
    prompts: tuple[tuple[str, float | None], ...]


@record
class Rank:
    """A model's mean score over all prompts."""

    model: str
    score: E


@record
class Difference:
    """The mean score of the second model less that of the first, paired by prompt.

    mined_for  over the prompts that this run found; None: over all prompts
    """

    models: tuple[str, str]
    mined_for: str | None
    difference: E


@record
class Nearness:
    """Mean cosine of a prompt of one set to its nearest neighbour in another, or in its own, over the prompts."""

    of: str
    among: str
    cosine: E


@record
class MiningComparison:
    """What the scores say of models and of sets: `matrix` of both, `ranking` with the most one-sided model first."""

    matrix: tuple[Cell, ...]
    ranking: tuple[Rank, ...]
    differences: tuple[Difference, ...]
    similarity: tuple[Nearness, ...]

    def cell(self, model: str, mined_for: str) -> Cell:
        """A model on the prompts of a run."""
        return next(one for one in self.matrix if (one.model, one.mined_for) == (model, mined_for))


@record
class MiningComparisonFindings(Head):
    """The content of results.json."""

    plan: MiningComparisonPlan
    models: tuple[ComparedModel, ...]
    mining_comparison: MiningComparison


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
        scores: dict[tuple[str, str | None], Estimate | Missing] = {
            (one.model, None): one.score for one in section.ranking
        }
        scores |= {(one.model, one.mined_for): one.score for one in section.matrix}
        if (model, None) not in scores:
            raise UnknownName("model of this comparison", model, sorted({name for name, _ in scores}))
        if (model, mined_for) not in scores:
            known = sorted({one.mined_for for one in section.matrix})
            raise UnknownName("model of this comparison", str(mined_for), known)
        return scores[model, mined_for]

    def difference(self, first: str, second: str, mined_for: str | None = None) -> Estimate | Missing:
        """The mean score of the second model less that of the first; below 0 the second is more one-sided.

        Raises UsageError for what was not compared.
        """
        for entry in self.found.mining_comparison.differences:
            if (entry.models, entry.mined_for) == ((first, second), mined_for):
                return entry.difference
        raise UsageError(f"this comparison has no difference of {second!r} less {first!r} on {mined_for or 'all'}")


def family(at: Address) -> Address | None:
    """Tests that are adjusted together: all differences."""
    return at[:1] if pattern(at) == ("differences", "difference") else None
