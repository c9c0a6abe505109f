"""What askew asks of the instruments that read pictures, and what those share that compare pictures
with texts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.store.imagefile import opened
from askew.types import Axis, Missing, Picture, Question, slices

CAPTION = Question("Describe the image in one sentence.")
"""The question whose answer is a caption."""

PERSON = Question("Is there a person in the image (yes or no)?", ("yes", "no"))
"""BiasConnect's filter for pictures in which nobody can be seen (appendix A.3)."""

Vectors = NDArray[np.float32]


@runtime_checkable
class VQA(Protocol):
    """Visual question answering. `fingerprint` changes whenever an answer could: it names the
    weights, the code's version and the settings.
    """

    name: str
    fingerprint: str

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Answers by picture, then by question. A question with options gets one of them or a
        `Missing`.
        """


class PictureReader(Protocol):
    """Turns every picture into a vector, float32. `fingerprint` changes whenever a vector could."""

    name: str
    fingerprint: str

    def embed_pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """(pictures, dimensions)."""


@runtime_checkable
class Evaluator(PictureReader, Protocol):
    """A reader whose work is counted in evaluations of a network: how many every picture takes, at
    most.
    """

    evaluations: int


@runtime_checkable
class Embedder(PictureReader, Protocol):
    """A shared embedding of pictures and texts. Rows are unit vectors, float32."""

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimensions)."""


@runtime_checkable
class Chooser(Protocol):
    """An instrument that cannot write: asked an open question, it names the nearest of what happens
    to be listed. Where that would pass for an answer, it is asked with options that hold one for
    none of them.
    """

    only_chooses: bool


@runtime_checkable
class VectorVQA(VQA, Protocol):
    """A VQA that knows a picture by its vector alone: where the vector is stored, the picture is
    not read again.
    """

    @property
    def embedder(self) -> PictureReader:
        """Whose vectors they are."""

    def answer_vectors(
        self, vectors: Vectors, questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """What `answer` gives, for pictures given as their vectors (pictures, dimensions)."""


@runtime_checkable
class CalibratedInstrument(Protocol):
    """An instrument whose errors are known."""

    def known_errors(self, axis: Axis) -> NDArray[np.int64] | None:
        """(true values, answered values): counts of its answers on pictures whose truth is known."""


class CachingEmbedder:
    """An embedder that remembers vectors by picture, since VQA and embedder ask for the same ones."""

    _embedded: Callable[[list[Image.Image]], Vectors]

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._known: dict[str, Vectors] = {}

    def embed_pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """(pictures, dimensions), unit rows."""
        new = list(
            {picture.id: picture for picture in pictures if picture.id not in self._known}.values()
        )
        for part in slices(new, self._batch_size):
            rows = self._embedded([opened(picture.path) for picture in part])
            self._known.update(zip((picture.id for picture in part), rows, strict=True))
        return np.stack([self._known[picture.id] for picture in pictures])


class ComparingVQA:
    """Answers by comparing a picture with captions that say each possible answer: the cosine of
    their mean decides. A kind says whether each picture shows a person above all, and what answers
    one question per picture.
    """

    sees_somebody: Callable[[Vectors], NDArray[np.bool_]]
    _column: Callable[[Vectors, Question, NDArray[np.bool_]], list[str | Missing]]

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._means: dict[tuple[str, ...], Vectors] = {}

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Answers by picture, then by question."""
        if not pictures or not questions:
            return [[] for _ in pictures]
        return self.answer_vectors(self.embedder.embed_pictures(pictures), questions)

    def answer_vectors(
        self, vectors: Vectors, questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Answers for one picture or more, given as the embedder's vectors (pictures, dimensions)."""
        somebody = self.sees_somebody(vectors)
        columns = [self._column(vectors, question, somebody) for question in questions]
        return (
            [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in vectors]
        )

    def _best(self, vectors: Vectors, texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Per picture the answer whose texts, each a unit vector, fit best by their mean."""
        for wordings in map(tuple, texts.values()):
            if wordings not in self._means:
                mean = self.embedder.embed_texts(wordings).mean(axis=0)
                self._means[wordings] = mean / np.linalg.norm(mean)
        means = np.stack([self._means[tuple(wordings)] for wordings in texts.values()])
        return [list(texts)[i] for i in (vectors @ means.T).argmax(axis=1)]
