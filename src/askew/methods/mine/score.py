"""Score prompts that a search found, using held-out images (MineTheGap).

A search (section 3) scores each prompt by its images, for example with the bias score in section
4.1. Some of the selected prompts have low scores only by chance. askew therefore scores the best
prompts again, on images with held-out seeds.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from askew.findings import Head, with_q
from askew.methods.mine import findings as f
from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.gather import BestCandidate, MineGathered, Search
from askew.methods.mine.objectives import Alignment, ObjectiveReading
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.skew import SkewReading, variations
from askew.methods.mine.stopping import sequential_shares
from askew.methods.mine.word_model import word_effects
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.confusion import Errors
from askew.parts.survey.verdicts import JudgedShares, judged_shares, with_verdicts
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Candidate, content_words
from askew.stats.gap import null_scores, worst
from askew.stats.intervals import percentile_interval
from askew.stats.means import search_difference
from askew.types import Estimate, Missing, Picture

MOST_TERMS = 20
"""Maximum number of words listed in `missed`."""


def score(plan: MinePlan, gathered: MineGathered, head: Head) -> f.MineFindings:
    """Compute the findings of a run of `askew mine`.

    Parameters
    ----------
    plan
        The plan.
    gathered
        All data that the run gathered.
    head
        Fields that the findings of all methods share.

    Returns
    -------
    MineFindings
        Best prompts with held-out scores, the history of the searches, and the random searches.
    """
    scoring = Scoring(plan.vqa, plan.seed, plan.bootstrap_samples, plan.confidence)
    searches = gathered.searches
    best = _best_prompts(searches.mined, scoring)
    if plan.until:
        best = _with_sequential_shares(best, searches.mined, scoring, plan.eval_images)
    section = f.MineTheGap(
        objective=plan.objective,
        best=best,
        history=_history(searches.mined),
        random=_random_search(plan, gathered, scoring) if searches.random else None,
        missed=missed_terms(best),
        words=_word_effects(plan, gathered, scoring),
    )
    errors = known_errors(
        candidate.held_out for search in searches.mined for candidate in search.best
    )
    judged = with_verdict_of_shares(
        with_q(section, f.family), scoring, errors, together=plan.until is None
    )
    return head.into(f.MineFindings, minethegap=judged)


def _word_effects(
    plan: MinePlan, gathered: MineGathered, scoring: Scoring
) -> tuple[f.WordEffect, ...]:
    """Return the effects of words on shares, learned from the prompts of all searches."""
    searches = (*gathered.searches.mined, *gathered.searches.random)
    evaluated = [prompt for search in searches for prompt in search.evaluated]
    axes = [find_axis(name) for name in plan.axes]
    return tuple(word_effects(evaluated, axes, scoring.level, plan.seed))


def known_errors(readings: Iterable[ObjectiveReading | Missing]) -> Errors:
    """Return the known labeling errors, keyed by instrument and axis."""
    errors: dict[tuple[str, str], NDArray[np.int64]] = {}
    for reading in readings:
        if isinstance(reading, SkewReading):
            errors |= reading.errors
    return errors


def _with_sequential_shares(
    best: Sequence[f.BestPrompt], searches: Sequence[Search], scoring: Scoring, most: int
) -> tuple[f.BestPrompt, ...]:
    """Return the best prompts with shares whose p and intervals are adjusted for all looks."""
    sequential = {}
    for search in searches:
        for candidate in search.best:
            if isinstance(candidate.held_out, SkewReading):
                shares = sequential_shares(candidate.held_out, scoring, most)
                sequential[candidate.candidate.text] = shares
    return tuple(replace(prompt, shares=sequential.get(prompt.prompt)) for prompt in best)


def with_verdict_of_shares(
    section: f.MineTheGap, scoring: Scoring, errors: Errors, together: bool = True
) -> f.MineTheGap:
    """Return the section on held-out scores, with q-values taken from the verdicts on shares.

    The verdicts are the same as in an audit of the best prompts. A prompt selected by several
    searches has the same held-out images in all of them, so its shares are tested only once.

    Parameters
    ----------
    section
        Results of the searches. The q-values stay unchanged if there are no shares.
    scoring
        Settings for the statistics.
    errors
        Known errors of the instrument that labeled the images.
    together
        If True, add the shares in the images of all best prompts together. These shares would be
        biased if a prompt's number of images depended on its labels.
    """
    entries = {}
    for prompt in section.best:
        if prompt.shares:
            entries[prompt.prompt, prompt.shares.axis] = prompt.shares
    if together:
        judged = judged_shares([*entries.values()], scoring, errors)
    else:
        of_sets = with_verdicts(entries.values(), errors)
        judged = JudgedShares(of_sets=of_sets, over_prompts=())
    verdicts = dict(zip(entries, judged.of_sets, strict=True))
    best = []
    for prompt in section.best:
        if prompt.shares:
            shares = verdicts[prompt.prompt, prompt.shares.axis]
            best.append(replace(prompt, shares=shares, held_out_score=shares.distance))
        else:
            best.append(prompt)
    return replace(section, best=tuple(best), shares_over_prompts=judged.over_prompts)


def _random_search(plan: MinePlan, gathered: MineGathered, scoring: Scoring) -> f.RandomSearch:
    """Compare mining with the random searches.

    The result omits the prompts that the random searches evaluated.
    """
    images = plan.first_eval_images if plan.until else None
    mined = gathered.searches.mined
    random = gathered.searches.random
    difference = or_missing(
        search_difference,
        _held_out_losses(random, images),
        _held_out_losses(mined, images),
        plan.confidence,
        reason="error",
    )
    history = tuple(replace(iteration, prompts=()) for iteration in _history(random))
    return f.RandomSearch(
        best=_best_prompts(random, scoring), history=history, difference=difference
    )


def _best_prompts(searches: Sequence[Search], scoring: Scoring) -> tuple[f.BestPrompt, ...]:
    return tuple(
        best_prompt(candidate, number, scoring)
        for number, search in enumerate(searches)
        for candidate in search.best
    )


def _history(searches: Sequence[Search]) -> tuple[f.Iteration, ...]:
    return tuple(
        iteration
        for number, search in enumerate(searches)
        for iteration in history(search.evaluated, number)
    )


def _held_out_losses(searches: Sequence[Search], images: int | None) -> list[list[float]]:
    """Return the known held-out losses of each search's best prompts.

    If `images` is given, the skew is computed from only that many held-out images. If the number of
    added images depends on the labels of earlier images, the skew of all images is too large on
    average.
    """
    return [_losses(search.best, images) for search in searches]


def _losses(candidates: Sequence[BestCandidate], images: int | None) -> list[float]:
    losses = []
    for candidate in candidates:
        held_out = candidate.held_out
        if images is not None and isinstance(held_out, SkewReading):
            held_out = held_out.first_images(images)
        if not isinstance(held_out, Missing):
            loss = held_out.loss()
            if not isinstance(loss, Missing):
                losses.append(loss)
    return losses


def best_prompt(best: BestCandidate, run: int, scoring: Scoring) -> f.BestPrompt:
    """Compute the scores of one of the best prompts of a search, and explain them.

    Parameters
    ----------
    best
        The prompt, with measurements of the images in the search and of held-out images.
    run
        Number of the search, counted from 0.
    scoring
        Settings for the statistics.
    """
    first = best.first
    held_out = best.held_out
    if isinstance(first, Alignment) and isinstance(held_out, Alignment):
        first = replace(first, chance=held_out.chance)  # images of the same variations
    return explained(best.candidate.text, held_out, best.evidence, scoring).into(
        f.BestPrompt,
        run=run,
        score=estimate(first, scoring),
        held_out_score=estimate(held_out, scoring),
        iteration=best.candidate.iteration,
        parent=best.candidate.parent,
    )


def estimate(reading: ObjectiveReading | Missing, scoring: Scoring) -> Estimate | Missing:
    """Return the score of a measurement, or the reason why the measurement is missing."""
    return reading if isinstance(reading, Missing) else reading.estimate(scoring)


def explained(
    prompt: str,
    reading: ObjectiveReading | Missing,
    evidence: PromptEvidence | None,
    scoring: Scoring,
) -> f.ExplainedPrompt:
    """Explain the score of a prompt, using its images.

    Parameters
    ----------
    prompt
        The prompt.
    reading
        Measurement of the prompt's images.
    evidence
        Images of the prompt and of its variations. If None, the score is not explained.
    scoring
        Settings for the statistics.

    Returns
    -------
    ExplainedPrompt
        The prompt, with its shares on the axis of the largest skew, or with the variations that its
        images leave out.
    """
    explanation = f.ExplainedPrompt(
        prompt=prompt,
        shares=None,
        variations=(),
        missed_visual_concepts=(),
        is_read=False,
        missed_pictures=(),
        least_aligned_pictures=(),
        null_range=None,
    )
    if evidence is None:
        return explanation
    if isinstance(reading, SkewReading):
        explanation = _explained_skew(explanation, reading, scoring)
    elif isinstance(reading, Alignment):
        explanation = _explained_alignment(explanation, reading, evidence, scoring)
    pictures = {
        text: picture.id
        for text, picture in evidence.variations.items()
        if isinstance(picture, Picture)
    }
    missed = explanation.missed_visual_concepts
    return replace(explanation, missed_pictures=tuple(map(pictures.get, missed)))


def _explained_skew(
    explanation: f.ExplainedPrompt, reading: SkewReading, scoring: Scoring
) -> f.ExplainedPrompt:
    """Add the shares on the most skewed axis, and values that no image shows, to an explanation."""
    shares = reading.shares(scoring)
    if shares is None:
        return explanation
    axes = [axis for axis in reading.axes if axis.name == shares.axis]
    by_axis = variations(explanation.prompt, axes)
    texts = {} if isinstance(by_axis, Missing) else by_axis[shares.axis]
    missed = [texts[value] for value, count in shares.counts.items() if not count]
    return replace(
        explanation,
        shares=shares,
        variations=tuple(texts.values()),
        missed_visual_concepts=tuple(missed),
        is_read=True,
    )


def _explained_alignment(
    explanation: f.ExplainedPrompt,
    reading: Alignment,
    evidence: PromptEvidence,
    scoring: Scoring,
) -> f.ExplainedPrompt:
    """Add the variations that images leave out, and the worst-fitting images, to an explanation."""
    return replace(
        explanation,
        variations=reading.variations,
        missed_visual_concepts=tuple(_missed_variations(reading, evidence.shows)),
        is_read=bool(evidence.shows),
        least_aligned_pictures=tuple(_least_aligned(reading)),
        null_range=_null_range(reading, scoring),
    )


def _missed_variations(reading: Alignment, shows: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return the variations that no image shows; without labels, the least similar variations.

    If there are labels, the variations are sorted by how many images of all variations show their
    details, in decreasing order.
    """
    if not shows:
        places = worst(reading.similarity, "variations", reading.quantile)
        return [reading.variations[place] for place in places]
    missed = [text for text in reading.variations if text in shows and not shows[text][0]]
    return sorted(missed, key=lambda text: -shows[text][1])


def _least_aligned(reading: Alignment) -> list[str]:
    """Return IDs of images less similar to every variation than the variations' own images are."""
    usual = np.inf
    if reading.chance:
        best_fits = reading.chance.similarity.max(axis=0)
        usual = np.quantile(best_fits, reading.quantile, method="lower")
    fits = reading.similarity.max(axis=0)
    places = worst(reading.similarity, "pictures", reading.quantile)
    return [reading.pictures[place].id for place in places if fits[place] < usual]


def _null_range(reading: Alignment, scoring: Scoring) -> tuple[float, float] | None:
    """Return the central range of the null distribution; None if the variations have no images."""
    if reading.chance is None:
        return None
    rng = scoring.rng("minethegap null", reading.variations[0])
    scores = null_scores(
        reading.chance.similarity, len(reading.pictures), reading.quantile, scoring.draws, rng
    )
    return percentile_interval(scores, scoring.level)


def missed_terms(best: Sequence[f.BestPrompt]) -> f.MissedTerms | None:
    """Count the words in missed variations, and the kinds of things that they name (appendix C.4).

    Words that the prompt itself contains are not counted, and each word is counted once per prompt.

    Returns
    -------
    MissedTerms or None
        The counts; None if the images omit nothing.
    """
    prompts = {prompt.prompt: prompt for prompt in best if prompt.missed_visual_concepts}
    words_by_prompt = [_missed_words(prompt) for prompt in prompts.values()]
    if not words_by_prompt:
        return None
    path = files("askew") / "data" / "bias_categories.toml"
    categories = tomllib.loads(path.read_text(encoding="utf-8"))
    word_counts: Counter[str] = Counter()
    category_counts: Counter[str] = Counter()
    for words in words_by_prompt:
        word_counts.update(words)
        category_counts.update(_categories(words, categories))
    return f.MissedTerms(
        prompts=len(words_by_prompt),
        terms=_most_frequent(word_counts)[:MOST_TERMS],
        categories=_most_frequent(category_counts),
    )


def _missed_words(prompt: f.BestPrompt) -> set[str]:
    """Return the words in a prompt's missed variations that the prompt itself does not contain."""
    words = set[str]()
    for text in prompt.missed_visual_concepts:
        words.update(content_words(text))
    return words - set(content_words(prompt.prompt))


def _categories(words: set[str], terms: Mapping[str, Iterable[str]]) -> list[str]:
    return [name for name, of_category in terms.items() if not words.isdisjoint(of_category)]


def _most_frequent(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def history(evaluated: Sequence[Candidate], run: int) -> Iterator[f.Iteration]:
    """Yield the iterations of a search, each with its prompts, lowest loss and median loss.

    Parameters
    ----------
    evaluated
        All prompts that the search evaluated.
    run
        Number of the search, counted from 0.
    """
    known: list[float] = []
    for number in sorted({candidate.iteration for candidate in evaluated}):
        population = [candidate for candidate in evaluated if candidate.iteration == number]
        losses = [candidate.loss for candidate in population if candidate.loss is not None]
        known += losses
        yield f.Iteration(
            run=run,
            iteration=number,
            best=min(losses, default=None),
            median=float(np.median(losses)) if losses else None,
            best_so_far=min(known, default=None),
            prompts=tuple(_evaluation(candidate) for candidate in population),
        )


def _evaluation(candidate: Candidate) -> f.Evaluation:
    return f.Evaluation(
        prompt=candidate.text,
        score=candidate.loss,
        origin=candidate.origin,
        parent=candidate.parent,
    )
