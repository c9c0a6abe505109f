"""Bodies of requests: their size, and forms with files (multipart/form-data), such as images to edit."""

import re
from collections.abc import Mapping

from starlette.requests import Request as HTTPRequest

from askew.serve.replies import BadRequest

MOST_PARTS = 64
"""Greatest number of fields of a form."""

_BOUNDARY = re.compile(r'boundary="?([^";,]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(rb'\bname="([^"]*)"', re.IGNORECASE)


def read_form(content_type: str, body: bytes) -> Mapping[str, bytes]:
    """Return the fields of a form by name, files as their content.

    Parameters
    ----------
    content_type
        The header Content-Type, which names the boundary of the fields.
    body
        The form.

    Raises
    ------
    BadRequest
        If it is not such a form.
    """
    boundary = _BOUNDARY.search(content_type)
    if boundary is None or not content_type.lower().startswith("multipart/form-data"):
        raise BadRequest("the request must be multipart/form-data, with the image as a file")
    separator = b"\r\n--" + boundary[1].encode()
    parts = (b"\r\n" + body).split(separator, MOST_PARTS + 1)
    if len(parts) < 3 or not parts[-1].startswith(b"--"):
        raise BadRequest(f"the form is not complete, or has more than {MOST_PARTS} fields")
    fields = {}
    for part in parts[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if name is None:
            raise BadRequest("a field of the form has no name")
        fields[name[1].decode(errors="replace")] = content
    return fields


async def bounded_body(request: HTTPRequest, most: int) -> bytes:
    """Return the body of a request. Raises BadRequest if it has more than `most` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise BadRequest(f"the request is larger than {most // 2**20} MB")
    return bytes(body)
