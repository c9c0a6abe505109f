"""What the command line and Python share: one function per command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from askew import registry
from askew.audit_result import AuditResult
from askew.auditing import Audit
from askew.check import CheckReport
from askew.check import check as check_run
from askew.classification_result import ClassificationResult
from askew.classify_plan import read_classification_plan
from askew.comparing import Comparison, compare_runs
from askew.completions import Completions
from askew.editing_result import EditingResult
from askew.errors import UnknownName, UsageError
from askew.interaction_result import InteractionResult
from askew.map_result import MapResult
from askew.methods.sensitivity import sensitivity as simulate_errors
from askew.mine_plan import kept_mine_plan
from askew.mining_result import MiningResult
from askew.plan import PLAN_FILE, EditPlan, InteractionPlan, MapPlan, Plan, read_plan, read_toml
from askew.planning import plan_audit
from askew.presets import presets, with_preset
from askew.prompts.files import clean_prompts, read_prompts
from askew.results import read_results
from askew.run_result import RunResult
from askew.running import looked_at, opened_run, run_folder
from askew.settings import column_settings
from askew.store import Store, default_store
from askew.work import Work


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
    `settings`  further fields of `Plan`: level, draws, variant, aliases, values

    Raises UsageError for a request that cannot be met, other AskewErrors where a run fails.
    """
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    described = column_settings(Path(manifest) if manifest else None)
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
    plan = plan_audit(texts, axes=axes, llm=llm, seed=seed, **asking, **fields, **settings)
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
    with opened_run(plan, folder, store, budget=budget, progress=progress) as session:
        result = Audit.prepare(plan, session)()
        result.write_report()
    return result


def work(plan: Plan, run: str | Path | None = None, store: str | Path | None = None) -> Work:
    """What running a plan would make and ask. Nothing is made or written."""
    folder = Path(run) if run else default_run(plan)
    with looked_at(plan, folder, store) as session:
        return Audit.prepare(plan, session).work()


def load(run: str | Path, store: str | Path | None = None) -> RunResult:
    """A finished run. Its pictures are looked up in the store."""
    folder = Path(run)
    place = Path(store) if store else default_store(folder)
    results = read_results(folder)
    if results.get("minethegap") is not None:
        return MiningResult(kept_mine_plan(folder / PLAN_FILE), folder, place)
    if results.get("classification") is not None:
        return ClassificationResult(read_classification_plan(folder / PLAN_FILE), folder, place)
    plan = read_plan(folder / PLAN_FILE)
    if isinstance(plan, InteractionPlan):
        return InteractionResult(plan, folder, place)
    if isinstance(plan, EditPlan):
        return EditingResult(plan, folder, place)
    if isinstance(plan, MapPlan):
        return MapResult(plan, folder, place)
    return AuditResult(plan, folder, place)


def check(run: str | Path, store: str | Path | None = None) -> CheckReport:
    """Whether a run is whole: planned = stored + missing, and every file is what it was."""
    folder = Path(run)
    read_toml(folder / PLAN_FILE)
    with Store(Path(store) if store else default_store(folder), create=False) as opened:
        return check_run(folder, opened)


def compare(
    *runs: str | Path,
    names: Sequence[str] | None = None,
    store: str | Path | Sequence[str | Path] = (),
    to: str | Path | None = None,
) -> Comparison:
    """Compare finished runs of the same plan on several models, every two of them, and write results and page.

    Differences are those of the later run less the earlier one. Pictures of the same prompt and seed are pairs.

    `runs`   folders of two to six runs
    `names`  a short name for each, by default its model
    `store`  where the pictures and answers are: one store for all runs or one for each, by default .askew beside each
    `to`     folder for comparison.json and comparison.html, by default beside the first run

    Raises UsageError for runs that are not finished, or that were planned or read otherwise.
    """
    stores = [store] if isinstance(store, str | Path) else store
    return compare_runs([Path(run) for run in runs], [Path(one) for one in stores], names, Path(to) if to else None)


def sensitivity(run: str | Path, store: str | Path | None = None, repeats: int = 10) -> list[dict[str, Any]]:
    """Change of a run's scores, in percent, when 5 to 40 % of the VQA's answers are replaced (TIBET, section 5.3)."""
    folder = Path(run)
    plan = read_plan(folder / PLAN_FILE)
    if plan.method != "audit":
        raise UsageError(f"{folder} is a run of the method {plan.method!r}; this needs a run of `askew audit`")
    with looked_at(plan, folder, store) as session:
        return simulate_errors(Audit.prepare(plan, session).observe(), plan, repeats)


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


def list_providers() -> list[dict[str, Any]]:
    """Every model, instrument and preset that can be named: the option that takes it, its name, and what it is.

    Presets also have `download_gb` and `memory_gb`, and what they stand for.
    """
    providers = [
        {"option": f"--{kind}", "name": name, "summary": registry.summary(point)}
        for kind in registry.GROUPS
        for name, point in registry.providers(kind).items()
    ]
    return [*providers, *({"option": "--preset", **asdict(preset)} for preset in presets().values())]


def studio_sheet(path: Path, what: str = "attributes", seed: int = 0) -> Path:
    """Write a labelled contact sheet of the studio's attributes or occupations as PNG."""
    from askew.studio.drawing import attribute_sheet, occupation_sheet

    sheets = {"attributes": attribute_sheet, "occupations": occupation_sheet}
    if what not in sheets:
        raise UnknownName("sheet", what, sheets)
    try:
        sheets[what](seed).save(path, format="PNG")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return path
