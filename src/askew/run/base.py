"""What a gather asks of a run. `Live` makes what the store lacks; `Count` knows how much that would
be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import AskewError, ModelError
from askew.measure.base import VQA, PictureReader
from askew.models.base import Collection, FiledPicture, Model, Request
from askew.run.progress import Stage, StageName
from askew.run.work import SLICE, Work, wanted_pictures
from askew.store.imagefile import EncodedPicture, encode
from askew.store.store import Completions, PictureRequest, Store
from askew.types import Missing, Picture, Question, grouped

CONTINUES = "the same command continues"

Outcome = Picture | Missing
Answer = str | Missing
Rows = NDArray[np.float32]
W = TypeVar("W", bound=PictureRequest)
W_contra = TypeVar("W_contra", bound=PictureRequest, contravariant=True)
T = TypeVar("T")
L = TypeVar("L")

Filed = list[tuple[FiledPicture, Outcome]]
"""Pictures of a collection, and what became of each."""


@dataclass(frozen=True, slots=True)
class MakerOutput:
    """A picture that was made, or why there is none; and by fingerprint a row of what was seen
    while it was made.
    """

    picture: EncodedPicture | Missing
    seen: Mapping[str, Rows] = field(default_factory=dict)


class Maker(Protocol[W_contra]):
    """Whoever makes pictures, in batches of a fixed size: a model, an editor of pictures.

    A maker can be sent to another process: it holds providers and settings. What it needs for a
    single picture stands in what is wanted, a subclass of `Wanted`. If it has a method `check`,
    that is called before anything is made or written; it raises UsageError. `sees` are fingerprints
    of the rows that it makes beside its pictures.
    """

    @property
    def name(self) -> str: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def sees(self) -> frozenset[str]: ...

    def make(self, wanted: Sequence[W_contra]) -> Sequence[MakerOutput]:
        """One batch, in order."""


class ModelMaker:
    """A model that makes pictures of prompts, and sees nothing beside them."""

    sees: frozenset[str] = frozenset()

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.batch_size = model.batch_size

    def make(self, wanted: Sequence[PictureRequest]) -> list[MakerOutput]:
        """One batch of pictures, encoded."""
        with provider(self.name, f"making pictures of {wanted[0].prompt!r}"):
            images = self.model.generate(
                [Request(one.prompt, one.seed or 0, one.number) for one in wanted]
            )
            expect(
                len(images) == len(wanted),
                f"{len(images)} pictures came back where {len(wanted)} were asked for",
            )
            return [MakerOutput(encoded(image)) for image in images]


def encoded(image: object) -> EncodedPicture | Missing:
    """A picture from a model as bytes to store. Raises ModelError for what is neither a picture nor
    Missing.
    """
    if isinstance(image, Missing):
        return image
    if not isinstance(image, Image.Image):
        raise ModelError(
            f"a model must return Pillow images or Missing, not {type(image).__name__}"
        )
    return encode(image)


@contextmanager
def provider(name: str, doing: str) -> Iterator[None]:
    """Turns whatever a provider raises into ModelError."""
    try:
        yield
    except AskewError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(
            f"{name} failed while {doing}: {reason}. What was done before is kept; {CONTINUES}"
        ) from error


def expect(holds: bool, otherwise: str) -> None:
    """Raises ValueError unless it holds: a provider broke its contract."""
    if not holds:
        raise ValueError(otherwise)


class Run(Protocol):
    """Everything that costs. Each verb may be called as often as a method likes: nothing is made or
    asked twice.
    """

    store: Store

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Every wanted picture by its key."""

    def pictures(
        self, model: Model, texts: Sequence[str], images: int, seed: int
    ) -> dict[str, list[Outcome]]:
        """`images` pictures of each prompt text, by text and in the order of their number."""
        wanted = wanted_pictures(model, texts, images, seed)
        made = self.make(ModelMaker(model), wanted)
        return {
            text: [made[one.key] for one in own]
            for text, own in grouped(wanted, lambda one: one.prompt).items()
        }

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> Filed:
        """Every picture of a collection, or those that are `chosen`, in their order."""

    def ask(
        self, vqa: VQA, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Answers by picture id, in the order of the questions."""

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """What a reader sees in pictures, stored: (pictures, numbers)."""

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """What a lens sees in each item (a picture, a text, a model), not stored; what is missing
        stays missing.
        """

    def decide(self, what: str, flow: Callable[[], T], at_most: Work, otherwise: T) -> T:
        """Work that follows from earlier answers: what `flow` returns; where it is only counted,
        `otherwise`.
        """

    def steps(self, name: StageName, who: str, total: int) -> AbstractContextManager[Stage]:
        """Steps of a longer way, whose progress is told in place of that of what is made on it."""

    def warn(self, *sentences: str) -> None:
        """What a reader of the findings must know; where things are only counted, nobody is told."""
        return

    def tell(self, sentence: str) -> None:
        """What who watches the run may want to know, and no reader of the findings."""
        return

    @property
    def completions(self) -> Completions:
        """Where answers of language models are kept: in the store."""
        return Completions(self.store.path)
