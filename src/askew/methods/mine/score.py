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
from numpy.typing import NDArray

from askew.findings import Head, with_q
from askew.methods.mine.findings import (
    BestPrompt,
    Evaluation,
    Iteration,
    MineFindings,
    MineTheGap,
    MissedTerms,
    OpenBiasScore,
    PictureMap,
    Place,
    RandomBest,
    RandomSearch,
    family,
)
from askew.methods.mine.gather import VQA_ASKED, Best, Found, MineGathered, Questioned, Search, Shown
from askew.methods.mine.lean import LeanReading, variations
from askew.methods.mine.objectives import Alignment
from askew.methods.mine.plan import MinePlan
from askew.parts.scoring import Scoring, Vectors, or_missing
from askew.prompts.evolution import Candidate, content_words
from askew.stats.gap import least_aligned, missed_concepts, null_scores
from askew.stats.intervals import percentile_interval
from askew.stats.means import search_difference
from askew.stats.shares import entropy_estimate
from askew.types import Missing, Picture

OVER_PROMPTS = "t over prompts"
TERMS = 20
"""Words that are listed as missed."""


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
        _random(found, scoring) if found.random else None,
        missed_terms(best),
        tuple(entry for one in found.questioned for entry in openbias(one, scoring)),
    )
    return head.into(MineFindings, minethegap=with_q(section, family))


def best_prompt(one: Best, run: int, search: Search, scoring: Scoring) -> BestPrompt:
    """One of the best prompts mined."""
    first = one.first
    if isinstance(first, Alignment) and isinstance(one.fresh, Alignment):
        first = replace(first, chance=one.fresh.chance)  # pictures of the same variations
    score, fresh = (reading if isinstance(reading, Missing) else reading.estimate(scoring)
                    for reading in (first, one.fresh))  # fmt: skip
    line = lineage(search.evaluated, one.found)
    found = BestPrompt(run, one.prompt, score, fresh, one.found.iteration, line)
    if one.shown and isinstance(one.fresh, LeanReading):
        return leaning(found, one.fresh, one.shown, scoring)
    return explained(found, one.fresh, one.shown, scoring) if one.shown and isinstance(one.fresh, Alignment) else found


def leaning(one: BestPrompt, fresh: LeanReading, shown: Shown, scoring: Scoring) -> BestPrompt:
    """With the shares of fresh pictures, and the values of which none is shown; a picture of each value's variation."""
    seen = fresh.shares(scoring)
    if seen is None:
        return one
    forms = variations(one.prompt, [axis for axis in fresh.axes if axis.name == seen.axis])
    texts = {} if isinstance(forms, Missing) else forms[seen.axis]
    pictures = {value: shown.variations[text] for value, text in texts.items()}
    made = {texts[value]: one.id if isinstance(one, Picture) else None for value, one in pictures.items()}
    missed = tuple(texts[value] for value, count in seen.counts.items() if not count)
    return replace(
        one, shares=seen, missed_visual_concepts=missed, missed_pictures=tuple(made[text] for text in missed),
        variations=tuple(made), variation_pictures=tuple(made.values()),
    )  # fmt: skip


def explained(one: BestPrompt, fresh: Alignment, shown: Shown, scoring: Scoring) -> BestPrompt:
    """With the variations that are missed, the pictures that fit none, and a map of both."""
    missed = [fresh.variations[k] for k in missed_concepts(fresh.similarity, fresh.quantile)]
    if shown.shows:
        left_out = (text for text in fresh.variations if text in shown.shows and not shown.shows[text][0])
        missed = sorted(left_out, key=lambda text: -shown.shows[text][1])
    usual = np.inf if fresh.chance is None else np.quantile(
        fresh.chance.similarity.max(axis=0), fresh.quantile, method="lower"
    )  # fmt: skip
    unaligned = [k for k in least_aligned(fresh.similarity, fresh.quantile) if fresh.similarity[:, k].max() < usual]
    made = {text: one.id if isinstance(one, Picture) else None for text, one in shown.variations.items()}
    chance = [(fresh.chance.pictures, fresh.chance.vectors)] if fresh.chance else []
    places, held = in_plane((fresh.pictures, fresh.vectors), *chance)
    null_range = None
    if fresh.chance:
        rng = scoring.rng("minethegap null", fresh.variations[0])
        scores = null_scores(fresh.chance.similarity, len(fresh.pictures), fresh.quantile, scoring.draws, rng)
        null_range = percentile_interval(scores, scoring.level)
    return replace(
        one,
        missed_visual_concepts=tuple(missed),
        missed_pictures=tuple(made[text] for text in missed),
        least_aligned_pictures=tuple(fresh.pictures[k].id for k in unaligned),
        variations=fresh.variations,
        variation_pictures=tuple(made[text] for text in fresh.variations),
        null_range=null_range,
        map=PictureMap(places[0], places[1] if fresh.chance else (), held),
    )


def in_plane(*sets: tuple[Sequence[Picture], Vectors]) -> tuple[list[tuple[Place, ...]], tuple[float, float]]:
    """Where each of some sets of pictures lies on the two directions of greatest variance, and what these hold."""
    places, (first, second) = principal_components(np.concatenate([vectors for _, vectors in sets]))
    left = iter(places.tolist())
    return [tuple((one.id, *next(left)) for one in pictures) for pictures, _ in sets], (float(first), float(second))


def principal_components(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, dimensions) to places on the two directions of greatest variance, (n, 2), and their shares of it, (2,).

    Each direction is turned so that its largest component is positive. Missing directions are 0.
    """
    centred = np.asarray(vectors, float) - np.mean(vectors, axis=0, dtype=float)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    turned = directions * np.sign(np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1))
    total = float((sizes**2).sum())
    places, shares = np.zeros((len(centred), 2)), np.zeros(2)
    count = min(2, len(sizes))
    places[:, :count] = centred @ turned[:count].T
    shares[:count] = sizes[:count] ** 2 / total if total > 0 else 0.0
    return places, shares


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


def lineage(evaluated: Sequence[Candidate], one: Candidate) -> tuple[str, ...]:
    """The prompts that one comes from by mutation, the first ancestor first, itself last."""
    by_text = {other.text: other for other in evaluated}
    line = [one.text]
    while (parent := by_text[line[0]].parent) is not None:
        line.insert(0, parent)
    return tuple(line)


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


def openbias(one: Questioned, scoring: Scoring) -> Iterator[OpenBiasScore]:
    """OpenBias (D'Incà et al., CVPR 2024) as a baseline: closed questions, asked of the same pictures.

    A question whose answers are far from equally frequent is a bias. Its entropy score has a null and an interval here.
    """
    for axis in one.axes:
        counts = one.seen.counts(VQA_ASKED, axis)
        rng, lost = scoring.rng("openbias", one.prompt, axis.name), len(one.seen.pictures) - sum(counts)
        found = or_missing(entropy_estimate, counts, rng=rng, missing=lost, detail="no picture has an answer",
                           **scoring.how)  # fmt: skip
        yield OpenBiasScore(one.prompt, axis.name, dict(zip(axis.values, counts, strict=True)), found)


def _random(found: Found, scoring: Scoring) -> RandomSearch:
    """The random search on the same budget, and by how much mining finds lower losses, on fresh seeds."""
    best = tuple(
        RandomBest(k, one.prompt, one.found.loss,
                   one.fresh if isinstance(one.fresh, Missing) else one.fresh.estimate(scoring))
        for k, search in enumerate(found.random) for one in search.best
    )  # fmt: skip
    course = tuple(
        replace(entry, prompts=()) for k, search in enumerate(found.random) for entry in history(search.evaluated, k)
    )
    random, mined = (
        [[loss for one in search.best if not isinstance(loss := one.fresh_loss, Missing)] for search in searches]
        for searches in (found.random, found.mined)
    )
    return RandomSearch(best, course, or_missing(search_difference, random, mined, scoring.level, reason="error"))
