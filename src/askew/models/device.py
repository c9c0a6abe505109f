"""Devices and number formats of networks, chosen for the machine unless the user names them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from askew.errors import UnknownName, UsageError
from askew.models.hardware import hardware

AUTO = "auto"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(name: str = AUTO) -> torch.device:
    """Return a device of the machines that work on the run.

    Parameters
    ----------
    name
        Name such as cuda, cuda:1, mps or cpu. `auto` takes the fastest device.

    Raises
    ------
    UsageError
        If this machine has no such device.
    """
    available = hardware().kinds
    if name == AUTO:
        return torch.device(available[0])
    kind, _, number = name.partition(":")
    if kind not in available:
        raise UsageError(f"this machine has no device {name!r}; it has: {', '.join(available)}")
    if number and not _has_number(kind, number):
        raise UsageError(f"this machine has no device {name!r}; the first is {kind}:0")
    return torch.device(name)


def _has_number(kind: str, number: str) -> bool:
    """Check whether a device of this kind may have this number."""
    return number.isdigit() and (kind != "cuda" or int(number) < hardware().gpus)


def choose_dtype(name: str = AUTO, device: torch.device | None = None) -> torch.dtype:
    """Return a number format.

    Parameters
    ----------
    name
        float32, bfloat16 or float16. `auto` is bfloat16 on a GPU that computes in it, float16 on
        other GPUs, and float32 on a CPU, where only float32 gives the same numbers everywhere.
    device
        The device. By default, the fastest device of this machine.

    Raises
    ------
    UnknownName
        For other names.
    """
    if name in DTYPES:
        return DTYPES[name]
    UnknownName.unless_known("dtype", name, (AUTO, *DTYPES))
    kind = (device or choose_device()).type
    if kind == "cuda" and hardware().has_bfloat16:
        return torch.bfloat16
    return torch.float32 if kind == "cpu" else torch.float16


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name of a number format, as `choose_dtype` takes it."""
    return str(dtype).removeprefix("torch.")


def free_memory(device: torch.device) -> None:
    """Free the memory of a failed call on a device."""
    gc.collect()
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).empty_cache()


@contextmanager
def overflow_safe(vae: Any) -> Iterator[None]:
    """Switch an autoencoder that overflows in half precision to single precision in the block."""
    overflows = vae.dtype == torch.float16 and getattr(vae.config, "force_upcast", False)
    if overflows:
        vae.to(dtype=torch.float32)
    try:
        yield
    finally:
        if overflows:
            vae.to(dtype=torch.float16)
