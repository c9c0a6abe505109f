"""Protocols for instruments that read images, and base classes for comparing images with texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.store.imagefile import opened
from askew.types import Axis, Missing, Picture, Question, slices

CAPTION = Question("Describe the image in one sentence.")
"""Question that asks for a caption of an image."""

PERSON = Question("Is there a person in the image (yes or no)?", ("yes", "no"))
"""Question for detecting images without a person, from BiasConnect (appendix A.3)."""

Vectors = NDArray[np.float32]


@runtime_checkable
class VQA(Protocol):
    """Visual question answering.

    Attributes
    ----------
    name
        Name of the instrument.
    fingerprint
        Text that changes whenever an answer could change. The fingerprint depends on the weights,
        the code version and the settings.
    """

    name: str
    fingerprint: str

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list of answers per image, with one answer per question.

        The answer to a question with options is one of the options or a `Missing`.
        """


@dataclass(frozen=True, slots=True)
class LoggedAnswers:
    """Answers about an image, and records of the calls that produced the answers.

    Attributes
    ----------
    answers
        Answers in the order of the questions.
    records
        Records of the requests and of the server's responses, keyed by record key.
    """

    answers: list[str | Missing]
    records: Mapping[str, Mapping[str, Any]]


@runtime_checkable
class CalledVQA(VQA, Protocol):
    """VQA that calls a server, so its calls take time and may cost money.

    Attributes
    ----------
    concurrency
        Number of images for which a run sends requests simultaneously.
    """

    concurrency: int

    @property
    def separate(self) -> "CalledVQA | None":
        """Return an instrument that asks one question per call; None if `self` already does."""

    def calls(self, questions: Sequence[Question]) -> int:
        """Return the number of calls that these questions need per image."""

    def logged_answers(self, picture: Picture, questions: Sequence[Question]) -> LoggedAnswers:
        """Return the answers about an image, together with records of the calls."""


class PictureReader(Protocol):
    """Reader that computes a float32 vector from an image.

    The reader's `fingerprint` changes whenever a vector could change.
    """

    name: str
    fingerprint: str

    def embed_pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return vectors (images, dimensions)."""


@runtime_checkable
class Evaluator(PictureReader, Protocol):
    """Reader whose cost is measured as a number of network evaluations.

    Attributes
    ----------
    evaluations
        Maximum number of evaluations per image.
    """

    evaluations: int


@runtime_checkable
class Embedder(PictureReader, Protocol):
    """Embedder that maps images and texts to float32 vectors of unit length in the same space."""

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return vectors (texts, dimensions)."""


@runtime_checkable
class Chooser(Protocol):
    """Instrument that cannot generate text and answers open questions with the nearest value.

    If the nearest value could be mistaken for a real answer, askew adds the option "none of these".
    """

    only_chooses: bool


@runtime_checkable
class VectorVQA(VQA, Protocol):
    """VQA that needs only the vector of an image.

    If the vector is stored, askew does not open the image.
    """

    @property
    def embedder(self) -> PictureReader:
        """Return the reader that computes the vectors."""

    def answer_vectors(
        self, vectors: Vectors, questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return the answers about a batch of images, based on the embedder's vectors."""


@runtime_checkable
class CalibratedInstrument(Protocol):
    """Instrument whose errors are known."""

    def known_errors(self, axis: Axis) -> NDArray[np.int64] | None:
        """Return counts of answers about images with known true values.

        The shape is (true values, answered values). None if the errors on this axis are unknown.
        """


@runtime_checkable
class RatedInstrument(Protocol):
    """Instrument that answers with the label that the majority of its raters gave."""

    def raters(self, axis: str) -> tuple[str, ...]:
        """Return an axis's raters in a fixed order; empty if only one person labeled the axis."""

    def rater_labels(self, picture: Picture, axis: str) -> tuple[str | Missing, ...]:
        """Return each rater's label for an image on an axis. Empty for an unknown image."""


@runtime_checkable
class SampledLabels(Protocol):
    """People's labels for a sample of the images, used to measure the errors of other instruments.

    Attributes
    ----------
    sample_warning
        Warning if some images were more likely to be sampled than others; empty if not.
    """

    @property
    def sample_warning(self) -> str:
        """Warning if some images were more likely to be sampled than others; empty if not."""

    def labeling_errors(
        self, axis: Axis, labels: Mapping[str, str | Missing]
    ) -> NDArray[np.int64] | None:
        """Return, for each true value, the effective counts of the labels that an instrument gave.

        None if no image has both a person's label and a label from the instrument.

        Parameters
        ----------
        axis
            The axis.
        labels
            The instrument's labels, keyed by image id.
        """


MOST_CACHED = 4096
"""Maximum number of vectors that an embedder caches."""


class CachingEmbedder:
    """Embedder that caches the vectors of the most recent images.

    The cache saves time in runs where the VQA and the embedder need the same vectors.
    """

    _embedded: Callable[[list[Image.Image]], Vectors]

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._known: dict[str, Vectors] = {}

    def embed_pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return unit vectors (images, dimensions)."""
        unknown = {picture.id: picture for picture in pictures if picture.id not in self._known}
        for part in slices(list(unknown.values()), self._batch_size):
            rows = self._embedded([opened(picture.path) for picture in part])
            for picture, row in zip(part, rows, strict=True):
                self._known[picture.id] = row
        vectors = np.stack([self._known[picture.id] for picture in pictures])
        for name in list(self._known)[:-MOST_CACHED]:
            del self._known[name]
        return vectors


class ComparingVQA:
    """VQA that compares an image with captions for each possible answer.

    The VQA chooses the answer whose mean caption vector has the largest cosine similarity to the
    image's vector. A subclass implements two methods: `sees_somebody` decides whether a person is
    the main subject of each image, and `_column` answers a question.
    """

    sees_somebody: Callable[[Vectors], NDArray[np.bool_]]
    _column: Callable[[Vectors, Question, NDArray[np.bool_]], list[str | Missing]]

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._means: dict[tuple[str, ...], Vectors] = {}

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list of answers per image, with one answer per question."""
        if not pictures or not questions:
            return [[] for _ in pictures]
        return self.answer_vectors(self.embedder.embed_pictures(pictures), questions)

    def answer_vectors(
        self, vectors: Vectors, questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return answers about images, computed from the embedder's vectors for the images."""
        somebody = self.sees_somebody(vectors)
        columns = [self._column(vectors, question, somebody) for question in questions]
        if not columns:
            return [[] for _ in vectors]
        return [list(row) for row in zip(*columns, strict=True)]

    def _best(self, vectors: Vectors, texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Return, for each image vector, the answer whose mean text vector is closest to it."""
        for wordings in map(tuple, texts.values()):
            if wordings not in self._means:
                mean = self.embedder.embed_texts(wordings).mean(axis=0)
                self._means[wordings] = mean / np.linalg.norm(mean)
        means = np.stack([self._means[tuple(wordings)] for wordings in texts.values()])
        answers = list(texts)
        return [answers[i] for i in (vectors @ means.T).argmax(axis=1)]
