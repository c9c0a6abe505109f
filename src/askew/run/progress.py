"""How far a run is: bars on a terminal, one JSON line per event elsewhere and in a log."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from askew.console import NeutralConsole
from askew.errors import UsageError

Kind = Literal["started", "batch", "finished", "stopped"]
StageName = Literal["pictures", "files", "answers", "vectors", "errors", "prompts", "tokens"]

LABELS: dict[StageName, str] = {
    "pictures": "Making pictures",
    "files": "Reading pictures",
    "answers": "Asking",
    "vectors": "Embedding",
    "errors": "Finding noise",
    "prompts": "Searching",
    "tokens": "Learning tokens",
}
LEVELS: dict[Kind, str] = {
    "started": "info",
    "batch": "debug",
    "finished": "info",
    "stopped": "warning",
}


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a stage. `done` and `total` count pictures, `rate` is pictures per second, `eta`
    seconds left.

    `name` is the model or instrument at work. What the store held counts as done, but not for the
    rate. In a search they count prompts, and `note` says what was found.
    """

    kind: Kind
    stage: StageName
    name: str
    done: int
    total: int
    rate: float | None = None
    eta: float | None = None
    note: str | None = None


Progress = Callable[[Event], None]


def silent(event: Event) -> None:
    """Says nothing."""


@dataclass(slots=True)
class JsonLines:
    """Writes what happens when, a JSON object a line without settings or keys; drops it where no
    stream takes it.
    """

    stream: TextIO | None

    def __call__(self, event: Event) -> None:
        """Write an event."""
        self.note(LEVELS[event.kind], f"{event.kind} {event.stage}", **asdict(event))

    def note(self, level: str, message: str, **more: object) -> None:
        """Write a line."""
        if self.stream is not None:
            told = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "level": level,
                "message": message,
            }
            with suppress(OSError, ValueError):
                print(json.dumps({**told, **more}), file=self.stream, flush=True)


@contextmanager
def opened_log(path: str | Path | None) -> Iterator[JsonLines]:
    """Lines that are added to a file, if there is a path. Raises UsageError for one that cannot be
    opened.
    """
    try:
        file = nullcontext() if path is None else Path(path).open("a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"cannot write the log {path}: {error.strerror}") from error
    with file as stream:
        yield JsonLines(stream)


class BarsWithNote(Bars):
    """Bars above a line of text, the `note`."""

    note = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bars, and the text if there is one."""
        yield from super().get_renderables()
        if self.note:
            yield Text(f"  {self.note}", no_wrap=True, overflow="ellipsis")


@dataclass(slots=True)
class Terminal:
    """A bar per stage; it stays, filled, when the stage is done."""

    stream: TextIO
    _bars: BarsWithNote | None = field(default=None, init=False)
    _task: TaskID = field(default=TaskID(0), init=False)

    def __call__(self, event: Event) -> None:
        """Draw."""
        if event.kind == "started":
            columns: list[Any] = [
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
            ]
            columns += [TextColumn("{task.fields[rate]}"), TimeRemainingColumn(compact=True)]
            self._bars = BarsWithNote(*columns, console=NeutralConsole(file=self.stream))
            self._task = self._bars.add_task(
                f"{LABELS[event.stage]}: {event.name}", total=event.total, rate=""
            )
            self._bars.start()
        if self._bars is None:
            return
        rate = "" if event.rate is None else f"{event.rate:.1f}/s"
        self._bars.note = event.note or ""
        self._bars.update(self._task, completed=event.done, rate=rate)
        if event.kind in ("finished", "stopped"):
            self._bars.stop()
            self._bars = None


def choose(stream: TextIO | None = None) -> Progress:
    """Bars if `stream` (default: standard error) is a terminal, JSON lines if not; nothing where it
    is closed.
    """
    told: TextIO | None = stream or sys.stderr
    if told is None or told.closed:
        return silent
    return Terminal(told) if told.isatty() else JsonLines(told)


@dataclass(slots=True)
class Stage:
    """Counts one stage and tells `progress` about it, with a `note` if any; `made` is what was done
    of it here.
    """

    progress: Progress
    stage: StageName
    name: str
    done: int
    total: int
    note: str | None = None
    made: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)

    def tell(self, kind: Kind) -> None:
        """Send an event of this kind with the present counts."""
        elapsed = time.monotonic() - self._begun
        rate = self.made / elapsed if self.made and elapsed > 0 else None
        eta = (self.total - self.done) / rate if rate else None
        rate, eta = (None if x is None else round(x, 3) for x in (rate, eta))
        with suppress(
            OSError, ValueError
        ):  # its reader has gone, or the disk is full: the run goes on
            self.progress(
                Event(kind, self.stage, self.name, self.done, self.total, rate, eta, self.note)
            )

    def advance(self, count: int) -> None:
        """`count` more pictures are done; below 0, so many that counted as done are not, as the
        next event says.
        """
        self.done += count
        self.made += count
        if count > 0:
            self.tell("batch")


@contextmanager
def stage(progress: Progress, name: StageName, who: str, done: int, total: int) -> Iterator[Stage]:
    """A stage from "started" to "finished", or to "stopped" when an exception ends it. Silent with
    nothing to do.
    """
    current = Stage(progress if done < total else silent, name, who, done, total)
    current.tell("started")
    try:
        yield current
    except BaseException:
        current.tell("stopped")
        raise
    current.tell("finished")
