"""The studio: a small world of drawn portraits with planted, and therefore known, bias.

This module finds the studio's networks in the installed package, and reads the studio's data files.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from askew.errors import UnknownName

NETWORKS = ("embedder", "studio", "balanced")

CONCEPTS = {"gender": "gender", "race": "ethnicity", "ethnicity": "ethnicity"}
"""For each concept with a learned token for attention maps, the attribute it describes."""

_WEIGHTS = Path(str(files("askew.studio"))) / "weights"
CONCEPT_VECTORS = _WEIGHTS / "concepts.safetensors"
"""File that contains the token vectors for `CONCEPTS`, written by `training.concepts`."""


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
    return _WEIGHTS / name


def concept_token(concept: str) -> str:
    """Return the token that stands for a concept in attribution prompts.

    Prompts do not contain this token, so it does not affect images.
    """
    return f"<{concept}>"


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
