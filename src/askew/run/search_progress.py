"""How far a search for prompts is: one line on a terminal that keeps changing, one JSON line per prompt elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from askew.run.progress import Event, lasting

SCORING = "scoring"
"""The stage after all searches: the best prompts on fresh seeds, beside their variations."""

SHOWN = 48
"""Characters of the best prompt that a terminal shows."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search after one more prompt. `pictures` were made by this process, `eta` is in seconds."""

    search: str
    run: int
    runs: int
    iteration: int
    iterations: int
    done: int
    total: int
    pictures: int
    best: float | None
    prompt: str | None
    eta: float | None


Show = Callable[[SearchState], None]


def silent(state: SearchState) -> None:
    """Says nothing."""


@dataclass(slots=True)
class JsonLines:
    """One JSON object per prompt and line, and per batch of pictures after the searches."""

    stream: TextIO

    def __call__(self, state: SearchState) -> None:
        """Write one line."""
        kind = SCORING if state.search == SCORING else "prompt"
        print(json.dumps({"kind": kind, **asdict(state)}), file=self.stream, flush=True)


@dataclass(slots=True)
class Terminal:
    """A bar over all prompts, and below it the best one so far."""

    stream: TextIO
    _bars: Progress | None = field(default=None, init=False)
    _task: TaskID = field(default=TaskID(0), init=False)

    def __call__(self, state: SearchState) -> None:
        """Draw."""
        if self._bars is None:
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(),
                       TextColumn("{task.fields[pictures]}"), TimeRemainingColumn(compact=True),
                       TextColumn("\n  {task.fields[best]}"))  # fmt: skip
            self._bars = Progress(*columns, console=Console(file=self.stream))
            self._task = self._bars.add_task("", total=state.total, pictures="", best="")
            self._bars.start()
        run = f"run {state.run + 1}/{state.runs}, " if state.runs > 1 else ""
        place = f"{state.search}: {run}iteration {state.iteration + 1}/{state.iterations}"
        self._bars.update(
            self._task,
            completed=state.done,
            description="scoring on fresh seeds" if state.search == SCORING else place,
            pictures=f"{state.pictures:,} pictures",
            best="" if state.best is None else f"best {state.best:.4f}  {(state.prompt or '')[:SHOWN]}",
        )

    def stop(self) -> None:
        """Leave the terminal as it is."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


def choose(stream: TextIO | None = None) -> Show:
    """A bar if `stream` (default: standard error) is a terminal, JSON lines if not."""
    stream = lasting(stream)
    return Terminal(stream) if stream.isatty() else JsonLines(stream)


@dataclass(slots=True)
class SearchMeter:
    """Counts prompts and pictures of all searches of a run, and shows them.

    It is what a run tells its progress to, too: of that only the number of pictures is kept.
    """

    show: Show
    runs: int
    iterations: int
    total: int
    pictures: int = 0
    _done: int = field(default=0, init=False)
    _scored: SearchState | None = field(default=None, init=False)
    _stage_done: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)

    def __call__(self, event: Event) -> None:
        """Take note of pictures that were made."""
        if event.stage == "pictures":
            self.pictures += event.done - self._stage_done if event.kind == "batch" else 0
            self._stage_done = event.done
            if self._scored:
                self.show(replace(self._scored, pictures=self.pictures))

    def scoring(self) -> None:
        """The searches are over: from now on the pictures alone tell how far it is."""
        self._scored = SearchState(SCORING, self.runs - 1, self.runs, self.iterations - 1, self.iterations, self._done,
                                   self.total, self.pictures, None, None, None)  # fmt: skip
        self.show(self._scored)

    def evaluated(self, search: str, run: int, iteration: int, best: float | None, prompt: str | None) -> None:
        """One more prompt has its loss; `best` and `prompt` are the best of this search so far."""
        self._done = min(self._done + 1, self.total)
        eta = (time.monotonic() - self._begun) / self._done * (self.total - self._done)
        self.show(
            SearchState(search, run, self.runs, iteration, self.iterations, self._done, self.total, self.pictures, best,
                        prompt, round(eta, 1))
        )  # fmt: skip

    def stop(self) -> None:
        """Leave the terminal as it is, also when the search ends early."""
        if isinstance(self.show, Terminal):
            self.show.stop()
