"""Buffers that a process frees and requests again keep their pages."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

CODE = """
import resource
import numpy as np
from askew.environment import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def faults_of_buffers():
    before = faults()
    for _ in range(4):
        buffers = [np.ones(20 << 17) for _ in range(4)]  # 20 MiB each
        del buffers
    return faults() - before

faults_of_buffers()
default = faults_of_buffers()
keeps = keep_freed_memory()
faults_of_buffers()
print(keeps, faults_of_buffers() < default / 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
@pytest.mark.parametrize(
    ("variables", "printed"),
    [({}, ["True", "True"]), ({"MALLOC_PERTURB_": "0"}, ["False", "False"])],
)
def test_freed_buffers_are_kept_unless_the_user_sets_the_allocator(
    variables: dict[str, str], printed: list[str]
) -> None:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=inherited | variables,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == printed
