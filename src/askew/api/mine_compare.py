"""What the command line and Python share about comparisons of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from askew.api.jobs import finished
from askew.jobs.mine_compare import MiningComparison
from askew.models.base import Setting
from askew.planning.mining_comparison import plan_mining_comparison
from askew.plans.mining_comparison import MiningComparisonPlan
from askew.results.mining_comparison import MiningComparisonResult
from askew.run.opening import looked_at, run_folder


def mine_compare(
    *runs: str | Path,
    vary: Mapping[str, Sequence[Setting]] | None = None,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    run: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> MiningComparisonResult:
    """Score every model on the prompts that were mined for every other one, and write results and report.

    All models are held against the variations that a prompt was mined with, on pictures of the same fresh seeds.

    `runs`   folders of finished searches, of several models or of several writers for one
    `vary`   a setting and its values, such as {"guidance_scale": [1, 3, 7.5]}: every model then stands once per value
    `names`  a short name for each run, by default its model
    `run`    folder of this run, by default beside the first run; the same call goes on in it
    `store`  where pictures are, by default .askew beside the run folder

    Raises UsageError for runs whose scores cannot be compared, other AskewErrors where a run fails.
    """
    folders = [Path(one) for one in runs]
    plan = plan_mining_comparison(folders, vary, names, level)
    return run_comparison_plan(plan, run or default_comparison_run(plan, folders), store, progress=progress)


def run_comparison_plan(
    plan: MiningComparisonPlan,
    run: str | Path,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> MiningComparisonResult:
    """Run the plan of a comparison, or what is left of it, and write results and report into the run folder."""
    return finished(MiningComparison.prepare, plan, Path(run), store, budget=budget, progress=progress)


def comparison_work(plan: MiningComparisonPlan, run: str | Path, store: str | Path | None = None) -> list[str]:
    """What running a plan would make, in words. Nothing is made or written."""
    with looked_at(plan, Path(run), store) as session:
        return MiningComparison.prepare(plan, session).lines()


def default_comparison_run(plan: MiningComparisonPlan, folders: Sequence[Path]) -> Path:
    """mine-compare-HASH beside the first run, whose pictures it uses."""
    label = plan.vary or plan.conditions[0].name
    return folders[0].absolute().parent / run_folder(label, plan, "mine-compare-").name
