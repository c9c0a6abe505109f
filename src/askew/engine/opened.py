"""Create the engine that the option --engine selects."""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from askew.engine.base import Engine
from askew.engine.local import LocalEngine
from askew.engine.threads import ThreadEngine
from askew.errors import MissingPackage, UnknownName, UsageError

NAMES = ("local", "threads", "ray", "ray://HOST:PORT")
THREAD_WORKERS = 4
"""Default number of threads.

While one thread uses the model or instrument, the other threads encode images.
"""


def opened_engine(
    engine: Engine | str | None = None,
    workers: int | None = None,
    gpus_per_worker: float | None = None,
) -> AbstractContextManager[Any]:
    """Return a context manager that yields an engine, given by name or as an object.

    Parameters
    ----------
    engine
        An engine object, or an engine name from `NAMES`. By default "local".
    workers
        Number of workers. The default number of workers depends on the engine.
    gpus_per_worker
        Number of GPUs that each Ray worker reserves.

    Raises
    ------
    UnknownName
        If there is no engine with this name.
    UsageError
        If an option does not apply to the engine, or has an invalid value.
    MissingPackage
        If the package that the engine needs is not installed.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}; it must be at least 1")
    if gpus_per_worker is not None and not gpus_per_worker >= 0:
        raise UsageError(f"--gpus-per-worker is {gpus_per_worker:g}; it must be 0 or more")
    name = "local" if engine is None else engine
    if not isinstance(name, str):
        return nullcontext(name)
    kind, separator, _ = name.partition("://")
    if kind == "ray":
        MissingPackage.unless_installed("ray", "ray", "--engine ray")
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the workers, for equal roundings
        from askew.engine.ray import RayEngine

        return RayEngine(workers, name if separator else None, gpus_per_worker)
    if gpus_per_worker is not None:
        raise UsageError(f"--gpus-per-worker needs --engine ray, not --engine {name}")
    if name == "threads":
        return nullcontext(ThreadEngine(workers or THREAD_WORKERS, takes_turns=True))
    if name != "local":
        raise UnknownName("engine", name, NAMES)
    if workers not in (None, 1):
        raise UsageError(
            "--engine local has only one worker. To set --workers, use --engine threads or "
            "--engine ray"
        )
    return nullcontext(LocalEngine())
