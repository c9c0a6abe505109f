"""Commands on what runs leave on a disk: listing them, removing them, freeing what no run needs."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from rich.console import RenderableType
from rich.filesize import decimal
from rich.table import Table

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE
from askew.options import Flag
from askew.plan import PLAN_FILE, read_toml
from askew.run.live import HASH_FILE, plan_hash_in
from askew.store.files import changed_files
from askew.store.store import Store, default_store


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
    found = {one: max(file.stat().st_mtime for file in one.rglob("*"))
             for one in sorted(folder.iterdir()) if (one / PLAN_FILE).is_file()}  # fmt: skip
    with Store(store or default_store(folder / "any"), create=False) as opened:
        for one, changed in sorted(found.items(), key=lambda item: -item[1]):
            when = datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M")
            table.add_row(one.name, *_told(one, opened), _size(one), when)
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
        told.append(f"{'removed' if yes else 'would remove'} {folder} ({_size(folder)})")
        if yes:
            if (place := store or default_store(folder)).is_dir():
                with Store(place) as opened:
                    opened.forget(plan_hash)
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
        ids, files = opened.unneeded()
        told = f"{len(ids)} pictures, {len(files)} files ({decimal(sum(file.stat().st_size for file in files))})"
        if yes:
            opened.free(ids, files)
    return f"freed {told}" if yes else f"no run needs {told}; --yes frees them"


def _told(folder: Path, store: Store) -> tuple[str, str, str]:
    """The method of a run, its model and its state."""
    try:
        plan, planned = read_toml(folder / PLAN_FILE), store.planned(str(plan_hash_in(folder)))
    except AskewError:
        return "?", "?", "damaged plan"
    done = sum(one.id is not None or one.reason is not None for one in planned)
    state = f"{done} of {len(planned)} pictures"
    if changed_files(folder):
        state = "damaged"
    elif (folder / RESULTS_FILE).exists() and done == len(planned):
        state = "finished"
    return str(plan.get("method", "audit")), str(plan.get("model", "")), state


def _size(folder: Path) -> str:
    return decimal(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
