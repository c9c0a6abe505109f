"""What a search found, in plain sentences that go no further than its numbers, and how to read its page."""

from __future__ import annotations

import numpy as np

from askew.methods.mine.findings import BestPrompt, MineFindings, MineTheGap
from askew.methods.mine.plan import BIAS, MinePlan
from askew.pages.blocks import Block, Terms, Text
from askew.pages.words import (
    beyond_chance,
    capital,
    listing,
    measured,
    number,
    plural,
    probability,
    quote,
    shorten,
)
from askew.types import Estimate, Missing

PERCEIVED = (
    "Attributes of people are read from how they look in pictures: perceived, never known. The score is no statement "
    "on any law or standard."
)


def score(value: float | None) -> str:
    """A loss with three digits: scores of prompts differ in the second and third."""
    return number(value, 3)


def answer(found: MineFindings) -> str:
    """The answer in a sentence or two."""
    section, model = found.minethegap, found.model.name
    tried = plural(section.evaluated, "prompt")
    ordered = [one for one in section.ranked() if isinstance(one.fresh_score, Estimate)]
    if not ordered:
        return f"None of {tried} could be scored on {model}."
    first = ordered[0]
    if section.objective != BIAS:
        return (
            f"Of {tried}, the pictures of {quote(first.prompt)} by {model} come nearest to {section.objective}: a loss "
            f"of {measured(first.fresh_score, 'range')} on fresh seeds."
        )
    leaning = [one for one in ordered if beyond_chance(one.fresh_score)]
    if not leaning:
        return (
            f"Of {tried}, {model} is more one-sided on none than chance explains, by the score on fresh seeds (the "
            f"lowest: {quote(first.prompt)})."
        )
    missed = [quote(text, 60) for text in leaning[0].missed_visual_concepts[:2]]
    left_out = f" Its pictures leave out {listing(missed)}." if missed else ""
    of_all = (
        f" On fresh seeds, {len(leaning)} of the {len(ordered)} prompts found are more one-sided than chance explains."
    )
    lead = f"Of {tried}, {model} is most one-sided on {quote(leaning[0].prompt)}.{left_out}"
    return lead + (of_all if len(ordered) > 1 else "")


def finding(one: BestPrompt) -> str:
    """One prompt: its score on fresh seeds against chance, and what the search believed."""
    fresh, when_found = one.fresh_score, score(one.score.value if isinstance(one.score, Estimate) else None)
    if isinstance(fresh, Missing):
        return "It could not be scored on fresh seeds."
    scores = f"on fresh seeds it scores {measured(fresh, 'range')}"
    if fresh.null is None:
        return f"{capital(scores)}; when it was found, {when_found}."
    verdict = "One-sided" if beyond_chance(fresh) else "No more one-sided than chance explains"
    return (
        f"{verdict}: {scores}, pictures of the variations would score {score(fresh.null)}, "
        f"{probability(fresh.q, 'q')}. When it was found it scored {when_found}."
    )


def against_random(found: MineFindings) -> str:
    """Whether the search found better prompts than a random one of the same size."""
    section, plan = found.minethegap, found.plan
    difference = section.random.difference if section.random else None
    if not isinstance(difference, Estimate):
        return "The search could not be compared with a random one."
    better, worse = ("more biased", "less biased") if section.objective == BIAS else ("better", "less fitting")
    low, high = difference.low, difference.high
    settled = low is not None and high is not None and (high < 0 or low > 0)
    verdict = "finds" if settled else "does not show to find"
    found_better = f"{verdict} {better} prompts than random search on the same budget"
    said = f"finds {worse} prompts than random search" if settled and difference.value > 0 else found_better
    pairs = plural(plan.runs, "paired run") if plan.runs > 1 else "one run"
    return (
        f"Mining {said}: the difference of their best {plan.top} prompts on fresh seeds is "
        f"{measured(difference, 'range')} over {pairs}."
    )


def against_captions(section: MineTheGap) -> str:
    """How the prompts found compare with a given set; empty where none was given."""
    scores = [one.score for one in section.captions if not isinstance(one.score, Missing)]
    fresh = [one.fresh_score.value for one in section.best if isinstance(one.fresh_score, Estimate)]
    if not scores or not fresh:
        return ""
    given, mined = float(np.median(scores)), float(np.median(fresh))
    below = sum(value < mined for value in scores)
    return (
        f"The median score of {plural(len(scores), 'given prompt')} is {score(given)}, that of the prompts found "
        f"{score(mined)} on fresh seeds; {below} of the given ones score lower than that."
    )


def openbias(section: MineTheGap) -> str:
    """What closed questions about the same pictures find, and where the two methods part."""
    asked = list(dict.fromkeys(one.prompt for one in section.openbias))
    by_questions = {one.prompt for one in section.openbias if beyond_chance(one.score)}
    by_gap = {one.prompt for one in section.best if beyond_chance(one.fresh_score)} & set(asked)
    parts = [
        f"Closed questions find a bias that chance does not explain in {len(by_questions)} of the "
        f"{plural(len(asked), 'prompt')}, the score above in {len(by_gap)}"
    ]
    for found, other, name in ((by_gap, by_questions, "score finds"), (by_questions, by_gap, "questions find")):
        alone = [quote(prompt, 60) for prompt in asked if prompt in found - other]
        more = [f"{len(alone) - 2} more"] if len(alone) > 2 else []
        parts += [f"only the {name} {listing([*alone[:2], *more])}"] if alone else []
    return "; ".join(parts) + "."


def reading(plan: MinePlan) -> tuple[Block, ...]:
    """What the words of the page mean, and what a score does not."""
    bias = plan.objective == BIAS
    unit = "; similarities are (1 + cosine) / 2 here" if plan.is_unit else ""
    scored = (
        ("Score", "How well the pictures of a prompt cover what its variations ask for: the similarity that all but a "
         "quarter of the variations find among the pictures, and all but a quarter of the pictures among the "
         "variations, by the mean similarity (MineTheGap, Eq. 1). Lower is more one-sided. It depends on the number of "
         f"pictures and variations, and on the embedder{unit}."),
        ("Chance", "The mean score of as many pictures drawn at random from pictures made of the variations "
         "themselves: what the model would score if it showed what the variations ask for. q below 0.05: such pictures "
         "rarely score as low."),
    ) if bias else (
        ("Loss", f"What was searched for: {shorten(plan.objective, 80)}. Lower is nearer."),
    )  # fmt: skip
    anew = "pictures and variations" if bias else "pictures"
    terms = (
        *scored,
        ("Fresh seeds", "The score that a prompt was found by is the luckiest of many, so the best prompts are scored "
         "once more on new pictures. This second score is the one to believe."),
        ("Interval", f"Where the score would lie on average, if {anew} were made anew, as many as here."),
    )  # fmt: skip
    return Terms(terms), Text("What a score does not mean:", items=(
        "Variations are a writer's idea of what a prompt leaves open. What the writer does not think of cannot be "
        "missed.",
        "A prompt can score low because the embedder does not see what its variations differ in. Look at the pictures.",
        PERCEIVED,
    ))  # fmt: skip
