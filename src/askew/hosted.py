"""Models behind a server that speaks OpenAI's interface: its key, and what its failures mean to a
user.

vLLM, Ollama, llama.cpp and hosted services do. The address is that of the version, such as
http://localhost:11434/v1. OpenAI's own client sends the requests and repeats them where that helps.
"""

import json
import os
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from openai.types.chat import ChatCompletion

from askew.errors import ServerError, UsageError

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "ASKEW_API_KEY"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variables with the key. The second is only ever sent to OpenAI's own server."""

ATTEMPTS = 6
SILENCES = 2
"""How often a request is sent at most, and how often a server may be silent until the timeout: then
it hangs.
"""
LARGEST = 2**25
"""Bytes of an answer, at most: 32 MB."""


class Server:
    """One server. Safe to use from several threads. Raises UsageError for an address that is none.

    `timeout` is in seconds, for every silence of the server. Requests are sent at most `attempts`
    times: after a lost connection, 429 (too many requests) and errors of the server, each time
    after a longer pause or the one that the server asks for (Retry-After, up to two minutes); after
    a timeout once more.
    """

    def __init__(
        self, url: str = OPENAI_URL, *, timeout: float = 120.0, attempts: int = ATTEMPTS
    ) -> None:
        self.url = url.rstrip("/")
        self._is_openai = _host(url) == _host(OPENAI_URL)
        if timeout <= 0 or attempts < 1:
            raise UsageError("timeout and attempts must be greater than 0")
        self._timeout = timeout
        self._attempts = attempts
        self._key = _key(KEY_VARIABLE) or (_key(OPENAI_KEY_VARIABLE) if self._is_openai else "")

    @cached_property
    def _client(self) -> openai.OpenAI:
        careful = _BoundedClient(follow_redirects=False, headers={"Accept-Encoding": "identity"})
        return openai.OpenAI(
            base_url=self.url,
            api_key=self._key or "none",
            timeout=self._timeout,
            max_retries=self._attempts - 1,
            http_client=careful,
        )

    def chat(self, **fields: Any) -> ChatCompletion:
        """What the server answers to a conversation, unchecked: a field may lack or be of another
        type.

        Raises ServerError with the server's own words, `status` and all that was tried.
        """
        unsent = [] if self._is_openai else ["OpenAI-Organization", "OpenAI-Project"]
        unset = dict.fromkeys(unsent if self._key else ["Authorization", *unsent], openai.omit)
        try:
            answer: ChatCompletion | str = self._client.chat.completions.create(
                **fields, extra_headers=unset
            )
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except (openai.APITimeoutError, _PermanentFailure) as error:
            tries = (
                f"did not answer within {self._timeout:g} s ({min(self._attempts, SILENCES)} tries)"
            )
            raise ServerError(
                f"{self.url} {error if isinstance(error, _PermanentFailure) and error.args else tries}"
            ) from error
        except openai.APIConnectionError as error:
            why = f"({error.__cause__ or error}): is the server running, and the address right?"
            raise ServerError(f"{self.url} cannot be reached {why}") from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ServerError(
                f"{self.url} answered something that is not JSON ({error})"
            ) from error
        if isinstance(answer, str):
            raise ServerError(
                f"{self.url} answered something that is not JSON: {self._quoted(answer)!r}"
            )
        return answer

    def _refused(self, error: openai.APIStatusError) -> ServerError:
        status = error.status_code
        response = error.response
        if response.is_redirect:
            address = self._quoted(response.headers["location"])
            return ServerError(f"{self.url} redirects to {address}: give that address instead")
        said = error.body.get("message") if isinstance(error.body, dict) else error.body
        if status in (401, 403):
            hint = f"put a valid key into the environment variable {KEY_VARIABLE}"
        elif status == 404:
            hint = "check the model's name, and that the address ends like /v1"
        elif status in (408, 409, 429) or status >= 500:
            tries = int(error.request.headers["x-stainless-retry-count"]) + 1
            hint = f"tried {tries} {'time' if tries == 1 else 'times'}; the same command continues later"
        else:
            hint = "the server does not take this request"
        words = str(said or response.text or response.reason_phrase)
        return ServerError(f"{self.url} answered {status}: {self._quoted(words)} ({hint})", status)

    def _quoted(self, text: str) -> str:
        """What a server said, in one line, without the key that it may repeat."""
        text = " ".join((text.replace(self._key, "***") if self._key else text).split())
        return text if len(text) <= 300 else text[:299] + "…"


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the environment variable {variable} holds characters that no key has: copy the key again"
        )
    return key


def _host(url: str) -> str:
    """The host of an address. Raises UsageError if it is none."""
    try:
        address = urlsplit(url)
        if address.scheme in ("http", "https") and address.hostname:
            return address.hostname
    except ValueError:
        pass
    raise UsageError(f"{url!r} is no address of a server; write it like http://localhost:11434/v1")


class _PermanentFailure(BaseException):
    """What is not worth another try: no Exception, after which OpenAI's client would try again."""


class _BoundedClient(openai.DefaultHttpxClient):
    """A client that neither waits for a server that hangs nor unfolds whatever it sends."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The answer, read to its end."""
        try:
            response = super().send(request, **{**options, "stream": True})
            packed = response.headers.get("content-encoding", "identity")
            if packed != "identity":
                response.close()
                raise _PermanentFailure(f"answers packed as {packed}, which was not asked for")
            content = b""
            for part in response.iter_raw():
                content = content + part
                if len(content) > LARGEST:
                    response.close()
                    raise _PermanentFailure(f"answers more than {LARGEST // 2**20} MB")
        except httpx2.TimeoutException as error:
            if int(request.headers.get("x-stainless-retry-count", 0)) + 1 < SILENCES:
                raise
            raise _PermanentFailure from error
        return httpx2.Response(
            response.status_code, headers=response.headers, content=content, request=request
        )
