"""What the command line and Python share about audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askew.api.jobs import finished
from askew.errors import UsageError
from askew.jobs.audit import Audit
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.plans.settings import column_settings
from askew.presets import with_preset
from askew.prompts.files import clean_prompts, read_prompts
from askew.results.audit import AuditResult
from askew.run.opening import looked_at, run_folder
from askew.run.work import Work
from askew.store.completions import Completions
from askew.store.store import default_store


def audit(
    prompts: str | Sequence[str] = (),
    model: str | None = None,
    *,
    model_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    images: int | None = None,
    axes: Sequence[str] | None = None,
    vqa: str | Sequence[str] | None = None,
    vqa_args: Mapping[str, Any] | None = None,
    embedder: str | None = None,
    embedder_args: Mapping[str, Any] | None = None,
    llm: str = "lexicon",
    llm_url: str | None = None,
    llm_args: Mapping[str, Any] | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    manifest: str | Path | None = None,
    strict: bool = False,
    progress: bool = False,
    **settings: Any,
) -> AuditResult:
    """Audit prompts on a model, or pictures that exist already, and write results and report.

    `prompts`   one prompt or several; may be empty for a collection such as `folder/PATH`
    `model`     the model under audit, as `provider/name`, the embedded studio by default; `model_args` are its settings
    `preset`    model and instruments by one name, such as sdxl-clip; those given beside it take precedence
    `images`    pictures per prompt; None is 48, or what suits the model: 24 for studio
    `axes`      names of axes; None lets the writer `llm` choose, for studio it is gender, age and ethnicity
    `llm`       who proposes axes and counterfactuals: lexicon, or openai/MODEL of the server at `llm_url`. `llm_args`
                are its settings
    `vqa`       one or more instruments; None is labels for a collection, else studio. `vqa_args` are its settings;
                with several instruments they are named PROVIDER:SETTING
    `embedder`  for CAS^CLIP, the studio's by default; "none" leaves it out. `embedder_args` are its settings
    `run`       folder of the run, by default runs/NAME with the prompt and the plan's hash in its name; the same
                call goes on in the same folder. `store` is shared by runs, by default .askew beside the run
    `manifest`  CSV that describes a folder's pictures
    `strict`    stop if a file of the manifest is absent; otherwise it counts as missing
    `settings`  further fields of `Plan`: level, draws, variant, aliases, values

    Raises UsageError for a request that cannot be met, other AskewErrors where a run fails.
    """
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    described = column_settings(Path(manifest) if manifest else None) | ({"strict": True} if strict else {})
    parts: dict[str, Any] = {"model": model, "vqa": (vqa,) if isinstance(vqa, str) else vqa, "embedder": embedder,
                             "images": images}  # fmt: skip
    chosen = {name: value for name, value in parts.items() if value is not None}
    chosen["model_args"] = {**described, **(model_args or {})}
    chosen |= {"vqa_args": dict(vqa_args or {}), "embedder_args": dict(embedder_args or {})}
    fields = with_preset(preset, chosen, chosen)
    asking: dict[str, Any] = {
        "llm_args": llm_settings(llm_url, llm_args),
        "cache": Completions(default_completions(run, store)),
    }
    plan = survey_plan(texts, axes=axes, llm=llm, seed=seed, **asking, **fields, **settings)
    return run_plan(plan, run, store, progress=progress)


def run_plan(
    plan: Plan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> AuditResult:
    """Run a plan, or what is left of it, and write results and report into the run folder."""
    folder = Path(run) if run else default_run(plan)
    return finished(Audit.prepare, plan, folder, store, budget=budget, progress=progress)


def work(plan: Plan, run: str | Path | None = None, store: str | Path | None = None) -> Work:
    """What running a plan would make and ask. Nothing is made or written."""
    folder = Path(run) if run else default_run(plan)
    with looked_at(plan, folder, store) as session:
        return Audit.prepare(plan, session).work()


def collect_prompts(prompts: Sequence[str], file: Path | None, clean: bool = False) -> list[str]:
    """Prompts as given and from a file, the file's shortened to their core if `clean`."""
    filed = read_prompts(file) if file else []
    if clean and file is None:
        raise UsageError("--clean shortens the prompts of a file; give one by --prompts FILE")
    return [*prompts, *(clean_prompts(filed) if clean else filed)]


def llm_settings(url: str | None, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a writer, with its server's address if there is one."""
    return dict(settings or {}) | ({} if url is None else {"url": url})


def default_completions(run: str | Path | None, store: str | Path | None) -> Path:
    """The store for a language model's answers, which are needed before the run's own name is known."""
    return Path(store) if store else default_store(Path(run) if run else Path("runs") / "any")


def default_run(plan: Plan) -> Path:
    """runs/NAME-HASH, from the first prompt and the plan's hash."""
    return run_folder(plan.prompts[0].text, plan, otherwise="audit")


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan as TOML, to be edited and run. Raises UsageError where that is impossible."""
    try:
        path.write_text(plan.to_toml(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the plan to {path}: {error.strerror}") from error
