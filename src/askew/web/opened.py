"""Runs that the app has loaded, with a cache of their results and access to their image files."""

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
"""Maximum number of runs that the cache keeps in memory."""

MOST_OVERLAYS = 500
"""Maximum number of overlay images that the cache keeps in memory. Each takes about 10 kB."""

MOST_ALLOWED = 2000
"""Maximum number of images from unfinished runs that the app serves."""

MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True)
class OpenedRun:
    """A finished run that the app has loaded.

    Attributes
    ----------
    facts
        Metadata of the run, as recorded in the index.
    result
        Results and files of the run.
    """

    facts: RunFacts
    result: AnyResult

    @property
    def annotations(self) -> Annotations:
        """Label corrections, flags and notes of the user, as read from the run folder."""
        return read_annotations(self.facts.folder)

    @property
    def has_shares(self) -> bool:
        """True if the run has shares that the user's label corrections can change."""
        return isinstance(self.result, AuditResult)

    def page(self, annotations: Annotations, *, with_corrections: bool = True) -> Page:
        """Return the report page of the run.

        Parameters
        ----------
        annotations
            Label corrections, flags and notes that the user has entered.
        with_corrections
            Whether the shares use corrected labels in place of the instruments' labels.

        Raises
        ------
        UsageError
            If the store does not contain the labels that are needed to compute corrected shares.
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
        """Cache of the most recent results with corrected labels."""
        return {}

    @cached_property
    def sets(self) -> Sequence[LabeledSet]:
        """Image sets of the run, with all stored labels."""
        return labeled_sets(self.result)

    @cached_property
    def set_numbers(self) -> Mapping[tuple[str, str], int]:
        """Number of each image set, keyed by prompt and set name."""
        return {(each.prompt, each.name): each.number for each in self.sets}


@dataclass
class OpenedRuns:
    """Cache that keeps the most recently opened runs in memory."""

    index: RunIndex
    _allowed: OrderedDict[str, Path] = field(default_factory=OrderedDict)
    _runs: OrderedDict[tuple[str, str], OpenedRun] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, identity: str) -> OpenedRun:
        """Return the finished run that has this id.

        Raises
        ------
        LookupError
            If the run does not exist.
        UsageError
            If the run is not finished or is damaged.
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
        """Allow the app to serve images from an unfinished run.

        Only the MOST_ALLOWED images that were allowed most recently are served.
        """
        with self._lock:
            for name in images:
                self._allowed[name] = store
                self._allowed.move_to_end(name)
            while len(self._allowed) > MOST_ALLOWED:
                self._allowed.popitem(last=False)

    def image_file(self, image: str) -> Path:
        """Return an image file's path if the image is in a run's results or has been allowed.

        Raises
        ------
        LookupError
            If no run contains the image, or its file no longer exists.
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
    """Return the path of an image file in a store; None if the store does not contain the image.

    Parameters
    ----------
    store
        Folder of the store.
    image
        Id of the image, as 64 hexadecimal digits.
    """
    if not is_image_id(image):
        return None
    folder = store / "pictures" / image[:2]
    if folder.is_symlink() or (store / "pictures").is_symlink():
        return None
    files = (folder / f"{image}{suffix}" for suffix in SUFFIXES.values())
    return next(filter(is_regular, files), None)


def intact_bytes(file: Path) -> bytes:
    """Return the content of an image file, after comparing its checksum with the file name.

    Raises
    ------
    UsageError
        If the SHA-256 checksum of the content differs from the file name.
    """
    data = read_bytes(file, follow=False)
    if sha256(data) != file.stem:
        raise UsageError("the image file has changed: its SHA-256 differs from its name")
    return data


def decoded(file: Path) -> Image.Image:
    """Decode an image file.

    Raises
    ------
    UsageError
        If the file cannot be decoded.
    """
    try:
        return opened(file)
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        raise UsageError("the image file cannot be decoded") from error


@dataclass
class OverlayCopies:
    """Cache that keeps the most recent overlay images in memory, keyed by SHA-256."""

    _copies: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, content: bytes) -> str:
        """Add an overlay image to the cache, and return its SHA-256 checksum."""
        digest = sha256(content)
        with self._lock:
            self._copies[digest] = content
            self._copies.move_to_end(digest)
            while len(self._copies) > MOST_OVERLAYS:
                self._copies.popitem(last=False)
        return digest

    def get(self, digest: str) -> bytes:
        """Return an overlay image. Raise LookupError if the image is not in the cache."""
        return self._copies[digest]
