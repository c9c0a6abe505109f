"""An image model behind any server with OpenAI's interface (--model-url): OpenAI, vLLM-Omni, SGLang.

Each call makes one image, so that each answer is stored as soon as it is there. A hosted model has
no revision that askew could know, so the month of the first request is its revision. Most servers
ignore seeds. Their images are kept and never made again. With the setting `seeded` the seed of each
image is sent, for servers that honor it.
"""

import base64
import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from openai.types import ImagesResponse
from PIL import Image, UnidentifiedImageError

from askew.errors import ServerError, UnknownName, UsageError
from askew.hosted import (
    AZURE_VERSION_VARIABLE,
    OPENAI_URL,
    AzureServer,
    Server,
    check_concurrency,
    check_model_name,
    is_azure,
    revision_or_month,
)
from askew.models.base import REPORT, Request, Setting
from askew.store.files import sha256
from askew.store.imagefile import MOST_PIXELS, SUFFIXES, as_rgb
from askew.types import Missing

URL_VARIABLE = "ASKEW_MODEL_URL"
"""Environment variable with the address of the server."""

CONCURRENCY = 4
TIMEOUT = 300.0

OFFICIAL = ("size", "quality", "background", "moderation", "output_format", "complexity")
"""Fields of a request that the official client takes."""

ADDITIONAL = (
    "guidance_scale",
    "negative_prompt",
    "num_inference_steps",
    "output_compression",
    "response_format",
    "safety_identifier",
    "style",
    "user",
)
"""Further known fields, of compatible servers and of older models."""

FIELD_PREFIX = "field_"
"""Beginning of settings for all other fields: `field_cfg=3` adds `cfg` to each request."""

REFUSALS = re.compile(
    r"moderation|content_policy|content_filter|safety|sexual|responsibleai", re.IGNORECASE
)
"""Codes of errors of servers whose filter refuses a prompt or an image."""

SETTINGS = ("api_version", "concurrency", "revision", "seed_bits", "seeded", "timeout", "url")
"""Settings that are not sent as fields of a request."""

SEED_BITS = 63
"""Number of bits of a seed, unless the setting `seed_bits` says otherwise."""

LONGEST_TEXT = 4000
"""Largest number of characters of a reported text."""


class HostedModel:
    """One image model of one server.

    The server's address is not part of the identity of an image: a model's name is assumed to mean
    the same model everywhere.

    Parameters
    ----------
    name
        Name of the model on the server.
    server
        The server.
    revision
        Revision of the model, in the user's words.
    seed_bits
        Number of bits of the seeds that are sent; 0 sends no seed.
    concurrency
        Number of calls at once.
    fields
        Further fields of each request, such as size.
    """

    batch_size = 1

    def __init__(
        self,
        name: str,
        server: Server,
        revision: str,
        seed_bits: int,
        concurrency: int,
        fields: Mapping[str, Setting],
    ) -> None:
        self.name = f"openai/{name}"
        self.revision = revision
        self.seeded = seed_bits > 0
        self.concurrency = concurrency
        settings = dict(fields)
        if self.seeded:
            settings["seed_bits"] = seed_bits
        self.settings: Mapping[str, Setting] = settings
        self._seed_bits = seed_bits
        self._server = server
        self._fields: dict[str, Any] = {"model": name, "n": 1}
        self._fields |= {field: fields[field] for field in OFFICIAL if field in fields}
        self._extra = {
            field.removeprefix(FIELD_PREFIX): value
            for field, value in fields.items()
            if field not in OFFICIAL
        }

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return one image per request, or `Missing` where the server refuses the prompt.

        What the server reported about an image is in its `info`, under `askew.models.base.REPORT`.

        Raises
        ------
        ServerError
            If the server gives no image.
        """
        return [self._image(request) for request in requests]

    def _image(self, request: Request) -> Image.Image | Missing:
        extra: dict[str, Setting] = dict(self._extra)
        if self.seeded:
            extra["seed"] = request.seed % 2**self._seed_bits
        try:
            answer = self._server.image(prompt=request.prompt, extra_body=extra, **self._fields)
        except ServerError as error:
            if error.status in (400, 403, 422) and REFUSALS.search(error.server_code):
                return Missing("refused", error.words)
            raise
        return image_of(answer, request.prompt, self._server.url)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return no words, since the words that a hosted model ignores are unknown."""
        return []


def image_of(answer: ImagesResponse, prompt: str, url: str) -> Image.Image:
    """Return the image of an answer, with the server's report in its `info`.

    Parameters
    ----------
    answer
        The answer, unchecked.
    prompt
        The prompt that was sent.
    url
        Address of the server, for errors.

    Raises
    ------
    ServerError
        If the answer contains no image that can be opened safely.
    """
    try:
        (entry,) = answer.data or []
        if not entry.b64_json and entry.url:
            raise ValueError(
                "an address in place of the image. askew does not open addresses in answers; ask "
                "for the image with -M response_format=b64_json"
            )
        data = base64.b64decode(entry.b64_json or "", validate=True)
        image = opened_safely(data)
        image.info[REPORT] = _report(answer, entry.revised_prompt, prompt, data)
    except UnidentifiedImageError as error:
        formats = ", ".join(SUFFIXES)
        raise ServerError(f"{url} sent no image in one of these formats: {formats}") from error
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        raise ServerError(f"{url} sent no image: {str(error) or repr(error)}") from error
    return image


def opened_safely(data: bytes) -> Image.Image:
    """Return an untrusted image file as RGB image.

    Raises
    ------
    Exception
        If it is not one PNG, JPEG or WebP image of at most `MOST_PIXELS` pixels.
    """
    with Image.open(io.BytesIO(data), formats=tuple(SUFFIXES)) as file:
        if file.width * file.height > MOST_PIXELS:
            raise ValueError(f"{file.width}×{file.height} pixels are more than {MOST_PIXELS}")
        if getattr(file, "n_frames", 1) > 1:
            raise ValueError("an animation, not one image")
        return as_rgb(file)


def _report(
    answer: ImagesResponse, revised: object, prompt: str, data: bytes
) -> dict[str, Setting]:
    """Return what the server reported about an image; fields of unexpected types are left out."""
    report: dict[str, Setting] = {"original": sha256(data)}
    if isinstance(revised, str) and revised.strip() and revised.strip() != prompt:
        report["revised_prompt"] = _clean(revised)
    if isinstance(answer.created, int):
        report["created"] = answer.created
    tokens = getattr(answer.usage, "total_tokens", None)
    if isinstance(tokens, int):
        report["tokens"] = tokens
    request_id = getattr(answer, "_request_id", None)
    if isinstance(request_id, str):
        report["request_id"] = _clean(request_id)
    if b"c2pa" in data:
        report["c2pa"] = True
    return report


def _clean(text: str) -> str:
    """Return a text of a server in one bounded line of valid Unicode."""
    line = " ".join(text.split())[:LONGEST_TEXT]
    return line.encode(errors="replace").decode()


def create(
    name: str,
    *,
    url: str = "",
    revision: str = "",
    seeded: bool = False,
    seed_bits: int = SEED_BITS,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    api_version: str = "",
    **fields: Setting,
) -> HostedModel:
    """Return the model of `--model openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server; by default $ASKEW_MODEL_URL, else OpenAI's.
    revision
        Revision of the model, by default the present month, such as 2026-11.
    seeded
        Send the seed of each image.
    seed_bits
        Number of bits of a seed, for servers that lose bits of large numbers.
    concurrency
        Number of calls at once.
    timeout
        Seconds to wait for the server.
    api_version
        Version of the interface of Azure OpenAI. With it, the name is that of a deployment. By
        default $OPENAI_API_VERSION for addresses of Azure, else none.
    **fields
        Further fields of each request, such as size=1024x1024. `field_NAME` sets any field NAME.

    Raises
    ------
    UnknownName
        For an unknown field.
    UsageError
        For a missing name, a bad address, and impossible settings.
    """
    check_model_name("--model", name)
    check_concurrency(concurrency)
    if not 1 <= seed_bits <= SEED_BITS:
        raise UsageError(f"seed_bits is {seed_bits}; it must be from 1 to {SEED_BITS}")
    for field in fields:
        if not field.startswith(FIELD_PREFIX):
            known = (*OFFICIAL, *ADDITIONAL, *SETTINGS)
            UnknownName.unless_known("setting", field, known)
    return HostedModel(
        name=name,
        server=_server(url or os.environ.get(URL_VARIABLE) or OPENAI_URL, timeout, api_version),
        revision=revision_or_month(revision),
        seed_bits=seed_bits if seeded else 0,
        concurrency=concurrency,
        fields=fields,
    )


def _server(url: str, timeout: float, api_version: str) -> Server:
    """Return the server at an address. An API version means the interface of Azure OpenAI."""
    version = str(api_version)
    if not version and is_azure(url) and not urlsplit(url).path.startswith("/openai/v1"):
        version = os.environ.get(AZURE_VERSION_VARIABLE, "")
    if version:
        return AzureServer(url, version, timeout=timeout)
    return Server(url, timeout=timeout)
