"""Tiny pipelines, saved once per session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Saved = Callable[[str], Path]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The folder of a family's tiny pipeline."""
    import tiny_pipelines

    root = tmp_path_factory.mktemp("pipelines")
    return lambda family: tiny_pipelines.save(family, root / family.replace(" ", "-"))
