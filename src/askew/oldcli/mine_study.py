"""askew mine-study."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from askew.api import mine_study as api
from askew.oldcli.base import app, out
from askew.oldcli.options import AsJson, Draws, Level, RunFolder, Seed, Selected, StoreFolder
from askew.plans.settings import key_values
from askew.report.mining_study import mining_study_table
from askew.studio.occupations import OCCUPATIONS


@app.command()
def mine_study(
    model: Annotated[str, typer.Option(help="A studio model whose bias is planted.")] = "studio/planted",
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as bias=0.5.")] = None,
    runs: Annotated[int, typer.Option(help="Searches of each size, with paired seeds.")] = 10,
    iterations: Annotated[int, typer.Option(help="Iterations of each search.")] = 25,
    images: Annotated[int, typer.Option(help="Pictures per prompt in the searches.")] = 15,
    ranking_images: Annotated[int, typer.Option(help="Pictures per occupation in the study of alpha.")] = 48,
    selection: Selected = "score",
    occupations: Annotated[int, typer.Option(help="Occupations that are ranked.")] = len(OCCUPATIONS),
    seed: Seed = 0,
    level: Level = 0.95,
    draws: Draws = 1000,
    run: RunFolder = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """What alpha, population and selection do to a search, judged on the studio, where the bias is known.

    Example: `askew mine-study --runs 10 --iterations 10`
    """
    found = api.mine_study(
        model, model_args=key_values(setting or (), "-M"), runs=runs, iterations=iterations, images=images,
        ranking_images=ranking_images, occupations=occupations, selection=selection, seed=seed, level=level,
        draws=draws, run=run, store=store, progress=True,
    )  # fmt: skip
    if as_json:
        sys.stdout.write((found.folder / api.STUDY_FILE).read_text(encoding="utf-8"))
        return
    out.print(mining_study_table(found.results))
    out.print(f"report: {found.report.resolve()}", soft_wrap=True, markup=False, highlight=False)
