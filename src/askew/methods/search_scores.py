"""The section `minethegap` of results.json, and the picture sets behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askew.errors import NotEnoughData
from askew.methods.minethegap import BiasObjective, Entry, Search
from askew.methods.mining_comparison import mean_score
from askew.methods.missed_terms import missed_terms
from askew.methods.objectives import Objective
from askew.methods.significance import add_q
from askew.parts.survey.observed import picture_set
from askew.plans.mining import MinePlan
from askew.stats.searches import search_difference
from askew.types import Estimate, Missing, Picture

NOT_SCORED = Missing("error", "the prompt could not be scored")
Questions = Callable[[Mapping[str, Sequence[Picture | Missing]]], list[Entry]]


def search_scores(
    plan: MinePlan,
    mined: Sequence[Search],
    random: Sequence[Search],
    objective: Objective,
    questions: Questions | None = None,
) -> dict[str, Any]:
    """The best prompts of every search, its history, and the random search beside it.

    `fresh_score` is what a prompt is worth: the score that it was picked by is the luckiest of many. So all that is
    shown and asked of the best prompts, OpenBias's `questions` too, is of the pictures of fresh seeds.
    """
    best, fresh = [entry for k, search in enumerate(mined) for entry in search.entries(k)], mined[0].fresh
    add_q(best, "fresh_score")
    captions = _captions(plan, objective)
    section = {
        "objective": objective.name,
        "best": best,
        "history": [entry for k, search in enumerate(mined) for entry in search.history(k)],
        "random": _random(random, mined, plan.level) if random else None,
        "captions": captions,
        "groups": _groups(mined, captions, plan.level),
        "missed": missed_terms(best),
        "openbias": questions(_pictures(best, objective, fresh)) if questions else [],
    }
    return {"sets": _sets(best, objective, fresh), "minethegap": section}


def _random(random: Sequence[Search], mined: Sequence[Search], level: float) -> Entry:
    """The random search on the same budget, and by how much mining finds lower losses, on fresh seeds."""
    try:
        difference: Estimate | Missing = search_difference(
            [search.measured for search in random], [search.measured for search in mined], level
        )
    except NotEnoughData as error:
        difference = Missing("error", str(error))
    return {
        "best": [
            {"run": k, "prompt": one.candidate.text, "score": one.loss, "fresh_score": fresh}
            for k, search in enumerate(random)
            for one, fresh in zip(search.best, search.fresh_losses, strict=True)
        ],
        "history": [
            {name: entry[name] for name in ("run", "iteration", "best", "median", "best_so_far")}
            for k, search in enumerate(random)
            for entry in search.history(k)
        ],
        "difference": difference,
    }


def _captions(plan: MinePlan, objective: Objective) -> list[Entry]:
    """The prompts of a baseline set with their scores."""
    return [{"prompt": text, "score": objective.loss(text, plan.seed)} for text in plan.captions]


def _groups(mined: Sequence[Search], captions: Sequence[Entry], level: float) -> list[Entry]:
    """Losses of the given prompts, of the random prompts that the searches began with, and of the best (figure S2).

    None of them is a score that a prompt was picked by, so all three are free of luck.
    """
    evaluated = [one for search in mined for one in search.evaluated]
    first = {one.candidate.text: one.loss for one in evaluated if one.candidate.iteration == 0}
    losses: dict[str, list[float | Missing]] = {
        "given": [entry["score"] for entry in captions],
        "random": [NOT_SCORED if loss is None else loss for loss in first.values()],
        "mined": [loss for search in mined for loss in search.fresh_losses],
    }
    return [
        {
            "group": name,
            "mean": mean_score(some, level),
            "scores": [None if isinstance(loss, Missing) else loss for loss in some],
        }
        for name, some in losses.items()
        if some
    ]


def _pictures(best: Sequence[Entry], objective: Objective, seed: int) -> dict[str, Sequence[Picture | Missing]]:
    return {entry["prompt"]: objective.pictures(entry["prompt"], seed) for entry in best}


def _sets(best: Sequence[Entry], objective: Objective, seed: int) -> list[Entry]:
    """The pictures of the best prompts, each prompt once."""
    found = []
    for text, pictures in _pictures(best, objective, seed).items():
        found.append(picture_set(text, None, None, text, pictures))
        if isinstance(objective, BiasObjective):
            variations = list(objective.variations(text))
            made = objective.one_of_each(variations)
            found += [picture_set(text, "variation", v, v, [one]) for v, one in zip(variations, made, strict=True)]
    return found
