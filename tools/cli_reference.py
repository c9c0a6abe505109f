"""Write docs/reference/cli.md from the functions behind the commands.

python tools/cli_reference.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from cyclopts import App, Group

from askew.cli import application, commands

FILE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

HEAD = """# Command line

This page is generated from the same source as `askew COMMAND --help`. `askew --install-completion`
makes the shell complete commands and options.

askew writes results to standard output, and progress, warnings and errors to standard error.
Progress is shown as bars on a terminal, and elsewhere as one JSON object per line. Thus,
`askew audit … --json > results.json` writes only JSON to the file.

| exit code | meaning |
| ---: | --- |
| 0 | The command succeeded. |
| 1 | The command failed, for example because a model failed, the disk is full, or a run is incomplete. |
| 2 | The request is invalid, for example because of an unknown name or option, or an unreadable plan. |
| 3 | A `--fail-if` condition is met. |
| 130 | Ctrl-C stopped the command. |

After exit codes 1 and 130, askew keeps all finished work. To continue, repeat the same command.
"""


def text() -> str:
    """Return the page."""
    app = application()
    names = [name for name, function in commands() if function.startswith("askew.")]
    return "\n".join([HEAD, *(_command(app, name) for name in names)])


def _command(app: App, name: str) -> str:
    for part in name.split():
        app = app[part]
    parts = [f"## askew {name}", app.help]
    for group, options in _options(app).items():
        title = "option" if group in ("Arguments", "Parameters") else group
        rows = [f"| {names} | {help} |" for names, help in options]
        parts.append("\n".join([f"| {title} | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _options(app: App) -> dict[str, list[tuple[str, str]]]:
    """Return options with their help text, by group in the order of help."""
    documentation = inspect.getdoc(app.default_command) or ""
    groups: dict[Group, list[tuple[str, str]]] = {}
    for argument in app.assemble_argument_collection():
        if argument.show and argument.names:
            names = ", ".join(f"`{name}`" for name in argument.names)
            help = argument.parameter.help or _documented(argument.field_info.name, documentation)
            row = (names, help.replace("|", "\\|"))
            groups.setdefault(argument.parameter.group[0], []).append(row)
    ordered = sorted(groups, key=lambda group: group.sort_key or 0)
    return {group.name: groups[group] for group in ordered}


def _documented(parameter: str, documentation: str) -> str:
    """Return the description of a parameter in a NumPy docstring."""
    pattern = rf"^{parameter}\n((?:    \S.*\n?)+)"
    section = re.search(pattern, documentation, re.MULTILINE)
    return " ".join(section[1].split()) if section else ""


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
