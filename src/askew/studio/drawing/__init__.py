"""Draw studio portraits of 128 x 128 pixels, which depend only on a scene and a seed."""

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
    """A drawn image, with masks that show where each part of the drawing is visible.

    Attributes
    ----------
    image : Image
        RGB image of 128 x 128 pixels.
    masks : mapping to array of bool, (128, 128)
        Mask of the pixels that show each part, keyed by the part's name. The parts are head (face,
        hair, headwear, glasses and hearing aid), face (skin and features of the face, and clear
        glasses), skin (of head, neck and hand, without the facial features), hair, clothes, sign
        (card, headwear and accent), pin, and backdrop.
    """

    image: Image.Image
    masks: Mapping[str, Mask]


def draw(scene: Scene, seed: int) -> Image.Image:
    """Draw a scene as an RGB image of 128 x 128 pixels.

    Parameters
    ----------
    scene
        The scene.
    seed
        Seed of the jitter.
    """
    return finish(_composed(scene, seed).image, scene.style)


def draw_with_masks(scene: Scene, seed: int) -> Drawing:
    """Draw the same image as `draw`, and return it with the masks of its parts.

    Parameters
    ----------
    scene
        The scene.
    seed
        Seed of the jitter.
    """
    canvas = _composed(scene, seed, labeled=True)
    assert canvas.labels is not None
    labels = np.asarray(canvas.labels)[SCALE // 2 :: SCALE, SCALE // 2 :: SCALE]
    masks = {}
    for name, parts in _MASKS.items():
        masks[name] = np.isin(labels, [PARTS.index(part) for part in parts])
    return Drawing(image=finish(canvas.image, scene.style), masks=masks)


def _composed(scene: Scene, seed: int, labeled: bool = False) -> Canvas:
    canvas = Canvas(labeled=labeled)
    appearance = look(scene, seed)
    draw_backdrop(canvas, scene.environment, appearance.jitter["backdrop"])
    if scene.person:
        draw_person(canvas, appearance)
    return canvas
