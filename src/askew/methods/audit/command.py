"""askew audit, and the preview of what it would ask."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import audit as api
from askew.oldcli.base import app, err, out
from askew.oldcli.options import (
    AsJson,
    Axes,
    Budget,
    Clean,
    Draws,
    DryRun,
    Level,
    Llm,
    LlmArg,
    LlmUrl,
    Manifest,
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
    only_plan,
)
from askew.oldcli.runs import show
from askew.oldcli.writing import writing
from askew.parts.survey.propose import survey_plan
from askew.plan import DEFAULT_MODEL
from askew.plans.reading import read_plan
from askew.plans.settings import column_settings, key_values, pairs
from askew.presets import with_preset
from askew.report.terminal import default_size, plan_preview
from askew.results.condition import check_conditions, parse_condition

BESIDE_A_PLAN = {"plan", "run", "store", "dry_run", "budget", "fail_if", "as_json"}


@app.command()
def audit(
    context: typer.Context,
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    clean: Clean = False,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan; made by `askew axes`.")] = None,
    model: Annotated[
        str, typer.Option(help="The model under audit: studio, studio/planted, diffusers/ID-OR-PATH, folder/PATH, …")
    ] = DEFAULT_MODEL,
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as bias=0.5.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    images: Annotated[int | None, typer.Option(help="Pictures per prompt: 48, with studio 24, if not given.")] = None,
    axes: Axes = None,
    vqa: Annotated[str | None, typer.Option(help="Instruments, with commas; labels for a folder, else studio.")] = None,
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of an instrument: choice=constrained.")] = None,
    embedder: Annotated[str, typer.Option(help="Embedder for CAS^CLIP; none leaves it out.")] = "studio",
    embedder_arg: Annotated[list[str] | None, typer.Option(help="Setting of the embedder: device=cpu.")] = None,
    llm: Llm = "lexicon",
    llm_url: LlmUrl = None,
    llm_arg: LlmArg = None,
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Draws = 1000,
    variant: Annotated[str, typer.Option(help="paper or code: whose definition of the scores.")] = "paper",
    manifest: Manifest = None,
    file_column: Annotated[str | None, typer.Option(help="Manifest column with the file names.")] = None,
    prompt_column: Annotated[str | None, typer.Option(help="Column or columns that name the prompt.")] = None,
    condition: Annotated[str | None, typer.Option(help="Column of the condition.")] = None,
    initial: Annotated[str | None, typer.Option(help="The condition that is the initial one.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="AXIS=COLUMN of a person's labels.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="Only rows with COLUMN=VALUE.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop if a file of the manifest is absent.")] = False,
    alias: Annotated[list[str] | None, typer.Option(help="Read a label as another: both=missing.")] = None,
    values: Annotated[list[str] | None, typer.Option(help="Values of an axis: ethnicity=white,black.")] = None,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    fail_if: Annotated[list[str] | None, typer.Option(help='Exit with 3 if it holds: "mad.corrected > 0.3".')] = None,
    as_json: AsJson = False,
) -> None:
    """Audit prompts on a model, or pictures that you already have.

    Examples:

    - `askew audit "a photo of a nurse"`

    - `askew audit "a photo of a chef" --model studio/planted -M bias=0.5 --images 24`

    - `askew audit "a photo of a nurse" --preset sdxl-turbo-clip`

    - `askew audit --prompts prompts.txt --run runs/mine --dry-run`

    - `askew audit --model folder/pictures --manifest labels.csv --vqa labels --prompt-column occupation
      --condition condition --initial baseline`
    """
    columns = column_settings(manifest=manifest, file=file_column, prompt_column=prompt_column, condition=condition,
                              initial=initial, label=label, where=where)  # fmt: skip
    conditions = [parse_condition(text) for text in fail_if or ()]
    texts = api.collect_prompts(prompts or (), prompt_file, clean)
    settings: dict[str, Any] = {
        "model": model,
        "model_args": {**columns, **({"strict": True} if strict else {}), **model_settings(setting, offload)},
        **({"images": images} if images is not None else {}),
        "vqa": listed(vqa), "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "llm": llm, "seed": seed,
        "embedder": embedder, "embedder_args": key_values(embedder_arg or (), "--embedder-arg"),
        "level": level, "draws": draws, "variant": variant,
        "aliases": pairs(alias or (), "--alias"),
        "values": {k: tuple(v.split(",")) for k, v in pairs(values or (), "--values").items()},
    }  # fmt: skip
    if plan is not None:
        only_plan(context, BESIDE_A_PLAN)
    settings = with_preset(preset, settings, given(context))
    texting = writing(llm_url, llm_arg, run, store)
    made = read_plan(plan) if plan else survey_plan(texts, axes=listed(axes), **texting, **settings)
    if dry_run:
        for line in api.work(made, run, store).lines():
            out.print(line)
        return
    if plan is None and (images is None or axes is None) and len(made.texts()) > len(made.prompts):
        err.print(default_size(made), soft_wrap=True, highlight=False)
    result = api.run_plan(made, run, store, budget=budget, progress=True)
    show(result, as_json)
    check_conditions(conditions, result.results)


@app.command("axes")
def preview(
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    clean: Clean = False,
    axes: Axes = None,
    llm: Llm = "lexicon",
    llm_url: LlmUrl = None,
    llm_arg: LlmArg = None,
    seed: Seed = 0,
    store: StoreFolder = None,
    to: Annotated[Path | None, typer.Option("--to", help="Write a TOML plan here, to edit and run.")] = None,
) -> None:
    """Preview the axes, counterfactual prompts and questions of an audit.

    Examples:

    - `askew axes "a photo of a nurse"`

    - `askew axes "a photo of a nurse" --to plan.toml`, edit it, then `askew audit --plan plan.toml`
    """
    texts = api.collect_prompts(prompts or (), prompt_file, clean)
    plan = survey_plan(texts, axes=listed(axes), llm=llm, seed=seed, **writing(llm_url, llm_arg, None, store))
    if to is not None:
        api.write_plan(plan, to)
        out.print(f"plan: {to}", soft_wrap=True)
        return
    out.print(plan_preview(plan))
