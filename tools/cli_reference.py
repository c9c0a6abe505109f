"""Writes docs/reference/cli.md from the commands' own functions.

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

`askew COMMAND --help` says the same as this page, which is written from it. `askew --install-completion` lets the shell
complete commands and options.

A result goes to standard output. Progress, warnings and errors go to standard error: bars on a terminal, one JSON
object a line elsewhere. So `askew audit … --json > results.json` writes nothing but JSON.

| exit code | meaning |
| ---: | --- |
| 0 | done |
| 1 | it failed on the way: a model or an instrument broke, the disk is full, a run is not whole |
| 2 | the request is wrong: an unknown name, an impossible option, an unreadable plan or manifest |
| 3 | a condition given by `--fail-if` holds |
| 130 | stopped by Ctrl-C; the same command continues |

After 1 and 130, what was finished is kept. Give the same command again and it goes on from there.
"""


def text() -> str:
    """The page."""
    app = application()
    found = [name for name, function in commands() if function.startswith("askew.")]
    return "\n".join([HEAD, *(_command(app, name) for name in found)])


def _command(app: App, name: str) -> str:
    for part in name.split():
        app = app[part]
    documented = inspect.getdoc(app.default_command) or ""
    told = re.split(r"\n\n(?=Parameters\n---|Raises\n---)", documented)[0]
    rows = [f"| {option} | {help} |" for option, help in _options(app, documented)]
    table = ["", "| option | meaning |", "| --- | --- |", *rows] if rows else []
    return "\n".join([f"## askew {name}", "", told, *table, ""])


def _options(app: App, documented: str) -> Iterator[tuple[str, str]]:
    """By option its help: of the parameter, or of the function's documentation."""
    for argument in app.assemble_argument_collection():
        if argument.show and argument.names:
            own = re.search(
                rf"^{argument.field_info.name}\n((?:    \S.*\n?)+)", documented, re.MULTILINE
            )
            help = argument.parameter.help or " ".join((own[1] if own else "").split())
            yield ", ".join(f"`{name}`" for name in argument.names), help.replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
