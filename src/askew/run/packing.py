"""Generate images in slices, ask questions about the images, and write the results as packs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from askew.models.base import Collection
from askew.run.base import Outcome
from askew.run.live import LiveRun
from askew.run.recording import ImageSlice, QuestionTask, ReadingTask
from askew.store.entries import read_bytes
from askew.store.imagefile import EncodedPicture
from askew.store.merge import read_pack, take_images
from askew.store.pack_storage import PackStorage
from askew.store.packs import (
    DamagedPack,
    ImagePack,
    ReadingPack,
    Vector,
    packed_images,
    packed_readings,
)
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Missing, Picture, grouped, slices

SLICES_AT_ONCE = 16
"""Number of slices that are generated before instruments label or measure their images."""


class PackingStore(Store):
    """Temporary store that also writes each slice of images as a pack before it stores the images.

    Only the packs must survive a power failure.

    Parameters
    ----------
    path
        The folder.
    packs
        Folder or bucket to which packs are written.
    """

    def __init__(self, path: Path, packs: PackStorage) -> None:
        super().__init__(path, is_temporary=True)
        self._packs = packs
        self._expected: dict[tuple[str, ...], str] = {}

    def expect(self, part: ImageSlice) -> None:
        """Announce a slice, so that storing its images also writes them as a pack."""
        self._expected[tuple(request.key for request in part.requests)] = part.image_path

    def put_pictures(
        self,
        wanted: Sequence[PictureRequest],
        outcomes: Sequence[EncodedPicture | Missing],
        provenance: Mapping[str, object],
        seen: Sequence[Mapping[str, Vector]] = (),
    ) -> list[Outcome]:
        """Store the outcomes of image requests, and return the outcomes now in the store.

        If another job has meanwhile written a pack for this slice, the images from that pack are
        stored instead.
        """
        keys = [request.key for request in wanted]
        path = self._expected.get(tuple(keys))
        if path is None:
            return super().put_pictures(wanted, outcomes, provenance, seen)
        by_name = {}
        for outcome, rows in zip(outcomes, seen, strict=bool(seen)):
            if isinstance(outcome, EncodedPicture) and rows:
                by_name[outcome.id] = rows
        pack = ImagePack(
            requests=wanted,
            outcomes=outcomes,
            provenance=provenance,
            reports=self.reports(keys),
            seen=by_name,
        )
        valid = self._written(path, pack)
        return super().put_pictures(wanted, valid.outcomes, valid.provenance, valid.rows_seen())

    def _written(self, path: str, pack: ImagePack) -> ImagePack:
        """Write a pack unless one already exists at the path, and return the pack at the path."""
        while not self._packs.put(path, packed_images(pack)):
            existing = self.existing_images(path)
            if existing is not None:
                return existing
        return pack

    def existing_images(self, path: str) -> ImagePack | None:
        """Return the image pack at a path; None if no pack exists there.

        Move a damaged pack away.
        """
        pack = read_pack(self._packs, path)
        if isinstance(pack, DamagedPack):
            self._packs.set_aside(path)
        return pack if isinstance(pack, ImagePack) else None

    def repack(self, part: ImageSlice) -> None:
        """Write the pack for a slice whose images were all stored as parts of other slices."""
        keys = [request.key for request in part.requests]
        stored = self.pictures(keys)
        outcomes = [_encoded(stored[key]) for key in keys]
        pack = ImagePack(requests=part.requests, outcomes=outcomes, reports=self.reports(keys))
        self._written(part.image_path, pack)


def _encoded(outcome: Outcome) -> EncodedPicture | Missing:
    if isinstance(outcome, Missing):
        return outcome
    path = Path(outcome.path)
    return EncodedPicture(read_bytes(path, follow=False), path.suffix)


class SliceMaker:
    """Worker that generates images in slices, asks questions about the images, and writes packs.

    Parameters
    ----------
    live
        The run that generates images and asks the instruments.
    store
        The store of the run.
    packs
        Folder or bucket to which packs are written.
    tasks
        Questions and measurements, keyed by task name.
    """

    def __init__(
        self,
        live: LiveRun,
        store: PackingStore,
        packs: PackStorage,
        tasks: Mapping[str, ReadingTask],
    ) -> None:
        self._live = live
        self._store = store
        self._packs = packs
        self._tasks = tasks

    def make(self, parts: Sequence[ImageSlice], existing: set[str]) -> None:
        """Write the packs of slices. A pack whose path is in `existing` is not written again."""
        name = parts[0].source.name
        with self._live.steps("packs", name, len(parts)) as steps:
            for together in slices(parts, SLICES_AT_ONCE):
                ids_before = self._present_ids()
                self._make_images(together, existing)
                self._make_readings(together, existing)
                self._free(ids_before)
                steps.advance(len(together))

    def _make_images(self, parts: Sequence[ImageSlice], existing: set[str]) -> None:
        """Store the images of slices. askew generates the images that no existing pack contains."""
        absent = []
        for part in parts:
            pack = None
            if part.image_path in existing:
                pack = self._store.existing_images(part.image_path)
            if pack is None:
                self._store.expect(part)
                absent.append(part)
            else:
                take_images(pack, self._store)
        for group in grouped(absent, lambda part: id(part.source)).values():
            self._make_group(group)
        there = self._packs.paths() if absent else set()
        for part in absent:
            if part.image_path not in there:
                self._store.repack(part)

    def _make_group(self, group: Sequence[ImageSlice]) -> None:
        """Generate slices from one source.

        The slices and batches are the same as in a run on a single machine.
        """
        source = group[0].source
        if isinstance(source, Collection):
            self._live.collect(source, [file for part in group for file in part.files])
        else:
            self._live.make_all(source, [part.requests for part in group])

    def _make_readings(self, parts: Sequence[ImageSlice], existing: set[str]) -> None:
        """Carry out all tasks for the images in slices, and write the results as packs."""
        left = [part for part in parts if part.reading_path and part.reading_path not in existing]
        pictures = {id(part): self._store.pictures(_keys(part)) for part in left}
        wanted: dict[str, list[Picture]] = {}
        for part in left:
            for name, picture in _tasks_of(part, pictures[id(part)]):
                wanted.setdefault(name, []).append(picture)
        for name, of_task in wanted.items():
            self._carry_out(self._tasks[name], of_task)
        for part in left:
            pack = self._reading_pack(part, pictures[id(part)])
            self._packs.put(str(part.reading_path), packed_readings(pack))

    def _carry_out(self, task: ReadingTask, pictures: Sequence[Picture]) -> None:
        if isinstance(task, QuestionTask):
            self._live.ask(task.vqa, pictures, task.questions)
        else:
            self._live.read(task.reader, pictures, task.stage, task.at_once)

    def _reading_pack(self, part: ImageSlice, stored: Mapping[str, Outcome]) -> ReadingPack:
        """Return a pack with all stored answers and vectors for a slice."""
        by_task: dict[str, list[str]] = {}
        for name, picture in _tasks_of(part, stored):
            by_task.setdefault(name, []).append(picture.id)
        answers = {}
        questions: dict[str, str] = {}
        vectors: dict[str, dict[str, Vector]] = {}
        for name, ids in sorted(by_task.items()):
            task = self._tasks[name]
            if isinstance(task, QuestionTask):
                for row in self._store.answer_rows(task.vqa.fingerprint, ids, task.hashes):
                    answers[tuple(row[:3])] = row
                texts = [question.text for question in task.questions]
                questions |= dict(zip(task.hashes, texts, strict=True))
            else:
                fingerprint = task.reader.fingerprint
                for image, vector in self._store.vectors(fingerprint, ids).items():
                    vectors.setdefault(image, {})[fingerprint] = vector
        return ReadingPack(
            answers=[answers[place] for place in sorted(answers)],
            questions=questions,
            vectors=vectors,
        )

    def _present_ids(self) -> set[str]:
        return {path.stem for path in self._store.image_files()}

    def _free(self, ids_before: set[str]) -> None:
        """Delete image files whose content is now in packs, so that the disk does not fill up."""
        for path in self._store.image_files():
            if path.stem not in ids_before:
                path.unlink(missing_ok=True)


def _keys(part: ImageSlice) -> list[str]:
    return [request.key for request in part.requests]


def _tasks_of(part: ImageSlice, stored: Mapping[str, Outcome]) -> Iterator[tuple[str, Picture]]:
    """Yield pairs of a task name and an image to which the task applies."""
    for key, names in zip(_keys(part), part.tasks, strict=True):
        picture = stored.get(key)
        if isinstance(picture, Picture):
            for name in names:
                yield name, picture
