"""The command line, with the methods' commands and the commands for finished runs.

Each command is a function whose signature defines the options. A function is imported only when its
command is called. Help texts are read from the source files.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from askew.addresses import without_logins
from askew.console import NeutralConsole, write
from askew.errors import STOPPED, AskewError, CheckFailed, RunError, UsageError

if TYPE_CHECKING:
    from cyclopts import App

COMMANDS: Mapping[str, str] = {
    "plan": "askew.methods.audit.preview:plan",
    "power": "askew.studies.power.command:power",
    "sensitivity": "askew.studies.reading_errors:sensitivity",
    "compare": "askew.studies.compare.command:compare",
    "watch": "askew.studies.watch.command:watch",
    "merge": "askew.store_commands:merge",
    "report": "askew.commands:report",
    "check": "askew.commands:check",
    "export": "askew.commands:export",
    "models": "askew.commands:models",
    "serve": "askew.web.command:serve",
    "serve-model": "askew.serve.command:serve_model",
    "robustness": "askew.studies.robustness:robustness",
    "graphs": "askew.studies.graphs:graphs",
    "runs list": "askew.commands:runs_list",
    "runs rm": "askew.commands:runs_rm",
    "store copy": "askew.store_commands:store_copy",
    "store gc": "askew.commands:store_gc",
    "study new": "askew.people.command:study_new",
    "study extend": "askew.people.command:study_extend",
    "study serve": "askew.people.command:study_serve",
    "study links": "askew.people.command:study_links",
    "study results": "askew.people.command:study_results",
    "study export": "askew.people.command:study_export",
    "study import": "askew.people.command:study_import",
    "studio path": "askew.commands:studio_path",
    "studio truth": "askew.commands:studio_truth",
}
"""Commands that belong to no method, mapped to their functions."""

GROUPS = {
    "runs": "List or remove runs. `askew runs FOLDER` lists the runs in a folder.",
    "store": "Manage the store of images and answers that runs share.",
    "study": "Ask people about images: create a study, serve it to raters, and get its results.",
    "studio": "Show the built-in portrait world: its networks and its planted biases.",
}
"""Commands that have subcommands, mapped to their descriptions."""

FLAGS = {
    "--help (-h)": "Show this list. After a command, show the command's options and examples.",
    "--install-completion": "Make the shell complete commands and options.",
    "--version": "Show the version.",
}

ABOUT = (
    'Measure the biases of a text-to-image model.\n\nStart with: `askew audit "a photo of a nurse"`'
)

SECTION = re.compile(r"\n\n(?=[A-Z]\w*\n-+\n)")
"""Pattern for the start of a section in a NumPy docstring."""

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
    except OSError as error:  # a name that no file can have, or a disk that fails
        message = str(error)
        if error.filename:
            message = f"{error.strerror or error}: {error.filename!r}"
        return _fail(message, 1)


def commands() -> Iterator[tuple[str, str]]:
    """Yield the name and the function of each command, starting with the methods' commands.

    Any installed package can provide a method.
    """
    for point in sorted(entry_points(group="askew.methods"), key=lambda point: point.name):
        yield point.name, f"{point.module}.command:{point.name.replace('-', '_')}"
    yield from COMMANDS.items()


def overview() -> RenderableType:
    """Return a list of all commands, each with the first line of its documentation.

    This function does not use cyclopts, because importing it would take longer than everything
    else.
    """
    lines = {name: first_line(function) for name, function in commands() if " " not in name}
    lines |= GROUPS
    rows = Table.grid(padding=(0, 2))
    for name, line in [*sorted(lines.items()), *FLAGS.items()]:
        rows.add_row(Text(name, "cyan"), Text(line.replace("`", "")))
    usage = f"Usage: askew COMMAND\n\n{ABOUT}\n"
    return Group(usage, Panel(rows, title="Commands", title_align="left"))


@cache
def application() -> "App":
    """Return the command-line app. A command's function is imported only when it is called."""
    from cyclopts import App, Parameter
    from cyclopts import Group as Panels

    app = App(
        name="askew",
        help=ABOUT,
        version=lambda: version("askew"),
        help_format="markdown",
        # the last value holds where an option of one value is repeated
        default_parameter=Parameter(allow_repeating=True),
        # the command's own options come before the groups of shared options
        group_parameters=Panels("Parameters", sort_key=0),
        console=out,
        error_console=err,
    )
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for name, function in commands():
        group_name, _, command_name = name.rpartition(" ")
        parent = groups[group_name] if group_name else app
        parent.command(function, name=command_name, help=help_text(documentation(function)))
    app.register_install_completion_command()
    return app


def documentation(function: str) -> str:
    """Read the docstring of a function from its source file, without importing the module.

    Parameters
    ----------
    function
        The function, as "package.module:name".
    """
    module, _, name = function.partition(":")
    package, *rest = module.split(".")
    spec = find_spec(package)
    if not (spec and spec.origin):
        return ""
    source = Path(spec.origin).parent.joinpath(*rest).with_suffix(".py").read_text(encoding="utf-8")
    match = re.search(rf'^def {name}\(.*?"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
    return inspect.cleandoc(match[1]) if match else ""


def first_line(function: str) -> str:
    """Return the first line of a function's docstring, without importing the function."""
    return documentation(function).partition("\n")[0]


def help_text(documentation: str) -> str:
    """Return the description and the examples of a command, in Markdown.

    Parameters
    ----------
    documentation
        A NumPy docstring. Each paragraph in the Examples section is a separate example.
    """
    description, *sections = SECTION.split(documentation)
    parts = [re.sub(r"^(Examples?):", r"**\1:**", description, flags=re.MULTILINE)]
    for section in sections:
        title, _, paragraphs = section.split("\n", maxsplit=2)
        if title == "Examples":
            examples = [" ".join(text.split()) for text in paragraphs.strip().split("\n\n")]
            parts += ["**Examples:**", *(f"- {example}" for example in examples)]
    return "\n\n".join(parts)


def _call(arguments: Sequence[str]) -> None:
    """Call the command that the arguments name, and print its result."""
    from cyclopts import CycloptsError

    if arguments[0] == "runs" and arguments[1:2] not in (["list"], ["rm"], ["--help"], ["-h"]):
        arguments = ["runs", "list", *arguments[1:]]
    try:
        function, bound, _ = application().parse_args(
            list(arguments), exit_on_error=False, print_error=False
        )
    except CycloptsError as error:
        message = re.sub(r"(?<![.])[.]$", "", str(error))
        raise UsageError(f"{message}. Add --help to see the options of the command") from None
    runs_a_plan = "options" in getattr(function, "__annotations__", {})
    progress = {"progress": True} if runs_a_plan else {}
    as_json = bool(bound.kwargs.get("json"))
    try:
        result = function(*bound.args, **progress, **bound.kwargs)
    except CheckFailed as failed:
        show(failed.result, as_json)
        raise
    show(result, as_json)
    if not getattr(result, "has_estimates", True):
        raise RunError("nothing could be measured. The report gives the reasons")


def show(result: Any, as_json: bool = False) -> None:
    """Print the result of a command.

    Parameters
    ----------
    result
        Result of the command. A document is printed as a table, with its warnings and the path of
        its report. Other results are a tuple of records, an object with `lines`, or anything that
        rich can print.
    as_json
        If True, print a document or a tuple as JSON.
    """
    if hasattr(result, "report"):
        _show_document(result, as_json)
    elif as_json and isinstance(result, tuple):
        write(json.dumps([asdict(row) for row in result], indent=1) + "\n")
    elif hasattr(result, "lines"):
        out.print("\n".join(result.lines()), soft_wrap=True, highlight=False)
    elif result is not None:
        out.print(result)


def _show_document(document: Any, as_json: bool) -> None:
    if as_json:
        write(document.numbers.read_text(encoding="utf-8"))
        return
    for warning in (*document.warnings, *document.image_warnings):
        err.print(f"warning: {warning}", style="yellow", soft_wrap=True, highlight=False)
    out.print(document.table())
    out.print(f"report: {document.report.resolve()}", soft_wrap=True, highlight=False)


def _fail(message: str, code: int) -> int:
    """Print an error in red, or an interruption (code 130) without color. Return the code."""
    style = "red" if code != 130 else None
    err.print(f"askew: {without_logins(message)}", style=style, soft_wrap=True, highlight=False)
    return code
