"""Options that commands share, in Python and on the command line: how they are read, and what they
say of a plan.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, TypeVar, cast

from cyclopts import Parameter, Token

from askew.engine.base import Engine
from askew.errors import UnknownName, UsageError
from askew.models.base import Setting
from askew.plan import PlanFields, Settings
from askew.run.progress import Progress

if TYPE_CHECKING:
    from askew.prompts.llm import CompletionCache

T = TypeVar("T")


def pairs(
    given: Iterable[str] | Mapping[str, str], option: str, empty: bool = False
) -> dict[str, str]:
    """NAME=VALUE texts as a mapping; values may be `empty` if so said. Raises UsageError naming the
    option.
    """
    if isinstance(given, Mapping):
        return dict(given)
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and (value.strip() or empty)):
            raise UsageError(f"{option} {text!r} is not of the form NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def key_values(given: Iterable[str] | Mapping[str, Setting], option: str) -> dict[str, Setting]:
    """Settings as they are, or NAME=VALUE texts with numbers and true/false recognised;
    negative_prompt= is empty.
    """
    if isinstance(given, Mapping):
        return dict(given)
    return {name: _scalar(value) for name, value in pairs(given, option, empty=True).items()}


def names(given: str | Sequence[str] | None) -> list[str]:
    """The names of a list: as they are, or parts of texts with commas."""
    texts = [given] if isinstance(given, str) else list(given or ())
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def named_lists(
    given: Iterable[str] | Mapping[str, str | Sequence[str]], option: str
) -> dict[str, list[str]]:
    """Lists by name, as they are or NAME=A,B texts. Raises UsageError naming the option."""
    told = given if isinstance(given, Mapping) else pairs(given, option)
    return {
        name: names(value) if isinstance(value, str) else list(value)
        for name, value in told.items()
    }


def several(given: str | Sequence[T] | None) -> list[str | T]:
    """One or more of something, as a list; a text is one."""
    return [given] if isinstance(given, str) else list(given or ())


def given(**own: T | None) -> dict[str, T]:
    """A command's own options that were given: those that are not None."""
    return {name: value for name, value in own.items() if value is not None}


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
    """An option that may be given several times, each time with one text; what reads it is the same
    as in Python.
    """
    return Parameter(
        converter=_as_written, n_tokens=1, negative="", show_default=False, metavar=metavar
    )


def numbers(kind: Callable[[str], object], wanted: str) -> Parameter:
    """An option of numbers with commas, each of which `kind` reads; `wanted` says which they are,
    with an example.
    """

    def read(_: object, tokens: Sequence[Token]) -> tuple[object, ...]:
        given = names([token.value for token in tokens])
        try:
            return tuple(map(kind, given))
        except ValueError as error:
            raise UsageError(
                f"{tokens[0].keyword} {','.join(given)!r}: {wanted} are wanted"
            ) from error

    return Parameter(converter=read, n_tokens=1, negative="", metavar="N,…")


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
"""A positional prompt; in Python a list of them, too."""

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
"""All that is not behind an option; in Python a prompt or a list of them."""

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
"""An option without a value."""

PathOption = Annotated[str | Path | None, Parameter(metavar="PATH")]
"""A file or a folder."""


class RunOptions(TypedDict, total=False):
    """Where a run is kept, and how it is carried out.

    Only Python takes `progress`, `engine` and `stop`.
    """

    run: Annotated[PathOption, Parameter(help="Folder of the run. The same command goes on in it.")]
    store: Annotated[PathOption, Parameter(help="Shared store; default: .askew beside the run.")]
    json: Annotated[Flag, Parameter(help="Print results.json instead of the table.")]
    progress: Annotated[
        bool | Progress,
        Parameter(
            parse=False,
            help="True to report progress on standard error, or a function that receives events.",
        ),
    ]
    engine: Annotated[
        Engine | None,
        Parameter(parse=False, help="Where models work; by default in this process."),
    ]
    stop: Annotated[
        threading.Event | None,
        Parameter(parse=False, help="A flag that ends the run between batches when it is set."),
    ]
    dry_run: Annotated[Flag, Parameter(help="Print what would be made and asked, and stop.")]
    budget: Annotated[
        int | str | None,
        Parameter(
            help='Stop before more than 500 (pictures), "90min" or "$5 at $0.02" (the price of a picture).'
        ),
    ]
    log: Annotated[
        PathOption, Parameter(help="Add what happens to this file, a JSON object a line.")
    ]
    fail_if: Annotated[
        TextsOption, Parameter(help='Exit with 3 if it holds: "SCORE.q < 0.05". May be repeated.')
    ]


class StatisticsOptions(TypedDict, total=False):
    """How scores are computed."""

    seed: Annotated[int, Parameter(help="Seed of all random draws; 0 if not given.")]
    confidence: Annotated[
        float, Parameter(help="Confidence level of the intervals. [default: 0.95]")
    ]
    bootstrap_samples: Annotated[
        int, Parameter(help="Bootstrap samples per interval. [default: 1000]")
    ]


class SettingOptions(TypedDict, total=False):
    """With which settings a model works."""

    model_args: Annotated[SettingsOption, Parameter("-M", help="Model setting, such as bias=0.5.")]
    offload: Annotated[
        Flag, Parameter(help="Keep in GPU memory only what works; as -M offload=model.")
    ]
    preset: Annotated[
        str | None, Parameter(help="Model and instruments by one name, see `askew models`.")
    ]


class MitigationOptions(TypedDict, total=False):
    """Under which mitigation a model is measured."""

    mitigation: Annotated[
        PathOption, Parameter(help="Measure the model under this mitigation, by `askew mitigate`.")
    ]


class VQAOptions(TypedDict, total=False):
    """Who answers questions about pictures."""

    vqa: Annotated[
        NamesOption, Parameter(help="Instruments, with commas; labels for a folder, else studio.")
    ]
    vqa_args: Annotated[
        SettingsOption, Parameter("--vqa-arg", help="Setting of an instrument: max_tokens=32.")
    ]


class EmbedderOptions(TypedDict, total=False):
    """Who turns pictures and texts into vectors."""

    embedder: Annotated[
        str | None, Parameter(help="The embedder of pictures and texts; none leaves it out.")
    ]
    embedder_args: Annotated[
        SettingsOption, Parameter("--embedder-arg", help="Setting of the embedder: device=cpu.")
    ]


class WriterOptions(TypedDict, total=False):
    """Who proposes axes, counterfactuals and prompts."""

    llm: Annotated[
        str, Parameter(help="Who proposes axes and counterfactuals; lexicon if not given.")
    ]
    llm_url: Annotated[
        str | None,
        Parameter(help="Server of --llm openai/MODEL, such as http://localhost:11434/v1."),
    ]
    llm_args: Annotated[
        SettingsOption, Parameter("--llm-arg", help="Setting of the language model: budget=20000.")
    ]
    axes_on: Annotated[
        Literal["unstated", "stated", "all"] | None,
        Parameter(
            help="Axes on what a prompt leaves open (if not given), on what it states, or on all."
        ),
    ]


class PromptOptions(TypedDict, total=False):
    """Prompts beside those that are given one by one."""

    prompt_file: Annotated[
        PathOption, Parameter(name="--prompts", help="A file with one prompt a line.")
    ]
    clean: Annotated[
        bool, Parameter(help="Shorten the prompts of --prompts to their core, as for DiffusionDB.")
    ]


class ManifestOptions(TypedDict, total=False):
    """What a manifest says of pictures that exist already, whatever they are taken for."""

    manifest: Annotated[PathOption, Parameter(help="CSV that describes a folder's pictures.")]
    file_column: Annotated[str | None, Parameter(help="Manifest column with the file names.")]
    label: Annotated[TextsOption, Parameter(help="AXIS=COLUMN of a person's labels.")]
    where: Annotated[TextsOption, Parameter(help="Only rows with COLUMN=VALUE.")]
    strict: Annotated[Flag, Parameter(help="Stop at a listed picture that is absent.")]
    allow_outside: Annotated[
        Flag, Parameter(help="Read pictures outside the folder, as links may lead to.")
    ]


class FolderOptions(ManifestOptions, total=False):
    """How pictures that exist already are described."""

    prompt_column: Annotated[str | None, Parameter(help="Column or columns that name the prompt.")]
    condition: Annotated[str | None, Parameter(help="Column of the condition.")]
    baseline_condition: Annotated[
        str | None, Parameter(help="Condition of the baseline images, such as baseline.")
    ]
    aliases: Annotated[
        PairsOption, Parameter("--alias", help="Read a label as another: both=missing.")
    ]
    values: Annotated[ListsOption, Parameter(help="Values of an axis: ethnicity=white,black.")]


class SourceOptions(ManifestOptions, total=False):
    """Where pictures of social groups come from."""

    sources: Annotated[
        str | None,
        Parameter(
            help="Who made the groups' pictures: folder/PATH or a model; if not given, the model."
        ),
    ]
    sources_args: Annotated[
        SettingsOption, Parameter("--source-arg", help="Setting of the sources: bias=0.")
    ]
    group_column: Annotated[
        str | None,
        Parameter(
            ("--group-column", "--prompt-column"), help="Column or columns that name the group."
        ),
    ]


class ModelOptions(SettingOptions, StatisticsOptions, RunOptions, total=False):
    """What every measurement of a model takes."""


class SurveyOptions(PromptOptions, MitigationOptions, VQAOptions, ModelOptions, total=False):
    """What every reading of a model's pictures of prompts takes."""


OF_FOLDERS = {
    name: name
    for name in (
        *ManifestOptions.__annotations__,
        "prompt_column",
        "condition",
        "baseline_condition",
    )
}
OF_FOLDERS |= {"file_column": "file", "group_column": "prompt_column"}
"""By option the setting of `folder/PATH` that it is."""

READERS: Mapping[str, Callable[..., object]] = {
    "vqa": lambda given: tuple(names(given)),
    "values": lambda given: {
        axis: tuple(own) for axis, own in named_lists(given, "--values").items()
    },
    "aliases": partial(pairs, option="--alias"),
    "model_args": partial(key_values, option="-M"),
    "vqa_args": partial(key_values, option="--vqa-arg"),
    "embedder_args": partial(key_values, option="--embedder-arg"),
    "sources_args": partial(key_values, option="--source-arg"),
}
"""By field of a plan how its option is read, where it is not taken as it is."""

BESIDE_A_PLAN = frozenset((*RunOptions.__annotations__, "plan"))


def plan_fields(
    options: Mapping[str, object], folder: Literal["model_args", "sources_args"] = "model_args"
) -> PlanFields:
    """The fields of a plan that shared options decide, with those of a preset where they say
    nothing.

    `folder` is the field that takes what the options say of a folder's manifest. Raises UsageError,
    UnknownName.
    """
    from askew.presets import with_preset

    told = {name: value for name, value in options.items() if value is not None}
    fields = {
        name: READERS[name](told[name]) if name in READERS else told[name]
        for name in PlanFields.__annotations__
        if name in told
    }
    implied: dict[str, dict[str, object]] = {"model_args": {}, "sources_args": {}}
    for option, setting in OF_FOLDERS.items():
        value = told.get(option)
        if value:
            texts = value if isinstance(value, list | tuple) else [str(value)]
            implied[folder][setting] = value is True or ",".join(texts)
    if told.get("offload"):
        implied["model_args"]["offload"] = True
    if "mitigation" in told:
        implied["model_args"]["mitigation"] = str(told["mitigation"])
    for name, own in implied.items():
        found = own | cast("Settings", fields.get(name, {}))
        if found:
            fields[name] = found
    return with_preset(cast("str | None", told.get("preset")), cast("PlanFields", fields))


def prompts_of(prompts: str | Iterable[str | Sequence[str]], options: PromptOptions) -> list[str]:
    """Prompts as given, lists among them, and from a file, the file's shortened to their core if so
    asked.
    """
    from askew.prompts.given import clean_prompts, read_prompts

    some = [prompts] if isinstance(prompts, str) else prompts
    given = [text for one in some for text in several(one)]
    file = options.get("prompt_file")
    clean = options.get("clean")
    filed = read_prompts(Path(file)) if file else []
    if clean and not file:
        raise UsageError("--clean shortens the prompts of a file; give one by --prompts FILE")
    return [*given, *(clean_prompts(filed) if clean else filed)]


@dataclass(frozen=True)
class ProposalContext:
    """What a language model needs that proposes parts of a plan: its settings, and where its
    answers are kept.

    tell   is told how much a language model was asked
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    cache: "CompletionCache | None" = None
    tell: Callable[[str], object] | None = None

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "ProposalContext":
        """The desk of a request. Completions are kept in the store, which is known before the run's
        own name is.
        """
        from askew.store.completions import Completions
        from askew.store.store import default_store

        store = options.get("store") or default_store(Path(str(options.get("run") or "runs/any")))
        tell = partial(print, file=sys.stderr) if options.get("progress") else None
        return cls(writer_settings(cast("WriterOptions", options)), Completions(str(store)), tell)


def writer_settings(options: WriterOptions) -> dict[str, Setting]:
    """The settings of a language model, its server's address among them."""
    own = given(url=options.get("llm_url") or None, axes_on=options.get("axes_on"))
    return key_values(options.get("llm_args") or {}, "--llm-arg") | own


def only_known(options: Mapping[str, object], kind: type) -> None:
    """Raises UsageError for an option that is none of those of `kind`, a TypedDict: in Python a
    slip of the pen.
    """
    for name in options:
        UnknownName.unless_known("option", name, kind.__annotations__)


def run_options(options: Mapping[str, object]) -> RunOptions:
    """Those of the options that say how a plan is run."""
    found = {name: options[name] for name in RunOptions.__annotations__ if name in options}
    return cast("RunOptions", found)


def only_plan(options: Mapping[str, object], **own: object) -> None:
    """A plan says everything that decides the results: options that would say it again are refused.

    `own` are the command's own parameters, of which those that are not empty have been given.
    """
    named = {name for name, value in own.items() if value not in (None, (), [], False)}
    named |= {name for name, value in options.items() if value is not None}
    extra = sorted(named - BESIDE_A_PLAN)
    if extra:
        raise UsageError(
            f"--plan holds all that decides the results; edit it instead of giving: {', '.join(extra)}"
        )
