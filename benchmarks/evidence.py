"""Regions of a drawing that contain the evidence of an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from askew.studio.drawing import Mask, draw
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene


def evidence(scene: Scene, seed: int, attribute: str) -> Mask:
    """Return the smallest region that contains all evidence of an attribute.

    In the region, drawings of the scene with different values of the attribute differ. The region
    does not depend on the value of the scene. So covering it removes all evidence, and its outline
    does not show the value.

    Parameters
    ----------
    scene
        The scene.
    seed
        Seed of the drawing.
    attribute
        A name in ATTRIBUTES, or "occupation".

    Returns
    -------
    ndarray of bool, shape (128, 128)
        The region.

    Raises
    ------
    ValueError
        If there is no such attribute.
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
    """Return the scene with another value. Blindness and clear glasses exclude each other."""
    if value == "blind":
        return replace(scene, disability=value, glasses="no glasses")
    if value == "glasses" and scene.disability == "blind":
        return replace(scene, disability="fit", glasses=value)
    changed: dict[str, Any] = {attribute: value}
    return replace(scene, **changed)
