"""Progress of a run, shown as bars on a terminal or written as JSON with one line per event."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from askew.console import NeutralConsole, write
from askew.errors import UsageError

Kind = Literal["started", "batch", "finished", "stopped", "message"]
StageName = Literal[
    "pictures", "files", "answers", "vectors", "errors", "prompts", "tokens", "packs"
]

LABELS: dict[StageName, str] = {
    "pictures": "Generating images",
    "files": "Importing images",
    "answers": "Asking questions",
    "vectors": "Embedding images",
    "errors": "Predicting noise",
    "prompts": "Searching prompts",
    "tokens": "Learning tokens",
    "packs": "Making slices",
}
LOG_LEVELS: dict[Kind, str] = {
    "started": "info",
    "batch": "debug",
    "finished": "info",
    "stopped": "warning",
    "message": "info",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Event that reports a step of a stage, or a message.

    Attributes
    ----------
    kind
        "started", "batch", "finished" or "stopped" for a stage; "message" if `note` contains a
        message.
    stage
        The stage; None for a message.
    name
        Name of the model or instrument at work.
    done, total
        Number of finished images, and total number of images. A search counts prompts instead.
        Images that were already stored count as done.
    rate
        Images per second. Images that were already stored are not counted.
    eta
        Expected time in seconds until the stage is finished.
    note
        Text to display with the event, such as the best prompt so far.
    """

    kind: Kind
    stage: StageName | None = None
    name: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None
    eta: float | None = None
    note: str | None = None


Progress = Callable[[Event], None]
"""Function that receives events.

Runs call this function from their own thread, so it should return quickly.
"""


def silent(event: Event) -> None:
    """Ignore an event."""


@dataclass(slots=True)
class JsonLines:
    """Receiver that writes each event as a line of JSON.

    If there is no stream, or the stream is closed, nothing is written.
    """

    stream: TextIO | None

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if event.kind == "message":
            self.write("info", event.note or "")
        else:
            self.write(LOG_LEVELS[event.kind], f"{event.kind} {event.stage}", **asdict(event))

    def write(self, level: str, message: str, **details: object) -> None:
        """Write a line that contains the current time, a level, a message and details."""
        if self.stream is None:
            return
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": level,
            "message": message,
            **details,
        }
        with suppress(OSError, ValueError):
            print(json.dumps(line), file=self.stream, flush=True)


@contextmanager
def opened_log(path: str | Path | None) -> Iterator[JsonLines]:
    """Open a log file for appending; open nothing if `path` is None.

    Raises
    ------
    UsageError
        If the file cannot be opened.
    """
    try:
        file = nullcontext() if path is None else Path(path).open("a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"cannot write the log {path} (--log): {error.strerror}") from error
    with file as stream:
        yield JsonLines(stream)


class BarsWithNote(Bars):
    """Progress bars, with the `note` as a line of text below them."""

    note = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the bars, and then the note if there is one."""
        yield from super().get_renderables()
        if self.note:
            yield Text(f"  {self.note}", no_wrap=True, overflow="ellipsis")


@dataclass(slots=True)
class Terminal:
    """Receiver that draws a bar for each stage. The bar remains visible when its stage is done."""

    stream: TextIO
    _bars: BarsWithNote | None = field(default=None, init=False)
    _task: TaskID = field(default=TaskID(0), init=False)

    def __call__(self, event: Event) -> None:
        """Draw an event."""
        if event.kind == "message":
            write(f"{event.note or ''}\n", self.stream)
            return
        if event.kind == "started":
            self._start(event)
        if self._bars is None:
            return
        rate = "" if event.rate is None else f"{event.rate:.1f}/s"
        self._bars.note = event.note or ""
        self._bars.update(self._task, completed=event.done, rate=rate)
        if event.kind in ("finished", "stopped"):
            self._bars.stop()
            self._bars = None

    def _start(self, event: Event) -> None:
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
        ]
        label = LABELS[event.stage] if event.stage else ""
        self._bars = BarsWithNote(*columns, console=NeutralConsole(file=self.stream))
        self._task = self._bars.add_task(f"{label}: {event.name}", total=event.total, rate="")
        self._bars.start()


def choose(stream: TextIO | None = None) -> Progress:
    """Return a receiver that suits a stream: bars for a terminal, JSON lines for other streams.

    The default stream is standard error. If the stream is closed, the receiver ignores all events.
    """
    target: TextIO | None = stream or sys.stderr
    if target is None or target.closed:
        return silent
    return Terminal(target) if target.isatty() else JsonLines(target)


def deliver(event: Event, progress: Progress) -> None:
    """Send an event to a receiver.

    Failures of the receiver, such as a closed pipe, are ignored.
    """
    with suppress(OSError, ValueError):
        progress(event)


@dataclass(slots=True)
class Stage:
    """Counter that reports how many of a stage's images are done.

    Attributes
    ----------
    progress
        Function that receives the events.
    stage, name, done, total, note
        As in `Event`.
    completed
        Number of images completed in this stage. Images that were stored before the stage began are
        not counted.
    """

    progress: Progress
    stage: StageName
    name: str
    done: int
    total: int
    note: str | None = None
    completed: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)

    def tell(self, kind: Kind) -> None:
        """Send an event of this kind with the current counts."""
        elapsed = time.monotonic() - self._begun
        rate = None
        eta = None
        if self.completed and elapsed > 0:
            rate = self.completed / elapsed
            eta = round((self.total - self.done) / rate, 3)
            rate = round(rate, 3)
        event = Event(
            kind=kind,
            stage=self.stage,
            name=self.name,
            done=self.done,
            total=self.total,
            rate=rate,
            eta=eta,
            note=self.note,
        )
        deliver(event, self.progress)

    def advance(self, count: int) -> None:
        """Add `count` to the number of finished images, and report the new number.

        If `count` is negative, the new number is reported only with the next event.
        """
        self.done += count
        self.completed += count
        if count > 0:
            self.tell("batch")


@contextmanager
def stage(
    progress: Progress, name: StageName, worker: str, done: int, total: int
) -> Iterator[Stage]:
    """Report when a stage starts and ends.

    The last event is "stopped" if an exception ends the stage; otherwise, the last event is
    "finished". A stage with nothing to do is not reported.
    """
    current = Stage(progress if done < total else silent, name, worker, done, total)
    current.tell("started")
    try:
        yield current
    except BaseException:
        current.tell("stopped")
        raise
    current.tell("finished")
