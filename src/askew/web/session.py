"""The user's session: a one-time token for opening the app, a cookie, and a token for each form.

The address that askew prints in the terminal contains the one-time token. The response to the first
request with this token sets a cookie. Each form contains a keyed hash of its action path. Only this
session can compute this hash.
"""

import hmac
import secrets
import threading
from hashlib import sha256

COOKIE_BYTES = 32
TOKEN_BYTES = 16


class Session:
    """Secrets of a running server. They exist only in memory.

    Parameters
    ----------
    port
        Port of the server. Browsers send a cookie to all ports of a host, so the port is part of
        the cookie's name.
    """

    def __init__(self, port: int) -> None:
        self.cookie_name = f"askew-{port}"
        self._key = secrets.token_bytes(COOKIE_BYTES)
        self._cookie = secrets.token_urlsafe(COOKIE_BYTES)
        self._token: str | None = secrets.token_urlsafe(TOKEN_BYTES)
        self._lock = threading.Lock()

    @property
    def token(self) -> str:
        """The one-time token; empty if it has been used."""
        return self._token or ""

    def exchange(self, token: str) -> str | None:
        """Exchange the one-time token for the cookie's value; return None if the token is wrong."""
        with self._lock:
            expected = self._token
            if expected is None or not hmac.compare_digest(expected.encode(), token.encode()):
                return None
            self._token = None
        return self._cookie

    def is_owner(self, cookie: str) -> bool:
        """Check whether a cookie belongs to the user who opened the app with the one-time token."""
        return hmac.compare_digest(self._cookie.encode(), cookie.encode())

    def form_token(self, action: str) -> str:
        """Return the token for forms that are sent to this path."""
        return hmac.new(self._key, action.encode(), sha256).hexdigest()

    def is_form_token(self, action: str, token: str) -> bool:
        """Check whether a token is valid for forms that are sent to this path."""
        return hmac.compare_digest(self.form_token(action).encode(), token.encode())
