"""Commands on a run that is there: report, check, sensitivity."""

from __future__ import annotations

import sys
from typing import Any

from askew.api import runs as api
from askew.errors import AskewError
from askew.method import Result
from askew.oldcli.base import app, err, out
from askew.oldcli.options import AsJson, Existing, StoreFolder
from askew.results.file import RESULTS_FILE
from askew.results.run import RunResult


@app.command()
def report(run: Existing, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Show a finished run again, and write its report anew.

    Example: `askew report runs/mine`
    """
    result = api.load(run, store)
    result.write_report()
    show(result, as_json)


@app.command()
def check(run: Existing, store: StoreFolder = None) -> None:
    """Check that a run is whole: planned = stored + missing, and every file is what it was.

    Example: `askew check runs/mine`
    """
    found = api.check(run, store)
    for line in found.lines():
        out.print(line, soft_wrap=True)
    if not found.ok:
        raise AskewError(f"the run {run} is not whole; running its command again repairs what can be repaired")


def show(result: RunResult | Result[Any, Any], as_json: bool) -> None:
    """Print a result as its table, with warnings and the place of the report, or as JSON."""
    if as_json:
        sys.stdout.write((result.folder / RESULTS_FILE).read_text(encoding="utf-8"))
        return
    for warning in result.results["warnings"]:
        err.print(f"warning: {warning}", style="yellow", soft_wrap=True, markup=False, highlight=False)
    out.print(result.table())
    out.print(f"report: {result.report.resolve()}", soft_wrap=True, markup=False, highlight=False)
