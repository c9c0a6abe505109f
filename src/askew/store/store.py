"""Pictures, answers and vectors on disk, shared by sibling runs: an SQLite index and
content-addressed files.

Layout of the folder:
    index.sqlite            what is known about every picture; journal.jsonl: the same but vectors, in lines
    pictures/ab/ab12….png   files, named by their SHA-256
    quarantine/             copies of files that were no usable pictures
    incoming/               files being written
    completions/ab/ab12….json   answers of language models, by what was asked
    iti-gen/ab12…           how far tokens are learned, by what they are learned from
"""

import errno
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BufferedWriter
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askew.environment import package_versions
from askew.errors import StoreError
from askew.store.files import digest_of, sha256, write_whole
from askew.store.imagefile import EncodedPicture, read
from askew.store.index import TABLES, Index, IndexRow, Journal, faults, salvaged
from askew.store.keys import question_hash
from askew.store.requests import PictureRequest, PlannedPicture
from askew.types import Missing, Picture, Question

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

INDEX_FILE = "index.sqlite"
JOURNAL_FILE = "journal.jsonl"
LOCKS_FILE = "turns.lock"
JOURNALED = ("pictures", "planned", "answers")

TRIED_AGAIN = "error"
"""The reason of what is missing that does not stand: the next run tries again."""

Answer = str | Missing
Answers = dict[tuple[str, str], Answer]
"""By picture id and question hash."""

ABANDONED = 24 * 3600.0
"""Age in seconds from which a half-written file is that of a process that was killed."""


def default_store(run_folder: Path) -> Path:
    """The store that a run uses unless told otherwise: `.askew` beside the run folder."""
    return run_folder.absolute().parent / ".askew"


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, not a run."""
    return any((folder / name).exists() for name in (INDEX_FILE, JOURNAL_FILE))


class Store:
    """The one writer of pictures, answers and vectors. Several processes may use the same folder at
    once.

    What is written stands in two places, the index and a journal, so that one can be made from the
    other. With `create=False` nothing is written, and a store that does not exist is read as empty.
    It waits `timeout` seconds for a process that is writing. Raises StoreError for a folder that
    cannot be used.
    """

    def __init__(self, path: Path | str, *, create: bool = True, timeout: float = 30.0) -> None:
        self.path = Path(path).absolute()
        self._where = f"the store {self.path}"
        self.journal = Journal(self.path / JOURNAL_FILE)
        self._locks: BufferedWriter | None = None
        index = self.path / INDEX_FILE
        if create:
            with faults(self._where):
                for name in ("pictures", "quarantine", "incoming"):
                    (self.path / name).mkdir(parents=True, exist_ok=True)
                for part in (self.path / "incoming").iterdir():
                    with suppress(FileNotFoundError):  # another process may clear up too
                        if time.time() - part.stat().st_mtime > ABANDONED:
                            part.unlink()
        there = create or (index.exists() and index.stat().st_size > 0)
        self.index = Index(index if there else None, timeout, self.journal.rows, create)
        if (
            create
            and not self.journal.path.exists()
            and self.index.select("SELECT 1 FROM pictures LIMIT 1")
        ):
            self._log_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index, and release all locks."""
        self.index.close()
        if self._locks is not None:
            self._locks.close()
            self._locks = None

    def pictures(self, keys: Iterable[str]) -> dict[str, Picture | Missing]:
        """What is stored under `keys`, by key: pictures whose files are intact, and final reasons
        for having none.

        A file that has not been changed since it was written, as the system says, is not read again
        for that.
        """
        folder = self.path / "pictures"
        intact = dict[str, bool]()
        found: dict[str, Picture | Missing] = {}
        for key, name, suffix, reason, detail, prompt, seed, _, changed in self.index.rows(
            "pictures", "key", keys
        ):
            if name is not None:
                path = f"{folder}/{name[:2]}/{name}{suffix}"
                if name not in intact:
                    intact[name] = _changed(path) == changed is not None or is_intact(Path(path))
                if intact[name]:
                    found[key] = Picture(name, path, prompt, seed)
            elif reason != TRIED_AGAIN:
                found[key] = Missing(reason, detail)
        return found

    def put_pictures(
        self,
        wanted: Sequence[PictureRequest],
        outcomes: Sequence[EncodedPicture | Missing],
        provenance: Mapping[str, object],
        seen: Sequence[Mapping[str, NDArray[np.float32]]] = (),
    ) -> list[Picture | Missing]:
        """Store one outcome per wanted picture, and return what the store then holds for each.

        `seen` holds, by fingerprint, rows that were read while a picture was made: they are stored
        with it. What another process stored first, and is intact, stays; a file that exists already
        replaces what was known about it.
        """
        ids = [sha256(one.data) if isinstance(one, EncodedPicture) else None for one in outcomes]
        for row in self.index.rows("pictures", "key", (one.key for one in wanted)):
            if row[1] and (path := self._file(row[1], row[2])).exists() and not is_intact(path):
                self._set_aside(path)
        keys = [one.key for one in wanted]
        known = self.known_files(name for name in ids if name is not None)
        suffixes = dict[str, str]()
        lacking = dict[Path, bytes]()
        for name, outcome in zip(ids, outcomes, strict=True):
            if name is not None and isinstance(outcome, EncodedPicture):
                suffixes[name] = outcome.suffix
                path = known.get(name, self._file(name, outcome.suffix))
                if not is_intact(path):
                    lacking[path] = outcome.data
        with faults(self._where):
            write_whole(lacking, self.path / "incoming")
        with self.index.transaction():
            kept = self.pictures(one.key for one in wanted if one.source is None)
            rows: list[IndexRow] = [
                (
                    one.key,
                    name,
                    suffixes.get(name or ""),
                    *_why(o),
                    one.prompt,
                    one.seed,
                    one.model,
                    _changed(self._file(name, suffixes[name])) if name else None,
                )
                for one, name, o in zip(wanted, ids, outcomes, strict=True)
                if one.key not in kept
            ]
            self._keep(
                "pictures",
                rows,
                {**provenance, "made_by": dict(wanted[0].made_by) if wanted else {}},
            )
            for name, own in zip(ids, seen, strict=bool(seen)):
                for who, vector in own.items() if name else ():
                    self.put_vectors(who, {str(name): vector})
        stored = self.pictures(keys)
        failed = {
            key: outcome
            for key, outcome in zip(keys, outcomes, strict=True)
            if isinstance(outcome, Missing)
        }
        return [stored[key] if key in stored else failed[key] for key in keys]

    def add_files(self, wanted: Sequence[PictureRequest]) -> list[Picture | Missing]:
        """Import the picture files that `source` names, in order."""
        outcomes = [read(one.source) for one in wanted if one.source is not None]
        stored = self.put_pictures(wanted, outcomes, {"packages": package_versions()})
        sourced = zip(wanted, stored, strict=True)
        return [
            replace(own, source=str(one.source)) if isinstance(own, Picture) else own
            for one, own in sourced
        ]

    @contextmanager
    def turn(self, *names: str) -> Iterator[bool]:
        """Lock the work with these names, and tell whether the lock is this process's.

        One store may hold several locks at once. The system releases the locks of a process that
        ends. On a system without locks each process works for itself.
        """
        place = int(digest_of(names)[:15], 16)
        with faults(self._where):
            is_mine = self._lock(place)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._unlock(place)

    def _lock(self, place: int) -> bool:
        """Lock one byte of the file of locks, and return whether no other process holds it.

        The file stays open, since closing it would release all locks of this process.
        """
        if self._locks is None:
            self._locks = (self.path / LOCKS_FILE).open("ab")
        if not fcntl:
            return True
        try:
            fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        return True

    def _unlock(self, place: int) -> None:
        if fcntl and self._locks:
            with suppress(OSError):
                fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, place)

    def plan_pictures(self, run: str, wanted: Sequence[PictureRequest]) -> None:
        """Note that the run with this plan hash needs these pictures."""
        known = {(slot, key) for _, slot, key in self.index.rows("planned", "run", [run])}
        new = [(run, one.slot, one.key) for one in wanted if (one.slot, one.key) not in known]
        with self.index.transaction():
            self._keep("planned", new)

    def planned(self, run: str) -> list[PlannedPicture]:
        """Every picture that the run with this plan hash needs, by key."""
        keys = sorted({key for _, _, key in self.index.rows("planned", "run", [run])})
        known = {row[0]: row[1:4] for row in self.index.rows("pictures", "key", keys)}
        rows = ((key, *known.get(key, (None, "", None))) for key in keys)
        return [
            PlannedPicture(key, id, why, self._file(id, end) if id else None)
            for key, id, end, why in rows
        ]

    def known_files(self, ids: Iterable[str]) -> dict[str, Path]:
        """Paths of the picture files that the index knows, by id."""
        return {
            row[1]: self._file(row[1], row[2]) for row in self.index.rows("pictures", "id", ids)
        }

    def unneeded(self) -> tuple[frozenset[str], list[Path]]:
        """Ids of the pictures that no run plans, and the files that can go with them, those in
        quarantine among them.

        Raises StoreError for a store that is damaged: what seems unneeded may be needed.
        """
        if self.index_faults():
            raise StoreError(
                f"the store {self.path} is damaged; mend it first: askew check {self.path} --rebuild"
            )
        needed = {row[2] for row, _ in self.index.all_rows("planned")}
        rows = [row for row, _ in self.index.all_rows("pictures")]
        kept = {row[1] for row in rows if row[0] in needed}
        logged = (row for table, some in self.journal.rows() if table == "pictures" for row in some)
        known = {row[1] for row in (*rows, *logged)}
        files = [
            file
            for file in (self.path / "pictures").glob("*/*")
            if file.stem not in kept and file.stem in known
        ]
        aside = [file for file in (self.path / "quarantine").glob("*") if file.is_file()]
        return frozenset(row[1] for row in rows if row[1]) - kept, sorted([*files, *aside])

    def free(self, ids: Iterable[str], files: Iterable[Path]) -> None:
        """Take pictures away with what is known of them, and then files. Raises StoreError."""
        for table, column in (("pictures", "id"), ("answers", "picture"), ("vectors", "picture")):
            self.index.delete(table, column, ids)
        with faults(self._where):
            for file in files:
                file.unlink(missing_ok=True)

    def answers(
        self, instrument: str, pictures: Iterable[str], questions: Sequence[Question]
    ) -> Answers:
        """Final answers of one instrument (its fingerprint). What is none of the options of its
        question is none.
        """
        options = {question_hash(question): question.options for question in questions}
        found: Answers = {}
        rows = self.index.rows("answers", "picture", pictures, instrument=instrument)
        for _, picture, key, answer, reason, detail in rows:
            if (
                key in options
                and reason != TRIED_AGAIN
                and (reason or not options[key] or answer in options[key])
            ):
                found[picture, key] = Missing(reason, detail) if reason else answer
        return found

    def put_answers(
        self,
        instrument: str,
        pictures: Sequence[str],
        questions: Sequence[Question],
        rows: Sequence[Sequence[Answer]],
    ) -> Answers:
        """Store rows of answers by picture, and return what then holds. A final answer that is
        there already stays.
        """
        hashes = [question_hash(question) for question in questions]
        by_picture = zip(pictures, rows, strict=True)
        given = {
            (name, key): answer
            for name, row in by_picture
            for key, answer in zip(hashes, row, strict=True)
        }
        with self.index.transaction():
            known = self.answers(instrument, pictures, questions)
            self._keep(
                "answers",
                [
                    (instrument, *place, None if isinstance(a, Missing) else a, *_why(a))
                    for place, a in given.items()
                    if place not in known
                ],
                {"questions": {key: q.text for key, q in zip(hashes, questions, strict=True)}},
            )
        return given | known

    def vectors(self, embedder: str, pictures: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors of one embedder (its fingerprint), by picture id."""
        rows = self.index.rows("vectors", "picture", pictures, embedder=embedder)
        return {picture: np.frombuffer(blob, "<f4").astype(np.float32) for _, picture, blob in rows}

    def put_vectors(self, embedder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Store vectors by picture id. One that is there already stays."""
        with self.index.transaction():
            known = self.vectors(embedder, vectors)
            self.index.put(
                "vectors",
                [
                    (embedder, name, row.astype("<f4").tobytes())
                    for name, row in vectors.items()
                    if name not in known
                ],
            )

    def _keep(
        self, table: str, rows: Sequence[IndexRow], about: Mapping[str, object] | None = None
    ) -> None:
        """Write rows into the index and the journal. Within a transaction, which also keeps others
        from the journal.
        """
        self.index.put(table, rows)
        self.journal.append(table, rows, about)

    def _log_all(self) -> None:
        with self.index.transaction():
            for table in JOURNALED:
                self.journal.append(
                    table, [row for row, intact in self.index.all_rows(table) if intact]
                )

    def index_faults(self) -> list[str]:
        """All damage to the index and the journal, in words."""
        lines = self.journal.damaged()
        return self.index.faults() + (
            [f"{JOURNAL_FILE} has {lines} damaged lines"] if lines else []
        )

    def faults(self) -> list[str]:
        """All damage to the index, the journal and the pictures that the index knows, in words."""
        files = (
            self._file(row[1], row[2])
            for row, intact in self.index.all_rows("pictures")
            if intact and row[1]
        )
        return self.index_faults() + self.file_faults(files)

    @staticmethod
    def file_faults(files: Iterable[Path]) -> list[str]:
        """Damage to some of the pictures, in words."""
        return [
            f"{path} is {'not what was stored: its SHA-256 is another' if path.exists() else 'gone'}"
            for path in sorted(set(files))
            if not is_intact(path)
        ]

    @classmethod
    def rebuild(cls, path: Path) -> list[str]:
        """Make the index of a store again, from its journal and what is intact of the index. What
        was done, in words.

        Damaged pictures and the old index go to the folder `quarantine`. No other process may be
        using the store.
        """
        journal = Journal(path / JOURNAL_FILE)
        index = path / INDEX_FILE
        made = path / f"{INDEX_FILE}.new"
        aside = path / "quarantine" / f"{INDEX_FILE}-{int(time.time())}"
        with faults(f"the store {path}"):
            for file in path.glob(f"{INDEX_FILE}.new*"):
                file.unlink()
            new = Index(
                made, 30.0, lambda: chain(journal.rows(), salvaged(index) if index.exists() else ())
            )
            counts = [
                f"{new.select(f'SELECT count(*) FROM {table}')[0][0]} {table}" for table in TABLES
            ]
            new.close()
            aside.parent.mkdir(exist_ok=True)
            if index.exists():
                index.replace(aside)
            for end in ("-wal", "-shm"):
                Path(f"{index}{end}").unlink(missing_ok=True)
            made.replace(index)
            broken_lines = journal.damaged()
            if broken_lines:
                journal.mend()
        with cls(path) as store:
            if broken_lines:
                store._log_all()
            files = {
                store._file(row[1], row[2]) for row, _ in store.index.all_rows("pictures") if row[1]
            }
            for file in (
                broken := sorted(file for file in files if file.exists() and not is_intact(file))
            ):
                store._set_aside(file)
        return [
            f"the index was made again: {', '.join(counts)}",
            f"damaged pictures set aside: {len(broken)}",
        ]

    def _file(self, name: str, suffix: str) -> Path:
        return self.path / "pictures" / name[:2] / (name + suffix)

    def _set_aside(self, path: Path) -> None:
        with faults(self._where):
            path.replace(self.path / "quarantine" / f"{sha256(path.read_bytes())[:12]}-{path.name}")


def _changed(path: str | Path) -> int | None:
    """When a file was changed last, in nanoseconds; None where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _why(outcome: object) -> tuple[str | None, str]:
    """The reason and details of what is missing."""
    return (outcome.reason, outcome.detail) if isinstance(outcome, Missing) else (None, "")


def is_intact(path: Path) -> bool:
    """Whether a stored file is there and holds what its name says."""
    try:
        return sha256(path.read_bytes()) == path.name.partition(".")[0]
    except OSError:
        return False


class Completions:
    """Answers of language models kept in one store, which several processes and threads may share."""

    def __init__(self, store: Path | str) -> None:
        self._folder = Path(store).absolute() / "completions"
        self._where = f"the store {self._folder.parent}"

    def completion(self, key: str) -> Mapping[str, Any] | None:
        """The record under `key`, None if there is none that can be read."""
        try:
            record = json.loads(self._file(key).read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict):
            return None
        told = record.pop("sha256", None)
        return record if told in (None, digest_of(record)) else None  # earlier versions told none

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a record. Raises StoreError."""
        path = self._file(key)
        with faults(self._where):
            path.parent.mkdir(parents=True, exist_ok=True)
            told = json.dumps({**record, "sha256": digest_of(record)}, indent=1, sort_keys=True)
            write_whole({path: told.encode("ascii")})

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
