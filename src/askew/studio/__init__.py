"""The embedded portrait world: drawn images whose bias was planted, and is therefore known.

This module locates its networks in the installed package, and reads its data files.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from askew.errors import UnknownName

NETWORKS = ("embedder", "studio", "balanced")


def weights(name: str) -> Path:
    """Return the folder of a studio network.

    Parameters
    ----------
    name
        A name of `NETWORKS`.

    Raises
    ------
    UnknownName
        If there is no network of this name.
    """
    UnknownName.unless_known("studio network", name, NETWORKS)
    return Path(str(files("askew.studio"))) / "weights" / name


def rows(name: str) -> list[list[str]]:
    """Return the cells of a data file, by row.

    A row is a line and the indented lines that follow it. `|` separates cells, and `#` starts a
    comment.

    Parameters
    ----------
    name
        Name of the file.
    """
    text = (files("askew.studio") / "data" / name).read_text(encoding="utf-8")
    lines = text.replace("\n  ", " ").splitlines()
    return [_cells(line) for line in lines if not line.startswith("#")]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def toml(name: str) -> dict[str, Any]:
    """Return the tables of a data file in TOML."""
    return tomllib.loads((files("askew.studio") / "data" / name).read_text(encoding="utf-8"))
