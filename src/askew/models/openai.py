"""Image models on servers with OpenAI's interface (--model-url): OpenAI, vLLM-Omni, SGLang.

Each call generates one image, so that askew can store every image as soon as it arrives. askew
cannot know the revision of a hosted model. Therefore, askew uses the month of the first request as
the revision. Most servers ignore seeds, so askew stores their images and never regenerates them.
For servers that use seeds, the setting `seeded` makes askew send the seed of each image.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from PIL import Image

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
from askew.models.base import EditRequest, Request, Setting
from askew.models.openai_images import as_large_as, image_of, png
from askew.models.prices import list_price
from askew.types import Missing

URL_VARIABLE = "ASKEW_MODEL_URL"
"""Environment variable for the server's address."""

CONCURRENCY = 4
TIMEOUT = 300.0

OFFICIAL = ("size", "quality", "background", "moderation", "output_format", "complexity")
"""Request fields that are parameters of OpenAI's official client."""

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
"""Additional known fields, which compatible servers and older models accept."""

FOR_EDITS = ("input_fidelity",)
"""Additional known fields in requests for edits."""

SEND_STRENGTH = "send_strength"
"""Name of the request field that sends the strength of each edit to the server."""

FIELD_PREFIX = "field_"
"""Prefix of settings that add other fields to requests.

For example, `field_cfg=3` adds `cfg=3` to each request.
"""

REFUSALS = re.compile(
    r"moderation|content_policy|content_filter|safety|sexual|responsibleai", re.IGNORECASE
)
"""Pattern for the error codes that a server returns if its filter refused a prompt or an image."""

SETTINGS = ("api_version", "concurrency", "revision", "seed_bits", "seeded", "timeout", "url")
"""Settings that askew does not send as fields of a request."""

SEED_BITS = 63
"""Default number of bits in a seed. The setting `seed_bits` changes this number."""


@dataclass(frozen=True, slots=True)
class SeedBits:
    """Number of bits in the seeds that are sent to a server.

    Attributes
    ----------
    count
        Number of bits in a seed. If 0, no seed is sent.
    """

    count: int

    def fields(self, seed: int) -> dict[str, Setting]:
        """Return the request field that contains a seed; empty if no seed is sent."""
        return {"seed": seed % 2**self.count} if self.count else {}

    def settings(self) -> dict[str, Setting]:
        """Return the setting `seed_bits`, which affects images; empty if no seed is sent."""
        return {"seed_bits": self.count} if self.count else {}


class HostedModel:
    """Image model on a server.

    askew does not distinguish between servers, because it assumes that a name refers to the same
    model on every server.

    Parameters
    ----------
    name
        Name of the model on the server.
    server
        The server.
    revision
        Revision of the model, as stated by the user.
    seed_bits
        Number of bits in the seeds that are sent. If 0, no seed is sent.
    concurrency
        Number of simultaneous calls.
    fields
        Additional fields to send in each request, such as size.
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
        self.server = server
        self.seed_bits = SeedBits(seed_bits)
        self.given_fields = fields
        self.list_price = list_price(self.name, fields) if server.is_openai else None
        self.settings: Mapping[str, Setting] = {**fields, **self.seed_bits.settings()}
        self._fields: dict[str, Any] = {"model": name, "n": 1}
        self._fields |= {field: fields[field] for field in OFFICIAL if field in fields}
        self._extra = _named_in_request(fields, omitted=OFFICIAL)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an image for each request, or `Missing` if the server refuses the prompt.

        An image's `info` contains the server's report about the image, under the key
        `askew.models.base.REPORT`.

        Raises
        ------
        ServerError
            If the server fails to return an image for any other reason.
        """
        return [self._image(request) for request in requests]

    def _image(self, request: Request) -> Image.Image | Missing:
        extra = self._extra | self.seed_bits.fields(request.seed)
        try:
            answer = self.server.image(prompt=request.prompt, extra_body=extra, **self._fields)
        except ServerError as error:
            return _refusal(error)
        return image_of(answer, request.prompt, self.server.url)

    def editor(self, settings: Mapping[str, Setting]) -> "HostedEditor":
        """Return an editor that uses this model. `settings` override the fields of its requests."""
        return HostedEditor(self, settings)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return an empty list, because the words that a hosted model ignores are unknown."""
        return []


class HostedEditor:
    """Editor that edits images with a model on a server.

    Parameters
    ----------
    model
        The model.
    settings
        Request fields, which override the model's fields. The setting `send_strength` makes askew
        send each edit's strength, for servers that use it.

    Raises
    ------
    UnknownName
        If a field is unknown.
    """

    batch_size = 1

    def __init__(self, model: HostedModel, settings: Mapping[str, Setting]) -> None:
        _check_fields(settings, (SEND_STRENGTH, *FOR_EDITS))
        fields = {**model.given_fields, **settings}
        self.name = model.name
        self.revision = model.revision
        self.seeded = model.seeded
        self.concurrency = model.concurrency
        self.sends_strength = bool(fields.pop(SEND_STRENGTH, False))
        self.settings: Mapping[str, Setting] = {
            **fields,
            **model.seed_bits.settings(),
            **({SEND_STRENGTH: True} if self.sends_strength else {}),
        }
        self._model = model
        self._fields = _named_in_request(fields)

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Check that the server can apply the requested strengths.

        The server checks the size.

        Raises
        ------
        UsageError
            If a strength other than 1 is requested, but strengths are not sent to the server.
        """
        if not self.sends_strength and tuple(strengths) != (1.0,):
            raise UsageError(
                f"{self.name} cannot receive the strength of an edit, since OpenAI's interface has "
                "no field for it. Use --strengths 1, or --edit-arg "
                f"{SEND_STRENGTH}=true for a server that has this field"
            )

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """Return an edited image of the same size as its input, or `Missing`, for each request.

        The result is `Missing` if the server refuses the prompt or the image.

        Raises
        ------
        ServerError
            If the server returns no image, or an image with a different aspect ratio.
        """
        return [self._edit(request) for request in requests]

    def _edit(self, request: EditRequest) -> Image.Image | Missing:
        extra = self._fields | self._model.seed_bits.fields(request.seed)
        if self.sends_strength:
            extra["strength"] = request.strength
        server = self._model.server
        try:
            answer = server.edit(
                model=self.name.partition("/")[2],
                prompt=request.prompt,
                image=("image.png", png(request.picture), "image/png"),
                extra_body={"n": 1, **extra},
            )
        except ServerError as error:
            return _refusal(error)
        image = image_of(answer, request.prompt, server.url)
        return as_large_as(image, request.picture.size, server.url)


def _refusal(error: ServerError) -> Missing:
    """Return the message of a filter that refused a request.

    Other errors are re-raised.
    """
    if error.status in (400, 403, 422) and REFUSALS.search(error.server_code):
        return Missing("refused", error.words)
    raise error


def _named_in_request(
    fields: Mapping[str, Setting], omitted: Sequence[str] = ()
) -> dict[str, Setting]:
    """Return the fields, except `omitted`, keyed by their names in a request."""
    return {
        field.removeprefix(FIELD_PREFIX): value
        for field, value in fields.items()
        if field not in omitted
    }


def _check_fields(fields: Iterable[str], others: Sequence[str]) -> None:
    """Raise UnknownName if a field is neither known nor in `others`."""
    for field in fields:
        if not field.startswith(FIELD_PREFIX):
            UnknownName.unless_known("setting", field, (*OFFICIAL, *ADDITIONAL, *others))


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
    """Create the model for `--model openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server; by default $ASKEW_MODEL_URL or, if it is not set, OpenAI's address.
    revision
        Revision of the model. Defaults to the current month in the form YYYY-MM.
    seeded
        If true, send the seed of each image.
    seed_bits
        Number of bits in a seed. Reduce this number for servers that round large numbers.
    concurrency
        Number of simultaneous calls.
    timeout
        Seconds to wait for the server.
    api_version
        API version of Azure OpenAI. If a version is given, `name` is the name of a
        deployment. Defaults to $OPENAI_API_VERSION for Azure addresses, and to no version for other
        addresses.
    **fields
        Additional fields to send in each request, such as size=1024x1024. `field_NAME` sets any
        field NAME.

    Raises
    ------
    UnknownName
        If a field is unknown.
    UsageError
        If the name is missing, the address is invalid, or a setting is invalid.
    """
    check_model_name("--model", name)
    check_concurrency(concurrency)
    if not 1 <= seed_bits <= SEED_BITS:
        raise UsageError(f"seed_bits is {seed_bits}; it must be from 1 to {SEED_BITS}")
    _check_fields(fields, SETTINGS)
    return HostedModel(
        name=name,
        server=_server(url or os.environ.get(URL_VARIABLE) or OPENAI_URL, timeout, api_version),
        revision=revision_or_month(revision),
        seed_bits=seed_bits if seeded else 0,
        concurrency=concurrency,
        fields=fields,
    )


def _server(url: str, timeout: float, api_version: str) -> Server:
    """Return the server at an address.

    If an API version is given, the server is an Azure OpenAI server.
    """
    version = str(api_version)
    if not version and is_azure(url) and not urlsplit(url).path.startswith("/openai/v1"):
        version = os.environ.get(AZURE_VERSION_VARIABLE, "")
    if version:
        return AzureServer(url, version, timeout=timeout)
    return Server(url, timeout=timeout)
