"""Execution of a stage. An engine carries out the parts of the stage.

Several processes can use the same store. A process locks each part while it works on the part, and
stores the result before it releases the lock. If another process has locked a part, the part is
postponed until all other parts are done. No process that holds locks waits for another process, so
deadlocks cannot occur.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from threading import Event as Flag
from typing import Any, Generic, Protocol, TypeVar

from askew.engine.base import Engine, Failure
from askew.errors import RESUME, AskewError, Interrupted
from askew.models.base import progress_listener
from askew.run.budget import Budget
from askew.run.progress import LABELS, Event, Stage, deliver
from askew.store.locks import remedy
from askew.store.store import Store

WAIT = 0.2
"""Seconds between attempts to lock a part that another process has locked."""

PATIENCE = 5.0
"""Seconds of waiting after which a run reports the processes that it is waiting for."""

Part = TypeVar("Part")
Content = TypeVar("Content")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Job(Generic[Content]):
    """An item for an engine.

    Attributes
    ----------
    number
        Position of the item in its call, starting at 0. This number identifies the item's result.
    content
        Argument of the task.
    label
        Description of the work for error messages.
    """

    number: int
    content: Content
    label: str = ""


def work_on(task: Callable[[Content], Output], job: Job[Content]) -> Output:
    """Carry out a job, and return the result."""
    return task(job.content)


class Parts(Protocol[Part]):
    """The parts of one kind of work."""

    @property
    def parts(self) -> Sequence[Part]:
        """The parts whose results the store does not contain."""

    @property
    def task(self) -> Callable[[Any], Any]:
        """Function that computes a result from an item.

        The function can be sent to another process.
        """

    def lock_names(self, part: Part) -> tuple[str, ...]:
        """Return names that identify the part in all processes that use the store."""

    def size(self, part: Part) -> int:
        """Return the number of images that the part completes."""

    def is_complete(self, part: Part) -> bool:
        """Use the part's results if another process has already stored them.

        Return whether this is so.
        """

    def item(self, part: Part) -> Any:
        """Return the argument that the task needs for this part."""

    def label(self, part: Part) -> str:
        """Describe the part's work for error messages."""

    def save(self, part: Part, result: Any) -> None:
        """Store the result of the task."""


@dataclass(slots=True)
class PartInFlight(Generic[Part]):
    """A locked part that an engine works on.

    Attributes
    ----------
    size
        Number of images that the part completes.
    lock
        Exit stack that releases the lock when the stack is closed.
    begun
        Monotonic clock time at which the engine started the part.
    reported
        Number of the part's images that are already counted as done.
    """

    part: Part
    size: int
    lock: ExitStack
    begun: float
    reported: int = 0


@dataclass(slots=True)
class Dispatcher:
    """Dispatcher that passes parts to an engine, and stores the results as they arrive.

    Attributes
    ----------
    store
        Store that also provides the locks.
    engine
        Engine that carries out the parts.
    budget
        The budget. No part is started after the budget is used up.
    stop
        Flag that ends the work. No part is started after the flag is set.
    stage
        Progress stage in which finished images are counted.
    shows_calls
        If True, each part is a call to a server, and the progress display shows how many calls are
        in progress.
    """

    store: Store
    engine: Engine
    budget: Budget
    stop: Flag
    stage: Stage
    shows_calls: bool = False

    def carry_out(self, work: Parts[Part]) -> None:
        """Carry out all parts.

        Raises
        ------
        Interrupted
            If the stop flag is set. Parts in flight are stored.
        RunError
            If the time limit of the budget is used up. Parts in flight are stored.
        """
        left = list(work.parts)
        wait = Wait()
        while left:
            busy = Pass(self, work, left).run()
            if len(busy) < len(left):
                wait = Wait()
            else:
                self._report_wait(wait, work.lock_names(busy[0]))
                time.sleep(WAIT)
            left = busy

    def _report_wait(self, wait: "Wait", names: tuple[str, ...]) -> None:
        """Report which process this run is waiting for. Each process is reported only once."""
        seconds = time.monotonic() - wait.begun
        process = self.store.holder(*names)
        if seconds < PATIENCE or process in wait.reported:
            return
        wait.reported.add(process)
        deliver(Event("message", note=wait_sentence(process, seconds)), self.stage.progress)


@dataclass(slots=True)
class Wait:
    """A period during which other processes have locked all remaining parts.

    Attributes
    ----------
    begun
        Monotonic clock time at which the period began.
    reported
        Ids of the processes that have been reported to the user. None stands for an unknown
        process.
    """

    begun: float = field(default_factory=time.monotonic)
    reported: set[int | None] = field(default_factory=set)


class Pass(Generic[Part]):
    """One pass over the remaining parts."""

    def __init__(self, dispatcher: Dispatcher, work: Parts[Part], parts: Sequence[Part]) -> None:
        self._context = dispatcher
        self._work = work
        self._parts = parts
        self._in_flight = dict[int, PartInFlight[Part]]()
        self._most_calls = 0
        self._busy: list[Part] = []
        self._ended = False
        self._failure: BaseException | None = None

    def run(self) -> list[Part]:
        """Carry out the parts that no other process has locked. Return the locked parts."""
        task = partial(work_on, self._work.task)
        results = self._context.engine.map(task, self._jobs())
        try:
            with closing(results), progress_listener(self._report):
                for job, result in results:
                    self._take(job.number, result)
        except BaseException:
            reported = sum(flight.reported for flight in self._in_flight.values())
            self._context.stage.advance(-reported)
            raise
        finally:
            for flight in self._in_flight.values():
                flight.lock.close()
        if self._failure is not None:
            raise self._failure
        if self._ended:
            raise self._reason()
        return self._busy

    def _jobs(self) -> Iterator[Job[Any]]:
        """Whenever the engine requests an item, lock the next part, and yield this part's item."""
        for number, part in enumerate(self._parts):
            with ExitStack() as lock:
                names = self._work.lock_names(part)
                is_mine = lock.enter_context(self._context.store.turn(*names))
                self._ended = self._must_end(is_mine)
                if self._ended:
                    return
                if not is_mine:
                    self._busy.append(part)
                    continue
                size = self._work.size(part)
                if self._work.is_complete(part):
                    self._context.stage.advance(size)
                    continue
                flight = PartInFlight(part, size, lock.pop_all(), time.monotonic())
            self._in_flight[number] = flight
            self._note_calls()
            yield Job(number, self._work.item(part), self._work.label(part))

    def _note_calls(self) -> None:
        """Update the number of calls in progress. A new maximum is reported immediately."""
        if not self._context.shows_calls:
            return
        calls = len(self._in_flight)
        stage = self._context.stage
        noun = "call" if calls == 1 else "calls"
        stage.note = f"{calls} {noun} in progress" if calls else None
        if calls > self._most_calls:
            self._most_calls = calls
            stage.tell("batch")

    def _must_end(self, is_mine: bool) -> bool:
        exhausted = is_mine and self._context.budget.is_exhausted()
        return exhausted or self._context.stop.is_set() or self._failure is not None

    def _reason(self) -> AskewError:
        if self._context.stop.is_set():
            return interruption(self._context.stage)
        return self._context.budget.error()

    def _report(self, count: int) -> None:
        """When a model reports a finished image, count it toward the oldest running part."""
        for flight in list(self._in_flight.values())[:1]:
            count = min(count, flight.size - flight.reported)
            flight.reported += count
            self._context.stage.advance(count)

    def _take(self, number: int, result: Any) -> None:
        """Store a result, or keep an error if no earlier part has failed."""
        if isinstance(result, Failure):
            flight = self._in_flight.pop(number)
            flight.lock.close()
            self._context.stage.advance(-flight.reported)
            self._failure = self._failure or result.error
        else:
            self._finish(number, result)

    def _finish(self, number: int, result: Any) -> None:
        flight = self._in_flight[number]
        self._work.save(flight.part, result)
        del self._in_flight[number]
        self._note_calls()
        with flight.lock:
            self._context.stage.advance(flight.size - flight.reported)
        self._context.budget.finish_part(flight.begun)


def wait_sentence(process: int | None, seconds: float) -> str:
    """Return a sentence that states which process a run is waiting for, and what the user can do.

    Parameters
    ----------
    process
        Id of the process; None if it is unknown.
    seconds
        Waiting time so far, in seconds.
    """
    waited = f"waiting for {seconds:.0f} s: "
    if process is None:
        return (
            f"{waited}another process is working on the same images. If that process hangs, end it, "
            "and this command will do its work"
        )
    if process == os.getpid():
        return f"{waited}another run of this process is working on the same images"
    end = remedy(process, "this command does its work")
    return f"{waited}process {process} is working on the same images{end}"


def interruption(stage: Stage) -> Interrupted:
    """Return the error to raise if a person or a program has stopped a stage."""
    label = LABELS[stage.stage]
    activity = f"{label[0].lower()}{label[1:]} ({stage.name})"
    done = f"{stage.done} of {stage.total} images are done"
    return Interrupted(f"stopped while {activity}: {done}. {RESUME}")
