"""Visual question answering by a vision model on any server with OpenAI's interface (--vqa-url).

Examples are OpenAI, vLLM, Ollama, LM Studio and llama.cpp. The images are sent to the server, so
they leave this machine unless the server runs on it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from askew.errors import ServerError, UsageError
from askew.hosted import (
    OPENAI_URL,
    Server,
    check_concurrency,
    check_model_name,
    revision_or_month,
)
from askew.measure.base import LoggedAnswers
from askew.measure.labeling import image_part, messages_of, read_answers, schema_of, shuffled
from askew.prompts.chat import ChatClient
from askew.prompts.llm import Completion, attempt_seed
from askew.store.files import digest_of
from askew.types import Missing, Picture, Question, slices

VERSION = 1
"""Version of the code that writes requests and parses answers."""

URL_VARIABLE = "ASKEW_VQA_URL"
"""Environment variable with the address of the server."""

UNREADABLE = 10
"""Number of initial answers; if askew can read none of them, it stops."""

MOST_TOGETHER = 32
"""Maximum number of questions in a call."""

SIZES = (32, 4096)
"""Minimum and maximum of `size`, in pixels."""

Detail = Literal["", "low", "high", "auto"]


@dataclass(frozen=True, slots=True)
class LabelingSettings:
    """Settings that can change an answer.

    Attributes
    ----------
    revision
        Revision of the model: a text that the user chose, or the current month.
    size
        Maximum width and maximum height of the images that askew sends, in pixels.
    detail
        Value of the request's field `detail`. If "", requests do not contain this field.
    together
        Maximum number of questions with options per call.
    temperature
        Sampling temperature.
    max_tokens
        Maximum number of tokens in a response.
    """

    revision: str
    size: int = 512
    detail: Detail = ""
    together: int = 1
    temperature: float = 0.0
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        smallest, greatest = SIZES
        if not smallest <= self.size <= greatest:
            raise UsageError(
                f"size is {self.size}; it must be from {smallest} to {greatest} pixels"
            )
        if not 1 <= self.together <= MOST_TOGETHER:
            raise UsageError(f"together is {self.together}; it must be from 1 to {MOST_TOGETHER}")
        if self.temperature < 0 or self.max_tokens < 1:
            raise UsageError("temperature must be at least 0, and max_tokens at least 1")
        if self.detail not in ("", "low", "high", "auto"):
            raise UsageError(f"detail is {self.detail!r}; it must be low, high or auto")

    def words(self) -> str:
        """Return all settings as text."""
        return " ".join(f"{name}={value}" for name, value in asdict(self).items() if value != "")


class HostedVQA:
    """Instrument that asks a vision model on a server.

    By default, each question has a separate call, so that no answer depends on another question. If
    `together` is above 1, several questions with options share a call, which costs less. Each open
    question always has a separate call. The server's address is not part of the fingerprint,
    because askew assumes that a name refers to the same model on every server.

    Parameters
    ----------
    model
        Name of the model on the server.
    server
        The server.
    concurrency
        Number of calls that run at the same time.
    settings
        Settings that can change an answer.
    """

    def __init__(
        self, model: str, server: Server, concurrency: int, settings: LabelingSettings
    ) -> None:
        self.name = f"openai/{model}"
        self.fingerprint = f"openai-vqa/{VERSION} {model} {settings.words()}"
        self.concurrency = concurrency
        self.settings = settings
        self._model = model
        self._server = server
        fields = {
            "model": model,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        self._client = ChatClient(server, fields)
        self._unreadable = 0
        self._has_read = False

    @property
    def separate(self) -> "HostedVQA | None":
        """An instrument that asks one question per call; None if this instrument already does."""
        if self.settings.together == 1:
            return None
        settings = replace(self.settings, together=1)
        return HostedVQA(self._model, self._server, self.concurrency, settings)

    def calls(self, questions: Sequence[Question]) -> int:
        """Return the number of calls that these questions need per image."""
        return len(list(self._groups(questions)))

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list of answers per image, with one answer per question.

        Raises
        ------
        ServerError
            If the server does not respond, or if none of the first answers can be read.
        """
        return [self.logged_answers(picture, questions).answers for picture in pictures]

    def logged_answers(self, picture: Picture, questions: Sequence[Question]) -> LoggedAnswers:
        """Return the answers about an image, with the records of the calls.

        Raises
        ------
        ServerError
            If the server does not respond, or if none of the first answers can be read.
        """
        answers: dict[Question, str | Missing] = {}
        records: dict[str, Mapping[str, Any]] = {}
        image = image_part(picture, self.settings.size, self.settings.detail) if questions else {}
        for group in self._groups(questions):
            asked = [shuffled(picture, question) for question in group]
            record, completion = self._complete(picture, asked, image)
            records[digest_of(record)] = {**record, "answer": asdict(completion)}
            group_answers = read_answers(completion, asked)
            self._check_readable(group_answers)
            answers.update(zip(group, group_answers, strict=True))
        return LoggedAnswers([answers[question] for question in questions], records)

    def _groups(self, questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
        """Yield the questions of each call.

        The calls do not depend on the order of the questions.
        """
        distinct = sorted(set(questions), key=lambda question: (question.text, question.options))
        yield from slices([q for q in distinct if q.options], self.settings.together)
        yield from ([question] for question in distinct if not question.options)

    def _complete(
        self, picture: Picture, questions: Sequence[Question], image: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Completion]:
        """Send a request. Return a record of the request, and the model's response."""
        schema = schema_of(questions)
        seed = attempt_seed(0, 0)
        record = {
            "fingerprint": self.fingerprint,
            "messages": messages_of(questions, {"type": "image", "picture": picture.id}),
            "schema": schema,
            "seed": seed,
        }
        messages = messages_of(questions, image)
        return record, self._client.complete(messages, schema, seed)

    def _check_readable(self, answers: Sequence[str | Missing]) -> None:
        """Raise ServerError if askew cannot read any of the model's first answers."""
        reasons = {answer.reason for answer in answers if isinstance(answer, Missing)}
        if reasons != {"unparseable"}:
            self._has_read = True
        self._unreadable += 1
        if self._has_read or self._unreadable < UNREADABLE:
            return
        first = next(answer for answer in answers if isinstance(answer, Missing))
        raise ServerError(
            f"none of the first {UNREADABLE} answers from {self.name} can be read "
            f"({first.detail}). Use a model that accepts images, or a larger --vqa-arg max_tokens "
            "for a model that reasons before it answers"
        )


def create(
    name: str = "",
    *,
    url: str = "",
    revision: str = "",
    size: int = 512,
    detail: str = "",
    together: int = 1,
    temperature: float = 0.0,
    max_tokens: int = 1024,
    concurrency: int = 4,
    timeout: float = 120.0,
) -> HostedVQA:
    """Return the instrument for `--vqa openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server. The default is $ASKEW_VQA_URL, or OpenAI's address if this variable
        is not set.
    revision
        Revision of the model. Defaults to the current month in the form YYYY-MM.
    size, detail, together, temperature, max_tokens
        As in `LabelingSettings`.
    concurrency
        Number of calls that run at the same time.
    timeout
        Number of seconds to wait for the server.

    Raises
    ------
    UsageError
        If the name is missing, the address is invalid, or a setting is out of range.
    """
    check_model_name("--vqa", name)
    check_concurrency(concurrency)
    settings = LabelingSettings(
        revision=revision_or_month(revision),
        size=size,
        detail=detail,  # type: ignore[arg-type]
        together=together,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    server = Server(url or os.environ.get(URL_VARIABLE) or OPENAI_URL, timeout=timeout)
    return HostedVQA(name, server, concurrency, settings)
