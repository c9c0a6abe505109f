"""What the command line and Python share about finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.jobs.audit import Audit
from askew.jobs.compare import Comparison, compare_runs
from askew.methods.sensitivity import sensitivity as simulate_errors
from askew.plan import PLAN_FILE, read_toml
from askew.plans.classification import ClassificationPlan
from askew.plans.editing import EditPlan
from askew.plans.interactions import InteractionPlan
from askew.plans.reading import read_plan
from askew.results.audit import AuditResult
from askew.results.classification import ClassificationResult
from askew.results.editing import EditingResult
from askew.results.file import read_results
from askew.results.interactions import InteractionResult
from askew.results.run import RunResult
from askew.run.check import CheckReport
from askew.run.check import check as check_run
from askew.run.opening import looked_at
from askew.store.store import Store, default_store


def load(run: str | Path, store: str | Path | None = None) -> RunResult:
    """A finished run. Its pictures are looked up in the store."""
    folder = Path(run)
    place = Path(store) if store else default_store(folder)
    results = read_results(folder)
    if results.get("classification") is not None:
        return ClassificationResult(ClassificationPlan.read(folder / PLAN_FILE), folder, place)
    plan = read_plan(folder / PLAN_FILE)
    if isinstance(plan, InteractionPlan):
        return InteractionResult(plan, folder, place)
    if isinstance(plan, EditPlan):
        return EditingResult(plan, folder, place)
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
