"""A run that records which images, answers and vectors a method's gather step needs.

The run generates nothing and records the images in slices. A step is a barrier if it depends on
results that do not exist yet. The work after a barrier belongs to a later round, which is recorded
once these results exist.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from os.path import exists
from typing import Any

import numpy as np

from askew.measure.base import VQA, PictureReader
from askew.models.base import Collection, FiledPicture
from askew.run.base import Answer, FiledOutcomes, L, Maker, Outcome, Rows, T, W
from askew.run.count import CountingRun
from askew.run.inquiries import Inquiry, Reading
from askew.run.progress import StageName
from askew.run.work import SLICE, Work, wanted_files
from askew.store.files import digest_of
from askew.store.keys import question_hash
from askew.store.packs import image_pack_name, path_of
from askew.store.requests import PictureRequest
from askew.store.store import Answers, Store
from askew.types import Missing, Picture, Question, slices


@dataclass(frozen=True, slots=True)
class QuestionTask:
    """Task that uses an instrument to answer questions about images."""

    vqa: VQA
    questions: Sequence[Question]

    @property
    def hashes(self) -> list[str]:
        """Return the hashes of the questions."""
        return [question_hash(question) for question in self.questions]

    @property
    def name(self) -> str:
        """Return the hash that identifies the task."""
        return digest_of(["ask", self.vqa.fingerprint, self.hashes])


@dataclass(frozen=True, slots=True)
class VectorTask:
    """Task that uses a reader to measure images. The measurements are stored as vectors."""

    reader: PictureReader
    stage: StageName
    at_once: int

    @property
    def name(self) -> str:
        """Return the hash that identifies the task."""
        return digest_of(["read", self.reader.fingerprint])


ReadingTask = QuestionTask | VectorTask


@dataclass(frozen=True, slots=True)
class ImageSlice:
    """A slice of images, and all tasks to carry out for each image.

    Attributes
    ----------
    source
        Maker of the images, or the collection that contains them.
    requests
        The requests.
    files
        Collection files, in the order of the requests; empty if a maker generates the images.
    tasks
        Names of each image's tasks, in the order of the requests.
    is_known
        True if the images and the results of all tasks are stored.
    """

    source: Maker[Any] | Collection
    requests: Sequence[PictureRequest]
    files: Sequence[FiledPicture]
    tasks: Sequence[Sequence[str]]
    is_known: bool

    @property
    def name(self) -> str:
        """Return the hash that identifies the slice of images."""
        return image_pack_name(self.requests, getattr(self.source, "sees", frozenset()))

    @property
    def image_path(self) -> str:
        """Return the path of the slice's image pack."""
        return path_of(self.name, "images")

    @property
    def reading_path(self) -> str | None:
        """Return the path of the pack of answers and vectors; None if the slice has no tasks."""
        if not any(self.tasks):
            return None
        return path_of(digest_of(["readings", self.name, list(self.tasks)]), "readings")

    @property
    def paths(self) -> list[str]:
        """Return the paths of the slice's packs."""
        return [path for path in (self.image_path, self.reading_path) if path]


@dataclass(frozen=True, slots=True)
class _WantedSlice:
    """Slice of images, with the image ids that the gather step receives."""

    source: Maker[Any] | Collection
    requests: Sequence[PictureRequest]
    files: Sequence[FiledPicture]
    ids: Sequence[str | None]
    is_stored: bool


class Barrier(Exception):
    """Raised if a step needs results that do not exist yet."""


@dataclass(slots=True)
class _Tasks:
    """All recorded tasks, the tasks for each image, and the images that have unfinished tasks."""

    by_name: dict[str, ReadingTask] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    open_ids: set[str] = field(default_factory=set)

    def add(self, task: ReadingTask, ids: Iterable[str], open_ids: Iterable[str]) -> None:
        """Add a task for some images."""
        self.by_name.setdefault(task.name, task)
        name = task.name
        for image in ids:
            names = self.names.setdefault(image, [])
            if name not in names:
                names.append(name)
        self.open_ids.update(open_ids)


class RecordingRun(CountingRun):
    """Run that records which slices of images a method needs, and which tasks each image needs.

    Parameters
    ----------
    store
        Store that contains the results of earlier rounds.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._wanted_slices: dict[str, _WantedSlice] = {}
        self._tasks = _Tasks()
        self._is_deciding = False
        self._depths: dict[str, int] = {}
        self._postponed: bool | None = None

    @property
    def tasks(self) -> dict[str, ReadingTask]:
        """Return all tasks, keyed by name."""
        return self._tasks.by_name

    @property
    def has_barrier(self) -> bool:
        """Check whether the results of this round may require more images."""
        return bool(self.bounds) or bool(self._depths)

    @property
    def most_further_rounds(self) -> int:
        """Return the maximum number of rounds that follow this round."""
        return self.later_rounds + max(self._depths.values(), default=0)

    def slices(self) -> Iterator[ImageSlice]:
        """Yield the recorded slices in order."""
        for wanted in self._wanted_slices.values():
            names = [self._tasks.names.get(name or "", []) for name in wanted.ids]
            is_read = not any(name in self._tasks.open_ids for name in wanted.ids)
            yield ImageSlice(
                source=wanted.source,
                requests=wanted.requests,
                files=wanted.files,
                tasks=[sorted(of_image) for of_image in names],
                is_known=wanted.is_stored and is_read,
            )

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Return stored images, and placeholders for all other images."""
        outcomes = super().make(maker, wanted)
        premature = [request for request in wanted if _is_premature(request)]
        if premature:
            self._note_depths(premature)
            return outcomes
        for part in slices(wanted, maker.batch_size):
            self._add_slice(maker, part, [], [outcomes[request.key] for request in part])
        return outcomes

    def _note_depths(self, requests: Sequence[PictureRequest]) -> None:
        """Record the number of further rounds needed before these images can be generated."""
        for request in requests:
            sources = [getattr(request, entry.name) for entry in fields(request)]
            depths = [self._depths.get(item.id, 0) for item in sources if isinstance(item, Picture)]
            self._depths[request.key] = 1 + max(depths)

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> FiledOutcomes:
        """Return the images from imported files, and placeholders for all other files."""
        outcomes = super().collect(collection, chosen)
        for part in slices(outcomes, SLICE):
            files = [file for file, _ in part]
            requests = wanted_files(collection, files)
            self._add_slice(collection, requests, files, [outcome for _, outcome in part])
        return outcomes

    def _add_slice(
        self,
        source: Maker[Any] | Collection,
        requests: Sequence[PictureRequest],
        files: Sequence[FiledPicture],
        outcomes: Sequence[Outcome],
    ) -> None:
        ids = [outcome.id if isinstance(outcome, Picture) else None for outcome in outcomes]
        is_stored = all(_is_here(outcome) for outcome in outcomes)
        name = digest_of([request.key for request in requests])
        self._wanted_slices.setdefault(
            name,
            _WantedSlice(
                source=source, requests=requests, files=files, ids=ids, is_stored=is_stored
            ),
        )

    def ask(
        self, vqa: VQA, pictures: Iterable[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Return the stored answers, and `Missing` for questions without a stored answer."""
        answers = super().ask(vqa, pictures, questions)
        hashes = [question_hash(question) for question in questions]
        known = self.store.answers(vqa.fingerprint, answers, questions)
        lacking = [name for name in answers if not _has_all(known, name, hashes)]
        self._tasks.add(QuestionTask(vqa, tuple(questions)), answers, lacking)
        self._stop_at_barrier(bool(lacking))
        return answers

    def ask_all(self, inquiries: Sequence[Inquiry]) -> list[dict[str, list[Answer]]]:
        """Record all inquiries before stopping at a barrier. Return the known answers."""
        with self._recorded_together():
            return super().ask_all(inquiries)

    def read_all(
        self, readings: Sequence[Reading], stage: StageName = "vectors", at_once: int = SLICE
    ) -> list[Rows]:
        """Record all readings before stopping at a barrier. Return the known measurements."""
        with self._recorded_together():
            return super().read_all(readings, stage, at_once)

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """Return the measurements, or empty rows if any measurement is not known."""
        nothing = super().read(reader, pictures, stage, at_once)
        ids = [picture.id for picture in pictures]
        known = self.store.vectors(reader.fingerprint, ids)
        lacking = [name for name in ids if name not in known]
        self._tasks.add(VectorTask(reader, stage, at_once), ids, lacking)
        self._stop_at_barrier(bool(lacking))
        if lacking or not pictures:
            return nothing
        return np.stack([known[name] for name in ids])

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """Apply a function to each item if a decision depends on the results.

        If not, return `Missing`.
        """
        if not self._is_deciding:
            return super().look(lens, items)
        self._stop_at_barrier(not all(_is_here(item) for item in items))
        return [item if isinstance(item, Missing) else lens(item) for item in items]

    def decide(
        self,
        task: str,
        flow: Callable[[], T],
        at_most: Work,
        otherwise: T,
        *,
        rounds: int = 1,
    ) -> T:
        """Return the result of `flow`.

        If `flow` needs missing results, return `otherwise` instead.
        """
        if not self.has_all:
            return super().decide(task, flow, at_most, otherwise, rounds=rounds)
        was_deciding = self._is_deciding
        self._is_deciding = True
        try:
            return flow()
        except Barrier:
            if was_deciding:
                raise
            # the results that the flow needs are made in this round
            return super().decide(task, flow, at_most, otherwise, rounds=rounds - 1)
        finally:
            self._is_deciding = was_deciding

    @contextmanager
    def _recorded_together(self) -> Iterator[None]:
        """Record all requests in a call before stopping at a missing result."""
        self._postponed = False
        try:
            yield
            is_lacking = self._postponed
        finally:
            self._postponed = None
        self._stop_at_barrier(is_lacking)

    def _stop_at_barrier(self, is_lacking: bool) -> None:
        """Stop a step that needs a missing result.

        If stopping is postponed, record that the step must stop later.
        """
        if self._postponed is not None:
            self._postponed |= is_lacking
        elif self._is_deciding and is_lacking:
            raise Barrier


def _has_all(known: Answers, name: str, hashes: Sequence[str]) -> bool:
    """Check whether all questions about an image are answered."""
    return all((name, key) in known for key in hashes)


def _is_here(item: object) -> bool:
    """Check that an item is not a placeholder for an image that must still be generated."""
    return not isinstance(item, Picture) or (bool(item.path) and exists(item.path))


def _is_premature(request: PictureRequest) -> bool:
    """Check whether a request depends on an image that does not exist yet."""
    if type(request) is PictureRequest:
        return False
    return not all(_is_here(getattr(request, entry.name)) for entry in fields(request))
