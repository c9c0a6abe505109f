"""A finished run of maps that another one is held against: its scores, read from results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from askew import findings
from askew.errors import UsageError
from askew.findings import RESULTS_FILE, Identity
from askew.methods.map.findings import MapFindings, Pair, RiskDifference
from askew.methods.map.plan import MapPlan
from askew.plan import PLAN_FILE, read_toml

SAME = ("threshold", "tau", "definition", "branch", "vqa", "vqa_args", "seed", "level")
"""Fields of the plan that decide what a score is, or which pictures are pairs."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The first model of a finished run, under a name that no model of the new run has.

    `pairs` and `risks` are its scores of the new run's prompts and concepts, in their order.
    """

    model: Identity
    pairs: tuple[Pair, ...]
    risks: tuple[RiskDifference, ...]

    @property
    def name(self) -> str:
        """What the model is called in the new run."""
        return self.model.name


def read_baseline(plan: MapPlan, models: Sequence[str]) -> Baseline:
    """The run that `plan` names as its baseline; `models` are the new run's.

    Raises UsageError for a folder without a finished run of maps, or one that was planned otherwise.
    """
    folder = Path(plan.baseline)
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    data = read_toml(folder / PLAN_FILE)
    if (method := data.get("method", "audit")) != "map":
        raise UsageError(f"{folder} is a run of the method {method!r}; a baseline is a run of `askew map`")
    _check_same(plan, MapPlan.checked(data, f"the plan {folder / PLAN_FILE}"), folder)
    found = findings.read(MapFindings, folder / RESULTS_FILE)
    model = found.models[0]
    name = model.name if model.name not in models else f"{model.name} ({folder.resolve().name})"
    pairs = {(p.prompt, p.a): replace(p, model=name) for p in found.biasmap.pairs if p.model == model.name}
    risks = {(r.prompt, r.axis): replace(r, model=name) for r in found.biasmap.risk_difference if r.model == model.name}
    wanted = [(prompt.text, axis.name) for prompt in plan.prompts for axis in prompt.axes]
    return Baseline(
        replace(model, name=name),
        tuple(pairs[prompt.text, a] for prompt in plan.prompts for a in plan.concepts if (prompt.text, a) in pairs),
        tuple(risks[place] for place in wanted if place in risks),
    )


def _check_same(plan: MapPlan, found: MapPlan, folder: Path) -> None:
    """Raise UsageError that says in what the baseline was planned otherwise."""
    other = [
        f"{name} {_shown(getattr(found, name))}, not {_shown(getattr(plan, name))}"
        for name in SAME
        if getattr(found, name) != getattr(plan, name)
    ]
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
