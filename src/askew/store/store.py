"""The store on disk for images, answers and vectors. Runs in the same folder share a store.

A store is a folder with these files and subfolders:

- index.sqlite contains metadata for every image.
- vectors.sqlite contains the image vectors.
- journal.jsonl contains the same metadata as the index, with one line per batch.
- users.lock is the file that commands lock while they use the store.
- pictures/ab/ab12….png are the image files, named after their SHA-256.
- quarantine/ contains damaged files that askew moved there.
- incoming/ contains files that are still being written.
- turns.lock is the file in which processes lock the pieces of work in progress.
- files such as completions/ab/ab12….json contain answers from language models, and are named after
  the hash of the request.
- iti-gen/ab12… contain saved states of token learning, and are named after the hash of the training
  data.
"""

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.environment import package_versions
from askew.errors import StoreError
from askew.models.base import Setting
from askew.models.file_memory import FileDigest
from askew.store import entries, locks
from askew.store.blobs import Blobs, LocalBlobs, TemporaryBlobs, is_intact
from askew.store.completions import damaged_completions
from askew.store.files import digest_of, sha256
from askew.store.foreign import json_value
from askew.store.imagefile import EncodedPicture, read
from askew.store.index import INDEX_TABLES, VECTOR_TABLES, Index, OlderIndex, faults
from askew.store.journal import Journal
from askew.store.keys import question_hash
from askew.store.network import check_local
from askew.store.rebuilding import (
    INDEX_FILE,
    VECTORS_FILE,
    known_rows,
    known_vectors,
    rebuild_index,
)
from askew.store.requests import PictureRequest, PlannedPicture
from askew.store.rows import IndexRow
from askew.store.states import damaged_states
from askew.types import Missing, Picture, Question

JOURNAL_FILE = "journal.jsonl"
LOCKS_FILE = "turns.lock"

RETRIED = "error"
"""Reason recorded for a missing image or answer that the next run will request again."""

Answer = str | Missing
Answers = dict[tuple[str, str], Answer]
"""Answers, keyed by image id and question hash."""

Vector = NDArray[np.float32]

ABANDONED = 24 * 3600.0
"""Age in seconds after which askew deletes an incomplete file left by a killed process."""


def default_store(run_folder: Path) -> Path:
    """Return the path of a run's default store: `.askew`, next to the run folder."""
    return run_folder.absolute().parent / ".askew"


def working_process(run_folder: Path) -> int | None:
    """Return the id of the process that is working on a run; None if there is no known process.

    The process is known only on Linux, and only if the run uses its default store.
    """
    lock_file = default_store(run_folder) / LOCKS_FILE
    return locks.holder_in(lock_file, _place_of(_run_names(run_folder)))


def is_store(folder: Path) -> bool:
    """Check whether a folder contains a store."""
    return any((folder / name).exists() for name in (INDEX_FILE, JOURNAL_FILE))


@contextmanager
def opened_alone(path: Path) -> Iterator["Store"]:
    """Open a store for exclusive use. Other processes cannot use the store at the same time.

    Raises
    ------
    StoreError
        If another process is using the store, or the store cannot be used.
    """
    path = Path(path).absolute()
    with faults(f"the store {path}"):
        lock = locks.StoreLock(path, exclusive=True)
    with lock, Store(path, lock=lock) as store:
        yield store


class Store:
    """Storage for images, answers and vectors. Several processes can share a store.

    Only this class writes to the folder. Everything except vectors is written to an index and to a
    journal, so each can be rebuilt from the other.

    Parameters
    ----------
    path
        The folder.
    create
        If False, the store is opened for reading only. A folder that does not exist then counts as
        empty.
    timeout
        Maximum time in seconds to wait while another process is writing to the store.
    blobs
        Storage for the image files. By default, the subfolder `pictures` is used.
    is_temporary
        If True, nothing is flushed to disk. Use this for a store that is deleted when the process
        ends.
    lock
        Exclusive lock on the store, if the caller already holds one. By default, the store takes a
        lock that other processes can share. If `create` is False, the store takes no lock.

    Attributes
    ----------
    notes
        Messages about changes that askew made to the store when opening it.

    Raises
    ------
    StoreError
        If the folder cannot be used.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        create: bool = True,
        timeout: float = 30.0,
        blobs: Blobs | None = None,
        is_temporary: bool = False,
        lock: locks.StoreLock | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self.journal = Journal(self.path / JOURNAL_FILE, is_temporary=is_temporary)
        self._where = f"the store {self.path}"
        self._folder = self.path / "pictures"
        local_blobs = TemporaryBlobs if is_temporary else LocalBlobs
        self._blobs = blobs or local_blobs(self._folder, self.path / "incoming")
        self._locks: locks.PartLocks | None = None
        self._lock: locks.StoreLock | None = None
        self._timeout = timeout
        self._is_writable = create
        self._vector_index: Index | None = None
        self.notes: list[str] = []
        if create:
            check_local(self.path)
        entries.check_store(self.path)
        try:
            if create:
                self._prepare_folders()
                self._share(lock)
            self.index = self._opened_index(lock)
        except BaseException:
            self._release()
            raise

    def _share(self, lock: locks.StoreLock | None) -> None:
        """Take a shared lock on the store, unless the caller already holds an exclusive lock."""
        with faults(self._where):
            self._lock = None if lock else locks.StoreLock(self.path, timeout=self._timeout)

    def _opened_index(self, lock: locks.StoreLock | None) -> Index:
        """Open the index. An index from an earlier version is converted, on disk or in memory."""
        file = self.path / INDEX_FILE
        try:
            return self._index_in(file, INDEX_TABLES, self.journal)
        except OlderIndex:
            if not self._is_writable:
                return Index(
                    None,
                    self._timeout,
                    self.journal,
                    known=lambda: known_rows(file, self.journal),
                    write=False,
                )
        self._release()
        with ExitStack() as stack:
            if lock is None:
                with faults(self._where):
                    exclusive = locks.StoreLock(self.path, exclusive=True, timeout=self._timeout)
                stack.enter_context(exclusive)
            with suppress(OlderIndex):  # another process may have rewritten it meanwhile
                return self._index_in(file, INDEX_TABLES, self.journal)
            rebuild_index(self.path, self.journal)
        self.notes.append(
            f"{self._where} was written by an earlier version of askew. Its index was rewritten, "
            f"and the old index was moved to {self.path / 'quarantine'}"
        )
        self._share(lock)
        return self._index_in(file, INDEX_TABLES, self.journal)

    def _index_in(self, file: Path, tables: tuple[str, ...], journal: Journal | None) -> Index:
        """Open an index file.

        If the file does not exist and the store is read-only, open an empty index in memory.
        """
        exists = self._is_writable or (file.exists() and file.stat().st_size > 0)
        return Index(
            file if exists else None,
            self._timeout,
            journal,
            write=self._is_writable,
            is_usable=self._is_usable,
            tables=tables,
        )

    @property
    def _vectors(self) -> Index:
        """Index that contains the vectors. It is opened when it is first used."""
        if self._vector_index is None:
            file = self.path / VECTORS_FILE
            if self._is_writable or file.exists():
                self._vector_index = self._index_in(file, VECTOR_TABLES, None)
            else:
                self._vector_index = Index(
                    None,
                    self._timeout,
                    known=lambda: known_vectors(self.path),
                    tables=VECTOR_TABLES,
                )
        return self._vector_index

    def index_of(self, table: str) -> Index:
        """Return the index that contains a table."""
        return self._vectors if table in VECTOR_TABLES else self.index

    def _prepare_folders(self) -> None:
        """Create the folders, and delete incomplete files that killed processes left behind."""
        with faults(self._where):
            for name in ("pictures", "quarantine", "incoming"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            for part in entries.regular_files(self.path / "incoming"):
                with suppress(FileNotFoundError):  # another process may clear up too
                    is_part = part.suffix == ".part"
                    if is_part and time.time() - part.stat().st_mtime > ABANDONED:
                        part.unlink()

    def _is_usable(self, table: str, row: IndexRow) -> bool:
        """Check that an image's file exists.

        Earlier versions deleted files but kept their index rows.
        """
        if table != "pictures" or row[1] is None:
            return True
        return self._file(row[1], row[2]).exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index, and release all locks."""
        self.index.close()
        if self._vector_index is not None:
            self._vector_index.close()
        self._release()

    def _release(self) -> None:
        if self._locks is not None:
            self._locks.close()
            self._locks = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def pictures(self, keys: Iterable[str]) -> dict[str, Picture | Missing]:
        """Return the stored outcomes of image requests, keyed by image key.

        An outcome is an image, or `Missing` if the image cannot be obtained. Images whose files are
        damaged are omitted. A file with an unchanged modification time is assumed to be intact.
        """
        return self._outcomes(self.index.rows("pictures", "key", keys))

    def _outcomes(self, rows: Iterable[IndexRow]) -> dict[str, Picture | Missing]:
        """Return the outcomes that index rows describe.

        Images whose files are damaged are omitted.
        """
        intact = dict[str, bool]()
        outcomes: dict[str, Picture | Missing] = {}
        for row in rows:
            key, name, suffix, reason, detail, prompt, seed, _, changed = row
            if name is None:
                if reason != RETRIED:
                    outcomes[key] = Missing(reason, detail)
                continue
            path = str(self._file(name, suffix))
            if name not in intact:
                intact[name] = _modified(path) == changed is not None or is_intact(Path(path))
            if intact[name]:
                outcomes[key] = Picture(name, path, prompt, seed)
        return outcomes

    def put_pictures(
        self,
        wanted: Sequence[PictureRequest],
        outcomes: Sequence[EncodedPicture | Missing],
        provenance: Mapping[str, object],
        seen: Sequence[Mapping[str, Vector]] = (),
    ) -> list[Picture | Missing]:
        """Store the outcomes of image requests, and return the outcomes now in the store.

        If another process has already stored an intact image for a request, that image is kept. For
        an image file in a collection, new metadata replaces earlier metadata.

        Parameters
        ----------
        wanted
            The requests.
        outcomes
            For each request, the image, or `Missing` with the reason why there is no image.
        provenance
            Description of the environment in which the images were generated. It is recorded in the
            journal.
        seen
            For each image, the vectors computed during its generation, keyed by embedder
            fingerprint.
        """
        keys = [request.key for request in wanted]
        ids = [o.id if isinstance(o, EncodedPicture) else None for o in outcomes]
        self._quarantine_damaged(keys)
        self._write_files(ids, outcomes)
        about = {**provenance, "made_by": dict(wanted[0].made_by) if wanted else {}}
        # vectors come first: an image that is already stored is not made again for its vectors
        self._put_seen(ids, seen)
        with self.index.transaction():
            known = self.pictures(request.key for request in wanted if request.source is None)
            rows = [
                self._picture_row(request, name, outcome)
                for request, name, outcome in zip(wanted, ids, outcomes, strict=True)
                if request.key not in known
            ]
            self.index.record("pictures", rows, about)
        stored = known | self._outcomes(rows)
        for key, outcome in zip(keys, outcomes, strict=True):
            if isinstance(outcome, Missing):
                stored.setdefault(key, outcome)
        if not stored.keys() >= {*keys}:
            raise StoreError(
                f"{self._where} contains images that were just written, but cannot be read. Check "
                f"the permissions of {self._folder}, then repeat the command to continue"
            )
        return [stored[key] for key in keys]

    def _quarantine_damaged(self, keys: Iterable[str]) -> None:
        """Move the files of these images to quarantine if the files are damaged."""
        for row in self.index.rows("pictures", "key", keys):
            name, suffix = row[1:3]
            if name:
                path = self._file(name, suffix)
                if path.exists() and not is_intact(path):
                    self._set_aside(path)

    def _write_files(
        self, ids: Sequence[str | None], outcomes: Sequence[EncodedPicture | Missing]
    ) -> None:
        """Write the image files that are missing or damaged on disk."""
        lacking = dict[str, bytes]()
        for name, outcome in zip(ids, outcomes, strict=True):
            if name is not None and isinstance(outcome, EncodedPicture):
                path = self._file(name, outcome.suffix)
                if not os.path.lexists(path) or not is_intact(path):
                    lacking[path.name] = outcome.data
        with faults(self._where):
            self._blobs.put(lacking)

    def _picture_row(
        self, request: PictureRequest, name: str | None, outcome: EncodedPicture | Missing
    ) -> IndexRow:
        suffix = None
        modified = None
        if name is not None and isinstance(outcome, EncodedPicture):
            suffix = outcome.suffix
            modified = _modified(self._file(name, suffix))
        return (
            request.key,
            name,
            suffix,
            *_reason(outcome),
            request.prompt,
            request.seed,
            request.model,
            modified,
        )

    def _put_seen(self, ids: Sequence[str | None], seen: Sequence[Mapping[str, Vector]]) -> None:
        """Store the vectors that were computed while the images were generated."""
        by_fingerprint: dict[str, dict[str, Vector]] = {}
        for name, vectors in zip(ids, seen, strict=bool(seen)):
            for fingerprint, vector in vectors.items() if name else ():
                by_fingerprint.setdefault(fingerprint, {})[str(name)] = vector
        for fingerprint, of_fingerprint in by_fingerprint.items():
            self.put_vectors(fingerprint, of_fingerprint)

    def put_reports(self, reports: Mapping[str, Mapping[str, Setting]]) -> None:
        """Store the metadata that a server reported for images, keyed by image key.

        Call this method before the images are stored. Empty reports, and reports about images that
        are already in the store, are skipped.
        """
        given = {key: report for key, report in reports.items() if report}
        if not given:
            return
        with self.index.transaction():
            known = self.pictures(given)
            rows = [
                (key, json.dumps(report, sort_keys=True))
                for key, report in given.items()
                if key not in known
            ]
            self.index.record("reports", rows)

    def reports(self, keys: Iterable[str]) -> dict[str, Mapping[str, Setting]]:
        """Return the metadata that servers reported for images, keyed by image key."""
        return {key: json_value(report) for key, report in self.index.rows("reports", "key", keys)}

    def digests(self, paths: Iterable[str]) -> dict[str, FileDigest]:
        """Return the stored hashes of a collection's image files, keyed by path."""
        rows = self.index.rows("files", "path", filter(_is_unicode, paths))
        return {path: FileDigest._make(digest) for path, *digest in rows}

    def put_digests(self, digests: Mapping[str, FileDigest]) -> None:
        """Store file hashes, keyed by path. Paths that are not valid Unicode are skipped."""
        rows = [(path, *digest) for path, digest in digests.items() if _is_unicode(path)]
        if rows:
            with self.index.transaction():
                self.index.put("files", rows)

    def add_files(self, wanted: Sequence[PictureRequest]) -> list[Picture | Missing]:
        """Import the `source` file of each request."""
        outcomes = [read(request.source) for request in wanted if request.source is not None]
        stored = self.put_pictures(wanted, outcomes, {"packages": package_versions()})
        return [
            replace(outcome, source=str(request.source))
            if isinstance(outcome, Picture)
            else outcome
            for request, outcome in zip(wanted, stored, strict=True)
        ]

    @contextmanager
    def turn(self, *names: str) -> Iterator[bool]:
        """Try to lock the piece of work with these names.

        Yield whether this object now holds the lock.

        A `Store` can hold several locks at once. Until a lock is released, no other `Store` for the
        same folder can take it, in this process or any other. When a process ends, the operating
        system releases its locks. On a system without file locks, askew does not coordinate
        processes.
        """
        place = _place_of(names)
        with faults(self._where):
            held = self._part_locks()
            is_mine = held.take(place)
        try:
            yield is_mine
        finally:
            if is_mine:
                held.release(place)

    def turn_of_run(self, run_folder: Path) -> AbstractContextManager[bool]:
        """Lock a run, so that other processes can find out that this process is working on it."""
        return self.turn(*_run_names(run_folder))

    def _part_locks(self) -> locks.PartLocks:
        if self._locks is None:
            self._locks = locks.PartLocks(self.path / LOCKS_FILE)
        return self._locks

    def holder(self, *names: str) -> int | None:
        """Return the id of the process that has locked a piece of work; None if unknown."""
        return None if self._locks is None else self._locks.holder(_place_of(names))

    def plan_pictures(self, run: str, wanted: Sequence[PictureRequest]) -> None:
        """Record which images the run with this plan hash needs."""
        known = {(slot, key) for _, slot, key in self.index.rows("planned", "run", [run])}
        slots = [(request.slot, request.key) for request in wanted]
        new = [(run, slot, key) for slot, key in slots if (slot, key) not in known]
        with self.index.transaction():
            self.index.record("planned", new)

    def planned(self, run: str) -> list[PlannedPicture]:
        """Return all images needed by the run that has this plan hash, sorted by image key."""
        keys = sorted({key for _, _, key in self.index.rows("planned", "run", [run])})
        known = {row[0]: row[1:4] for row in self.index.rows("pictures", "key", keys)}
        planned = []
        for key in keys:
            name, suffix, reason = known.get(key, (None, "", None))
            path = self._file(name, suffix) if name else None
            planned.append(PlannedPicture(key=key, id=name, reason=reason, path=path))
        return planned

    def image_files(self) -> Iterator[Path]:
        """Yield all image files in the store, including files that the index does not list."""
        for folder in sorted(self._folder.glob("*")):
            yield from entries.regular_files(folder)

    def newest(self, run: str, count: int) -> list[str]:
        """Return the ids of the newest images in the run that has this plan hash."""
        return self.index.newest_ids(run, count)

    def latest_files(self, model: str, most: int) -> list[tuple[Path, int]]:
        """Return a model's newest image files and their modification times in nanoseconds.

        Parameters
        ----------
        model
            Name of the model or editor.
        most
            Maximum number of files. Files that are not on this computer are omitted.
        """
        rows = self.index.latest_pictures(model, most)
        files = [(self._file(row[1], row[2]), row[8]) for row in rows]
        return [(path, changed) for path, changed in files if path.is_file()]

    def known_files(self, ids: Iterable[str]) -> dict[str, Path]:
        """Return the paths of the image files that the index lists, keyed by image id."""
        rows = self.index.rows("pictures", "id", ids)
        return {row[1]: self._file(row[1], row[2]) for row in rows}

    def unneeded(self) -> tuple[frozenset[str], list[Path]]:
        """Return the ids of images that no run needs, and the paths of all deletable files.

        These files include the files in quarantine. To save memory, askew reads the store row by
        row and folder by folder.

        Raises
        ------
        StoreError
            If the store is damaged. A run could then need an image that seems unneeded.
        """
        aside = [*entries.regular_files(self.path / "quarantine")]
        if self.index_faults():
            raise StoreError(
                f"the store {self.path} is damaged. Repair it first: askew check {self.path} "
                "--rebuild"
            )
        ids = self.index.unplanned_ids()
        deletable = []
        unknown: list[Path] = []
        for folder in sorted(self._folder.glob("*")):
            files = [*entries.regular_files(folder)]
            known = self.index.known_ids({file.stem for file in files})
            deletable += [file for file in files if file.stem in ids]
            unknown += [file for file in files if file.stem not in known]
        journaled = self._journaled({file.stem for file in unknown})
        deletable += [file for file in unknown if file.stem in journaled]
        return ids, sorted([*deletable, *aside])

    def _journaled(self, ids: Set[str]) -> set[str]:
        """Return the subset of these image ids that occurs in the journal."""
        journaled = set[str]()
        for table, rows in self.journal.rows() if ids else ():
            if table == "pictures":
                journaled.update(row[1] for row in rows if row[1] in ids)
        return journaled

    def free(self, ids: Iterable[str], files: Iterable[Path]) -> None:
        """Delete files, and delete images with all their data, including journal rows.

        The stored hash of a file that no longer exists or has changed is deleted, too. The caller
        must hold an exclusive lock on the store.

        Raises
        ------
        StoreError
            If a file or row cannot be deleted.
        """
        # images go last: as long as an image is known, a repeated gc finds its data
        self._vectors.forget("vectors", "picture", ids)
        with self.index.transaction():
            self.index.remove("answers", "picture", ids)
            self.index.remove("pictures", "id", ids)
            self.index.forget("files", "path", self._stale_digests())
        with faults(self._where):
            for file in files:
                file.unlink(missing_ok=True)
        self.index.compact()

    def _stale_digests(self) -> list[str]:
        """Return the paths of files that were deleted or changed after their hash was stored."""
        rows = self.index.intact_rows("files")
        return [path for path, *state in rows if not _is_unchanged(path, FileDigest(*state))]

    def forget(self, run: str) -> None:
        """Record that the run with this plan hash no longer needs its images.

        `free` can then delete them.
        """
        self.index.remove("planned", "run", [run])

    def answers(
        self, instrument: str, pictures: Iterable[str], questions: Sequence[Question]
    ) -> Answers:
        """Return the final answers from the instrument that has this fingerprint.

        A stored answer that is not one of the question's options is omitted.
        """
        options = {question_hash(question): question.options for question in questions}
        answers: Answers = {}
        rows = self.index.rows("answers", "picture", pictures, instrument=instrument)
        for _, picture, key, answer, reason, detail in rows:
            if key not in options or reason == RETRIED:
                continue
            if reason:
                answers[picture, key] = Missing(reason, detail)
            elif not options[key] or answer in options[key]:
                answers[picture, key] = answer
        return answers

    def put_answers(
        self,
        instrument: str,
        pictures: Sequence[str],
        questions: Sequence[Question],
        rows: Sequence[Sequence[Answer]],
    ) -> Answers:
        """Store one row of answers per image, and return the answers now in the store.

        Final answers that are already stored are not replaced.
        """
        hashes = [question_hash(question) for question in questions]
        given: Answers = {}
        for name, row in zip(pictures, rows, strict=True):
            for key, answer in zip(hashes, row, strict=True):
                given[name, key] = answer
        texts = {key: question.text for key, question in zip(hashes, questions, strict=True)}
        with self.index.transaction():
            known = self.answers(instrument, pictures, questions)
            new = [
                _answer_row(instrument, place, answer)
                for place, answer in given.items()
                if place not in known
            ]
            self.index.record("answers", new, {"questions": texts})
        return given | known

    def answer_rows(
        self, instrument: str, pictures: Iterable[str], questions: Iterable[str]
    ) -> list[IndexRow]:
        """Return the final answers to the questions that have these hashes, as index rows."""
        asked = set(questions)
        rows = self.index.rows("answers", "picture", pictures, instrument=instrument)
        return [row for row in rows if row[2] in asked and row[4] != RETRIED]

    def put_answer_rows(self, rows: Sequence[IndexRow], texts: Mapping[str, str]) -> None:
        """Store answers given as index rows.

        Final answers that are already stored are not replaced.

        Parameters
        ----------
        rows
            The rows.
        texts
            Text of each question, keyed by question hash.
        """
        with self.index.transaction():
            stored = self.index.rows("answers", "picture", [row[1] for row in rows])
            known = {tuple(row[:3]) for row in stored if row[4] != RETRIED}
            new = [row for row in rows if tuple(row[:3]) not in known]
            self.index.record("answers", new, {"questions": dict(texts)})

    def vectors(self, embedder: str, pictures: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors from the embedder that has this fingerprint, keyed by image id."""
        rows = self._vectors.rows("vectors", "picture", pictures, embedder=embedder)
        return {picture: np.frombuffer(blob, "<f4").astype(np.float32) for _, picture, blob in rows}

    def put_vectors(self, embedder: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors, keyed by image id. Vectors that are already stored are not replaced."""
        with self._vectors.transaction():
            known = self.vectors(embedder, vectors)
            rows = [
                (embedder, name, row.astype("<f4").tobytes())
                for name, row in vectors.items()
                if name not in known
            ]
            self._vectors.put("vectors", rows)

    def index_faults(self) -> list[str]:
        """Describe all damage to the index and the journal."""
        descriptions = [*self.index.faults(), *self._vectors.faults()]
        lines = self.journal.damaged()
        if lines:
            descriptions.append(f"{JOURNAL_FILE} has {lines} damaged lines")
        rows = self.index.unjournaled()
        if rows:
            descriptions.append(f"{rows} rows of the index are missing from {JOURNAL_FILE}")
        return descriptions

    def faults(self) -> list[str]:
        """Describe all damage to the index, journal, images, saved states and cached answers."""
        states = [
            f"{state.path} has changed: its checksum differs" for state in damaged_states(self.path)
        ]
        answers = [
            f"{file} has changed: its checksum differs" for file in damaged_completions(self.path)
        ]
        return [*self.index_faults(), *self.file_faults(self._known()), *states, *answers]

    @staticmethod
    def file_faults(files: Iterable[Path]) -> list[str]:
        """Describe the damage to image files."""
        damaged = [path for path in sorted(set(files)) if not is_intact(path)]
        return [
            f"{path} has changed: its SHA-256 differs" if path.exists() else f"{path} is gone"
            for path in damaged
        ]

    @classmethod
    def rebuild(cls, path: Path) -> list[str]:
        """Rebuild a store's index from the journal and the intact rows of the old index.

        Damaged files and the old index are moved to the folder `quarantine`. No other process may
        use the store at the same time.

        Returns
        -------
        list of str
            Descriptions of the changes.
        """
        path = Path(path).absolute()
        entries.check_store(path)
        where = f"the store {path}"
        with faults(where), locks.StoreLock(path, exclusive=True) as lock:
            journal = Journal(path / JOURNAL_FILE)
            counts = rebuild_index(path, journal)
            if journal.damaged():
                journal.rewrite()
            with cls(path, lock=lock) as store:
                damaged = store._set_damaged_aside()
                gone = store._forget_gone()
            states = [*damaged_states(path)]
            for state in states:
                state.set_aside()
            answers = [*damaged_completions(path)]
            for file in answers:
                file.replace(path / "quarantine" / file.name)
        return [
            f"the index was rebuilt: {', '.join(counts)}",
            f"damaged images moved to quarantine: {damaged}",
            f"images without a file, which the next run will generate or import again: {gone}",
            f"damaged saved states of token learning moved to quarantine: {len(states)}",
            f"damaged answers from language models moved to quarantine: {len(answers)}",
        ]

    def _set_damaged_aside(self) -> int:
        """Move damaged images to quarantine, and return how many were moved."""
        damaged = [file for file in self._known() if os.path.lexists(file) and not is_intact(file)]
        for file in damaged:
            self._set_aside(file)
        return len(damaged)

    def _forget_gone(self) -> int:
        """Remove the index rows of images without a file, and return how many were removed.

        If all image files are missing, the folder is probably not mounted, and no row is removed.
        """
        known = self._known()
        gone = [file.stem for file in known if not file.exists()]
        if len(gone) == len(known):
            return 0
        self.index.remove("pictures", "id", gone)
        return len(gone)

    def _known(self) -> list[Path]:
        """Return the file paths of all images that the index lists."""
        rows = self.index.intact_rows("pictures")
        return sorted({self._file(row[1], row[2]) for row in rows if row[1]})

    def _file(self, name: str, suffix: str) -> Path:
        return self._blobs.local_copy(name + suffix)

    def _set_aside(self, path: Path) -> None:
        with faults(self._where):
            entries.check_folder(path.parent)
            path.replace(self.path / "quarantine" / f"{_label(path)}-{path.name}")


def _label(path: Path) -> str:
    """Return the first digits of a damaged file's SHA-256, or "unread" for an unreadable file."""
    try:
        return sha256(entries.read_bytes(path, follow=False))[:12]
    except OSError:
        return "unread"


def _modified(path: Path | str) -> int | None:
    """Return a file's modification time in nanoseconds; None if the file does not exist."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None


def _is_unchanged(path: str, digest: FileDigest) -> bool:
    """Check whether a file is unchanged since its hash was computed."""
    try:
        return digest.is_of(os.stat(path))
    except (OSError, ValueError):
        return False


def _place_of(names: Sequence[str]) -> int:
    """Return the position of the lock-file byte that stands for this piece of work."""
    return int(digest_of(names)[:15], 16)


def _run_names(run_folder: Path) -> tuple[str, str]:
    """Return the names by which the lock file identifies the work on a run."""
    return "run", str(run_folder.resolve())


def _is_unicode(text: str) -> bool:
    """Check whether a string can be encoded as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(outcome: object) -> tuple[str | None, str]:
    """Return why an item is missing, as a reason and details; (None, "") for an available item."""
    return (outcome.reason, outcome.detail) if isinstance(outcome, Missing) else (None, "")


def _answer_row(instrument: str, place: tuple[str, str], answer: Answer) -> IndexRow:
    text = None if isinstance(answer, Missing) else answer
    return (instrument, *place, text, *_reason(answer))
