"""Where a run was made: versions, platform, threads. Provenance only; no result may depend on the
clock.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from platform import platform, python_version

from askew.types import record

PACKAGES = "askew diffusers numpy pillow pydantic safetensors scipy torch transformers".split()


@record
class Environment:
    """Where and when (UTC) a run was made."""

    python: str
    platform: str
    packages: Mapping[str, str]
    device: str | None
    threads: int
    started: str | None
    finished: str


def environment(device: str | None = None, started: datetime | None = None) -> Environment:
    """This machine, and now as the time of finish."""
    began = started.astimezone(UTC).isoformat(timespec="seconds") if started else None
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    versions = package_versions()
    return Environment(python_version(), platform(), versions, device, threads(), began, ended)


@lru_cache
def package_versions() -> Mapping[str, str]:
    """Installed versions of the packages that results can depend on, by name."""
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def threads() -> int:
    """Threads that numeric code uses: PyTorch's own count once it is loaded, else what the process
    was told.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() else os.cpu_count() or 1
