"""A run's log: what happened when, a JSON object a line, each with a level."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from askew.errors import UsageError
from askew.run.progress import Event, Progress

LEVELS = {"started": "info", "batch": "debug", "finished": "info", "stopped": "warning"}
"""By kind of event. Log files hold no settings and no environment, so no keys."""


@dataclass(slots=True)
class Log:
    """Notes what happens; nothing where there is no file, or where it cannot be written any more."""

    file: TextIO | None

    @classmethod
    @contextmanager
    def opened(cls, path: str | Path | None) -> Iterator[Log]:
        """A log that goes on with a file. Raises UsageError for one that cannot be opened."""
        if path is None:
            yield cls(None)
            return
        try:
            file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115, its errors alone are the user's
        except OSError as error:
            raise UsageError(f"cannot write the log {path}: {error.strerror}") from error
        with file:
            yield cls(file)

    def note(self, level: str, message: str, **more: object) -> None:
        """Write one line."""
        if self.file is not None:
            time = datetime.now(UTC).isoformat(timespec="milliseconds")
            with suppress(OSError):
                print(
                    json.dumps({"time": time, "level": level, "message": message, **more}), file=self.file, flush=True
                )

    def beside(self, tell: Progress) -> Progress:
        """Progress that is told and noted."""

        def both(event: Event) -> None:
            self.note(LEVELS[event.kind], f"{event.kind} {event.stage}", **asdict(event))
            tell(event)

        return both
