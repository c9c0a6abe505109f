"""Attention maps of a concept and a word in the prompt, and the overlap between their masks.

Equation numbers refer to Chakraborty et al., "BiasMap: Can Cross-Attention Uncover Hidden Social
Biases?".
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
"""Function that converts maps to masks, such as `stats.overlap.mask` with a plan's threshold."""

ROUNDING = 1e-5
"""A map whose range is at most this share of its maximum is constant, up to rounding errors."""


@dataclass(frozen=True, slots=True)
class PairMaps:
    """Attention maps of a concept and a word in the prompt, for the same images.

    Attributes
    ----------
    model, prompt : str
        Model and prompt that were used to generate the images.
    a, b : str
        The concept (`a`), and the word in the prompt (`b`).
    layers : mapping of str to array, (2, images, h, w)
        Maps of `a` and then of `b`, keyed by layer.
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
        """Sum all layers outside the middle block, resized to the largest layer's size (Eq. 2).

        Returns
        -------
        array, (2, images, H, W)
        """
        outer = [maps for block, maps in block_maps(self.layers).items() if block != MIDDLE]
        total: Maps = np.sum(outer, axis=0)
        return total


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Overlap between the masks of two words in n images.

    Attributes
    ----------
    matrix : array, (n, n)
        IoU between the first word's mask in each image (rows) and the second word's mask in each
        image (columns).
    usable : array of bool, (n,)
        True for each image in which both maps have a mask, that is, neither map is constant.
    """

    matrix: NDArray[np.float64]
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, maps: Maps, masking: Masking) -> Self:
        """Compute the overlaps between two words from their maps of shape (2, images, H, W)."""
        return cls(matrix=iou_matrix(*masking(maps)), usable=~constant_images(maps))

    @classmethod
    def mean(cls, blocks: Mapping[str, Self]) -> Self:
        """Return the overlap averaged over all blocks that have a usable image (Eq. 6).

        The middle block is omitted.

        An image is usable if it is usable in all of these blocks.
        """
        outer = [overlaps for block, overlaps in blocks.items() if block != MIDDLE]
        counted = [overlaps for overlaps in outer if overlaps.usable.any()] or outer
        return cls(
            matrix=np.mean([overlaps.matrix for overlaps in counted], axis=0),
            usable=np.all([overlaps.usable for overlaps in counted], axis=0),
        )

    def by_image(self) -> tuple[float | None, ...]:
        """Return the IoU between the words' masks in each image; None if an image is unusable."""
        return tuple(
            float(iou) if usable else None
            for iou, usable in zip(np.diagonal(self.matrix), self.usable, strict=True)
        )


def block_maps(layers: Mapping[str, LayerMaps]) -> dict[str, Maps]:
    """Resize the maps of each block's layers to the block's largest layer, and sum them (Eq. 5).

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
    """Check which maps are constant, up to rounding errors. A constant map has no mask.

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
    """Return the maps of the `k`-th pair of words, each of shape (2, images, h, w)."""
    return {name: maps[:, 2 * k : 2 * k + 2].swapaxes(0, 1) for name, maps in layers.items()}
