"""Findings of `askew mine`, stored in section `minethegap` of results.json."""

from collections.abc import Sequence
from dataclasses import dataclass

from askew.errors import UnknownName
from askew.findings import Address, E, ExtensibleRecord, Head, pattern
from askew.method import Result
from askew.methods.mine.plan import SKEW, MinePlan
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.shares import SetShares
from askew.prompts.evolution import Origin
from askew.types import Estimate, Missing, record


@record
class ExplainedPrompt(ExtensibleRecord):
    """A prompt and an explanation of its score.

    Attributes
    ----------
    prompt
        The prompt.
    shares
        Shares of an axis's values; None unless the objective is skew.
    variations
        Variations with which the images are compared. If the objective is skew, there is one
        variation per value.
    missed_visual_concepts
        Variations whose details the images leave out. If `is_read`, no image shows all details of
        these variations. They are sorted by how many images of all variations show their details,
        in decreasing order. If not `is_read`, these are the variations least similar to the images,
        although the images may still show them.
    is_read
        True if an instrument labeled the details of the variations.
    missed_pictures
        One image of each variation in `missed_visual_concepts`; None where there is no image.
    least_aligned_pictures
        Images that are less similar to every variation than is usual for the variations' own
        images, least similar first.
    null_range
        Central range of the scores expected by chance.
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
    """One of the best prompts of a search, explained with its held-out images.

    Attributes
    ----------
    run
        Number of the search, counted from 0.
    score
        Score that the search measured on its images, and used to select the prompt. This score is
        too optimistic.
    held_out_score
        Score of images with held-out seeds.
    iteration
        Number of the iteration in which the prompt was written, counted from 0.
    parent
        Prompt from which this prompt was mutated; None for a random prompt.
    """

    run: int
    score: E
    held_out_score: E
    iteration: int
    parent: str | None


@record
class Evaluation:
    """A prompt that a search evaluated. The field `score` contains its loss."""

    prompt: str
    score: float | None
    origin: Origin
    parent: str | None


@record
class Iteration:
    """Losses and prompts of one iteration of a search.

    Attributes
    ----------
    run, iteration
        Numbers of the search and of the iteration, counted from 0.
    best, median
        Lowest and median loss in the iteration.
    best_so_far
        Lowest loss in this and all earlier iterations.
    prompts
        Prompts evaluated in the iteration.
    """

    run: int
    iteration: int
    best: float | None
    median: float | None
    best_so_far: float | None
    prompts: tuple[Evaluation, ...] = ()


@record
class RandomSearch:
    """Results of random searches, which have the same budget as mining.

    Attributes
    ----------
    best, history
        Best prompts and iterations of the random searches, as in `MineTheGap`.
    difference
        Mean held-out loss of the best mined prompts minus the mean held-out loss of the best random
        prompts.
    """

    best: tuple[BestPrompt, ...]
    history: tuple[Iteration, ...]
    difference: E


@record
class WordEffect:
    """Change that a word causes in a share, averaged over evaluated prompts that contain the word.

    Attributes
    ----------
    word, axis, value
        Word, and the value (with its axis) whose share changes most clearly with the word.
    prompts, images
        Number of prompts that contain the word, and number of their labeled images.
    change
        Share of the value in the images of these prompts, minus its share if the word were removed
        from the prompts. Both shares are predictions of a statistical model fitted to the words of
        all prompts.
    """

    word: str
    axis: str
    value: str
    prompts: int
    images: int
    change: E


@record
class MissedTerms:
    """Words and categories of things that images omit, most frequent first.

    Attributes
    ----------
    prompts
        Number of prompts whose images omit something.
    terms, categories
        Words and categories of things, each with the number of prompts whose images omit it.
    """

    prompts: int
    terms: tuple[tuple[str, int], ...]
    categories: tuple[tuple[str, int], ...]


@record
class MineTheGap:
    """Results of all searches of a run.

    Searches minimize a loss. If the objective is skew, the loss is the skew multiplied by -1.

    Attributes
    ----------
    objective
        Objective of the searches.
    best, history
        Best prompts and iterations of all searches that mutate prompts.
    random
        Results of random searches; None if there are no random searches.
    missed
        Words and categories of things that images omit; None if images omit nothing.
    shares_over_prompts
        Shares in the held-out images of all best prompts together; empty unless the objective is
        skew.
    words
        Effects of words that occur in at least two prompts, clearest change first; empty unless the
        objective is skew.
    """

    objective: str
    best: tuple[BestPrompt, ...]
    history: tuple[Iteration, ...]
    random: RandomSearch | None
    missed: MissedTerms | None
    shares_over_prompts: tuple[SharesOverPrompts, ...] = ()
    words: tuple[WordEffect, ...] = ()

    @property
    def evaluated(self) -> int:
        """Number of prompts that the searches evaluated."""
        return sum(len(iteration.prompts) for iteration in self.history)


def ranked(best: Sequence[BestPrompt], is_skew: bool) -> list[BestPrompt]:
    """Return the best prompts without duplicates, in order of increasing held-out loss.

    Prompts without a score come last.

    Parameters
    ----------
    best
        The prompts.
    is_skew
        True if the objective is skew.
    """
    first: dict[str, BestPrompt] = {}
    for prompt in sorted(best, key=lambda prompt: loss_of(prompt.held_out_score, is_skew)):
        first.setdefault(prompt.prompt, prompt)
    return list(first.values())


def loss_of(score: Estimate | Missing, is_skew: bool) -> float:
    """Return the loss of a held-out score; infinity if the score is missing."""
    if isinstance(score, Missing):
        return float("inf")
    if is_skew:
        return -(score.corrected or 0.0)
    return score.value


@record
class MineFindings(Head):
    """Content of results.json."""

    plan: MinePlan
    minethegap: MineTheGap


@dataclass(frozen=True)
class MiningResult(Result[MinePlan, MineFindings]):
    """A finished run of `askew mine`."""

    @property
    def prompts(self) -> list[str]:
        """Best prompts without duplicates, in order of increasing held-out loss."""
        best = ranked(self.findings.minethegap.best, self.plan.objective == SKEW)
        return [prompt.prompt for prompt in best]

    def score(self, prompt: str | None = None) -> Estimate | Missing:
        """Return the held-out score of a prompt.

        Parameters
        ----------
        prompt
            One of the best prompts; by default, the first.

        Raises
        ------
        UnknownName
            If the prompt is not one of the best prompts.
        """
        scores = {best.prompt: best.held_out_score for best in self.findings.minethegap.best}
        name = prompt or self.prompts[0]
        UnknownName.unless_known("prompt of this search", name, scores)
        return scores[name]

    def difference(self) -> Estimate | Missing:
        """Return the mean held-out loss of mined prompts minus the mean loss of random prompts.

        A value below 0 means that mining found better prompts than random search. The result is
        missing if there is no random search.
        """
        random = self.findings.minethegap.random
        if random is None:
            return Missing("not_asked", "there is no random search")
        return random.difference


def family(at: Address) -> Address | None:
    """Return the family in which an estimate's p-value is corrected; None if it has no p-value."""
    name = pattern(at)
    held_out = ("best", "held_out_score")
    return name if name in (held_out, ("random", *held_out)) else None
