"""Requests to servers that have OpenAI's interface. Error messages tell users what to do.

vLLM, Ollama, llama.cpp and many hosted services have this interface. The address includes the
version, as in http://localhost:11434/v1. OpenAI's client sends the requests. After a temporary
failure, askew repeats the request.
"""

import json
import os
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2
import openai
from openai.types import ImagesResponse
from openai.types.chat import ChatCompletion

from askew.addresses import secrets_of, shown
from askew.errors import ServerError, UsageError
from askew.messages import report_message
from askew.store.foreign import LimitError, json_value

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "ASKEW_API_KEY"
"""Environment variable that contains the key for any server."""
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable that contains a key to send only to OpenAI's server."""
AZURE_KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
"""Environment variable that contains a key to send only to Azure OpenAI resources."""
AZURE_VERSION_VARIABLE = "OPENAI_API_VERSION"
"""Environment variable that contains the version of Azure OpenAI's interface."""
AZURE_DOMAIN = ".openai.azure.com"

ATTEMPTS = 6
"""Maximum number of times that a request is sent."""
SILENCES = 2
"""Number of timeouts after which askew gives up on a server."""
LARGEST = 2**25
"""Maximum size of a response in bytes (32 MB)."""
DEADLINE = 5.0
"""Maximum time for a complete response, as a multiple of the timeout."""
LONGEST_MESSAGE = 300
"""Maximum number of characters that askew quotes from a server's message."""
LONGEST_PAUSE = 120.0
"""Longest pause, in seconds, that askew accepts when a server requests a pause."""
FIRST_PAUSE = 0.5
"""Seconds to wait before the first retry of a paid request. Each later pause is twice as long.
"""

USED_UP = re.compile(r"insufficient_quota|billing|budget_exceeded", re.IGNORECASE)
"""Pattern for error codes and types for which a retry is pointless, even with status 429.
"""

T = TypeVar("T")


def check_model_name(option: str, name: str) -> None:
    """Raise UsageError if an option such as "--vqa" names the provider openai but no model."""
    if not name:
        raise UsageError(
            f"{option} openai does not name a model; write {option} openai/MODEL, with the "
            "server's name for the model"
        )


def check_concurrency(concurrency: int) -> None:
    """Raise UsageError if the number of simultaneous calls is not positive."""
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}; it must be at least 1")


def revision_or_month(revision: str) -> str:
    """Return a hosted model's revision, or the current month (as in 2026-11) if it is empty."""
    return str(revision) or f"{datetime.now(UTC):%Y-%m}"


def _never(error: ServerError) -> bool:
    """Return False, since a temporary failure is not final."""
    return False


class Server:
    """A server with OpenAI's interface. Several threads can use the same object at the same time.

    A request is repeated after a lost connection, status 429 (too many requests) or a server error.
    The pause grows with each retry, unless the server requests a pause (Retry-After, up to two
    minutes). After a timeout, a request is repeated once, and may be billed twice. A request is not
    repeated if the key is wrong or the account has no money left. askew reports each pause through
    `askew.messages`.

    Parameters
    ----------
    url
        Address, including the version. The query string of the address (?api-version=) is sent with
        each request. Error messages show the address without the query string and the password.
    timeout
        Number of seconds (above 0) after which a request fails if the server sends no data. A
        request also fails if its response is not complete after `DEADLINE` times as long.
    attempts
        Maximum number of times that a request is sent (at least 1).

    Raises
    ------
    UsageError
        If the address, the key or a limit is invalid.
    """

    def __init__(
        self, url: str = OPENAI_URL, *, timeout: float = 120.0, attempts: int = ATTEMPTS
    ) -> None:
        self.is_openai = _host(url) == _host(OPENAI_URL)
        if timeout <= 0 or attempts < 1:
            raise UsageError("timeout and attempts must be greater than 0")
        address = urlsplit(url)
        self._address = urlunsplit((*address[:2], address.path.rstrip("/"), "", ""))
        self._query = dict(parse_qsl(address.query))
        self._secrets = secrets_of(url)
        self.url = shown(url).rstrip("/")
        self._timeout = timeout
        self._attempts = attempts
        self._key = key_in(KEY_VARIABLE) or (key_in(OPENAI_KEY_VARIABLE) if self.is_openai else "")

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(
            base_url=self._address,
            default_query=self._query,
            api_key=self._key or "none",
            timeout=self._timeout,
            max_retries=0,
            http_client=self._bounded_client(),
        )

    def _bounded_client(self) -> "BoundedClient":
        """Return the client that sends the requests."""
        client = BoundedClient(
            verify=trusted_certificates(),
            follow_redirects=False,
            headers={"Accept-Encoding": "identity"},
        )
        client.deadline = self._timeout * DEADLINE
        return client

    def chat(
        self, is_final: Callable[[ServerError], bool] = _never, **fields: Any
    ) -> ChatCompletion:
        """Send a conversation and return the server's response.

        Parameters
        ----------
        is_final
            Function that returns True for errors after which the request is not repeated.
        **fields
            Fields of the request.

        Returns
        -------
        ChatCompletion
            The response, which askew does not check. A field may be missing or have another type.

        Raises
        ------
        ServerError
            If the request fails. The error contains the server's message, the status and the number
            of attempts.
        """
        answer: ChatCompletion = self._repeated(
            self._client.chat.completions.create, fields, is_final
        )
        return answer

    def image(self, **fields: Any) -> ImagesResponse:
        """Request one image and return the server's response.

        Parameters
        ----------
        **fields
            Fields of the request.

        Returns
        -------
        ImagesResponse
            The response, which askew does not check. A field may be missing or have another type.

        Raises
        ------
        ServerError
            If the request fails. The error contains the server's message, the status and the number
            of attempts.
        """
        return self._repeated(self._client.images.generate, fields)

    def edit(self, **fields: Any) -> ImagesResponse:
        """Request one edit of an image and return the server's response. See `image`."""
        return self._repeated(self._client.images.edit, fields)

    def _repeated(
        self,
        create: Callable[..., T | str],
        fields: dict[str, Any],
        is_final: Callable[[ServerError], bool] = _never,
    ) -> T:
        """Send a request, repeat it after temporary failures, and return the response."""
        attempt = 1
        while True:
            try:
                return self._checked(create, fields, attempt)
            except ServerError as error:
                pause = None if is_final(error) else self._pause(error, attempt)
                if pause is None:
                    raise
                status = error.status
            attempt += 1
            wait_for_attempt(attempt, self._attempts, self.url, status, pause)

    def _pause(self, error: ServerError, attempt: int) -> float | None:
        """Return how many seconds to wait before a retry; None if there is no retry."""
        cause = error.__cause__
        is_silence = isinstance(cause, openai.APITimeoutError)
        if attempt >= (min(SILENCES, self._attempts) if is_silence else self._attempts):
            return None
        if isinstance(cause, openai.APIStatusError):
            if _is_used_up(cause):
                return None
            return pause_after(cause.status_code, cause.response.headers, attempt)
        if not isinstance(cause, openai.APIConnectionError):
            return None
        pause = doubled_pause(attempt)
        return pause if pause <= LONGEST_PAUSE else None

    def _checked(self, create: Callable[..., T | str], fields: dict[str, Any], attempt: int) -> T:
        """Send a request once and return the response, or raise ServerError."""
        try:
            answer = create(**fields, extra_headers=self._headers())
        except openai.APIStatusError as error:
            raise self._status_error(error, attempt) from error
        except (openai.APITimeoutError, PermanentFailure) as error:
            raise ServerError(f"{self.url} {self._failure(error)}") from error
        except openai.APIConnectionError as error:
            raise ServerError(
                f"{self.url} cannot be reached ({self._quoted(str(error.__cause__ or error))}); "
                "is the server running, and is the address right?"
            ) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ServerError(f"{self.url} sent an answer that is not JSON ({error})") from error
        if isinstance(answer, str):
            raise ServerError(
                f"{self.url} sent an answer that is not JSON: {self._quoted(answer)!r}"
            )
        return answer

    def _headers(self) -> dict[str, str | openai.Omit]:
        """Return entries that suppress headers that the client must not send to this server."""
        names = []
        if not self._key:
            names.append("Authorization")
        if not self.is_openai:
            names += ["OpenAI-Organization", "OpenAI-Project"]
        return dict.fromkeys(names, openai.omit)

    def _failure(self, error: BaseException) -> str:
        """Return the reason why a request failed permanently."""
        if isinstance(error, PermanentFailure):
            return str(error)
        attempts = min(self._attempts, SILENCES)
        return f"did not answer within {self._timeout:g} s ({attempts} attempts)"

    def _status_error(self, error: openai.APIStatusError, attempt: int) -> ServerError:
        """Return the error for a failed request, with a hint for the user."""
        status = error.status_code
        response = error.response
        if response.is_redirect:
            address = self._quoted(response.headers["location"])
            return ServerError(f"{self.url} redirects to {address}; use that address instead")
        message = error.body.get("message") if isinstance(error.body, dict) else error.body
        words = self._quoted(str(message or response.text or response.reason_phrase))
        return ServerError(
            f"{self.url} answered {status}: {words} ({_hint(error, attempt)})",
            status=status,
            server_code=_code(error.body),
            words=words,
        )

    def _quoted(self, text: str) -> str:
        return quoted(text, (self._key, *self._secrets))


class AzureServer(Server):
    """A server that has Azure OpenAI's interface.

    The address of each request contains the deployment (in its path) and an API version.

    The key is sent as the header `api-key`. A Microsoft Entra token is not sent, even if the
    environment contains one.

    Parameters
    ----------
    url
        Address of the Azure resource, such as https://NAME.openai.azure.com.
    api_version
        Version of the interface, such as 2025-04-01-preview.
    timeout, attempts
        As for `Server`.

    Raises
    ------
    UsageError
        If the address, the key or a limit is invalid.
    """

    def __init__(
        self, url: str, api_version: str, *, timeout: float = 120.0, attempts: int = ATTEMPTS
    ) -> None:
        super().__init__(url, timeout=timeout, attempts=attempts)
        self._api_version = api_version
        if not self._key and is_azure(url):
            self._key = key_in(AZURE_KEY_VARIABLE)

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai.AzureOpenAI(
            base_url=f"{self._address}/openai",
            api_version=self._api_version,
            default_query=self._query,
            api_key=self._key or "none",
            timeout=self._timeout,
            max_retries=0,
            http_client=self._bounded_client(),
        )

    def _headers(self) -> dict[str, str | openai.Omit]:
        """Return the header for the key, and entries that suppress the client's own headers."""
        omitted = ("Authorization", "OpenAI-Organization", "OpenAI-Project")
        headers: dict[str, str | openai.Omit] = dict.fromkeys(omitted, openai.omit)
        headers["api-key"] = self._key or openai.omit
        return headers


def is_azure(url: str) -> bool:
    """Check whether an address belongs to an Azure OpenAI resource."""
    return _host(url).endswith(AZURE_DOMAIN)


def _is_used_up(error: openai.APIStatusError) -> bool:
    """Check whether a server's error states that the account has no money left."""
    kind = error.body.get("type") if isinstance(error.body, dict) else ""
    return bool(USED_UP.search(f"{_code(error.body)} {kind}"))


def _code(body: object) -> str:
    """Return the codes of a server's error and of its inner errors; "" if there are no codes."""
    codes = []
    while isinstance(body, dict):
        codes.append(str(body.get("code") or ""))
        body = body.get("innererror")
    return " ".join(codes).strip()


def quoted(text: str, secrets: Iterable[str]) -> str:
    """Return a server's message as one line of limited length, with secrets removed."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed request.

    Attributes
    ----------
    error
        The failure.
    pause
        Seconds to wait before a retry; None if a retry is pointless.
    """

    error: ServerError
    pause: float | None = None


def doubled_pause(attempt: int) -> float:
    """Return how many seconds to wait after an attempt if the server requests no pause."""
    return float(FIRST_PAUSE * 2 ** (attempt - 1))


def pause_after(status: int, headers: Mapping[str, str], attempt: int) -> float | None:
    """Return how many seconds to wait before a retry after an error status.

    Parameters
    ----------
    status
        Status of the answer.
    headers
        Headers of the response, which may request a pause.
    attempt
        Number of the failed attempt, starting at 1.

    Returns
    -------
    float or None
        The seconds; None if the failure is permanent, or if the pause would be longer than
        `LONGEST_PAUSE`.
    """
    if not (status in (408, 409, 429) or status >= 500):
        return None
    stated = stated_pause(headers)
    pause = doubled_pause(attempt) if stated is None else stated
    return pause if pause <= LONGEST_PAUSE else None


def wait_for_attempt(
    attempt: int, attempts: int, name: str, status: int | None, pause: float
) -> None:
    """Report that a retry follows after a pause, and then pause."""
    report_message(
        f"{name} answered {status or 'nothing'}; attempt {attempt} of {attempts} follows in "
        f"{pause:.1f} s"
    )
    time.sleep(pause)


def stated_pause(headers: Mapping[str, str]) -> float | None:
    """Return the pause in seconds that a server requests (Retry-After), or None."""
    stated = headers.get("retry-after", "")
    try:
        return max(float(stated), 0.0)
    except ValueError:
        pass
    try:
        seconds = (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return None
    return max(seconds, 0.0)


def _hint(error: openai.APIStatusError, attempt: int) -> str:
    """Return a hint that tells the user what to do about a server's error."""
    status = error.status_code
    if status == 402 or _is_used_up(error):
        return "the account has no money left; add credit, then repeat the command to continue"
    if status in (401, 403):
        return f"put a valid key into the environment variable {KEY_VARIABLE}"
    if status == 404:
        return "check the model's name, and check that the address ends with a path such as /v1"
    if status in (408, 409, 429) or status >= 500:
        unit = "attempt" if attempt == 1 else "attempts"
        return f"{attempt} {unit}; repeat the command later to continue"
    return "the server does not accept this request"


def key_in(variable: str) -> str:
    """Return the key in an environment variable, or "". Raise UsageError for an invalid key."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the environment variable {variable} contains characters that are not allowed in a "
            "key; copy the key again"
        )
    return key


def check_address_of_server(url: str) -> None:
    """Raise UsageError if a text is not a server address."""
    _host(url)


def _host(url: str) -> str:
    """Return the host name in an address. Raise UsageError if the address is invalid."""
    try:
        address = urlsplit(url)
        is_port = address.port is None or address.port > 0
        if address.scheme in ("http", "https") and address.hostname and is_port:
            return address.hostname
    except ValueError:  # such as a port that is not a number, or a bad IPv6 address
        pass
    raise UsageError(
        f"{shown(url)!r} is not a server address; write it like http://localhost:11434/v1"
    )


def trusted_certificates() -> ssl.SSLContext:
    """Return the trusted certificates, which all clients of a process share.

    Reading them takes 50 ms of CPU time. They are read again if an environment variable names other
    certificates.
    """
    return _certificates_for(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache
def _certificates_for(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the certificates that these values of the environment variables name."""
    return httpx2.create_ssl_context()


def finished_within(seconds: float, call: Callable[[], T]) -> Future[T] | None:
    """Run a call in a thread and return its outcome; None if it takes longer than `seconds`.

    Parameters
    ----------
    seconds
        Maximum number of seconds that the call may take.
    call
        Function to call. The thread does not keep the process from exiting.
    """
    outcome: Future[T] = Future()

    def carry_out() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=carry_out, daemon=True).start()
    return outcome if wait([outcome], seconds).done else None


class PermanentFailure(BaseException):
    """Raised for a failure that would recur in every retry.

    This class does not derive from Exception, because OpenAI's client repeats a request after an
    Exception.
    """


class BoundedClient(openai.DefaultHttpxClient):
    """HTTP client that limits how long a server may take and how large its responses may be.

    Attributes
    ----------
    deadline
        Number of seconds within which a response must be complete.
    """

    deadline = 600.0

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return the complete response.

        The response is received in a separate thread, because a server may not send even the
        headers in time.
        """
        answer = finished_within(self.deadline + 1, lambda: self._answer(request, **options))
        if answer is None:
            raise PermanentFailure(f"did not complete its answer within {self.deadline:g} s")
        return answer.result()

    def _answer(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return the complete response, provided that headers arrive in time."""
        begun = time.monotonic()
        try:
            response = super().send(request, **{**options, "stream": True})
            content = _bounded_content(response, begun, self.deadline)
        except httpx2.ConnectError as error:
            reason = _certificate_fault(error)
            if reason is None:
                raise
            raise PermanentFailure(
                f"has a certificate that cannot be verified ({reason}); check the address, or set "
                "the environment variable SSL_CERT_FILE to the server's CA certificate"
            ) from error
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            content=_readable(content, response.is_success),
            request=request,
        )


def _certificate_fault(error: BaseException | None) -> str | None:
    """Return the reason why a certificate is invalid; None for any other error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _readable(content: bytes, is_success: bool) -> bytes:
    """Return content that OpenAI's client can parse; empty if an error cannot be read.

    Raise PermanentFailure if a successful response is nested too deeply or contains integers that
    are too long.
    """
    try:
        json_value(content)
    except LimitError as error:
        if is_success:
            raise PermanentFailure(f"sent an answer that askew cannot read: {error}") from error
        return b""
    except ValueError:  # the caller quotes an answer that is not JSON
        pass
    return content


def _bounded_content(response: httpx2.Response, begun: float, deadline: float) -> bytes:
    """Return the bytes of a response, and enforce the limits on time and size.

    Raise PermanentFailure if a response is compressed, too long or not complete in time.
    """
    packing = response.headers.get("content-encoding", "identity")
    if packing != "identity":
        response.close()
        raise PermanentFailure(f"sent an answer compressed as {packing}, which was not requested")
    parts = []
    size = 0
    for part in response.iter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            response.close()
            raise PermanentFailure(f"sent more than {LARGEST // 2**20} MB")
        if time.monotonic() - begun > deadline:
            response.close()
            raise PermanentFailure(f"did not complete its answer within {deadline:g} s")
    return b"".join(parts)
