"""Write docs/reference/cli.md from the functions behind the commands.

python tools/cli_reference.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from cyclopts import App

from askew.cli import application, commands

FILE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

HEAD = """# Command line

This page is generated from the same source as `askew COMMAND --help`. `askew --install-completion`
lets the shell complete commands and options.

askew writes results to standard output. It writes progress, warnings and errors to standard error:
as bars on a terminal, as one JSON object per line elsewhere. So `askew audit … --json >
results.json` writes nothing but JSON.

| exit code | meaning |
| ---: | --- |
| 0 | The command is done. |
| 1 | The command failed: a model or an instrument broke, the disk is full, or a run has gaps. |
| 2 | The request is wrong: an unknown name, an invalid option, an unreadable plan or manifest. |
| 3 | A condition of `--fail-if` holds. |
| 130 | Ctrl-C stopped the command. |

After 1 and 130, askew keeps what was finished. Repeat the same command to resume.
"""


def text() -> str:
    """Return the page."""
    app = application()
    names = [name for name, function in commands() if function.startswith("askew.")]
    return "\n".join([HEAD, *(_command(app, name) for name in names)])


def _command(app: App, name: str) -> str:
    for part in name.split():
        app = app[part]
    documentation = inspect.getdoc(app.default_command) or ""
    description = re.split(r"\n\n(?=Parameters\n---|Raises\n---)", documentation)[0]
    rows = [f"| {option} | {help} |" for option, help in _options(app, documentation)]
    table = ["", "| option | meaning |", "| --- | --- |", *rows] if rows else []
    return "\n".join([f"## askew {name}", "", description, *table, ""])


def _options(app: App, documentation: str) -> Iterator[tuple[str, str]]:
    """Yield options with their help text."""
    for argument in app.assemble_argument_collection():
        if argument.show and argument.names:
            names = ", ".join(f"`{name}`" for name in argument.names)
            help = argument.parameter.help or _documented(argument.field_info.name, documentation)
            yield names, help.replace("|", "\\|")


def _documented(parameter: str, documentation: str) -> str:
    """Return the description of a parameter in a NumPy docstring."""
    pattern = rf"^{parameter}\n((?:    \S.*\n?)+)"
    section = re.search(pattern, documentation, re.MULTILINE)
    return " ".join(section[1].split()) if section else ""


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
