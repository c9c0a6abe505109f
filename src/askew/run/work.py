"""What a run still has to do: slices of pictures, groups of questions, and their exact numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, PictureReader
from askew.models.base import Collection, FiledPicture, Model
from askew.store.keys import file_key, picture_key, picture_seed, question_hash
from askew.store.store import Store, Wanted
from askew.types import Missing, Picture, Question

SLICE = 64
"""Pictures that an instrument reads at once."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """Questions that a run will ask about the pictures of some prompt texts; `texts` None means all of them."""

    vqa: VQA
    questions: Sequence[Question]
    texts: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """The size of a run, before it is made, if every picture can be made.

    `questions` and `embeddings` count pairs of a picture and a question or embedder. `model_calls` include
    pictures that are made again because their batch was interrupted. Vectors that a VQA answers from belong to its
    calls; an embedder that shares them is not called for these again. `evaluations` are those of a network whose errors
    are read, at most.
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

    def __add__(self, other: Work) -> Work:
        """Both works."""
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def pictures_left(self) -> int:
        """Pictures that are not stored yet."""
        return self.pictures - self.pictures_stored

    @property
    def left(self) -> int:
        """Pictures, answers, vectors and evaluations that are not stored yet."""
        return self.pictures_left + self.questions_left + self.embeddings_left + self.evaluations_left

    @property
    def calls(self) -> int:
        """Calls of the model and of all instruments."""
        return self.model_calls + self.vqa_calls + self.embedder_calls

    def lines(self, at_most: bool = False) -> list[str]:
        """The numbers in words; `at_most` where they are upper bounds."""
        most = "at most " if at_most else ""
        calls = f"model {self.model_calls}, vqa {self.vqa_calls}, embedder {self.embedder_calls}"
        evaluations = f"evaluations of the model {most}{self.evaluations} ({self.evaluations_left} left)"
        return [
            f"prompts     {most}{self.prompts}",
            f"pictures    {most}{self.pictures} ({self.pictures_stored} stored, {self.pictures_left} left)",
            f"questions   {most}{self.questions} ({self.questions_left} left)",
            f"embeddings  {most}{self.embeddings} ({self.embeddings_left} left)",
            f"calls       {most}{self.calls} ({calls})",
            *([evaluations] if self.evaluations else []),
        ]


@dataclass(slots=True)
class Group:
    """Pictures of one slice that lack the same answers; `rows` (pictures, numbers) where these are answered from."""

    pictures: list[Picture]
    questions: list[Question]
    rows: NDArray[np.float32] | None = None


def wanted_pictures(model: Model, texts: Sequence[str], images: int, seed: int) -> list[Wanted]:
    """Every picture wanted of a model: prompts in order, and for each its pictures 0 .. images - 1."""
    wanted = []
    for text in dict.fromkeys(texts):
        for k in range(images):
            own = picture_seed(seed, text, k)
            key = picture_key(model.name, model.revision, model.settings, text, own)
            wanted.append(Wanted(key, text, own, model.name))
    return wanted


def wanted_files(collection: Collection, filed: Sequence[FiledPicture] | None = None) -> list[Wanted]:
    """Files of a collection, in their order; all of them by default."""
    who, revision = collection.name, collection.revision
    return [
        Wanted(file_key(who, revision, str(one.path)), one.prompt, None, who, one.path)
        for one in (collection.pictures() if filed is None else filed)
    ]


def slices(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive parts of `size` items, the last one shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def unfinished(parts: Sequence[Sequence[Wanted]], stored: Container[str]) -> list[Sequence[Wanted]]:
    """The slices in which any picture is not stored."""
    return [part for part in parts if any(one.key not in stored for one in part)]


def lacking(
    pictures: Sequence[Picture], questions: Sequence[Question], known: Container[tuple[str, str]]
) -> Iterator[Group]:
    """Within fixed slices of `pictures`, groups that lack answers to the same questions, and those questions."""
    distinct = {question_hash(question): question for question in questions}
    for part in slices(pictures, SLICE):
        groups: dict[tuple[str, ...], list[Picture]] = {}
        for picture in part:
            open_ones = tuple(key for key in distinct if (picture.id, key) not in known)
            groups.setdefault(open_ones, []).append(picture)
        for keys, group in groups.items():
            if keys:
                yield Group(group, [distinct[key] for key in keys])


def unique(pictures: Iterable[Picture | Missing]) -> list[Picture]:
    """The pictures among them, each once, in order."""
    return list({one.id: one for one in pictures if isinstance(one, Picture)}.values())


def count(
    store: Store,
    model: Model | Collection,
    wanted: Sequence[Wanted],
    asking: Sequence[Asking],
    embedder: PictureReader | None,
) -> Work:
    """The size of a run that needs these pictures, answers and vectors."""
    stored = store.pictures(one.key for one in wanted)
    # a picture that is still to be made stands in by its key, of which no answer is known
    outcomes = {one.key: stored.get(one.key, Picture(one.key, "", one.prompt)) for one in wanted}
    questions, questions_left, vqa_calls = _count_questions(store, wanted, outcomes, asking)
    embeddings, embeddings_left, embedder_calls = _count_embeddings(store, unique(outcomes.values()), embedder)
    return Work(
        prompts=len({one.prompt for one in wanted}),
        pictures=len(wanted),
        pictures_stored=len(stored),
        model_calls=len(unfinished(slices(wanted, model.batch_size), stored)) if isinstance(model, Model) else 0,
        questions=questions,
        questions_left=questions_left,
        vqa_calls=vqa_calls,
        embeddings=embeddings,
        embeddings_left=embeddings_left,
        embedder_calls=embedder_calls,
    )


def unmade(model: Model, images: int, asked: Sequence[int]) -> Work:
    """The size of so many pictures whose prompts nobody can say yet, of which every instrument is asked so many
    questions; they take at least so many calls."""
    questions, parts = images * sum(asked), -(-images // SLICE)
    return Work(pictures=images, model_calls=-(-images // model.batch_size), questions=questions,
                questions_left=questions, vqa_calls=parts * len(asked))  # fmt: skip


def _count_questions(
    store: Store, wanted: Sequence[Wanted], outcomes: Mapping[str, Picture | Missing], asking: Sequence[Asking]
) -> tuple[int, int, int]:
    """Answers wanted, answers left, calls."""
    everything: set[tuple[str, str, str]] = set()
    known: set[tuple[str, str, str]] = set()
    left: set[tuple[str, str, str]] = set()
    calls = 0
    for ask in asking:
        name = ask.vqa.fingerprint
        pictures = unique(outcomes[one.key] for one in wanted if ask.texts is None or one.prompt in ask.texts)
        stored = store.answers(name, (picture.id for picture in pictures), ask.questions)
        known |= {(name, *place) for place in stored}
        everything |= _places(name, pictures, ask.questions)
        groups = list(lacking(pictures, ask.questions, {(one, key) for (who, one, key) in known if who == name}))
        calls += len(groups)
        for group in groups:
            known |= _places(name, group.pictures, group.questions)
            left |= _places(name, group.pictures, group.questions)
    return len(everything), len(left), calls


def _places(name: str, pictures: Sequence[Picture], questions: Sequence[Question]) -> set[tuple[str, str, str]]:
    return {(name, picture.id, question_hash(question)) for picture in pictures for question in questions}


def _count_embeddings(
    store: Store, pictures: Sequence[Picture], embedder: PictureReader | None
) -> tuple[int, int, int]:
    """Vectors wanted, vectors left, calls."""
    if embedder is None:
        return 0, 0, 0
    known = store.vectors(embedder.fingerprint, (picture.id for picture in pictures))
    calls = sum(any(picture.id not in known for picture in part) for part in slices(pictures, SLICE))
    return len(pictures), len(pictures) - len(known), calls
