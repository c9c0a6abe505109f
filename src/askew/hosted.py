"""Models behind a server with OpenAI's interface: the key, and the meaning of errors for a user.

vLLM, Ollama, llama.cpp and hosted services have this interface. The address includes the version,
such as http://localhost:11434/v1. OpenAI's client sends the requests, and repeats a request after a
temporary failure.
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
"""Environment variable with the key of any server."""
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable with a key that is only sent to OpenAI's server."""

ATTEMPTS = 6
"""Greatest number of times that a request is sent."""
SILENCES = 2
"""Number of timeouts after which askew gives up on a server."""
LARGEST = 2**25
"""Greatest number of bytes of an answer: 32 MB."""


class Server:
    """A server with OpenAI's interface. Several threads can use it at once.

    A request is sent again after a lost connection, status 429 (too many requests) and errors of
    the server. The pause grows from attempt to attempt, unless the server states a pause
    (Retry-After, up to two minutes). After a timeout a request is sent once more.

    Parameters
    ----------
    url
        Address with the version.
    timeout
        Seconds without any data from the server after which a request fails, above 0.
    attempts
        Greatest number of times that a request is sent, at least 1.

    Raises
    ------
    UsageError
        For a bad address, key or limit.
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
        client = _BoundedClient(follow_redirects=False, headers={"Accept-Encoding": "identity"})
        return openai.OpenAI(
            base_url=self.url,
            api_key=self._key or "none",
            timeout=self._timeout,
            max_retries=self._attempts - 1,
            http_client=client,
        )

    def chat(self, **fields: Any) -> ChatCompletion:
        """Send a conversation and return the answer of the server.

        Parameters
        ----------
        **fields
            Fields of the request.

        Returns
        -------
        ChatCompletion
            The answer, unchecked: a field may be absent or of another type.

        Raises
        ------
        ServerError
            If the request fails; with the server's message, the status and the number of attempts.
        """
        try:
            answer: ChatCompletion | str = self._client.chat.completions.create(
                **fields, extra_headers=self._omitted_headers()
            )
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (openai.APITimeoutError, _PermanentFailure) as error:
            raise ServerError(f"{self.url} {self._failure(error)}") from error
        except openai.APIConnectionError as error:
            raise ServerError(
                f"{self.url} cannot be reached ({error.__cause__ or error}); "
                "is the server running, and is the address right?"
            ) from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ServerError(f"{self.url} sent an answer that is not JSON ({error})") from error
        if isinstance(answer, str):
            raise ServerError(
                f"{self.url} sent an answer that is not JSON: {self._quoted(answer)!r}"
            )
        return answer

    def _omitted_headers(self) -> dict[str, openai.Omit]:
        """Return the headers that OpenAI's client must not send to this server."""
        names = []
        if not self._key:
            names.append("Authorization")
        if not self._is_openai:
            names += ["OpenAI-Organization", "OpenAI-Project"]
        return dict.fromkeys(names, openai.omit)

    def _failure(self, error: BaseException) -> str:
        """Return the reason why a request failed for good."""
        if isinstance(error, _PermanentFailure) and error.args:
            return str(error)
        attempts = min(self._attempts, SILENCES)
        return f"did not answer within {self._timeout:g} s ({attempts} attempts)"

    def _status_error(self, error: openai.APIStatusError) -> ServerError:
        """Return the error for a failure status, with a hint for the user."""
        status = error.status_code
        response = error.response
        if response.is_redirect:
            address = self._quoted(response.headers["location"])
            return ServerError(f"{self.url} redirects to {address}; use that address instead")
        message = error.body.get("message") if isinstance(error.body, dict) else error.body
        words = str(message or response.text or response.reason_phrase)
        return ServerError(
            f"{self.url} answered {status}: {self._quoted(words)} ({_hint(error)})",
            status=status,
            server_code=_code(error.body),
        )

    def _quoted(self, text: str) -> str:
        """Return a server's message in one line, without the key that it may repeat."""
        if self._key:
            text = text.replace(self._key, "***")
        text = " ".join(text.split())
        return text if len(text) <= 300 else text[:299] + "…"


def _code(body: object) -> str:
    """Return a server's codes of an error, also of an inner one; "" for none."""
    codes = []
    while isinstance(body, dict):
        codes.append(str(body.get("code") or ""))
        body = body.get("innererror")
    return " ".join(codes).strip()


def _hint(error: openai.APIStatusError) -> str:
    """Return what a user can do about an error of a server."""
    status = error.status_code
    if status in (401, 403):
        return f"put a valid key into the environment variable {KEY_VARIABLE}"
    if status == 404:
        return "check the model's name, and that the address ends like /v1"
    if status in (408, 409, 429) or status >= 500:
        attempts = int(error.request.headers["x-stainless-retry-count"]) + 1
        unit = "attempt" if attempts == 1 else "attempts"
        return f"{attempts} {unit}; repeat the command later to continue"
    return "the server does not accept this request"


def _key(variable: str) -> str:
    """Return the key in an environment variable, "" for none."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the environment variable {variable} contains characters that are not allowed in a "
            "key; copy the key again"
        )
    return key


def _host(url: str) -> str:
    """Return the host of an address. Raises UsageError for a bad address."""
    try:
        address = urlsplit(url)
        if address.scheme in ("http", "https") and address.hostname:
            return address.hostname
    except ValueError:
        pass
    raise UsageError(
        f"{url!r} is not an address of a server; write it like http://localhost:11434/v1"
    )


class _PermanentFailure(BaseException):
    """A failure that another attempt would not repair.

    It is not an Exception, because OpenAI's client sends a request again after an Exception.
    """


class _BoundedClient(openai.DefaultHttpxClient):
    """A client with a time limit for the server and a size limit for its answers."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return the complete answer."""
        try:
            response = super().send(request, **{**options, "stream": True})
            content = _bounded_content(response)
        except httpx2.TimeoutException as error:
            if int(request.headers.get("x-stainless-retry-count", 0)) + 1 < SILENCES:
                raise
            raise _PermanentFailure from error
        return httpx2.Response(
            response.status_code, headers=response.headers, content=content, request=request
        )


def _bounded_content(response: httpx2.Response) -> bytes:
    """Return the bytes of an answer. Raises _PermanentFailure for compressed or too long answers."""
    packing = response.headers.get("content-encoding", "identity")
    if packing != "identity":
        response.close()
        raise _PermanentFailure(f"sent an answer compressed as {packing}, which was not requested")
    content = b""
    for part in response.iter_raw():
        content = content + part
        if len(content) > LARGEST:
            response.close()
            raise _PermanentFailure(f"sent more than {LARGEST // 2**20} MB")
    return content
