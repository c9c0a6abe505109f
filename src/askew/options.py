"""Options that several commands share, and the plan fields that these options set."""

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, TypeVar, cast

from cyclopts import Group, Parameter, Token

from askew.engine.base import Engine
from askew.errors import UnknownName, UsageError
from askew.models.base import Setting
from askew.plan import PlanFields, Settings
from askew.run.progress import Progress

if TYPE_CHECKING:
    from askew.prompts.llm import CompletionCache

T = TypeVar("T")

_model_option = partial(Parameter, group=Group("Model", sort_key=1))
_instrument_option = partial(Parameter, group=Group("Instruments", sort_key=2))
_image_option = partial(Parameter, group=Group("Your own images", sort_key=3))
_statistics_option = partial(Parameter, group=Group("Statistics", sort_key=4))
_run_option = partial(Parameter, group=Group("Run", sort_key=5))
"""Functions that create options, one function for each section of the help."""


def pairs(
    given: Iterable[str] | Mapping[str, str], option: str, empty: bool = False
) -> dict[str, str]:
    """Convert strings such as NAME=VALUE to a mapping.

    Parameters
    ----------
    given
        The strings, or a mapping, which is returned unchanged.
    option
        Spelling of the option, for error messages.
    empty
        If True, allow empty values.

    Raises
    ------
    UsageError
        If a string does not have this form.
    """
    if isinstance(given, Mapping):
        return dict(given)
    values = {}
    for text in given:
        name, equals, value = text.partition("=")
        has_value = bool(value.strip()) or empty
        if not (equals and name.strip() and has_value):
            raise UsageError(f"{option} {text!r} is not of the form NAME=VALUE")
        values[name.strip()] = value.strip()
    return values


def key_values(given: Iterable[str] | Mapping[str, Setting], option: str) -> dict[str, Setting]:
    """Convert strings such as NAME=VALUE to a mapping, and recognize numbers and true/false.

    A mapping is returned unchanged. A value may be empty, as in negative_prompt=.
    """
    if isinstance(given, Mapping):
        return dict(given)
    return {name: _scalar(value) for name, value in pairs(given, option, empty=True).items()}


def names(given: str | Sequence[str] | None) -> list[str]:
    """Return the names in a list of strings. Commas separate several names in a string."""
    parts = [name for text in several(given) for name in text.split(",")]
    return [name.strip() for name in parts if name.strip()]


def named_lists(
    given: Iterable[str] | Mapping[str, str | Sequence[str]], option: str
) -> dict[str, list[str]]:
    """Convert strings such as NAME=A,B, or a mapping, to a mapping from names to lists.

    Raises
    ------
    UsageError
        If a string does not have this form.
    """
    lists = given if isinstance(given, Mapping) else pairs(given, option)
    return {
        name: names(value) if isinstance(value, str) else list(value)
        for name, value in lists.items()
    }


def several(given: str | Sequence[T] | None) -> list[str | T]:
    """Convert an argument to a list. A string becomes one item, and None becomes an empty list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def given(**options: T | None) -> dict[str, T]:
    """Return the options whose value is not None, that is, the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _scalar(text: str) -> Setting:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def repeated(metavar: str) -> Parameter:
    """Return an option that can be repeated, with one string each time."""
    return Parameter(
        converter=_as_written, n_tokens=1, negative="", show_default=False, metavar=metavar
    )


def numbers(kind: Callable[[str], object], wanted: str) -> Parameter:
    """Return an option that takes numbers separated by commas.

    Parameters
    ----------
    kind
        Function that converts a string to a number.
    wanted
        Description of the numbers for error messages, with an example.
    """

    def convert(_: object, tokens: Sequence[Token]) -> tuple[object, ...]:
        parts = names([token.value for token in tokens])
        try:
            return tuple(map(kind, parts))
        except ValueError as error:
            text = ",".join(parts)
            raise UsageError(
                f"{tokens[0].keyword} {text!r} is invalid. Give {wanted.rstrip(',')}"
            ) from error

    return Parameter(converter=convert, n_tokens=1, negative="", metavar="N,…")


def _one_text(_: object, tokens: Sequence[Token]) -> str:
    return tokens[0].value


def _as_written(_: object, tokens: Sequence[Token]) -> list[str]:
    return [token.value for token in tokens]


TextsOption = Annotated[str | Sequence[str] | None, repeated("TEXT")]
NamesOption = Annotated[str | Sequence[str] | None, repeated("NAME,…")]
ListsOption = Annotated[list[str] | Mapping[str, Sequence[str]] | None, repeated("NAME=VALUE,…")]
PairsOption = Annotated[list[str] | Mapping[str, str] | None, repeated("NAME=VALUE")]
SettingsOption = Annotated[list[str] | Mapping[str, Setting] | None, repeated("NAME=VALUE")]
"""Settings of a model or an instrument."""

PromptArgument = Annotated[
    str | Sequence[str], Parameter(converter=lambda _, tokens: tokens[0].value, n_tokens=1)
]
"""A positional prompt. In Python, this can also be a list of prompts."""

PromptsArgument = Annotated[
    str | Sequence[str],
    Parameter(
        name="PROMPT",
        converter=_as_written,
        n_tokens=-1,
        consume_multiple=True,
        negative="",
        show_default=False,
    ),
]
"""All positional arguments as prompts. In Python, a prompt or a list of prompts."""

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
"""An option without a value."""

PathOption = Annotated[str | Path | None, Parameter(metavar="PATH")]
"""A file or a folder."""

PathsOption = Annotated[str | Path | Sequence[str | Path] | None, repeated("PATH")]
"""Files or folders."""


class RunOptions(TypedDict, total=False):
    """Folder of a run, and options that control how askew carries out the run.

    `progress`, `stop` and Engine objects can be used only in Python.
    """

    run: Annotated[
        PathOption,
        _run_option(
            help="Run folder. Repeating the command resumes the run. [default: "
            "runs/METHOD-LABEL-HASH]",
        ),
    ]
    store: Annotated[
        PathOption,
        _run_option(
            help="Store for images and answers, shared between runs. [default: .askew next to the "
            "run folder]",
        ),
    ]
    json: Annotated[Flag, _run_option(help="Print results.json instead of the table.")]
    progress: Annotated[
        bool | Progress,
        Parameter(
            parse=False,
            help="True to report progress on standard error, or a function that receives events.",
        ),
    ]
    engine: Annotated[
        str | Engine | None,
        _run_option(
            converter=_one_text,
            n_tokens=1,
            metavar="NAME",
            help="Engine that runs models and instruments: local, threads, ray, or "
            "ray://HOST:PORT. [default: local]",
        ),
    ]
    workers: Annotated[
        int | None,
        _run_option(
            help="Number of workers for --engine. [default: 4 threads; with ray, one per GPU, "
            "or one per CPU if there are no GPUs]"
        ),
    ]
    gpus_per_worker: Annotated[
        float | None,
        _run_option(
            help="Number of GPUs per worker for --engine ray, such as 0.5. [default: 1 if there "
            "are GPUs]"
        ),
    ]
    stop: Annotated[
        threading.Event | None,
        Parameter(parse=False, help="Flag that, once set, ends the run after the current batch."),
    ]
    dry_run: Annotated[
        Flag,
        _run_option(
            help="Print the numbers of images, questions and calls without carrying out the run."
        ),
    ]
    save_plan: Annotated[
        Path | str | None,
        _run_option(
            help="Write the plan to this file, for use with --plan. With --dry-run, askew only "
            "writes the plan."
        ),
    ]
    budget: Annotated[
        int | str | None,
        _run_option(
            help='Stop before a limit is exceeded: 500 (images), "90min", or "5usd" with '
            "--price 0.02.",
        ),
    ]
    price: Annotated[
        float | None,
        _run_option(
            help="Price in dollars per image, used by --dry-run, --budget and the report. "
            "[default: list price if known]"
        ),
    ]
    vqa_price: Annotated[
        float | None,
        _run_option(
            help="Price in dollars per call to --vqa openai/MODEL.",
        ),
    ]
    shard: Annotated[
        str | None,
        _run_option(
            help="Do one job's share of the run, such as 3/16 for job 3 of 16. Needs --packs. "
            "See `askew merge`.",
        ),
    ]
    packs: Annotated[
        PathOption,
        _run_option(
            help="Folder or bucket to which all --shard jobs write their results, such as packs "
            "or s3://bucket/run."
        ),
    ]
    log: Annotated[
        PathOption,
        _run_option(help="Append progress events to this file, with one JSON object per line."),
    ]
    fail_if: Annotated[
        TextsOption,
        _run_option(
            help='Exit with code 3 if this condition is met, such as "SCORE.q < 0.05". '
            "May be repeated.",
        ),
    ]


class StatisticsOptions(TypedDict, total=False):
    """Options for the statistics of all scores."""

    seed: Annotated[int, _statistics_option(help="Seed for all random draws. [default: 0]")]
    confidence: Annotated[
        float,
        _statistics_option(help="Confidence level of the intervals. [default: 0.95]"),
    ]
    bootstrap_samples: Annotated[
        int, _statistics_option(help="Number of bootstrap samples per interval. [default: 1000]")
    ]


class SettingOptions(TypedDict, total=False):
    """Settings of a model."""

    model_args: Annotated[
        SettingsOption, _model_option("-M", help="Model setting, such as bias=0.5.")
    ]
    model_url: Annotated[
        str | None,
        _model_option(
            help="Address of the server for --model openai/MODEL, such as http://127.0.0.1:8787/v1."
        ),
    ]
    concurrency: Annotated[
        int | None,
        _model_option(help="Number of simultaneous calls to a hosted model. [default: 4]"),
    ]
    offload: Annotated[
        Flag,
        _model_option(
            help="Keep only the active part of the model in GPU memory, like -M offload=model."
        ),
    ]
    preset: Annotated[
        str | None,
        _model_option(help="Preset for the model and the instruments. See `askew models`."),
    ]


class MitigationOptions(TypedDict, total=False):
    """Mitigations to apply to the measured model."""

    mitigation: Annotated[
        PathsOption,
        _model_option(
            help="Mitigation file from `askew mitigate` to apply to the model. May be given more "
            "than once; all files are applied to the same model.",
        ),
    ]


class VQASettingOptions(TypedDict, total=False):
    """Settings for the instruments that answer questions about images."""

    vqa_args: Annotated[
        SettingsOption,
        _instrument_option("--vqa-arg", help="Setting for an instrument, such as max_tokens=32."),
    ]
    vqa_url: Annotated[
        str | None,
        _instrument_option(
            help="Address of the server for --vqa openai/MODEL, such as http://localhost:11434/v1.",
        ),
    ]


class VQAOptions(VQASettingOptions, total=False):
    """The instruments that answer questions about images."""

    vqa: Annotated[
        NamesOption,
        _instrument_option(
            help="Instruments that label images, separated by commas. [default: studio; labels "
            "for a folder]",
        ),
    ]


class EmbedderOptions(TypedDict, total=False):
    """The embedder for images and text."""

    embedder: Annotated[
        str | None,
        _instrument_option(help="Embedder for images and text, or none. [default: studio]"),
    ]
    embedder_args: Annotated[
        SettingsOption,
        _instrument_option("--embedder-arg", help="Setting for the embedder, such as device=cpu."),
    ]


class WriterOptions(TypedDict, total=False):
    """The prompt generator, which proposes axes, counterfactuals and prompts."""

    llm: Annotated[
        str,
        _instrument_option(
            help="Prompt generator for axes and counterfactuals. [default: lexicon]",
        ),
    ]
    llm_url: Annotated[
        str | None,
        _instrument_option(
            help="Address of the server for --llm openai/MODEL, such as http://localhost:11434/v1.",
        ),
    ]
    llm_args: Annotated[
        SettingsOption,
        _instrument_option(
            "--llm-arg",
            help="Setting for the language model, such as budget=20000.",
        ),
    ]
    axes_on: Annotated[
        Literal["unstated", "stated", "all"] | None,
        _instrument_option(
            help="Propose axes for details that a prompt leaves unstated, for stated details, or "
            "for all details. [default: unstated]",
        ),
    ]


class PromptOptions(TypedDict, total=False):
    """Prompts from a file."""

    prompt_file: Annotated[
        PathOption, Parameter(name="--prompts", help="File with one prompt per line.")
    ]
    clean: Annotated[
        bool,
        Parameter(
            help="Shorten each prompt from --prompts to its longest part between punctuation marks."
        ),
    ]


class ManifestOptions(TypedDict, total=False):
    """The manifest for a folder of existing images."""

    manifest: Annotated[
        PathOption,
        _image_option(help="CSV or JSON Lines file that describes the images in a folder."),
    ]
    file_column: Annotated[
        str | None,
        _image_option(
            help="Manifest column that contains the file names. [default: file, or file_name]"
        ),
    ]
    label: Annotated[
        TextsOption,
        _image_option(
            help="Column that contains people's labels for an axis (AXIS=COLUMN), or one column "
            "per rater (AXIS=COLUMN,COLUMN). May be repeated."
        ),
    ]
    where: Annotated[
        TextsOption,
        _image_option(
            help="Use only manifest rows whose column has this value: COLUMN=VALUE. "
            "May be repeated."
        ),
    ]
    strict: Annotated[Flag, _image_option(help="Stop if a listed image does not exist.")]
    match_names: Annotated[
        Flag,
        _image_option(
            help="If a path in the manifest does not exist, find the image by its file name."
        ),
    ]
    allow_outside: Annotated[
        Flag,
        _image_option(
            help="Also read images outside the folder, for example through symbolic links."
        ),
    ]


class FolderOptions(ManifestOptions, total=False):
    """Options that describe existing images."""

    prompt_column: Annotated[
        str | None,
        _image_option(help="Manifest column or columns that contain the prompt. [default: prompt]"),
    ]
    condition: Annotated[
        str | None, _image_option(help="Manifest column that contains the condition.")
    ]
    baseline_condition: Annotated[
        str | None,
        _image_option(
            help="Name of the condition that contains the baseline images, such as baseline.",
            allow_leading_hyphen=True,
        ),
    ]
    aliases: Annotated[
        PairsOption,
        _image_option(
            "--alias",
            help="Replace a label with another label, as in both=missing.",
            # a label may begin with a sign: -1=female
            allow_leading_hyphen=True,
        ),
    ]
    values: Annotated[
        ListsOption,
        _image_option(help="Values of an axis, as in ethnicity=white,black."),
    ]


class SourceOptions(ManifestOptions, total=False):
    """The input images of social groups."""

    sources: Annotated[
        str | None,
        _image_option(
            help="Source of the groups' images: folder/PATH or a model. [default: the model]",
        ),
    ]
    sources_args: Annotated[
        SettingsOption,
        _image_option("--source-arg", help="Setting for --sources, such as bias=0."),
    ]
    group_column: Annotated[
        str | None,
        _image_option(
            ("--group-column", "--prompt-column"),
            help="Manifest column or columns that contain the group.",
        ),
    ]


class ModelOptions(SettingOptions, StatisticsOptions, RunOptions, total=False):
    """Options of all commands that measure a model."""


class SurveyOptions(PromptOptions, MitigationOptions, VQAOptions, ModelOptions, total=False):
    """Options of all commands that survey the images of prompts."""


FOLDER_SETTINGS = {
    name: name
    for name in (
        *ManifestOptions.__annotations__,
        "prompt_column",
        "condition",
        "baseline_condition",
    )
}
FOLDER_SETTINGS |= {"file_column": "file", "group_column": "prompt_column"}
"""Settings of `folder/PATH`, keyed by the option that sets them."""

READERS: Mapping[str, Callable[..., object]] = {
    "vqa": lambda given: tuple(names(given)),
    "values": lambda given: {
        axis: tuple(values) for axis, values in named_lists(given, "--values").items()
    },
    "aliases": partial(pairs, option="--alias"),
    "model_args": partial(key_values, option="-M"),
    "vqa_args": partial(key_values, option="--vqa-arg"),
    "embedder_args": partial(key_values, option="--embedder-arg"),
    "sources_args": partial(key_values, option="--source-arg"),
}
"""Functions that convert an option's value to the value of its plan field, keyed by option."""

ALLOWED_WITH_PLAN = frozenset((*RunOptions.__annotations__, "plan"))
"""Options that may be given together with --plan."""


def plan_fields(
    options: Mapping[str, object], folder: Literal["model_args", "sources_args"] = "model_args"
) -> PlanFields:
    """Return the plan fields that are set by shared options or by a preset.

    Parameters
    ----------
    options
        Shared options that were given.
    folder
        Plan field that stores the options for a folder's manifest.

    Raises
    ------
    UsageError
        If an option cannot be read.
    UnknownName
        If there is no such preset.
    """
    from askew.presets import with_preset

    chosen = given(**options)
    fields: dict[str, object] = {}
    for name in PlanFields.__annotations__:
        if name in chosen:
            reader = READERS.get(name)
            fields[name] = reader(chosen[name]) if reader else chosen[name]
    settings = _implied_settings(chosen)
    settings[folder] = _folder_settings(chosen) | settings[folder]
    for name, implied in settings.items():
        merged = implied | cast("Settings", fields.get(name, {}))
        if merged:
            fields[name] = merged
    return with_preset(cast("str | None", chosen.get("preset")), cast("PlanFields", fields))


def _folder_settings(chosen: Mapping[str, object]) -> dict[str, Setting]:
    """Return the settings for a folder of images, as given by the options."""
    settings: dict[str, Setting] = {}
    for option, setting in FOLDER_SETTINGS.items():
        value = chosen.get(option)
        if value is True:
            settings[setting] = True
        elif value:
            texts = value if isinstance(value, list | tuple) else [str(value)]
            settings[setting] = ",".join(texts)
    return settings


def _implied_settings(chosen: Mapping[str, object]) -> dict[str, dict[str, Setting]]:
    """Return the settings that options such as --model-url imply, keyed by plan field."""
    settings: dict[str, Setting] = {}
    for option, setting in {"model_url": "url", "concurrency": "concurrency"}.items():
        if option in chosen:
            settings[setting] = cast("Setting", chosen[option])
    if chosen.get("offload"):
        settings["offload"] = True
    if "mitigation" in chosen:
        settings["mitigation"] = _joined_paths(chosen["mitigation"])
    of_vqa: dict[str, Setting] = {}
    if "vqa_url" in chosen:
        of_vqa["openai:url"] = cast("Setting", chosen["vqa_url"])
    return {"model_args": settings, "sources_args": {}, "vqa_args": of_vqa}


def _joined_paths(paths: object) -> str:
    """Join several paths with commas, or return a single path unchanged."""
    return ",".join(map(str, paths)) if isinstance(paths, list | tuple) else str(paths)


def prompts_of(prompts: str | Iterable[str | Sequence[str]], options: PromptOptions) -> list[str]:
    """Return the prompts from the arguments and from a file; `clean` applies only to the file.

    Raises
    ------
    UsageError
        If `clean` is given without a file.
    """
    from askew.prompts.given import clean_prompts, read_prompts

    arguments = [prompts] if isinstance(prompts, str) else prompts
    texts = [text for argument in arguments for text in several(argument)]
    file = options.get("prompt_file")
    clean = options.get("clean")
    if clean and not file:
        raise UsageError(
            "--clean applies only to prompts from a file. Name the file with --prompts FILE"
        )
    filed = read_prompts(Path(file)) if file else []
    return [*texts, *(clean_prompts(filed) if clean else filed)]


@dataclass(frozen=True)
class ProposalContext:
    """Settings and cache of a language model that proposes parts of a plan.

    Attributes
    ----------
    settings
        Settings of the language model.
    cache
        Store for the model's answers.
    tell
        Function that reports a message about the number of requests.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    cache: "CompletionCache | None" = None
    tell: Callable[[str], object] | None = None

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "ProposalContext":
        """Return the language model's settings and cache for a request.

        Answers are cached in the store. The store's folder is known before the run folder has a
        name.
        """
        from askew.store.completions import Completions
        from askew.store.store import default_store

        run = Path(str(options.get("run") or "runs/any"))
        store = options.get("store") or default_store(run)
        tell = partial(print, file=sys.stderr) if options.get("progress") is True else None
        return cls(
            settings=writer_settings(cast("WriterOptions", options)),
            cache=Completions(str(store)),
            tell=tell,
        )


def writer_settings(options: WriterOptions) -> dict[str, Setting]:
    """Return the settings of a language model, including the address of its server."""
    settings = given(url=options.get("llm_url") or None, axes_on=options.get("axes_on"))
    return key_values(options.get("llm_args") or {}, "--llm-arg") | settings


def only_known(options: Mapping[str, object], kind: type) -> None:
    """Check that all options are fields of the TypedDict `kind`.

    Raises
    ------
    UnknownName
        If an option is unknown, for example because it is misspelled.
    """
    for name in options:
        UnknownName.unless_known("option", name, kind.__annotations__)


def check_until(
    until: str | None, max_images: int | None, fixed: int | None, option: str, images: str
) -> None:
    """Check that the number of images is either fixed or determined by --until, not both.

    Parameters
    ----------
    until, max_images
        The options --until and --max-images.
    fixed
        The fixed number of images, if the user specifies this number.
    option
        Name of the option that sets the number.
    images
        Noun for the images in messages, such as "images".

    Raises
    ------
    UsageError
        If --max-images is given without --until, or --until together with a fixed number.
    """
    if until is None and max_images is not None:
        raise UsageError(
            "--max-images works only together with --until decided. Add --until decided, or use "
            f"{option}"
        )
    if until is not None and fixed is not None:
        raise UsageError(
            f"With --until decided, askew chooses the number of {images} itself. Use "
            f"--max-images instead of {option}"
        )


def run_options(options: Mapping[str, object]) -> RunOptions:
    """Return the options that control how a plan is carried out."""
    chosen = {name: options[name] for name in RunOptions.__annotations__ if name in options}
    return cast("RunOptions", chosen)


def only_plan(options: Mapping[str, object], **request: object) -> None:
    """Check that no option sets a value that the plan file already determines.

    Parameters
    ----------
    options
        Shared options.
    **request
        The command's own parameters. An empty parameter counts as not given.

    Raises
    ------
    UsageError
        If one of these options is given.
    """
    excluded = sorted(given_names(options, request) - ALLOWED_WITH_PLAN)
    if excluded:
        raise UsageError(
            "--plan contains everything that determines the results. Edit the plan file instead "
            f"of setting {', '.join(excluded)}"
        )


def given_names(options: Mapping[str, object], request: Mapping[str, object]) -> set[str]:
    """Return the names of the options and parameters that the user has set.

    Parameters
    ----------
    options
        Shared options.
    request
        The command's own parameters. An empty parameter counts as not given.
    """
    names = {name for name, value in request.items() if value not in (None, (), [], False)}
    return names | set(given(**options))
