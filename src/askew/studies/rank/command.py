"""askew rank."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Unpack

from cyclopts import Parameter

from askew import options as o
from askew.errors import UsageError
from askew.studies.rank import METHOD, RankResult
from askew.studies.rank.steps import RankPlan


class RankOptions(
    o.PromptOptions, o.EmbedderOptions, o.WriterOptions, o.StatisticsOptions, o.SettingOptions, o.RunOptions,
    total=False,
):  # fmt: skip
    """Options that other commands have, too."""


def rank(
    *prompts: o.Prompt,
    model: Annotated[o.Texts, o.repeated(o.listed)] = None,
    objective: Literal["lean", "bias"] | None = None,
    axes: Annotated[o.Texts, o.repeated(o.listed)] = None,
    images: int | None = None,
    variations: int | None = None,
    vqa: str | None = None,
    table: o.Place = None,
    value: Annotated[str | None, Parameter(help="What the table's shares are of; female if not given.")] = None,
    **options: Unpack[RankOptions],
) -> RankResult:
    """Score given prompts on some models, and hold their ranks against a table of shares (MineTheGap, section 4.2).

    All models get the same seeds and are held against the same variations.

    Examples:

    - `askew rank "a photo of a nurse" "a photo of a plumber" --model studio/planted,studio`

    - `askew rank --table bls-2022.csv --model studio/planted`

    - `askew rank --prompts prompts.txt --objective bias`

    Parameters
    ----------
    prompts
        Prompts, or a file of them by --prompts.
    model
        Models, separated by commas: studio/planted if not given.
    objective
        lean (if not given): how far the shares of --axes are from equal ones; bias: the paper's score.
    axes
        Axes of leans; gender if not given.
    images
        Pictures per prompt; 48 if not given, of bias 15.
    variations
        Variations per prompt for bias; 15 if not given.
    vqa
        Who reads the axes; the embedder if not given.
    table
        A CSV of names and their shares, such as women of an occupation: names are the first column, shares the one
        that is named after --value, else the first one of numbers. They are percentages where one is above 1. Without
        prompts they are "photo portrait of a NAME".

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    shares = read_shares(Path(table), value or "female") if table is not None else {}
    texts = o.prompts_of(prompts, options)
    own = o.names(model)
    fields = {**o.plan_fields({**options, "model": own[0] if own else None}), "llm_args": o.writer_settings(options)}
    settings = fields.pop("model_args", {})
    first = str(fields.pop("model", "studio/planted"))
    data = {
        **{name: found for name, found in fields.items() if name in RankPlan.model_fields},
        **o.given(objective=objective, images=images, variations=variations, value=value, vqa=vqa),
        "models": [{"name": one, "model": one, "model_args": settings} for one in own or [first]],
        "prompts": texts, "axes": o.names(axes), "table": shares,
    }  # fmt: skip
    return METHOD.run(RankPlan.checked(data, "this request"), **o.run_options(options))


def read_shares(path: Path, value: str = "") -> dict[str, float]:
    """By name its share in [0, 1]: of the column that is named after the value, else of the first one of shares.

    Raises UsageError for a file that is no such table.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            heads, *rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"the table {path} cannot be read: {error}") from error
    columns = [k for k in range(1, len(heads)) if rows and _holds_shares(rows, k)]
    if not columns:
        raise UsageError(f"the table {path} has no column of shares: write a row of heads, then NAME,SHARE a line")
    column = next((k for k in columns if value in re.split(r"[\W_]+", heads[k].lower())), columns[0])
    found = {row[0]: float(row[column]) for row in rows}
    scale = 100 if max(found.values()) > 1 else 1
    return {name: share / scale for name, share in found.items()}


def _holds_shares(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether every row has a share or a percentage there; a column of years has not."""
    try:
        return all(0 <= float(row[column]) <= 100 for row in rows)
    except (IndexError, ValueError):
        return False
