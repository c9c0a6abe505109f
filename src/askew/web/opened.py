"""Runs that the app shows: their findings in memory, and their image files by hash."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

from askew.errors import UsageError
from askew.method import load
from askew.methods.audit.findings import AuditResult
from askew.pages.blocks import Page
from askew.pages.notes import with_notes
from askew.run.annotations import Annotations, read_annotations
from askew.store.entries import is_regular, read_bytes
from askew.store.files import sha256
from askew.store.imagefile import SUFFIXES, opened
from askew.store.rows import is_image_id
from askew.store.store import default_store
from askew.studies.corrections import corrected_findings
from askew.studies.labeled_sets import AnyResult, LabeledSet, labeled_sets
from askew.web.index import RunFacts, RunIndex, stamp_of

MOST_RUNS = 4
"""Largest number of runs that stay in memory."""

MOST_OVERLAYS = 500
"""Largest number of drawn overlays that stay in memory, each of about 10 kB."""

MOST_ALLOWED = 2000
"""Largest number of images of unfinished runs that can be opened."""

MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True)
class OpenedRun:
    """A finished run.

    Attributes
    ----------
    facts
        Its facts in the index.
    result
        Its findings and files.
    """

    facts: RunFacts
    result: AnyResult

    @property
    def annotations(self) -> Annotations:
        """Marks by hand in the run folder."""
        return read_annotations(self.facts.folder)

    @property
    def has_shares(self) -> bool:
        """True if the shares of the run can be corrected by hand."""
        return isinstance(self.result, AuditResult)

    def page(self, annotations: Annotations, *, with_corrections: bool = True) -> Page:
        """Return the page of the run.

        Parameters
        ----------
        annotations
            Marks by hand.
        with_corrections
            False for the shares without corrections.

        Raises
        ------
        UsageError
            If the store lacks the answers that corrected shares need.
        """
        result = self.result
        is_corrected = bool(annotations.labels) and with_corrections
        if not (is_corrected and isinstance(result, AuditResult)):
            return with_notes(result.method.page(result.findings, result), annotations)
        key = tuple(sorted(annotations.labels.items()))
        if self._corrected.get("key") != key:
            self._corrected["findings"] = corrected_findings(result, annotations.labels)
            self._corrected["key"] = key
        findings = self._corrected["findings"]
        return with_notes(result.method.page(findings, result), annotations)

    @cached_property
    def _corrected(self) -> dict[str, Any]:
        """Findings with the corrections that were shown last."""
        return {}

    @cached_property
    def sets(self) -> Sequence[LabeledSet]:
        """The image sets with all labels in the store."""
        return labeled_sets(self.result)

    @cached_property
    def set_numbers(self) -> Mapping[tuple[str, str], int]:
        """Numbers of the image sets by prompt and name."""
        return {(each.prompt, each.name): each.number for each in self.sets}


@dataclass
class OpenedRuns:
    """The runs of an index, of which the latest few stay in memory."""

    index: RunIndex
    _allowed: OrderedDict[str, Path] = field(default_factory=OrderedDict)
    _runs: OrderedDict[tuple[str, str], OpenedRun] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, identity: str) -> OpenedRun:
        """Return a finished run by its id.

        Raises
        ------
        LookupError
            If there is no such run.
        UsageError
            If it is not finished, or is damaged.
        """
        facts = self.index.run(identity)
        if facts is None:
            raise LookupError(f"there is no run {identity}")
        key = (identity, stamp_of(facts.folder))
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key]
            run = OpenedRun(facts=facts, result=load(facts.folder))
            self._runs[key] = run
            while len(self._runs) > MOST_RUNS:
                self._runs.popitem(last=False)
            return run

    def allow(self, images: Sequence[str], store: Path) -> None:
        """Serve images of a run that is not finished; of many such images, the latest."""
        with self._lock:
            for name in images:
                self._allowed[name] = store
                self._allowed.move_to_end(name)
            while len(self._allowed) > MOST_ALLOWED:
                self._allowed.popitem(last=False)

    def image_file(self, image: str) -> Path:
        """Return the file of an image that is in the results of a run.

        Raises
        ------
        LookupError
            If no run contains the image, or its file is gone.
        """
        stores = [default_store(folder) for folder in self.index.folders_of_image(image)]
        if image in self._allowed:
            stores.append(self._allowed[image])
        for store in stores:
            file = stored_file(store, image)
            if file is not None:
                return file
        raise LookupError("there is no such image")


def stored_file(store: Path, image: str) -> Path | None:
    """Return the file of an image in a store; None if there is none.

    Parameters
    ----------
    store
        Folder of the store.
    image
        Id of the image, 64 hexadecimal digits.
    """
    if not is_image_id(image):
        return None
    folder = store / "pictures" / image[:2]
    if folder.is_symlink() or (store / "pictures").is_symlink():
        return None
    files = (folder / f"{image}{suffix}" for suffix in SUFFIXES.values())
    return next(filter(is_regular, files), None)


def intact_bytes(file: Path) -> bytes:
    """Return the content of an image file whose name is its SHA-256.

    Raises
    ------
    UsageError
        If the content has changed.
    """
    data = read_bytes(file, follow=False)
    if sha256(data) != file.stem:
        raise UsageError("the file of the image has changed: its SHA-256 differs")
    return data


def decoded(file: Path) -> Image.Image:
    """Return an image file as an image.

    Raises
    ------
    UsageError
        If it cannot be decoded.
    """
    try:
        return opened(file)
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        raise UsageError("the file of the image cannot be opened") from error


@dataclass
class OverlayCopies:
    """Drawn overlays by the SHA-256 of their content. Only the latest stay in memory."""

    _copies: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, content: bytes) -> str:
        """Keep an overlay, and return its SHA-256."""
        digest = sha256(content)
        with self._lock:
            self._copies[digest] = content
            self._copies.move_to_end(digest)
            while len(self._copies) > MOST_OVERLAYS:
                self._copies.popitem(last=False)
        return digest

    def get(self, digest: str) -> bytes:
        """Return an overlay. Raises LookupError if it is not in memory."""
        return self._copies[digest]
