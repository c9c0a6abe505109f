"""A server that speaks OpenAI's HTTP interface: requests, repeated where that helps, counted, and kept within limits.

Many do: vLLM, Ollama, llama.cpp, and hosted services. The address is that of the version, such as
http://localhost:11434/v1.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any

import httpx
import stamina

from askew.errors import ServerError, UsageError

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE, OPENAI_KEY_VARIABLE = "ASKEW_API_KEY", "OPENAI_API_KEY"
"""Environment variables with the key. The second is only ever sent to OpenAI's own server."""

ATTEMPTS = 6
LONGEST_WAIT = 120.0
"""Seconds. A server that asks for more time than this is not waited for."""

LONGEST_ANSWER = 64 * 2**20
"""Bytes."""

_TRY_AGAIN = frozenset((408, 409, 429, 500, 502, 503, 504, 529))


class Endpoint:
    """One server. Safe to use from several threads; at most `concurrency` requests are under way at a time.

    `timeout` is in seconds, for the whole of an answer. Requests are sent at most `attempts` times: after a lost
    connection, a timeout, 429 (too many requests) and errors of the server, each time after a longer pause or the
    one that the server asks for (Retry-After). Raises UsageError for an address that is none.
    """

    def __init__(
        self, url: str = OPENAI_URL, *, timeout: float = 120.0, concurrency: int = 4, attempts: int = ATTEMPTS
    ) -> None:
        self.url = url.rstrip("/")
        address = _address(self.url)
        if concurrency < 1 or attempts < 1 or timeout <= 0:
            raise UsageError("timeout, concurrency and attempts must be greater than 0")
        self._attempts = attempts
        self._timeout = timeout
        self._key = _key(address.host)
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)
        self._free = threading.BoundedSemaphore(concurrency)

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """The JSON that the server answers to a JSON request.

        Raises ServerError with the server's own words, `status` and all that was tried.
        """
        with self._free:
            try:
                for attempt in stamina.retry_context(
                    on=_pause, attempts=self._attempts, timeout=None, wait_initial=0.5, wait_max=30.0
                ):
                    with attempt:
                        return self._once(path, content)
            except httpx.HTTPStatusError as error:
                raise self._refused(error.response) from error
            except httpx.TimeoutException as error:
                raise ServerError(
                    f"{self.url} did not answer within {self._timeout:g} s ({self._attempts} tries)"
                ) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise ServerError(
                    f"{self.url} cannot be reached ({error or type(error).__name__}): is the server running, and the "
                    "address right?"
                ) from error
        raise AssertionError("stamina returns or raises")

    def _once(self, path: str, content: Mapping[str, Any]) -> Any:
        response = self._whole(path, content)
        if response.is_redirect:
            raise ServerError(f"{self.url} redirects to {response.headers.get('location')}: give that address instead")
        response.raise_for_status()
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise ServerError(
                f"{self.url} answered something that is not JSON: {_shortened(response.text)!r}"
            ) from error

    def _whole(self, path: str, content: Mapping[str, Any]) -> httpx.Response:
        """The answer, read within the time: httpx itself only limits how long a server may stay silent."""
        deadline = monotonic() + self._timeout
        parts: list[bytes] = []
        size = 0
        with self._client.stream("POST", f"{self.url}/{path}", json=content) as response:
            for part in response.iter_raw():
                parts.append(part)
                size += len(part)
                if monotonic() > deadline:
                    raise httpx.ReadTimeout("too slow", request=response.request)
                if size > LONGEST_ANSWER:
                    raise ServerError(f"{self.url} answers without end: more than {LONGEST_ANSWER} bytes")
        return httpx.Response(
            response.status_code, headers=response.headers, content=b"".join(parts), request=response.request
        )

    def _refused(self, response: httpx.Response) -> ServerError:
        said = _shortened(_message(response))
        status = response.status_code
        if status in (401, 403):
            hint = f"put a valid key into the environment variable {KEY_VARIABLE}"
        elif status == 404:
            hint = "check the model's name, and that the address ends like /v1"
        elif status in _TRY_AGAIN:
            hint = f"tried {self._attempts} times; the same command continues later"
        else:
            hint = "the server does not take this request"
        return ServerError(f"{self.url} answered {status}: {self._without_key(said)} ({hint})", status)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _pause(error: Exception) -> bool | float:
    """Whether to try again after an error, and after how many seconds if the server says so."""
    if isinstance(error, httpx.HTTPStatusError):
        if error.response.status_code not in _TRY_AGAIN:
            return False
        wait = _retry_after(error.response.headers.get("retry-after"))
        return True if wait is None else wait <= LONGEST_WAIT and wait
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)


def _retry_after(text: str | None) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date; None for none or a broken one."""
    if not text:
        return None
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(text).timestamp() - time(), 0.0)
    except (TypeError, ValueError):
        return None


def _address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UsageError(
            f"{url!r} is no address of a server ({error}); write it like http://localhost:11434/v1"
        ) from error
    if address.scheme not in ("http", "https") or not address.host:
        raise UsageError(f"{url!r} is no address of a server; write it like http://localhost:11434/v1")
    return address


def _key(host: str) -> str | None:
    own = os.environ.get(KEY_VARIABLE, "").strip()
    openai = os.environ.get(OPENAI_KEY_VARIABLE, "").strip() if host == httpx.URL(OPENAI_URL).host else ""
    return own or openai or None


def _message(response: httpx.Response) -> str:
    """What the server says is wrong."""
    try:
        error = response.json()["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        return response.text or response.reason_phrase


def _shortened(text: str, most: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
