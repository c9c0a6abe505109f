"""Checks of every request before the app reads it, and headers of every answer.

The gate keeps out another page in the same browser (by Host, Origin, Sec-Fetch-Site and a cookie
that is never sent across sites), other users of this machine (by the cookie, and on Linux by the
user id of the connection), and addresses that are not plain paths. Answers allow no scripts.
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
"""Largest number of bytes of a path with its query."""

POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Content security policy of all answers. Nothing may run."""

Headers = tuple[tuple[bytes, bytes], ...]

ISOLATING_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""Headers by which a browser keeps other pages away from an answer."""

HEADERS: Headers = (
    (b"content-security-policy", POLICY.encode()),
    # with no-referrer, browsers would send forms with the origin "null"
    (b"referrer-policy", b"same-origin"),
    *ISOLATING_HEADERS,
)

FORBIDDEN = re.compile("[\x00-\x1f\x7f\\\\\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Control characters, backslashes, and characters that reorder text or are invisible."""

TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
SAFE_SITES = ("same-origin", "none")
"""Values of Sec-Fetch-Site of requests of the app's pages, and of addresses that the user opened."""

ENTERED = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>askew</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head><body><p><a href="/">Open askew</a></p>'
    "</body></html>"
)
"""The answer to the one-time token. It is a page, not a redirect: a browser sends a strict cookie
only with a request that starts in the app.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: its status and the reason as a sentence."""

    status: int
    reason: str


class Gate:
    """The app behind all checks.

    Parameters
    ----------
    app
        The app.
    session
        The owner's session.
    port
        Port of the server.
    """

    def __init__(self, app: App, session: Session, port: int) -> None:
        self._app = app
        self._session = session
        self._port = port
        self.hosts = frozenset((f"{HOST}:{port}", f"localhost:{port}"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
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
            reason = "open the address that `askew serve` printed. It works once"
            await _reply(send, 401, f"askew: {reason}\n".encode(), "text/plain")
            return
        await self._app(scope, receive, with_headers(send, HEADERS))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None if it may be answered.

        Parameters
        ----------
        scope
            The request, as ASGI describes it.
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
        return Refusal(421, "this server answers for 127.0.0.1 and localhost only")

    def _site_refusal(self, headers: MutableMapping[bytes, bytes], scope: Scope) -> Refusal | None:
        """Return why a request of another web page is refused."""
        origin = headers.get(b"origin")
        own_origins = {f"http://{host}".encode("latin-1") for host in self.hosts}
        if origin is not None and origin not in own_origins:
            return Refusal(403, "the request comes from another web page")
        site = headers.get(b"sec-fetch-site", b"none").decode("latin-1")
        if site not in SAFE_SITES and self._token(scope) is None:
            return Refusal(403, "the request comes from another web page")
        return None

    def _peer_refusal(self, scope: Scope) -> Refusal | None:
        """Return the refusal of a request from another user of this machine, or None."""
        client = scope.get("client")
        user = None if client is None else user_of_connection(int(client[1]), self._port)
        if user is None or user in (0, _user()):
            return None
        return Refusal(403, "the connection belongs to another user of this machine")

    @staticmethod
    def _token(scope: Scope) -> str | None:
        """Return the one-time token of an address; None if it has none."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        values = parse_qs(scope["query_string"].decode("latin-1")).get("t", [])
        return values[0] if len(values) == 1 else None

    async def _enter(self, send: Send, token: str) -> None:
        cookie = self._session.exchange(token)
        if cookie is None:
            reason = "this address was used. Start `askew serve` again for a new address"
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
    """Return why an address is refused: too long, or with parts that no address of askew has.

    Parameters
    ----------
    scope
        The request, as ASGI describes it.
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
    """Return the user id of the process that opened a connection on this machine.

    Parameters
    ----------
    client_port, server_port
        Both ends of the connection.

    Returns
    -------
    int or None
        None if the system does not report it, as outside of Linux.
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
    """Return a sender that adds headers to all answers, and lets no browser store them.

    An answer with a cache policy keeps it.

    Parameters
    ----------
    send
        The server's sender.
    added
        Headers of all answers.
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
    """Send a complete answer."""
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *HEADERS,
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
