"""What the command line and Python share about interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askew.api.audit import default_completions, default_run, llm_settings
from askew.api.jobs import finished
from askew.errors import UsageError
from askew.jobs.graphs import ModelGraphs, graphs_of_models
from askew.jobs.interact import Interaction
from askew.plan import PLAN_FILE
from askew.planning.interactions import plan_interactions
from askew.plans.interactions import InteractionPlan
from askew.plans.reading import read_plan
from askew.plans.settings import column_settings
from askew.presets import with_preset
from askew.prompts.biasconnect import OCCUPATIONS, occupation_prompts
from askew.results.file import read_results
from askew.results.interactions import InteractionResult
from askew.run.opening import looked_at
from askew.run.work import Work
from askew.store.completions import Completions


def interact(
    prompts: str | Sequence[str] = (),
    model: str | None = None,
    *,
    occupations: Sequence[str] | bool = False,
    model_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    images: int | None = None,
    axes: Sequence[str] | None = None,
    ideal: str | Sequence[str] = (),
    distance: str = "auto",
    open_answers: bool = False,
    joint_ideal: str | Sequence[str] = (),
    mitigated: str | Sequence[str] = (),
    vqa: str | Sequence[str] | None = None,
    vqa_args: Mapping[str, Any] | None = None,
    llm: str = "lexicon",
    llm_url: str | None = None,
    llm_args: Mapping[str, Any] | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    manifest: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> InteractionResult:
    """Measure how biases pull on each other (BiasConnect), and write results and report.

    Pictures that an audit with the same store has made are used again.

    `prompts`       one prompt or several; may be empty for a collection such as `folder/PATH`
    `occupations`   True adds a prompt for each of BiasConnect's 26 occupations, a list for each of its own
    `ideal`         shares that pictures should have: "uniform"; a table such as "bls-2022" or a CSV file with a column
                    occupation or prompt, and axis, value, share; the folder of a finished run, whose initial pictures
                    give them; or AXIS=VALUE:SHARE,VALUE:SHARE. Of several, a later one precedes
    `distance`      from the ideal: "auto" by the axis's scale, "ordinal", "nominal", or "values"
    `open_answers`  ask for any answer instead of the axes' values, and take the concepts in it, as TIBET does
    `joint_ideal`   shares that combinations of values should have, for the axes named by `joint`: a CSV file with a
                    column per axis and share, or AXIS,AXIS=VALUE/VALUE:SHARE,…
    `mitigated`     what the estimates are held against: AXIS=NAME of a model or a finished run's folder, or a name with
                    {axis} in it, or in `mitigated_args`
    `settings`      further fields of `InteractionPlan`: level, draws, threshold, as_read, joint, mixture_images, …

    The other arguments are those of `askew.audit`. Raises UsageError for a request that cannot be met, other
    AskewErrors where a run fails.
    """
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    texts += prompts_of_occupations(occupations)
    parts: dict[str, Any] = {"model": model, "vqa": (vqa,) if isinstance(vqa, str) else vqa, "images": images}
    chosen = {name: value for name, value in parts.items() if value is not None}
    chosen["model_args"] = {**column_settings(Path(manifest) if manifest else None), **(model_args or {})}
    chosen["vqa_args"] = dict(vqa_args or {})
    fields = with_preset(preset, chosen, chosen)
    plan = plan_interactions(
        texts,
        axes=axes,
        ideal=[ideal] if isinstance(ideal, str) else ideal,
        distance=distance,
        open_answers=open_answers,
        joint_ideal=[joint_ideal] if isinstance(joint_ideal, str) else joint_ideal,
        mitigated=[mitigated] if isinstance(mitigated, str) else mitigated,
        llm=llm,
        seed=seed,
        llm_args=llm_settings(llm_url, llm_args),
        cache=Completions(default_completions(run, store)),
        **fields,
        **settings,
    )
    return run_interactions(plan, run, store, progress=progress)


def prompts_of_occupations(occupations: Sequence[str] | bool) -> list[str]:
    """A prompt for each occupation; True stands for BiasConnect's 26."""
    if isinstance(occupations, bool):
        return occupation_prompts(OCCUPATIONS) if occupations else []
    return occupation_prompts(occupations)


def run_interactions(
    plan: InteractionPlan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> InteractionResult:
    """Run a plan, or what is left of it, and write results and report into the run folder."""
    folder = Path(run) if run else default_run(plan)
    return finished(Interaction.prepare, plan, folder, store, budget=budget, progress=progress)


def interaction_work(plan: InteractionPlan, run: str | Path | None = None, store: str | Path | None = None) -> Work:
    """What running a plan would make and ask. Nothing is made or written."""
    folder = Path(run) if run else default_run(plan)
    with looked_at(plan, folder, store) as session:
        return Interaction.prepare(plan, session).work()


def robustness(run: str | Path, store: str | Path | None = None, repeats: int = 3) -> list[dict[str, Any]]:
    """Edges changed, and the change of IS in percent, with fewer pictures and when the VQA errs (figure 4).

    Raises UsageError for a run of another method.
    """
    folder = Path(run)
    plan = _plan_of(folder)
    with looked_at(plan, folder, store) as session:
        return Interaction.prepare(plan, session).robustness(repeats)


def graphs(*runs: str | Path, names: Sequence[str] | None = None, to: str | Path | None = None) -> ModelGraphs:
    """Put the graphs of several runs side by side on one page, on one layout, with one graph of all models together.

    Beside the page stands the pooled graph as JSON.

    `names`  a short name for each run, by default its model, or its folder where models are the same
    `to`     the page, by default graphs.html beside the first run

    Raises UsageError for runs of another method, that are not finished, or that share no prompt.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError("graphs side by side need two runs or more: askew graphs RUN RUN")
    results = [read_results(folder) for folder in folders if _plan_of(folder)]
    models = [str(found["model"]["name"]) for found in results]
    own = list(names or (models if len(set(models)) == len(models) else [str(folder) for folder in folders]))
    if len(own) != len(folders) or len(set(own)) < len(own):
        raise UsageError(f"{len(folders)} runs need as many different names, not: {', '.join(own)}")
    page = Path(to) if to else folders[0].absolute().parent / "graphs.html"
    return graphs_of_models(dict(zip(own, results, strict=True)), page)


def _plan_of(folder: Path) -> InteractionPlan:
    plan = read_plan(folder / PLAN_FILE)
    if not isinstance(plan, InteractionPlan):
        raise UsageError(f"{folder} is a run of the method {plan.method!r}; this needs a run of `askew interact`")
    return plan
