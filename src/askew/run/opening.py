"""Where a plan runs: the folder that it has by default, and a `Run` on an open store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from re import sub

from askew.plan import RunPlan
from askew.run.progress import choose, silent
from askew.run.run import Run
from askew.store.store import Store, default_store


def run_folder(label: str, plan: RunPlan, prefix: str = "", otherwise: str = "") -> Path:
    """runs/PREFIX-LABEL-HASH, from a text and the plan's hash; `otherwise` where the text has no plain letters."""
    name = sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40].strip("-")
    return Path("runs") / f"{prefix}{name or otherwise}-{plan.hash[:8]}"


@contextmanager
def opened_run(
    plan: RunPlan, folder: Path, store: str | Path | None, *, budget: int | None = None, progress: bool = False
) -> Iterator[Run]:
    """A run that makes what is left of a plan, on a store that is closed afterwards."""
    with Store(Path(store) if store else default_store(folder)) as opened:
        yield Run(folder, opened, plan, progress=choose() if progress else silent, budget=budget)


@contextmanager
def looked_at(plan: RunPlan, folder: Path, store: str | Path | None) -> Iterator[Run]:
    """A run that is only asked what is there and what is left: nothing is made or written."""
    with Store(Path(store) if store else default_store(folder), create=False) as opened:
        yield Run(folder, opened, plan)
