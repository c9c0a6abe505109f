"""What the command line and Python share about edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askew.api.jobs import finished
from askew.jobs.edit import Editing
from askew.planning.editing import plan_editing
from askew.plans.editing import EditPlan
from askew.plans.settings import column_settings
from askew.presets import with_preset
from askew.results.editing import EditingResult
from askew.run.opening import looked_at, run_folder
from askew.run.work import Work


def edit(
    groups: str | Sequence[str] | None = None,
    model: str | None = None,
    *,
    targets: Mapping[str, Sequence[str]] | None = None,
    strengths: Sequence[float] = (0.6, 0.8, 1.0),
    sources: str = "",
    sources_args: Mapping[str, Any] | None = None,
    manifest: str | Path | None = None,
    side: int = 0,
    model_args: Mapping[str, Any] | None = None,
    edit_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    images: int = 25,
    axes: Sequence[str] | None = None,
    vqa: str | Sequence[str] | None = None,
    vqa_args: Mapping[str, Any] | None = None,
    embedder: str | None = None,
    embedder_args: Mapping[str, Any] | None = None,
    landmarks: str | None = None,
    alignment: str = "similarity",
    skin: str = "rule",
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> EditingResult:
    """Edit pictures of social groups towards targets, measure what changes, and write results and report.

    `groups`     such as "caucasian man, african-american woman"; None means all groups of a collection
    `model`      the model that edits, the embedded studio by default; `model_args` are its settings
    `targets`    words to edit towards by the name of their set; by default the paper's high-paid and low-paid
                 professions. Every set holds two or more
    `strengths`  how much is redrawn, from 0 to 1
    `sources`    where the groups' pictures come from: "" has the model make them; a model; or a collection such as
                 folder/PATH, whose prompts are the groups. `sources_args` are its settings, `manifest` its CSV
    `side`       crop the pictures to a square and resize them to so many pixels; 0 takes them as they are
    `edit_args`  settings of the model while it edits: num_inference_steps, guidance_scale, …
    `images`     pictures per group that are edited
    `axes`       what else is read from source and edit, by default the eight axes of BiasConnect
    `embedder`   for the likeness of source and edit; "none" leaves it out
    `landmarks`  who finds faces for average faces: faces (an extra), studio, none; None is studio for its drawings
    `alignment`  similarity: faces are turned, scaled and shifted; piecewise: also warped, every landmark in its place
    `skin`       rule: pixels with the colour of skin, as in the paper; geometry: the cheeks, whatever their colour
    `settings`   further fields of `EditPlan`: level, draws

    The other arguments are those of `askew.audit`. Raises UsageError for a request that cannot be met, other
    AskewErrors where a run fails.
    """
    parts: dict[str, Any] = {"model": model, "vqa": (vqa,) if isinstance(vqa, str) else vqa, "embedder": embedder}
    chosen = {name: value for name, value in parts.items() if value is not None}
    chosen |= {"model_args": dict(model_args or {}), "vqa_args": dict(vqa_args or {})}
    chosen["embedder_args"] = dict(embedder_args or {})
    fields = with_preset(preset, chosen, chosen)
    columns = column_settings(Path(manifest) if manifest else None)
    plan = plan_editing(
        groups,
        targets=targets,
        strengths=tuple(strengths),
        sources=sources,
        sources_args={**columns, **(sources_args or {})},
        side=side,
        edit_args=dict(edit_args or {}),
        images=images,
        axes=axes,
        landmarks=landmarks,
        alignment=alignment,
        skin=skin,
        seed=seed,
        **fields,
        **settings,
    )
    return run_editing(plan, run, store, progress=progress)


def run_editing(
    plan: EditPlan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> EditingResult:
    """Run a plan, or what is left of it, and write results and report into the run folder."""
    folder = Path(run) if run else default_folder(plan)
    return finished(Editing.prepare, plan, folder, store, budget=budget, progress=progress)


def editing_work(plan: EditPlan, run: str | Path | None = None, store: str | Path | None = None) -> Work:
    """What running a plan would make and ask. Nothing is made or written."""
    folder = Path(run) if run else default_folder(plan)
    with looked_at(plan, folder, store) as session:
        return Editing.prepare(plan, session).work()


def default_folder(plan: EditPlan) -> Path:
    """runs/edit-GROUP-HASH, from the first group and the plan's hash."""
    return run_folder(plan.groups[0], plan, "edit-", "groups")
