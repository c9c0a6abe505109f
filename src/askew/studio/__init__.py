"""The embedded portrait world: drawn pictures whose bias was planted, and is therefore known.

Here: where its networks lie in the installed package, and what its data files hold.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from askew.errors import UnknownName

NETWORKS = ("embedder", "studio", "balanced")


def weights(name: str) -> Path:
    """The folder of a studio network. Raises UnknownName."""
    UnknownName.unless_known("studio network", name, NETWORKS)
    return Path(str(files("askew.studio"))) / "weights" / name


def rows(name: str) -> list[list[str]]:
    """The cells of a data file: a row per line, continued on indented ones, `|` between cells, `#`
    before remarks.
    """
    text = (files("askew.studio") / "data" / name).read_text(encoding="utf-8")
    lines = text.replace("\n  ", " ").splitlines()
    return [
        [cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("#")
    ]


def toml(name: str) -> dict[str, Any]:
    """The tables of a data file."""
    return tomllib.loads((files("askew.studio") / "data" / name).read_text(encoding="utf-8"))
