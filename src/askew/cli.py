"""The command line: the commands of all methods, by their own functions and signatures, and a few of its own.

Nothing is imported before the command that needs it is called: `askew --help` reads first lines of documentation.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console, RenderableType

from askew.errors import STOPPED, AskewError, CheckFailed, Interrupted, UsageError

OWN: Mapping[str, str] = {
    "axes": "askew.methods.audit.command:axes",
    "sensitivity": "askew.methods.audit.sensitivity:sensitivity",
    "compare": "askew.studies.compare.command:compare",
    "report": "askew.commands:report",
    "check": "askew.commands:check",
    "export": "askew.commands:export",
    "mine-study": "askew.studies.mine_study.command:mine_study",
    "models": "askew.commands:models",
    "robustness": "askew.methods.interact.robustness:robustness",
    "graphs": "askew.studies.graphs.command:graphs",
    "studio sheet": "askew.commands:studio_sheet",
    "studio path": "askew.commands:studio_path",
    "studio truth": "askew.commands:studio_truth",
}
"""Commands that are no method's: by name the function."""

GROUPS = {"studio": "The embedded portrait world, whose bias is known."}
"""Commands that have commands of their own."""

ABOUT = 'Measure which way a text-to-image model leans.\n\nStart with: `askew audit "a photo of a nurse"`'

out = Console()
err = Console(stderr=True)


@runtime_checkable
class Shown(Protocol):
    """What a command returns: a result that has a table, a page and a file with its numbers."""

    @property
    def report(self) -> Path: ...
    @property
    def numbers(self) -> Path: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    def table(self) -> RenderableType: ...


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        _call(arguments)
        out.file.flush()
    except UsageError as error:
        return _fail(error, 2)
    except CycloptsError as error:
        return _fail(f"{str(error).removesuffix('.')} (--help tells how to use it)", 2)
    except CheckFailed as error:
        return _fail(error, 3)
    except (Interrupted, KeyboardInterrupt) as error:
        return _fail(str(error) or STOPPED, 130)
    except AskewError as error:
        return _fail(error, 1)
    return 0


def commands() -> Iterator[tuple[str, str]]:
    """By name the function of every command: those of the methods, installed from wherever, then askew's own."""
    for point in sorted(entry_points(group="askew.methods"), key=lambda point: point.name):
        yield point.name, f"{point.module}.command:{point.name.replace('-', '_')}"
    yield from OWN.items()


def application(listing: bool = False) -> App:
    """The commands; with `listing` each with its first line, for the list of all."""
    app = App(
        name="askew",
        help=ABOUT,
        version=version("askew"),
        help_format="plaintext" if listing else "markdown",
        default_parameter=Parameter(allow_repeating=True),  # of an option that takes one value, the last one holds
        console=out,
        error_console=err,
    )
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for name, function in commands():
        under, _, own = name.rpartition(" ")
        (groups[under] if under else app).command(
            function, name=own, **({"help": first_line(function)} if listing else {})
        )
    app.register_install_completion_command()
    return app


def first_line(function: str) -> str:
    """The first line of a function's documentation, read from its file without importing it."""
    module, _, name = function.partition(":")
    package, *rest = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    file = Path(spec.origin).parent.joinpath(*rest).with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def _call(arguments: Sequence[str]) -> None:
    app = application(listing=not arguments or arguments[0] in ("--help", "-h"))
    function, bound, _ = app.parse_args(list(arguments), exit_on_error=False, print_error=False)
    given = {**({"progress": True} if _runs_plans(function) else {}), **bound.kwargs}
    show(function(*bound.args, **given), bool(given.get("json")))


def _runs_plans(function: Callable[..., Any]) -> bool:
    """Whether a command takes the options of a run."""
    return "options" in getattr(function, "__annotations__", {})


def show(result: object, as_json: bool = False) -> None:
    """Print what a command returned: a result as its table, with warnings and the place of its page, or as JSON."""
    if isinstance(result, Shown):
        if as_json:
            sys.stdout.write(result.numbers.read_text(encoding="utf-8"))
            return
        for warning in result.warnings:
            err.print(f"warning: {warning}", style="yellow", soft_wrap=True, markup=False, highlight=False)
        out.print(result.table())
        out.print(f"report: {result.report.resolve()}", soft_wrap=True, markup=False, highlight=False)
    elif hasattr(result, "lines"):
        for line in result.lines():
            out.print(line, soft_wrap=True, markup=False, highlight=False)
    elif result is not None:
        out.print(result)


def _fail(error: object, code: int) -> int:
    err.print(f"askew: {error}", style="red" if code != 130 else None, soft_wrap=True, markup=False, highlight=False)
    return code
