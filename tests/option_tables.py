"""Tables of the options of each command, built once per process.

cyclopts builds the table of a command whenever it parses a command line. That takes up to 70 ms,
and the tests parse hundreds of command lines.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from cyclopts import App
from cyclopts.argument import ArgumentCollection


def build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let apps copy the table that they built for their first command line."""
    build = App.assemble_argument_collection
    # a table keeps its app, so that no later app gets the same id
    tables: dict[tuple[Any, ...], tuple[App, ArgumentCollection]] = {}

    def assemble_argument_collection(app: App, **settings: Any) -> ArgumentCollection:
        key = (id(app), app.app_stack.default_parameter, *settings.items())
        if key not in tables:
            tables[key] = (app, build(app, **settings))
        return without_values(tables[key][1])

    monkeypatch.setattr(App, "assemble_argument_collection", assemble_argument_collection)


def without_values(table: ArgumentCollection) -> ArgumentCollection:
    """Return a copy that another command line can fill."""
    copies = {id(argument): copy.copy(argument) for argument in table}
    for argument in copies.values():
        argument.tokens = []
        argument.children = ArgumentCollection(copies[id(child)] for child in argument.children)
    return ArgumentCollection(copies.values())
