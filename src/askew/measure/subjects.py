"""Captions for main subjects, used by an embedder to decide whether an image shows a person.

If an embedder compares only captions of people, such as "a female nurse", one of these captions is
the best match even for an image of an empty room. Therefore captions of other subjects compete with
captions of people.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import Embedder, Vectors
from askew.prompts.axes import catalogue

PERSON_KIND = "person"
"""Kind of subject that axes about people describe."""

FRAMES = ("a photo of", "a picture of", "an image of")

SIGHTS: Mapping[str, tuple[str, ...]] = {
    PERSON_KIND: ("a person", "people", "a man", "a woman", "somebody", "the face of a person"),
    "animal": ("an animal", "a dog", "a bird"),
    "object": ("an object", "a thing", "furniture", "food", "a vehicle"),
    "place": ("an empty room", "a building", "an empty street", "a place without people"),
    "nature": ("a landscape", "plants", "the sky", "nature without people"),
}
"""Nouns for the main subject of an image, for each kind of subject."""


def framed(subjects: Sequence[str]) -> tuple[str, ...]:
    """Return captions of each subject that begin with "a photo of", "a picture of", etc."""
    return tuple(f"{frame} {subject}" for frame in FRAMES for subject in subjects)


SUBJECT_CAPTIONS: Mapping[str, Sequence[str]] = {
    kind: framed(subjects) for kind, subjects in SIGHTS.items()
}
"""Captions for the main subject of an image, for each kind of subject.

Captions of a person come first.
"""


@runtime_checkable
class NamesSubjects(Protocol):
    """Embedder with custom captions for main subjects, starting with captions of a person."""

    subject_captions: Mapping[str, Sequence[str]]


def subject_captions(embedder: object) -> Mapping[str, Sequence[str]]:
    """Return an embedder's captions for each kind of main subject, starting with a person."""
    if isinstance(embedder, NamesSubjects):
        return embedder.subject_captions
    return SUBJECT_CAPTIONS


def subject_vectors(embedder: Embedder) -> Vectors:
    """Return the mean caption vector of each kind of main subject, starting with a person."""
    means = []
    for captions in subject_captions(embedder).values():
        mean = embedder.embed_texts(list(captions)).mean(axis=0)
        means.append(mean / np.linalg.norm(mean))
    return np.stack(means)


def shows_person(vectors: Vectors, subjects: Vectors) -> NDArray[np.bool_]:
    """Check, for each image, whether captions of a person match the image best.

    Parameters
    ----------
    vectors : array, (images, dimensions)
        Vectors of the images.
    subjects : array, (kinds, dimensions)
        Vectors from `subject_vectors`.
    """
    return np.asarray((vectors @ subjects.T).argmax(axis=1) == 0)


def needs_person(axis: str) -> bool:
    """Check whether an axis of the catalog describes only people."""
    entry = catalogue().get(axis)
    return entry is not None and entry.subject_kinds == {PERSON_KIND}
