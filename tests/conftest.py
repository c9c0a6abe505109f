"""Fixtures that several test folders use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data: $ASKEW_SHARED, else ../shared beside the repository."""
    folder = Path(os.environ.get("ASKEW_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the shared data are not at {folder}; set ASKEW_SHARED")
    return folder
