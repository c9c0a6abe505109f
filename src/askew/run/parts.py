"""Parts of a run's work (images to generate, questions to ask, and images to measure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

import numpy as np

from askew.environment import environment
from askew.measure.base import VQA, CalledVQA, LoggedAnswers, VectorVQA
from askew.run.base import (
    Answer,
    Maker,
    MakerOutput,
    Outcome,
    Rows,
    W,
    expect,
    provider,
)
from askew.run.budget import Budget
from askew.run.inquiries import QuestionGroup, Reading
from askew.store.completions import Completions
from askew.store.store import Answers, Store
from askew.types import Missing, Picture, Question

MACHINE = ("python", "platform", "packages", "device", "threads")
"""Names of the environment properties that are stored with each image."""

KnownVectors = dict[tuple[str, str], Rows]
"""Vectors, keyed by reader fingerprint and image id."""

QuestionItem = tuple[list[Picture], list[Question], Rows | None]
"""Images, questions about the images, and the images' vectors if the instrument needs them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch of generated images, and details of the machine that generated them.

    Attributes
    ----------
    outputs
        One output per request.
    provenance
        Software versions, platform, device, number format and number of threads on the machine.
    """

    outputs: Sequence[MakerOutput]
    provenance: Mapping[str, object]


def make_batch(maker: Maker[W], wanted: Sequence[W]) -> Batch:
    """Generate a batch of images, and return the batch with details of this machine."""
    outputs = maker.make(wanted)
    machine = environment(provider_fact(maker, "device"))
    facts: dict[str, object] = {name: getattr(machine, name) for name in MACHINE}
    facts["dtype"] = provider_fact(maker, "dtype")
    return Batch(outputs, facts)


class ImageParts(Generic[W]):
    """Work that generates missing images, divided into batches.

    Parameters
    ----------
    store
        Store of the images.
    maker
        The maker of the images.
    parts
        Batches of requests.
    stored
        Outcomes, keyed by image key. The outcomes of finished batches are added to this mapping.
    budget
        Budget that counts the images.
    price
        Price per image in dollars; None if unknown.

    Attributes
    ----------
    device
        Device that generated the latest batch; None if there was no batch or the device is unknown.
    """

    def __init__(
        self,
        store: Store,
        maker: Maker[W],
        parts: Sequence[Sequence[W]],
        stored: dict[str, Outcome],
        budget: Budget,
        price: float | None = None,
    ) -> None:
        self.parts = parts
        self.task = partial(make_batch, maker)
        self.device: object = None
        self._price = price
        self._store = store
        self._maker = maker
        self._stored = stored
        self._budget = budget

    def lock_names(self, part: Sequence[W]) -> tuple[str, ...]:
        """Return the key of the first image."""
        return (part[0].key,)

    def size(self, part: Sequence[W]) -> int:
        """Return the number of images in the batch that were not already stored."""
        return sum(request.key not in self._stored for request in part)

    def is_complete(self, part: Sequence[W]) -> bool:
        """Check whether all images have meanwhile been stored, and use them if so."""
        held = self._store.pictures(request.key for request in part)
        complete = len(held) == len(part)
        if complete:
            self._stored.update(held)
        return complete

    def item(self, part: Sequence[W]) -> Sequence[W]:
        """Return the batch."""
        return part

    def label(self, part: Sequence[W]) -> str:
        """Describe the batch for error messages, using its first prompt."""
        return f"images of {part[0].prompt!r} by {self._maker.name}"

    def save(self, part: Sequence[W], result: Batch) -> None:
        """Store the images, their measurements, and details of the environment."""
        self.device = result.provenance["device"]
        self._budget.add_images(len(part), self._price)
        self._store.put_reports(
            {request.key: out.report for request, out in zip(part, result.outputs, strict=True)}
        )
        outcomes = self._store.put_pictures(
            part,
            [output.picture for output in result.outputs],
            result.provenance,
            [output.seen for output in result.outputs],
        )
        keys = [request.key for request in part]
        self._stored.update(zip(keys, outcomes, strict=True))


def provider_fact(maker: object, name: str) -> str | None:
    """Return an attribute of a maker's model as text; None if the model has no such attribute."""
    value = getattr(getattr(maker, "model", maker), name, None)
    return None if value is None else str(value)


class QuestionParts:
    """Work that gets missing answers, divided into groups of images and questions.

    Parameters
    ----------
    store
        Store of the answers.
    vqa
        The instrument.
    parts
        Groups of images and questions.
    known
        Known answers. The answers from finished groups are added to this mapping.
    vectors
        Vectors, keyed by image id; empty if the instrument does not need vectors.
    """

    def __init__(
        self,
        store: Store,
        vqa: VQA,
        parts: Sequence[QuestionGroup],
        known: Answers,
        vectors: Mapping[str, Rows],
    ) -> None:
        self.parts = parts
        self.task = partial(answer_group, vqa)
        self._store = store
        self._name = vqa.name
        self._fingerprint = vqa.fingerprint
        self._known = known
        self._vectors = vectors

    def lock_names(self, part: QuestionGroup) -> tuple[str, ...]:
        """Return the instrument's fingerprint and the id of the first image."""
        pictures, _ = part
        return (self._fingerprint, pictures[0].id)

    def size(self, part: QuestionGroup) -> int:
        """Return the number of images."""
        pictures, _ = part
        return len(pictures)

    def is_complete(self, part: QuestionGroup) -> bool:
        """Check whether all answers have meanwhile been stored, and use them if so."""
        pictures, questions = part
        held = self._store.answers(self._fingerprint, _ids(pictures), questions)
        complete = len(held) == len(pictures) * len(questions)
        if complete:
            self._known.update(held)
        return complete

    def item(self, part: QuestionGroup) -> QuestionItem:
        """Return the images, the questions, and the image vectors if there are any."""
        pictures, questions = part
        if not self._vectors:
            return pictures, questions, None
        rows = np.stack([self._vectors[picture.id] for picture in pictures])
        return pictures, questions, rows

    def label(self, part: QuestionGroup) -> str:
        """Describe the group for error messages, using its first question and first prompt."""
        pictures, questions = part
        return f"{questions[0].text!r} about images of {pictures[0].prompt!r} by {self._name}"

    def save(self, part: QuestionGroup, result: list[list[Answer]]) -> None:
        """Store the answers."""
        pictures, questions = part
        held = self._store.put_answers(self._fingerprint, _ids(pictures), questions, result)
        self._known.update(held)


def answer_group(vqa: VQA, group: QuestionItem) -> list[list[Answer]]:
    """Return an instrument's answers for a group. If the group contains vectors, they are used.

    Raises
    ------
    ModelError
        If the instrument fails, or returns an invalid answer.
    """
    pictures, questions, vectors = group
    with provider(vqa.name, f"answering {questions[0].text!r}"):
        if isinstance(vqa, VectorVQA) and vectors is not None:
            rows = vqa.answer_vectors(vectors, questions)
        else:
            rows = vqa.answer(pictures, questions)
        fits = len(rows) == len(pictures) and all(len(row) == len(questions) for row in rows)
        expect(fits, "the number of answers does not match the number of images and questions")
        _check_answers(rows, questions)
    return [list(map(_readable, row)) for row in rows]


def _check_answers(rows: Sequence[Sequence[Answer]], questions: Sequence[Question]) -> None:
    """Raise ValueError if an answer is neither one of the question's options nor missing."""
    for row in rows:
        for question, answer in zip(questions, row, strict=True):
            expect(
                _is_answer(answer, question),
                f"{answer!r} is not an answer to {question.text!r}",
            )


class CalledParts:
    """Work on questions that askew sends to a server. Each part concerns one image.

    Parameters
    ----------
    store
        Store for the answers and for records of the calls.
    vqa
        The instrument.
    parts
        Groups that each contain one image and the questions about this image.
    known
        Known answers. The answers from finished parts are added to this mapping.
    budget
        Budget that counts the calls.
    """

    def __init__(
        self,
        store: Store,
        vqa: CalledVQA,
        parts: Sequence[QuestionGroup],
        known: Answers,
        budget: Budget,
    ) -> None:
        self.task = partial(call_group, vqa)
        self._vqa = vqa
        self._questions = QuestionParts(store, vqa, parts, known, {})
        self._completions = Completions(store.path)
        self._budget = budget
        self.parts = parts
        self.lock_names = self._questions.lock_names
        self.size = self._questions.size
        self.is_complete = self._questions.is_complete
        self.label = self._questions.label

    def item(self, part: QuestionGroup) -> QuestionGroup:
        """Return the image and the questions."""
        return part

    def save(self, part: QuestionGroup, result: LoggedAnswers) -> None:
        """Store the records of the calls first, and then the answers."""
        _, questions = part
        self._budget.add_calls(self._vqa.calls(questions))
        self._completions.put_completions(result.records)
        self._questions.save(part, [result.answers])


def call_group(vqa: CalledVQA, group: QuestionGroup) -> LoggedAnswers:
    """Return an instrument's answers about an image, and records of the calls.

    Raises
    ------
    ModelError
        If the instrument fails, or returns an invalid answer.
    """
    (picture,), questions = group
    with provider(vqa.name, f"answering {questions[0].text!r}"):
        logged = vqa.logged_answers(picture, questions)
        _check_answers([logged.answers], questions)
    return LoggedAnswers(list(map(_readable, logged.answers)), logged.records)


def _is_answer(answer: object, question: Question) -> bool:
    if isinstance(answer, Missing):
        return True
    return answer in question.options if question.options else isinstance(answer, str)


def _readable(answer: Answer) -> Answer:
    """Return the answer, or `Missing` if it cannot be encoded as UTF-8."""
    if isinstance(answer, str) and any("\ud800" <= letter <= "\udfff" for letter in answer):
        return Missing("unparseable", f"not valid Unicode: {answer!a}")
    return answer


class VectorParts:
    """Work that computes missing vectors, divided into slices of images.

    Parameters
    ----------
    store
        Store of the vectors.
    parts
        Slices of images, with the reader that measures each slice.
    known
        Known vectors, keyed by reader fingerprint and image id. The vectors from finished slices
        are added to this mapping.
    """

    def __init__(self, store: Store, parts: Sequence[Reading], known: KnownVectors) -> None:
        self.parts = parts
        self.task = embed_slice
        self._store = store
        self._known = known

    def lock_names(self, part: Reading) -> tuple[str, ...]:
        """Return the reader's fingerprint and the id of the first image."""
        return (part.reader.fingerprint, part.pictures[0].id)

    def size(self, part: Reading) -> int:
        """Return the number of images."""
        return len(part.pictures)

    def is_complete(self, part: Reading) -> bool:
        """Load vectors that other processes have stored.

        Check whether all vectors are now known.
        """
        fingerprint = part.reader.fingerprint
        ids = _ids(part.pictures)
        self._add(fingerprint, self._store.vectors(fingerprint, ids))
        return all((fingerprint, name) in self._known for name in ids)

    def item(self, part: Reading) -> Reading:
        """Return the slice."""
        return part

    def label(self, part: Reading) -> str:
        """Describe the slice for error messages, using its first prompt."""
        return f"images of {part.pictures[0].prompt!r} by {part.name}"

    def save(self, part: Reading, result: Rows) -> None:
        """Store the vectors that were not known before."""
        fingerprint = part.reader.fingerprint
        new = {
            picture.id: row
            for picture, row in zip(part.pictures, result, strict=True)
            if (fingerprint, picture.id) not in self._known
        }
        self._store.put_vectors(fingerprint, new)
        self._add(fingerprint, self._store.vectors(fingerprint, new))

    def _add(self, fingerprint: str, vectors: Mapping[str, Rows]) -> None:
        for name, row in vectors.items():
            self._known[fingerprint, name] = row


def embed_slice(part: Reading) -> Rows:
    """Measure the images in a slice, and return an array of shape (images, numbers).

    Raises
    ------
    ModelError
        If the reader fails, or returns an array of a wrong shape or with numbers that are not
        finite.
    """
    with provider(part.reader.name, "reading images"):
        rows = np.asarray(part.reader.embed_pictures(part.pictures), dtype=np.float32)
        has_shape = rows.ndim == 2 and len(rows) == len(part.pictures)
        expect(has_shape, f"the vectors have shape {rows.shape} for {len(part.pictures)} images")
        expect(bool(np.isfinite(rows).all()), "a vector is not finite")
        return rows


class EmbeddingReader:
    """Reader that uses an instrument's embedder to compute image vectors.

    The reader can be sent to other processes if the instrument can.
    """

    def __init__(self, vqa: VectorVQA) -> None:
        self._vqa = vqa
        self.name = vqa.embedder.name
        self.fingerprint = vqa.embedder.fingerprint

    def embed_pictures(self, pictures: Sequence[Picture]) -> Rows:
        """Return the embedder's vectors for the images."""
        return self._vqa.embedder.embed_pictures(pictures)


def _ids(pictures: Sequence[Picture]) -> list[str]:
    return [picture.id for picture in pictures]
