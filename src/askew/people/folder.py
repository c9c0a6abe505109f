"""Access to the files of a study folder.

A stored answer survives a crash of askew or of the machine.

A study folder contains study.toml, items.jsonl, raters.jsonl, answers.jsonl, frame.jsonl (facts
that raters must not read) and images/. A study with a pilot also contains sources.json (paths of its
runs) and, after its extension, items-2.jsonl (items of the second stage).

askew flushes each line of answers.jsonl to disk before it replies to the rater's browser. A line that
was cut off by a crash is ignored, since its answer was never confirmed to the rater.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import TypeAdapter, ValidationError

from askew.errors import RunError, UsageError
from askew.people.records import (
    WITHDRAWN,
    AnswerRecord,
    FrameEntry,
    Item,
    RaterRecord,
    SourcePaths,
    StudyPlan,
)
from askew.store.entries import read_bytes
from askew.store.files import explain_os_error, read_text, sha256, write_file
from askew.store.foreign import json_value, toml_table

STUDY_FILE = "study.toml"
ITEMS_FILE = "items.jsonl"
SECOND_ITEMS_FILE = "items-2.jsonl"
RATERS_FILE = "raters.jsonl"
ANSWERS_FILE = "answers.jsonl"
FRAME_FILE = "frame.jsonl"
SOURCES_FILE = "sources.json"
FROZEN_FILE = "frozen.json"
LOCK_FILE = "study.lock"
IMAGES = "images"

T = TypeVar("T")

_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True)
class StudyFolder:
    """A study folder.

    Attributes
    ----------
    path
        The folder.
    """

    path: Path

    @classmethod
    def opened(cls, path: Path) -> "StudyFolder":
        """Open the study in a folder.

        Check that the study's plan and items have not changed since the first answer.

        Raises
        ------
        UsageError
            If the folder contains no study, or its plan or items changed after the first answer.
        """
        folder = cls(path)
        if not (path / STUDY_FILE).is_file():
            raise UsageError(
                f"{path} is not a study: it contains no {STUDY_FILE}. Make a study with "
                "askew study new label --from RUN --output DIR"
            )
        folder.check_frozen()
        return folder

    @cached_property
    def plan(self) -> StudyPlan:
        """Content of study.toml."""
        path = self.path / STUDY_FILE
        text = read_text(path, "the study", follow=False)
        try:
            plan: StudyPlan = _adapter(StudyPlan).validate_python(toml_table(text), strict=False)
        except (ValidationError, ValueError) as error:
            raise UsageError(f"{path} does not describe a study: {_first_line(error)}") from error
        return plan

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """Items by id. The items of the second stage come last."""
        items = {item.id: item for item in self._lines(Item, ITEMS_FILE)}
        return items | {item.id: item for item in self.second_items}

    @cached_property
    def second_items(self) -> Sequence[Item]:
        """Items of the second stage, with attention checks; empty if the study is not extended."""
        return list(self._lines(Item, SECOND_ITEMS_FILE))

    @cached_property
    def frame(self) -> Sequence[FrameEntry]:
        """The sampling frame."""
        return list(self._lines(FrameEntry, FRAME_FILE))

    def raters(self) -> list[RaterRecord]:
        """Return all raters who did not withdraw."""
        return [rater for rater in self._lines(RaterRecord, RATERS_FILE) if rater.id != WITHDRAWN]

    def withdrawn_lines(self) -> list[RaterRecord]:
        """Return the anonymous records that are kept for raters who withdrew."""
        return [rater for rater in self._lines(RaterRecord, RATERS_FILE) if rater.id == WITHDRAWN]

    def withdrawn(self) -> int:
        """Return the number of raters who withdrew."""
        return len(self.withdrawn_lines())

    def all_answers(self) -> list[AnswerRecord]:
        """Return all answers to all versions of the study, in chronological order."""
        return list(self._lines(AnswerRecord, ANSWERS_FILE, cut_end=True))

    def answers(self) -> dict[tuple[str, str], AnswerRecord]:
        """Return the raters' last answers in the current version, keyed by rater id and item id."""
        version = self.plan.version
        last = {}
        for answer in self.all_answers():
            if answer.version == version and answer.item in self.items:
                last[answer.rater, answer.item] = answer
        return last

    def image(self, digest: str) -> Path:
        """Return the path of the study's image that has this SHA-256 checksum."""
        return self.path / IMAGES / f"{digest}.png"

    def check_frozen(self) -> None:
        """Raise UsageError if the plan or the items changed after the first answer."""
        frozen = self._frozen()
        if not frozen or frozen["version"] < self.plan.version:
            return
        for name, digest in frozen["sums"].items():
            if sha256(read_bytes(self.path / name, follow=False)) != digest:
                raise UsageError(
                    f"{self.path / name} changed after the first answer. Restore the file, or set "
                    f"version = {frozen['version'] + 1} in {STUDY_FILE}. If you start a new "
                    "version, the answers collected so far will no longer count"
                )

    def _frozen(self) -> dict[str, Any]:
        """Return the stored checksums of the plan and the items; empty before the first answer."""
        path = self.path / FROZEN_FILE
        if not path.exists():
            return {}
        return dict(json_value(read_bytes(path, follow=False)))

    def append(self, answer: AnswerRecord) -> None:
        """Store an answer. When this function returns, the answer is on disk.

        Raises
        ------
        RunError
            If the answer cannot be written.
        """
        with self.locked():
            self._freeze()
            self._append_line(answer)

    def _freeze(self) -> None:
        """Store a checksum for each study file that has no stored checksum in this version."""
        frozen = self._frozen()
        sums = dict(frozen["sums"]) if frozen.get("version") == self.plan.version else {}
        missing = [name for name in self._frozen_names() if name not in sums]
        if not missing:
            return
        for name in missing:
            sums[name] = sha256(read_bytes(self.path / name, follow=False))
        content = {"version": self.plan.version, "sums": sums}
        write_file(self.path / FROZEN_FILE, json.dumps(content).encode())

    def _frozen_names(self) -> tuple[str, ...]:
        if (self.path / SECOND_ITEMS_FILE).exists():
            return STUDY_FILE, ITEMS_FILE, SECOND_ITEMS_FILE
        return STUDY_FILE, ITEMS_FILE

    def _append_line(self, answer: AnswerRecord) -> None:
        # a line starts with a line break, which ends a line that a crash has cut off
        path = self.path / ANSWERS_FILE
        try:
            file = os.open(path, _APPEND, 0o600)
            try:
                size = os.fstat(file).st_size
                data = b"\n" + line_of(answer) + b"\n"
                if os.write(file, data) < len(data):
                    os.ftruncate(file, size)
                    raise RunError(f"the answer could not be written to {path}: the disk is full")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise RunError(f"the study {self.path} {explain_os_error(error)}") from error

    def consent(self, rater: str) -> None:
        """Record that a rater agreed to take part."""
        with self.locked():
            raters = list(self._lines(RaterRecord, RATERS_FILE))
            agreed = [
                replace(each, consented=True) if each.id == rater else each for each in raters
            ]
            self.write_raters(agreed)

    def withdraw(self, rater: str) -> None:
        """Delete a rater and all of the rater's answers. An anonymous record remains."""
        with self.locked():
            answers = [answer for answer in self.all_answers() if answer.rater != rater]
            self._write_lines(ANSWERS_FILE, answers)
            raters = []
            for each in self._lines(RaterRecord, RATERS_FILE):
                gone = RaterRecord(id=WITHDRAWN, number=0, token="", items=())
                raters.append(gone if each.id == rater else each)
            self.write_raters(raters)

    def write_raters(self, raters: Iterable[RaterRecord]) -> None:
        """Write raters.jsonl."""
        self._write_lines(RATERS_FILE, raters)
        os.chmod(self.path / RATERS_FILE, 0o600)

    def write_plan(self, plan: StudyPlan) -> None:
        """Write study.toml."""
        content = _adapter(StudyPlan).dump_python(plan, mode="json", exclude_none=True)
        write_file(self.path / STUDY_FILE, tomli_w.dumps(content).encode())

    def write_items(self, items: Iterable[Item], frame: Iterable[FrameEntry]) -> None:
        """Write items.jsonl and frame.jsonl."""
        self._write_lines(ITEMS_FILE, items)
        self._write_lines(FRAME_FILE, frame)

    def write_second_items(self, items: Iterable[Item]) -> None:
        """Write the items of the second stage."""
        self._write_lines(SECOND_ITEMS_FILE, items)

    def source_paths(self) -> SourcePaths | None:
        """Return the paths of the study's runs; None if the study does not store them."""
        path = self.path / SOURCES_FILE
        if not path.exists():
            return None
        try:
            paths: SourcePaths = _adapter(SourcePaths).validate_json(read_bytes(path, follow=False))
        except ValidationError as error:
            raise UsageError(f"{path}: {_first_line(error)}") from error
        return paths

    def write_source_paths(self, paths: SourcePaths) -> None:
        """Write the paths of the study's runs."""
        write_file(self.path / SOURCES_FILE, line_of(paths) + b"\n")
        os.chmod(self.path / SOURCES_FILE, 0o600)

    def write_answers(self, answers: Iterable[AnswerRecord]) -> None:
        """Replace the content of answers.jsonl, for example after an import."""
        with self.locked():
            self._write_lines(ANSWERS_FILE, answers)
            self._freeze()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to the study during the `with` block."""
        file = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _write_lines(self, name: str, records: Iterable[object]) -> None:
        lines = [line_of(each) + b"\n" for each in records]
        write_file(self.path / name, b"".join(lines))

    def _lines(self, kind: type[T], name: str, cut_end: bool = False) -> Iterator[T]:
        """Yield the records of a file.

        Parameters
        ----------
        kind
            Type of the records.
        name
            Name of the file. A file that does not exist has no records.
        cut_end
            Whether to ignore lines that contain incomplete JSON.
        """
        path = self.path / name
        if not path.exists():
            return
        for number, line in enumerate(read_bytes(path, follow=False).split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                yield _adapter(kind).validate_json(line)
            except ValidationError as error:
                if cut_end and not _is_json(line):
                    continue
                raise UsageError(f"{path}, line {number}: {_first_line(error)}") from error


def line_of(record: object) -> bytes:
    """Return a record as a line of JSON. Fields with default values are omitted."""
    text: bytes = _adapter(type(record)).dump_json(record, exclude_defaults=True)
    return text


def token_hash(token: str) -> str:
    """Return the hash of a rater's secret. The study stores the hash instead of the secret."""
    return hashlib.sha256(token.encode()).hexdigest()


def _is_json(line: bytes) -> bool:
    try:
        json_value(line)
    except ValueError:
        return False
    return True


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        return f"{place}: {fault['msg']}"
    return str(error)
