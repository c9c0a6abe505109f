"""Every command and option of the command line has a help text and stands in docs/reference/cli.md."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer

from askew.cli import application
from askew.oldcli import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for child, below in command.commands.items():
            yield from commands(below, f"{name} {child}")
    else:
        yield name, command


METHODS = sorted(point.name for point in entry_points(group="askew.methods"))


@pytest.mark.parametrize("name", METHODS)
def test_options_of_a_method_are_documented(name: str) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## askew {name}\n")[1].split("\n## ")[0]
    known = application()[name].assemble_argument_collection()
    options = [option for one in known if one.parse for option in one.names[:1]]
    assert [option for option in options if option.startswith("-") and f"`{option}`" not in section] == []


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
