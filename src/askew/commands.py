"""Commands of the command line that are no method's: on finished runs, on what can be named, on the studio."""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew import registry
from askew.console import neutral
from askew.document import Document, Form
from askew.errors import AskewError, RunError, UsageError
from askew.findings import Head
from askew.method import load
from askew.options import Flag
from askew.presets import presets
from askew.run.check import check as check_run
from askew.run.check import set_aside
from askew.store.store import Store, default_store, is_store
from askew.studies.compare import COMPARISON_FILE
from askew.studio import weights
from askew.studio.planted import truth as planted_truth


def report(run: Path, /, *, store: Path | None = None, json: Flag = False) -> Document:
    """Show a finished run or comparison again, and write its report anew.

    Example: `askew report runs/mine`

    Parameters
    ----------
    run
        Folder of the run.
    store
        Its store; default: .askew beside the run.
    json
        Print results.json instead of the table.
    """
    result = _finished(run, store)
    try:
        result.write_report()
    except RunError as error:
        print(f"warning: the report was not written anew: {error}", file=sys.stderr)
    return result


def check(run: Path, /, *, store: Path | None = None, repair: Flag = False, rebuild: Flag = False) -> Text:
    """Check that a run is whole: planned = stored + missing, and every file and row is what it was.

    Examples:

    - `askew check runs/mine`

    - `askew check runs/.askew --rebuild`

    Parameters
    ----------
    run
        Folder of the run, or of a store.
    store
        Its store; default: .askew beside the run.
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
    if place is run:
        with Store(place, create=False) as opened:
            faults = opened.faults()
        if faults:
            raise AskewError("\n".join([*faults, f"the store {place} is damaged: --rebuild mends it"]))
        return Text(f"the store {place} is intact")
    found: Head | AskewError
    try:
        found = load(run, store).found
    except AskewError as error:
        found = error
    with Store(place, create=False) as opened:
        report = check_run(run, opened, found)
    if repair and report.faults:
        told = [f"set aside: {', '.join(set_aside(run, report)) or 'no file of the run'}", *Store.rebuild(place)]
        return Text("\n".join([*report.faults, *told, "the same command makes again what is missing now"]))
    if not report.ok:
        raise AskewError("\n".join([*report.lines(), f"the run {run} is not whole"]))
    return Text("\n".join(report.lines()))


def export(run: Path, /, *, to: Form = "csv", out: Path | None = None, store: Path | None = None) -> str | None:
    """Write all estimates of a finished run or comparison as csv, parquet or json, or its main results as markdown.

    Example: `askew export runs/mine --to csv --out mine.csv`

    Parameters
    ----------
    run
        Folder of the run.
    to
        The form.
    out
        The file; printed if not given. parquet needs one.
    store
        Its store; default: .askew beside the run.
    """
    content = _finished(run, store).export(to)
    if out is None:
        if isinstance(content, bytes):
            raise UsageError("parquet is not text: name a file by --out FILE")
        print(neutral(content) if sys.stdout.isatty() else content, end="")
        return None
    try:
        out.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    return str(out)


def models(*, json: Flag = False) -> RenderableType | None:
    """List the models, instruments, methods and presets that can be named on the command line.

    Example: `askew models`

    Parameters
    ----------
    json
        Print them as JSON.
    """
    named = [
        {"option": f"--{kind}" if kind != "method" else "askew", "name": name, "summary": registry.summary(point)}
        for kind in registry.GROUPS
        for name, point in registry.providers(kind).items()
    ]
    if json:
        sets_up = [{"option": "--preset", "name": name, **asdict(one)} for name, one in presets().items()]
        print(jsons.dumps([*named, *sets_up], indent=2))
        return None
    providers, sets = _table("option", "name", "what it is"), _table("--preset", "what it is", "download", "GPU memory")
    for row in named:
        providers.add_row(*row.values())
    for name, one in presets().items():
        sets.add_row(name, one.summary, *(f"{size:.0f} GB" for size in (one.download_gb, one.memory_gb)))
    return Group(providers, sets)


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
    shares: Mapping[str, float] = planted_truth(prompt, axis, bias)
    return Text("\n".join(f"{value:<16} {share:.3f}" for value, share in shares.items()))


def _finished(folder: Path, store: Path | None) -> Document:
    """The run or the comparison in a folder. Raises UsageError."""
    if not (folder / COMPARISON_FILE).exists():
        return load(folder, store)
    from askew.studies.compare.command import load_comparison

    return load_comparison(folder, store)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in ("download", "GPU memory") else "left")
    return table
