"""Every command and option of the command line has a help text and stands in docs/reference/cli.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from askew.oldcli import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for child, below in command.commands.items():
            yield from commands(below, f"{name} {child}")
    else:
        yield name, command


ALL = list(commands(typer.main.get_command(app), "askew"))


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_command_is_documented(name: str, command: Any) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"## {name}\n" in page
    section = page.split(f"## {name}\n")[1].split("\n## ")[0]
    assert command.help
    assert "Example" in command.help
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"
            assert f"`{parameter.opts[0]}`" in section, f"{parameter.opts[0]} is not in the section of {name}"
