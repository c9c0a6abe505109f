"""Runs that the tests of the app share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from web_app import Browser, make_runs, served


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_runs(tmp_path_factory.mktemp("web"))


@pytest.fixture
def runs(made_runs: Path, tmp_path: Path) -> Path:
    """Return a copy of the runs that a test may change."""
    return Path(
        shutil.copytree(made_runs, tmp_path / "runs", ignore=shutil.ignore_patterns(".web"))
    )


@pytest.fixture(scope="module")
def browser(made_runs: Path) -> Iterator[Browser]:
    """Return a browser that only reads."""
    with served([made_runs], is_read_only=True) as opened:
        yield opened
