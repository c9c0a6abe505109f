"""Models behind a server that speaks OpenAI's interface: its key, and what its failures mean to a user.

Many do: vLLM, Ollama, llama.cpp, and hosted services. The address is that of the version, such as
http://localhost:11434/v1. OpenAI's own client sends the requests and repeats them where that helps.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from askew.errors import ServerError, UsageError

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI
    from openai.types.chat import ChatCompletion

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE, OPENAI_KEY_VARIABLE = "ASKEW_API_KEY", "OPENAI_API_KEY"
"""Environment variables with the key. The second is only ever sent to OpenAI's own server."""

ATTEMPTS = 6


class Server:
    """One server. Safe to use from several threads.

    `timeout` is in seconds, for every silence of the server. Requests are sent at most `attempts` times: after a lost
    connection, a timeout, 429 (too many requests) and errors of the server, each time after a longer pause or the one
    that the server asks for (Retry-After, up to two minutes). Raises UsageError for an address that is none.
    """

    def __init__(self, url: str = OPENAI_URL, *, timeout: float = 120.0, attempts: int = ATTEMPTS) -> None:
        self.url = url.rstrip("/")
        self._is_openai = _host(url) == _host(OPENAI_URL)
        if timeout <= 0 or attempts < 1:
            raise UsageError("timeout and attempts must be greater than 0")
        self._timeout, self._attempts = timeout, attempts
        self._key = _key(KEY_VARIABLE) or (_key(OPENAI_KEY_VARIABLE) if self._is_openai else "")

    @cached_property
    def _client(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        return OpenAI(
            base_url=self.url,
            api_key=self._key or "none",
            timeout=self._timeout,
            max_retries=self._attempts - 1,
            http_client=DefaultHttpxClient(follow_redirects=False),
        )

    def chat(self, **fields: Any) -> ChatCompletion:
        """What the server answers to a conversation, unchecked: a field may lack or be of another type.

        Raises ServerError with the server's own words, `status` and all that was tried.
        """
        import openai

        unsent = [] if self._is_openai else ["OpenAI-Organization", "OpenAI-Project"]
        unset = dict.fromkeys(unsent if self._key else ["Authorization", *unsent], openai.omit)
        try:
            answer: ChatCompletion | str = self._client.chat.completions.create(**fields, extra_headers=unset)
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except openai.APITimeoutError as error:
            raise ServerError(
                f"{self.url} did not answer within {self._timeout:g} s ({self._attempts} tries)"
            ) from error
        except openai.APIConnectionError as error:
            raise ServerError(
                f"{self.url} cannot be reached ({error.__cause__ or error}): is the server running, and the address "
                "right?"
            ) from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ServerError(f"{self.url} answered something that is not JSON ({error})") from error
        if isinstance(answer, str):
            raise ServerError(f"{self.url} answered something that is not JSON: {_shortened(answer)!r}")
        return answer

    def _refused(self, error: APIStatusError) -> ServerError:
        status, response = error.status_code, error.response
        if response.is_redirect:
            return ServerError(f"{self.url} redirects to {response.headers['location']}: give that address instead")
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
        words = words.replace(self._key, "***") if self._key else words
        return ServerError(f"{self.url} answered {status}: {_shortened(words)} ({hint})", status)


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the environment variable {variable} holds characters that no key has: copy the key again")
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


def _shortened(text: str, most: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
