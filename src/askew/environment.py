"""Environment of a run (versions, platform, threads and memory). No result depends on the clock."""

import ctypes
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from platform import platform, python_version

from askew.types import record

MALLOC_OPTIONS = {
    # numbers from glibc's malloc.h
    -1: 256 << 20,  # M_TRIM_THRESHOLD
    -3: 32 << 20,  # M_MMAP_THRESHOLD, whose largest value is 32 MiB
}
"""Bytes of freed memory to keep, and size in bytes below which buffers are placed on the heap."""

PACKAGES = "askew diffusers numpy pillow pydantic safetensors scipy torch transformers".split()


@record
class Environment:
    """Machine on which a run took place, and time (UTC) of the run."""

    python: str
    platform: str
    packages: Mapping[str, str]
    device: str | None
    threads: int
    started: str | None
    finished: str


def environment(device: str | None = None, started: datetime | None = None) -> Environment:
    """Describe this machine, and record the current time as the end of the run."""
    began = started.astimezone(UTC).isoformat(timespec="seconds") if started else None
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    versions = package_versions()
    return Environment(
        python=python_version(),
        platform=platform(),
        packages=versions,
        device=device,
        threads=threads(),
        started=began,
        finished=ended,
    )


@lru_cache
def package_versions() -> Mapping[str, str]:
    """Return the installed versions of packages on which results can depend, keyed by name."""
    versions = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def threads() -> int:
    """Return the number of threads that numeric code uses.

    If PyTorch is loaded, the result is PyTorch's number of threads. Otherwise, the result is
    OMP_NUM_THREADS if it is set, or else the number of CPUs.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdigit():
        return int(setting)
    return os.cpu_count() or 1


@lru_cache
def keep_freed_memory() -> bool:
    """Make the C library's allocator keep and reuse freed buffers.

    In each layer, a network frees and requests buffers of several megabytes. By default, glibc
    returns these buffers to the operating system, which must then clear all their pages for the
    next request. Environment variables that begin with `MALLOC_` take precedence.

    Returns
    -------
    bool
        False if the user chose other settings, or if the C library is not glibc.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return False
    return all(set_option(option, size) == 1 for option, size in MALLOC_OPTIONS.items())
