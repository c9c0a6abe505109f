"""askew rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

from cyclopts import Parameter, Token

from askew import options as shared
from askew.errors import UsageError
from askew.method import load
from askew.methods.mine.findings import MiningResult
from askew.methods.mine.plan import EQ1, SKEW, MinePlan
from askew.models.base import Setting
from askew.parts.survey.sequential import MAX_IMAGES
from askew.store.keys import held_out_seed
from askew.studies.rank import METHOD, RankResult
from askew.studies.rank.plan import ModelPlan, RankPlan
from askew.studies.rank.table import table_shares

DEFAULT_MODEL = "studio/planted"


class RankOptions(
    shared.PromptOptions,
    shared.VQASettingOptions,
    shared.EmbedderOptions,
    shared.WriterOptions,
    shared.MitigationOptions,
    shared.ModelOptions,
    total=False,
):
    """Options that other commands share."""


_INSTRUMENT_FIELDS = ("objective", "embedder", "embedder_args")
COMPARED_FIELDS = {
    SKEW: (*_INSTRUMENT_FIELDS, "axes", "eval_images", "vqa", "vqa_args"),
    EQ1: (
        *_INSTRUMENT_FIELDS,
        "images",
        "variations",
        "quantile",
        "similarity",
        "llm",
        "llm_args",
        "topic",
        "words",
    ),
}
"""Plan fields that affect how large a score is, for each objective.

If searches differ in these fields, their prompts cannot be scored together.
"""


def _varied(_: object, tokens: Sequence[Token]) -> dict[str, list[Setting]]:
    """Convert NAME=A,B,C to a mapping from the name of the setting to its values."""
    lists = shared.named_lists([token.value for token in tokens], "--vary")
    return {name: _settings(name, texts) for name, texts in lists.items()}


def _settings(name: str, texts: Sequence[str]) -> list[Setting]:
    return [shared.key_values([f"{name}={text}"], "--vary")[name] for text in texts]


def rank(
    *prompts: shared.PromptArgument,
    model: shared.NamesOption = None,
    mined: shared.NamesOption = None,
    vary: Annotated[
        Mapping[str, Sequence[Setting]] | None,
        Parameter(converter=_varied, n_tokens=1, metavar="NAME=VALUE,…"),
    ] = None,
    objective: Literal["skew", "eq1"] | None = None,
    axes: shared.NamesOption = None,
    images: int | None = None,
    find: int | None = None,
    eval_images: int | None = None,
    until: Literal["decided"] | None = None,
    max_images: int | None = None,
    variations: int | None = None,
    vqa: str | None = None,
    table: shared.PathOption = None,
    value: Annotated[
        str | None, Parameter(help="Value whose shares are in the table. [default: female]")
    ] = None,
    plan: shared.PathOption = None,
    **options: Unpack[RankOptions],
) -> RankResult:
    """Rank given prompts by the bias of their images (MineTheGap).

    If there are several models, the command also compares the models. The command can also compare
    the bias with a table of real-world shares. All models use the same variations of prompts, and
    the same seeds if they accept seeds.

    Examples
    --------
    `askew rank "a photo of a nurse" "a photo of a plumber" --model studio/planted,studio`

    `askew rank --table bls-2022 --model studio/planted`

    `askew rank --table bls-2022 --find 5`

    `askew rank --table bls-2022 --find 5 --until decided --max-images 200`

    `askew rank --prompts prompts.txt --objective eq1`

    `askew rank --mined runs/mine-studio,runs/mine-planted --vary guidance_scale=1,2,4`

    Parameters
    ----------
    prompts
        Prompts to rank. --prompts reads prompts from a file.
    model
        Models, separated by commas. [default: the models of --mined; else studio/planted]
    mined
        Run folders of finished searches, separated by commas. askew scores the best prompts from
        the searches, with the searches' held-out seeds and variations.
    vary
        A setting and its values, such as guidance_scale=1,3,7.5. askew scores the prompts on every
        model, once with each value.
    objective
        Score of a prompt. skew: deviation of the shares on --axes from equal shares. eq1: the
        paper's score. [default: skew]
    axes
        Axes on which skew is measured. [default: gender]
    images
        Images per prompt. With --find, images per prompt in the last round. [default: 48; 15 with
        --objective eq1; 128 or more with --find]
    find
        Number of most biased prompts to find. In each round, askew drops the less biased
        half of the prompts, and doubles the number of images for the other half. askew ranks the
        remaining prompts by their bias in held-out images.
    eval_images
        Held-out images for each prompt that --find selects. [default: 48]
    until
        Add held-out images to each prompt that --find selects, until the prompt's bias is
        significant on an axis. askew tests after 8, 12, 16, 24, … images, up to --max-images.
    max_images
        Maximum number of held-out images for each prompt with --until decided. [default: 400]
    variations
        Variations per prompt, with --objective eq1. [default: 15]
    vqa
        VQA model that labels the images on the axes. [default: the embedder]
    table
        Table of real-world shares: bls-2022 (U.S. occupations), a CSV file with the columns
        occupation, axis, value and share, or a CSV file with names and shares, such as the share of
        women in each occupation. If there are several columns of shares, askew uses the column
        whose name contains --value or, if there is none, the first column of shares. If you give no
        prompts, askew ranks the prompts "photo portrait of a NAME".
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.

    Returns
    -------
    RankResult
        The finished run.

    Raises
    ------
    UsageError
        If an option is invalid, or if options contradict each other.
    AskewError
        If a run fails.
    """
    shared.check_until(until, max_images, eval_images, "--eval-images", "held-out images")

    def build() -> RankPlan:
        model_names = shared.names(model)
        folders = shared.names(mined)
        searches = [_search_in(folder) for folder in folders]
        first_name = model_names[0] if model_names else None
        fields = shared.plan_fields({**options, "model": first_name})
        settings = fields.get("model_args", {})
        data = _fields_of_searches(searches, folders, settings)
        if not searches and not model_names:
            model_names = [fields.get("model", DEFAULT_MODEL)]
        if model_names:
            data["models"] = _model_plans(model_names, settings)
        data |= {name: field for name, field in fields.items() if name in RankPlan.model_fields}
        data |= shared.given(
            objective=objective,
            images=images,
            find=find,
            eval_images=eval_images if until is None else max_images or MAX_IMAGES,
            until=until,
            variations=variations,
            value=value,
            vqa=vqa,
        )
        lists = {"axes": shared.names(axes), "llm_args": shared.writer_settings(options)}
        data |= {name: items for name, items in lists.items() if items}
        if table is not None:
            data["table"] = table_shares(str(table), value or "female")
        data["models"] = _varied_models(vary, data["models"], settings)
        data["prompts"] = [*shared.prompts_of(prompts, options), *data.get("prompts", ())]
        return RankPlan.checked(data, "this request")

    return METHOD.run_command(
        options,
        RankOptions,
        build,
        plan,
        prompts=prompts,
        model=model,
        mined=mined,
        vary=vary,
        objective=objective,
        axes=axes,
        images=images,
        find=find,
        eval_images=eval_images,
        until=until,
        max_images=max_images,
        variations=variations,
        vqa=vqa,
        table=table,
        value=value,
    )


def _model_plans(names: Sequence[str], settings: Mapping[str, Setting]) -> list[ModelPlan]:
    return [ModelPlan(name=name, model=name, model_args=dict(settings)) for name in names]


def _search_in(folder: str) -> MiningResult:
    """Load a finished search. Raise UsageError if `askew rank` does not support the search's score."""
    run = load(Path(folder))
    if not isinstance(run, MiningResult) or run.plan.objective not in (SKEW, EQ1):
        raise UsageError(
            f"{folder} is not a search by skew or eq1. --mined needs run folders of `askew mine` "
            f"with --objective {SKEW} or {EQ1}"
        )
    return run


@dataclass(frozen=True)
class _MinedPrompt:
    """Name of the search that found a prompt, and variations of the prompt."""

    search: str
    variations: tuple[str, ...]


def _fields_of_searches(
    searches: Sequence[MiningResult], names: Sequence[str], settings: Mapping[str, Setting]
) -> dict[str, Any]:
    """Return the plan fields that are taken from finished searches; empty if there are no searches.

    The fields are prompts, variations, models, numbers of images and the seed. `settings` overrides
    the settings of the searches' models. If two searches found the same prompt, the prompt gets the
    variations from the first search. All prompts are scored on the held-out seeds of the first
    search. No search used these seeds to select prompts.
    """
    if not searches:
        return {}
    first = searches[0]
    for search in searches[1:]:
        _check_same_scores(first, search)
    plan = first.plan
    is_skew = plan.objective == SKEW
    mined = _mined_prompts(searches, names)
    data = {
        name: getattr(plan, name)
        for name in COMPARED_FIELDS[plan.objective]
        if name in RankPlan.model_fields
    }
    data |= {
        "images": plan.eval_images if is_skew else plan.images,
        "seed": held_out_seed(plan.seed),
        "models": _models_of(searches, settings),
        "prompts": list(mined),
        "mined_for": {prompt: entry.search for prompt, entry in mined.items()},
    }
    if not is_skew:
        data["given"] = {prompt: entry.variations for prompt, entry in mined.items()}
    return data


def _check_same_scores(first: MiningResult, other: MiningResult) -> None:
    """Raise UsageError if a search's scores are not comparable with the first search's scores."""
    # a plan leaves out empty settings
    expected = first.plan.deciding()
    actual = other.plan.deciding()
    differences = [
        f"{name} {actual.get(name)}, not {expected.get(name)}"
        for name in COMPARED_FIELDS[first.plan.objective]
        if actual.get(name) != expected.get(name)
    ]
    if differences:
        raise UsageError(
            f"--mined: the scores in {other.folder} cannot be compared with those in "
            f"{first.folder}, because {other.folder} has {'; '.join(differences)}. Repeat one of "
            "the searches with the options of the other search"
        )


def _mined_prompts(
    searches: Sequence[MiningResult], names: Sequence[str]
) -> dict[str, _MinedPrompt]:
    """Return the best prompts of all searches, in the order of the searches.

    If the score needs variations, prompts that have no variations are left out.
    """
    mined: dict[str, _MinedPrompt] = {}
    for search, name in zip(searches, names, strict=True):
        for prompt in search.findings.minethegap.best:
            if search.plan.objective == SKEW or prompt.variations:
                entry = _MinedPrompt(search=name, variations=prompt.variations)
                mined.setdefault(prompt.prompt, entry)
    return mined


def _models_of(
    searches: Sequence[MiningResult], settings: Mapping[str, Setting]
) -> list[ModelPlan]:
    """Return the models that the searches used, with their settings, without duplicates."""
    models: dict[str, ModelPlan] = {}
    for search in searches:
        model = _model_of(search.plan, settings)
        models[model.name] = model
    return list(models.values())


def _model_of(plan: MinePlan, settings: Mapping[str, Setting]) -> ModelPlan:
    model_args = {**plan.model_args, **settings}
    texts = [f"{name}={value}" for name, value in sorted(model_args.items())]
    return ModelPlan(name=" ".join([plan.model, *texts]), model=plan.model, model_args=model_args)


def _varied_models(
    vary: Mapping[str, Sequence[Setting]] | None,
    models: Sequence[ModelPlan],
    settings: Mapping[str, Setting],
) -> list[ModelPlan]:
    """Return a copy of each model for each value of the varied setting."""
    if vary is None:
        return list(models)
    if len(vary) != 1:
        raise _unusable_variation()
    ((setting, values),) = vary.items()
    if len({str(value) for value in values}) < 2:
        raise _unusable_variation()
    if setting in settings:
        raise UsageError(
            f"{setting} is both set to {settings[setting]} by -M and varied by --vary. "
            "Leave out one of the two options"
        )
    return [
        ModelPlan(
            name=f"{model.name} {setting}={value}" if len(models) > 1 else f"{setting}={value}",
            model=model.model,
            model_args={**model.model_args, setting: value},
        )
        for model in models
        for value in values
    ]


def _unusable_variation() -> UsageError:
    return UsageError(
        "--vary needs a setting and at least two values, such as --vary guidance_scale=1,3,7.5"
    )
