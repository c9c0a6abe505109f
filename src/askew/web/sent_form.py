"""Functions that check the size, token and characters of submitted forms, and read the forms."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request as HTTPRequest

from askew.web.session import Session

MOST_BYTES = 2**20
"""Maximum size of a submitted form in bytes (1 MB)."""

MOST_FIELDS = 500
FORM_TYPE = "application/x-www-form-urlencoded"

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""Pattern for characters that control or reorder text, except tabs and line breaks."""


class FormRefused(Exception):
    """Exception for a form that the app refuses to read.

    Attributes
    ----------
    status
        HTTP status of the response.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class SentForm:
    """Fields of a submitted form.

    Attributes
    ----------
    fields
        Values of each field, keyed by field name.
    """

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        """Return a field's last value without surrounding spaces; empty if there is none."""
        values = self.fields.get(name, ())
        return values[-1].strip() if values else ""

    def texts(self, name: str) -> list[str]:
        """Return all nonempty values of a field, without surrounding spaces."""
        return [value.strip() for value in self.fields.get(name, ()) if value.strip()]


async def read_form(request: HTTPRequest, session: Session) -> SentForm:
    """Read the form in the body of a request.

    Parameters
    ----------
    request
        The request.
    session
        The user's session, which checks the form's token.

    Raises
    ------
    FormRefused
        If the form is too large, has the wrong token, or contains forbidden characters.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM_TYPE:
        raise FormRefused(415, "the request is not a form of this app")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise FormRefused(413, "the form is larger than 1 MB")
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise FormRefused(400, "the form cannot be read") from error
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    form = SentForm(fields)
    if not session.is_form_token(request.url.path, form.text("token")):
        raise FormRefused(403, "the form is not from this app, or the app has been restarted")
    for values in fields.values():
        if any(CONTROL.search(value) for value in values):
            raise FormRefused(400, "the form contains a control character")
    return form
