"""askew interact, and what can be asked of its runs: robustness, graphs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import interact as api
from askew.api.audit import collect_prompts
from askew.errors import UsageError
from askew.oldcli.base import app, out
from askew.oldcli.options import (
    AsJson,
    Axes,
    Budget,
    Clean,
    Draws,
    DryRun,
    Existing,
    FailIf,
    Label,
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
from askew.plan import DEFAULT_MODEL
from askew.planning.interactions import plan_interactions
from askew.plans.interactions import InteractionPlan
from askew.plans.reading import read_plan
from askew.plans.settings import column_settings, key_values, pairs
from askew.presets import with_preset
from askew.report.terminal import robustness_table
from askew.results.condition import INTERACTIONS, check_conditions, parse_condition
from askew.results.interactions import InteractionResult

BESIDE_A_PLAN = {"plan", "dot", "graphml", "run", "store", "dry_run", "budget", "fail_if", "as_json"}


@app.command()
def interact(
    context: typer.Context,
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    clean: Clean = False,
    occupations: Annotated[bool, typer.Option("--occupations", help="Add BiasConnect's 26 occupations.")] = False,
    occupation: Annotated[str | None, typer.Option(help="Add these occupations, separated by commas.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan, such as a run's plan.toml.")] = None,
    model: Annotated[str, typer.Option(help="The model, as for audit.")] = DEFAULT_MODEL,
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as bias=0.5.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    images: Annotated[int | None, typer.Option(help="Pictures per prompt: 48, with studio 24, if not given.")] = None,
    axes: Axes = None,
    ideal: Annotated[
        list[str] | None,
        typer.Option(help="Shares to hold against: uniform, bls-2022, a CSV, a run's folder, AXIS=VALUE:SHARE,…"),
    ] = None,
    distance: Annotated[str, typer.Option(help="auto (by the axis's scale), ordinal, nominal or values.")] = "auto",
    threshold: Annotated[float | None, typer.Option(help="p below which there is an edge.")] = None,
    open_answers: Annotated[
        bool, typer.Option("--open-answers", help="Take the concepts in any answer instead of the axes' values.")
    ] = False,
    vqa: Annotated[
        str | None, typer.Option(help="The instrument, labels for a folder, else studio; clip/ID,labels corrects it.")
    ] = None,
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of the instrument: choice=constrained.")] = None,
    as_read: Annotated[
        bool, typer.Option("--as-read", help="Do not correct for what is known of the instrument's errors.")
    ] = False,
    llm: Llm = "lexicon",
    llm_url: LlmUrl = None,
    llm_arg: LlmArg = None,
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Draws = 1000,
    manifest: Manifest = None,
    prompt_column: Annotated[str | None, typer.Option(help="Column or columns that name the prompt.")] = None,
    label: Label = None,
    alias: Annotated[list[str] | None, typer.Option(help="Read a label as another: both=missing.")] = None,
    joint: Annotated[
        list[str] | None, typer.Option(help="Two or three axes whose joint shares are wanted; may be repeated.")
    ] = None,
    joint_ideal: Annotated[
        list[str] | None, typer.Option(help="Joint shares to hold against: a CSV, AXIS,AXIS=VALUE/VALUE:SHARE,…")
    ] = None,
    mitigated: Annotated[
        list[str] | None,
        typer.Option(help="Model or run to validate against: AXIS=NAME, or with {axis} for the mitigated axis."),
    ] = None,
    mitigated_arg: Annotated[list[str] | None, typer.Option(help="Setting of the model: equal={axis}.")] = None,
    mixture: Annotated[bool, typer.Option("--mixture", help="Plan the mixture of prompts against all biases.")] = False,
    mixture_prompts: Annotated[int, typer.Option(help="The most prompts of the mixture; 0 is no limit.")] = 0,
    mixture_worsening: Annotated[
        float | None, typer.Option(help="How much further from its ideal any axis may get; no limit if not given.")
    ] = None,
    mixture_images: Annotated[int, typer.Option(help="Draw so many pictures of the mixture and measure them.")] = 0,
    dot: Annotated[Path | None, typer.Option(help="Write the graph for Graphviz to this file.")] = None,
    graphml: Annotated[Path | None, typer.Option(help="Write the graph as GraphML to this file.")] = None,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    fail_if: FailIf = None,
    as_json: AsJson = False,
) -> None:
    """How biases pull on each other: which axes move when one is made equal (BiasConnect).

    Examples:

    - `askew interact "a photo of a nurse"`

    - `askew interact --occupations --model studio/planted --ideal bls-2022`

    - `askew interact --prompts prompts.txt --axes gender,age,clothing --dot graph.dot`
    """
    if plan is not None:
        only_plan(context, BESIDE_A_PLAN)
    columns = column_settings(manifest=manifest, prompt_column=prompt_column, label=label)
    conditions = [parse_condition(text, INTERACTIONS) for text in fail_if or ()]
    texts = collect_prompts(prompts or (), prompt_file, clean)
    texts += api.prompts_of_occupations(occupations) + api.prompts_of_occupations(listed(occupation) or ())
    settings: dict[str, Any] = {
        "model": model, "model_args": {**columns, **model_settings(setting, offload)}, "vqa": listed(vqa),
        "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "llm": llm, "seed": seed, "level": level, "draws": draws,
        "aliases": pairs(alias or (), "--alias"), "distance": distance, "as_read": as_read,
        "mitigated_args": key_values(mitigated_arg or (), "--mitigated-arg"),
        "mixture": mixture, "mixture_prompts": mixture_prompts, "mixture_worsening": mixture_worsening,
        "mixture_images": mixture_images, "joint": tuple(tuple(group.split(",")) for group in joint or ()),
        **({"images": images} if images is not None else {}),
        **({"threshold": threshold} if threshold is not None else {}),
    }  # fmt: skip
    settings = with_preset(preset, settings, given(context))
    asked: dict[str, Any] = {
        "axes": listed(axes), "ideal": ideal or (), "open_answers": open_answers, "joint_ideal": joint_ideal or (),
        "mitigated": mitigated or (),
    }  # fmt: skip
    made = (
        _read(plan) if plan else plan_interactions(texts, **asked, **writing(llm_url, llm_arg, run, store), **settings)
    )
    if dry_run:
        for line in api.interaction_work(made, run, store).lines():
            out.print(line)
        if made.mixture_images:
            out.print(f"mixture     of these {made.mixture_images} a prompt at most, whose prompts the others decide")
        return
    result = api.run_interactions(made, run, store, budget=budget, progress=True)
    show(result, as_json)
    _export(result, dot, graphml)
    check_conditions(conditions, result.results)


@app.command()
def robustness(
    run: Existing,
    store: StoreFolder = None,
    repeats: Annotated[int, typer.Option(min=1, help="Simulations per number of pictures and error rate.")] = 3,
    as_json: AsJson = False,
) -> None:
    """How much a run's graph of interactions would change with fewer pictures, or with errors of its VQA.

    Example: `askew robustness runs/mine`
    """
    rows = api.robustness(run, store, repeats)
    out.print_json(json.dumps(rows)) if as_json else out.print(robustness_table(rows))


@app.command()
def graphs(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs of interactions.", show_default=False)],
    names: Annotated[str | None, typer.Option(help="A short name for each run, separated by commas.")] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="The page to write; graphs.html beside the first run.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the graph of all models as JSON.")] = False,
) -> None:
    """Graphs of interactions of several models side by side, on one layout, and one graph of all of them together.

    Example: `askew graphs runs/base runs/new --names base,new`
    """
    found = api.graphs(*runs, names=listed(names), to=to)
    if as_json:
        sys.stdout.write(found.results.read_text(encoding="utf-8"))
        return
    out.print(found.table())
    out.print(f"page: {found.page.resolve()}", soft_wrap=True, markup=False, highlight=False)


def _export(result: InteractionResult, dot: Path | None, graphml: Path | None) -> None:
    if dot:
        result.write_dot(dot)
    if graphml:
        result.write_graphml(graphml)


def _read(path: Path) -> InteractionPlan:
    plan = read_plan(path)
    if not isinstance(plan, InteractionPlan):
        raise UsageError(
            f"{path} is a plan of the method {plan.method!r}; a plan of interactions says method = 'interact'"
        )
    return plan
