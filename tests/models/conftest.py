"""Fixtures for the models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def copy(tiny: Callable[[str], Path], tmp_path: Path) -> Path:
    """Return a tiny Stable Diffusion that a test may change."""
    return Path(shutil.copytree(tiny("stable-diffusion"), tmp_path / "copy"))
