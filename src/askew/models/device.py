"""Device and number format for networks: the user's choice, or a default for the machine."""

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
    """Choose a device by name from the devices of the machines that work on the run.

    Parameters
    ----------
    name
        Name such as cuda, cuda:1, mps or cpu. `auto` chooses the fastest device.

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
        raise UsageError(
            f"this machine has no device {name!r}; the first {kind} device is {kind}:0"
        )
    return torch.device(name)


def _has_number(kind: str, number: str) -> bool:
    """Check whether the number is valid for this kind of device on this machine."""
    return number.isdigit() and (kind != "cuda" or int(number) < hardware().gpus)


def choose_dtype(name: str = AUTO, device: torch.device | None = None) -> torch.dtype:
    """Choose a data type by name; for `auto`, choose a data type that suits the device.

    Parameters
    ----------
    name
        float32, bfloat16, float16 or auto. `auto` is bfloat16 on a GPU that supports it, float16 on
        other GPUs, and float32 on a CPU, because only float32 produces the same results on every
        CPU.
    device
        Device that runs the network. Defaults to the fastest device of this machine.

    Raises
    ------
    UnknownName
        For any other name.
    """
    if name in DTYPES:
        return DTYPES[name]
    UnknownName.unless_known("dtype", name, (AUTO, *DTYPES))
    kind = (device or choose_device()).type
    if kind == "cuda" and hardware().has_bfloat16:
        return torch.bfloat16
    return torch.float32 if kind == "cpu" else torch.float16


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name of a data type in the form that `choose_dtype` accepts."""
    return str(dtype).removeprefix("torch.")


def free_memory(device: torch.device) -> None:
    """Free the device memory that a failed call used."""
    gc.collect()
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).empty_cache()


@contextmanager
def overflow_safe(vae: Any) -> Iterator[None]:
    """Use single precision in this context if the autoencoder would overflow in half precision."""
    overflows = vae.dtype == torch.float16 and getattr(vae.config, "force_upcast", False)
    if overflows:
        vae.to(dtype=torch.float32)
    try:
        yield
    finally:
        if overflows:
            vae.to(dtype=torch.float16)
