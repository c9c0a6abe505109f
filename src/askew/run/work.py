"""What a run still has to do: slices of pictures, groups of questions, their exact numbers; who
does it, its budget.
"""

import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

from askew.errors import RunError, UsageError
from askew.models.base import Collection, FiledPicture, Model
from askew.store.keys import file_key, picture_key, picture_seed, question_hash
from askew.store.store import PictureRequest
from askew.types import Missing, Picture, Question, grouped, slices

SLICE = 64
"""Pictures that an instrument reads at once."""

UNITS = {"s": 1, "min": 60, "h": 3600}
TIME = re.compile(r"([\d.]+) ?(s|min|h)")
MONEY = re.compile(r"\$([\d.]+) at \$([\d.]+)")

T = TypeVar("T")

Engine = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Where work is carried out, on this machine or elsewhere: applies a task to items, as `map` does.

Task, items and results must survive pickling, for engines that send them to other processes.
Results come in the order of the items, each as soon as it is there, so that the caller can store it
and stop early. An exception of a task is raised when its result is asked for.
"""


@dataclass(frozen=True, slots=True)
class Work:
    """The size of a run, before it is made, if every picture can be made.

    `questions` and `embeddings` count pairs of a picture and a question or embedder. `model_calls`
    include pictures that are made again because their batch was interrupted. Vectors that a VQA
    answers from belong to its calls; an embedder that shares them is not called again.
    `evaluations`, at most, are those of a network whose errors are read.
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
        """Both works."""
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def pictures_left(self) -> int:
        """Pictures that are not stored yet."""
        return self.pictures - self.pictures_stored

    @property
    def left(self) -> int:
        """Pictures, answers, vectors and evaluations that are not stored yet."""
        return (
            self.pictures_left + self.questions_left + self.embeddings_left + self.evaluations_left
        )

    def lines(self, at_most: bool = False) -> list[str]:
        """The numbers in words; `at_most` where they are upper bounds."""
        most = "at most " if at_most else ""
        calls = self.model_calls + self.vqa_calls + self.embedder_calls
        each = f"model {self.model_calls}, vqa {self.vqa_calls}, embedder {self.embedder_calls}"
        evaluations = (
            f"evaluations of the model {most}{self.evaluations} ({self.evaluations_left} left)"
        )
        return [
            f"prompts     {most}{self.prompts}",
            f"pictures    {most}{self.pictures} ({self.pictures_stored} stored, {self.pictures_left} left)",
            f"questions   {most}{self.questions} ({self.questions_left} left)",
            f"embeddings  {most}{self.embeddings} ({self.embeddings_left} left)",
            f"calls       {most}{calls} ({each})",
            *([evaluations] if self.evaluations else []),
        ]


def wanted_pictures(
    model: Model, texts: Sequence[str], images: int, seed: int
) -> list[PictureRequest]:
    """Every picture wanted of a model: prompts in order, and for each its pictures 0 .. images - 1."""
    seeds = [
        (text, k, picture_seed(seed, text, k))
        for text in dict.fromkeys(texts)
        for k in range(images)
    ]
    made_by = {"revision": model.revision, **model.settings}
    return [
        PictureRequest(
            picture_key(model.name, model.revision, model.settings, text, own),
            text,
            own,
            model.name,
            made_by=made_by,
            number=k,
        )
        for text, k, own in seeds
    ]


def wanted_files(collection: Collection, filed: Sequence[FiledPicture]) -> list[PictureRequest]:
    """Files of a collection, in their order."""
    who = collection.name
    revision = collection.revision
    return [
        PictureRequest(file_key(who, revision, str(one.path)), one.prompt, None, who, one.path)
        for one in filed
    ]


def unfinished(
    parts: Sequence[Sequence[PictureRequest]], stored: Container[str]
) -> list[Sequence[PictureRequest]]:
    """The slices in which any picture is not stored."""
    return [part for part in parts if any(one.key not in stored for one in part)]


def lacking(
    pictures: Sequence[Picture], questions: Sequence[Question], known: Container[tuple[str, str]]
) -> Iterator[tuple[list[Picture], list[Question]]]:
    """Within fixed slices of `pictures`, groups that lack answers to the same questions, and those
    questions.
    """
    distinct = {question_hash(question): question for question in questions}
    for part in slices(pictures, SLICE):
        open_ones = grouped(
            part, lambda picture: tuple(key for key in distinct if (picture.id, key) not in known)
        )
        for keys, group in open_ones.items():
            if keys:
                yield group, [distinct[key] for key in keys]


def unique(pictures: Iterable[Picture | Missing]) -> list[Picture]:
    """The pictures among them, each once, in order."""
    return list({one.id: one for one in pictures if isinstance(one, Picture)}.values())


def unmade(model: Model, images: int, asked: Sequence[int]) -> Work:
    """The size of pictures whose prompts nobody can say yet, of which each instrument is asked so
    many questions.
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


@dataclass(slots=True)
class Budget:
    """At most so many `pictures` or `seconds`; None where that has no bound. `told` is what it was
    given as.
    """

    pictures: int | None = None
    seconds: float | None = None
    told: str = ""
    _begun: float = field(default_factory=time.monotonic, init=False)
    _longest: float = field(default=0.0, init=False)

    @classmethod
    def parse(cls, given: int | str | None) -> Self:
        """Of 500, "500", "90min" or "$5 at $0.02", the price of a picture. Raises UsageError."""
        text = "" if given is None else str(given).strip()
        try:
            match = TIME.fullmatch(text)
            if match:
                return cls(seconds=float(match[1]) * UNITS[match[2]], told=text)
            match = MONEY.fullmatch(text)
            if match:
                count = int(float(match[1]) / float(match[2]) + 1e-9)
                return cls(pictures=count, told=f"{count} pictures ({text})")
            return cls(pictures=int(text), told=f"{int(text)} pictures") if text else cls()
        except (ValueError, ZeroDivisionError):
            raise UsageError(
                f'cannot read the budget {text!r}; write 500 (pictures), "90min", "2h", or "$5 at $0.02" (a picture)'
            ) from None

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of the work. Raises RunError before one that, as long as the longest so far, may
        cross the time.
        """
        now = time.monotonic()
        if self.seconds is not None and now - self._begun + self._longest > self.seconds:
            raise RunError(
                f"the budget of {self.told} is used up; what was made is kept, the same command continues"
            )
        yield
        self._longest = max(self._longest, time.monotonic() - now)
