"""Where in a drawing the evidence of an attribute lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from askew.studio.drawing import Mask, draw
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene


def evidence(scene: Scene, seed: int, attribute: str) -> Mask:
    """The smallest region (128, 128) outside which the drawing is the same whatever the value of
    `attribute`.

    `attribute` is a name in ATTRIBUTES or "occupation". The region is where any two drawings of the
    scene differ that differ in the attribute alone. It does not depend on the value the scene has,
    so covering it removes all evidence and its outline gives nothing away.
    """
    drawn = [np.asarray(draw(variant, seed)) for variant in _variants(scene, attribute)]
    first = drawn[0]
    changed: Mask = np.logical_or.reduce([(other != first).any(axis=2) for other in drawn[1:]])
    return changed


def _variants(scene: Scene, attribute: str) -> Iterator[Scene]:
    if attribute == "occupation":
        yield replace(scene, occupation=None)
        yield from (replace(scene, occupation=name) for name in OCCUPATIONS)
    elif attribute in ATTRIBUTES:
        yield from (_with(scene, attribute, value) for value in ATTRIBUTES[attribute])
    else:
        raise ValueError(
            f"unknown attribute {attribute!r}; possible: {', '.join(ATTRIBUTES)}, occupation"
        )


def _with(scene: Scene, attribute: str, value: str) -> Scene:
    """The scene with another value; a blind person gives up clear glasses, and glasses give up
    blindness.
    """
    if value == "blind":
        return replace(scene, disability=value, glasses="no glasses")
    if value == "glasses" and scene.disability == "blind":
        return replace(scene, disability="fit", glasses=value)
    changed: dict[str, Any] = {attribute: value}
    return replace(scene, **changed)
