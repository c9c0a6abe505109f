"""The endpoint of a served model for edits of images, if the model can edit.

`strength` is a field that OpenAI's interface lacks: the share of the denoising steps that are
repeated. Without it, nothing of the input image is kept (strength 1).
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from askew.errors import UsageError
from askew.models.base import Editor, EditRequest, Model
from askew.models.editors import editor_of
from askew.models.openai_images import opened_safely
from askew.run.base import encoded
from askew.serve.forms import read_form
from askew.serve.replies import BadRequest
from askew.store.imagefile import EncodedPicture
from askew.types import Missing

IMAGE_FIELDS = ("image", "image[]")
"""Names of the field with the image to edit."""


@dataclass(frozen=True, slots=True)
class EditForm:
    """A form that asks for an edit.

    Attributes
    ----------
    request
        The edit. A form without a seed gets a new seed.
    """

    request: EditRequest

    @classmethod
    def read(cls, content_type: str, body: bytes) -> "EditForm":
        """Return the form in a body.

        Raises
        ------
        BadRequest
            If it cannot be read, or asks for something that is not served.
        """
        fields = read_form(content_type, body)
        if "mask" in fields or fields.get("stream") == b"true":
            raise BadRequest("this server edits complete images without a mask, and streams none")
        files = [fields[name] for name in IMAGE_FIELDS if name in fields]
        if len(files) != 1 or _number(fields, "n", 1) != 1:
            raise BadRequest("this server makes one edit of one image per request")
        try:
            picture = opened_safely(files[0])
        except Exception as error:  # decoders raise all kinds of exceptions on garbage
            raise BadRequest(f"the image cannot be read: {error!r}") from error
        strength = _number(fields, "strength", 1.0)
        seed = int(_number(fields, "seed", secrets.randbits(62) + 1))
        if not 0 < strength <= 1 or seed < 0:
            raise BadRequest("strength must be above 0 and at most 1, and seed at least 0")
        prompt = fields.get("prompt", b"").decode(errors="replace")
        return cls(EditRequest(picture=picture, prompt=prompt, strength=strength, seed=seed))


def _number(fields: Mapping[str, bytes], name: str, default: int | float) -> int | float:
    """Return a number of a form, whole if its default is."""
    text = fields.get(name)
    if text is None:
        return default
    try:
        return type(default)(text)
    except ValueError as error:
        raise BadRequest(f"{name} is {text[:50]!r}; it must be a number") from error


def served_editor(model: Model) -> Editor | None:
    """Return a model as an editor with its usual settings; None if it cannot edit."""
    try:
        return editor_of(model, {})
    except UsageError:
        return None


def made_edit(editor: Editor, request: EditRequest) -> EncodedPicture | Missing:
    """Return an encoded edit.

    Raises
    ------
    BadRequest
        If the model cannot edit images of this size, or at this strength.
    """
    try:
        editor.check(request.picture.size, [request.strength])
    except UsageError as error:
        raise BadRequest(str(error)) from error
    (image,) = editor.edit([request])
    return encoded(image)
