"""Distributions and draws of attributes of the planted world, given the rest of a portrait."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import numpy as np

from askew.studio import planted
from askew.studio.scene import ATTRIBUTES, Scene


def share_given_rest(
    scene: Scene, attribute: str, bias: float, unknown: Collection[str] = ()
) -> dict[str, float]:
    """Return the probability of each value of an attribute, given all others but `unknown`."""
    others = tuple(i for i, name in enumerate(planted.NAMES) if name != attribute)
    weights = _given_rest(scene, (attribute, *unknown), bias).sum(axis=others)
    return {
        value: float(p)
        for value, p in zip(ATTRIBUTES[attribute], weights / weights.sum(), strict=True)
    }


def redrawn(scene: Scene, unknown: Collection[str], bias: float, seed: int) -> Scene:
    """Draw the `unknown` attributes of the portrait, given all others."""
    table = _given_rest(scene, unknown, bias)
    index = np.unravel_index(
        planted.chosen(np.cumsum(table), np.random.default_rng([seed, 1])), table.shape
    )
    values = {
        name: ATTRIBUTES[name][int(i)]
        for name, i in zip(planted.NAMES, index, strict=True)
        if name in unknown
    }
    return Scene.of({**scene.attributes(), **values}, scene.occupation)


def _given_rest(scene: Scene, unknown: Collection[str], bias: float) -> planted.Array:
    """Return the part of the world table that agrees with the scene but for `unknown`.

    Dimensions of known attributes have length 1.
    """
    known = [ATTRIBUTES[name].index(value) for name, value in scene.attributes().items()]
    places = zip(planted.NAMES, known, strict=True)
    index = tuple(slice(None) if name in unknown else slice(k, k + 1) for name, k in places)
    return planted.world(scene.occupation, bias)[index]


@cache
def followers(attribute: str) -> tuple[str, ...]:
    """Return the attributes that depend on this attribute, directly or through others."""
    names: list[str] = []
    for child, parents, _ in planted.factors(None):  # parents come before their children
        if not {attribute, *names}.isdisjoint(parents):
            names.append(child)
    return tuple(names)
