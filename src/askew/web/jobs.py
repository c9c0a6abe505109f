"""Jobs, which are commands that the app starts. One job runs at a time. Other jobs wait in a queue.

Each job has a folder with its arguments, process id and output. A running job continues when the
app ends. When the app restarts, it recognizes the job by the id and the start time of its process.
The app itself loads no model.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from askew.errors import AskewError, CheckFailed, Interrupted, UsageError
from askew.findings import RESULTS_FILE
from askew.run.progress import Event
from askew.store.files import write_file
from askew.store.foreign import json_value
from askew.web.processes import ProcessIdentity, start

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

JOB_FILE = "job.json"
PROCESS_FILE = "process.json"
END_FILE = "end.json"
OUTPUT_FILE = "output.txt"
PROGRESS_FILE = "progress.jsonl"
LOCK_FILE = "queue.lock"
JOB_ID = re.compile(r"[0-9a-f]{16}")

SECONDS = 0.3
"""Time in seconds between checks of the queue."""

MOST_LOG = 2**18
"""Maximum number of bytes to read from the end of a progress or output file (256 kB)."""

JobState = Literal["queued", "running", "done", "stopped", "failed"]

ENDED = ("done", "stopped", "failed")
DONE_CODES = (0, CheckFailed.code)
"""Exit codes of jobs that have produced results."""


@dataclass(frozen=True, slots=True)
class AppJob:
    """A command that the app starts.

    Attributes
    ----------
    id
        Id of the job.
    arguments
        Arguments for `askew`.
    run
        Run folder for the results of the command.
    created
        Time in UTC at which the user requested the job.
    is_preview
        Whether the job is only a preview with a few images.
    """

    id: str
    arguments: tuple[str, ...]
    run: str
    created: str
    is_preview: bool = False


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The latest progress of a job.

    Attributes
    ----------
    stages
        Latest event of each stage, in the order of the stages.
    messages
        Latest messages, as sentences.
    """

    stages: tuple[Event, ...]
    messages: tuple[str, ...]


class Jobs:
    """Queue of jobs, which is stored in a folder.

    Parameters
    ----------
    folder
        Folder that contains a subfolder for each job.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Start the thread that processes the queue."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. A running job continues."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(5)

    def add(
        self, identity: str, arguments: Sequence[str], run: Path, *, is_preview: bool = False
    ) -> AppJob:
        """Add a job to the queue, unless the same job is already there.

        Parameters
        ----------
        identity
            Id of the job, submitted with the form.
        arguments
            Arguments for `askew`.
        run
            Run folder for the results of the command.
        is_preview
            Whether the job is only a preview with a few images.

        Returns
        -------
        AppJob
            The new job. If there is already a job with this id, or an active job with these
            arguments, that job is returned instead.
        """
        if not JOB_ID.fullmatch(identity):
            raise UsageError("the form is not complete")
        with self._lock:
            for known in self.all():
                is_active = self.state(known) not in ENDED
                same = known.arguments == tuple(arguments) and is_active
                if known.id == identity or same:
                    return known
            job = AppJob(
                id=identity,
                arguments=tuple(arguments),
                run=str(run),
                created=datetime.now(UTC).isoformat(timespec="microseconds"),
                is_preview=is_preview,
            )
            write_file(self.folder / identity / JOB_FILE, json.dumps(asdict(job)).encode())
            return job

    def all(self) -> list[AppJob]:
        """Return all jobs, most recent job first."""
        if not self.folder.is_dir():
            return []
        names = [path.name for path in self.folder.iterdir() if JOB_ID.fullmatch(path.name)]
        jobs = [job for job in map(self.find, names) if job is not None]
        return sorted(jobs, key=lambda job: job.created, reverse=True)

    def find(self, identity: str) -> AppJob | None:
        """Return the job that has this id; None if there is none."""
        content = _content(self.folder / identity / JOB_FILE)
        try:
            return AppJob(**{**content, "arguments": tuple(content["arguments"])})
        except (KeyError, TypeError):
            return None

    def state(self, job: AppJob) -> JobState:
        """Return the state of a job."""
        end = _content(self.folder / job.id / END_FILE)
        if "code" in end:
            return state_of_code(end["code"])
        process = self.process(job)
        if process is None:
            return "running" if job.id in self._children else "queued"
        if process.is_alive:
            return "running"
        return "done" if self._has_results(job) else "stopped"

    def process(self, job: AppJob) -> ProcessIdentity | None:
        """Return a job's process; None if the job has not been started."""
        content = _content(self.folder / job.id / PROCESS_FILE)
        try:
            return ProcessIdentity(pid=int(content["pid"]), started=str(content["started"]))
        except (KeyError, TypeError, ValueError):
            return None

    def interrupt(self, job: AppJob) -> None:
        """Stop a running job in the same way as Ctrl-C, or remove a waiting job from the queue."""
        with self._lock:
            state = self.state(job)
            if state == "queued":
                self._write_end(job, Interrupted.code)
            process = self.process(job)
            if state == "running" and process is not None:
                process.interrupt()

    def output(self, job: AppJob) -> str:
        """Return a job's standard output and standard error. Progress lines are left out."""
        folder = self.folder / job.id
        texts = [_tail(folder / OUTPUT_FILE)]
        lines = _tail(folder / PROGRESS_FILE).split("\n")
        texts += [line for line in lines if line and not line.startswith("{")]
        return "\n".join(filter(None, texts)).strip()

    def progress(self, job: AppJob) -> JobProgress:
        """Return the latest progress of a job."""
        stages: dict[tuple[str, str], Event] = {}
        messages: list[str] = []
        for line in _tail(self.folder / job.id / PROGRESS_FILE).split("\n"):
            event = _event(line)
            if isinstance(event, Event):
                stages[str(event.stage), event.name] = event
            elif event:
                messages.append(event)
        return JobProgress(stages=tuple(stages.values()), messages=tuple(messages[-5:]))

    def _has_results(self, job: AppJob) -> bool:
        """Check whether a job has written results since its process started."""
        try:
            written = (Path(job.run) / RESULTS_FILE).stat().st_mtime
            begun = (self.folder / job.id / PROCESS_FILE).stat().st_mtime
        except OSError:
            return False
        return written >= begun

    def _write_end(self, job: AppJob, code: int) -> None:
        write_file(self.folder / job.id / END_FILE, json.dumps({"code": code}).encode())

    def _work(self) -> None:
        """Start queued jobs, and record how jobs end. Continue until the app ends."""
        with self._queue() as is_mine:
            while not self._ended.wait(SECONDS):
                with suppress(OSError, AskewError):  # a full disk: the next look tries again
                    self._note_ends()
                    if is_mine:
                        with self._lock:
                            self._start_next()

    def _queue(self) -> "_QueueLock":
        return _QueueLock(self.folder / LOCK_FILE)

    def _note_ends(self) -> None:
        for identity, child in list(self._children.items()):
            code = child.poll()
            job = self.find(identity)
            if code is not None:
                if job is not None and code >= 0:
                    self._write_end(job, code)
                del self._children[identity]

    def _start_next(self) -> None:
        """Start the job that has been waiting longest, unless another job is running."""
        jobs = self.all()
        states = {job.id: self.state(job) for job in jobs}
        queued = [job for job in jobs if states[job.id] == "queued"]
        if not queued or "running" in states.values():
            return
        job = queued[-1]
        folder = self.folder / job.id
        child = start(job.arguments, folder / OUTPUT_FILE, folder / PROGRESS_FILE)
        self._children[job.id] = child
        identity = ProcessIdentity.of(child.pid)
        write_file(folder / PROCESS_FILE, json.dumps(asdict(identity)).encode())


class _QueueLock:
    """Lock that ensures that only one of the running apps starts jobs.

    Other running apps show the jobs, but do not start them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def __enter__(self) -> bool:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            if fcntl:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)


def state_of_code(code: object) -> JobState:
    """Convert an exit code to the state of a job that has ended."""
    if code in DONE_CODES:
        return "done"
    return "stopped" if code == Interrupted.code else "failed"


def new_identity() -> str:
    """Return a random id for a new job."""
    return secrets.token_hex(8)


def heed_interrupts() -> None:
    """Make sure that jobs can be stopped even if the app was started with Ctrl-C ignored."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _content(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty object if the file cannot be read."""
    try:
        content = json_value(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _tail(path: Path) -> str:
    """Return at most MOST_LOG bytes from the end of a file as text; empty if it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST_LOG))
        return file.read(MOST_LOG).decode("utf-8", "replace")
    return ""


def _event(line: str) -> Event | str | None:
    """Return the event or message in a progress line; None if the line contains neither."""
    try:
        content = json_value(line)
        if content.get("kind") is None:
            return str(content["message"])
        names = Event.__dataclass_fields__
        return Event(**{name: content[name] for name in names if name in content})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def active(jobs: Jobs) -> Iterator[AppJob]:
    """Yield all jobs that are waiting or running."""
    for job in jobs.all():
        if jobs.state(job) not in ENDED:
            yield job
