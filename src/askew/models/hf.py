"""Image models from Hugging Face's inference providers, such as fal, Replicate and Together.

Hugging Face's client returns only the image. Therefore askew cannot know whether a provider used
the seed, rewrote the prompt, or blurred the image for safety. If a provider's response contains the
address of an image, the client downloads the image from this address.
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from PIL import Image

from askew.errors import MissingPackage, ServerError, UnknownName, UsageError
from askew.hosted import (
    ATTEMPTS,
    DEADLINE,
    KEY_VARIABLE,
    USED_UP,
    check_concurrency,
    finished_within,
    pause_after,
    quoted,
    revision_or_month,
    wait_for_attempt,
)
from askew.models.base import Request, Setting
from askew.store.imagefile import SUFFIXES, as_rgb, check_size
from askew.types import Missing

TOKEN_VARIABLE = "HF_TOKEN"
"""Environment variable with the Hugging Face token. askew sends it only to Hugging Face."""

CONCURRENCY = 4
TIMEOUT = 300.0

FIELDS = ("negative_prompt", "width", "height", "num_inference_steps", "guidance_scale")
"""Settings that askew sends as fields of a request."""

FIELD_PREFIX = "field_"
"""Prefix of settings that add other fields to requests, such as provider-specific fields."""

SETTINGS = ("concurrency", "revision", "seeded", "timeout", "url")
"""Settings that askew does not send as fields of a request."""

REFUSALS = re.compile(r"moderat|content.?policy|content.?filter|nsfw|safety", re.IGNORECASE)
"""Pattern for the words in an error message that indicate that the provider refused the prompt."""


class InferenceModel:
    """Image model that one of Hugging Face's inference providers runs.

    Parameters
    ----------
    provider, model
        Names of the provider and of the model.
    url
        Address of a dedicated endpoint to use in place of the provider; "" for none.
    revision
        Revision of the model, as stated by the user.
    seeded
        If true, the seed of each image is sent.
    concurrency
        Number of simultaneous calls.
    timeout
        Seconds after which a request fails if the provider sends no data. The time limit for a
        complete response is `DEADLINE` times this timeout.
    fields
        Additional fields to send in each request.
    """

    batch_size = 1

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        url: str,
        revision: str,
        seeded: bool,
        concurrency: int,
        timeout: float,
        fields: Mapping[str, Setting],
    ) -> None:
        self.name = f"hf/{provider}/{model}"
        self.revision = revision
        self.seeded = seeded
        self.concurrency = concurrency
        settings = dict(fields)
        if seeded:
            settings["seeded"] = True
        self.settings: Mapping[str, Setting] = settings
        self._provider = provider
        self._model = model
        self._url = url
        self._timeout = timeout
        self._token = os.environ.get(KEY_VARIABLE if url else TOKEN_VARIABLE, "").strip()
        self._fields: dict[str, Any] = {name: fields[name] for name in FIELDS if name in fields}
        extra = {
            name.removeprefix(FIELD_PREFIX): value
            for name, value in fields.items()
            if name not in FIELDS
        }
        if extra:
            self._fields["extra_body"] = extra

    @cached_property
    def _client(self) -> Any:
        from huggingface_hub import InferenceClient

        if not (self._token or self._url):
            raise UsageError(
                f"{self.name} needs a Hugging Face token; set the environment variable "
                f"{TOKEN_VARIABLE} to your token"
            )
        provider: Any = "hf-inference" if self._url else self._provider
        return InferenceClient(
            model=self._url or self._model,
            provider=provider,
            token=self._token or "none",  # without a token the client would send a stored login
            timeout=self._timeout,
        )

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an image for each request, or `Missing` if the provider refuses the prompt.

        Raises
        ------
        ServerError
            If the provider returns no image for any other reason.
        """
        return [self._image(request) for request in requests]

    def _image(self, request: Request) -> Image.Image | Missing:
        seed = {"seed": request.seed % 2**32} if self.seeded else {}
        attempt = 1
        while True:
            try:
                return self._answer(request.prompt, {**self._fields, **seed})
            except (ServerError, UsageError):
                raise
            except Exception as error:  # providers' helpers raise all kinds of exceptions
                status = getattr(getattr(error, "response", None), "status_code", None)
                words = self._message(error)
                if status in (400, 403, 422, 451) and REFUSALS.search(words):
                    return Missing("refused", words)
                pause = None if USED_UP.search(words) else _pause(error, status, attempt)
                if pause is None:
                    raise ServerError(f"{self.name}: {words}", status=status) from error
            attempt += 1
            wait_for_attempt(attempt, ATTEMPTS, self.name, status, pause)

    def _answer(self, prompt: str, fields: Mapping[str, Any]) -> Image.Image:
        """Return the provider's image; raise ServerError if the provider takes too long.

        Hugging Face's client opens files in any image format. askew decodes only the formats that
        askew supports, because decoding PostScript would start a process.
        """
        deadline = DEADLINE * self._timeout
        answer = finished_within(deadline, lambda: self._client.text_to_image(prompt, **fields))
        if answer is None:
            raise ServerError(f"{self.name} did not complete its answer within {deadline:g} s")
        image: Image.Image = answer.result()
        if image.format not in SUFFIXES:
            formats = ", ".join(SUFFIXES)
            raise ServerError(f"{self.name} sent no image in one of these formats: {formats}")
        check_size(image)
        return as_rgb(image)

    def _message(self, error: Exception) -> str:
        """Return a provider's message as one line, with the token removed."""
        server_message = getattr(error, "server_message", None)
        text = f"{error} {server_message or ''}"
        return quoted(text, [self._token]) or type(error).__name__

    def unknown_words(self, prompt: str) -> list[str]:
        """Return an empty list, because the words that a hosted model ignores are unknown."""
        return []


def _pause(error: Exception, status: int | None, attempt: int) -> float | None:
    """Return the number of seconds to wait before the next attempt; None if askew gives up."""
    if status is None or attempt >= ATTEMPTS:
        return None
    return pause_after(status, error.response.headers, attempt)  # type: ignore[attr-defined]


def create(
    name: str,
    *,
    url: str = "",
    revision: str = "",
    seeded: bool = False,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    **fields: Setting,
) -> InferenceModel:
    """Create the model for `--model hf/PROVIDER/MODEL`.

    Parameters
    ----------
    name
        Names of the provider and the model, separated by a slash.
    url
        Address of a dedicated endpoint to use in place of the provider.
    revision
        Revision of the model. Defaults to the current month in the form YYYY-MM.
    seeded
        If true, send the seed of each image.
    concurrency
        Number of simultaneous calls.
    timeout
        Seconds to wait for the provider.
    **fields
        Additional fields to send in each request, such as width=1024. `field_NAME` sets any field
        NAME.

    Raises
    ------
    MissingPackage
        If Hugging Face's client is not installed.
    UsageError
        If the name contains no provider or no model, or if a setting is invalid.
    """
    provider, _, model = name.partition("/")
    if not (provider and model):
        raise UsageError(
            f"{name!r} does not name a provider and a model; write --model hf/PROVIDER/MODEL, such "
            "as hf/fal-ai/black-forest-labs/FLUX.1-schnell"
        )
    MissingPackage.unless_installed("huggingface_hub", "models", f"the model 'hf/{name}'")
    check_concurrency(concurrency)
    for field in fields:
        if not field.startswith(FIELD_PREFIX):
            UnknownName.unless_known("setting", field, (*FIELDS, *SETTINGS))
    return InferenceModel(
        provider,
        model,
        url=url,
        revision=revision_or_month(revision),
        seeded=seeded,
        concurrency=concurrency,
        timeout=timeout,
        fields=fields,
    )
