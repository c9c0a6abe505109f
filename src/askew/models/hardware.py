"""Devices of the machines that work on a run. They determine askew's default settings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass

from askew.models.facts import remembered_facts

KEY = "hardware of workers"
"""Key under which a run stores a description of the devices of its machines."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """Devices of a machine.

    Attributes
    ----------
    kinds
        Kinds of devices, such as cuda, from the fastest to the slowest.
    gpus
        Number of CUDA devices.
    has_bfloat16
        True if the CUDA devices support the bfloat16 format.
    """

    kinds: tuple[str, ...]
    gpus: int
    has_bfloat16: bool


def local_hardware() -> Hardware:
    """Return the devices of this machine."""
    import torch

    kinds = []
    has_cuda = torch.cuda.is_available()
    if has_cuda:
        kinds.append("cuda")
    if torch.backends.mps.is_available():
        kinds.append("mps")
    return Hardware(
        kinds=(*kinds, "cpu"),
        gpus=torch.cuda.device_count() if has_cuda else 0,
        has_bfloat16=has_cuda and torch.cuda.is_bf16_supported(including_emulation=False),
    )


_WORKERS: ContextVar[Callable[[], Hardware] | None] = ContextVar("workers", default=None)


@contextmanager
def hardware_of_workers(source: Callable[[], Hardware] | None) -> Iterator[None]:
    """Let `hardware` return the result of `source` within this context.

    If `source` is None, `hardware` returns this machine's devices.
    """
    token = _WORKERS.set(source)
    try:
        yield
    finally:
        _WORKERS.reset(token)


def hardware() -> Hardware:
    """Return the devices of the machines that work on the run.

    If workers on other machines may execute the run, their devices are stored with the run.
    """
    facts = remembered_facts()
    if KEY in facts:
        stored = facts[KEY]
        return Hardware(tuple(stored["kinds"]), stored["gpus"], stored["has_bfloat16"])
    source = _WORKERS.get()
    if source is None:
        return local_hardware()
    devices = source()
    facts[KEY] = asdict(devices)
    return devices
