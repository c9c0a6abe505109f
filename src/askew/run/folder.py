"""Where a plan runs: the folder that it has by default, and a run on an open store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from re import sub

from askew.plan import RunPlan
from askew.run.count import Count
from askew.run.live import Live, check_folder
from askew.run.progress import choose, silent
from askew.store.store import Store


def run_folder(label: str, plan: RunPlan, prefix: str = "", otherwise: str = "") -> Path:
    """runs/PREFIX-LABEL-HASH, from a text and the plan's hash; `otherwise` where the text has no plain letters."""
    name = sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40].strip("-")
    return Path("runs") / f"{prefix}{name or otherwise}-{plan.hash[:8]}"


@contextmanager
def opened_run(
    plan: RunPlan, folder: Path, store: Path, *, budget: int | None = None, progress: bool = False
) -> Iterator[Live]:
    """A run that makes what is left of a plan, on a store that is closed afterwards."""
    with Store(store) as opened:
        yield Live(folder, opened, plan, progress=choose() if progress else silent, budget=budget)


@contextmanager
def counted_run(plan: RunPlan, folder: Path, store: Path) -> Iterator[Count]:
    """A run that only counts what is left: nothing is made or written."""
    check_folder(folder, plan)
    with Store(store, create=False) as opened:
        yield Count(opened)
