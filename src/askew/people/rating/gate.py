"""Checks for all requests to the rater app, and headers for all responses."""

from collections.abc import MutableMapping

from starlette.responses import PlainTextResponse

from askew.web.gate import (
    ISOLATING_HEADERS,
    SAFE_SITES,
    App,
    Headers,
    Receive,
    Scope,
    Send,
    address_refusal,
    with_headers,
)

POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

HEADERS: Headers = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex"),
    *ISOLATING_HEADERS,
)

WRONG_HOST = "This server does not serve pages at this address."
OTHER_PAGE = "The request comes from another web page."


class RaterGate:
    """App that checks each request before passing it to the rater app.

    Parameters
    ----------
    app
        The rater app.
    hosts
        Values of the Host header that are accepted.
    """

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the app if it is allowed, otherwise refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        send_safely = with_headers(send, HEADERS)
        status, reason = self._refusal(scope)
        if status:
            await PlainTextResponse(reason, status)(scope, receive, send_safely)
            return
        await self._app(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return the HTTP status and reason for refusing a request; status 0 if it is not refused."""
        refusal = address_refusal(scope)
        if refusal is not None:
            return refusal.status, refusal.reason
        headers = dict(scope["headers"])
        if headers.get(b"host", b"").decode("latin-1") not in self._hosts:
            return 421, WRONG_HOST
        if scope["method"] == "POST" and _is_foreign(headers, self._hosts):
            return 403, OTHER_PAGE
        return 0, ""


def _is_foreign(headers: MutableMapping[bytes, bytes], hosts: frozenset[str]) -> bool:
    """Check whether the form was sent from a web page on another site."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    # a browser sends "null" for pages with the policy no-referrer
    if origin not in ("", "null") and origin.partition("://")[2] not in hosts:
        return True
    site = headers.get(b"sec-fetch-site", b"same-origin").decode("latin-1")
    return site not in SAFE_SITES or (origin == "null" and b"sec-fetch-site" not in headers)
