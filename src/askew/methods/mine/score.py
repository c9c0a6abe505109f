"""MineTheGap: prompts that a model is most one-sided on, and whether a search finds more of them than chance.

A search (section 3) evaluates prompts by the bias score (section 4.1) on a model's pictures and a writer's variations.
The best of it are scored again on pictures of fresh seeds, since a search picks lucky ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import Head, with_q
from askew.methods.mine.explain import explained, missed_terms
from askew.methods.mine.findings import (
    BestPrompt,
    Caption,
    Evaluation,
    Group,
    Iteration,
    Loss,
    MineFindings,
    MineTheGap,
    OpenBiasScore,
    RandomBest,
    RandomSearch,
    family,
)
from askew.methods.mine.gather import VQA_ASKED, Best, Found, MineGathered, Questioned, Search
from askew.methods.mine.objectives import Alignment, Reading
from askew.methods.mine.plan import MinePlan
from askew.parts.scoring import Scoring
from askew.prompts.evolution import Evaluated
from askew.stats.means import search_difference, student_mean
from askew.stats.shares import entropy_estimate
from askew.types import Estimate, Missing

OVER_PROMPTS = "t over prompts"
NOT_SCORED = Missing("error", "the prompt could not be scored")


def score(plan: MinePlan, gathered: MineGathered, head: Head) -> MineFindings:
    """The best prompts of every search, its history, and the random search beside it.

    `fresh_score` is what a prompt is worth: the score that it was picked by is the luckiest of many. So all that is
    shown and asked of the best prompts, OpenBias's questions too, is of the pictures of fresh seeds.
    """
    found, scoring = gathered.found, Scoring(plan.vqa, plan.seed, plan.draws, plan.level)
    best = tuple(best_prompt(one, k, search, scoring) for k, search in enumerate(found.mined) for one in search.best)
    section = MineTheGap(
        plan.objective,
        best,
        tuple(entry for k, search in enumerate(found.mined) for entry in history(search.evaluated, k)),
        _random(found, plan.level) if found.random else None,
        tuple(Caption(text, loss) for text, loss in found.captions),
        tuple(_groups(found, plan.level)),
        missed_terms(best),
        tuple(entry for one in found.questioned for entry in openbias(one, scoring)),
    )
    return head.into(MineFindings, minethegap=with_q(section, family))


def best_prompt(one: Best, run: int, search: Search, scoring: Scoring) -> BestPrompt:
    """One of the best prompts mined."""
    assert one.shown is not None  # of every prompt mined
    found = BestPrompt(
        run, one.prompt, _estimate(one.shown.first, one.shown.chance, scoring),
        _estimate(one.fresh, one.shown.chance, scoring), one.found.candidate.iteration,
        lineage(search.evaluated, one.found),
    )  # fmt: skip
    return explained(found, one.fresh, one.shown, scoring) if isinstance(one.fresh, Alignment) else found


def lineage(evaluated: Sequence[Evaluated], one: Evaluated) -> tuple[str, ...]:
    """The prompts that one comes from by mutation, the first ancestor first, itself last."""
    by_text = {other.candidate.text: other for other in evaluated}
    line = [one.candidate.text]
    while (parent := by_text[line[0]].candidate.parent) is not None:
        line.insert(0, parent)
    return tuple(line)


def history(evaluated: Sequence[Evaluated], run: int) -> Iterator[Iteration]:
    """Iteration by iteration: the best loss so far, the best and the median of the iteration, every prompt."""
    record: float | None = None
    for number in sorted({one.candidate.iteration for one in evaluated}):
        population = [one for one in evaluated if one.candidate.iteration == number]
        losses = [one.loss for one in population if one.loss is not None]
        record = min([*losses, *([record] if record is not None else [])], default=None)
        prompts = tuple(
            Evaluation(one.candidate.text, one.loss, one.candidate.origin, one.candidate.parent) for one in population
        )
        median = float(np.median(losses)) if losses else None
        yield Iteration(run, number, min(losses, default=None), median, record, prompts)


def mean_score(losses: Sequence[Loss], level: float) -> Estimate | Missing:
    """Mean of the scores of several prompts, with Student's interval over them."""
    known = [loss for loss in losses if not isinstance(loss, Missing)]
    try:
        return student_mean(known, level, OVER_PROMPTS, missing=len(losses) - len(known))
    except NotEnoughData:
        return Missing("error", "no prompt could be scored")


def openbias(one: Questioned, scoring: Scoring) -> Iterator[OpenBiasScore]:
    """OpenBias (D'Incà et al., CVPR 2024) as a baseline: closed questions, asked of the same pictures.

    A question whose answers are far from equally frequent is a bias. Its entropy score has a null and an interval here.
    """
    for axis in one.axes:
        counts = one.seen.counts(VQA_ASKED, axis)
        rng, lost = scoring.rng("openbias", one.prompt, axis.name), len(one.seen.pictures) - sum(counts)
        found: Estimate | Missing
        try:
            found = entropy_estimate(counts, rng=rng, draws=scoring.draws, level=scoring.level, missing=lost)
        except NotEnoughData:
            found = Missing("not_asked", "no picture has an answer")
        yield OpenBiasScore(one.prompt, axis.name, dict(zip(axis.values, counts, strict=True)), found)


def _estimate(reading: Reading | Missing, chance: Alignment | None, scoring: Scoring) -> Estimate | Missing:
    return reading if isinstance(reading, Missing) else reading.estimate(scoring, chance)


def _random(found: Found, level: float) -> RandomSearch:
    """The random search on the same budget, and by how much mining finds lower losses, on fresh seeds."""
    best = tuple(RandomBest(k, one.prompt, one.found.loss, one.fresh_loss) for k, search in enumerate(found.random)
                 for one in search.best)  # fmt: skip
    course = tuple(
        Iteration(entry.run, entry.iteration, entry.best, entry.median, entry.best_so_far)
        for k, search in enumerate(found.random)
        for entry in history(search.evaluated, k)
    )
    difference: Estimate | Missing
    try:
        difference = search_difference([_measured(one) for one in found.random],
                                       [_measured(one) for one in found.mined], level)  # fmt: skip
    except NotEnoughData as error:
        difference = Missing("error", str(error))
    return RandomSearch(best, course, difference)


def _measured(search: Search) -> list[float]:
    """Fresh losses of those of the best that could be scored."""
    return [loss for one in search.best if not isinstance(loss := one.fresh_loss, Missing)]


def _groups(found: Found, level: float) -> Iterator[Group]:
    """Losses of the given prompts, of the random prompts that the searches began with, and of the best (figure S2).

    None of them is a score that a prompt was picked by, so all three are free of luck.
    """
    evaluated = [one for search in found.mined for one in search.evaluated]
    first = {one.candidate.text: one.loss for one in evaluated if one.candidate.iteration == 0}
    given = [loss for _, loss in found.captions]
    random = [NOT_SCORED if loss is None else loss for loss in first.values()]
    mined = [one.fresh_loss for search in found.mined for one in search.best]
    groups: dict[Literal["given", "random", "mined"], list[Loss]] = {"given": given, "random": random, "mined": mined}
    for name, losses in groups.items():
        if losses:
            scores = tuple(None if isinstance(loss, Missing) else loss for loss in losses)
            yield Group(name, mean_score(losses, level), scores)
