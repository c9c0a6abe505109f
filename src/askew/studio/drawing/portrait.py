"""One drawing, from the backdrop to the sign in front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.studio.drawing import body, head, worn
from askew.studio.drawing.backdrop import draw_backdrop
from askew.studio.drawing.body import draw_pin
from askew.studio.drawing.canvas import PARTS, SCALE, Canvas, finish
from askew.studio.drawing.look import Look, look
from askew.studio.scene import Scene

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
    """A 128 x 128 RGB picture and the visible places of its parts, boolean arrays of shape (128, 128).

    Masks: head (face, hair, headwear, and what is worn on it), face (its skin, features and clear glasses), skin (head,
    neck and hand without the features), hair, clothes, sign (card, headwear, accent), pin, backdrop.
    """

    image: Image.Image
    masks: Mapping[str, Mask]


def draw(scene: Scene, seed: int) -> Image.Image:
    """Draw a scene: a 128 x 128 RGB picture that depends on scene and seed alone."""
    canvas = Canvas()
    _compose(canvas, scene, seed)
    return finish(canvas.image, scene.style)


def draw_with_masks(scene: Scene, seed: int) -> Drawing:
    """The same picture as `draw`, with the masks of its parts."""
    canvas = Canvas(labelled=True)
    _compose(canvas, scene, seed)
    assert canvas.labels is not None
    labels = np.asarray(canvas.labels)[SCALE // 2 :: SCALE, SCALE // 2 :: SCALE]
    masks = {name: np.isin(labels, [PARTS.index(part) for part in parts]) for name, parts in _MASKS.items()}
    return Drawing(finish(canvas.image, scene.style), masks)


def _compose(canvas: Canvas, scene: Scene, seed: int) -> None:
    seen = look(scene, seed)
    draw_backdrop(canvas, scene.environment, seen.jitter["backdrop"])
    if scene.person:
        _person(canvas, seen)


def _person(canvas: Canvas, seen: Look) -> None:
    varied = seen.jitter
    size = varied.between("scale", 0.96, 1.03)
    figure = canvas.placed(64 + varied.between("x", -3, 3), 128 - 128 * size + varied.between("y", -1, 3), size)
    top = figure.placed(0, 46, 1.0, varied.between("tilt", -3, 3))
    worn.draw_chair_back(figure, seen)
    head.draw_back_hair(top, seen)
    body.draw_torso(figure, seen)
    body.draw_neck(figure, seen)
    body.draw_clothes(figure, seen)
    worn.draw_accent(figure, seen)
    _head(top, seen)
    worn.draw_held(figure, seen)
    draw_pin(figure, seen, 21.5, 107.5)
    if seen.scene.occupation is not None:
        x, y = 23 + varied.between("sign_x", -2, 2), 107.5 + varied.between("sign_y", -1.5, 1.5)
        worn.draw_sign(canvas, seen.scene.occupation, x, y)


def _head(top: Canvas, seen: Look) -> None:
    head.draw_ears(top, seen, (-1, 1))
    head.draw_head(top, seen)
    head.draw_front_hair(top, seen)
    if seen.scene.hair == "long":
        head.draw_ears(top, seen, (1,))
    worn.draw_headwear(top, seen)
    worn.draw_eyewear(top, seen)
    worn.draw_hearing_aid(top, seen)
