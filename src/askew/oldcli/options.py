"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from askew.errors import UsageError
from askew.models.base import Setting
from askew.plans.settings import key_values

Prompts = Annotated[list[str] | None, typer.Argument(help="Prompts to audit.", show_default=False)]
PromptFile = Annotated[Path | None, typer.Option("--prompts", help="A file with one prompt a line.")]
Clean = Annotated[bool, typer.Option(help="Shorten the prompts of --prompts to their core, as for DiffusionDB.")]
Axes = Annotated[str | None, typer.Option(help="Axes, separated by commas. The writer chooses if not given.")]
Llm = Annotated[str, typer.Option(help="Who proposes axes and counterfactuals.")]
LlmUrl = Annotated[str | None, typer.Option(help="Server of --llm openai/MODEL, such as http://localhost:11434/v1.")]
LlmArg = Annotated[list[str] | None, typer.Option(help="Setting of the language model: budget=20000.")]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.")]
RunFolder = Annotated[Path | None, typer.Option("--run", help="Folder of the run. The same command goes on in it.")]
StoreFolder = Annotated[Path | None, typer.Option("--store", help="Shared store; default: .askew beside the run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results.json instead of the table.")]
Level = Annotated[float, typer.Option(help="Level of the intervals.")]
Draws = Annotated[int, typer.Option(help="Random draws per interval.")]
Preset = Annotated[str | None, typer.Option(help="Model and instruments by one name, see `askew models`.")]
Offload = Annotated[bool, typer.Option("--offload", help="Keep in GPU memory only what works; as -M offload=model.")]
Manifest = Annotated[Path | None, typer.Option(help="CSV that describes a folder's pictures.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be made and asked, and stop.")]
Budget = Annotated[int | None, typer.Option(help="Make at most this many pictures, then stop.")]
FailIf = Annotated[list[str] | None, typer.Option(help='Exit with 3 if it holds: "SCORE.q < 0.05". May be repeated.')]
Label = Annotated[list[str] | None, typer.Option(help="AXIS=COLUMN of a person's labels in the manifest.")]
Selected = Annotated[str, typer.Option("--selection", help="Chosen by: score, or learned from all scores.")]
Existing = Annotated[Path, typer.Argument(help="A run folder.")]


def listed(names: str | None) -> list[str] | None:
    """The names of a list with commas; None where the option is not given."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def model_settings(settings: Sequence[str] | None, offload: bool) -> dict[str, Setting]:
    """The settings of a model given by -M, and by --offload. Raises UsageError."""
    return ({"offload": True} if offload else {}) | key_values(settings or (), "-M")


def given(context: typer.Context) -> set[str]:
    """The names of the parameters that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def only_plan(context: typer.Context, beside: Collection[str]) -> None:
    """A plan says everything that decides the results: options that would say it again are refused."""
    if extra := sorted(given(context).difference(beside)):
        raise UsageError(f"--plan holds all that decides the results; edit it instead of giving: {', '.join(extra)}")
