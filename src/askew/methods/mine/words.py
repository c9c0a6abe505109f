"""What a search found, in plain sentences that go no further than its numbers, and how to read its page."""

from __future__ import annotations

from dataclasses import replace

from askew.methods.mine.findings import BestPrompt, MineFindings, ranked
from askew.methods.mine.plan import COLOR, LEAN, MinePlan, ScoredPlan
from askew.pages import skeleton, words
from askew.pages.blocks import Section
from askew.pages.phrases import say
from askew.pages.words import beyond_chance, capital, listing, measured, number, perceived, plural, probability, quote
from askew.parts.survey.words import seen
from askew.types import Estimate, Missing


def score(value: float | None) -> str:
    """A loss with three digits: scores of prompts differ in the second and third."""
    return number(value, 3)


def answer(found: MineFindings) -> str:
    """The answer in a sentence or two."""
    section, plan, model = found.minethegap, found.plan, found.model.name
    tried = plural(section.evaluated, "prompt")
    best = ranked(section.best, plan.objective == LEAN)
    ordered = [one for one in best if isinstance(one.fresh_score, Estimate)]
    if not ordered:
        return f"None of {tried} could be scored on {model}."
    first, leaning = ordered[0], [one for one in ordered if beyond_chance(one.fresh_score)]
    of_all = f"{len(leaning)} of the {plural(len(ordered), 'prompt')} found" if len(ordered) > 1 else ""
    if plan.objective == LEAN:
        said = say("mine_leans" if leaning else "mine_leans_none", tried=tried, model=model,
                   prompt=quote(first.prompt), seen=_seen(first))  # fmt: skip
        return f"{said} {of_all} lean further than chance explains." if leaning and of_all else said
    if not plan.is_bias:
        nearest = "come nearest to" if plan.objective.startswith(COLOR) else "have the lowest value of"
        return (
            f"Of {tried}, the pictures of {quote(first.prompt)} by {model} {nearest} {section.objective}: a loss "
            f"of {measured(first.fresh_score, 'range')} on fresh seeds."
        )
    if not leaning:
        return (
            f"Of {tried}, {model} is more one-sided on none than chance explains, by the score on fresh seeds (the "
            f"lowest: {quote(first.prompt)})."
        )
    missed = [quote(text, 60) for text in leaning[0].missed_visual_concepts[: 2 * leaning[0].is_read]]
    left_out = f" Its pictures leave out {listing(missed)}." if missed else ""
    more = f" On fresh seeds, {of_all} are more one-sided than chance explains." if of_all else ""
    return f"Of {tried}, {model} is most one-sided on {quote(leaning[0].prompt)}.{left_out}{more}"


def _seen(one: BestPrompt) -> str:
    return seen(one.shares) if one.shares else "nothing could be read"


def finding(one: BestPrompt) -> str:
    """One prompt: its score on fresh seeds against chance, and what the search believed."""
    fresh, when_found = one.fresh_score, score(one.score.value if isinstance(one.score, Estimate) else None)
    if isinstance(fresh, Missing):
        return "It could not be scored on fresh seeds."
    scores = f"on fresh seeds it scores {measured(fresh, 'range')}"
    if fresh.null is None:
        return f"{capital(scores)}; when it was found, {when_found}."
    beyond = beyond_chance(fresh)
    if one.shares:
        verdict = "further from equal shares than chance explains" if beyond else "no lean shown"
        return (
            f"{capital(_seen(one))}, on fresh pictures, {verdict}: distance {measured(fresh, 'range')}, in the mean "
            f"of a fair model {score(fresh.null)}, {probability(fresh.q, 'q')}."
        )
    verdict = "One-sided" if beyond else "No more one-sided than chance explains"
    return (
        f"{verdict}: {scores}, pictures of the variations would score {score(fresh.null)}, "
        f"{probability(fresh.q, 'q')}. When it was found it scored {when_found}."
    )


def lean_of(loss: Estimate) -> Estimate:
    """A difference or a mean of losses as one of leans, which are losses turned around."""
    low, high, debiased = (None if one is None else -one for one in (loss.high, loss.low, loss.debiased))
    return replace(loss, value=-loss.value, low=low, high=high, debiased=debiased)


def against_random(found: MineFindings) -> str:
    """Whether the search found better prompts than a random one of the same size."""
    section, plan = found.minethegap, found.plan
    difference = section.random.difference if section.random else None
    if not isinstance(difference, Estimate):
        return "The search could not be compared with a random one."
    leans = plan.objective == LEAN
    better, worse = (
        ("more biased", "less biased") if plan.is_bias else ("further leaning", "less leaning") if leans
        else ("better", "less fitting")
    )  # fmt: skip
    low, high = difference.low, difference.high
    settled = low is not None and high is not None and (high < 0 or low > 0)
    said = say("mine_finds" if settled else "mine_finds_none",
               which=worse if settled and difference.value > 0 else better)  # fmt: skip
    pairs = plural(plan.runs, "paired run") if plan.runs > 1 else "one run"
    what = " in lean, which is 1 where all pictures show one value," if leans else ""
    return (
        f"{said}: the difference{what} of their best {plan.top} prompts on fresh seeds is "
        f"{measured(lean_of(difference) if leans else difference, 'range')} over {pairs}."
    )


def terms(plan: ScoredPlan) -> list[skeleton.Named]:
    """What a score means, and what chance gives."""
    if plan.objective == LEAN:
        axes = listing([perceived(axis) for axis in plan.axes])
        return [
            ("Lean", f"How far the shares of {axes} in the pictures are from equal ones: their distance less the mean "
             "distance of as many pictures of a fair model, over the most that this could be. 0 is no lean, 1 is one "
             "value in all pictures. An axis that a prompt states counts 0; of several axes the furthest counts."),
            ("Chance", "The mean distance of as many pictures drawn from equal shares. q below 0.05: a fair model "
             "would rarely be so far from them, however many prompts there are."),
        ]  # fmt: skip
    if not plan.is_bias:
        return [("Loss", f"What was searched for: {words.shorten(plan.objective, 80)}. Lower is nearer.")]
    unit = "; similarities are (1 + cosine) / 2 here" if plan.is_unit else ""
    return [
        ("Score", "How well the pictures of a prompt cover what its variations ask for: the similarity that all "
         "but a quarter of the variations find among the pictures, and all but a quarter of the pictures among the "
         "variations, by the mean similarity (MineTheGap, Eq. 1). Lower is more one-sided. It depends on the "
         f"number of pictures and variations, and on the embedder{unit}. It asks whether something is shown at "
         "all, not how often, and falls as a prompt says more."),
        ("Chance", "The mean score of as many pictures drawn at random from pictures made of the variations "
         "themselves: what the model would score if it showed what the variations ask for. q below 0.05: such "
         "pictures rarely score as low."),
    ]  # fmt: skip


def reading(plan: MinePlan) -> Section:
    """What the words of the page mean, and what a score does not."""
    if plan.objective == LEAN:
        limits = [
            "A value may be read more often than it is shown, above all where a prompt says unusual things. Look at "
            "the pictures, and audit a prompt before you build on its lean."
        ]
    else:
        limits = [
            "Variations are a writer's idea of what a prompt leaves open. What the writer does not think of cannot be "
            "missed, and the embedder may not see what they differ in. Look at the pictures."
        ]
    if plan.is_bias:
        limits.append(
            "Where the bias is known, no search by this score found prompts that lean further than random ones do. "
            "The ranked random prompts are as good a result."
        )
    fresh = ("Fresh seeds", "The score that a prompt was found by is the luckiest of many, so the best prompts are "
             "scored once more on new pictures. This second score is the one to believe.")  # fmt: skip
    return skeleton.reading((*terms(plan), fresh), limits)
