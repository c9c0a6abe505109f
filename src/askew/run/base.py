"""The interface through which a method obtains images, answers and vectors.

`LiveRun` generates everything that is missing from the store. `CountingRun` only counts this work.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.engine.turn import end_turn
from askew.errors import RESUME, AskewError, ModelError
from askew.measure.base import VQA, PictureReader
from askew.models.base import (
    REPORT,
    Collection,
    FiledPicture,
    Model,
    Request,
    Setting,
    is_called,
    is_seeded,
)
from askew.models.prices import ListPrice
from askew.run.inquiries import Inquiry, Reading
from askew.run.progress import Stage, StageName
from askew.run.work import SLICE, Work, once_each, wanted_pictures
from askew.store.completions import Completions
from askew.store.imagefile import EncodedPicture, encode
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Missing, Picture, Question, slices

Outcome = Picture | Missing
Answer = str | Missing
Rows = NDArray[np.float32]
W = TypeVar("W", bound=PictureRequest)
W_contra = TypeVar("W_contra", bound=PictureRequest, contravariant=True)
T = TypeVar("T")
L = TypeVar("L")

FiledOutcomes = list[tuple[FiledPicture, Outcome]]
"""A collection's files, each with its stored image, or with `Missing` if there is no image."""


@dataclass(frozen=True, slots=True)
class MakerOutput:
    """An image from a maker, with measurements taken while the image was generated.

    Attributes
    ----------
    picture
        The image, or `Missing` with the reason why there is no image.
    seen
        Measurements such as attention maps, keyed by fingerprint.
    report
        Details that a server reported about the image, keyed by name.
    """

    picture: EncodedPicture | Missing
    seen: Mapping[str, Rows] = field(default_factory=dict)
    report: Mapping[str, Setting] = field(default_factory=dict)


class Maker(Protocol[W_contra]):
    """A producer of images in batches of a fixed size, such as a model or an editor.

    A maker contains only providers and settings, so it can be sent to another process. Data about a
    single image belong in its request, which is an instance of a subclass of `PictureRequest`.

    A maker may have a method `check`, which may raise UsageError. askew calls this method before it
    generates or writes anything. A maker may also have an attribute `seeded`, as in
    `askew.models.base.Model`. An attribute `concurrency` states how many batches the maker can
    generate in parallel threads.

    Attributes
    ----------
    name
        Name of the provider, as shown in progress and error messages.
    batch_size
        Number of images per batch.
    sees
        Fingerprint of each kind of measurement that the maker returns with its images.
    """

    @property
    def name(self) -> str:
        """Name of the model or editor."""

    @property
    def batch_size(self) -> int:
        """Number of images per batch."""

    @property
    def sees(self) -> frozenset[str]:
        """Fingerprint of each kind of measurement that the maker returns with its images."""

    def make(self, wanted: Sequence[W_contra]) -> Sequence[MakerOutput]:
        """Return one output for each request in a batch, in order."""


class ModelMaker:
    """A maker that generates images with a model and takes no measurements."""

    sees: frozenset[str] = frozenset()

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.batch_size = model.batch_size
        self.seeded = is_seeded(model)
        self.concurrency = int(getattr(model, "concurrency", 1))
        self.is_called = is_called(model)
        self.list_price: ListPrice | None = getattr(model, "list_price", None)

    def make(self, wanted: Sequence[PictureRequest]) -> list[MakerOutput]:
        """Generate one batch of images, and encode them.

        Raises
        ------
        ModelError
            If the model fails, or returns the wrong number of images.
        """
        requests = [
            Request(request.prompt, request.seed or 0, request.number) for request in wanted
        ]
        with provider(self.name, f"generating images of {wanted[0].prompt!r}"):
            images = self.model.generate(requests)
            expect(
                len(images) == len(wanted),
                f"the model returned {len(images)} images for {len(wanted)} requests",
            )
            end_turn()
            return [
                MakerOutput(picture=encoded(image), report=report_of(image)) for image in images
            ]


def _without_seed(outcome: Outcome) -> Outcome:
    return replace(outcome, seed=None) if isinstance(outcome, Picture) else outcome


def report_of(image: object) -> Mapping[str, Setting]:
    """Return the details that a model reported about an image; empty if there are none."""
    info = getattr(image, "info", {})
    return dict(info.get(REPORT, {}))


def encoded(image: object) -> EncodedPicture | Missing:
    """Encode an image from a model as the bytes of an image file.

    Raises
    ------
    ModelError
        If `image` is neither a Pillow image nor Missing.
    """
    if isinstance(image, Missing):
        return image
    if not isinstance(image, Image.Image):
        raise ModelError(
            f"a model must return Pillow images or Missing, not {type(image).__name__}"
        )
    return encode(image)


LASTING = (AssertionError, AttributeError, ImportError, LookupError, TypeError, ValueError)
"""Provider exceptions that would recur if the request were repeated."""

NO_RESUME = (
    "Finished work is kept, but the same request would fail again. Change the settings, or choose "
    "another model"
)


@contextmanager
def provider(name: str, activity: str) -> Iterator[None]:
    """Convert any exception from a provider into a ModelError that states which activity failed."""
    try:
        yield
    except AskewError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        ending = NO_RESUME if isinstance(error, LASTING) else RESUME
        raise ModelError(f"{name} failed while {activity}: {reason}. {ending}") from error


def expect(holds: bool, fault: str) -> None:
    """Raise ValueError with the message `fault` if `holds` is False."""
    if not holds:
        raise ValueError(fault)


class Run(Protocol):
    """Interface for all work that costs time or money. A method may call each function repeatedly.

    No image is generated twice, and no question is asked twice. An engine handles one call at a
    time and divides the call's work into parts. A method should therefore pass as much work as
    possible in one call. For this purpose, `make_all`, `ask_all` and `read_all` take lists.

    Attributes
    ----------
    store
        The store that contains images, answers and vectors.
    """

    store: Store

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Return the requested images, keyed by image key."""

    def make_all(self, maker: Maker[W], wanted: Sequence[Sequence[W]]) -> dict[str, Outcome]:
        """Return the requested images, keyed by image key.

        A batch never contains images from different lists.
        """
        outcomes: dict[str, Outcome] = {}
        for requests in wanted:
            outcomes |= self.make(maker, requests)
        return outcomes

    def pictures(
        self,
        model: Model,
        texts: Sequence[str],
        images: int,
        seed: int,
        separate_batches: bool = False,
    ) -> dict[str, list[Outcome]]:
        """Return `images` images per prompt, keyed by prompt text and ordered by image number.

        An image that is identical to an earlier image for its prompt is replaced with `COPY`.
        Images from unseeded models have no seed, so images for different prompts cannot be paired.

        Parameters
        ----------
        model
            The model.
        texts
            The prompt texts.
        images
            Number of images per text.
        seed
            Run seed.
        separate_batches
            If True, each batch contains only images for one text, as if each text were requested in
            a separate call.
        """
        wanted = wanted_pictures(model, texts, images, seed)
        lists = [wanted]
        if separate_batches:
            lists = [list(of_text) for of_text in slices(wanted, max(images, 1))]
        outcomes = self.make_all(ModelMaker(model), lists)
        if not is_seeded(model):
            outcomes = {key: _without_seed(outcome) for key, outcome in outcomes.items()}
        by_text: dict[str, list[Outcome]] = {}
        for request in wanted:
            by_text.setdefault(request.prompt, []).append(outcomes[request.key])
        return {text: once_each(of_text) for text, of_text in by_text.items()}

    def sent_prompts(
        self, model: Model, texts: Sequence[str], images: int, seed: int
    ) -> dict[str, list[str | None]]:
        """Return the prompts that a server actually used for the images, keyed by prompt text.

        None means that the server used the text itself or did not report a prompt.
        """
        if not is_called(model):
            return {text: [None] * images for text in texts}
        wanted = wanted_pictures(model, texts, images, seed)
        reports = self.store.reports(request.key for request in wanted)
        by_text: dict[str, list[str | None]] = {}
        for request in wanted:
            sent = reports.get(request.key, {}).get("revised_prompt")
            by_text.setdefault(request.prompt, []).append(None if sent is None else str(sent))
        return by_text

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> FiledOutcomes:
        """Return all images in a collection, or only the `chosen` images, in order."""

    def ask(
        self, vqa: VQA, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Return the answers about each image, keyed by image id, in the order of the questions."""

    def ask_all(self, inquiries: Sequence[Inquiry]) -> list[dict[str, list[Answer]]]:
        """Return the answers to each inquiry, in the same form as `ask`."""
        return [self.ask(inquiry.vqa, inquiry.pictures, inquiry.questions) for inquiry in inquiries]

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """Return the reader's measurements of the images as an array of shape (images, numbers)."""

    def read_all(
        self, readings: Sequence[Reading], stage: StageName = "vectors", at_once: int = SLICE
    ) -> list[Rows]:
        """Return the measurements for each reading, in the same form as `read`."""
        return [self.read(reading.reader, reading.pictures, stage, at_once) for reading in readings]

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """Apply a function to each item (an image, a text, a model) without storing the result.

        A missing item stays missing.
        """

    def decide(
        self,
        task: str,
        flow: Callable[[], T],
        at_most: Work,
        otherwise: T,
        *,
        rounds: int = 1,
    ) -> T:
        """Return the result of `flow`, whose work depends on earlier answers.

        A run that only counts work does not call `flow`. Instead, it counts `at_most` as an upper
        bound on the work for `task`, and returns `otherwise`.

        Parameters
        ----------
        task
            Name of the work.
        flow
            Function that carries out the work.
        at_most
            Upper bound on the amount of work.
        otherwise
            Value to return if the run only counts work.
        rounds
            1 plus the maximum number of requests in `flow` that each depend on earlier results of
            `flow`.
        """

    def steps(self, name: StageName, worker: str, total: int) -> AbstractContextManager[Stage]:
        """Report the steps of a long computation, but not the progress within a step."""

    def warn(self, *sentences: str) -> None:
        """Add warnings to the findings. A run that only counts the work ignores warnings."""
        return

    def explain(self, *lines: str) -> None:
        """Add lines to the preview that a run prints when it only counts its work.

        Other runs ignore these lines.
        """
        return

    @property
    def has_all(self) -> bool:
        """True if all images and answers requested so far exist."""
        return True

    def tell(self, sentence: str) -> None:
        """Report a sentence as a progress message, without storing it in the results."""
        return

    @property
    def completions(self) -> Completions:
        """Cached answers of language models, in the store."""
        return Completions(self.store.path)
