"""What `askew mine-study` finds: the content of study.json."""

from __future__ import annotations

from askew.findings import E
from askew.methods.mine.plan import MinePlan
from askew.types import record


@record
class RankedPrompt:
    """A prompt, the skew that was planted in its pictures, and its score at the plan's own alpha."""

    prompt: str
    skew: float
    score: float
    corrected: float


@record
class AlphaRanks:
    """Spearman's correlations with the planted skew, above 0 where they agree: of the score at some alpha, of the score
    less chance, and of the two halves of the score."""

    quantile: float
    score: E
    corrected: E
    missed_concepts: E
    least_aligned: E


@record
class Ranking:
    """How well the score ranks prompts by a bias that is known; `images` are the pictures of each prompt."""

    images: int
    prompts: tuple[RankedPrompt, ...]
    quantiles: tuple[AlphaRanks, ...]


@record
class CurvePoint:
    """The best loss so far over the runs, and its standard error; None for a single run."""

    iteration: int
    mean: float
    error: float | None


@record
class SizeScore:
    """Searches of one size: `random` prompts fill each iteration of `population`.

    fresh, found  mean loss of the best prompts over the runs: on fresh seeds, and when they were found
    by_run        the former of every run; None for one in which no prompt could be scored
    difference    `fresh` less that of the paper's size, paired by run; None for this size itself
    """

    population: int
    selected: int
    mutations: int
    random: int
    fresh: E
    by_run: tuple[float | None, ...]
    found: E
    difference: E | None
    curve: tuple[CurvePoint, ...]


@record
class RandomStudy:
    """The random searches beside those of the paper's size: `difference` is mined less random."""

    difference: E
    curve: tuple[CurvePoint, ...]


@record
class MiningStudyFindings:
    """The content of study.json; `plan` is that of the paper's size."""

    plan: MinePlan
    ranking: Ranking
    sizes: tuple[SizeScore, ...]
    random: RandomStudy | None
