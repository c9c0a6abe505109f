"""Fixtures that several test folders use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

for name, value in {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}.items():
    # there may be several test processes, so each takes one core; torch reads these when imported
    os.environ.setdefault(name, value)

# no deadline: a slow machine is not an error
settings.register_profile("askew", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("askew")

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="record the numbers of e2e/test_recorded.py again"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Switch off garbage collection: walking all modules would take half of the time of their
    import. The tests collect less often than usual, which saves a twentieth of their time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000, 20)


@pytest.fixture(scope="session", autouse=True)
def _option_tables() -> Iterator[None]:
    import option_tables  # imported here because it imports cyclopts

    with pytest.MonkeyPatch.context() as monkeypatch:
        option_tables.build_once(monkeypatch)
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data: $ASKEW_SHARED, or else ../shared beside the repository."""
    folder = Path(os.environ.get("ASKEW_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the shared data are not at {folder}; set ASKEW_SHARED")
    return folder


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this run of the tests share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "common"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def tiny(common: Path) -> Callable[[str], Path]:
    """Return a function from a family to the folder of its tiny pipeline, saved once, read-only."""
    import tiny_pipelines  # imported here because it imports torch and diffusers

    return lambda family: tiny_pipelines.save(family, common / family.replace(" ", "-"))
