"""askew map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import map as api
from askew.oldcli.base import app, out
from askew.oldcli.options import (
    AsJson,
    Budget,
    DryRun,
    Level,
    Offload,
    Preset,
    PromptFile,
    Prompts,
    RunFolder,
    Seed,
    StoreFolder,
    given,
    listed,
    model_settings,
)
from askew.oldcli.runs import show
from askew.plan import DEFAULT_MODEL
from askew.planning.map import plan_map
from askew.plans.settings import key_values
from askew.prompts.files import read_prompts


@app.command("map")
def map_concepts(
    context: typer.Context,
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    concept: Annotated[list[str] | None, typer.Option(help="A word to look for; may be repeated.")] = None,
    against: Annotated[str | None, typer.Option(help="The word of the prompt to hold them against.")] = None,
    professions: Annotated[bool, typer.Option("--professions", help="Add the 20 professions of the paper.")] = False,
    profession: Annotated[str | None, typer.Option(help="Add these professions, separated by commas.")] = None,
    model: Annotated[
        str,
        typer.Option(help="studio or diffusers/ID-OR-PATH; further ones, after commas, are held against it."),
    ] = DEFAULT_MODEL,
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as guidance_scale=5.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    images: Annotated[int | None, typer.Option(help="Pictures per prompt: 24, if the model suggests no other.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="A finished run, whose model is held against.")] = None,
    threshold: Annotated[str, typer.Option(help="Where a map is high: percentile, max or minmax.")] = "percentile",
    tau: Annotated[float, typer.Option(help="The threshold, 0 to 100.")] = 70.0,
    definition: Annotated[str, typer.Option(help="ovam: any word; daam: words of the prompt.")] = "ovam",
    branch: Annotated[str, typer.Option(help="cond or, with guidance, uncond.")] = "cond",
    vqa: Annotated[str, typer.Option(help="Instruments that read who is shown, with commas.")] = "studio",
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of an instrument: choice=constrained.")] = None,
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Annotated[int, typer.Option(help="Random draws per test.")] = 1000,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Where a model attends to concepts while it makes pictures, and which it attends to in one place (BiasMap).

    Examples:

    - `askew map "a photo of the face of a nurse" --concept gender --concept race --against nurse`

    - `askew map --professions --concept gender --concept race --model studio,diffusers/folder`

    - `askew map --professions --concept gender --model diffusers/mitigated --baseline runs/original`
    """
    parts = {"model": listed(model) or [], "model_args": model_settings(setting, offload), "vqa": listed(vqa)}
    chosen = api.set_up(preset, parts, given(context))
    texts = [*(prompts or ()), *(read_prompts(prompt_file) if prompt_file else ())]
    settings: dict[str, Any] = {
        **chosen, "images": api.suggested_images(chosen["models"], chosen["model_args"]) if images is None else images,
        "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "seed": seed, "level": level, "draws": draws,
        "baseline": str(baseline or ""), "threshold": threshold, "tau": tau, "definition": definition, "branch": branch,
    }  # fmt: skip
    named: Any = listed(profession) or professions
    plan = plan_map(texts, concepts=concept or (), against=against, professions=named, **settings)
    if dry_run:
        for line in api.map_work(plan, run, store).lines():
            out.print(line)
        return
    show(api.run_map_plan(plan, run, store, budget=budget, progress=True), as_json)
