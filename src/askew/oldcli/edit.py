"""askew edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import edit as api
from askew.errors import UsageError
from askew.oldcli.base import app, out
from askew.oldcli.options import (
    AsJson,
    Budget,
    Draws,
    DryRun,
    FailIf,
    Label,
    Level,
    Offload,
    Preset,
    RunFolder,
    Seed,
    StoreFolder,
    given,
    listed,
    model_settings,
    only_plan,
)
from askew.oldcli.runs import show
from askew.planning.editing import plan_editing
from askew.plans.editing import EditPlan
from askew.plans.reading import read_plan
from askew.plans.settings import column_settings, key_values, pairs
from askew.presets import with_preset
from askew.results.condition import EDITING, check_conditions, parse_condition

BESIDE_A_PLAN = {"plan", "run", "store", "dry_run", "budget", "fail_if", "as_json"}


@app.command()
def edit(
    context: typer.Context,
    groups: Annotated[
        str | None, typer.Option(help="Social groups, with commas; all of a folder if not given.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model that edits: studio, diffusers/ID-OR-PATH.")] = "studio",
    setting: Annotated[
        list[str] | None, typer.Option("-M", help="Setting of the model: num_inference_steps=30.")
    ] = None,
    edit_arg: Annotated[list[str] | None, typer.Option(help="The same while it edits: guidance_scale=7.5.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    targets: Annotated[
        list[str] | None, typer.Option(help="What to edit towards: high-paid=doctor,CEO; may be repeated.")
    ] = None,
    strengths: Annotated[str, typer.Option(help="How much is redrawn, from 0 to 1, with commas.")] = "0.6,0.8,1.0",
    images: Annotated[int, typer.Option(help="Pictures of each group that are edited.")] = 25,
    sources: Annotated[
        str, typer.Option(help="Where the groups' pictures come from: folder/PATH, a model; the model if not given.")
    ] = "",
    source_arg: Annotated[list[str] | None, typer.Option(help="Setting of the sources: bias=0.")] = None,
    manifest: Annotated[Path | None, typer.Option(help="CSV that describes the folder's pictures.")] = None,
    file_column: Annotated[str | None, typer.Option(help="Manifest column with the file names.")] = None,
    group_column: Annotated[
        str | None, typer.Option("--group-column", "--prompt-column", help="Column or columns that name the group.")
    ] = None,
    label: Label = None,
    where: Annotated[list[str] | None, typer.Option(help="Only rows with COLUMN=VALUE.")] = None,
    side: Annotated[int, typer.Option(help="Crop to a square and resize to so many pixels; 0: as they are.")] = 0,
    axes: Annotated[str | None, typer.Option(help="What is read from source and edit, with commas.")] = None,
    vqa: Annotated[str, typer.Option(help="Instruments, with commas.")] = "studio",
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of an instrument.")] = None,
    embedder: Annotated[str, typer.Option(help="For the likeness of source and edit; none leaves it out.")] = "studio",
    embedder_arg: Annotated[list[str] | None, typer.Option(help="Setting of the embedder: device=cpu.")] = None,
    landmarks: Annotated[
        str | None, typer.Option(help="Who finds faces for average faces: faces, studio or none.")
    ] = None,
    alignment: Annotated[
        str, typer.Option(help="How faces are laid on each other: similarity, or piecewise (every landmark in place).")
    ] = "similarity",
    skin: Annotated[str, typer.Option(help="rule (by colour) or geometry (the cheeks).")] = "rule",
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Draws = 1000,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan, such as a run's plan.toml.")] = None,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    fail_if: FailIf = None,
    as_json: AsJson = False,
) -> None:
    """Edit pictures of social groups towards targets, and measure what changes: perceived gender, skin tone, likeness.

    Examples:

    - `askew edit --groups "caucasian man, african-american woman"`

    - `askew edit --groups "white woman, black woman" --targets "high=doctor,CEO" --targets "low=cleaner,maid"`

    - `askew edit --model diffusers/stable-diffusion-v1-5/stable-diffusion-v1-5 --sources folder/faces
      --group-column race,gender --side 512 --vqa clip/openai/clip-vit-large-patch14
      --embedder clip/openai/clip-vit-large-patch14 --landmarks faces`
    """
    if plan is not None:
        only_plan(context, BESIDE_A_PLAN)
    columns = column_settings(manifest=manifest, file=file_column, prompt_column=group_column, label=label, where=where)
    conditions = [parse_condition(text, EDITING) for text in fail_if or ()]
    settings: dict[str, Any] = {
        "model": model, "model_args": model_settings(setting, offload), "vqa": listed(vqa),
        "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "embedder": embedder,
        "embedder_args": key_values(embedder_arg or (), "--embedder-arg"),
    }  # fmt: skip
    made = _read(plan) if plan else plan_editing(
        groups, targets=_targets(targets), axes=listed(axes), landmarks=landmarks, alignment=alignment,
        skin=skin, side=side,
        strengths=_strengths(strengths), images=images, sources=sources,
        sources_args={**columns, **key_values(source_arg or (), "--source-arg")},
        edit_args=key_values(edit_arg or (), "--edit-arg"), seed=seed, level=level, draws=draws,
        **with_preset(preset, settings, given(context)),
    )  # fmt: skip
    if dry_run:
        for line in api.editing_work(made, run, store).lines():
            out.print(line)
        return
    result = api.run_editing(made, run, store, budget=budget, progress=True)
    show(result, as_json)
    check_conditions(conditions, result.results)


def _targets(options: list[str] | None) -> dict[str, list[str]] | None:
    return {name: listed(words) or [] for name, words in pairs(options, "--targets").items()} if options else None


def _strengths(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in listed(text) or ())
    except ValueError as error:
        raise UsageError(
            f"--strengths {text!r}: numbers from 0 to 1 with commas are wanted, such as 0.6,0.8"
        ) from error


def _read(path: Path) -> EditPlan:
    plan = read_plan(path)
    if not isinstance(plan, EditPlan):
        raise UsageError(f"{path} is a plan of the method {plan.method!r}; a plan of edits says method = 'edit'")
    return plan
