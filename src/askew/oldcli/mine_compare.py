"""askew mine-compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from askew.api import mine_compare as api
from askew.errors import UsageError
from askew.models.base import Setting
from askew.oldcli.base import app, out
from askew.oldcli.options import AsJson, Budget, DryRun, Level, RunFolder, StoreFolder, listed
from askew.oldcli.runs import show
from askew.planning.mining_comparison import plan_mining_comparison
from askew.plans.settings import key_values


@app.command()
def mine_compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished searches.", show_default=False)],
    vary: Annotated[str | None, typer.Option(help="A setting and its values: guidance_scale=1,3,7.5.")] = None,
    names: Annotated[str | None, typer.Option(help="A short name for each run, separated by commas.")] = None,
    level: Level = 0.95,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: DryRun = False,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Score every model on the prompts that `askew mine` found for every other one.

    Examples:

    - `askew mine-compare runs/mine-studio runs/mine-planted`

    - `askew mine-compare runs/mine-studio --vary guidance_scale=1,2,4`
    """
    plan = plan_mining_comparison(runs, _varied(vary), listed(names), level)
    folder = run or api.default_comparison_run(plan, runs)
    if dry_run:
        for line in api.comparison_work(plan, folder, store):
            out.print(line)
        return
    show(api.run_comparison_plan(plan, folder, store, budget=budget, progress=True), as_json)


def _varied(text: str | None) -> dict[str, Sequence[Setting]] | None:
    """A setting and its values from NAME=A,B,C."""
    if text is None:
        return None
    name, equals, values = text.partition("=")
    found = listed(values) or []
    if not (name.strip() and equals and found):
        raise UsageError(f"--vary is {text!r}; write a setting and its values, such as guidance_scale=1,3,7.5")
    return {name.strip(): [key_values([f"value={one}"], "--vary")["value"] for one in found]}
