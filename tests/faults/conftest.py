"""Fixtures of the tests of faults."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that disturbs system calls, for LD_PRELOAD."""
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("this needs Linux and a C compiler")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", library, HERE / "shim.c", "-ldl"], check=True
    )
    return library
