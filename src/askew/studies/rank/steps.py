"""Given prompts on some models (MineTheGap, section 4.2, figures 2 and 4, table S2): plan, gather,
score, findings.

Nothing is searched, so nothing is lucky: every prompt has one score with its interval and its q.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from askew import registry
from askew.findings import E, GatheredData, Head, Identity, PictureSet, pattern, with_q
from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.findings import ExplainedPrompt
from askew.methods.mine.gather import Miner
from askew.methods.mine.objectives import ObjectiveReading
from askew.methods.mine.plan import DEFAULT_AXES, EQ1, SKEW, MinePlan, ScoredPlan
from askew.methods.mine.score import estimate, explained
from askew.methods.mine.skew import SkewReading
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.instruments import identity_of, studio_warnings, unknown_words
from askew.plan import NonEmptyText, PlanPart, Settings
from askew.prompts.axes import find_axis
from askew.prompts.vocabulary import article
from askew.run.base import Rows, Run
from askew.stats.means import student_mean
from askew.stats.rank import spearman
from askew.types import Estimate, Missing, Picture, record


class ModelPlan(PlanPart):
    """A model with its settings, under the name that it has here."""

    name: NonEmptyText
    model: NonEmptyText
    model_args: Settings = Field(default_factory=dict)


class RankPlan(ScoredPlan):
    """Given prompts on some models.

    objective  lean, how far the shares of `axes` are from equal ones, or bias, the paper's score by `variations`
    table      by name a share of `value`; a prompt has that of the longest name that it holds
    mined_for  by prompt the search that found it; given: by prompt the variations that it was mined with

    All else is as in a search: `llm`, `topic` and `words` decide what variations are written.
    """

    method: Literal["rank"] = "rank"
    models: tuple[ModelPlan, ...] = Field(min_length=1)
    prompts: tuple[NonEmptyText, ...] = Field(min_length=1)
    objective: Literal["skew", "eq1"] = "skew"
    images: Annotated[int, Field(ge=2, le=10_000)] = 48
    mined_for: dict[str, NonEmptyText] = Field(default_factory=dict)
    given: dict[str, tuple[NonEmptyText, ...]] = Field(default_factory=dict)
    table: dict[str, float] = Field(default_factory=dict)
    value: NonEmptyText = "female"

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, data: dict[str, Any]) -> dict[str, Any]:
        objective = data.get("objective", SKEW)
        table = data.get("table") or {}
        axes = [
            find_axis(name).name
            for name in data.get("axes") or (DEFAULT_AXES if objective == SKEW else ())
        ]
        prompts = data.get("prompts") or [
            f"photo portrait of {article(name)} {name}" for name in table
        ]
        return {
            "images": 15 if objective == EQ1 else 48,
            **data,
            "axes": axes,
            "prompts": [*dict.fromkeys(prompts)],
        }

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [one.name for one in self.models]
        if len(set(names)) < len(names):
            raise ValueError(f"a model is named twice: {', '.join(names)}")
        return self

    def share(self, prompt: str) -> float | None:
        """The table's share of a prompt."""
        held = [name for name in self.table if f" {name.lower()} " in f" {prompt.lower()} "]
        return self.table[max(held, key=len)] if held else None

    def search(self, one: ModelPlan) -> MinePlan:
        """The search that would score a prompt of a model in this way."""
        scored = {name: getattr(self, name) for name in ScoredPlan.model_fields}
        return MinePlan(model=one.model, model_args=one.model_args, **scored)


@record
class RankedPrompt(ExplainedPrompt):
    """A prompt of a model with its score, of several axes one for each; `share` is that of the
    table.
    """

    model: str
    axis: str
    score: E
    share: float | None


@record
class Agreement:
    """Spearman's correlations with the table over a model's prompts: `skew` of scores with how far
    its shares are from one half, `share` of the shares of its value in the pictures; None where
    that is not asked.
    """

    model: str
    skew: E
    share: E | None


@record
class ModelMean:
    """A model's mean of its lean, or less the score of Eq. 1, over the prompts mined for a search;
    None: over all.
    """

    model: str
    axis: str
    mined_for: str | None
    mean: E


@record
class ModelDifference:
    """The second model's mean less the first's, paired by prompt: above 0 the second is more
    one-sided.
    """

    models: tuple[str, str]
    axis: str
    mined_for: str | None
    difference: E


@record
class PromptMap:
    """By model each picture of a prompt and its place on two directions; `explained` is the share
    that each holds.
    """

    prompt: str
    places: Mapping[str, tuple[tuple[str, float, float], ...]]
    explained: tuple[float, float]


@record
class RankFindings(Head):
    """The content of results.json."""

    plan: RankPlan
    models: tuple[Identity, ...]
    ranked: tuple[RankedPrompt, ...]
    means: tuple[ModelMean, ...]
    differences: tuple[ModelDifference, ...]
    agreement: tuple[Agreement, ...]
    maps: tuple[PromptMap, ...]


@dataclass(frozen=True, slots=True)
class RankGathered(GatheredData):
    """By model and prompt what was read and explains it; `models` have the plan's names, `model` is
    the first.
    """

    models: tuple[Identity, ...]
    read: Mapping[tuple[str, str], tuple[ObjectiveReading | Missing, PromptEvidence]]
    vectors: Mapping[tuple[str, str], Rows]


def gather(plan: RankPlan, run: Run) -> RankGathered:
    """Raises UsageError for names that do not exist, or pictures that exist already."""
    miners = {one.name: Miner.prepare(plan.search(one), run, plan.given) for one in plan.models}
    first = next(iter(miners.values()))
    names = [one.model.name for one in miners.values()]
    embedder = first.embedder
    instruments = first.instruments()
    if (
        embedder is None
        and len(miners) > 1
        and not studio_warnings(names, embedder=[plan.embedder])
    ):
        embedder = registry.embedder(
            plan.embedder, **plan.embedder_args
        )  # for the plane of all models alone
        instruments = replace(instruments, embedder={embedder.name: embedder.fingerprint})
    run.warn(*studio_warnings(names, instruments.vqa, instruments.embedder))
    read = {}
    vectors = {}
    for name, own in miners.items():
        miner = replace(own, writer=first.writer)  # the same variations for all
        made = run.pictures(miner.model, plan.prompts, plan.images, plan.seed)
        for prompt in plan.prompts:
            found = miner.objective.read_held_out(Missing("not_asked"), prompt, plan.seed)
            read[name, prompt] = found, miner.evidence(prompt, found, made[prompt])
            present = [one for one in made[prompt] if isinstance(one, Picture)]
            if embedder and present:
                vectors[name, prompt] = run.read(embedder, present)
        run.warn(*unknown_words(miner.model, plan.prompts))
    models = tuple(replace(identity_of(one.model, {}), name=name) for name, one in miners.items())
    sets = tuple(
        PictureSet.of(prompt, shown.pictures, model=model)
        for (model, prompt), (_, shown) in read.items()
    )
    return RankGathered(
        identity_of(first.model, {}),
        getattr(first.model, "device", None),
        instruments,
        sets,
        models,
        read,
        vectors,
    )


def score(plan: RankPlan, gathered: RankGathered, head: Head) -> RankFindings:
    """Every prompt of every model, the most one-sided first, and how their ranks agree with the
    table's.
    """
    scoring = Scoring(plan.vqa, plan.seed, plan.bootstrap_samples, plan.confidence)
    ranked = []
    for (model, prompt), (reading, shown) in gathered.read.items():
        alone: list[ObjectiveReading | Missing] = [reading]
        if (
            isinstance(reading, SkewReading) and reading.axes
        ):  # one for each axis: nothing is picked, nothing is lucky
            alone = [replace(reading, axes=(axis,)) for axis in reading.axes]
        for own in alone:
            axis = own.axes[0].name if isinstance(own, SkewReading) and own.axes else ""
            ranked.append(
                explained(prompt, own, shown, scoring).into(
                    RankedPrompt,
                    model=model,
                    axis=axis,
                    score=estimate(own, scoring),
                    share=plan.share(prompt),
                )
            )
    tested = (("score",), ("shares", "distance"))
    ordered = sorted(
        with_q(tuple(ranked), lambda at: "ranked" if pattern(at) in tested else None),
        reverse=True,
        key=lambda one: -np.inf if (size := one_sidedness(one)) is None else size,
    )
    agreement = [
        _agreement(plan, one.name, [own for own in ordered if own.model == one.name], scoring)
        for one in gathered.models
        if plan.table
    ]
    means, differences = _against_each_other(plan, ordered) if len(plan.models) > 1 else ((), ())
    maps = (in_plane(prompt, gathered) for prompt in plan.prompts)
    return head.into(
        RankFindings,
        models=gathered.models,
        ranked=tuple(ordered),
        means=tuple(means),
        differences=with_q(tuple(differences), lambda at: "differences"),
        agreement=tuple(agreement),
        maps=tuple(one for one in maps if one),
    )


def one_sidedness(one: RankedPrompt) -> float | None:
    """What prompts are ranked by: the lean, or less the score of Eq. 1; None without a score."""
    if isinstance(one.score, Missing):
        return None
    return one.score.corrected if one.shares else -one.score.value


def _against_each_other(
    plan: RankPlan, ranked: Sequence[RankedPrompt]
) -> tuple[list[ModelMean], list[ModelDifference]]:
    """By axis and search (None: all) every model's mean, and the difference of every two on the
    same seeds.
    """
    searches = list(dict.fromkeys(plan.mined_for.values()))
    means = list[ModelMean]()
    differences = list[ModelDifference]()
    for axis, search in product(
        sorted({one.axis for one in ranked}), (None, *(searches if searches[1:] else ()))
    ):
        sizes: dict[str, dict[str, float | None]] = {one.name: {} for one in plan.models}
        for one in ranked:
            if one.axis == axis and search in (None, plan.mined_for.get(one.prompt)):
                sizes[one.model][one.prompt] = one_sidedness(one)
        means += [
            ModelMean(model, axis, search, _mean([*own.values()], plan.confidence))
            for model, own in sizes.items()
        ]
        for a, b in combinations(sizes, 2):
            pairs = [(sizes[a][text], size) for text, size in sizes[b].items() if text in sizes[a]]
            apart = [None if x is None or y is None else y - x for x, y in pairs]
            differences.append(
                ModelDifference((a, b), axis, search, _mean(apart, plan.confidence, null=0.0))
            )
    return means, differences


def _mean(
    sizes: Sequence[float | None], level: float, null: float | None = None
) -> Estimate | Missing:
    known = [one for one in sizes if one is not None]
    return or_missing(
        student_mean,
        known,
        level,
        "t over prompts",
        missing=len(sizes) - len(known),
        null=null,
        reason="error",
        detail="no prompt could be scored",
    )


def _agreement(
    plan: RankPlan, model: str, own: Sequence[RankedPrompt], scoring: Scoring
) -> Agreement:
    def correlation(name: str, pairs: Sequence[tuple[float, float]]) -> Estimate | Missing:
        rng = scoring.rng("rank", model, name)
        return or_missing(
            spearman,
            *([pair[k] for pair in pairs] for k in (0, 1)),
            rng=rng,
            reason="error",
            detail="fewer than three prompts can be ranked",
            **scoring.interval_options,
        )

    known = [
        (one, one.share, size)
        for one in own
        if one.share is not None and (size := one_sidedness(one)) is not None
    ]
    shown = [
        (seen.value, share)
        for one, share, _ in known
        if one.shares and isinstance(seen := one.shares.shares.get(plan.value), Estimate)
    ]
    return Agreement(
        model,
        correlation("skew", [(size, abs(2 * share - 1)) for _, share, size in known]),
        correlation("share", shown) if shown else None,
    )


def in_plane(prompt: str, gathered: RankGathered) -> PromptMap | None:
    """Where the pictures of a prompt lie on the two directions of greatest variance; None with
    fewer than three.
    """
    vectors = {
        one.name: rows
        for one in gathered.models
        if (rows := gathered.vectors.get((one.name, prompt))) is not None
    }
    if sum(map(len, vectors.values())) < 3:
        return None
    rows = np.concatenate([*vectors.values()]).astype(float)
    centred = rows - rows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    turned = directions * np.sign(
        np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    )
    left = iter((centred @ turned[:2].T).tolist())
    places = {
        name: tuple(
            (one.id, *next(left))
            for one in gathered.read[name, prompt][1].pictures
            if isinstance(one, Picture)
        )
        for name in vectors
    }
    first, second = sizes[:2] ** 2 / max((sizes**2).sum(), np.finfo(float).tiny)
    return PromptMap(prompt, places, (float(first), float(second)))
