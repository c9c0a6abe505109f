"""Requests to a local server exactly as a test gives them, with hostile paths and headers."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass

FORM = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def place(self) -> str:
        return str(self.headers["Location"])


def send(
    host: str,
    method: str,
    path: str,
    body: bytes,
    usual: Mapping[str, str | None],
    headers: Mapping[str, str | None],
) -> Answer:
    """Send a request, a POST as a form.

    Parameters
    ----------
    host
        Address and port of the server.
    method, path, body
        The request. The path is sent as it is.
    usual
        Headers that a browser sends.
    headers
        Headers that replace them, with underscores for hyphens. A header that is None is left out.
    """
    merged = dict(usual)
    if method == "POST":
        merged |= {"Content-Type": FORM, "Content-Length": str(len(body))}
    merged |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in merged)
    for name, value in merged.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body or None)
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    connection.close()
    return answer
