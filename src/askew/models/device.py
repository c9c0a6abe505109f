"""Where networks run, and in which number format: chosen for the machine unless the user says
otherwise.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from askew.errors import UnknownName, UsageError

AUTO = "auto"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(name: str = AUTO) -> torch.device:
    """The device called `name`, such as cuda, cuda:1, mps or cpu; `auto` takes the fastest there
    is. Raises UsageError for a device that this machine does not have.
    """
    found = [
        ("cuda", torch.cuda.is_available()),
        ("mps", torch.backends.mps.is_available()),
        ("cpu", True),
    ]
    available = [kind for kind, there in found if there]  # the fastest first
    if name == AUTO:
        return torch.device(available[0])
    kind, _, number = name.partition(":")
    if kind not in available:
        raise UsageError(f"this machine has no device {name!r}; it has: {', '.join(available)}")
    if number and not (
        number.isdigit() and (kind != "cuda" or int(number) < torch.cuda.device_count())
    ):
        raise UsageError(f"this machine has no device {name!r}; {kind}:0 is the first one")
    return torch.device(name)


def choose_dtype(name: str = AUTO, device: torch.device | None = None) -> torch.dtype:
    """The number format called `name`: float32, bfloat16 or float16.

    `auto` is bfloat16 on a GPU that computes in it, float16 on other GPUs, and float32 on a CPU,
    where it alone gives the same numbers everywhere. Raises UnknownName.
    """
    if name in DTYPES:
        return DTYPES[name]
    UnknownName.unless_known("dtype", name, (AUTO, *DTYPES))
    kind = (device or choose_device()).type
    if kind == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float32 if kind == "cpu" else torch.float16


def dtype_name(dtype: torch.dtype) -> str:
    """The name that `choose_dtype` takes."""
    return str(dtype).removeprefix("torch.")


@contextmanager
def overflow_safe(vae: Any) -> Iterator[None]:
    """Within, an autoencoder whose numbers overflow in half precision works in single precision."""
    overflows = vae.dtype == torch.float16 and getattr(vae.config, "force_upcast", False)
    if overflows:
        vae.to(dtype=torch.float32)
    try:
        yield
    finally:
        if overflows:
            vae.to(dtype=torch.float16)
