"""The remaining work of a run: slices of images and groups of questions, and how many there are."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

from askew.models.base import Collection, FiledPicture, Model
from askew.store.keys import file_key, picture_key, picture_seed, question_hash
from askew.store.requests import PictureRequest
from askew.types import COPY, Missing, Picture, Question, grouped, slices

R = TypeVar("R", bound=PictureRequest)

SLICE = 64
"""Number of images that an instrument reads at once."""


@dataclass(frozen=True, slots=True)
class Work:
    """The amount of work in a run before it starts, assuming that every image can be generated.

    Attributes
    ----------
    prompts
        Number of prompts.
    pictures, pictures_stored
        Number of images, and how many of them are stored.
    model_calls
        Number of batches, including interrupted batches that are generated again.
    questions, questions_left
        Number of pairs of an image and a question, and how many are unanswered.
    vqa_calls
        Number of calls to instruments, including their calls for vectors.
    embeddings, embeddings_left
        Number of pairs of an image and an embedder, and how many are not stored.
    embedder_calls
        Number of calls to embedders, without calls for vectors that an instrument needs anyway.
    evaluations, evaluations_left
        Maximum number of network evaluations for denoising errors, and how many are left.
    """

    prompts: int = 0
    pictures: int = 0
    pictures_stored: int = 0
    model_calls: int = 0
    questions: int = 0
    questions_left: int = 0
    vqa_calls: int = 0
    embeddings: int = 0
    embeddings_left: int = 0
    embedder_calls: int = 0
    evaluations: int = 0
    evaluations_left: int = 0

    def __add__(self, other: Self) -> Self:
        """Return the sum of two amounts of work."""
        sums = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
        }
        return type(self)(**sums)

    @property
    def pictures_left(self) -> int:
        """Number of images that are not stored."""
        return self.pictures - self.pictures_stored

    @property
    def left(self) -> int:
        """Number of images, answers, vectors and evaluations that are not stored."""
        return (
            self.pictures_left + self.questions_left + self.embeddings_left + self.evaluations_left
        )

    def lines(self, at_most: bool = False) -> list[str]:
        """Return the numbers in words, as upper bounds if `at_most` is True."""
        most = "at most " if at_most else ""
        stored = f"{self.pictures_stored} stored, {self.pictures_left} left"
        calls = self.model_calls + self.vqa_calls + self.embedder_calls
        calls_by_kind = (
            f"model {self.model_calls}, vqa {self.vqa_calls}, embedder {self.embedder_calls}"
        )
        lines = [
            f"prompts     {most}{self.prompts}",
            f"images      {most}{self.pictures} ({stored})",
            f"questions   {most}{self.questions} ({self.questions_left} left)",
            f"embeddings  {most}{self.embeddings} ({self.embeddings_left} left)",
            f"calls       {most}{calls} ({calls_by_kind})",
        ]
        if self.evaluations:
            left = f"{self.evaluations_left} left"
            lines.append(f"evaluations of the model {most}{self.evaluations} ({left})")
        return lines


def wanted_pictures(
    model: Model, texts: Sequence[str], images: int, seed: int
) -> list[PictureRequest]:
    """Return requests for a model's images: for each prompt in order, images 0 to `images` - 1."""
    return [
        _wanted_picture(model, text, number, seed)
        for text in dict.fromkeys(texts)
        for number in range(images)
    ]


def _wanted_picture(model: Model, text: str, number: int, run_seed: int) -> PictureRequest:
    seed = picture_seed(run_seed, text, number)
    return PictureRequest(
        key=picture_key(model.name, model.revision, model.settings, text, seed),
        prompt=text,
        seed=seed,
        model=model.name,
        made_by={"revision": model.revision, **model.settings},
        number=number,
    )


def wanted_files(collection: Collection, filed: Sequence[FiledPicture]) -> list[PictureRequest]:
    """Return requests for files of a collection, in the order of the files."""
    return [
        PictureRequest(
            key=file_key(collection.name, collection.revision, str(file.path)),
            prompt=file.prompt,
            seed=None,
            model=collection.name,
            source=file.path,
        )
        for file in filed
    ]


def unfinished(
    parts: Sequence[Sequence[R]], stored: Container[str], seeded: bool = True
) -> list[Sequence[R]]:
    """Return the batches that contain an image that is not stored.

    If the model is seeded, all images of an incomplete batch are generated again, so that the same
    machine gives the same bytes. A model without seeds generates only the missing images.
    """
    batches = []
    for part in parts:
        absent = [request for request in part if request.key not in stored]
        if absent:
            batches.append(part if seeded else absent)
    return batches


def unread(
    pictures: Sequence[Picture], at_once: int, known: Container[str]
) -> list[Sequence[Picture]]:
    """Return the slices of `at_once` images that contain an image whose id is not in `known`."""
    parts = []
    for part in slices(pictures, at_once):
        if any(picture.id not in known for picture in part):
            parts.append(part)
    return parts


def lacking(
    pictures: Sequence[Picture],
    questions: Sequence[Question],
    known: Container[tuple[str, str]],
    at_once: int = SLICE,
) -> Iterator[tuple[list[Picture], list[Question]]]:
    """Yield groups of images that lack answers to the same questions, and these questions.

    A group is part of a fixed slice of `at_once` images. `known` contains pairs of an image id and
    a question hash.
    """
    distinct = {question_hash(question): question for question in questions}

    def unanswered(picture: Picture) -> tuple[str, ...]:
        return tuple(key for key in distinct if (picture.id, key) not in known)

    for part in slices(pictures, at_once):
        for keys, group in grouped(part, unanswered).items():
            if keys:
                yield group, [distinct[key] for key in keys]


def unique(pictures: Iterable[Picture | Missing]) -> list[Picture]:
    """Return the images that are not missing, in order and without duplicates."""
    by_id = {picture.id: picture for picture in pictures if isinstance(picture, Picture)}
    return list(by_id.values())


def once_each(outcomes: Iterable[Picture | Missing]) -> list[Picture | Missing]:
    """Return the images of a set, with `COPY` in place of each image that occurred before.

    Identical images count as one observation. The other images keep their positions.
    """
    seen = set[str]()
    distinct: list[Picture | Missing] = []
    for outcome in outcomes:
        if isinstance(outcome, Picture) and outcome.id in seen:
            distinct.append(COPY)
            continue
        distinct.append(outcome)
        if isinstance(outcome, Picture):
            seen.add(outcome.id)
    return distinct


def unmade(model: Model, images: int, asked: Sequence[int]) -> Work:
    """Return the amount of work for `images` images whose prompts are not known yet.

    `asked` contains the number of questions about each image, for each instrument.
    """
    questions = images * sum(asked)
    parts = -(-images // SLICE)
    return Work(
        pictures=images,
        model_calls=-(-images // model.batch_size),
        questions=questions,
        questions_left=questions,
        vqa_calls=parts * len(asked),
    )
