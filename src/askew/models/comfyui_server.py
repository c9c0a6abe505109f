"""Client that queues a workflow on a ComfyUI server, polls for the result and downloads the image.

The client does not follow redirects, limits the size and duration of each response, and downloads
images only from the same server.
"""

import json
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from askew.addresses import secrets_of, shown
from askew.errors import ServerError
from askew.hosted import (
    KEY_VARIABLE,
    BoundedClient,
    FailedAttempt,
    PermanentFailure,
    check_address_of_server,
    doubled_pause,
    key_in,
    pause_after,
    quoted,
    wait_for_attempt,
)
from askew.store.foreign import json_value

ATTEMPTS = 4
"""Maximum number of attempts to send a request."""

FIRST_WAIT = 0.1
LONGEST_WAIT = 2.0
"""Seconds before the first poll for the result, and maximum number of seconds between polls."""

ANSWER_SECONDS = 60.0
"""Seconds after which a request fails if no data arrives.

The server may take longer than this limit to generate the image.
"""


class ComfyServer:
    """Client for a server with ComfyUI's interface. Several threads can share a client.

    Parameters
    ----------
    url
        Address of the server.
    timeout
        Seconds to wait for an image.

    Raises
    ------
    UsageError
        If the address or the key is invalid.
    """

    def __init__(self, url: str, timeout: float) -> None:
        check_address_of_server(url)
        self.url = shown(url).rstrip("/")
        address = urlsplit(url)
        self._address = address._replace(path=address.path.rstrip("/"), query="", fragment="")
        self._query = address.query
        self._secrets = secrets_of(url)
        self._key = key_in(KEY_VARIABLE)
        self._timeout = timeout

    @cached_property
    def _client(self) -> BoundedClient:
        headers = {"Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        client = BoundedClient(follow_redirects=False, headers=headers, timeout=ANSWER_SECONDS)
        client.deadline = self._timeout
        return client

    def image(self, workflow: Mapping[str, Any], output_node: str) -> bytes:
        """Run a workflow and return the content of the image file that it produces.

        Parameters
        ----------
        workflow
            Nodes by number.
        output_node
            Number of the node whose image is returned; "" if the workflow makes only one image.

        Raises
        ------
        ServerError
            If the server refuses the workflow, fails, or does not produce an image in time.
        """
        queued = self._json("POST", "/prompt", {"prompt": workflow})
        number = queued.get("prompt_id")
        if not isinstance(number, str):
            raise ServerError(f"{self.url} did not queue the workflow: {self._quoted(queued)}")
        entry = self._result(number)
        place = self._place_of_image(entry, output_node)
        return self._send("GET", f"/view?{urlencode(place)}").content

    def _result(self, number: str) -> Mapping[str, Any]:
        """Wait for a workflow to finish, and return its entry in the server's history."""
        end = time.monotonic() + self._timeout
        wait = FIRST_WAIT
        while time.monotonic() < end:
            time.sleep(wait)
            wait = min(wait * 1.5, LONGEST_WAIT)
            entry = self._json("GET", f"/history/{number}").get(number)
            if not isinstance(entry, dict):
                continue
            status = entry.get("status")
            state = status if isinstance(status, dict) else {}
            if state.get("status_str") == "error":
                messages = self._quoted(state.get("messages"))
                raise ServerError(f"the workflow failed on {self.url}: {messages}")
            if entry.get("outputs") or state.get("completed"):
                return entry
        raise ServerError(
            f"{self.url} did not generate an image within {self._timeout:g} s; set a larger "
            "-M timeout to wait longer"
        )

    def _place_of_image(self, entry: Mapping[str, Any], output_node: str) -> dict[str, str]:
        """Return the file name, subfolder and type of the image from a finished workflow."""
        outputs = entry.get("outputs")
        places = []
        if isinstance(outputs, dict):
            for node, output in outputs.items():
                if node == output_node or not output_node:
                    images = output.get("images") if isinstance(output, dict) else None
                    places += images if isinstance(images, list) else []
        if len(places) != 1 or not isinstance(places[0], dict):
            raise ServerError(
                f"the workflow on {self.url} made {len(places)} images instead of one. Change the "
                "workflow so that it makes one image at a time, or specify the node that saves the "
                "image, as in -M output_node=9"
            )
        (place,) = places
        return {name: str(place.get(name, "")) for name in ("filename", "subfolder", "type")}

    def _json(self, method: str, path: str, content: object = None) -> Mapping[str, Any]:
        """Send a request and return the JSON object in the response."""
        answer = self._send(method, path, content)
        try:
            parsed = json_value(answer.content)
        except ValueError as error:
            raise ServerError(f"{self.url} sent a response that is not JSON ({error})") from error
        if not isinstance(parsed, dict):
            raise ServerError(f"{self.url} sent JSON that is not an object: {self._quoted(parsed)}")
        return parsed

    def _send(self, method: str, path: str, content: object = None) -> httpx2.Response:
        """Send a request, resend it after temporary failures, and return the response."""
        attempt = 1
        while True:
            answer = self._attempt(method, path, content, attempt)
            if isinstance(answer, httpx2.Response):
                return answer
            status = answer.error.status
            # a workflow that was perhaps queued is not queued a second time
            may_repeat = method == "GET" or status is not None
            if answer.pause is None or not may_repeat or attempt == ATTEMPTS:
                raise answer.error
            attempt += 1
            wait_for_attempt(attempt, ATTEMPTS, self.url, status, answer.pause)

    def _attempt(
        self, method: str, path: str, content: object, attempt: int
    ) -> httpx2.Response | FailedAttempt:
        """Send a request once, and return the response or the failure."""
        separator = "&" if "?" in path else "?"
        query = f"{separator}{self._query}" if self._query else ""
        address = f"{self._address.geturl()}{path}{query}"
        try:
            answer = self._client.request(method, address, json=content)
        except PermanentFailure as error:
            return FailedAttempt(ServerError(f"{self.url} {error}"))
        except httpx2.TimeoutException:
            silent = ServerError(f"{self.url} did not answer within {ANSWER_SECONDS:g} s")
            return FailedAttempt(silent, doubled_pause(attempt))
        except httpx2.HTTPError as error:
            unreachable = ServerError(
                f"{self.url} cannot be reached ({self._quoted(str(error))}); is the server "
                "running, and is the address right?"
            )
            return FailedAttempt(unreachable, doubled_pause(attempt))
        if answer.is_success:
            return answer
        pause = pause_after(answer.status_code, answer.headers, attempt)
        return FailedAttempt(self._status_error(answer), pause)

    def _status_error(self, answer: httpx2.Response) -> ServerError:
        """Return the error for a redirect, or for a response with an error status."""
        if answer.is_redirect:
            place = self._quoted(answer.headers.get("location", ""))
            return ServerError(f"{self.url} redirects to {place}; use that address", status=307)
        words = self._quoted(answer.text or answer.reason_phrase)
        hint = "; check the key in ASKEW_API_KEY" if answer.status_code in (401, 403) else ""
        return ServerError(
            f"{self.url} answered {answer.status_code}: {words}{hint}",
            status=answer.status_code,
            words=words,
        )

    def _quoted(self, content: object) -> str:
        """Return a server's message as one line of limited length, with all secrets removed."""
        text = content if isinstance(content, str) else json.dumps(content)
        return quoted(text, (self._key, *self._secrets))
