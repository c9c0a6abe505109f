"""askew mine-compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Unpack

from cyclopts import Parameter, Token

from askew.errors import UsageError
from askew.models.base import Setting
from askew.options import RunOptions, Texts, given, key_values, listed, repeated, run_options
from askew.options import names as parts_of
from askew.studies.mine_compare import METHOD
from askew.studies.mine_compare.findings import MiningComparisonResult
from askew.studies.mine_compare.plan import plan_mining_comparison


class MineCompareOptions(RunOptions, total=False):
    """Options that other commands have, too."""

    level: Annotated[float, Parameter(help="Level of the intervals; 0.95 if not given.")]


def _varied(_: object, tokens: Sequence[Token]) -> dict[str, Sequence[Setting]]:
    """Converter: a setting and its values from NAME=A,B,C."""
    name, equals, values = tokens[0].value.partition("=")
    found = parts_of(values)
    if not (name.strip() and equals and found):
        raise UsageError(
            f"--vary is {tokens[0].value!r}; write a setting and its values, such as guidance_scale=1,3,7.5"
        )
    return {name.strip(): [key_values([f"value={one}"], "--vary")["value"] for one in found]}


def mine_compare(
    *runs: str | Path,
    vary: Annotated[
        Mapping[str, Sequence[Setting]] | None, Parameter(converter=_varied, n_tokens=1, metavar="NAME=VALUE,…")
    ] = None,
    names: Annotated[Texts, repeated(listed)] = None,
    **options: Unpack[MineCompareOptions],
) -> MiningComparisonResult:
    """Score every model on the prompts that `askew mine` found for every other one.

    All models are held against the variations that a prompt was mined with, on pictures of the same fresh seeds.

    Examples:

    - `askew mine-compare runs/mine-studio runs/mine-planted`

    - `askew mine-compare runs/mine-studio --vary guidance_scale=1,2,4`

    Parameters
    ----------
    runs
        Folders of finished searches, of several models or of several writers for one.
    vary
        A setting and its values, such as guidance_scale=1,3,7.5: every model then stands once per value.
    names
        A short name for each run, separated by commas; by default its model.

    Raises
    ------
    UsageError
        For runs whose scores cannot be compared; other AskewErrors where a run fails.
    """
    folders = [Path(one) for one in runs]
    labels = parts_of(names) if isinstance(names, str) else names
    plan = plan_mining_comparison(folders, vary, labels, **given(level=options.get("level")))
    how = run_options(options)
    how["run"] = how.get("run") or folders[0].absolute().parent / METHOD.folder(plan).name
    return METHOD.run(plan, **how)
