"""Amount of work in a run, and its division into batches, slices and groups."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

from askew.models.base import Collection, FiledPicture, Model
from askew.store.keys import file_key, picture_key, picture_seed, question_hash
from askew.store.requests import PictureRequest
from askew.types import COPY, Missing, Picture, Question, grouped, slices

R = TypeVar("R", bound=PictureRequest)

SLICE = 64
"""Number of images that an instrument labels or measures at the same time."""


@dataclass(frozen=True, slots=True)
class Work:
    """Amount of work in a run, assuming that every image can be generated.

    Attributes
    ----------
    prompts
        Number of prompts.
    pictures, pictures_stored
        Number of images, and number of images already stored.
    model_calls
        Number of batches to generate, including interrupted batches that must be generated again.
    questions, questions_left
        Number of image-question pairs, and number of those pairs that have no stored answer.
    vqa_calls
        Number of calls to instruments, including calls that compute vectors.
    embeddings, embeddings_left
        Number of image-embedder pairs, and number of those pairs that have no stored vector.
    embedder_calls
        Number of calls to embedders, excluding the calls that instruments need to answer questions.
    evaluations, evaluations_left
        Maximum number of network evaluations needed to compute denoising errors, and number of
        these evaluations that remain.
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
        """Number of images, answers, vectors and evaluations that remain to be done."""
        return (
            self.pictures_left + self.questions_left + self.embeddings_left + self.evaluations_left
        )

    def lines(self, at_most: bool = False) -> list[str]:
        """Return lines with these numbers. If `at_most` is True, the numbers are upper bounds."""
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
    """Return requests for images 0 to `images` - 1 of each prompt, in the order of the prompts."""
    made_by = {"revision": model.revision, **model.settings}
    wanted = []
    for text in dict.fromkeys(texts):
        for number in range(images):
            image_seed = picture_seed(seed, text, number)
            request = PictureRequest(
                key=picture_key(model.name, model.revision, model.settings, text, image_seed),
                prompt=text,
                seed=image_seed,
                model=model.name,
                made_by=made_by,
                number=number,
            )
            wanted.append(request)
    return wanted


def wanted_files(collection: Collection, filed: Sequence[FiledPicture]) -> list[PictureRequest]:
    """Return an image request for each collection file, in the order of the files."""
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
    """Return the batches that contain at least one image that is not stored.

    If the model is seeded, all images in each of these batches are returned and generated again, so
    that the same machine always produces the same bytes. If the model is not seeded, only the
    missing images are returned.
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
    """Divide images into slices, and return the slices with an image that is not in `known`."""
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
    """Yield groups of images that have the same unanswered questions, each with these questions.

    The images are first divided into slices of `at_once` images. All images in a group belong to
    the same slice. `known` contains pairs of image id and question hash for which the answer is
    known.
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
    """Return the images of a set, with `COPY` in place of each repeated image.

    Thus, identical images count as a single observation, and all other images keep their positions.
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
    """Return the work needed for a number of images whose prompts are not known yet.

    `asked` contains, for each instrument, the number of questions that it answers about an image.
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
