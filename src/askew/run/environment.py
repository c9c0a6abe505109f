"""Where a run was made: versions, platform, threads. Provenance only; no result may depend on the clock."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = "askew diffusers networkx numpy pillow pydantic safetensors scipy torch transformers".split()


def environment(device: str | None = None, started: datetime | None = None) -> dict[str, Any]:
    """Python, platform, package versions, device, threads, and the time of start and finish (UTC, to the second)."""
    began, ended = (at and at.astimezone(UTC).isoformat(timespec="seconds") for at in (started, datetime.now(UTC)))
    return {**machine(device), "started": began, "finished": ended}


def machine(device: str | None = None) -> dict[str, Any]:
    """Python, platform, package versions, device, threads."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": package_versions(),
        "device": device,
        "threads": threads(),
    }


@lru_cache
def package_versions() -> Mapping[str, str]:
    """Installed versions of the packages that results can depend on, by name."""
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def threads() -> int:
    """Threads that numeric code uses: PyTorch's own count once it is loaded, else what the process was told."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() else os.cpu_count() or 1
