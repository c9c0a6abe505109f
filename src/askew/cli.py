"""The command line: options in, one call, a table out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import askew
from askew import api
from askew.audit_result import AuditResult
from askew.condition import parse_condition
from askew.errors import AskewError, CheckFailed, Interrupted, UsageError
from askew.plan import read_plan
from askew.planning import plan_audit
from askew.presets import with_preset
from askew.report.terminal import plan_preview, providers_table, sensitivity_table
from askew.results import RESULTS_FILE
from askew.settings import column_settings, key_values, pairs
from askew.studio.paths import weights
from askew.studio.planted import truth as planted_truth

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help='Measure which way a text-to-image model leans.\n\nStart with: `askew audit "a photo of a nurse"`',
)
studio = typer.Typer(no_args_is_help=True, help="The embedded portrait world, whose bias is known.")
app.add_typer(studio, name="studio")

out = Console()
err = Console(stderr=True)

BESIDE_A_PLAN = {"plan", "run", "store", "dry_run", "budget", "fail_if", "as_json"}

Prompts = Annotated[list[str] | None, typer.Argument(help="Prompts to audit.", show_default=False)]
PromptFile = Annotated[Path | None, typer.Option("--prompts", help="A file with one prompt a line.")]
Clean = Annotated[bool, typer.Option(help="Shorten the prompts of --prompts to their core, as for DiffusionDB.")]
Axes = Annotated[str | None, typer.Option(help="Axes, separated by commas. The writer chooses if not given.")]
Llm = Annotated[str, typer.Option(help="Who proposes axes and counterfactuals.")]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.")]
RunFolder = Annotated[Path | None, typer.Option("--run", help="Folder of the run. The same command goes on in it.")]
StoreFolder = Annotated[Path | None, typer.Option("--store", help="Shared store; default: .askew beside the run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results.json instead of the table.")]
Existing = Annotated[Path, typer.Argument(help="A run folder.")]


@app.command()
def audit(
    context: typer.Context,
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    clean: Clean = False,
    plan: Annotated[Path | None, typer.Option(help="Run this TOML plan; made by `askew axes`.")] = None,
    model: Annotated[
        str, typer.Option(help="The model under audit: studio/planted, diffusers/ID-OR-PATH, folder/PATH, …")
    ] = "studio/planted",
    setting: Annotated[list[str] | None, typer.Option("-M", help="Model setting, such as bias=0.5.")] = None,
    offload: Annotated[bool, typer.Option("--offload", help="Keep in GPU memory only what works; as -M.")] = False,
    preset: Annotated[str | None, typer.Option(help="Model and instruments by one name, see `askew models`.")] = None,
    images: Annotated[int, typer.Option(help="Pictures per prompt.")] = 48,
    axes: Axes = None,
    vqa: Annotated[str | None, typer.Option(help="Instruments, with commas; labels for a folder, else studio.")] = None,
    vqa_arg: Annotated[list[str] | None, typer.Option(help="Setting of an instrument: choice=constrained.")] = None,
    embedder: Annotated[str, typer.Option(help="Embedder for CAS^CLIP; none leaves it out.")] = "studio",
    embedder_arg: Annotated[list[str] | None, typer.Option(help="Setting of the embedder: device=cpu.")] = None,
    llm: Llm = "lexicon",
    seed: Seed = 0,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    draws: Annotated[int, typer.Option(help="Random draws per interval.")] = 1000,
    variant: Annotated[str, typer.Option(help="paper or code: whose definition of the scores.")] = "paper",
    manifest: Annotated[Path | None, typer.Option(help="CSV that describes a folder's pictures.")] = None,
    file_column: Annotated[str | None, typer.Option(help="Manifest column with the file names.")] = None,
    prompt_column: Annotated[str | None, typer.Option(help="Column or columns that name the prompt.")] = None,
    condition: Annotated[str | None, typer.Option(help="Column of the condition.")] = None,
    initial: Annotated[str | None, typer.Option(help="The condition that is the initial one.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="AXIS=COLUMN of a person's labels.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="Only rows with COLUMN=VALUE.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Read a label as another: both=missing.")] = None,
    values: Annotated[list[str] | None, typer.Option(help="Values of an axis: ethnicity=white,black.")] = None,
    run: RunFolder = None,
    store: StoreFolder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be made and asked, and stop.")] = False,
    budget: Annotated[int | None, typer.Option(help="Make at most this many pictures, then stop.")] = None,
    fail_if: Annotated[list[str] | None, typer.Option(help='Exit with 3 if it holds: "mad.corrected > 0.3".')] = None,
    as_json: AsJson = False,
) -> None:
    """Audit prompts on a model, or pictures that you already have.

    Examples:

    - `askew audit "a photo of a nurse"`

    - `askew audit "a photo of a chef" --axes gender,age --images 24 -M bias=0.5`

    - `askew audit "a photo of a nurse" --preset sdxl-turbo-clip`

    - `askew audit --prompts prompts.txt --run runs/mine --dry-run`

    - `askew audit --model folder/pictures --manifest labels.csv --vqa labels --prompt-column occupation
      --condition condition --initial baseline`
    """
    columns = column_settings(manifest=manifest, file=file_column, prompt_column=prompt_column, condition=condition,
                              initial=initial, label=label, where=where)  # fmt: skip
    conditions = [parse_condition(text) for text in fail_if or ()]
    texts = api.collect_prompts(prompts or (), prompt_file, clean)
    own = ({"offload": True} if offload else {}) | key_values(setting or (), "-M")
    settings: dict[str, Any] = {
        "model": model, "model_args": {**columns, **own}, "images": images,
        "vqa": _listed(vqa), "vqa_args": key_values(vqa_arg or (), "--vqa-arg"), "llm": llm, "seed": seed,
        "embedder": embedder, "embedder_args": key_values(embedder_arg or (), "--embedder-arg"),
        "level": level, "draws": draws, "variant": variant,
        "aliases": pairs(alias or (), "--alias"),
        "values": {k: tuple(v.split(",")) for k, v in pairs(values or (), "--values").items()},
    }  # fmt: skip
    if plan is not None:
        _only_plan(context)
    settings = with_preset(preset, settings, _given(context))
    made = read_plan(plan) if plan else plan_audit(texts, axes=_listed(axes), **settings)
    if dry_run:
        for line in api.work(made, run, store).lines():
            out.print(line)
        return
    result = api.run_plan(made, run, store, budget=budget, progress=True)
    _show(result, as_json)
    failed = [line for c in conditions for line in c.violations(result.results)]
    if failed:
        raise CheckFailed("a condition given by --fail-if holds: " + "; ".join(failed))


@app.command("axes")
def preview(
    prompts: Prompts = None,
    prompt_file: PromptFile = None,
    clean: Clean = False,
    axes: Axes = None,
    llm: Llm = "lexicon",
    seed: Seed = 0,
    to: Annotated[Path | None, typer.Option("--to", help="Write a TOML plan here, to edit and run.")] = None,
) -> None:
    """Preview the axes, counterfactual prompts and questions of an audit.

    Examples:

    - `askew axes "a photo of a nurse"`

    - `askew axes "a photo of a nurse" --to plan.toml`, edit it, then `askew audit --plan plan.toml`
    """
    plan = plan_audit(api.collect_prompts(prompts or (), prompt_file, clean), axes=_listed(axes), llm=llm, seed=seed)
    if to is not None:
        api.write_plan(plan, to)
        out.print(f"plan: {to}", soft_wrap=True)
        return
    out.print(plan_preview(plan))


@app.command()
def report(run: Existing, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Show a finished run again, and write its report anew.

    Example: `askew report runs/mine`
    """
    result = api.load(run, store)
    result.write_report()
    _show(result, as_json)


@app.command()
def check(run: Existing, store: StoreFolder = None) -> None:
    """Check that a run is whole: planned = stored + missing, and every file is what it was.

    Example: `askew check runs/mine`
    """
    found = api.check(run, store)
    for line in found.lines():
        out.print(line, soft_wrap=True)
    if not found.ok:
        raise AskewError(f"the run {run} is not whole; running its command again repairs what can be repaired")


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of two runs or more.", show_default=False)],
    names: Annotated[str | None, typer.Option(help="A short name for each run, separated by commas.")] = None,
    store: Annotated[
        list[Path] | None, typer.Option("--store", help="Store of all runs, or of each in order; may be repeated.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for the results and the page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print comparison.json instead of the table.")] = False,
) -> None:
    """Compare runs of the same plan on several models, picture by picture where seeds are the same.

    Examples:

    - `askew compare runs/base runs/new`

    - `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`
    """
    with err.status("comparing, up to a second or two per prompt and axis"):
        found = api.compare(*runs, names=_listed(names), store=store or (), to=to)
    if as_json:
        sys.stdout.write(found.results.read_text(encoding="utf-8"))
        return
    out.print(found.table())
    out.print(f"report: {found.report.resolve()}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def sensitivity(
    run: Existing,
    store: StoreFolder = None,
    repeats: Annotated[int, typer.Option(min=1, help="Simulations per error rate.")] = 10,
    as_json: AsJson = False,
) -> None:
    """How much the scores of a run would change if its VQA made errors: 5 to 40 % of the answers.

    Example: `askew sensitivity runs/mine`
    """
    rows = api.sensitivity(run, store, repeats)
    out.print_json(json.dumps(rows)) if as_json else out.print(sensitivity_table(rows))


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the models, instruments and presets that can be named on the command line.

    Example: `askew models`
    """
    rows = api.list_providers()
    out.print_json(json.dumps(rows)) if as_json else out.print(providers_table(rows))


@studio.command()
def sheet(
    to: Annotated[Path, typer.Option("--out", help="PNG file to write.")],
    what: Annotated[str, typer.Option(help="attributes or occupations")] = "attributes",
    seed: Seed = 0,
) -> None:
    """Draw a labelled contact sheet of the studio world.

    Example: `askew studio sheet --out sheet.png`
    """
    out.print(str(api.studio_sheet(to, what, seed)), soft_wrap=True)


@studio.command()
def path(name: Annotated[str, typer.Argument(help="Name of a studio network.")] = "embedder") -> None:
    """Print the folder of a studio network.

    Example: `askew studio path embedder`
    """
    out.print(str(weights(name)), soft_wrap=True)


@studio.command()
def truth(
    prompt: Annotated[str, typer.Argument(help="A prompt in the studio's words.")],
    axis: Annotated[str, typer.Option(help="The axis.")] = "gender",
    bias: Annotated[float, typer.Option(help="The bias knob, 0 to 1.")] = 1.0,
) -> None:
    """Print the planted distribution of an axis: what an audit of studio/planted should find.

    Example: `askew studio truth "a photo of a nurse" --axis age`
    """
    for value, share in planted_truth(prompt, axis, bias).items():
        out.print(f"{value:<16} {share:.3f}")


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Measure which way a text-to-image model leans."""
    if show:
        out.print(askew.__version__)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 1 failure, 2 usage, 3 a --fail-if condition holds."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=arguments, prog_name="askew", standalone_mode=False)
    except UsageError as error:
        return _fail(error, 2)
    except CheckFailed as error:
        return _fail(error, 3)
    except (Interrupted, typer.Abort, KeyboardInterrupt) as error:
        return _fail(str(error) or "interrupted", 130)
    except AskewError as error:
        return _fail(error, 1)
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        message = getattr(error, "format_message", error.__str__)()
        return _fail(f"{message.removesuffix('.')} (--help tells how to use it)", 2)
    return 0


def _fail(error: object, code: int) -> int:
    err.print(f"askew: {error}", style="red" if code != 130 else None, soft_wrap=True, markup=False, highlight=False)
    return code


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _only_plan(context: typer.Context) -> None:
    """A plan says everything that decides the results: options that would say it again are refused."""
    extra = sorted(_given(context) - BESIDE_A_PLAN)
    if extra:
        raise UsageError(f"--plan holds all that decides the results; edit it instead of giving: {', '.join(extra)}")


def _given(context: typer.Context) -> set[str]:
    """The names of the parameters that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _show(result: AuditResult, as_json: bool) -> None:
    if as_json:
        sys.stdout.write((result.folder / RESULTS_FILE).read_text(encoding="utf-8"))
        return
    for warning in result.results["warnings"]:
        err.print(f"warning: {warning}", style="yellow", soft_wrap=True, markup=False, highlight=False)
    out.print(result.table())
    out.print(f"report: {result.report.resolve()}", soft_wrap=True, markup=False, highlight=False)
