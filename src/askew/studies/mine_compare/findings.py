"""What `askew mine-compare` finds; section `mining_comparison` of results.json."""

from __future__ import annotations

from collections.abc import Mapping

from askew.findings import Address, E, Head, pattern
from askew.models.base import Setting
from askew.studies.mine_compare.plan import MiningComparisonPlan
from askew.types import record


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


def family(at: Address) -> Address | None:
    """Tests that are adjusted together: all differences."""
    return at[:1] if pattern(at) == ("differences", "difference") else None
