"""Starlette app that serves a model through OpenAI-compatible endpoints.

A request without a seed returns a new image each time. A request with a seed returns the image that
the model generates with this seed.
"""

import base64
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from askew.errors import AskewError
from askew.models.base import Model, Request
from askew.run.base import encoded
from askew.serve.edits import EditForm, made_edit, served_editor
from askew.serve.faults import DEFAULT_WORD, Fault, FaultDraws
from askew.serve.forms import bounded_body
from askew.serve.labels import LabelServer
from askew.serve.replies import FAILURES, BadRequest, damaged, failure, fault_in_place
from askew.store.foreign import json_value
from askew.store.imagefile import EncodedPicture
from askew.types import Missing

MOST_IMAGES = 10
"""Maximum number of images per request."""

MOST_BYTES = 2**20
"""Maximum size of a request for images, in bytes."""

MOST_EDIT_BYTES = 2**25
"""Maximum size of an edit request, in bytes. The request contains an image."""

OWNER = "askew"
"""Owner of the model, as reported in the list of models."""


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A request for images.

    Attributes
    ----------
    prompt
        Prompt for the images.
    seeds
        Seeds, one for each image.
    """

    prompt: str
    seeds: tuple[int, ...]

    @classmethod
    def read(cls, body: bytes) -> "ImageRequest":
        """Parse the image request in the body of an HTTP request.

        Raises
        ------
        BadRequest
            If the body cannot be read, or requests something that the server does not support.
        """
        try:
            content = json_value(body)
            prompt = str(content["prompt"])
            count = int(content.get("n") or 1)
            seed = content.get("seed")
            seeds = _seeds(None if seed is None else int(seed), count)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRequest(f"the request cannot be read: {error!r}") from error
        if content.get("response_format") == "url" or content.get("stream"):
            raise BadRequest("this server returns only complete images, as b64_json")
        return cls(prompt, seeds)


def _seeds(first: int | None, count: int) -> tuple[int, ...]:
    """Return the seeds for the images in a request.

    Raises BadRequest if the number of images or the seed is invalid.
    """
    if not 1 <= count <= MOST_IMAGES:
        raise BadRequest(f"n is {count}; it must be from 1 to {MOST_IMAGES}")
    if first is None:
        return tuple(secrets.randbits(62) + 1 for _ in range(count))
    if first < 0:
        raise BadRequest(f"seed is {first}; it must be at least 0")
    return tuple(first + number for number in range(count))


class ImageServer:
    """Server that responds to requests with images from a model.

    Parameters
    ----------
    name
        Name of the model.
    model
        The model. The server generates the images for one request at a time.
    faults
        Faults that the server produces on purpose.
    """

    def __init__(self, name: str, model: Model, faults: Sequence[Fault] = ()) -> None:
        self.name = name
        self._model = model
        self._draws = FaultDraws(faults)
        self._labels = LabelServer(self._draws)
        self._turn = threading.Lock()
        self._editor = served_editor(model)

    def app(self) -> Starlette:
        """Return the Starlette app."""
        return Starlette(
            routes=[
                Route("/v1/images/generations", self.generate, methods=["POST"]),
                Route("/v1/images/edits", self.edit, methods=["POST"]),
                Route("/v1/chat/completions", self._labels.complete, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.models),
            ]
        )

    async def models(self, request: HTTPRequest) -> JSONResponse:
        """Return a description of the model, or a list of models that contains only this model."""
        entry = {"id": self.name, "object": "model", "created": 0, "owned_by": OWNER}
        if "name" in request.path_params:
            return JSONResponse(entry)
        return JSONResponse({"object": "list", "data": [entry]})

    async def generate(self, request: HTTPRequest) -> Response:
        """Respond to a request for images."""
        try:
            wanted = ImageRequest.read(await bounded_body(request, MOST_BYTES))
        except BadRequest as error:
            return failure(400, str(error))

        def images(prompt: str) -> list[EncodedPicture | Missing]:
            return self._generate(prompt, wanted.seeds)

        return await self._answer(wanted.prompt, wanted.seeds[0], images)

    async def edit(self, request: HTTPRequest) -> Response:
        """Respond to a request for an edit of an image."""
        editor = self._editor
        if editor is None:
            return failure(404, f"{self.name} cannot edit images")
        try:
            body = await bounded_body(request, MOST_EDIT_BYTES)
            wanted = EditForm.read(request.headers.get("content-type", ""), body).request
        except BadRequest as error:
            return failure(400, str(error))

        def images(prompt: str) -> list[EncodedPicture | Missing]:
            with self._turn:
                return [made_edit(editor, replace(wanted, prompt=prompt))]

        return await self._answer(wanted.prompt, wanted.seed, images)

    async def _answer(
        self, prompt: str, seed: int, make: Callable[[str], list[EncodedPicture | Missing]]
    ) -> Response:
        """Return the response to a prompt, after applying the faults drawn for this request."""
        faults = {fault.kind: fault for fault in self._draws.draw(prompt, seed)}
        reply = await fault_in_place(faults)
        if reply is not None:
            return reply
        rewritten = None
        if "rewrite" in faults:
            rewritten = f"{prompt}, {faults['rewrite'].word or DEFAULT_WORD}"
        try:
            images = await run_in_threadpool(make, rewritten or prompt)
        except BadRequest as error:
            return failure(400, str(error))
        except AskewError as error:
            return failure(500, str(error))
        if any(isinstance(image, Missing) for image in images):
            return failure(*FAILURES["refuse"])
        data = [_entry(image, rewritten) for image in images if isinstance(image, EncodedPicture)]
        content = {"created": int(time.time()), "data": data, "output_format": "png"}
        return damaged_images(content, faults)

    def _generate(self, prompt: str, seeds: Sequence[int]) -> list[EncodedPicture | Missing]:
        """Return encoded images for a prompt, one for each seed."""
        with self._turn:
            images = self._model.generate([Request(prompt, seed) for seed in seeds])
        return [encoded(image) for image in images]


def damaged_images(content: dict[str, Any], faults: Mapping[str, Fault]) -> Response:
    """Return a response that contains these images, modified by the request's faults."""
    if "garbage" in faults:
        content["data"] = [{"b64_json": base64.b64encode(b"not an image").decode()}]
    if "address" in faults:
        content["data"] = [{"url": "http://169.254.169.254/latest/meta-data"}]
    return damaged(json.dumps(content).encode(), faults)


def _entry(image: EncodedPicture, rewritten: str | None) -> dict[str, str]:
    entry = {"b64_json": base64.b64encode(image.data).decode()}
    if rewritten is not None:
        entry["revised_prompt"] = rewritten
    return entry
