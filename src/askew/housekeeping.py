"""Commands on what runs leave on a disk: listing them, removing them, freeing what no run needs."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE
from askew.options import Flag
from askew.plan import PLAN_FILE, read_toml
from askew.run.live import HASH_FILE, plan_hash_in
from askew.store.files import changed_files
from askew.store.gc import free, unneeded
from askew.store.store import Store, default_store


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as it lies on the disk. `age` in seconds since its last change, `size` in bytes without its store."""

    folder: Path
    method: str
    model: str
    state: str
    size: int
    age: float


def runs_list(folder: Path = Path("runs"), /, *, store: Path | None = None) -> RenderableType:
    """List the runs in a folder, with state, size and age.

    Example: `askew runs runs`

    Parameters
    ----------
    folder
        A folder that holds run folders.
    store
        Their store; default: .askew in the folder.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "method", "model", "state", "size", "last change"):
        table.add_column(column, justify="right" if column == "size" else "left")
    for one in states(folder, store):
        table.add_row(one.folder.name, one.method, one.model, one.state, _bytes(one.size), _age(one.age))
    return table


def runs_rm(*runs: Path, store: Path | None = None, yes: Flag = False) -> str:
    """Remove runs. What they made stays in the store until `askew store gc`.

    Example: `askew runs rm runs/mine --yes`

    Parameters
    ----------
    runs
        Folders of runs.
    store
        Their store; default: .askew beside each.
    yes
        Do it; without, it is only said what would be done.
    """
    if not runs:
        raise UsageError("which runs? Write their folders: askew runs rm runs/mine")
    told = []
    for folder in runs:
        plan_hash = plan_hash_in(folder) if folder.is_dir() else None
        if plan_hash is None:
            raise UsageError(f"{folder} is no run folder: it holds neither {HASH_FILE} nor {PLAN_FILE}")
        told.append(f"{'removed' if yes else 'would remove'} {folder} ({_bytes(_size(folder))})")
        if yes:
            if (place := store or default_store(folder)).is_dir():
                with Store(place) as opened:
                    opened.index.delete("planned", "run", [plan_hash])
            shutil.rmtree(folder)
    return "\n".join(told if yes else [*told, "nothing was removed; --yes does it"])


def store_gc(store: Path = Path("runs/.askew"), /, *, yes: Flag = False) -> str:
    """Free what no run needs: pictures that none plans, with their answers and vectors, and what is in quarantine.

    Example: `askew store gc runs/.askew --yes`

    Parameters
    ----------
    store
        Folder of the store.
    yes
        Do it; without, it is only said what would be done.
    """
    if not store.is_dir():
        raise UsageError(f"there is no store {store}")
    with Store(store, create=bool(yes)) as opened:
        found = unneeded(opened)
        told = f"{len(found.ids)} pictures, {len(found.files)} files ({_bytes(found.size)})"
        if yes:
            free(opened, found)
    return f"freed {told}" if yes else f"no run needs {told}; --yes frees them"


def states(folder: Path, store: Path | None = None) -> list[RunState]:
    """Every run in a folder, the one that was changed last first."""
    folders = [one for one in sorted(folder.iterdir()) if (one / PLAN_FILE).is_file()]
    with Store(store or default_store(folder / "any"), create=False) as opened:
        found = [_state(one, opened) for one in folders]
    return sorted(found, key=lambda one: one.age)


def _state(folder: Path, store: Store) -> RunState:
    files = [file for file in folder.rglob("*") if file.is_file()]
    age = time.time() - max(file.stat().st_mtime for file in files)
    size = sum(file.stat().st_size for file in files)
    try:
        plan, planned = read_toml(folder / PLAN_FILE), store.planned(str(plan_hash_in(folder)))
    except AskewError:
        return RunState(folder, "?", "?", "damaged plan", size, age)
    done = sum(one.id is not None or one.reason is not None for one in planned)
    if changed_files(folder):
        state = "damaged"
    elif (folder / RESULTS_FILE).exists() and done == len(planned):
        state = "finished"
    else:
        state = f"{done} of {len(planned)} pictures"
    return RunState(folder, str(plan.get("method", "audit")), str(plan.get("model", "")), state, size, age)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _age(seconds: float) -> str:
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now"
