"""What the command line and Python share about attention maps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from askew import registry
from askew.api.audit import default_run
from askew.api.jobs import finished
from askew.errors import UsageError
from askew.jobs.map import ConceptMaps
from askew.plan import DEFAULT_MODEL
from askew.planning.map import NO_MODEL, plan_map
from askew.plans.maps import MapPlan
from askew.presets import with_preset
from askew.results.map import MapResult
from askew.run.opening import looked_at
from askew.run.work import Work

IMAGES = 24
"""Pictures per prompt, unless told otherwise or suggested by the model."""


def map(
    prompts: str | Sequence[str] = (),
    model: str | Sequence[str] | None = None,
    *,
    concept: str | Sequence[str],
    against: str | None = None,
    professions: Sequence[str] | bool = False,
    model_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    images: int | None = None,
    baseline: str | Path | None = None,
    vqa: str | Sequence[str] | None = None,
    vqa_args: Mapping[str, Any] | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> MapResult:
    """Where a model attends to concepts, and how much that overlaps with a word of the prompt (BiasMap).

    `prompts`      one prompt or several, which hold the word `against`
    `model`        the model whose insides are watched: studio or diffusers/ID-OR-PATH; of several, the later ones are
                   held against the first
    `concept`      one or more words, which need not stand in the prompt
    `professions`  True adds the paper's 20, a list its own, each with the paper's prompt and held against itself
    `baseline`     the folder of a finished run, whose first model all models are held against
    `settings`     further fields of `MapPlan`: threshold, tau, definition, branch, level, draws

    The other arguments are those of `askew.audit`. Raises UsageError for a request that cannot be met, other
    AskewErrors where a run fails.
    """
    parts: dict[str, Any] = {"model": model, "vqa": (vqa,) if isinstance(vqa, str) else vqa}
    parts = {name: value for name, value in parts.items() if value is not None}
    chosen = set_up(preset, {**parts, "model_args": dict(model_args or {})}, parts)
    plan = plan_map(
        [prompts] if isinstance(prompts, str) else list(prompts),
        concepts=[concept] if isinstance(concept, str) else list(concept),
        against=against,
        professions=professions,
        images=suggested_images(chosen["models"], chosen["model_args"]) if images is None else images,
        baseline=str(baseline or ""),
        vqa_args=dict(vqa_args or {}),
        seed=seed,
        **chosen,
        **settings,
    )
    return run_map_plan(plan, run, store, progress=progress)


def set_up(preset: str | None, settings: Mapping[str, Any], chosen: Collection[str]) -> dict[str, Any]:
    """`models`, `model_args` and `vqa` of a plan: as chosen, else of a preset, whose embedder maps do not need."""
    parts = with_preset(preset, settings, {"embedder", *chosen})
    model = parts.pop("model", DEFAULT_MODEL)
    return {**parts, "models": [model] if isinstance(model, str) else list(model)}


def suggested_images(models: Sequence[str], settings: Mapping[str, Any]) -> int:
    """Pictures per prompt that suit the first of some models. Raises UsageError if none is named."""
    if not models or not models[0].strip():
        raise UsageError(NO_MODEL)
    suggestion = getattr(registry.model(models[0], **settings), "suggestion", None)
    return IMAGES if suggestion is None else int(suggestion.images)


def run_map_plan(
    plan: MapPlan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> MapResult:
    """Run a plan, or what is left of it, and write results and report into the run folder."""
    folder = Path(run) if run else default_run(plan)
    return finished(ConceptMaps.prepare, plan, folder, store, budget=budget, progress=progress)


def map_work(plan: MapPlan, run: str | Path | None = None, store: str | Path | None = None) -> Work:
    """What running a plan would make and ask. Nothing is made or written."""
    folder = Path(run) if run else default_run(plan)
    with looked_at(plan, folder, store) as session:
        return ConceptMaps.prepare(plan, session).work()
