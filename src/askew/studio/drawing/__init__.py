"""Drawings of the studio world: 128 x 128 portraits that depend on a scene and a seed alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.studio.drawing.backdrop import draw_backdrop
from askew.studio.drawing.canvas import PARTS, SCALE, Canvas, finish
from askew.studio.drawing.look import look
from askew.studio.drawing.person import draw_person
from askew.studio.scene import Scene

__all__ = ["Drawing", "Mask", "draw", "draw_with_masks"]

Mask = NDArray[np.bool_]

_MASKS: Mapping[str, tuple[str, ...]] = {
    "head": ("skin", "face", "hair", "lens", "aid", "headwear"),
    "face": ("skin", "face", "lens"),
    "skin": ("skin", "neck"),
    "hair": ("hair",),
    "clothes": ("clothes",),
    "sign": ("sign", "headwear"),
    "pin": ("pin",),
    "backdrop": ("backdrop",),
}


@dataclass(frozen=True)
class Drawing:
    """A 128 x 128 RGB picture and the visible places of its parts, boolean arrays of shape (128,
    128).

    Masks: head (face, hair, headwear, and what is worn on it), face (its skin, features and clear
    glasses), skin (head, neck and hand without the features), hair, clothes, sign (card, headwear,
    accent), pin, backdrop.
    """

    image: Image.Image
    masks: Mapping[str, Mask]


def draw(scene: Scene, seed: int) -> Image.Image:
    """Draw a scene: a 128 x 128 RGB picture that depends on scene and seed alone."""
    return finish(_composed(scene, seed).image, scene.style)


def draw_with_masks(scene: Scene, seed: int) -> Drawing:
    """The same picture as `draw`, with the masks of its parts."""
    canvas = _composed(scene, seed, labelled=True)
    assert canvas.labels is not None
    labels = np.asarray(canvas.labels)[SCALE // 2 :: SCALE, SCALE // 2 :: SCALE]
    masks = {
        name: np.isin(labels, [PARTS.index(part) for part in parts])
        for name, parts in _MASKS.items()
    }
    return Drawing(finish(canvas.image, scene.style), masks)


def _composed(scene: Scene, seed: int, labelled: bool = False) -> Canvas:
    canvas = Canvas(labelled=labelled)
    seen = look(scene, seed)
    draw_backdrop(canvas, scene.environment, seen.jitter["backdrop"])
    if scene.person:
        draw_person(canvas, seen)
    return canvas
