"""Score prompts on one or more models (MineTheGap, section 4.2, figures 2 and 4, table S2).

No search selects the prompts, so scores are not inflated by selection. Each prompt has a score on
each axis, with an interval and a q-value.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Self

import numpy as np

from askew import registry
from askew.findings import E, GatheredData, Head, Identity, PictureSet, with_q
from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.findings import ExplainedPrompt
from askew.methods.mine.gather import Miner
from askew.methods.mine.objectives import ObjectiveReading, present
from askew.methods.mine.plan import SKEW
from askew.methods.mine.score import estimate, explained, known_errors
from askew.methods.mine.skew import SkewReading
from askew.methods.mine.stopping import sequential_shares
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.confusion import Errors
from askew.parts.survey.instruments import identity_of, studio_warnings, unknown_words
from askew.parts.survey.verdicts import (
    JudgedModels,
    ModelShares,
    judged_by_model,
    with_verdicts,
)
from askew.run.base import Rows, Run
from askew.run.inquiries import Reading
from askew.stats.intervals import critical_value
from askew.stats.looks import looks
from askew.stats.means import prompt_mean
from askew.stats.rank import spearman
from askew.store.keys import derived_seed, held_out_seed
from askew.studies.rank.finding import (
    FoundPrompts,
    RankRound,
    find_prompts,
    finding_work,
    plan_rounds,
    with_images,
)
from askew.studies.rank.plan import RankPlan
from askew.types import Estimate, Missing, Picture, grouped, record


@record
class RankedPrompt(ExplainedPrompt):
    """A prompt with its score for one model on one axis.

    Attributes
    ----------
    model, axis
        The model and the axis. The axis is "" with the objective eq1.
    score
        Score of the prompt.
    share
        The table's share for the prompt; None if no name in the table fits the prompt.
    """

    model: str
    axis: str
    score: E
    share: float | None


@record
class Agreement:
    """Spearman's correlations between the table and the measurements for a model's prompts.

    Attributes
    ----------
    model
        Name of the model.
    skew
        Correlation between the scores and the deviations of the table's shares from one half.
    share
        Correlation between the value's shares in the images and in the table. None if the images
        have no labels.
    """

    model: str
    skew: E
    share: E | None


@record
class ModelMean:
    """Mean size of a model's bias, averaged over prompts. See `bias_size`.

    Attributes
    ----------
    model, axis
        The model and the axis. The axis is "" with the objective eq1.
    mined_for
        Search whose prompts the mean covers; None if the mean covers all prompts.
    mean
        Mean size of bias. With the objective eq1, it is the negated mean score.
    """

    model: str
    axis: str
    mined_for: str | None
    mean: E


@record
class ModelDifference:
    """Difference in mean bias size between two models (second minus first), paired by prompt.

    If the difference is above 0, the second model is more biased. The other fields have the same
    meaning as in `ModelMean`.
    """

    models: tuple[str, str]
    axis: str
    mined_for: str | None
    difference: E


@record
class PromptMap:
    """Coordinates of a prompt's images along the two directions of greatest variance.

    Attributes
    ----------
    prompt
        The prompt.
    places
        Id and two coordinates of each image, keyed by model.
    explained
        Share of the variance that each direction explains.
    """

    prompt: str
    places: Mapping[str, tuple[tuple[str, float, float], ...]]
    explained: tuple[float, float]


@record
class RankFindings(Head):
    """Content of results.json.

    Attributes
    ----------
    shares_over_prompts : tuple of ModelShares
        Shares pooled over all prompts, for each model and axis. Empty if there is only one
        prompt, or if there are no shares.
    rounds : tuple of RankRound
        Rounds of successive halving. askew ranks the prompts that remain after the last round. Empty
        if all prompts are ranked.
    """

    plan: RankPlan
    models: tuple[Identity, ...]
    ranked: tuple[RankedPrompt, ...]
    means: tuple[ModelMean, ...]
    differences: tuple[ModelDifference, ...]
    agreement: tuple[Agreement, ...]
    maps: tuple[PromptMap, ...]
    shares_over_prompts: tuple[ModelShares, ...] = ()
    rounds: tuple[RankRound, ...] = ()


@dataclass(frozen=True, slots=True)
class RankGathered(GatheredData):
    """All measurements that a run of `askew rank` collects. The field `model` is the first model.

    Attributes
    ----------
    models
        Models, with their names in the plan.
    read
        Measurements and evidence, keyed by model and prompt.
    vectors
        Embedding vectors of the images, keyed by model and prompt.
    rounds
        Rounds of successive halving.
    """

    models: tuple[Identity, ...]
    read: Mapping[tuple[str, str], tuple[ObjectiveReading | Missing, PromptEvidence]]
    vectors: Mapping[tuple[str, str], Rows]
    rounds: tuple[RankRound, ...] = ()


@dataclass(frozen=True, slots=True)
class _Scored:
    """Prompts to score, the number of images for each prompt, and the seed for all images."""

    images: Mapping[str, int]
    seed: int


def gather(plan: RankPlan, run: Run) -> RankGathered:
    """Generate and measure the images of all prompts on all models.

    Raises
    ------
    UsageError
        If a name is unknown, or if a model cannot generate images.
    """
    miners = {
        model.name: Miner.prepare(plan.search(model), run, plan.given) for model in plan.models
    }
    first = next(iter(miners.values()))
    found_prompts = FoundPrompts()
    scored = _Scored(images=dict.fromkeys(plan.prompts, plan.images), seed=plan.seed)
    if plan.find:
        found_prompts = _found(plan, run, first)
        scored = _Scored(images=found_prompts.held_out, seed=held_out_seed(plan.seed))
    names = [miner.model.name for miner in miners.values()]
    embedder = first.embedder
    instruments = first.instruments()
    if embedder is None and _can_embed(plan, names):
        embedder = registry.embedder(plan.embedder, **plan.embedder_args)
        instruments = replace(instruments, embedder={embedder.name: embedder.fingerprint})
    run.warn(*studio_warnings(names, instruments.vqa, instruments.embedder))
    read: dict[tuple[str, str], tuple[ObjectiveReading | Missing, PromptEvidence]] = {}
    vectors: dict[tuple[str, str], Rows] = {}
    for name, model_miner in miners.items():
        miner = replace(model_miner, writer=first.writer)  # the same variations for all models
        measured = _measured(miner, scored)
        read |= {(name, prompt): entry for prompt, entry in measured.items()}
        if embedder:
            images = {prompt: present(entry[1].pictures) for prompt, entry in measured.items()}
            usable = [prompt for prompt, of_prompt in images.items() if of_prompt]
            rows = run.read_all([Reading(embedder, images[prompt]) for prompt in usable])
            for prompt, of_prompt in zip(usable, rows, strict=True):
                vectors[name, prompt] = of_prompt
        run.warn(*unknown_words(miner.model, plan.prompts))
    return RankGathered(
        model=identity_of(first.model, {}),
        device=getattr(first.model, "device", None),
        instruments=instruments,
        sets=tuple(
            PictureSet.of(prompt, evidence.pictures, model=model)
            for (model, prompt), (_, evidence) in read.items()
        ),
        models=tuple(
            replace(identity_of(miner.model, {}), name=name) for name, miner in miners.items()
        ),
        read=read,
        vectors=vectors,
        rounds=found_prompts.rounds,
    )


def _found(plan: RankPlan, run: Run, miner: Miner) -> FoundPrompts:
    """Find prompts by successive halving, or count the work of all rounds."""
    steps = len(plan_rounds(plan))
    if plan.until:
        run.explain(f"held out    {stopping_rule(plan)}")
        steps += len(looks(plan.eval_images))
    return run.decide(
        "the rounds",
        lambda: find_prompts(plan, miner),
        finding_work(plan, miner.model),
        FoundPrompts(),
        rounds=steps + 1,
    )


def stopping_rule(plan: RankPlan) -> str:
    """Return a phrase that states when askew stops adding held-out images."""
    return (
        f"{plan.first_eval_images} to {plan.eval_images} images for each prompt that is found, "
        "until its bias is significant"
    )


def _measured(
    miner: Miner, scored: _Scored
) -> dict[str, tuple[ObjectiveReading | Missing, PromptEvidence]]:
    """Return the measurement and the evidence of each prompt, for one model."""
    measured = {}
    for images, prompts in grouped(scored.images, scored.images.__getitem__).items():
        of_size = with_images(miner, images)
        pictures = miner.run.pictures(miner.model, prompts, images, scored.seed)
        of_size.prefetch_measurements(pictures)
        for prompt in prompts:
            reading = of_size.objective.read_held_out(Missing("not_asked"), prompt, scored.seed)
            measured[prompt] = reading, of_size.evidence(prompt, reading, pictures[prompt])
    return {prompt: measured[prompt] for prompt in scored.images}


def _can_embed(plan: RankPlan, names: Sequence[str]) -> bool:
    """Check whether there are several models whose images the embedder can embed."""
    return len(names) > 1 and not studio_warnings(names, embedder=[plan.embedder])


def score(plan: RankPlan, gathered: RankGathered, head: Head) -> RankFindings:
    """Score all prompts for each model, and rank them. The most biased prompt comes first.

    Parameters
    ----------
    plan
        Plan of the ranking.
    gathered
        All measurements that the run collected.
    head
        Initial fields that the results of all methods share.
    """
    scoring = Scoring(plan.vqa, plan.seed, plan.bootstrap_samples, plan.confidence)
    errors = known_errors(reading for reading, _ in gathered.read.values())
    prompts = _scored_prompts(plan, gathered, scoring)
    judged = _JudgedPrompts.of(prompts, scoring, errors, together=plan.until is None)
    ranked = judged.prompts
    agreement: list[Agreement] = []
    if plan.table and not plan.find:  # selected prompts do not represent the table
        for model in gathered.models:
            prompts = [prompt for prompt in ranked if prompt.model == model.name]
            agreement.append(_agreement(plan, model.name, prompts, scoring))
    means: list[ModelMean] = []
    differences: list[ModelDifference] = []
    if len(plan.models) > 1:
        for axis, search in _prompt_groups(plan, ranked):
            sizes = _sizes(plan, ranked, axis, search)
            means += _means(plan, sizes, axis, search)
            differences += _differences(plan, sizes, axis, search)
    maps = [in_plane(prompt, gathered) for prompt in plan.prompts]
    return head.into(
        RankFindings,
        models=gathered.models,
        ranked=ranked,
        means=tuple(means),
        differences=with_q(tuple(differences), lambda at: "differences"),
        agreement=tuple(agreement),
        maps=tuple(prompt_map for prompt_map in maps if prompt_map),
        shares_over_prompts=judged.over_prompts,
        rounds=gathered.rounds,
    )


def _scored_prompts(plan: RankPlan, gathered: RankGathered, scoring: Scoring) -> list[RankedPrompt]:
    """Return the scores of all prompts for each axis and model. The scores have no q-values yet."""
    prompts: list[RankedPrompt] = []
    for (model, prompt), (reading, evidence) in gathered.read.items():
        for of_axis in _by_axis(reading):
            explanation = explained(prompt, of_axis, evidence, scoring)
            if plan.until and isinstance(of_axis, SkewReading):
                shares = sequential_shares(of_axis, scoring, plan.eval_images)
                explanation = replace(explanation, shares=shares)
            prompts.append(
                explanation.into(
                    RankedPrompt,
                    model=model,
                    axis=_axis_name(of_axis),
                    score=estimate(of_axis, scoring),
                    share=plan.share(prompt),
                )
            )
    return prompts


@dataclass(frozen=True)
class _JudgedPrompts:
    """Prompts with verdicts, ordered by decreasing bias, and the shares over all prompts."""

    prompts: tuple[RankedPrompt, ...]
    over_prompts: tuple[ModelShares, ...]

    @classmethod
    def of(
        cls,
        prompts: Sequence[RankedPrompt],
        scoring: Scoring,
        errors: Errors,
        *,
        together: bool = True,
    ) -> Self:
        """Return the prompts with q.

        If a prompt has shares, its q-value is the q-value of the verdict on these shares. If
        `together` is False, shares are not pooled over the prompts, because the number of images
        per prompt depends on the images' labels.
        """
        with_scores = with_q(tuple(prompts), lambda at: "ranked" if at[-1] == "score" else None)
        with_shares = {place: prompt.shares for place, prompt in enumerate(with_scores)}
        entries = {place: shares for place, shares in with_shares.items() if shares}
        models = [with_scores[place].model for place in entries]
        if together:
            judged = judged_by_model([*entries.values()], models, scoring, errors)
        else:
            of_sets = with_verdicts(entries.values(), errors)
            judged = JudgedModels(of_sets=of_sets, over_prompts=())
        adjusted = list(with_scores)
        for place, shares in zip(entries, judged.of_sets, strict=True):
            adjusted[place] = replace(adjusted[place], shares=shares, score=shares.distance)
        ranked = sorted(adjusted, reverse=True, key=_sorting_size)
        return cls(prompts=tuple(ranked), over_prompts=judged.over_prompts)


def _by_axis(reading: ObjectiveReading | Missing) -> list[ObjectiveReading | Missing]:
    """Return a separate measurement for each axis.

    If askew reported only the axis with the largest score, this score would be too large by chance.
    """
    if isinstance(reading, SkewReading) and reading.axes:
        return [replace(reading, axes=(axis,)) for axis in reading.axes]
    return [reading]


def _axis_name(reading: ObjectiveReading | Missing) -> str:
    if isinstance(reading, SkewReading) and reading.axes:
        return reading.axes[0].name
    return ""


def bias_size(prompt: RankedPrompt) -> float | None:
    """Return the size of a prompt's bias, by which prompts are ranked.

    Returns
    -------
    float or None
        Bias-corrected distance from equal shares, divided by the largest possible distance, in
        [0, 1]. With the objective eq1, the negated score of Eq. 1. If the prompt has no score, the
        result is None.
    """
    if isinstance(prompt.score, Missing):
        return None
    return prompt.score.mark / _unit(prompt) if prompt.shares else -prompt.score.value


def _unit(prompt: RankedPrompt) -> float:
    """Return the largest possible score.

    Dividing distances by this maximum makes biases on different axes comparable.
    """
    score = prompt.score
    if prompt.shares is None or isinstance(score, Missing) or score.max is None:
        return 1.0
    return score.max


def size_error(prompt: RankedPrompt) -> float:
    """Compute the standard error of a prompt's `bias_size` from its score's interval."""
    score = prompt.score
    if isinstance(score, Missing) or score.low is None or score.high is None or score.level is None:
        return 0.0
    quantile = critical_value(score.level)
    return (score.high - score.low) / (2 * quantile * _unit(prompt))


def _sorting_size(prompt: RankedPrompt) -> tuple[float, float]:
    """Return a sort key: first the size of the bias, then the chance-corrected score."""
    size = bias_size(prompt)
    if size is None or isinstance(prompt.score, Missing):
        return -np.inf, -np.inf
    corrected = prompt.score.corrected if prompt.shares else None
    return size, size if corrected is None else corrected


@dataclass(frozen=True, slots=True)
class MeasuredSize:
    """Size of a prompt's bias, with its standard error."""

    value: float
    error: float


Sizes = Mapping[str, Mapping[str, MeasuredSize | None]]
"""Bias size of each prompt, keyed by model and prompt."""


def _prompt_groups(plan: RankPlan, ranked: Sequence[RankedPrompt]) -> list[tuple[str, str | None]]:
    """Return pairs of an axis and a search. The search None stands for the prompts of all searches.

    If there are several searches, each axis is also paired with each search.
    """
    searches: list[str | None] = list(dict.fromkeys(plan.mined_for.values()))
    groups = [None, *searches] if len(searches) > 1 else [None]
    return list(product(sorted({prompt.axis for prompt in ranked}), groups))


def _sizes(plan: RankPlan, ranked: Sequence[RankedPrompt], axis: str, search: str | None) -> Sizes:
    """Return the bias sizes of a search's prompts on an axis.

    If the search is None, return the bias sizes of all prompts.
    """
    sizes: dict[str, dict[str, MeasuredSize | None]] = {model.name: {} for model in plan.models}
    for prompt in ranked:
        if prompt.axis == axis and search in (None, plan.mined_for.get(prompt.prompt)):
            size = bias_size(prompt)
            measured = None if size is None else MeasuredSize(size, size_error(prompt))
            sizes[prompt.model][prompt.prompt] = measured
    return sizes


def _bounds(plan: RankPlan) -> tuple[float, float]:
    """Return the smallest and the largest possible bias size."""
    if plan.objective == SKEW:
        return 0.0, 1.0
    return -2.0, 0.0 if plan.is_unit else 2.0


def _means(plan: RankPlan, sizes: Sizes, axis: str, search: str | None) -> list[ModelMean]:
    return [
        ModelMean(
            model=model,
            axis=axis,
            mined_for=search,
            mean=_mean(list(of_model.values()), plan.confidence, _bounds(plan)),
        )
        for model, of_model in sizes.items()
    ]


def _differences(
    plan: RankPlan, sizes: Sizes, axis: str, search: str | None
) -> list[ModelDifference]:
    """Return the mean difference in bias size between each pair of models, paired by prompt."""
    low, high = _bounds(plan)
    differences: list[ModelDifference] = []
    for first, second in combinations(sizes, 2):
        rng = np.random.default_rng(derived_seed(plan.seed, "rank", axis, search or "", "signs"))
        difference = _mean(
            _paired(sizes[first], sizes[second]),
            plan.confidence,
            bounds=(low - high, high - low),
            rng=rng,
        )
        differences.append(
            ModelDifference(
                models=(first, second), axis=axis, mined_for=search, difference=difference
            )
        )
    return differences


def _paired(
    first: Mapping[str, MeasuredSize | None], second: Mapping[str, MeasuredSize | None]
) -> list[MeasuredSize | None]:
    """Return the difference for each shared prompt; None for a prompt that lacks a score."""
    differences: list[MeasuredSize | None] = []
    for prompt, size in second.items():
        if prompt in first:
            subtracted = first[prompt]
            if size is None or subtracted is None:
                differences.append(None)
            else:
                error = math.hypot(size.error, subtracted.error)
                differences.append(MeasuredSize(size.value - subtracted.value, error))
    return differences


def _mean(
    sizes: Sequence[MeasuredSize | None],
    level: float,
    bounds: tuple[float, float],
    rng: np.random.Generator | None = None,
) -> Estimate | Missing:
    known = [size for size in sizes if size is not None]
    return or_missing(
        prompt_mean,
        [size.value for size in known],
        [size.error for size in known],
        level,
        missing=len(sizes) - len(known),
        bounds=bounds,
        rng=rng,
        reason="error",
        detail="no prompt could be scored",
    )


def _agreement(
    plan: RankPlan, model: str, prompts: Sequence[RankedPrompt], scoring: Scoring
) -> Agreement:
    """Correlate the scores and shares of a model's prompts with the table."""
    sizes: list[float] = []
    deviations: list[float] = []
    shares: list[float] = []
    table_shares: list[float] = []
    for prompt in prompts:
        size = bias_size(prompt)
        if prompt.share is None or size is None:
            continue
        sizes.append(size)
        deviations.append(abs(2 * prompt.share - 1))
        share = prompt.shares.shares.get(plan.value) if prompt.shares else None
        if isinstance(share, Estimate):
            shares.append(share.value)
            table_shares.append(prompt.share)
    return Agreement(
        model=model,
        skew=_correlation(sizes, deviations, scoring, model, "skew"),
        share=_correlation(shares, table_shares, scoring, model, "share") if shares else None,
    )


def _correlation(
    x: Sequence[float], y: Sequence[float], scoring: Scoring, model: str, name: str
) -> Estimate | Missing:
    """Return Spearman's correlation. `model` and `name` determine the random draws."""
    return or_missing(
        spearman,
        x,
        y,
        rng=scoring.rng("rank", model, name),
        reason="error",
        detail="fewer than three prompts can be ranked",
        **scoring.interval_options,
    )


def in_plane(prompt: str, gathered: RankGathered) -> PromptMap | None:
    """Compute the coordinates of a prompt's images along the two directions of greatest variance.

    Parameters
    ----------
    prompt
        The prompt.
    gathered
        All measurements that the run collected.

    Returns
    -------
    PromptMap or None
        None if there are fewer than three images.
    """
    vectors: dict[str, Rows] = {}
    for model in gathered.models:
        if (model.name, prompt) in gathered.vectors:
            vectors[model.name] = gathered.vectors[model.name, prompt]
    if sum(map(len, vectors.values())) < 3:
        return None
    coordinates, explained_shares = _principal_coordinates(np.concatenate([*vectors.values()]))
    remaining = iter(coordinates)
    places: dict[str, tuple[tuple[str, float, float], ...]] = {}
    for name in vectors:
        pictures = gathered.read[name, prompt][1].pictures
        ids = [picture.id for picture in pictures if isinstance(picture, Picture)]
        places[name] = tuple((picture_id, *next(remaining)) for picture_id in ids)
    return PromptMap(prompt=prompt, places=places, explained=explained_shares)


def _principal_coordinates(
    vectors: Rows,
) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Return the coordinates of vectors on the first two principal directions.

    The function also returns the share of the variance that each direction explains. In each
    direction, the element with the largest magnitude is made positive, because linear algebra
    libraries choose different signs.
    """
    rows = vectors.astype(float)
    centered = rows - rows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centered, full_matrices=False)
    largest = np.abs(directions).argmax(axis=1)[:, None]
    signs = np.sign(np.take_along_axis(directions, largest, axis=1))
    coordinates = centered @ (directions * signs)[:2].T
    variances = sizes**2
    first, second = variances[:2] / max(variances.sum(), np.finfo(float).tiny)
    places = [(float(x), float(y)) for x, y in coordinates]
    return places, (float(first), float(second))
