"""Fixtures that several test folders use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

for name, value in {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}.items():
    os.environ.setdefault(
        name, value
    )  # a process, one of several perhaps, takes one core; read by what tests import

settings.register_profile(
    "askew", deadline=None, derandomize=True, max_examples=60
)  # a slow machine is no fault
settings.load_profile("askew")

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="record the numbers of e2e/test_recorded.py anew"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules stay until the end: walking them for garbage would take half of the time that it
    takes to import them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data: $ASKEW_SHARED, else ../shared beside the repository."""
    folder = Path(os.environ.get("ASKEW_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the shared data are not at {folder}; set ASKEW_SHARED")
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's tiny pipeline, saved once; not to be changed."""
    import tiny_pipelines  # imports much

    root = tmp_path_factory.mktemp("pipelines")
    return lambda family: tiny_pipelines.save(family, root / family.replace(" ", "-"))
