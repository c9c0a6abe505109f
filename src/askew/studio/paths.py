"""Where the studio's networks lie in the installed package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from askew.errors import UnknownName

NETWORKS = ("embedder", "studio", "balanced")


def weights(name: str) -> Path:
    """The folder of a studio network. Raises UnknownName."""
    if name not in NETWORKS:
        raise UnknownName("studio network", name, NETWORKS)
    return Path(str(files("askew.studio"))) / "weights" / name
