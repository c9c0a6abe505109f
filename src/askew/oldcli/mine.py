"""askew mine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from askew.api import mine as api
from askew.api.audit import llm_settings
from askew.errors import UsageError
from askew.jobs.mine import MiningWork
from askew.oldcli.base import app, out
from askew.oldcli.options import (
    AsJson,
    Budget,
    Draws,
    Level,
    LlmArg,
    LlmUrl,
    Offload,
    Preset,
    RunFolder,
    Seed,
    Selected,
    StoreFolder,
    given,
    model_settings,
    only_plan,
)
from askew.oldcli.runs import show
from askew.oldcli.writing import tell
from askew.plans.mining import MinePlan, read_mine_plan
from askew.plans.settings import key_values
from askew.prompts.files import read_prompts

BESIDE_A_PLAN = {"plan", "run", "store", "dry_run", "budget", "as_json"}


@app.command()
def mine(
    context: typer.Context,
    model: Annotated[str, typer.Option(help="The model under audit: studio/planted, …")] = "studio/planted",
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as bias=0.5.")] = None,
    offload: Offload = False,
    preset: Preset = None,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan, such as plan.toml of a run.")] = None,
    objective: Annotated[str, typer.Option(help="What to search for: bias, color:red, module:function.")] = "bias",
    target: Annotated[str, typer.Option(help="people, clothing, style or any words; empty is anything.")] = "",
    llm: Annotated[str, typer.Option(help="Who writes prompts, mutations and variations.")] = "lexicon",
    llm_url: LlmUrl = None,
    llm_arg: LlmArg = None,
    embedder: Annotated[str, typer.Option(help="Embedder of pictures and variations.")] = "studio",
    embedder_arg: Annotated[list[str] | None, typer.Option(help="Setting of the embedder: device=cpu.")] = None,
    vqa: Annotated[str, typer.Option(help="Who answers OpenBias's questions about the prompts found.")] = "none",
    iterations: Annotated[int, typer.Option(help="Iterations of each search.")] = 25,
    population: Annotated[int, typer.Option(help="Prompts in each iteration.")] = 15,
    selected: Annotated[int, typer.Option(help="Best prompts of an iteration that are mutated.")] = 5,
    mutations: Annotated[int, typer.Option(help="Mutations of each; random prompts fill the rest.")] = 2,
    selection: Selected = "score",
    words: Annotated[str, typer.Option(help="Least and greatest number of words of a prompt.")] = "3-8",
    images: Annotated[int, typer.Option(help="Pictures per prompt.")] = 15,
    variations: Annotated[int, typer.Option(help="Variations per prompt.")] = 15,
    quantile: Annotated[float, typer.Option(help="Alpha of the score.")] = 0.25,
    similarity: Annotated[str, typer.Option(help="cosine, unit ((1 + cosine) / 2), or auto.")] = "auto",
    top: Annotated[int, typer.Option(help="Best prompts of a search, scored again on fresh seeds.")] = 5,
    runs: Annotated[int, typer.Option(help="Independent searches.")] = 1,
    baseline: Annotated[bool, typer.Option(help="A random search of the same size beside each.")] = True,
    baseline_prompts: Annotated[Path | None, typer.Option(help="A file of prompts to score beside them.")] = None,
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Draws = 1000,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be made at most, and stop.")] = False,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Search for the prompts that a model is most one-sided on.

    Examples:

    - `askew mine --model studio/planted --iterations 10`

    - `askew mine --target people --runs 10`

    - `askew mine --objective color:blue --iterations 4 --population 9 --selected 3`
    """
    settings: dict[str, Any] = {
        "model": model, "model_args": model_settings(setting, offload), "objective": objective, "target": target,
        "llm": llm, "llm_args": llm_settings(llm_url, key_values(llm_arg or (), "--llm-arg")), "embedder": embedder,
        "embedder_args": key_values(embedder_arg or (), "--embedder-arg"), "vqa": vqa, "iterations": iterations,
        "population": population, "selected": selected, "mutations": mutations, "selection": selection,
        "words": _range(words),
        "images": images, "variations": variations, "quantile": quantile, "similarity": similarity, "top": top,
        "runs": runs, "baseline": baseline, "seed": seed, "level": level, "draws": draws,
        "captions": tuple(read_prompts(baseline_prompts)) if baseline_prompts else (),
    }  # fmt: skip
    if plan is not None:
        only_plan(context, BESIDE_A_PLAN)
    settings = api.set_up(preset, settings, given(context))
    made = read_mine_plan(plan) if plan else MinePlan.checked(settings, "this request")
    if dry_run:
        for line in MiningWork(made).lines():
            out.print(line)
        return
    if made.runs_code:
        sys.path.insert(0, str(Path.cwd()))  # where `python -m` would look, too
    show(api.run_mine_plan(made, run, store, budget=budget, progress=True, tell=tell), as_json)


def _range(text: str) -> tuple[int, int]:
    least, dash, most = text.partition("-")
    if not (least.isdecimal() and most.isdecimal() and dash):
        raise UsageError(f"--words is {text!r}; write the least and the greatest number, such as 3-8")
    return int(least), int(most)
