"""Chat endpoint for labeling images with the studio's visual question answering (VQA) model.

The endpoint accepts requests in the format that `--vqa openai/MODEL` sends: an image, and a text
that contains questions about the image as JSON.
"""

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.errors import AskewError
from askew.measure.labeling import CANNOT_TELL
from askew.measure.studio import StudioVQA, create_vqa
from askew.models.openai_images import opened_safely
from askew.prompts.answers import UnusableAnswer, parse
from askew.prompts.axes import catalogue
from askew.prompts.llm import Completion
from askew.serve.faults import FaultDraws
from askew.serve.forms import bounded_body
from askew.serve.replies import BadRequest, damaged, failure, fault_in_place
from askew.store.files import sha256
from askew.store.foreign import json_value
from askew.types import Missing, Question

MOST_BYTES = 2**25
"""Maximum size of a request, in bytes."""

MISLABEL = "mislabel"
"""Name of the fault that replaces a label with a different label."""

DATA = "data:image/"


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Questions about an image.

    Attributes
    ----------
    image
        Image to label.
    seed
        Seed for the faults. The seed depends only on the image.
    questions
        Questions about the image. An answer is returned under the same key as its question.
    """

    image: Image.Image
    seed: int
    questions: Mapping[str, Question]

    @classmethod
    def read(cls, body: bytes) -> "LabelRequest":
        """Parse the labeling request in the body of an HTTP request.

        Raises
        ------
        BadRequest
            If the body contains no image as a data URI, or no questions as JSON.
        """
        try:
            content = json_value(body)
            parts = content["messages"][-1]["content"]
            text = " ".join(part["text"] for part in parts if part["type"] == "text")
            (address,) = [part["image_url"]["url"] for part in parts if "image_url" in part]
            if not address.startswith(DATA):
                raise ValueError("the image is not a data URI")
            data = base64.b64decode(address.partition(",")[2], validate=True)
            image = opened_safely(data)
            questions = _questions(parse(Completion(text=text)))
        except (UnusableAnswer, RecursionError) as error:
            raise BadRequest(f"the text contains no questions as JSON: {error}") from error
        except Exception as error:  # decoders raise all kinds of exceptions on garbage
            raise BadRequest(f"the request cannot be read: {error!r}") from error
        return cls(image=image, seed=int(sha256(data)[:15], 16), questions=questions)


def _questions(entries: Mapping[str, Any]) -> dict[str, Question]:
    """Return the questions in a request, each with its axis if the axis is known."""
    questions = {}
    for key, entry in entries.items():
        text = str(entry["question"])
        options = tuple(str(option) for option in entry.get("options", ()))
        known = tuple(option for option in options if option != CANNOT_TELL)
        questions[key] = Question(text, known, _axis_of(text, known))
    return questions


def _axis_of(text: str, options: Sequence[str]) -> str | None:
    """Return the name of the axis that a question asks about; None if the question is unknown."""
    for entry in catalogue().values():
        axis = entry.axis
        if text in (question.text for question in axis.questions):
            return axis.name
        if options and set(options) == set(axis.values):
            return axis.name
    return None


class LabelServer:
    """Server that answers questions about images.

    Parameters
    ----------
    draws
        Random draws that decide which faults the server produces.
    vqa
        VQA model that answers the questions; None to load the studio's VQA model on the first
        request.
    """

    def __init__(self, draws: FaultDraws, vqa: StudioVQA | None = None) -> None:
        self._draws = draws
        self._vqa = vqa
        self._turn = threading.Lock()

    async def complete(self, request: HTTPRequest) -> Response:
        """Respond to a request for labels with a chat completion."""
        try:
            body = await bounded_body(request, MOST_BYTES)
            wanted = await run_in_threadpool(LabelRequest.read, body)
        except BadRequest as error:
            return failure(400, str(error))
        asked = " ".join(question.text for question in wanted.questions.values())
        faults = {fault.kind for fault in self._draws.draw(asked, wanted.seed)}
        reply = await fault_in_place(faults)
        if reply is not None:
            return reply
        try:
            labels = await run_in_threadpool(self._labels, wanted)
        except AskewError as error:  # such as options that the studio cannot show
            return failure(400, str(error))
        text = "certainly, let me look" if "garbage" in faults else json.dumps(labels)
        return damaged(json.dumps(_completion(text)).encode(), faults)

    def _labels(self, wanted: LabelRequest) -> dict[str, str]:
        """Return the answers to the questions. Each answer has the same key as its question."""
        with self._turn:
            if self._vqa is None:
                self._vqa = create_vqa("")
            vectors = self._vqa.embedder.embed_images([wanted.image])
            (answers,) = self._vqa.answer_vectors(vectors, list(wanted.questions.values()))
        labels = {}
        for (key, question), answer in zip(wanted.questions.items(), answers, strict=True):
            label = CANNOT_TELL if isinstance(answer, Missing) else answer
            labels[key] = self._mislabeled(label, question, wanted.seed)
        return labels

    def _mislabeled(self, label: str, question: Question, seed: int) -> str:
        """Return the label, or another of the question's options if the fault `mislabel` occurs."""
        others = sorted(set(question.options) - {label})
        kinds = {fault.kind for fault in self._draws.draw(label, seed)}
        if label not in question.options or not others or MISLABEL not in kinds:
            return label
        return others[seed % len(others)]


def _completion(text: str) -> dict[str, Any]:
    """Return a chat completion that contains this text, in OpenAI's format."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-askew",
        "object": "chat.completion",
        "created": 0,
        "model": "studio",
        "choices": [choice],
    }
