"""askew compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from askew.api import runs as api
from askew.oldcli.base import app, err, out
from askew.oldcli.options import listed


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of two runs or more.", show_default=False)],
    names: Annotated[str | None, typer.Option(help="A short name for each run, separated by commas.")] = None,
    store: Annotated[
        list[Path] | None, typer.Option("--store", help="Store of all runs, or of each in order; may be repeated.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for the results and the page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print comparison.json instead of the table.")] = False,
) -> None:
    """Compare runs of the same plan on several models, picture by picture where seeds are the same.

    Examples:

    - `askew compare runs/base runs/new`

    - `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`
    """
    with err.status("comparing, up to a second or two per prompt and axis"):
        found = api.compare(*runs, names=listed(names), store=store or (), to=to)
    if as_json:
        sys.stdout.write(found.results.read_text(encoding="utf-8"))
        return
    out.print(found.table())
    out.print(f"report: {found.report.resolve()}", soft_wrap=True, markup=False, highlight=False)
