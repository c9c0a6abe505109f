"""A finished run of maps that another one is held against: its scores, read from results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.plan import PLAN_FILE
from askew.plans.maps import MapPlan
from askew.plans.reading import read_plan
from askew.results.file import read_results
from askew.types import Estimate, Missing

Entry = dict[str, Any]

SAME = ("threshold", "tau", "definition", "branch", "vqa", "vqa_args", "seed", "level")
"""Fields of the plan that decide what a score is, or which pictures are pairs."""

RECORDS = tuple((record, {field.name for field in fields(record)}) for record in (Estimate, Missing))


@dataclass(frozen=True, slots=True)
class MapBaseline:
    """The first model of a finished run, under a name that no model of the new run has.

    `pairs` and `risk_difference` are the entries of its results for the new run's prompts and concepts, in their order.
    """

    name: str
    model: Mapping[str, Any]
    pairs: Sequence[Entry]
    risk_difference: Sequence[Entry]


def read_baseline(plan: MapPlan, models: Sequence[str]) -> MapBaseline:
    """The run that `plan` names as its baseline; `models` are the new run's.

    Raises UsageError for a folder without a finished run of maps, or one that was planned otherwise.
    """
    folder = Path(plan.baseline)
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    found = read_plan(folder / PLAN_FILE)
    if not isinstance(found, MapPlan):
        raise UsageError(f"{folder} is a run of the method {found.method!r}; a baseline is a run of `askew map`")
    _check_same(plan, found, folder)
    results = read_results(folder)
    model = results["models"][0]
    name = str(model["name"]) if model["name"] not in models else f"{model['name']} ({folder.resolve().name})"
    parts = {part: [{**restored(entry), "model": name} for entry in results["biasmap"][part]
                    if entry["model"] == model["name"]] for part in ("pairs", "risk_difference")}  # fmt: skip
    wanted = [prompt.text for prompt in plan.prompts]
    pairs = [e for text in wanted for a in plan.concepts for e in parts["pairs"] if (e["prompt"], e["a"]) == (text, a)]
    axes = [[axis.name for axis in prompt.axes] for prompt in plan.prompts]
    risks = [e for text, names in zip(wanted, axes, strict=True) for axis in names
             for e in parts["risk_difference"] if (e["prompt"], e["axis"]) == (text, axis)]  # fmt: skip
    return MapBaseline(name, {**model, "name": name}, pairs, risks)


def restored(node: Any) -> Any:
    """What `write_json` wrote, with Estimates and Missing as the records that they were."""
    if isinstance(node, Mapping):
        kind = next((record for record, names in RECORDS if node.keys() == names), None)
        return {key: restored(value) for key, value in node.items()} if kind is None else kind(**node)
    return [restored(value) for value in node] if isinstance(node, list) else node


def _check_same(plan: MapPlan, found: MapPlan, folder: Path) -> None:
    """Raise UsageError that says in what the baseline was planned otherwise."""
    other = [f"{name} {_shown(getattr(found, name))}, not {_shown(getattr(plan, name))}"
             for name in SAME if getattr(found, name) != getattr(plan, name)]  # fmt: skip
    against = dict(zip((prompt.text for prompt in found.prompts), found.against, strict=True))
    words = zip((prompt.text for prompt in plan.prompts), plan.against, strict=True)
    other += [f"nothing on {prompt!r} against {word!r}" for prompt, word in words if against.get(prompt) != word]
    other += [f"no concept {concept!r}" for concept in plan.concepts if concept not in found.concepts]
    read = {axis.name for prompt in found.prompts for axis in prompt.axes}
    axes = dict.fromkeys(axis.name for prompt in plan.prompts for axis in prompt.axes)
    other += [f"no reading of {axis} but of {', '.join(sorted(read))}" for axis in axes if axis not in read]
    if other:
        raise UsageError(f"{folder} cannot be the baseline of this run, since it has {'; '.join(other)}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
