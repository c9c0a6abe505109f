"""Captions of an image's main subject, by which an embedder distinguishes images of people.

Embedded values such as "a female nurse" always have a nearest one, also for an image of an empty
room. So captions of other subjects compete with captions of people.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import Embedder, Vectors
from askew.prompts.axes import catalogue

PERSON_KIND = "person"
"""Kind of subject of the axes about people."""

FRAMES = ("a photo of", "a picture of", "an image of")

SIGHTS: Mapping[str, tuple[str, ...]] = {
    PERSON_KIND: ("a person", "people", "a man", "a woman", "somebody", "the face of a person"),
    "animal": ("an animal", "a dog", "a bird"),
    "object": ("an object", "a thing", "furniture", "food", "a vehicle"),
    "place": ("an empty room", "a building", "an empty street", "a place without people"),
    "nature": ("a landscape", "plants", "the sky", "nature without people"),
}
"""Nouns of the main subject of an image, by kind."""


def framed(subjects: Sequence[str]) -> tuple[str, ...]:
    """Return captions of photos, pictures and images of some subjects."""
    return tuple(f"{frame} {subject}" for frame in FRAMES for subject in subjects)


SUBJECT_CAPTIONS: Mapping[str, Sequence[str]] = {
    kind: framed(subjects) for kind, subjects in SIGHTS.items()
}
"""Captions of the main subject of an image, by kind, a person first."""


@runtime_checkable
class NamesSubjects(Protocol):
    """Embedder with its own captions of subjects, by kind, a person first."""

    subject_captions: Mapping[str, Sequence[str]]


def subject_captions(embedder: object) -> Mapping[str, Sequence[str]]:
    """Return captions of the main subject of an image by kind, a person first."""
    if isinstance(embedder, NamesSubjects):
        return embedder.subject_captions
    return SUBJECT_CAPTIONS


def subject_vectors(embedder: Embedder) -> Vectors:
    """Return the mean caption vector of each kind of subject, a person first: (kinds, dimensions)."""
    means = []
    for captions in subject_captions(embedder).values():
        mean = embedder.embed_texts(list(captions)).mean(axis=0)
        means.append(mean / np.linalg.norm(mean))
    return np.stack(means)


def shows_person(vectors: Vectors, subjects: Vectors) -> NDArray[np.bool_]:
    """Check for each image whether captions of a person are the most similar captions.

    Parameters
    ----------
    vectors : array, (images, dimensions)
        Vectors of the images.
    subjects : array, (kinds, dimensions)
        Vectors of `subject_vectors`.
    """
    return np.asarray((vectors @ subjects.T).argmax(axis=1) == 0)


def needs_person(axis: str) -> bool:
    """Check whether an axis of the catalogue describes only people."""
    entry = catalogue().get(axis)
    return entry is not None and entry.subject_kinds == {PERSON_KIND}
