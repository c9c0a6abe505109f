"""What `askew mine` finds; section `minethegap` of results.json."""

from collections.abc import Sequence
from dataclasses import dataclass

from askew.errors import UnknownName
from askew.findings import Address, E, ExtensibleRecord, Head, pattern
from askew.method import Result
from askew.methods.mine.plan import SKEW, MinePlan
from askew.parts.survey.shares import SetShares
from askew.prompts.evolution import Origin
from askew.types import Estimate, Missing, record


@record
class ExplainedPrompt(ExtensibleRecord):
    """A prompt, and what explains the score of its pictures.

    shares                   where leans are asked for: what they show of an axis
    variations               that they are held against, by value where leans are asked for
    missed_visual_concepts   if `is_read`, variations of which no picture shows all that they say, those first that
                             pictures of the variations show most; without a reader of what they
                             say, those of low similarity, of which some picture may well show one.
                             `missed_pictures` is one of each
    least_aligned_pictures   pictures that fit no variation as well as pictures of variations do, the worst first
    null_range               between which scores the central part of chance lies
    """

    prompt: str
    shares: SetShares | None
    variations: tuple[str, ...]
    missed_visual_concepts: tuple[str, ...]
    is_read: bool
    missed_pictures: tuple[str | None, ...]
    least_aligned_pictures: tuple[str, ...]
    null_range: tuple[float, float] | None


@record
class BestPrompt(ExplainedPrompt):
    """One of the best prompts of a search, explained by its pictures of fresh seeds.

    score        of the pictures that it was found by: the luckiest of many
    held_out_score  of pictures of fresh seeds: what it is worth
    parent       the prompt that it is a mutation of
    """

    run: int
    score: E
    held_out_score: E
    iteration: int
    parent: str | None


@record
class Evaluation:
    """A prompt that a search looked at, with its loss."""

    prompt: str
    score: float | None
    origin: Origin
    parent: str | None


@record
class Iteration:
    """An iteration of a search: its lowest and its median loss, and the lowest so far."""

    run: int
    iteration: int
    best: float | None
    median: float | None
    best_so_far: float | None
    prompts: tuple[Evaluation, ...] = ()


@record
class RandomSearch:
    """Random searches on the same budget, and by how much mining finds lower losses, on fresh
    seeds.
    """

    best: tuple[BestPrompt, ...]
    history: tuple[Iteration, ...]
    difference: E


@record
class MissedTerms:
    """Over the prompts found, how many miss a word, and how many a kind of thing, the most frequent
    first.
    """

    prompts: int
    terms: tuple[tuple[str, int], ...]
    categories: tuple[tuple[str, int], ...]


@record
class MineTheGap:
    """Everything about a search. Losses are what was sought when low: of a search for leans, less
    the lean.
    """

    objective: str
    best: tuple[BestPrompt, ...]
    history: tuple[Iteration, ...]
    random: RandomSearch | None
    missed: MissedTerms | None

    @property
    def evaluated(self) -> int:
        """How many prompts the searches looked at."""
        return sum(len(entry.prompts) for entry in self.history)


def ranked(best: Sequence[BestPrompt], leans: bool) -> list[BestPrompt]:
    """The best prompts, each once, the lowest loss on fresh seeds first, those without a score
    last.
    """
    first: dict[str, BestPrompt] = {}
    for one in sorted(best, key=lambda one: loss_of(one.held_out_score, leans)):
        first.setdefault(one.prompt, one)
    return list(first.values())


def loss_of(score: Estimate | Missing, leans: bool) -> float:
    """The loss that a score of fresh seeds stands for; without one the last in every order."""
    if isinstance(score, Missing):
        return float("inf")
    return -(score.corrected or 0.0) if leans else score.value


@record
class MineFindings(Head):
    """The content of results.json."""

    plan: MinePlan
    minethegap: MineTheGap


@dataclass(frozen=True)
class MiningResult(Result[MinePlan, MineFindings]):
    """A finished run of `askew mine`."""

    @property
    def prompts(self) -> list[str]:
        """The prompts found, each once, the lowest loss on fresh seeds first."""
        return [
            one.prompt for one in ranked(self.findings.minethegap.best, self.plan.objective == SKEW)
        ]

    def score(self, prompt: str | None = None) -> Estimate | Missing:
        """The score of a prompt (the first found by default) on fresh seeds. Raises UnknownName for
        one not found.
        """
        scores = {one.prompt: one.held_out_score for one in self.findings.minethegap.best}
        wanted = prompt or self.prompts[0]
        UnknownName.unless_known("prompt of this search", wanted, scores)
        return scores[wanted]

    def difference(self) -> Estimate | Missing:
        """The loss of the prompts found less that of random prompts on the same budget; below 0,
        mining found better.

        Missing where no random search was made.
        """
        random = self.findings.minethegap.random
        return random.difference if random else Missing("not_asked", "no random search was made")


def family(at: Address) -> Address | None:
    """Tests that are adjusted together: fresh scores of all best prompts, which are their distances
    once more.
    """
    name = pattern(at)
    fresh = ("best", "held_out_score")
    if name == ("best", "shares", "distance"):
        return fresh
    return name if name in (fresh, ("random", *fresh)) else None
