"""Running a plan by the job of its method: the same for every command whose work is a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from askew.plan import RunPlan
from askew.results.run import RunResult
from askew.run.opening import opened_run
from askew.run.run import Run

P = TypeVar("P", bound=RunPlan)
R = TypeVar("R", bound=RunResult)


def finished(prepare: Callable[[P, Run], Callable[[], R]], plan: P, folder: Path, store: str | Path | None,
             *, budget: int | None, progress: bool) -> R:  # fmt: skip
    """Run a plan, or what is left of it, by the job that `prepare` gives, and write results and report."""
    with opened_run(plan, folder, store, budget=budget, progress=progress) as session:
        result = prepare(plan, session)()
        result.write_report()
    return result
