"""The plan of a comparison of searches, several models on the prompts mined for each, and how finished runs become one.

No model is loaded, nothing is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.methods.mine import METHOD as MINE
from askew.methods.mine.findings import MiningResult
from askew.methods.mine.plan import BIAS
from askew.models.base import Setting
from askew.plan import PLAN_FILE, Part, RunPlan, Settings, Text, read_toml
from askew.store.keys import derived_seed

SAME = ("images", "variations", "quantile", "is_unit", "embedder", "embedder_args")
"""What decides the size of a score: searches that differ in it cannot be compared."""


class ConditionPlan(Part):
    """A model with its settings, under the name that it has in the comparison."""

    name: Text
    model: Text
    model_args: Settings = Field(default_factory=dict)


class MinedPromptPlan(Part):
    """A prompt and the variations that it was mined with: all models are held against the same ones."""

    text: Text
    variations: tuple[Text, ...] = Field(min_length=2)


class MinedSetPlan(Part):
    """The prompts that one run found; `condition` is the model that they were mined for, where it is compared."""

    name: Text
    condition: str = ""
    prompts: tuple[MinedPromptPlan, ...] = Field(min_length=1)


class MiningComparisonPlan(RunPlan):
    """Several models, or settings of one, on the prompts mined for each of them (MineTheGap, figures 6, 9 and S19).

    sets        the prompts, by the run that found them
    given       prompts that were not mined; only their texts are compared
    vary        the setting that tells the conditions apart, where one was varied
    images      pictures per prompt
    quantile    alpha of the score; `unit` says that similarities are (1 + cosine) / 2
    seed        the run seed of the pictures, which no search has seen
    """

    method: Literal["mine-compare"] = "mine-compare"
    conditions: tuple[ConditionPlan, ...] = Field(min_length=1)
    sets: tuple[MinedSetPlan, ...] = Field(min_length=1)
    given: tuple[Text, ...] = ()
    vary: str = ""
    embedder: Text = "studio"
    embedder_args: Settings = Field(default_factory=dict)
    images: int = Field(default=15, ge=2, le=10_000)
    quantile: float = Field(default=0.25, ge=0, le=1)
    unit: bool = True
    seed: int = 0
    level: float = Field(default=0.95, gt=0.5, lt=1)

    @model_validator(mode="after")
    def _distinct(self) -> MiningComparisonPlan:
        for what, names in (("model", [c.name for c in self.conditions]), ("set", [s.name for s in self.sets])):
            if len(set(names)) < len(names):
                raise ValueError(f"a {what} is named twice: {', '.join(names)}")
        return self


def plan_mining_comparison(
    folders: Sequence[Path],
    vary: Mapping[str, Sequence[Setting]] | None = None,
    names: Sequence[str] | None = None,
    **settings: Any,
) -> MiningComparisonPlan:
    """The plan of comparing finished searches.

    `vary` is one setting with its values: every model then stands once per value in the comparison. `names` are short
    names for the runs. Raises UsageError for runs that cannot be read, or whose scores are not comparable.
    """
    searches = [_finished(folder) for folder in folders]
    _check(searches, vary)
    labels = _labels(searches, names)
    conditions, own = _conditions(searches, labels)
    if vary:
        (setting, values), own = next(iter(vary.items())), [""] * len(searches)
        several = len(conditions) > 1
        conditions = [
            ConditionPlan(name=f"{one.name} {setting}={value}" if several else f"{setting}={value}", model=one.model,
                          model_args={**one.model_args, setting: value})
            for one in conditions for value in values
        ]  # fmt: skip
    first = searches[0].plan
    sets = [
        {
            "name": label,
            "condition": condition,
            "prompts": [{"text": text, "variations": some} for text, some in _prompts(search).items()],
        }
        for label, condition, search in zip(labels, own, searches, strict=True)
    ]
    data = {
        **settings, "conditions": conditions, "sets": sets, "vary": next(iter(vary or ()), ""),
        "given": list(dict.fromkeys(text for search in searches for text in search.plan.captions)),
        "embedder": first.embedder, "embedder_args": first.embedder_args, "images": first.images,
        "quantile": first.quantile, "unit": first.is_unit, "seed": derived_seed(first.seed, "fresh"),
    }  # fmt: skip
    return MiningComparisonPlan.checked(data, "this comparison")


def _finished(folder: Path) -> MiningResult:
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    if read_toml(folder / PLAN_FILE).get("method") != MINE.name:
        raise UsageError(f"{folder} is no search for prompts; this needs runs of `askew mine`")
    found = MINE.load(folder)
    if found.plan.objective != BIAS:
        raise UsageError(
            f"{folder} searched for {found.plan.objective}; only searches for bias are compared. `askew rank` scores "
            "prompts on several models by their leans"
        )
    if not _prompts(found):
        raise UsageError(f"{folder} found no prompt that could be scored")
    return found


def _prompts(search: MiningResult) -> dict[str, tuple[str, ...]]:
    """The best prompts of all its searches, each once, with their variations."""
    return {one.prompt: one.variations for one in search.found.minethegap.best if one.variations}


def _check(searches: Sequence[MiningResult], vary: Mapping[str, Sequence[Setting]] | None) -> None:
    if vary is not None and (len(vary) != 1 or len(set(map(str, *vary.values()))) < 2):
        raise UsageError("one setting is varied, over two values or more, such as guidance_scale=1,3,7.5")
    if not searches or (len(searches) < 2 and not vary):
        raise UsageError("a comparison needs two searches or more, or one and a setting to vary (--vary NAME=A,B)")
    first = searches[0]
    for other in searches[1:]:
        differing = [name for name in SAME if getattr(other.plan, name) != getattr(first.plan, name)]
        if differing:
            named = "; ".join(f"{n} {getattr(other.plan, n)}, not {getattr(first.plan, n)}" for n in differing)
            raise UsageError(f"{other.folder} and {first.folder} cannot be compared, since the former has {named}")


def _labels(searches: Sequence[MiningResult], given: Sequence[str] | None) -> list[str]:
    """A name for each run: as given, else its model, with settings or writer where models are the same."""
    if given is not None:
        if len(given) != len(searches) or len(set(given)) != len(given) or not all(name.strip() for name in given):
            raise UsageError(
                f"{len(searches)} runs need {len(searches)} different names, not: {', '.join(given) or 'none'}"
            )
        return list(given)
    plans = [search.plan for search in searches]
    candidates = (
        [plan.model for plan in plans],
        [_with_settings(plan.model, plan.model_args) for plan in plans],
        [f"{plan.model} by {plan.llm}" for plan in plans],
        [search.folder.resolve().name for search in searches],
        [str(search.folder) for search in searches],
    )
    return next((names for names in candidates if len(set(names)) == len(names)), candidates[-1])


def _conditions(searches: Sequence[MiningResult], labels: Sequence[str]) -> tuple[list[ConditionPlan], list[str]]:
    """Every model with its settings once, and by search the name of its own."""
    keys = [(search.plan.model, tuple(sorted(search.plan.model_args.items()))) for search in searches]
    distinct = list(dict.fromkeys(keys))
    if len(distinct) == len(keys):
        names = dict(zip(keys, labels, strict=True))
    else:
        plain = len({model for model, _ in distinct}) == len(distinct)
        names = {key: key[0] if plain else _with_settings(key[0], dict(key[1])) for key in distinct}
    conditions = [ConditionPlan(name=names[key], model=key[0], model_args=dict(key[1])) for key in distinct]
    return conditions, [names[key] for key in keys]


def _with_settings(model: str, settings: Mapping[str, Setting]) -> str:
    return " ".join([model, *(f"{name}={value}" for name, value in sorted(settings.items()))])
