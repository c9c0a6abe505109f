"""The command line: the commands of all methods, by their own functions and signatures, and a few
of its own.

Nothing is imported before the command that needs it is called: `askew --help` reads first lines of
documentation.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from askew.console import NeutralConsole
from askew.errors import STOPPED, AskewError, CheckFailed, UsageError

if TYPE_CHECKING:
    from cyclopts import App

OWN: Mapping[str, str] = {
    "plan": "askew.methods.audit.preview:plan",
    "sensitivity": "askew.studies.reading_errors:sensitivity",
    "compare": "askew.studies.compare.command:compare",
    "report": "askew.commands:report",
    "check": "askew.commands:check",
    "export": "askew.commands:export",
    "models": "askew.commands:models",
    "robustness": "askew.studies.robustness:robustness",
    "graphs": "askew.studies.graphs:graphs",
    "runs list": "askew.commands:runs_list",
    "runs rm": "askew.commands:runs_rm",
    "store gc": "askew.commands:store_gc",
    "studio path": "askew.commands:studio_path",
    "studio truth": "askew.commands:studio_truth",
}
"""Commands that are no method's: by name the function."""

GROUPS = {
    "runs": "What runs lie on the disk: askew runs FOLDER.",
    "store": "What runs share on a disk.",
    "studio": "The embedded portrait world, whose bias is known.",
}
"""Commands that have commands of their own."""

ABOUT = 'Measure which way a text-to-image model leans.\n\nStart with: `askew audit "a photo of a nurse"`'

out = NeutralConsole()
err = NeutralConsole(stderr=True)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        if list(arguments) in ([], ["--help"], ["-h"]):
            out.print(overview())
        else:
            _call(arguments)
        out.file.flush()
        return 0
    except AskewError as error:
        return _fail(str(error) or STOPPED, error.code)
    except KeyboardInterrupt:
        return _fail(STOPPED, 130)
    except OSError as error:  # of a name that no file can have, a disk that fails
        return _fail(
            f"{error.strerror or error}: {error.filename!r}" if error.filename else str(error), 1
        )


def commands() -> Iterator[tuple[str, str]]:
    """By name the function of every command: those of the methods, installed from wherever, then
    askew's own.
    """
    for point in sorted(entry_points(group="askew.methods"), key=lambda point: point.name):
        yield point.name, f"{point.module}.command:{point.name.replace('-', '_')}"
    yield from OWN.items()


def overview() -> RenderableType:
    """All commands, each with its first line. Without cyclopts, whose import takes longer than the
    rest.
    """
    told = {name: first_line(function) for name, function in commands() if " " not in name} | GROUPS
    rows = Table.grid(padding=(0, 2))
    flags = {
        "--help (-h)": "Show this list; after a command, how to use it.",
        "--install-completion": "Let the shell complete commands and options.",
        "--version": "Show the version.",
    }
    for name, line in [*sorted(told.items()), *flags.items()]:
        rows.add_row(Text(name, "cyan"), Text(line))
    return Group(
        f"Usage: askew COMMAND\n\n{ABOUT}\n", Panel(rows, title="Commands", title_align="left")
    )


def application() -> "App":
    """The commands, each imported when it is called."""
    from cyclopts import App, Parameter

    app = App(
        name="askew",
        help=ABOUT,
        version=lambda: version("askew"),
        help_format="markdown",
        default_parameter=Parameter(
            allow_repeating=True
        ),  # of an option that takes one value, the last one holds
        console=out,
        error_console=err,
    )
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for name, function in commands():
        under, _, own = name.rpartition(" ")
        (groups[under] if under else app).command(function, name=own)
    app.register_install_completion_command()
    return app


def first_line(function: str) -> str:
    """The first line of a function's documentation, read from its file without importing it."""
    module, _, name = function.partition(":")
    package, *rest = module.split(".")
    spec = find_spec(package)
    if not (spec and spec.origin):
        return ""
    source = Path(spec.origin).parent.joinpath(*rest).with_suffix(".py").read_text(encoding="utf-8")
    found = re.search(rf'^def {name}\(.*?"""(.*?)(?:"""|$)', source, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _call(arguments: Sequence[str]) -> None:
    from cyclopts import CycloptsError

    if arguments[0] == "runs" and arguments[1:2] not in (["list"], ["rm"], ["--help"], ["-h"]):
        arguments = ["runs", "list", *arguments[1:]]

    try:
        function, bound, _ = application().parse_args(
            list(arguments), exit_on_error=False, print_error=False
        )
    except CycloptsError as error:
        raise UsageError(
            f"{re.sub(r'(?<![.])[.]$', '', str(error))} (--help tells how to use it)"
        ) from None
    progress = (
        {"progress": True} if "options" in getattr(function, "__annotations__", {}) else {}
    )  # of what runs plans
    as_json = bool(bound.kwargs.get("json"))
    try:
        show(function(*bound.args, **progress, **bound.kwargs), as_json)
    except CheckFailed as failed:
        show(failed.result, as_json)
        raise


def show(result: Any, as_json: bool = False) -> None:
    """Print what a command returned: a document as its table, with warnings and the place of its
    page; or as JSON.
    """
    if hasattr(result, "report"):
        if as_json:
            sys.stdout.write(result.numbers.read_text(encoding="utf-8"))
            return
        for warning in result.warnings:
            err.print(
                f"warning: {warning}", style="yellow", soft_wrap=True, markup=False, highlight=False
            )
        out.print(result.table())
        out.print(
            f"report: {result.report.resolve()}", soft_wrap=True, markup=False, highlight=False
        )
    elif as_json and isinstance(result, tuple):
        sys.stdout.write(json.dumps([asdict(row) for row in result], indent=1) + "\n")
    elif hasattr(result, "lines"):
        out.print("\n".join(result.lines()), soft_wrap=True, markup=False, highlight=False)
    elif result is not None:
        out.print(result)


def _fail(told: str, code: int) -> int:
    err.print(
        f"askew: {told}",
        style="red" if code != 130 else None,
        soft_wrap=True,
        markup=False,
        highlight=False,
    )
    return code
