"""The owner's session: a token that opens the app once, a cookie, and a token for each form.

The address that the terminal prints contains the one-time token. The first request exchanges it for
a cookie. A form contains a digest of its action that only this session can compute.
"""

import hmac
import secrets
import threading
from hashlib import sha256

COOKIE_BYTES = 32
TOKEN_BYTES = 16


class Session:
    """The secrets of one server. They are forgotten when the server ends.

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
        """The one-time token; empty if it was used."""
        return self._token or ""

    def exchange(self, token: str) -> str | None:
        """Return the value of the cookie for the one-time token; None for any other text."""
        with self._lock:
            expected = self._token
            if expected is None or not hmac.compare_digest(expected.encode(), token.encode()):
                return None
            self._token = None
        return self._cookie

    def is_owner(self, cookie: str) -> bool:
        """Check whether a cookie is the owner's."""
        return hmac.compare_digest(self._cookie.encode(), cookie.encode())

    def form_token(self, action: str) -> str:
        """Return the token of a form, by the path that it is sent to."""
        return hmac.new(self._key, action.encode(), sha256).hexdigest()

    def is_form_token(self, action: str, token: str) -> bool:
        """Check the token of a form."""
        return hmac.compare_digest(self.form_token(action).encode(), token.encode())
