"""From finished searches to the plan of their comparison. No model is loaded, nothing is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.models.base import Setting
from askew.plan import PLAN_FILE
from askew.plans.mining import BIAS, MinePlan
from askew.plans.mining_comparison import MiningComparisonPlan
from askew.results.file import read_results
from askew.store.keys import derived_seed

SAME = ("images", "variations", "quantile", "is_unit", "embedder", "embedder_args")
"""What decides the size of a score: searches that differ in it cannot be compared."""


@dataclass(frozen=True, slots=True)
class FinishedSearch:
    """A run of `askew mine`: its folder, its plan, and what it found."""

    folder: Path
    plan: MinePlan
    section: Mapping[str, Any]

    @property
    def prompts(self) -> dict[str, Sequence[str]]:
        """The best prompts of all its searches, each once, with their variations."""
        return {one["prompt"]: one["variations"] for one in self.section["best"] if one.get("variations")}


def plan_mining_comparison(
    folders: Sequence[Path],
    vary: Mapping[str, Sequence[Setting]] | None = None,
    names: Sequence[str] | None = None,
    level: float = 0.95,
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
        conditions = [_varied(one, setting, value, len(conditions) > 1) for one in conditions for value in values]
    first = searches[0].plan
    sets = [
        {
            "name": label,
            "condition": condition,
            "prompts": [{"text": text, "variations": some} for text, some in search.prompts.items()],
        }
        for label, condition, search in zip(labels, own, searches, strict=True)
    ]
    data = {
        "conditions": conditions, "sets": sets, "vary": next(iter(vary or ()), ""), "embedder": first.embedder,
        "given": list(dict.fromkeys(text for search in searches for text in search.plan.captions)),
        "embedder_args": first.embedder_args, "images": first.images, "quantile": first.quantile,
        "unit": first.is_unit, "seed": derived_seed(first.seed, "fresh"), "level": level,
    }  # fmt: skip
    return MiningComparisonPlan.checked(data, "this comparison")


def _finished(folder: Path) -> FinishedSearch:
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    results = read_results(folder)
    if results.get("minethegap") is None:
        raise UsageError(f"{folder} is no search for prompts; this needs runs of `askew mine`")
    plan = MinePlan.read(folder / PLAN_FILE)
    if plan.objective != BIAS:
        raise UsageError(f"{folder} searched for {plan.objective}; only searches for bias are compared")
    found = FinishedSearch(folder, plan, results["minethegap"])
    if not found.prompts:
        raise UsageError(f"{folder} found no prompt that could be scored")
    return found


def _check(searches: Sequence[FinishedSearch], vary: Mapping[str, Sequence[Setting]] | None) -> None:
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


def _labels(searches: Sequence[FinishedSearch], given: Sequence[str] | None) -> list[str]:
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


def _conditions(searches: Sequence[FinishedSearch], labels: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Every model with its settings once, and by search the name of its own."""
    keys = [(search.plan.model, tuple(sorted(search.plan.model_args.items()))) for search in searches]
    distinct = list(dict.fromkeys(keys))
    if len(distinct) == len(keys):
        names = dict(zip(keys, labels, strict=True))
    else:
        plain = len({model for model, _ in distinct}) == len(distinct)
        names = {key: key[0] if plain else _with_settings(key[0], dict(key[1])) for key in distinct}
    conditions = [{"name": names[key], "model": key[0], "model_args": dict(key[1])} for key in distinct]
    return conditions, [names[key] for key in keys]


def _varied(condition: Mapping[str, Any], setting: str, value: Setting, several: bool) -> dict[str, Any]:
    name = f"{setting}={value}"
    return {
        "name": f"{condition['name']} {name}" if several else name,
        "model": condition["model"],
        "model_args": {**condition["model_args"], setting: value},
    }


def _with_settings(model: str, settings: Mapping[str, Setting]) -> str:
    return " ".join([model, *(f"{name}={value}" for name, value in sorted(settings.items()))])
