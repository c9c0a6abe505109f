"""The server of one model: OpenAI's images endpoint and its list of models, as a Starlette app.

A request without a seed gets a new image each time. A request with a seed gets the image that the
model makes from this seed.
"""

import asyncio
import base64
import json
import secrets
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from askew.errors import AskewError
from askew.models.base import Model, Request
from askew.run.base import encoded
from askew.serve.faults import DEFAULT_WORD, Fault, FaultDraws
from askew.store.imagefile import EncodedPicture
from askew.types import Missing

MOST_IMAGES = 10
"""Greatest number of images of a request."""

MOST_BYTES = 2**20
"""Greatest size of a request in bytes."""

LARGE = 50 * 2**20
"""Size of the answer of the fault `large` in bytes."""

DRIP = 0.05
"""Seconds between the bytes of the fault `drip`."""

OWNER = "askew"
"""Owner of the model in the list of models."""


class BadRequest(Exception):
    """A request that the server does not accept."""


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A request of images.

    Attributes
    ----------
    prompt
        The prompt.
    seeds
        One seed per image.
    """

    prompt: str
    seeds: tuple[int, ...]

    @classmethod
    def read(cls, body: bytes) -> "ImageRequest":
        """Return the request in a body.

        Raises
        ------
        BadRequest
            If it cannot be read, or asks for something that is not served.
        """
        try:
            content = json.loads(body)
            prompt = str(content["prompt"])
            count = int(content.get("n") or 1)
            seed = content.get("seed")
            seeds = _seeds(None if seed is None else int(seed), count)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadRequest(f"the request cannot be read: {error!r}") from error
        if content.get("response_format") == "url" or content.get("stream"):
            raise BadRequest("this server answers with complete images as b64_json only")
        return cls(prompt, seeds)


def _seeds(first: int | None, count: int) -> tuple[int, ...]:
    """Return the seeds of a request. Raises BadRequest for numbers that are not served."""
    if not 1 <= count <= MOST_IMAGES:
        raise BadRequest(f"n is {count}; it must be from 1 to {MOST_IMAGES}")
    if first is None:
        return tuple(secrets.randbits(62) + 1 for _ in range(count))
    if first < 0:
        raise BadRequest(f"seed is {first}; it must be at least 0")
    return tuple(first + number for number in range(count))


class ImageServer:
    """Answers to the requests of one model.

    Parameters
    ----------
    name
        Name of the model.
    model
        The model. It makes images of one request at a time.
    faults
        Faults that the server shows on purpose.
    """

    def __init__(self, name: str, model: Model, faults: Sequence[Fault] = ()) -> None:
        self.name = name
        self._model = model
        self._draws = FaultDraws(faults)
        self._turn = threading.Lock()

    def app(self) -> Starlette:
        """Return the application."""
        return Starlette(
            routes=[
                Route("/v1/images/generations", self.generate, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.models),
            ]
        )

    async def models(self, request: HTTPRequest) -> JSONResponse:
        """Return the description of the model, or the list of all models, which is one model."""
        entry = {"id": self.name, "object": "model", "created": 0, "owned_by": OWNER}
        if "name" in request.path_params:
            return JSONResponse(entry)
        return JSONResponse({"object": "list", "data": [entry]})

    async def generate(self, request: HTTPRequest) -> Response:
        """Return images of a request."""
        body = await request.body()
        try:
            if len(body) > MOST_BYTES:
                raise BadRequest(f"the request is larger than {MOST_BYTES // 2**20} MB")
            wanted = ImageRequest.read(body)
        except BadRequest as error:
            return failure(400, str(error))
        faults = {fault.kind: fault for fault in self._draws.draw(wanted.prompt, wanted.seeds[0])}
        for kind in faults:
            if kind in FAILURES:
                return failure(*FAILURES[kind])
        if "429" in faults:
            return failure(429, "too many requests", headers={"Retry-After": "0.2"})
        if "redirect" in faults:
            return Response(status_code=307, headers={"Location": "http://127.0.0.1:9/v1"})
        if "hang" in faults:
            await asyncio.sleep(3600)
        return await self._answer(wanted, faults)

    async def _answer(self, wanted: ImageRequest, faults: Mapping[str, Fault]) -> Response:
        """Return the answer with images, damaged if a fault says so."""
        rewritten = None
        if "rewrite" in faults:
            rewritten = f"{wanted.prompt}, {faults['rewrite'].word or DEFAULT_WORD}"
        try:
            images = await run_in_threadpool(
                self._generate, rewritten or wanted.prompt, wanted.seeds
            )
        except AskewError as error:
            return failure(500, str(error))
        if any(isinstance(image, Missing) for image in images):
            return failure(*FAILURES["refuse"])
        data = [_entry(image, rewritten) for image in images if isinstance(image, EncodedPicture)]
        content = {"created": int(time.time()), "data": data, "output_format": "png"}
        return damaged(content, faults)

    def _generate(self, prompt: str, seeds: Sequence[int]) -> list[EncodedPicture | Missing]:
        """Return encoded images of a prompt."""
        with self._turn:
            images = self._model.generate([Request(prompt, seed) for seed in seeds])
        return [encoded(image) for image in images]


FAILURES: Mapping[str, tuple[int, str, str]] = {
    "refuse": (400, "the content filter refused this prompt", "moderation_blocked"),
    "500": (500, "the server failed on purpose", "server_error"),
    "401": (401, "the key is invalid", "invalid_api_key"),
    "quota": (429, "you exceeded your current quota", "insufficient_quota"),
}
"""Status, message and code of faults that are errors."""


def failure(
    status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error in the form that OpenAI's clients read."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, status, headers=headers)


def damaged(content: dict[str, Any], faults: Mapping[str, Fault]) -> Response:
    """Return an answer, damaged if a fault says so."""
    if "garbage" in faults:
        content["data"] = [{"b64_json": base64.b64encode(b"not an image").decode()}]
    if "address" in faults:
        content["data"] = [{"url": "http://169.254.169.254/latest/meta-data"}]
    body = json.dumps(content).encode()
    if "type" in faults:
        return Response("<!doctype html><title>gateway</title>", media_type="text/html")
    if "large" in faults:
        return Response(b" " * LARGE, media_type="application/json")
    if "half" in faults:
        return Response(body[: len(body) // 2], media_type="application/json")
    if "drip" in faults:
        return StreamingResponse(_drip(body), media_type="application/json")
    return Response(body, media_type="application/json")


async def _drip(body: bytes) -> AsyncIterator[bytes]:
    for number in range(len(body)):
        yield body[number : number + 1]
        await asyncio.sleep(DRIP)


def _entry(image: EncodedPicture, rewritten: str | None) -> dict[str, str]:
    entry = {"b64_json": base64.b64encode(image.data).decode()}
    if rewritten is not None:
        entry["revised_prompt"] = rewritten
    return entry
