"""The studio: a small world of drawn portraits with planted, and therefore known, bias.

This module finds the studio's networks in the installed package, and reads the studio's data files.
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
        One of the names in `NETWORKS`.

    Raises
    ------
    UnknownName
        If there is no network with this name.
    """
    UnknownName.unless_known("studio network", name, NETWORKS)
    return Path(str(files("askew.studio"))) / "weights" / name


def rows(name: str) -> list[list[str]]:
    """Return the rows in a data file, each as a list of cells.

    A row consists of a line and the indented lines that follow it. `|` separates cells, and `#` at
    the start of a line marks a comment.

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
    """Return the content of a TOML data file."""
    return tomllib.loads((files("askew.studio") / "data" / name).read_text(encoding="utf-8"))
