"""Pictures, answers and vectors on disk, shared by sibling runs: an SQLite index and content-addressed files.

Layout of the folder:
    index.sqlite            what is known about every picture
    pictures/ab/ab12….png   files, named by their SHA-256
    quarantine/             copies of files that were no usable pictures
    incoming/               files being written
    completions/ab/ab12….json   answers of language models, by what was asked
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.run.environment import package_versions
from askew.store.files import sha256, write_whole
from askew.store.imagefile import EncodedPicture, read
from askew.store.index import Index, faults, marks
from askew.store.keys import question_hash, slot_key
from askew.types import Missing, Picture, Question

INDEX_FILE = "index.sqlite"
ABANDONED = 24 * 3600.0
"""Age in seconds from which a half-written file belongs to a process that was killed."""


VECTORS = "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture that a run needs. `seed` is None and `source` set for a file that exists already."""

    key: str
    prompt: str
    seed: int | None
    model: str
    source: Path | None = None

    @property
    def slot(self) -> str:
        """Its place in a run's plan."""
        return slot_key(self.model, self.prompt, self.seed, None if self.source is None else str(self.source))


@dataclass(frozen=True, slots=True)
class PlannedPicture:
    """What the index says about a picture that a run needs: an id, a reason, or neither if it is still to be made."""

    key: str
    id: str | None
    reason: str | None
    path: Path | None


def default_store(run_folder: Path) -> Path:
    """The store that a run uses unless told otherwise: `.askew` beside the run folder."""
    return run_folder.absolute().parent / ".askew"


def is_final(outcome: object) -> bool:
    """Whether an outcome stands. What failed with "error" is tried again by the next run."""
    return not (isinstance(outcome, Missing) and outcome.reason == "error")


class Store:
    """The one writer of pictures, answers and vectors. Several processes may use the same folder at once.

    With `create=False` a store that does not exist is read as empty, and nothing is written.
    `timeout` is how many seconds to wait for another process that is writing.
    Raises StoreError for a folder that cannot be used.
    """

    def __init__(self, path: Path | str, *, create: bool = True, timeout: float = 30.0) -> None:
        self.path = Path(path).absolute()
        self._where = f"the store {self.path}"
        index = self.path / INDEX_FILE
        if create:
            self._make_folders()
        self._index = Index(index if create or index.exists() else None, timeout)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    # Pictures

    def pictures(self, keys: Iterable[str]) -> dict[str, Picture | Missing]:
        """What is stored under `keys`, by key: pictures whose files are intact, and final reasons for having none."""
        query = (
            "SELECT key, id, suffix, reason, detail, prompt, seed FROM pictures LEFT JOIN files USING (id) "
            "WHERE key IN ({keys})"
        )
        intact: dict[str, bool] = {}
        found: dict[str, Picture | Missing] = {}
        for key, name, suffix, reason, detail, prompt, seed in self._index.rows(query, keys):
            if name is None:
                found[key] = Missing(reason, detail)
                continue
            path = self._file(name, suffix)
            if name not in intact:
                intact[name] = is_intact(path)
            if intact[name]:
                found[key] = Picture(name, str(path), prompt, seed)
        return {key: outcome for key, outcome in found.items() if is_final(outcome)}

    def put_pictures(
        self,
        wanted: Sequence[Wanted],
        outcomes: Sequence[EncodedPicture | Missing],
        provenance: Mapping[str, object],
        seen: Sequence[Mapping[str, NDArray[np.float32]]] = (),
    ) -> list[Picture | Missing]:
        """Store one outcome per wanted picture, and return what the store then holds for each.

        `seen` holds, by fingerprint, rows that were read while a picture was made: they are stored with it. What
        another process stored first, and is intact, stays; a file that exists already replaces what was known about it.
        """
        ids = [sha256(outcome.data) if isinstance(outcome, EncodedPicture) else None for outcome in outcomes]
        self._set_corrupt_aside(wanted)
        suffixes = self._write_files(ids, outcomes)
        keys = [one.key for one in wanted]
        with self._index.transaction() as connection:
            kept = self.pictures(one.key for one in wanted if one.source is None)
            connection.executemany("INSERT OR IGNORE INTO files VALUES (?, ?)", suffixes.items())
            text = json.dumps(provenance, sort_keys=True)
            connection.execute("INSERT OR IGNORE INTO provenance (json) VALUES (?)", (text,))
            ((origin,),) = connection.execute("SELECT id FROM provenance WHERE json = ?", (text,))
            rows = [
                (one.key, name, *((o.reason, o.detail) if isinstance(o, Missing) else (None, "")), one.prompt, one.seed,
                 one.model, origin)
                for one, name, o in zip(wanted, ids, outcomes, strict=True) if one.key not in kept
            ]  # fmt: skip
            connection.executemany(f"INSERT OR REPLACE INTO pictures VALUES ({marks(range(8))})", rows)
            read = [
                (who, name, _blob(row))
                for name, own in zip(ids, seen or [{}] * len(ids), strict=True)
                if name
                for who, row in own.items()
            ]
            connection.executemany(VECTORS, read)
        stored = self.pictures(keys)
        failed = {
            one.key: outcome for one, outcome in zip(wanted, outcomes, strict=True) if isinstance(outcome, Missing)
        }
        return [stored[key] if key in stored else failed[key] for key in keys]

    def add_files(self, wanted: Sequence[Wanted]) -> list[Picture | Missing]:
        """Import the picture files that `source` names, in order."""
        outcomes = [read(one.source) for one in wanted if one.source is not None]
        stored = self.put_pictures(wanted, outcomes, {"packages": package_versions()})
        return [
            replace(outcome, source=str(one.source)) if isinstance(outcome, Picture) else outcome
            for one, outcome in zip(wanted, stored, strict=True)
        ]

    # Runs

    def plan_pictures(self, run: str, wanted: Sequence[Wanted]) -> None:
        """Note that the run with this plan hash needs these pictures."""
        rows = ((run, one.slot, one.key) for one in wanted)
        with self._index.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO planned VALUES (?, ?, ?)", rows)

    def planned(self, run: str) -> list[PlannedPicture]:
        """Every picture that the run with this plan hash needs, by key."""
        query = (
            "SELECT key, id, reason, suffix FROM planned LEFT JOIN pictures USING (key) LEFT JOIN files USING (id) "
            "WHERE run = ? ORDER BY key"
        )
        return [
            PlannedPicture(key, name, reason, None if name is None else self._file(name, suffix))
            for key, name, reason, suffix in self._index.select(query, (run,))
        ]

    def known_files(self, ids: Iterable[str]) -> dict[str, Path]:
        """Paths of the picture files that the index knows, by id."""
        query = "SELECT id, suffix FROM files WHERE id IN ({keys})"
        return {name: self._file(name, suffix) for name, suffix in self._index.rows(query, ids)}

    # Answers

    def answers(
        self, instrument: str, pictures: Iterable[str], questions: Sequence[Question]
    ) -> dict[tuple[str, str], str | Missing]:
        """Final answers of one instrument (its fingerprint), by (picture id, question hash)."""
        hashes = list(dict.fromkeys(question_hash(question) for question in questions))
        query = (
            "SELECT picture, question, answer, reason, detail FROM answers "
            f"WHERE instrument = ? AND question IN ({marks(hashes)}) AND picture IN ({{keys}})"
        )
        rows = self._index.rows(query, pictures, instrument, *hashes)
        found = {(row[0], row[1]): row[2] if row[3] is None else Missing(row[3], row[4]) for row in rows}
        return {place: answer for place, answer in found.items() if is_final(answer)}

    def put_answers(
        self,
        instrument: str,
        pictures: Sequence[str],
        questions: Sequence[Question],
        answers: Sequence[Sequence[str | Missing]],
    ) -> dict[tuple[str, str], str | Missing]:
        """Store answers by picture, then by question, and return what then holds, as `answers` does.

        A final answer that is there already stays.
        """
        hashes = [question_hash(question) for question in questions]
        asked = [(key, q.text, json.dumps(q.options)) for key, q in zip(hashes, questions, strict=True)]
        rows = [
            (instrument, picture, key, *((None, a.reason, a.detail) if isinstance(a, Missing) else (a, None, "")))
            for picture, row in zip(pictures, answers, strict=True)
            for key, a in zip(hashes, row, strict=True)
        ]
        insert = (
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET answer = excluded.answer, "
            "reason = excluded.reason, detail = excluded.detail WHERE answers.reason = 'error'"
        )
        with self._index.transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO questions VALUES (?, ?, ?)", asked)
            connection.executemany(insert, rows)
        given = {
            (picture, key): answer
            for picture, row in zip(pictures, answers, strict=True)
            for key, answer in zip(hashes, row, strict=True)
        }
        return given | self.answers(instrument, pictures, questions)

    # Vectors

    def vectors(self, embedder: str, pictures: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors of one embedder (its fingerprint), by picture id."""
        query = "SELECT picture, vector FROM vectors WHERE embedder = ? AND picture IN ({keys})"
        rows = self._index.rows(query, pictures, embedder)
        return {picture: np.frombuffer(blob, "<f4").astype(np.float32) for picture, blob in rows}

    def put_vectors(self, embedder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Store vectors by picture id. One that is there already stays."""
        rows = [(embedder, picture, _blob(vector)) for picture, vector in vectors.items()]
        with self._index.transaction() as connection:
            connection.executemany(VECTORS, rows)

    # Files

    def _make_folders(self) -> None:
        with faults(self._where):
            for name in ("pictures", "quarantine", "incoming"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            for part in (self.path / "incoming").iterdir():
                with suppress(FileNotFoundError):  # another process may clear up too
                    if time.time() - part.stat().st_mtime > ABANDONED:
                        part.unlink()

    def _file(self, name: str, suffix: str) -> Path:
        return self.path / "pictures" / name[:2] / (name + suffix)

    def _write_files(self, ids: Sequence[str | None], outcomes: Sequence[EncodedPicture | Missing]) -> dict[str, str]:
        """Write the files that are not there yet. Returns suffixes by id, for the index."""
        known = self.known_files(name for name in ids if name is not None)
        suffixes: dict[str, str] = {}
        missing: dict[Path, bytes] = {}
        for name, outcome in zip(ids, outcomes, strict=True):
            if name is None or isinstance(outcome, Missing):
                continue
            suffixes[name] = outcome.suffix
            path = known.get(name, self._file(name, outcome.suffix))
            if not is_intact(path):
                missing[path] = outcome.data
        with faults(self._where):
            write_whole(missing, self.path / "incoming")
        return suffixes

    def _set_corrupt_aside(self, wanted: Sequence[Wanted]) -> None:
        query = "SELECT id, suffix FROM pictures JOIN files USING (id) WHERE key IN ({keys})"
        for name, suffix in self._index.rows(query, (one.key for one in wanted)):
            path = self._file(name, suffix)
            with faults(self._where):
                if path.exists() and not is_intact(path):
                    path.replace(self.path / "quarantine" / f"{sha256(path.read_bytes())[:12]}-{path.name}")


def is_intact(path: Path) -> bool:
    """Whether a stored file is there and holds what its name says."""
    try:
        return sha256(path.read_bytes()) == path.name.partition(".")[0]
    except OSError:
        return False


def _blob(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f4").tobytes()


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
        return record if isinstance(record, dict) else None

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a record. Raises StoreError."""
        path = self._file(key)
        with faults(self._where):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole({path: json.dumps(record, indent=1, sort_keys=True).encode("ascii")})

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
