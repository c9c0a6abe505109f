"""Commands for finished runs, the store, the list of providers, and the studio."""

import json as jsons
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from askew import findings, registry
from askew.console import write
from askew.document import Document, ExportFormat
from askew.errors import AskewError, RunError, UsageError
from askew.findings import RESULTS_FILE, Head
from askew.method import Result, load, method_of
from askew.options import Flag
from askew.plan import PLAN_FILE, plan_head
from askew.presets import Preset, presets
from askew.run.check import CheckReport, set_aside
from askew.run.check import check as check_run
from askew.run.folder import HASH_FILE, changed_run_files, plan_hash_in, run_files
from askew.store.files import changed_files, explain_os_error
from askew.store.store import Store, default_store, is_store, opened_alone, working_process
from askew.studies.compare import COMPARISON_FILE
from askew.studies.evidence import check_evidence, is_evidence
from askew.studio import weights
from askew.studio.planted import NAMES as STUDIO_AXES
from askew.studio.planted import truth as planted_truth

RunFolder = Annotated[Path, Parameter(help="Folder of the run.")]
StoreOfRun = Annotated[
    Path | None, Parameter(help="Store of the run. [default: .askew next to the run folder]")
]
DeleteFlag = Annotated[
    Flag, Parameter(help="Delete. Without --yes, only list what would be deleted.")
]

LARGEST_LIST = 5
"""Maximum number of files listed in a sentence."""

NUMERIC_COLUMNS = ("download", "GPU memory", "size")
"""Names of the table columns that are right-aligned."""


def report(run: RunFolder, /, *, store: StoreOfRun = None, json: Flag = False) -> Document:
    """Print the results of a finished run or comparison, and rewrite its report.

    Examples
    --------
    `askew report runs/mine`

    Parameters
    ----------
    json
        Print results.json instead of the table.

    Returns
    -------
    Document
        The finished run or comparison.
    """
    result = _finished(run, store)
    try:
        result.write_report()
    except RunError as error:
        write(f"warning: the report could not be written: {error}\n", sys.stderr)
    return result


def check(
    run: Path, /, *, store: StoreOfRun = None, repair: Flag = False, rebuild: Flag = False
) -> Text:
    """Check that a run is complete and that no file or row has changed.

    A run is complete if every planned image is either in the store or missing for a known reason.

    Examples
    --------
    `askew check runs/mine`

    `askew check runs/.askew --rebuild`

    Parameters
    ----------
    run
        Folder of a run, a comparison or a store, or an evidence pack from `askew export`.
    repair
        Move damaged files away. To create these files again, repeat the run's command.
    rebuild
        Rebuild the store's index from its journal and from the intact rows of the index.

    Returns
    -------
    Text
        The state of the run or the store.

    Raises
    ------
    AskewError
        If the run is incomplete, or if a file or row is damaged. The message lists the errors.
    """
    if is_evidence(run):
        return Text("\n".join(check_evidence(run)))
    checks_store = is_store(run)
    place = run if checks_store else store or default_store(run)
    if rebuild or (checks_store and repair):
        return Text("\n".join(Store.rebuild(place)))
    if checks_store:
        return _check_store(place)
    if (run / COMPARISON_FILE).exists() and not (run / PLAN_FILE).exists():
        return _check_comparison(run)
    state = _check_run(run, place, store)
    if repair and state.faults:
        return _repair(run, place, state)
    if not state.ok:
        raise AskewError("\n".join([*state.lines(), f"the run {run} is incomplete or damaged"]))
    return Text("\n".join(state.lines()))


def _check_store(place: Path) -> Text:
    with Store(place, create=False) as opened:
        faults = opened.faults()
    if faults:
        advice = f"the store {place} is damaged. Repair it: askew check {place} --rebuild"
        raise AskewError("\n".join([*faults, advice]))
    return Text(f"the store {place} is intact")


def _check_comparison(folder: Path) -> Text:
    from askew.studies.compare.comparison import FILES

    faults = [f"{folder / name} {fault}" for name, fault in changed_files(folder, FILES).items()]
    if faults:
        raise AskewError("\n".join([*faults, "repeat askew compare to write the comparison again"]))
    return Text(f"the comparison {folder} is intact")


def _check_run(run: Path, place: Path, store: Path | None) -> CheckReport:
    """Return the state of a run, even if its findings cannot be read."""
    with Store(place, create=False) as opened:
        results: Head | AskewError
        try:
            results = findings.read(method_of(run).findings, run / RESULTS_FILE)
        except AskewError as error:
            results = error
        return check_run(run, opened, results)


def _repair(run: Path, place: Path, state: CheckReport) -> Text:
    """Rename damaged files in a run folder, and describe what was done."""
    names = set_aside(run, state)
    files = ", ".join(names) if names else "no file of the run"
    lines = [
        *state.faults,
        f"set aside: {files}",
        *Store.rebuild(place),
        "Repeat the run's command to create the missing parts.",
    ]
    return Text("\n".join(lines))


def export(
    run: RunFolder,
    /,
    *,
    format: ExportFormat | Literal["evidence"] = "csv",
    output: Path | None = None,
    store: StoreOfRun = None,
) -> str | None:
    """Write the estimates or the main chart of a finished run or comparison to a file.

    csv, parquet and json contain all estimates. Markdown contains the main results, for a pull
    request. png, svg and pdf contain the main chart, for a paper. evidence is a folder or zip file
    that contains the report, images, labels, plan, method and checksums. `askew check` verifies an
    evidence pack.

    Examples
    --------
    `askew export runs/mine --format csv --output mine.csv`

    `askew export runs/mine --format evidence --output mine.zip`

    `askew export runs/mine --format png --output mine.png`

    Parameters
    ----------
    format
        Format of the output.
    output
        File to write instead of standard output. parquet, png and pdf need a file. evidence needs a
        new folder, or a new file whose name ends in .zip.

    Returns
    -------
    str or None
        Path of the written file; None if the estimates were printed.

    Raises
    ------
    UsageError
        If the file cannot be written, or if parquet or an image is requested without a file.
    """
    document = _finished(run, store)
    if format == "evidence":
        return _export_evidence(document, output)
    content = document.export(format)
    for warning in document.image_warnings:
        write(f"warning: {warning}\n", sys.stderr)
    if output is None:
        if isinstance(content, bytes):
            raise UsageError(f"{format} is not text. Name a file with --output FILE")
        write(content)
        return None
    try:
        output.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
    return str(output)


def _export_evidence(document: Document, output: Path | None) -> str:
    """Write the evidence pack of a run, and return its path."""
    from askew.studies.evidence import write_evidence

    if not isinstance(document, Result):
        raise UsageError("an evidence pack needs a run, not a comparison. Name the folder of a run")
    if output is None:
        raise UsageError("evidence needs a new folder or a new zip file: --output mine.zip")
    return str(write_evidence(document, output))


def _finished(folder: Path, store: Path | None) -> Document:
    """Return the run or the comparison in a folder."""
    if not (folder / COMPARISON_FILE).exists():
        return load(folder, store)
    from askew.studies.compare.command import load_comparison

    return load_comparison(folder, store)


def models(*, json: Flag = False) -> RenderableType | None:
    """List the models, instruments, methods and presets that the command line accepts.

    Examples
    --------
    `askew models`

    Parameters
    ----------
    json
        Print the list as JSON.

    Returns
    -------
    RenderableType or None
        Tables of providers and presets; None if JSON was printed.
    """
    rows = [
        {
            "option": "askew" if kind == "method" else f"--{kind}",
            "name": name,
            "summary": registry.summary(point),
        }
        for kind in registry.GROUPS
        for name, point in registry.providers(kind).items()
    ]
    if json:
        preset_rows = [
            {"option": "--preset", "name": name, **asdict(preset)}
            for name, preset in presets().items()
        ]
        write(jsons.dumps([*rows, *preset_rows], indent=2) + "\n")
        return None
    providers = _table("option", "name", "description")
    for row in rows:
        providers.add_row(*map(Text, row.values()))
    return Group(providers, _preset_table(presets().items()))


def _preset_table(named_presets: Iterable[tuple[str, Preset]]) -> Table:
    table = _table("--preset", "description", "download", "GPU memory")
    for name, preset in named_presets:
        download = f"{preset.download_gb:.0f} GB"
        memory = f"{preset.memory_gb:.0f} GB"
        table.add_row(name, preset.summary, download, memory)
    return table


def runs_list(folder: Path = Path("runs"), /, *, store: Path | None = None) -> RenderableType:
    """List the runs in a folder, with their state, size and date. The latest run comes first.

    Examples
    --------
    `askew runs runs`

    Parameters
    ----------
    folder
        Folder that contains run folders.
    store
        Store of the runs. [default: .askew in the folder]

    Returns
    -------
    RenderableType
        A table with one row per run.

    Raises
    ------
    UsageError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    changes = {run: _last_change(run) for run in sorted(folder.iterdir()) if _has_plan(run)}
    table = _table("run", "method", "model", "state", "size", "last change")
    # a run is named on the command line by its folder: long names go on in the next line
    table.columns[0].overflow = "fold"
    table.columns[0].min_width = min(40, max((len(run.name) for run in changes), default=0))
    with Store(store or default_store(folder / "any"), create=False) as opened:
        for run, changed in sorted(changes.items(), key=lambda item: -item[1]):
            date = datetime.fromtimestamp(changed).strftime("%Y-%m-%d %H:%M")
            cells = (run.name, *_description(run, opened), _size(run), date)
            table.add_row(*map(Text, cells))
    return table


def _has_plan(folder: Path) -> bool:
    """Check whether a folder contains a plan, even if the plan cannot be read."""
    try:
        return (folder / PLAN_FILE).is_file()
    except PermissionError:
        return folder.is_dir()


def _last_change(folder: Path) -> float:
    """Return the Unix time of the last change to a run.

    If the run cannot be read, the time of the last change to its folder is returned.
    """
    try:
        return max(file.lstat().st_mtime for file in run_files(folder))
    except OSError:
        return folder.lstat().st_mtime


def _description(folder: Path, store: Store) -> tuple[str, str, str]:
    """Return the method, the model and the state of a run."""
    try:
        plan = plan_head(folder / PLAN_FILE)
        planned = store.planned(str(plan_hash_in(folder)))
    except AskewError:
        return "?", "?", "damaged plan"
    except OSError:
        return "?", "?", "cannot be read"
    done = sum(image.id is not None or image.reason is not None for image in planned)
    state = f"{done} of {len(planned)} images"
    if changed_run_files(folder):
        state = "damaged"
    elif (folder / RESULTS_FILE).exists() and done == len(planned):
        state = "finished"
    elif working_process(folder) is not None:
        state += ", running"
    return str(plan.get("method", "audit")), str(plan.get("model", "")), state


def runs_rm(*runs: RunFolder, store: StoreOfRun = None, yes: DeleteFlag = False) -> str:
    """Remove runs. The images and answers stay in the store until you run `askew store gc`.

    Examples
    --------
    `askew runs rm runs/mine --yes`

    Returns
    -------
    str
        Description of what was removed or would be removed.

    Raises
    ------
    UsageError
        If one of the folders is not a run folder.
    """
    if not runs:
        raise UsageError("no run is given. Name run folders: askew runs rm runs/mine")
    action = "removed" if yes else "would remove"
    lines = []
    for folder in runs:
        plan_hash = plan_hash_in(folder) if folder.is_dir() else None
        if plan_hash is None and _is_empty(folder):  # the same command was interrupted
            lines.append(f"{action} {folder}, which is empty")
            if yes:
                folder.absolute().rmdir()
            continue
        if plan_hash is None:
            raise UsageError(
                f"{folder} is not a run folder: it contains neither {HASH_FILE} nor {PLAN_FILE}"
            )
        lines += _removal(folder, action)
        if yes:
            _remove_run(folder, plan_hash, store or default_store(folder))
    if not yes:
        lines.append("nothing was removed. Add --yes to remove it")
    return "\n".join(lines)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())


def _removal(folder: Path, action: str) -> list[str]:
    """Describe what removing a run deletes, and which files remain in its folder."""
    removed = run_files(folder)
    others = sorted({path.name for path in folder.iterdir()} - {file.name for file in removed})
    line = f"{action} {folder} ({_size(folder)})"
    if not others:
        return [line]
    listed = ", ".join(others[:LARGEST_LIST])
    more = len(others) - LARGEST_LIST
    and_more = f" and {more} more" if more > 0 else ""
    return [line, f"{folder} remains, because askew did not write {listed}{and_more}"]


def _remove_run(folder: Path, plan_hash: str, store: Path) -> None:
    if store.is_dir():
        with opened_alone(store) as opened:
            opened.forget(plan_hash)
    try:
        for file in run_files(folder):
            file.unlink(missing_ok=True)
        if not any(folder.iterdir()) and not folder.is_symlink():
            folder.absolute().rmdir()
    except OSError as error:
        raise RunError(f"the folder {folder} {explain_os_error(error)}") from error


def store_gc(store: Path = Path("runs/.askew"), /, *, yes: DeleteFlag = False) -> str:
    """Delete images that no run needs (with their answers and vectors), and files in quarantine.

    Examples
    --------
    `askew store gc runs/.askew --yes`

    Parameters
    ----------
    store
        Folder of the store.

    Returns
    -------
    str
        Description of what was deleted or would be deleted.

    Raises
    ------
    UsageError
        If the store does not exist.
    """
    if not store.is_dir():
        raise UsageError(f"there is no store {store}")
    if not yes:
        with Store(store, create=False) as opened:
            _, _, unneeded = _unneeded(opened)
        return f"no run needs {unneeded}. Add --yes to delete them"
    with opened_alone(store) as opened:
        ids, files, unneeded = _unneeded(opened)
        opened.free(ids, files)
    return f"deleted {unneeded}"


def _unneeded(store: Store) -> tuple[frozenset[str], list[Path], str]:
    """Return the image ids and files that no run needs, and a sentence that counts them."""
    ids, files = store.unneeded()
    size = decimal(sum(file.stat().st_size for file in files))
    return ids, files, f"{len(ids)} images, {len(files)} files ({size})"


def studio_path(name: str = "studio", /) -> str:
    """Print the folder of a studio network.

    Examples
    --------
    `askew studio path embedder`

    Parameters
    ----------
    name
        Name of a studio network.

    Returns
    -------
    str
        The folder.
    """
    return str(weights(name))


def studio_truth(
    prompt: str = "a photo of a person", /, *, axis: str | None = None, bias: float = 1.0
) -> Text:
    """Print the planted distribution of each axis, for comparison with an audit of studio/planted.

    Examples
    --------
    `askew studio truth "a photo of a nurse"`

    `askew studio truth "a photo of a nurse" --axis age`

    Parameters
    ----------
    prompt
        Prompt that contains only words that the studio knows.
    axis
        Print only this axis.
    bias
        Strength of the planted biases, from 0 (uniform) to 1.

    Returns
    -------
    Text
        One line per value, with the probability of the value.
    """
    if axis is not None:
        return Text("\n".join(_truth_lines(prompt, axis, bias)))
    lines: list[str] = []
    for name in STUDIO_AXES:
        lines.append(name)
        lines += [f"  {line}" for line in _truth_lines(prompt, name, bias)]
    return Text("\n".join(lines))


def _truth_lines(prompt: str, axis: str, bias: float) -> list[str]:
    shares = planted_truth(prompt, axis, bias)
    return [f"{value:<16} {share:.3f}" for value, share in shares.items()]


def _size(folder: Path) -> str:
    """Return the total size of a run's files as text; "?" if the files cannot be read."""
    try:
        return decimal(sum(file.lstat().st_size for file in run_files(folder)))
    except OSError:
        return "?"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in NUMERIC_COLUMNS else "left")
    return table
