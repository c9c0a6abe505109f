"""Security checks for each request before the app reads it, and headers for each response.

The gate refuses requests from other web pages in the same browser, requests from other users of
this machine, and requests for addresses that are not plain paths. The gate recognizes requests from
other web pages by the headers Host, Origin and Sec-Fetch-Site. It also recognizes them by a missing
cookie, because browsers do not send the cookie with requests from other sites. The gate recognizes
requests from other users by the missing cookie and, on Linux, by the user id of the connection.
Responses do not allow scripts.
"""

import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from askew.listening import HOST
from askew.web.session import Session

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_ADDRESS = 4096
"""Maximum length in bytes of a path and its query."""

POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Content security policy for all responses. It allows no scripts."""

Headers = tuple[tuple[bytes, bytes], ...]

ISOLATING_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""Headers that instruct browsers to isolate a response from other web pages."""

HEADERS: Headers = (
    (b"content-security-policy", POLICY.encode()),
    # with no-referrer, browsers would send forms with the origin "null"
    (b"referrer-policy", b"same-origin"),
    *ISOLATING_HEADERS,
)

FORBIDDEN = re.compile("[\x00-\x1f\x7f\\\\\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Pattern for backslashes, invisible characters, and characters that control or reorder text."""

TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
SAFE_SITES = ("same-origin", "none")
"""Values of Sec-Fetch-Site for the app's own requests and for addresses that the user opens."""

ENTERED = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>askew</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head><body><p><a href="/">Open askew</a></p>'
    "</body></html>"
)
"""Response to a request that contains the one-time token.

The response is a page and not a redirect, because browsers send a SameSite=Strict cookie only with
requests that start from a page of the app.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """HTTP status and reason for refusing a request."""

    status: int
    reason: str


class Gate:
    """App that checks each request before passing it to the web app.

    Parameters
    ----------
    app
        The web app.
    session
        Session of the user who started the server.
    port
        Port of the server.
    """

    def __init__(self, app: App, session: Session, port: int) -> None:
        self._app = app
        self._session = session
        self._port = port
        self.hosts = frozenset((f"{HOST}:{port}", f"localhost:{port}"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the app if the request is allowed, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope)
        if refusal is not None:
            await _reply(send, refusal.status, f"askew: {refusal.reason}\n".encode(), "text/plain")
            return
        token = self._token(scope)
        if token is not None:
            await self._enter(send, token)
            return
        if not self._session.is_owner(self._cookie(scope)):
            reason = "open the address that `askew serve` printed. The address works only once"
            await _reply(send, 401, f"askew: {reason}\n".encode(), "text/plain")
            return
        await self._app(scope, receive, with_headers(send, HEADERS))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return a refusal if a request is not allowed; None if it is allowed.

        Parameters
        ----------
        scope
            ASGI scope of the request.
        """
        headers = dict(scope["headers"])
        return (
            address_refusal(scope)
            or self._host_refusal(headers)
            or self._site_refusal(headers, scope)
            or self._peer_refusal(scope)
        )

    def _host_refusal(self, headers: MutableMapping[bytes, bytes]) -> Refusal | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if host in self.hosts:
            return None
        return Refusal(421, "this server accepts only the addresses 127.0.0.1 and localhost")

    def _site_refusal(self, headers: MutableMapping[bytes, bytes], scope: Scope) -> Refusal | None:
        """Return a refusal if a request comes from another web page; None otherwise."""
        origin = headers.get(b"origin")
        own_origins = {f"http://{host}".encode("latin-1") for host in self.hosts}
        if origin is not None and origin not in own_origins:
            return Refusal(403, "the request comes from another web page")
        site = headers.get(b"sec-fetch-site", b"none").decode("latin-1")
        if site not in SAFE_SITES and self._token(scope) is None:
            return Refusal(403, "the request comes from another web page")
        return None

    def _peer_refusal(self, scope: Scope) -> Refusal | None:
        """Return a refusal if a request comes from another user of this machine; None otherwise."""
        client = scope.get("client")
        user = None if client is None else user_of_connection(int(client[1]), self._port)
        if user is None or user in (0, _user()):
            return None
        return Refusal(403, "the connection belongs to another user of this machine")

    @staticmethod
    def _token(scope: Scope) -> str | None:
        """Return the one-time token in an address; None if there is none."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        values = parse_qs(scope["query_string"].decode("latin-1")).get("t", [])
        return values[0] if len(values) == 1 else None

    async def _enter(self, send: Send, token: str) -> None:
        cookie = self._session.exchange(token)
        if cookie is None:
            reason = (
                "this address was already used. To get a new address, start `askew serve` again"
            )
            await _reply(send, 401, f"askew: {reason}\n".encode(), "text/plain")
            return
        value = f"{self._session.cookie_name}={cookie}; HttpOnly; SameSite=Strict; Path=/"
        extra = ((b"set-cookie", value.encode()),)
        await _reply(send, 200, ENTERED.encode(), "text/html", extra)

    def _cookie(self, scope: Scope) -> str:
        header = dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")
        try:
            cookies = SimpleCookie(header)
        except CookieError:
            return ""
        name = self._session.cookie_name
        return cookies[name].value if name in cookies else ""


def address_refusal(scope: Scope) -> Refusal | None:
    """Return a refusal if an address is too long or not a plain path; None otherwise.

    Parameters
    ----------
    scope
        ASGI scope of the request.
    """
    raw = scope.get("raw_path") or scope["path"].encode()
    query = scope["query_string"]
    if len(raw) + len(query) > MOST_ADDRESS:
        return Refusal(414, f"the address is longer than {MOST_ADDRESS} bytes")
    try:
        path = unquote_to_bytes(raw).decode()
        asked = unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        return Refusal(400, "the address is not valid Unicode")
    if FORBIDDEN.search(path) or FORBIDDEN.search(asked):
        return Refusal(400, "the address contains a control character or a hidden character")
    parts = path.split("/")
    if ".." in parts or "." in parts or "" in parts[1:-1] or "%" in path:
        return Refusal(400, "the address is not a plain path")
    return None


def user_of_connection(client_port: int, server_port: int) -> int | None:
    """Return the id of the user whose process opened a connection on this machine.

    Parameters
    ----------
    client_port, server_port
        Port numbers at the two ends of the connection.

    Returns
    -------
    int or None
        User id; None on systems other than Linux, which do not report it.
    """
    local = f":{client_port:04X}"
    remote = f":{server_port:04X}"
    for table in TCP_TABLES:
        try:
            with open(table, encoding="ascii") as lines:
                next(lines, None)
                for line in lines:
                    fields = line.split()
                    if fields[1].endswith(local) and fields[2].endswith(remote):
                        return int(fields[7])
        except (OSError, IndexError, ValueError):
            continue
    return None


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def with_headers(send: Send, added: Headers) -> Send:
    """Return a function that adds headers to each response before passing it to `send`.

    A response without a cache policy also gets a header that prevents browsers from storing the
    response.

    Parameters
    ----------
    send
        Sender of the server.
    added
        Headers to add to all responses.
    """

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *added]
            if b"cache-control" not in names:
                message["headers"].append((b"cache-control", b"no-store"))
        await send(message)

    return send_with_headers


async def _reply(
    send: Send,
    status: int,
    body: bytes,
    kind: str,
    extra: Headers = (),
) -> None:
    """Send a complete response."""
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *HEADERS,
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
