"""askew classify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import classify as api
from askew.errors import UsageError
from askew.oldcli.base import app, out
from askew.oldcli.options import (
    AsJson,
    Budget,
    DryRun,
    FailIf,
    Label,
    Level,
    Manifest,
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
from askew.plan import DEFAULT_MODEL, read_toml
from askew.planning.classification import parse_stages, plan_classification
from askew.plans.classification import ClassificationPlan
from askew.plans.settings import column_settings, key_values, pairs
from askew.presets import with_preset
from askew.results.condition import CLASSIFICATION, check_conditions, parse_condition

BESIDE_A_PLAN = {"plan", "run", "store", "dry_run", "budget", "fail_if", "as_json"}


@app.command()
def classify(
    context: typer.Context,
    groups: Annotated[str | None, typer.Option(help="Social groups, separated by commas; all of a folder.")] = None,
    model: Annotated[
        str, typer.Option(help="The diffusion model that classifies: studio, diffusers/ID-OR-PATH, …")
    ] = DEFAULT_MODEL,
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as dtype=float16.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    sources: Annotated[
        str | None, typer.Option(help="Where the groups' pictures come from: a model or folder/PATH.")
    ] = None,
    source_arg: Annotated[list[str] | None, typer.Option(help="Setting of that model or folder.")] = None,
    manifest: Manifest = None,
    file_column: Annotated[str | None, typer.Option(help="Manifest column with the file names.")] = None,
    group_column: Annotated[
        str | None, typer.Option("--group-column", "--prompt-column", help="Column or columns that name the group.")
    ] = None,
    label: Label = None,
    where: Annotated[list[str] | None, typer.Option(help="Only rows with COLUMN=VALUE.")] = None,
    targets: Annotated[
        list[str] | None, typer.Option(help="NAME=CLASS,CLASS,… twice: sets to hold against each other.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Classes of which one is right; man,woman if not given, none for none.")
    ] = None,
    truth: Annotated[list[str] | None, typer.Option(help="GROUP=CLASS where its name does not say it.")] = None,
    images: Annotated[int | None, typer.Option(help="Pictures per group: 256, with studio 24.")] = None,
    samples: Annotated[
        str | None, typer.Option(help="Numbers of noise samples: 1,10,100, with studio 1,10,40.")
    ] = None,
    loss: Annotated[str, typer.Option(help="l2, l1 or huber.")] = "l2",
    stage: Annotated[
        list[str] | None, typer.Option(help="10:5 goes on with the 5 best classes after 10 samples.")
    ] = None,
    template: Annotated[str | None, typer.Option(help='What a class is called: "A portrait of {}."')] = None,
    embedder: Annotated[str | None, typer.Option(help="A second classifier: clip/ID-OR-PATH, studio, none.")] = None,
    embedder_arg: Annotated[list[str] | None, typer.Option(help="Setting of the embedder: device=cpu.")] = None,
    vqa: Annotated[str | None, typer.Option(help="Who reads whether the pictures are neutral.")] = None,
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of that instrument.")] = None,
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Annotated[int, typer.Option(help="Random draws per test.")] = 1000,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan, such as a run's plan.toml.")] = None,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    fail_if: FailIf = None,
    as_json: AsJson = False,
) -> None:
    """What a diffusion model takes pictures of social groups for, by its denoising error.

    Examples:

    - `askew classify --groups "man, woman"`

    - `askew classify --groups "caucasian man, caucasian woman" --model diffusers/stabilityai/stable-diffusion-2-1
      --embedder clip/openai/clip-vit-large-patch14`

    - `askew classify --sources folder/faces --targets "a=carpenter,plumber" --targets "b=nurse,secretary"`
    """
    if plan is not None:
        only_plan(context, BESIDE_A_PLAN)
    columns = column_settings(manifest=manifest, file=file_column, prompt_column=group_column, label=label, where=where)
    conditions = [parse_condition(text, CLASSIFICATION) for text in fail_if or ()]
    settings: dict[str, Any] = {
        "model": model, "model_args": model_settings(setting, offload), "vqa": vqa,
        "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "embedder": embedder,
        "embedder_args": key_values(embedder_arg or (), "--embedder-arg"),
    }  # fmt: skip
    made = _read(plan) if plan else plan_classification(
        groups,
        targets={name: listed(words) or [] for name, words in pairs(targets or (), "--targets").items()} or None,
        sources=sources,
        sources_args={**columns, **key_values(source_arg or (), "--source-arg")},
        classes=() if classes == "none" else listed(classes),
        truth=pairs(truth or (), "--truth"),
        images=images,
        samples=_numbers(samples),
        loss=loss,
        stages=parse_stages(stage or ()),
        template=template,
        seed=seed,
        level=level,
        draws=draws,
        **with_preset(preset, settings, given(context)),
    )  # fmt: skip
    if dry_run:
        for line in api.classification_work(made, run, store).lines():
            out.print(line)
        return
    result = api.run_classification(made, run, store, budget=budget, progress=True)
    show(result, as_json)
    check_conditions(conditions, result.results)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """The whole numbers of a list with commas. Raises UsageError."""
    names: Any = listed(text)
    if names is None:
        return None
    if not all(name.isdecimal() for name in names):
        raise UsageError(f"--samples {text!r} must be whole numbers with commas, such as 1,10,100")
    return tuple(int(name) for name in names)


def _read(path: Path) -> ClassificationPlan:
    data = read_toml(path)
    if (method := data.get("method", "audit")) != "classify":
        raise UsageError(
            f"{path} is a plan of the method {method!r}; a plan of a classification says method = 'classify'"
        )
    return ClassificationPlan.checked(data, f"the plan {path}")
