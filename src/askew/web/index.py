"""Index of the web app: an SQLite file with metadata about run folders and their images.

The index contains only information from the run folders, so it can be deleted without loss. askew
reads a run again if the modification time or the size of one of its files has changed.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE
from askew.method import load
from askew.pages.skeleton import identity
from askew.pages.words import clean
from askew.plan import PLAN_FILE, plan_head
from askew.run.folder import HASH_FILE, run_files
from askew.store.files import SUMS_FILE, sha256
from askew.store.index import write_transaction
from askew.store.rows import is_image_id
from askew.studies.labeled_sets import AnyResult

T = TypeVar("T")

SCHEMA = 2
INDEX_FILE = "web.sqlite"
ID_DIGITS = 16
STAMPED = (PLAN_FILE, HASH_FILE, RESULTS_FILE, SUMS_FILE)
"""Files whose modification times and sizes are checked to determine whether a run has changed."""

TABLES = """
CREATE TABLE runs (id TEXT PRIMARY KEY, folder TEXT NOT NULL, stamp TEXT NOT NULL,
  state TEXT NOT NULL, method TEXT NOT NULL, model TEXT NOT NULL, prompts TEXT NOT NULL,
  headline TEXT NOT NULL, fault TEXT NOT NULL, images INTEGER NOT NULL, size INTEGER NOT NULL,
  changed REAL NOT NULL);
CREATE TABLE images (id BLOB NOT NULL, run TEXT NOT NULL, PRIMARY KEY (id, run)) WITHOUT ROWID;
CREATE INDEX images_by_run ON images (run);
"""

State = Literal["done", "unfinished", "damaged", "unread"]
"""State of a run folder. A run is `unread` until its results are in the index."""

ORDERS = {
    "changed": "changed DESC",
    "name": "folder",
    "method": "method, folder",
    "model": "model, folder",
    "images": "images DESC",
    "size": "size DESC",
    "state": "state, folder",
}
"""SQL clause for each sort order of the list of runs."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about a run folder.

    Attributes
    ----------
    id
        Id of the folder, used in the app's addresses.
    folder
        The run folder.
    state
        State of the run.
    method, model
        Names of the method and the model.
    prompts
        Prompts of the run, one per line.
    headline
        Headline of the run's report; empty if there is no report.
    fault
        Reason why the run cannot be displayed; empty if it can be displayed.
    images
        Number of images in the run's results.
    size
        Total size of the run's files in bytes.
    changed
        Unix time in seconds of the last change.
    """

    id: str
    folder: Path
    state: State
    method: str
    model: str
    prompts: str
    headline: str
    fault: str
    images: int
    size: int
    changed: float


class RunIndex:
    """Index of all runs in the given folders.

    Parameters
    ----------
    roots
        Run folders, or folders that contain run folders.
    file
        File of the index; None for an index in memory.
    """

    def __init__(self, roots: Sequence[Path], file: Path | None) -> None:
        self.roots = tuple(root.absolute() for root in roots)
        self._lock = threading.RLock()
        self._connection = _opened(file)

    def close(self) -> None:
        """Close the index."""
        self._connection.close()

    def scan(self) -> list[Path]:
        """Detect new, changed and removed run folders.

        Return the run folders that have not been read yet.
        """
        return self.write(self._scan)

    def _scan(self) -> list[Path]:
        known = dict(self._connection.execute("SELECT folder, stamp FROM runs"))
        present = {str(folder): stamp_of(folder) for folder in self.folders()}
        for folder in known.keys() - present.keys():
            self._remove(run_id(Path(folder)))
        changed = [folder for folder, stamp in present.items() if known.get(folder) != stamp]
        for folder in changed:
            self.put(_unread(Path(folder)), present[folder], ())
        rows = self._connection.execute("SELECT folder FROM runs WHERE state = 'unread'")
        return [Path(folder) for (folder,) in rows]

    def read(self, folder: Path) -> RunFacts:
        """Read a run folder's results into the index, and return the run's metadata."""
        stamp = stamp_of(folder)
        facts, images = read_run(folder)
        self.write(lambda: self.put(facts, stamp, images))
        return facts

    def folders(self) -> Iterator[Path]:
        """Yield all run folders."""
        for root in self.roots:
            if _is_run(root):
                yield root
            elif root.is_dir():
                yield from (child for child in sorted(root.iterdir()) if _is_run(child))

    def runs(self, words: str = "", order: str = "changed") -> list[RunFacts]:
        """Return the metadata of all runs that match a search.

        Parameters
        ----------
        words
            Words to search for, separated by spaces. A run matches if its folder, command, model,
            prompts, headline and state together contain all words.
        order
            Key of `ORDERS`.
        """
        conditions = []
        values = []
        for word in words.lower().split():
            conditions.append(
                "instr(lower(folder || ' ' || method || ' ' || model || ' ' || prompts || ' ' || "
                "headline || ' ' || state), ?) > 0"
            )
            values.append(word)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"SELECT {_COLUMNS} FROM runs {where} ORDER BY {ORDERS[order]}"
        with self._lock:
            return [_facts(row) for row in self._connection.execute(query, values)]

    def run(self, identity: str) -> RunFacts | None:
        """Return the metadata of the run that has this id; None if it does not exist."""
        query = f"SELECT {_COLUMNS} FROM runs WHERE id = ?"
        with self._lock:
            row = self._connection.execute(query, (identity,)).fetchone()
        return None if row is None else _facts(row)

    def folders_of_image(self, image: str) -> list[Path]:
        """Return the folders of all runs that contain an image; empty if the id is not valid."""
        if not is_image_id(image):
            return []
        query = "SELECT folder FROM runs JOIN images ON runs.id = run WHERE images.id = ?"
        with self._lock:
            rows = self._connection.execute(query, (bytes.fromhex(image),)).fetchall()
        return [Path(folder) for (folder,) in rows]

    def images_of_run(self, identity: str) -> list[str]:
        """Return the ids of all images in a run."""
        query = "SELECT id FROM images WHERE run = ?"
        with self._lock:
            return [row[0].hex() for row in self._connection.execute(query, (identity,))]

    def shared_images(self, identity: str) -> int:
        """Return the number of images in a run that also occur in other runs."""
        query = (
            "SELECT count(*) FROM images AS own WHERE own.run = ? AND EXISTS "
            "(SELECT 1 FROM images AS other WHERE other.id = own.id AND other.run != own.run)"
        )
        with self._lock:
            (count,) = self._connection.execute(query, (identity,)).fetchone()
        return int(count)

    def put(self, facts: RunFacts, stamp: str, images: Sequence[str]) -> None:
        """Write a run's metadata and the ids of its images.

        Call this method only in functions that are passed to `write`.
        """
        self._remove(facts.id)
        values = (
            facts.id,
            str(facts.folder),
            stamp,
            facts.state,
            clean(facts.method),
            clean(facts.model),
            clean(facts.prompts),
            clean(facts.headline),
            clean(facts.fault),
            facts.images,
            facts.size,
            facts.changed,
        )
        marks = ", ".join("?" * len(values))
        self._connection.execute(f"INSERT INTO runs VALUES ({marks})", values)
        rows = ((bytes.fromhex(image), facts.id) for image in images)
        self._connection.executemany("INSERT OR IGNORE INTO images VALUES (?, ?)", rows)

    def _remove(self, identity: str) -> None:
        self._connection.execute("DELETE FROM runs WHERE id = ?", (identity,))
        self._connection.execute("DELETE FROM images WHERE run = ?", (identity,))

    def write(self, change: Callable[[], T]) -> T:
        """Apply a change to the index in a transaction, and return the result of the change.

        If the index file cannot be written, for example because the disk is full, the app continues
        with an index in memory.
        """
        with self._lock:
            try:
                with write_transaction(self._connection):
                    return change()
            except sqlite3.OperationalError:
                self._connection = _copy_in_memory(self._connection)
                with write_transaction(self._connection):
                    return change()


_COLUMNS = "id, folder, state, method, model, prompts, headline, fault, images, size, changed"


def _facts(row: Sequence[object]) -> RunFacts:
    identity, folder, *others = row
    return RunFacts(str(identity), Path(str(folder)), *others)  # type: ignore[arg-type]


def run_id(folder: Path) -> str:
    """Return the id of a run folder in addresses: the beginning of a hash of its path."""
    return sha256(str(folder.absolute()).encode("utf-8", "surrogateescape"))[:ID_DIGITS]


def stamp_of(folder: Path) -> str:
    """Return the modification times and sizes of a run folder's main files as text."""
    parts = []
    for name in STAMPED:
        try:
            status = (folder / name).lstat()
            parts.append(f"{status.st_mtime_ns}:{status.st_size}")
        except OSError:
            parts.append("")
    return " ".join(parts)


def read_run(folder: Path) -> tuple[RunFacts, list[str]]:
    """Read a run folder, and return its metadata and the ids of the images in its results."""
    facts = _unread(folder)
    if facts.state != "unread":
        return facts, []
    try:
        result = load(folder)
        headline = result.page.answer
    except (AskewError, OSError) as error:
        return _damaged(facts, str(error)), []
    except Exception as error:  # results of another person can break the page of a method
        return _damaged(facts, f"the results cannot be shown ({type(error).__name__})"), []
    return _finished(facts, result, headline), images_of(result)


def images_of(result: AnyResult) -> list[str]:
    """Return the ids of all images in a run's results, without duplicates."""
    names = (name for image_set in result.findings.sets for name in image_set.pictures)
    return list(dict.fromkeys(name for name in names if name is not None and is_image_id(name)))


def _finished(facts: RunFacts, result: AnyResult, headline: str) -> RunFacts:
    prompts = dict.fromkeys(image_set.prompt for image_set in result.findings.sets)
    return RunFacts(
        id=facts.id,
        folder=facts.folder,
        state="done",
        method=facts.method,
        model=_models(result),
        prompts="\n".join(prompts),
        headline=headline,
        fault="",
        images=len(images_of(result)),
        size=facts.size,
        changed=facts.changed,
    )


def _models(result: AnyResult) -> str:
    """Return a run's model with its settings, or the names of all models in a ranking."""
    names = [model.name for model in getattr(result.findings, "models", ())]
    return ", ".join(names) if len(names) > 1 else identity(result.findings.model)


def _damaged(facts: RunFacts, fault: str) -> RunFacts:
    return RunFacts(
        id=facts.id,
        folder=facts.folder,
        state="damaged",
        method=facts.method,
        model=facts.model,
        prompts=facts.prompts,
        headline="",
        fault=fault,
        images=0,
        size=facts.size,
        changed=facts.changed,
    )


def _unread(folder: Path) -> RunFacts:
    """Return the metadata of a run folder that can be collected without reading its results."""
    head: dict[str, object] = {}
    fault = ""
    try:
        head = plan_head(folder / PLAN_FILE)
    except UsageError as error:
        fault = str(error)
    state: State = "unread" if (folder / RESULTS_FILE).exists() else "unfinished"
    size, changed = _size_and_time(folder)
    return RunFacts(
        id=run_id(folder),
        folder=folder,
        state="damaged" if fault else state,
        method=str(head.get("method", "audit"))[:40],
        model=str(head.get("model", ""))[:160],
        prompts="",
        headline="",
        fault=fault,
        images=0,
        size=size,
        changed=changed,
    )


def _size_and_time(folder: Path) -> tuple[int, float]:
    """Return the total size of a run's files in bytes, and the time of the last change."""
    try:
        statuses = [file.lstat() for file in run_files(folder)]
    except OSError:
        return 0, 0.0
    size = sum(status.st_size for status in statuses)
    return size, max((status.st_mtime for status in statuses), default=0.0)


def _is_run(folder: Path) -> bool:
    """Check that a folder contains a plan, is not a link, and has a valid Unicode path."""
    try:
        str(folder).encode()
        return not folder.is_symlink() and (folder / PLAN_FILE).exists()
    except (OSError, UnicodeEncodeError):
        return False


def _opened(file: Path | None) -> sqlite3.Connection:
    """Open the index in a file, or an index in memory if the file cannot be written.

    An index file that is damaged or from another version of askew is replaced.
    """
    if file is None:
        return _connected(":memory:")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return _connected(str(file))
    except (OSError, sqlite3.OperationalError):
        return _connected(":memory:")
    except sqlite3.DatabaseError:
        file.unlink(missing_ok=True)
        return _connected(str(file))


def _copy_in_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy an index into memory. If the index cannot be read, the copy is empty."""
    memory = _connected(":memory:")
    with closing(connection), suppress(sqlite3.OperationalError):
        connection.backup(memory)
        return memory
    memory.close()
    return _connected(":memory:")


def _connected(place: str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA:
        return connection
    if version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        connection.close()
        raise sqlite3.DatabaseError("an index of another version")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(TABLES)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    return connection
