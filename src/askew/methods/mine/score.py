"""MineTheGap: prompts that a model is most one-sided on, and whether a search finds more of them than chance.

A search (section 3) evaluates prompts by the bias score (section 4.1) on a model's pictures and a writer's variations.
The best of it are scored again on pictures of fresh seeds, since a search picks lucky ones.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files

import numpy as np

from askew.findings import Head, with_q
from askew.methods.mine.findings import (
    BestPrompt,
    Evaluation,
    Iteration,
    MineFindings,
    MineTheGap,
    MissedTerms,
    RandomSearch,
    family,
)
from askew.methods.mine.gather import Best, Found, MineGathered, Shown, loss_of
from askew.methods.mine.lean import LeanReading, variations
from askew.methods.mine.objectives import Alignment
from askew.methods.mine.plan import MinePlan
from askew.parts.scoring import Scoring, or_missing
from askew.prompts.evolution import Candidate, content_words
from askew.stats.gap import null_scores, worst
from askew.stats.intervals import percentile_interval
from askew.stats.means import search_difference
from askew.types import Missing, Picture

OVER_PROMPTS = "t over prompts"
TERMS = 20
"""Words that are listed as missed."""


def score(plan: MinePlan, gathered: MineGathered, head: Head) -> MineFindings:
    """The best prompts of every search, its history, and the random search beside it.

    `fresh_score` is what a prompt is worth: the score that it was picked by is the luckiest of many. So all that is
    shown and asked of the best prompts is of the pictures of fresh seeds.
    """
    found, scoring = gathered.found, Scoring(plan.vqa, plan.seed, plan.draws, plan.level)
    best = tuple(best_prompt(one, k, scoring) for k, search in enumerate(found.mined) for one in search.best)
    section = MineTheGap(
        plan.objective,
        best,
        tuple(entry for k, search in enumerate(found.mined) for entry in history(search.evaluated, k)),
        _random(found, scoring) if found.random else None,
        missed_terms(best),
    )
    return head.into(MineFindings, minethegap=with_q(section, family))


def best_prompt(one: Best, run: int, scoring: Scoring) -> BestPrompt:
    """One of the best prompts mined."""
    first, fresh, shown = one.first, one.fresh, one.shown
    if isinstance(first, Alignment) and isinstance(fresh, Alignment):
        first = replace(first, chance=fresh.chance)  # pictures of the same variations
    score, again = (reading if isinstance(reading, Missing) else reading.estimate(scoring)
                    for reading in (first, fresh))  # fmt: skip
    found = BestPrompt(run, one.found.text, score, again, one.found.iteration, one.found.parent)
    if shown is None:
        return found
    if isinstance(fresh, LeanReading):
        found = leaning(found, fresh, scoring)
    if isinstance(fresh, Alignment):
        found = explained(found, fresh, shown, scoring)
    made = {text: one.id for text, one in shown.variations.items() if isinstance(one, Picture)}
    return replace(found, missed_pictures=tuple(map(made.get, found.missed_visual_concepts)))


def leaning(one: BestPrompt, fresh: LeanReading, scoring: Scoring) -> BestPrompt:
    """With the shares of fresh pictures, and the variations whose values none shows."""
    seen = fresh.shares(scoring)
    if seen is None:
        return one
    forms = variations(one.prompt, [axis for axis in fresh.axes if axis.name == seen.axis])
    texts = {} if isinstance(forms, Missing) else forms[seen.axis]
    missed = tuple(texts[value] for value, count in seen.counts.items() if not count)
    return replace(one, shares=seen, missed_visual_concepts=missed, is_read=True, variations=tuple(texts.values()))


def explained(one: BestPrompt, fresh: Alignment, shown: Shown, scoring: Scoring) -> BestPrompt:
    """With the variations that are missed, the pictures that fit none, and what chance gives."""
    missed = [fresh.variations[k] for k in worst(fresh.similarity, "variations", fresh.quantile)]
    if shown.shows:
        left_out = (text for text in fresh.variations if text in shown.shows and not shown.shows[text][0])
        missed = sorted(left_out, key=lambda text: -shown.shows[text][1])
    usual, null_range = np.inf, None
    if fresh.chance:
        similarity, rng = fresh.chance.similarity, scoring.rng("minethegap null", fresh.variations[0])
        usual = np.quantile(similarity.max(axis=0), fresh.quantile, method="lower")
        scores = null_scores(similarity, len(fresh.pictures), fresh.quantile, scoring.draws, rng)
        null_range = percentile_interval(scores, scoring.level)
    unaligned = [k for k in worst(fresh.similarity, "pictures", fresh.quantile) if fresh.similarity[:, k].max() < usual]
    return replace(
        one, missed_visual_concepts=tuple(missed), is_read=bool(shown.shows), variations=fresh.variations,
        least_aligned_pictures=tuple(fresh.pictures[k].id for k in unaligned), null_range=null_range,
    )  # fmt: skip


def missed_terms(best: Sequence[BestPrompt]) -> MissedTerms | None:
    """What the missed concepts of all prompts have in common (appendix C.4); None where nothing is missed.

    A prompt counts once for a word that any of its missed concepts holds and the prompt itself does not, and once for
    each kind of thing that such words tell.
    """
    found = [
        {word for text in one.missed_visual_concepts for word in content_words(text)} - {*content_words(one.prompt)}
        for one in {one.prompt: one for one in best if one.missed_visual_concepts}.values()
    ]
    if not found:
        return None
    known = tomllib.loads((files("askew") / "data" / "bias_categories.toml").read_text(encoding="utf-8"))
    words = Counter(word for own in found for word in own)
    kinds = Counter(name for own in found for name, terms in known.items() if not own.isdisjoint(terms))
    terms, categories = (tuple(sorted(of.items(), key=lambda item: (-item[1], item[0]))) for of in (words, kinds))
    return MissedTerms(len(found), terms[:TERMS], categories)


def history(evaluated: Sequence[Candidate], run: int) -> Iterator[Iteration]:
    """Iteration by iteration: the best loss so far, the best and the median of the iteration, every prompt."""
    record: float | None = None
    for number in sorted({one.iteration for one in evaluated}):
        population = [one for one in evaluated if one.iteration == number]
        losses = [one.loss for one in population if one.loss is not None]
        record = min([*losses, *([record] if record is not None else [])], default=None)
        prompts = tuple(Evaluation(one.text, one.loss, one.origin, one.parent) for one in population)
        median = float(np.median(losses)) if losses else None
        yield Iteration(run, number, min(losses, default=None), median, record, prompts)


def _random(found: Found, scoring: Scoring) -> RandomSearch:
    """The random search on the same budget, and by how much mining finds lower losses, on fresh seeds."""
    best = tuple(best_prompt(one, k, scoring) for k, search in enumerate(found.random) for one in search.best)
    course = tuple(
        replace(entry, prompts=()) for k, search in enumerate(found.random) for entry in history(search.evaluated, k)
    )
    random, mined = (
        [[loss for one in search.best if not isinstance(loss := loss_of(one.fresh), Missing)] for search in searches]
        for searches in (found.random, found.mined)
    )
    return RandomSearch(best, course, or_missing(search_difference, random, mined, scoring.level, reason="error"))
