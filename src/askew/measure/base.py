"""What askew asks of the instruments that read pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askew.types import Axis, Missing, Picture, Question

CAPTION = Question("Describe the image in one sentence.")
"""The question whose answer is a caption."""

PERSON = Question("Is there a person in the image (yes or no)?", ("yes", "no"))
"""BiasConnect's filter for pictures in which nobody can be seen (appendix A.3)."""


@runtime_checkable
class VQA(Protocol):
    """Visual question answering.

    `fingerprint` changes whenever an answer could: it names the weights, the code's version and the settings.
    """

    name: str
    fingerprint: str

    def answer(self, pictures: Sequence[Picture], questions: Sequence[Question]) -> list[list[str | Missing]]:
        """Answers by picture, then by question. A question with options gets one of them or a `Missing`."""
        ...


class PictureReader(Protocol):
    """Turns every picture into a vector, float32. `fingerprint` changes whenever a vector could."""

    name: str
    fingerprint: str

    def embed_pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """(pictures, dimensions)."""
        ...


@runtime_checkable
class Evaluator(PictureReader, Protocol):
    """A reader whose work is counted in evaluations of a network: how many every picture takes, at most."""

    evaluations: int


@runtime_checkable
class Embedder(PictureReader, Protocol):
    """A shared embedding of pictures and texts. Rows are unit vectors, float32."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, dimensions)."""
        ...


@runtime_checkable
class Chooser(Protocol):
    """An instrument that cannot write: asked an open question, it names the nearest of what happens to be listed.

    Where that would pass for an answer, it is asked with options that hold one for none of them.
    """

    only_chooses: bool


@runtime_checkable
class VectorVQA(VQA, Protocol):
    """A VQA that knows a picture by its vector alone: where the vector is stored, the picture is not read again."""

    @property
    def embedder(self) -> PictureReader:
        """Whose vectors they are."""

    def answer_vectors(self, vectors: NDArray[np.float32], questions: Sequence[Question]) -> list[list[str | Missing]]:
        """What `answer` gives, for pictures given as their vectors (pictures, dimensions)."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """An instrument whose errors are known."""

    def known_errors(self, axis: Axis) -> NDArray[np.int64] | None:
        """(true values, answered values): counts of its answers on pictures whose truth is known."""
        ...
