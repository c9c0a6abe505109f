"""An engine whose workers are Ray actors, on this machine or on a cluster.

Each worker has up to `AHEAD` items in its queue, so that it does not wait for the driver. The
engine does not let Ray restart dead workers, because Ray would give the new worker the item that
killed the previous worker. The engine asks Ray for a new worker instead. The engine sends no work
to the new worker until that worker has started, because a cluster that has lost a machine may have
no room for another worker. The items that a dead worker had in its queue are repeated after all
other items.
"""

import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Self

import ray
from ray import cloudpickle
from ray.exceptions import RayActorError, RayError, RayTaskError

from askew.engine.base import Failure, Item, Output
from askew.engine.worker import LackingFiles, Reply, WorkerPlace, WorkerProcess
from askew.errors import RESUME, ModelError, UsageError
from askew.messages import report_message

AHEAD = 2
"""Maximum number of items in a worker's queue."""

WAIT = 0.1
"""Maximum time in seconds that the engine waits for results from all workers.

The engine then yields the results that have arrived, and checks for newly started workers. It takes
less CPU time to store several results one after another than to store each as soon as it arrives.
"""

MOST_DEATHS = 3
"""Number of workers that may die on an item before the engine gives up on the item."""

STARTS = 3
"""Maximum number of attempts to start Ray.

On a busy machine, an attempt may fail after 30 seconds.
"""

START_LIMIT = 600.0
"""Time in seconds within which the first worker must start."""

THREADS = "OMP_NUM_THREADS"


@dataclass(eq=False, slots=True)
class Worker:
    """A Ray actor that works on items.

    Attributes
    ----------
    actor
        Handle of the actor.
    queue
        References to the actor's results, in the order in which the actor computes them.
    place
        Machine and process of the actor; None before the actor has started.
    """

    actor: Any
    queue: deque[Any] = field(default_factory=deque)
    place: WorkerPlace | None = None


@dataclass(slots=True)
class Flight(Generic[Item]):
    """An item in the queue of a worker.

    Attributes
    ----------
    item
        The item.
    sent
        The item in pickled form, as it was sent to the worker.
    worker
        Worker whose queue contains the item.
    deaths
        Number of workers that have died while working on the item.
    """

    item: Item
    sent: bytes
    worker: Worker
    deaths: int = 0


@dataclass(slots=True)
class Lost(Generic[Item]):
    """An item whose worker died. The item is repeated after all other items."""

    item: Item
    deaths: int


class RayEngine:
    """An engine that runs tasks on a Ray cluster.

    As a context manager, the engine starts its workers on entry and stops them on exit.

    Parameters
    ----------
    workers
        Number of workers. By default, there is one worker per GPU, or one worker per CPU if the
        cluster has no GPUs.
    address
        Address of a cluster, such as ray://HOST:PORT. By default, the address in the environment
        variable RAY_ADDRESS. If there is no address, askew starts Ray on this machine.
    gpus_per_worker
        Number of GPUs that each worker reserves. If it is a fraction, several workers share a GPU.

    Raises
    ------
    UsageError
        If the cluster cannot be reached, or runs a different version of askew.
    """

    name = "ray"
    is_remote = True

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        gpus_per_worker: float | None = None,
    ) -> None:
        self.workers = workers or 0
        self._address = address or os.environ.get("RAY_ADDRESS")
        self._gpus = gpus_per_worker
        self._ready: list[Worker] = []
        self._starting: dict[Any, Worker] = {}
        self._actor_class: Any = ray.remote(WorkerProcess)  # Ray disassembles each class once
        self._is_ours = False
        self._restore_printing: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        self._connect()
        resources = ray.cluster_resources()
        if self._gpus is None:
            self._gpus = 1.0 if resources.get("GPU") else 0.0
        self.workers = self.workers or self._places(resources)
        for _ in range(self.workers):
            self._hire()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RayError):
            for worker in (*self._ready, *self._starting.values()):
                ray.kill(worker.actor)
        if self._is_ours:
            ray.shutdown()
            self._restore_printing()

    def _connect(self) -> None:
        """Join the cluster, or start Ray on this machine."""
        if ray.is_initialized():
            return
        local: dict[str, Any] = {}
        if self._address is None:
            local = {"num_cpus": self.workers or os.cpu_count(), "include_dashboard": False}
        for attempt in range(STARTS):
            try:
                with _quiet():
                    ray.init(
                        address=self._address,
                        log_to_driver=False,
                        logging_level=logging.ERROR,
                        configure_logging=False,
                        **local,
                    )
                break
            except Exception as error:  # Ray raises bare exceptions when it starts too slowly
                ray.shutdown()
                if self._address or attempt == STARTS - 1:
                    raise UsageError(_start_sentence(self._address, error)) from error
        self._is_ours = True
        self._restore_printing = _without_printing()

    def _places(self, resources: dict[str, float]) -> int:
        """Return the number of workers that fit on the cluster."""
        if self._gpus:
            return max(1, int(resources.get("GPU", 0) / self._gpus))
        return max(1, int(resources.get("CPU", 1)))

    def _hire(self) -> None:
        """Ask Ray for a worker. The worker starts as soon as a machine has room for it."""
        variables = {THREADS: os.environ.get(THREADS, "1")}
        actor = self._actor_class.options(
            num_cpus=1,
            num_gpus=self._gpus,
            max_restarts=0,
            max_task_retries=0,
            runtime_env={"env_vars": variables},
        ).remote(os.getcwd())
        self._starting[actor.place.remote()] = Worker(actor)

    def welcome(self, seconds: float) -> None:
        """Wait up to `seconds` for new workers, and begin to use the workers that have started."""
        if not self._starting:
            return
        references = list(self._starting)
        started, _ = ray.wait(references, num_returns=len(references), timeout=seconds)
        for reference in started:
            worker = self._starting.pop(reference)
            try:
                worker.place = ray.get(reference)
            except RayActorError:
                self._hire()
                continue
            _check_place(worker.place)
            self._ready.append(worker)

    def await_worker(self) -> None:
        """Wait until a worker has started.

        Raises
        ------
        UsageError
            If no worker starts in time.
        """
        deadline = time.monotonic() + START_LIMIT
        while not self._ready:
            self.welcome(WAIT)
            if time.monotonic() > deadline:
                raise UsageError(
                    f"the Ray cluster started no worker within {START_LIMIT:.0f} s. A worker needs "
                    f"1 CPU and {self._gpus:g} GPUs, but only {_free()} are free on the cluster. "
                    "Change --workers or --gpus-per-worker"
                )

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Apply `task` to each item, and yield each result or `Failure` as soon as it is ready."""
        call = RayCall[Item](self, cloudpickle.dumps(task), iter(items))
        try:
            yield from call.results()
        finally:
            call.abandon()

    @property
    def processes(self) -> list[int]:
        """Process IDs of the workers that have started."""
        return [worker.place.process for worker in self._ready if worker.place]

    @property
    def free_worker(self) -> Worker | None:
        """Worker with the shortest queue; None if all queues are full or no worker has started."""
        self.welcome(0)
        worker = min(self._ready, key=lambda worker: len(worker.queue), default=None)
        if worker is None or len(worker.queue) >= AHEAD:
            return None
        return worker

    def replace(self, worker: Worker) -> None:
        """Ask Ray for a new worker to replace a dead worker."""
        self._ready.remove(worker)
        self._hire()


class RayCall(Generic[Item]):
    """State of one call to `RayEngine.map`.

    Parameters
    ----------
    engine
        Engine whose workers carry out the task.
    task
        The task in pickled form. It is sent only once.
    items
        Items to which the task is applied.
    """

    def __init__(self, engine: RayEngine, task: bytes, items: Iterator[Item]) -> None:
        self._engine = engine
        self._task = task
        self._sent_task: Any = None
        self._items = items
        self._is_open = True
        self._in_flight: dict[Any, Flight[Item]] = {}
        self._lost: deque[Lost[Item]] = deque()

    def results(self) -> Iterator[tuple[Item, Any]]:
        """Yield each item with its result or with a `Failure`."""
        while self._is_open or self._in_flight or self._lost:
            self._fill()
            if not self._in_flight:
                continue
            most = min(len(self._in_flight), self._engine.workers)
            done, _ = ray.wait(list(self._in_flight), num_returns=most, timeout=WAIT)
            for reference in done:
                if reference in self._in_flight:  # if its worker died, it is already requeued
                    yield from self._outcome(reference)

    def abandon(self) -> None:
        """Cancel the submitted items that have not started yet."""
        for reference, flight in self._in_flight.items():
            with suppress(RayError, ValueError):
                flight.worker.queue.remove(reference)
                ray.cancel(reference, force=False)

    def _fill(self) -> None:
        """Give items to the workers until their queues are full."""
        while True:
            if not self._is_open and not self._lost:
                return
            worker = self._engine.free_worker
            if worker is None:
                if not self._in_flight:
                    self._engine.await_worker()
                    continue
                return
            if self._is_open:
                try:
                    item = next(self._items)
                except StopIteration:
                    self._is_open = False
                    continue
                self._send(Flight(item, cloudpickle.dumps(item), worker))
            else:
                lost = self._lost.popleft()
                self._send(Flight(lost.item, cloudpickle.dumps(lost.item), worker, lost.deaths))

    def _send(self, flight: Flight[Item], files: dict[str, bytes] | None = None) -> None:
        if self._sent_task is None:
            self._sent_task = ray.put(self._task)
        reference = flight.worker.actor.do.remote(self._sent_task, flight.sent, files)
        self._in_flight[reference] = flight
        flight.worker.queue.append(reference)

    def _outcome(self, reference: Any) -> Iterator[tuple[Item, Any]]:
        """Yield an item and its result if the worker survived and could open the item's images."""
        flight = self._in_flight[reference]
        try:
            reply = ray.get(reference)
        except RayActorError as error:
            yield from self._bury(flight.worker, error)
            return
        except RayTaskError as error:
            reply = Reply(Failure(ModelError(f"a worker failed: {_first_line(error)}")))
        del self._in_flight[reference]
        flight.worker.queue.remove(reference)
        if isinstance(reply, LackingFiles):
            self._send(flight, {path: Path(path).read_bytes() for path in reply.paths})
            return
        for sentence in reply.messages:
            report_message(sentence)
        yield flight.item, reply.output

    def _bury(self, worker: Worker, error: RayActorError) -> Iterator[tuple[Item, Failure]]:
        """Requeue a dead worker's items, but fail an item that killed too many workers.

        A worker's death is counted only for the item on which the worker was working.
        """
        self._engine.replace(worker)
        host = worker.place.host if worker.place else "an unknown machine"
        report_message(f"a worker on {host} died. Other workers generate its images")
        for place, reference in enumerate(worker.queue):
            flight = self._in_flight.pop(reference)
            deaths = flight.deaths + (1 if place == 0 else 0)
            if deaths < MOST_DEATHS:
                self._lost.append(Lost(flight.item, deaths))
            else:
                yield flight.item, Failure(ModelError(_death_sentence(flight.item, error)))


def _start_sentence(address: str | None, error: Exception) -> str:
    reason = _first_line(error)
    if address:
        return (
            f"cannot join the Ray cluster {address}: {reason}. Check the address of "
            "--engine ray://HOST:PORT or RAY_ADDRESS, and the cluster's token (RAY_AUTH_TOKEN)"
        )
    return f"Ray could not be started on this machine: {reason}. Use --engine threads instead"


def _check_place(place: WorkerPlace) -> None:
    """Raise UsageError if a worker has a different version of askew or Python."""
    here = WorkerProcess.versions()
    there = (place.python.rpartition(".")[0], place.askew)
    if there != here:
        raise UsageError(
            f"the worker on {place.host} has askew {there[1]} and Python {there[0]}, but this "
            f"machine has askew {here[1]} and Python {here[0]}. Install the same versions on all "
            "machines of the cluster"
        )


def _death_sentence(item: object, error: RayActorError) -> str:
    work = getattr(item, "label", "") or "the same item"
    return (
        f"{MOST_DEATHS} workers died while working on {work}. This happens when memory runs out. "
        "Use fewer --workers, smaller batches (-M batch_size=1), or machines with more memory. "
        f"Ray reports: {_first_line(error)}. {RESUME}"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _free() -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} CPUs, {free.get('GPU', 0):g} GPUs"


def _without_printing() -> Callable[[], None]:
    """Suppress Ray's messages on standard output, and return a function that turns them on again.

    Commands print their results to standard output, and Ray has no option to print its messages
    elsewhere.
    """
    module: Any = ray._private.worker
    original = getattr(module, "print_to_stdstream", None)
    if original is None:
        return lambda: None
    module.print_to_stdstream = lambda *arguments, **options: None

    def restore() -> None:
        module.print_to_stdstream = original

    return restore


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Ray's startup messages within this context.

    Restore the program's signal handlers when the context ends.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    numbers = [signal.SIGTERM, signal.SIGINT]
    handlers = {number: signal.getsignal(number) for number in numbers}
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        yield
    with suppress(ValueError):  # not in the main thread
        for number, handler in handlers.items():
            signal.signal(number, handler)
    sys.stderr.flush()
