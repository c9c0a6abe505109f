"""Functions that read request bodies up to a size limit, and parse forms that contain files."""

import logging
from collections.abc import Mapping

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header
from starlette.requests import Request as HTTPRequest

from askew.serve.replies import BadRequest

MOST_PARTS = 64
"""Maximum number of fields in a form."""

FORM = b"multipart/form-data"

logging.getLogger("python_multipart").addHandler(logging.NullHandler())  # the reply has the error


def read_form(content_type: str, body: bytes) -> Mapping[str, bytes]:
    """Return the contents of a multipart/form-data form's fields and files, keyed by field name.

    Parameters
    ----------
    content_type
        Content-Type header of the request. The header contains the boundary string that separates
        the fields.
    body
        Body of the request.

    Raises
    ------
    BadRequest
        If the body is not a valid multipart/form-data form.
    """
    kind, options = parse_options_header(content_type)
    if kind != FORM or b"boundary" not in options:
        raise BadRequest("the request must be multipart/form-data, with the image as a file")
    form = _Form()
    try:
        parser = FormParser(
            kind.decode(),
            form.add_field,
            form.add_file,
            form.end,
            boundary=options[b"boundary"],
            config={"MAX_MEMORY_FILE_SIZE": len(body) + 1},
        )
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise BadRequest(f"the form cannot be read: {error}") from error
    if not form.is_complete:
        raise BadRequest("the form is not complete")
    return form.fields


class _Form:
    """Fields of a form, collected in the callbacks of the parser."""

    def __init__(self) -> None:
        self.fields: dict[str, bytes] = {}
        self.is_complete = False
        self._parts = 0

    def add_field(self, field: Field) -> None:
        """Add a field that is not a file."""
        self._add(field.field_name, field.value or b"")

    def add_file(self, file: File) -> None:
        """Add the content of a file that the parser has kept in memory."""
        file.file_object.seek(0)
        self._add(file.field_name, file.file_object.read())

    def end(self) -> None:
        """Record that the form is complete."""
        self.is_complete = True

    def _add(self, name: bytes | None, content: bytes) -> None:
        if name is None:
            raise BadRequest("a field of the form has no name")
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadRequest(f"the form has more than {MOST_PARTS} fields")
        self.fields[name.decode(errors="replace")] = content


async def bounded_body(request: HTTPRequest, most: int) -> bytes:
    """Return the body of a request. Raises BadRequest if the body has more than `most` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise BadRequest(f"the request is larger than {most // 2**20} MB")
    return bytes(body)
