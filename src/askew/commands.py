"""Commands that are no method's: on finished runs and what these leave, on what can be named, on
the studio.
"""

import json as jsons
import shutil
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from askew import registry
from askew.console import neutral
from askew.document import Document, ExportFormat
from askew.errors import AskewError, RunError, UsageError
from askew.findings import RESULTS_FILE, Head
from askew.method import load
from askew.options import Flag
from askew.plan import PLAN_FILE, read_toml
from askew.presets import presets
from askew.run.check import check as check_run
from askew.run.check import set_aside
from askew.run.folder import HASH_FILE, plan_hash_in
from askew.store.files import changed_files
from askew.store.store import Store, default_store, is_store
from askew.studies.compare import COMPARISON_FILE
from askew.studio import weights
from askew.studio.planted import truth as planted_truth

RunFolder = Annotated[Path, Parameter(help="Folder of the run.")]
StoreOfRun = Annotated[Path | None, Parameter(help="Its store; default: .askew beside the run.")]
ConfirmFlag = Annotated[Flag, Parameter(help="Do it; without, it is only said what would be done.")]


def report(run: RunFolder, /, *, store: StoreOfRun = None, json: Flag = False) -> Document:
    """Show a finished run or comparison again, and write its report anew.

    Example: `askew report runs/mine`

    Parameters
    ----------
    json
        Print results.json instead of the table.
    """
    result = _finished(run, store)
    try:
        result.write_report()
    except RunError as error:
        print(f"warning: the report was not written anew: {error}", file=sys.stderr)
    return result


def check(
    run: Path, /, *, store: StoreOfRun = None, repair: Flag = False, rebuild: Flag = False
) -> Text:
    """Check that a run is whole: planned = stored + missing, and every file and row is what it was.

    Examples:

    - `askew check runs/mine`

    - `askew check runs/.askew --rebuild`

    Parameters
    ----------
    run
        Folder of the run, or of a store.
    repair
        Set aside what is damaged, so that the same command makes it again.
    rebuild
        Make the index of the store again, from its journal and what is intact of the index.

    Raises
    ------
    AskewError
        Where something is left or wrong; what, is printed before.
    """
    place = run if is_store(run) else store or default_store(run)
    if rebuild or (place is run and repair):
        return Text("\n".join(Store.rebuild(place)))
    with Store(place, create=False) as opened:
        if place is run:
            faults = opened.faults()
            if faults:
                raise AskewError(
                    "\n".join([*faults, f"the store {place} is damaged: --rebuild mends it"])
                )
            return Text(f"the store {place} is intact")
        found: Head | AskewError
        try:
            found = load(run, store).findings
        except AskewError as error:
            found = error
        report = check_run(run, opened, found)
    if repair and report.faults:
        told = [
            f"set aside: {', '.join(set_aside(run, report)) or 'no file of the run'}",
            *Store.rebuild(place),
        ]
        return Text(
            "\n".join([*report.faults, *told, "the same command makes again what is missing now"])
        )
    if not report.ok:
        raise AskewError("\n".join([*report.lines(), f"the run {run} is not whole"]))
    return Text("\n".join(report.lines()))


def export(
    run: RunFolder,
    /,
    *,
    format: ExportFormat = "csv",
    output: Path | None = None,
    store: StoreOfRun = None,
) -> str | None:
    """Write all estimates of a finished run or comparison as csv, parquet or json, or its main
    results as markdown.

    Example: `askew export runs/mine --format csv --output mine.csv`

    Parameters
    ----------
    format
        Format of the output.
    output
        File to write, instead of standard output. parquet needs a file.
    """
    content = _finished(run, store).export(format)
    if output is None:
        if isinstance(content, bytes):
            raise UsageError("parquet is not text. Name a file with --output FILE")
        print(neutral(content) if sys.stdout.isatty() else content, end="")
        return None
    try:
        output.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
    return str(output)


def _finished(folder: Path, store: Path | None) -> Document:
    """The run or the comparison in a folder. Raises UsageError."""
    if not (folder / COMPARISON_FILE).exists():
        return load(folder, store)
    from askew.studies.compare.command import load_comparison

    return load_comparison(folder, store)


def models(*, json: Flag = False) -> RenderableType | None:
    """List the models, instruments, methods and presets that can be named on the command line.

    Example: `askew models`

    Parameters
    ----------
    json
        Print them as JSON.
    """
    named = [
        {
            "option": f"--{kind}" if kind != "method" else "askew",
            "name": name,
            "summary": registry.summary(point),
        }
        for kind in registry.GROUPS
        for name, point in registry.providers(kind).items()
    ]
    if json:
        sets_up = [
            {"option": "--preset", "name": name, **asdict(one)} for name, one in presets().items()
        ]
        print(jsons.dumps([*named, *sets_up], indent=2))
        return None
    providers = _table("option", "name", "what it is")
    sets = _table("--preset", "what it is", "download", "GPU memory")
    for row in named:
        providers.add_row(*row.values())
    for name, one in presets().items():
        sets.add_row(
            name, one.summary, *(f"{size:.0f} GB" for size in (one.download_gb, one.memory_gb))
        )
    return Group(providers, sets)


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
    table = _table("run", "method", "model", "state", "size", "last change")
    found = {
        one: max(file.stat().st_mtime for file in one.rglob("*"))
        for one in sorted(folder.iterdir())
        if (one / PLAN_FILE).is_file()
    }
    with Store(store or default_store(folder / "any"), create=False) as opened:
        for one, changed in sorted(found.items(), key=lambda item: -item[1]):
            when = datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M")
            table.add_row(one.name, *_told(one, opened), _size(one), when)
    return table


def _told(folder: Path, store: Store) -> tuple[str, str, str]:
    """The method of a run, its model and its state."""
    try:
        plan = read_toml(folder / PLAN_FILE)
        planned = store.planned(str(plan_hash_in(folder)))
    except AskewError:
        return "?", "?", "damaged plan"
    done = sum(one.id is not None or one.reason is not None for one in planned)
    state = f"{done} of {len(planned)} pictures"
    if changed_files(folder):
        state = "damaged"
    elif (folder / RESULTS_FILE).exists() and done == len(planned):
        state = "finished"
    return str(plan.get("method", "audit")), str(plan.get("model", "")), state


def runs_rm(*runs: RunFolder, store: StoreOfRun = None, yes: ConfirmFlag = False) -> str:
    """Remove runs. What they made stays in the store until `askew store gc`.

    Example: `askew runs rm runs/mine --yes`
    """
    if not runs:
        raise UsageError("which runs? Write their folders: askew runs rm runs/mine")
    told = []
    for folder in runs:
        plan_hash = plan_hash_in(folder) if folder.is_dir() else None
        if plan_hash is None:
            raise UsageError(
                f"{folder} is no run folder: it holds neither {HASH_FILE} nor {PLAN_FILE}"
            )
        told.append(f"{'removed' if yes else 'would remove'} {folder} ({_size(folder)})")
        if yes:
            if (place := store or default_store(folder)).is_dir():
                with Store(place) as opened:
                    opened.index.delete("planned", "run", [plan_hash])
            shutil.rmtree(folder)
    return "\n".join(told if yes else [*told, "nothing was removed; --yes does it"])


def store_gc(store: Path = Path("runs/.askew"), /, *, yes: ConfirmFlag = False) -> str:
    """Free what no run needs: pictures that none plans, with their answers and vectors, and what is
    in quarantine.

    Example: `askew store gc runs/.askew --yes`

    Parameters
    ----------
    store
        Folder of the store.
    """
    if not store.is_dir():
        raise UsageError(f"there is no store {store}")
    with Store(store, create=bool(yes)) as opened:
        ids, files = opened.unneeded()
        told = f"{len(ids)} pictures, {len(files)} files ({decimal(sum(file.stat().st_size for file in files))})"
        if yes:
            opened.free(ids, files)
    return f"freed {told}" if yes else f"no run needs {told}; --yes frees them"


def studio_path(name: str = "studio", /) -> str:
    """Print the folder of a studio network.

    Example: `askew studio path embedder`

    Parameters
    ----------
    name
        Name of a studio network.
    """
    return str(weights(name))


def studio_truth(prompt: str, /, *, axis: str = "gender", bias: float = 1.0) -> Text:
    """Print the planted distribution of an axis: what an audit of studio/planted should find.

    Example: `askew studio truth "a photo of a nurse" --axis age`

    Parameters
    ----------
    prompt
        A prompt in the studio's words.
    axis
        The axis.
    bias
        The bias knob, 0 to 1.
    """
    return Text(
        "\n".join(
            f"{value:<16} {share:.3f}" for value, share in planted_truth(prompt, axis, bias).items()
        )
    )


def _size(folder: Path) -> str:
    return decimal(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column, justify="right" if column in ("download", "GPU memory", "size") else "left"
        )
    return table
