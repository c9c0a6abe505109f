"""askew compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from askew.options import Flag, Place, Texts, listed, repeated, texts
from askew.options import names as names_of
from askew.studies.compare.study import Comparison, compare_runs


def compare(
    *runs: Path,
    names: Annotated[Texts, repeated(listed)] = None,
    store: Annotated[Texts | Path, repeated(texts)] = None,
    to: Place = None,
    json: Flag = False,
) -> Comparison:
    """Compare runs of the same plan on several models, picture by picture where seeds are the same.

    Differences are those of the later run less the earlier one.

    Examples:

    - `askew compare runs/base runs/new`

    - `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`

    Parameters
    ----------
    runs
        Folders of two to six runs.
    names
        A short name for each run, separated by commas; by default its model.
    store
        Store of all runs, or of each in order; may be repeated. By default .askew beside each.
    to
        Folder for comparison.json and comparison.html; by default beside the first run.
    json
        Print comparison.json instead of the table.

    Raises
    ------
    UsageError
        For runs that are not finished, or that were planned or read otherwise.
    """
    stores: list[str | Path] = [store] if isinstance(store, str | Path) else list(store or ())
    named = None if names is None else names_of(names)
    return compare_runs([Path(run) for run in runs], [Path(one) for one in stores], named, Path(to) if to else None)
