"""Attention maps of a concept and of a word in the prompt, and the overlap of their masks.

Equation numbers are those of Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden
Social Biases?".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askew.measure.attention import block_names
from askew.methods.map.findings import MIDDLE
from askew.stats.overlap import Mask, bilinear, iou_matrix

LayerMaps = NDArray[np.floating[Any]]
Maps = NDArray[np.float64]
Masking = Callable[[Maps], Mask]
"""Function that converts maps of shape (..., H, W) to masks: `stats.overlap.mask` with a plan's
threshold."""

ROUNDING = 1e-5
"""A map counts as constant if its range is at most this share of its maximum (rounding errors)."""


@dataclass(frozen=True, slots=True)
class PairMaps:
    """Attention maps of a concept and of a word in the prompt, for the same images.

    Attributes
    ----------
    model, prompt : str
        Model and prompt from which the images were generated.
    a, b : str
        Concept, and word of the prompt.
    layers : mapping of str to array, (2, images, h, w)
        Maps of `a` and `b`, keyed by layer.
    seeds : tuple of int or None
        Seeds of the images.
    missing : int
        Number of images that are missing.
    """

    model: str
    prompt: str
    a: str
    b: str
    layers: Mapping[str, LayerMaps]
    seeds: tuple[int | None, ...]
    missing: int = 0

    def total(self) -> Maps:
        """Sum all layers outside the middle block, resized to the largest layer (Eq. 2).

        Returns
        -------
        array, (2, images, H, W)
        """
        outer = [maps for block, maps in block_maps(self.layers).items() if block != MIDDLE]
        total: Maps = np.sum(outer, axis=0)
        return total


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Overlap of the masks of two words in n images.

    Attributes
    ----------
    matrix : array, (n, n)
        IoU between the first word's mask in each image (rows) and the second word's mask in each
        image (columns).
    usable : array of bool, (n,)
        For each image, whether both maps have a mask because they are not constant.
    """

    matrix: NDArray[np.float64]
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, maps: Maps, masking: Masking) -> Self:
        """Return the overlaps between two words, from their maps of shape (2, images, H, W)."""
        return cls(matrix=iou_matrix(*masking(maps)), usable=~constant_images(maps))

    @classmethod
    def mean(cls, blocks: Mapping[str, Self]) -> Self:
        """Return the mean overlap over all blocks with a usable image (Eq. 6).

        The middle block is left out.

        An image counts as usable if it is usable in all these blocks.
        """
        outer = [overlaps for block, overlaps in blocks.items() if block != MIDDLE]
        counted = [overlaps for overlaps in outer if overlaps.usable.any()] or outer
        return cls(
            matrix=np.mean([overlaps.matrix for overlaps in counted], axis=0),
            usable=np.all([overlaps.usable for overlaps in counted], axis=0),
        )

    def by_image(self) -> tuple[float | None, ...]:
        """Return the IoU of both words in each image, or None for an unusable image."""
        return tuple(
            float(iou) if usable else None
            for iou, usable in zip(np.diagonal(self.matrix), self.usable, strict=True)
        )


def block_maps(layers: Mapping[str, LayerMaps]) -> dict[str, Maps]:
    """Sum the maps of all layers in each block, resized to the largest layer (Eq. 5).

    Parameters
    ----------
    layers
        Maps of shape (..., h, w), keyed by layer.

    Returns
    -------
    dict of str to array, (..., H, W)
        Maps, keyed by block.
    """
    size = max(maps.shape[-2:] for maps in layers.values())
    names = block_names({name: (maps.shape[-2], maps.shape[-1]) for name, maps in layers.items()})
    blocks: dict[str, Maps] = {}
    for layer, block in names.items():
        blocks[block] = blocks.get(block, 0) + bilinear(layers[layer], size)
    return blocks


def constant_images(maps: LayerMaps) -> NDArray[np.bool_]:
    """Check for each map whether it is constant, up to rounding errors. Such a map has no mask.

    Parameters
    ----------
    maps
        Maps of shape (words, images, H, W).

    Returns
    -------
    array of bool, (images,)
    """
    top = np.abs(maps).max(axis=(-2, -1))
    return np.asarray(np.any(np.ptp(maps, axis=(-2, -1)) <= ROUNDING * top, axis=0))


def layers_of_pair(layers: Mapping[str, LayerMaps], k: int) -> dict[str, LayerMaps]:
    """Return the maps for the pair of words `k`, reordered to the shape (2, images, h, w)."""
    return {name: maps[:, 2 * k : 2 * k + 2].swapaxes(0, 1) for name, maps in layers.items()}
