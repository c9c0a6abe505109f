"""Questions and measurements that a method requests in one call, and their division into slices.

Each list is divided as if it were requested in a separate call, so that an instrument receives the
same batches. Work that is part of an earlier list is omitted from later lists.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askew.measure.base import VQA, PictureReader, Vectors
from askew.run.work import SLICE, R, lacking, unfinished, unique, unread
from askew.store.keys import question_hash
from askew.types import Missing, Picture, Question, slices

QuestionGroup = tuple[list[Picture], list[Question]]
"""Images from one slice, and the questions that are unanswered for all of them."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Images, and the questions that an instrument answers about each image.

    Attributes
    ----------
    vqa
        The instrument.
    pictures
        The images. Missing images are omitted.
    questions
        Questions about each image.
    """

    vqa: VQA
    pictures: Sequence[Picture | Missing]
    questions: Sequence[Question]

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the instrument."""
        return self.vqa.fingerprint

    @property
    def present(self) -> list[Picture]:
        """All images that are not missing, without duplicates."""
        return unique(self.pictures)


@dataclass(frozen=True, slots=True)
class Reading:
    """Images that a reader measures.

    Attributes
    ----------
    reader
        The reader.
    pictures
        The images.
    """

    reader: PictureReader
    pictures: Sequence[Picture]

    @property
    def name(self) -> str:
        """Name of the reader."""
        return self.reader.name

    def rows(self, known: Mapping[tuple[str, str], Vectors]) -> Vectors:
        """Return the measurements as an array of shape (images, numbers).

        `known` is keyed by fingerprint and image id.
        """
        if not self.pictures:
            return np.zeros((0, 0), np.float32)
        fingerprint = self.reader.fingerprint
        return np.stack([known[fingerprint, picture.id] for picture in self.pictures])


def unfinished_batches(
    wanted: Sequence[Sequence[R]], size: int, stored: Container[str], seeded: bool
) -> list[Sequence[R]]:
    """Divide lists of requests into batches, and return the batches that are not complete.

    Parameters
    ----------
    wanted
        The lists.
    size
        Number of images per batch.
    stored
        Keys of the images that are stored.
    seeded
        As in `askew.run.work.unfinished`.
    """
    known = set[str]()
    batches: list[Sequence[R]] = []
    for requests in wanted:
        for request in requests:
            if request.key in stored:
                known.add(request.key)
        new = unfinished(slices(requests, size), known, seeded)
        known.update(request.key for batch in new for request in batch)
        batches += new
    return batches


def unanswered(
    inquiries: Sequence[Inquiry], known: Container[tuple[str, str]], at_once: int = SLICE
) -> list[list[QuestionGroup]]:
    """Return, for each inquiry, groups of images that have the same unanswered questions.

    Parameters
    ----------
    inquiries
        Inquiries to one instrument.
    known
        Pairs of image id and question hash for which the answer is known.
    at_once
        Number of images per slice.
    """
    planned = set[tuple[str, str]]()
    by_inquiry = []
    for inquiry in inquiries:
        pictures = inquiry.present
        hashes = [question_hash(question) for question in inquiry.questions]
        pairs = {(picture.id, key) for picture in pictures for key in hashes}
        answered = planned | {pair for pair in pairs if pair in known}
        by_inquiry.append(list(lacking(pictures, inquiry.questions, answered, at_once)))
        planned |= pairs
    return by_inquiry


def unread_slices(
    readings: Sequence[Reading], known: Container[tuple[str, str]], at_once: int
) -> list[Reading]:
    """Divide readings into slices, and return the slices in which a vector is missing.

    Parameters
    ----------
    readings
        The readings.
    known
        Pairs of fingerprint and image id for which the vector is known.
    at_once
        Number of images per slice.
    """
    planned = set[tuple[str, str]]()
    left = []
    for reading in readings:
        fingerprint = reading.reader.fingerprint
        pictures = unique(reading.pictures)
        pairs = {picture.id: (fingerprint, picture.id) for picture in pictures}
        available = {name for name, pair in pairs.items() if pair in known or pair in planned}
        for part in unread(pictures, at_once, available):
            left.append(Reading(reading.reader, part))
        planned.update(pairs.values())
    return left
