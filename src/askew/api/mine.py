"""What the command line and Python share about searches for prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from askew.api.audit import llm_settings
from askew.jobs.mine import Mining, MiningWork
from askew.plans.mining import MinePlan
from askew.presets import with_preset
from askew.prompts.files import read_prompts
from askew.prompts.llm import tell_usage
from askew.results.mining import MiningResult
from askew.run.opening import run_folder
from askew.run.run import Run
from askew.run.search_progress import SearchMeter, choose, silent
from askew.store.completions import Completions
from askew.store.store import Store, default_store


def mine(
    model: str | None = None,
    *,
    model_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    objective: str = "bias",
    target: str = "",
    llm: str = "lexicon",
    llm_url: str | None = None,
    llm_args: Mapping[str, Any] | None = None,
    embedder: str | None = None,
    iterations: int = 25,
    population: int = 15,
    images: int = 15,
    runs: int = 1,
    baseline: bool = True,
    baseline_prompts: str | Path | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> MiningResult:
    """Search for the prompts that a model is most one-sided on (MineTheGap), and write results and report.

    `model`             studio/planted if neither it nor a `preset` is given: a search makes thousands of pictures
    `preset`            model and embedder by one name, such as sdxl-turbo-clip; those given beside it take precedence
    `objective`         bias, color:NAME, or module:function of (prompt, pictures), whose low values are searched for
    `target`            what prompts and variations are about: people, clothing, style, or any words
    `llm`               who writes prompts, mutations and variations: lexicon, or openai/MODEL of the server at
                        `llm_url`; `llm_args` are its settings
    `population`        prompts in each of the `iterations`; `images` pictures of each
    `runs`              independent searches; `baseline` puts a random search of the same size beside each
    `baseline_prompts`  a file of prompts, one a line, to score beside those found
    `run`               folder of the run, by default runs/mine-MODEL-HASH; the same call goes on in it
    `settings`          further fields of `MinePlan`: selected, mutations, selection, words, variations, quantile,
                        similarity, top, vqa, level, draws, embedder_args

    Raises UsageError for a request that cannot be met, other AskewErrors where a run fails.
    """
    captions = tuple(read_prompts(Path(baseline_prompts))) if baseline_prompts else ()
    parts = {name: value for name, value in (("model", model), ("embedder", embedder)) if value is not None}
    plan = MinePlan.checked({
        **set_up(preset, {**parts, "model_args": dict(model_args or {})}, parts),
        "objective": objective, "target": target, "llm": llm, "llm_args": llm_settings(llm_url, llm_args),
        "iterations": iterations, "population": population, "images": images, "runs": runs,
        "baseline": baseline, "captions": captions, "seed": seed, **settings,
    }, "this request")  # fmt: skip
    return run_mine_plan(plan, run, store, progress=progress)


def set_up(preset: str | None, settings: Mapping[str, Any], chosen: Collection[str]) -> dict[str, Any]:
    """Fields of a plan as chosen, else of a preset, whose VQA answers nothing unless a search asks for one."""
    return with_preset(preset, settings, {"vqa", *chosen})


def run_mine_plan(
    plan: MinePlan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
    tell: Callable[[str], object] | None = None,
) -> MiningResult:
    """Run the plan of a search, or what is left of it, and write results and report into the run folder.

    `tell` is told how much a language model was asked, also where the search does not come to its end.
    """
    folder = Path(run) if run else default_mine_run(plan)
    show = choose() if progress else silent
    meter = SearchMeter(show, plan.runs, plan.iterations, MiningWork(plan).evaluations)
    place = Path(store) if store else default_store(folder)
    with Store(place) as opened:
        session = Run(folder, opened, plan, progress=meter, budget=budget)
        mining = Mining.prepare(plan, session, meter, Completions(place))
        try:
            result = mining()
        finally:
            tell_usage(mining.writer, tell)
        result.write_report()
    return result


def default_mine_run(plan: MinePlan) -> Path:
    """runs/mine-MODEL-HASH."""
    return run_folder(plan.model, plan, "mine-")
