"""The user's session: a one-time token that opens the app, a cookie, and a token for each form.

The address that askew prints in the terminal contains the one-time token. The first request exchanges
this token for a cookie. Each form contains a digest of its action path, which only this session can
compute.
"""

import hmac
import secrets
import threading
from hashlib import sha256

COOKIE_BYTES = 32
TOKEN_BYTES = 16


class Session:
    """Secrets of a running server, which exist only in memory.

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
        """Use up the one-time token, and return the value of the cookie; None for a wrong token."""
        with self._lock:
            expected = self._token
            if expected is None or not hmac.compare_digest(expected.encode(), token.encode()):
                return None
            self._token = None
        return self._cookie

    def is_owner(self, cookie: str) -> bool:
        """Check whether a cookie is from the user who opened the app with the one-time token."""
        return hmac.compare_digest(self._cookie.encode(), cookie.encode())

    def form_token(self, action: str) -> str:
        """Return the token for a form that is sent to this path."""
        return hmac.new(self._key, action.encode(), sha256).hexdigest()

    def is_form_token(self, action: str, token: str) -> bool:
        """Check whether a token is valid for a form that is sent to this path."""
        return hmac.compare_digest(self.form_token(action).encode(), token.encode())
