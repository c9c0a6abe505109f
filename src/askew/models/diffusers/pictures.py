"""From a pipeline's output to pictures, and to the reason where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import ModelError
from askew.store.imagefile import is_blank
from askew.types import Missing

HIDDEN = "the model's own safety checker hid the picture"
NOT_A_NUMBER = "the picture holds values that are no numbers; another dtype, such as float32, may help"
FLAT = "the picture shows a single colour"


def pictures(output: Any, count: int) -> list[Image.Image | Missing]:
    """One RGB picture, or `Missing("blank_image")`, per request. `output` is what the pipeline returned for `count`."""
    images = getattr(output, "images", None)
    if images is None or len(images) != count:
        raise ModelError(f"the pipeline returned {type(output).__name__} where {count} pictures were asked for")
    flags: Sequence[bool] = getattr(output, "nsfw_content_detected", None) or [False] * count
    return [
        Missing("blank_image", HIDDEN) if hidden else _picture(image)
        for image, hidden in zip(images, flags, strict=True)
    ]


def _picture(image: Any) -> Image.Image | Missing:
    if not isinstance(image, Image.Image):
        values: NDArray[np.float32] = np.asarray(image, dtype=np.float32)
        if not np.isfinite(values).all():
            return Missing("blank_image", NOT_A_NUMBER)
        image = Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8).squeeze())
    return Missing("blank_image", FLAT) if is_blank(image) else image.convert("RGB")
