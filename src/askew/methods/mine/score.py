"""MineTheGap: prompts that a model is most one-sided on, and whether a search finds more of them
than chance.

A search (section 3) evaluates prompts by the bias score (section 4.1) on a model's pictures and a
writer's variations. The best of it are scored again on pictures of fresh seeds, since a search
picks lucky ones.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files

import numpy as np

from askew.findings import Head, with_q
from askew.methods.mine import findings as f
from askew.methods.mine.gather import BestCandidate, MineGathered, PromptEvidence, Search
from askew.methods.mine.objectives import Alignment, ObjectiveReading
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.skew import SkewReading, variations
from askew.parts.scoring import Scoring, or_missing
from askew.prompts.evolution import Candidate, content_words
from askew.stats.gap import null_scores, worst
from askew.stats.intervals import percentile_interval
from askew.stats.means import search_difference
from askew.types import Estimate, Missing, Picture

TERMS = 20


def score(plan: MinePlan, gathered: MineGathered, head: Head) -> f.MineFindings:
    """The best prompts of every search, by their pictures of fresh seeds, its history, and the
    random search beside.
    """
    scoring = Scoring(plan.vqa, plan.seed, plan.bootstrap_samples, plan.confidence)

    def told(
        searches: Sequence[Search],
    ) -> tuple[tuple[f.BestPrompt, ...], tuple[f.Iteration, ...]]:
        best = (
            best_prompt(one, k, scoring) for k, search in enumerate(searches) for one in search.best
        )
        return tuple(best), tuple(
            one for k, search in enumerate(searches) for one in history(search.evaluated, k)
        )

    def losses(searches: Sequence[Search]) -> list[list[float]]:
        fresh = (
            [one.fresh for one in search.best if not isinstance(one.fresh, Missing)]
            for search in searches
        )
        return [
            [loss for one in own if not isinstance(loss := one.loss(), Missing)] for own in fresh
        ]

    mined = gathered.searches.mined
    drawn = gathered.searches.random
    best, course = told(mined)
    random = None
    if drawn:
        others, way = told(drawn)
        difference = or_missing(
            search_difference, losses(drawn), losses(mined), plan.confidence, reason="error"
        )
        random = f.RandomSearch(others, tuple(replace(one, prompts=()) for one in way), difference)
    section = f.MineTheGap(plan.objective, best, course, random, missed_terms(best))
    return head.into(f.MineFindings, minethegap=with_q(section, f.family))


def best_prompt(one: BestCandidate, run: int, scoring: Scoring) -> f.BestPrompt:
    """One of the best prompts mined."""
    found = one.candidate
    first = one.first
    fresh = one.fresh
    if isinstance(first, Alignment) and isinstance(fresh, Alignment):
        first = replace(first, chance=fresh.chance)  # pictures of the same variations
    return explained(found.text, fresh, one.shown, scoring).into(
        f.BestPrompt,
        run=run,
        score=estimate(first, scoring),
        held_out_score=estimate(fresh, scoring),
        iteration=found.iteration,
        parent=found.parent,
    )


def estimate(reading: ObjectiveReading | Missing, scoring: Scoring) -> Estimate | Missing:
    """The score of what was read, if anything was."""
    return reading if isinstance(reading, Missing) else reading.estimate(scoring)


def explained(
    prompt: str, reading: ObjectiveReading | Missing, shown: PromptEvidence | None, scoring: Scoring
) -> f.ExplainedPrompt:
    """What the pictures of a prompt show of the axis on which it leans, or leave out of its
    variations.
    """
    told = f.ExplainedPrompt(prompt, None, (), (), False, (), (), None)
    if shown is None or isinstance(reading, Missing):
        return told
    if isinstance(reading, SkewReading) and (seen := reading.shares(scoring)):
        forms = variations(prompt, [axis for axis in reading.axes if axis.name == seen.axis])
        texts = {} if isinstance(forms, Missing) else forms[seen.axis]
        missed = tuple(texts[value] for value, count in seen.counts.items() if not count)
        told = replace(
            told,
            shares=seen,
            variations=tuple(texts.values()),
            missed_visual_concepts=missed,
            is_read=True,
        )
    if isinstance(reading, Alignment):
        said = reading.variations
        quantile = reading.quantile
        missed = tuple(said[k] for k in worst(reading.similarity, "variations", quantile))
        if shown.shows:
            left_out = (text for text in said if text in shown.shows and not shown.shows[text][0])
            missed = tuple(sorted(left_out, key=lambda text: -shown.shows[text][1]))
        usual = np.inf
        null_range = None
        if reading.chance:
            similarity = reading.chance.similarity
            rng = scoring.rng("minethegap null", said[0])
            usual = np.quantile(similarity.max(axis=0), quantile, method="lower")
            scores = null_scores(similarity, len(reading.pictures), quantile, scoring.draws, rng)
            null_range = percentile_interval(scores, scoring.level)
        fitting = reading.similarity.max(axis=0)
        unaligned = tuple(
            reading.pictures[k].id
            for k in worst(reading.similarity, "pictures", quantile)
            if fitting[k] < usual
        )
        told = replace(
            told,
            variations=said,
            missed_visual_concepts=missed,
            is_read=bool(shown.shows),
            least_aligned_pictures=unaligned,
            null_range=null_range,
        )
    made = {text: one.id for text, one in shown.variations.items() if isinstance(one, Picture)}
    return replace(told, missed_pictures=tuple(map(made.get, told.missed_visual_concepts)))


def missed_terms(best: Sequence[f.BestPrompt]) -> f.MissedTerms | None:
    """Words of missed concepts that their prompt does not hold, counted once per prompt, and the
    kinds of things that they tell (appendix C.4); None where nothing is missed.
    """
    found = [
        {word for text in one.missed_visual_concepts for word in content_words(text)}
        - {*content_words(one.prompt)}
        for one in {one.prompt: one for one in best if one.missed_visual_concepts}.values()
    ]
    if not found:
        return None
    known = tomllib.loads(
        (files("askew") / "data" / "bias_categories.toml").read_text(encoding="utf-8")
    )
    words = Counter(word for own in found for word in own)
    kinds = Counter(
        name for own in found for name, terms in known.items() if not own.isdisjoint(terms)
    )
    terms, categories = (
        tuple(sorted(of.items(), key=lambda item: (-item[1], item[0]))) for of in (words, kinds)
    )
    return f.MissedTerms(len(found), terms[:TERMS], categories)


def history(evaluated: Sequence[Candidate], run: int) -> Iterator[f.Iteration]:
    """Iteration by iteration: the best loss so far, the best and the median of the iteration, every
    prompt.
    """
    known: list[float] = []
    for number in sorted({one.iteration for one in evaluated}):
        population = [one for one in evaluated if one.iteration == number]
        losses = [one.loss for one in population if one.loss is not None]
        known += losses
        prompts = tuple(
            f.Evaluation(one.text, one.loss, one.origin, one.parent) for one in population
        )
        lowest = min(losses, default=None)
        median = float(np.median(losses)) if losses else None
        yield f.Iteration(run, number, lowest, median, min(known, default=None), prompts)
