"""askew rank."""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Unpack

from cyclopts import Parameter, Token

from askew import options as o
from askew.errors import UsageError
from askew.method import load
from askew.methods.mine.findings import MiningResult
from askew.methods.mine.plan import BIAS, LEAN
from askew.models.base import Setting
from askew.store.files import read_text
from askew.store.keys import derived_seed
from askew.studies.rank import METHOD, RankResult
from askew.studies.rank.steps import ModelPlan, RankPlan


class RankOptions(
    o.PromptOptions,
    o.EmbedderOptions,
    o.WriterOptions,
    o.MitigationOptions,
    o.ModelOptions,
    total=False,
):
    """Options that other commands have, too."""


READ_BY = ("objective", "embedder", "embedder_args")
SAME = {
    LEAN: (*READ_BY, "axes", "fresh_images", "vqa"),
    BIAS: (
        *READ_BY,
        "images",
        "variations",
        "quantile",
        "similarity",
        "llm",
        "llm_args",
        "target",
        "words",
    ),
}
"""By objective, what decides the size of a score: searches that differ in it are not scored
together.
"""


def _varied(_: object, tokens: Sequence[Token]) -> dict[str, list[Setting]]:
    """Converter: a setting and its values from NAME=A,B,C."""
    return {
        name: [o.key_values([f"{name}={one}"], "--vary")[name] for one in some]
        for name, some in o.named_lists([token.value for token in tokens], "--vary").items()
    }


def rank(
    *prompts: o.PromptArgument,
    model: o.NamesOption = None,
    mined: o.NamesOption = None,
    vary: Annotated[
        Mapping[str, Sequence[Setting]] | None,
        Parameter(converter=_varied, n_tokens=1, metavar="NAME=VALUE,…"),
    ] = None,
    objective: Literal["lean", "bias"] | None = None,
    axes: o.NamesOption = None,
    images: int | None = None,
    variations: int | None = None,
    vqa: str | None = None,
    table: o.PathOption = None,
    value: Annotated[
        str | None, Parameter(help="What the table's shares are of; female if not given.")
    ] = None,
    **options: Unpack[RankOptions],
) -> RankResult:
    """Score given prompts on some models, hold models against each other, and ranks against a table
    (MineTheGap, 4.2).

    All models get the same seeds and are held against the same variations.

    Examples:

    - `askew rank "a photo of a nurse" "a photo of a plumber" --model studio/planted,studio`

    - `askew rank --table bls-2022.csv --model studio/planted`

    - `askew rank --prompts prompts.txt --objective bias`

    - `askew rank --mined runs/mine-studio,runs/mine-planted --vary guidance_scale=1,2,4`

    Parameters
    ----------
    prompts
        Prompts, or a file of them by --prompts.
    model
        Models, separated by commas: those of the searches, else studio/planted, if not given.
    mined
        Folders of finished searches, separated by commas: their best prompts, on fresh seeds,
        against the variations that they were mined with.
    vary
        A setting and its values, such as guidance_scale=1,3,7.5: every model then stands once per
        value.
    objective
        lean (if not given): how far the shares of --axes are from equal ones; bias: the paper's
        score.
    axes
        Axes of leans; gender if not given.
    images
        Pictures per prompt; 48 if not given, of bias 15.
    variations
        Variations per prompt for bias; 15 if not given.
    vqa
        Who reads the axes; the embedder if not given.
    table
        A CSV of names and their shares, such as women of an occupation: names are the first column,
        shares the one that is named after --value, else the first one of numbers. They are
        percentages where one is above 1. Without prompts they are "photo portrait of a NAME".

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    o.only_known(options, RankOptions)
    own = o.names(model)
    searches = list[MiningResult]()
    for folder in o.names(mined):
        run = load(Path(folder))
        if not isinstance(run, MiningResult) or run.plan.objective not in (LEAN, BIAS):
            raise UsageError(
                f"{folder} is no search for leans or for bias; --mined needs runs of `askew mine`"
            )
        searches.append(run)
    shared = o.plan_fields({**options, "model": own[0] if own else None})
    settings = shared.get("model_args", {})
    written = o.writer_settings(options)
    found = dict(_of_searches(searches, o.names(mined), settings)) if searches else {}
    models = found.get("models", ())
    if own or not searches:
        named = own or [shared.get("model", "studio/planted")]
        models = [ModelPlan(name=one, model=one, model_args=settings) for one in named]
    data = {
        **found,
        **{name: one for name, one in shared.items() if name in RankPlan.model_fields},
        **({"llm_args": written} if written else {}),
        **o.given(objective=objective, images=images, variations=variations, value=value, vqa=vqa),
        "models": _over(vary, models, settings),
        "axes": o.names(axes) or found.get("axes", ()),
        "prompts": [*o.prompts_of(prompts, options), *found.get("prompts", ())],
        "table": read_shares(Path(table), value or "female") if table is not None else {},
    }
    return METHOD.run(RankPlan.checked(data, "this request"), **o.run_options(options))


def _of_searches(
    searches: Sequence[MiningResult], names: Sequence[str], settings: Mapping[str, Setting]
) -> RankPlan:
    """What finished searches say of a plan: their best prompts and variations, models, sizes, and
    fresh seeds.

    Their models take the `settings` that are given now, above their own. A prompt of two searches
    is the first one's. All get the fresh seeds of the first, which no search knows. Raises
    UsageError where scores cannot be compared.
    """
    first = searches[0].plan
    lean = first.objective == LEAN
    same = SAME[first.objective]
    for other in searches[1:]:
        own = first.deciding()
        theirs = other.plan.deciding()
        differ = [
            f"{name} {theirs[name]}, not {own[name]}" for name in same if own[name] != theirs[name]
        ]
        if differ:
            told = "; ".join(differ)
            raise UsageError(
                f"{other.folder} cannot stand beside {searches[0].folder}, since it has {told}"
            )
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for run, name in zip(searches, names, strict=True):
        for one in run.findings.minethegap.best:
            if lean or one.variations:
                found.setdefault(one.prompt, (name, one.variations))
    models: dict[str, ModelPlan] = {}
    for plan in (run.plan for run in searches):
        args = {**plan.model_args, **settings}
        label = " ".join([plan.model, *(f"{name}={value}" for name, value in sorted(args.items()))])
        models[label] = ModelPlan(name=label, model=plan.model, model_args=args)
    return RankPlan.checked(
        {
            **{name: getattr(first, name) for name in same if name in RankPlan.model_fields},
            "images": first.fresh_images if lean else first.images,
            "seed": derived_seed(first.seed, "fresh"),
            "models": [*models.values()],
            "prompts": [*found],
            "mined_for": {prompt: name for prompt, (name, _) in found.items()},
            "given": {} if lean else {prompt: texts for prompt, (_, texts) in found.items()},
        }
    )


def _over(
    vary: Mapping[str, Sequence[Setting]] | None,
    models: Sequence[ModelPlan],
    settings: Mapping[str, Setting],
) -> list[ModelPlan]:
    """Every model once per value of the setting that is varied, which is none of the `settings`."""
    if vary is None:
        return [*models]
    if len(vary) != 1 or any(len({str(value) for value in values}) < 2 for values in vary.values()):
        raise UsageError(
            "--vary takes one setting and two values or more, such as guidance_scale=1,3,7.5"
        )
    twice = vary.keys() & settings.keys()
    if twice:
        name = twice.pop()
        raise UsageError(
            f"{name} is both set to {settings[name]} and varied; leave one of the two out"
        )
    return [
        ModelPlan(
            name=f"{one.name} {name}={value}" if len(models) > 1 else f"{name}={value}",
            model=one.model,
            model_args={**one.model_args, name: value},
        )
        for one in models
        for name, values in vary.items()
        for value in values
    ]


def read_shares(path: Path, value: str = "") -> dict[str, float]:
    """By name its share in [0, 1]: of the column that is named after the value, else of the first
    one of shares.

    Raises UsageError for a file that is no such table.
    """
    lines = read_text(path, "the table").splitlines(keepends=True)
    try:
        heads, *rows = [
            [cell.strip() for cell in row] for row in csv.reader(lines) if any(row)
        ] or [[]]
    except csv.Error as error:
        raise UsageError(f"the table {path} cannot be read: {error}") from error

    def holds_shares(column: int) -> bool:
        try:  # a share or a percentage in every row; a column of years holds none
            return all(0 <= float(row[column]) <= 100 for row in rows)
        except (IndexError, ValueError):
            return False

    columns = [k for k in range(1, len(heads)) if rows and holds_shares(k)]
    if not columns:
        raise UsageError(
            f"the table {path} has no column of shares: write a row of heads, then NAME,SHARE a line"
        )
    column = next(
        (k for k in columns if value in re.split(r"[\W_]+", heads[k].lower())), columns[0]
    )
    found = {row[0]: float(row[column]) for row in rows}
    scale = 100 if max(found.values()) > 1 else 1
    return {name: share / scale for name, share in found.items()}
