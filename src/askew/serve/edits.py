"""Requests to edit images with a served model that supports editing.

The field `strength` does not exist in OpenAI's interface. `strength` is the share of the denoising
steps that the model runs on the noised input image. At the default strength of 1, nothing of the
input image remains.
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
"""Accepted names of the form field that contains the image to edit."""


@dataclass(frozen=True, slots=True)
class EditForm:
    """Form data from a request for an edited image.

    Attributes
    ----------
    request
        The requested edit. If the form contains no seed, the seed is random.
    """

    request: EditRequest

    @classmethod
    def read(cls, content_type: str, body: bytes) -> "EditForm":
        """Parse the form in the body of an HTTP request.

        Raises
        ------
        BadRequest
            If the form cannot be read, or requests something that the server does not support.
        """
        fields = read_form(content_type, body)
        if "mask" in fields or fields.get("stream") == b"true":
            raise BadRequest("this server does not support masks, and does not stream images")
        files = [fields[name] for name in IMAGE_FIELDS if name in fields]
        if len(files) != 1 or _number(fields, "n", 1) != 1:
            raise BadRequest(
                "a request must contain exactly one image and ask for exactly one edit"
            )
        try:
            picture = opened_safely(files[0])
        except Exception as error:  # decoders raise all kinds of exceptions on garbage
            raise BadRequest(f"the image cannot be read: {error!r}") from error
        strength = _number(fields, "strength", 1.0)
        seed = int(_number(fields, "seed", secrets.randbits(62) + 1))
        if not 0 < strength <= 1 or seed < 0:
            raise BadRequest("strength must be above 0 and at most 1, and seed must be at least 0")
        prompt = fields.get("prompt", b"").decode(errors="replace")
        return cls(EditRequest(picture=picture, prompt=prompt, strength=strength, seed=seed))


def _number(fields: Mapping[str, bytes], name: str, default: int | float) -> int | float:
    """Return the number in a form field.

    If the default is an integer, the number must be an integer, too.
    """
    text = fields.get(name)
    if text is None:
        return default
    try:
        return type(default)(text)
    except ValueError as error:
        raise BadRequest(f"{name} is {text[:50]!r}; it must be a number") from error


def served_editor(model: Model) -> Editor | None:
    """Return an editor that uses a model with default settings; None if the model cannot edit."""
    try:
        return editor_of(model, {})
    except UsageError:
        return None


def made_edit(editor: Editor, request: EditRequest) -> EncodedPicture | Missing:
    """Edit an image, and return the encoded result.

    Raises
    ------
    BadRequest
        If the model cannot edit images of this size, or with this strength.
    """
    try:
        editor.check(request.picture.size, [request.strength])
    except UsageError as error:
        raise BadRequest(str(error)) from error
    (image,) = editor.edit([request])
    return encoded(image)
