"""The command-line app, its two streams, and its exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

import askew
from askew.errors import STOPPED, AskewError, CheckFailed, Interrupted, UsageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help='Measure which way a text-to-image model leans.\n\nStart with: `askew audit "a photo of a nurse"`',
)
out = Console()
err = Console(stderr=True)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Measure which way a text-to-image model leans."""
    if show:
        out.print(askew.__version__)
        raise typer.Exit


def run(arguments: Sequence[str] | None) -> int:
    """Run the command line and return its exit code."""
    try:
        if app(args=arguments, prog_name="askew", standalone_mode=False) == 130:  # how it tells of Ctrl-C
            return _fail(STOPPED, 130)
    except UsageError as error:
        return _fail(error, 2)
    except CheckFailed as error:
        return _fail(error, 3)
    except (Interrupted, typer.Abort, KeyboardInterrupt) as error:
        return _fail(str(error) or STOPPED, 130)
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
