"""Face detector MTCNN (Zhang et al. 2016) in NumPy: boxes, scores and five points per face.

Three small networks run one after the other. The first network proposes boxes in an image pyramid:
copies of the image at several sizes. The second and the third network reject and refine the
proposals. The third network also returns the points. The thresholds and the factor between the
sizes in the pyramid come from the paper's authors.

The weights in `data/mtcnn.npz` come from the package `mtcnn` 1.0.0 on PyPI (MIT license,
`data/MTCNN-LICENSE.txt`). The code of that package needs TensorFlow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Floats32 = NDArray[np.float32]
Floats = NDArray[np.float64]
Layers = Mapping[str, Floats32]
"""Weights of a network, keyed by layer name and part, such as "conv1.weight"."""

SMALLEST = 24
"""Minimum width, in pixels, of the faces that the detector looks for."""

SMALLEST_PART = 1 / 25
"""Minimum width of a face, as a fraction of the longer side of the image.

This fraction limits the run time of the first network for large images. If the longer side exceeds
600 pixels, this fraction applies instead of `SMALLEST`.
"""

PYRAMID_FACTOR = 0.709
CELL = 12
"""Face width, in pixels, that the first network recognizes."""

PROPOSAL_THRESHOLD = 0.6
REFINEMENT_THRESHOLD = 0.7
OUTPUT_THRESHOLD = 0.7


@dataclass(frozen=True, slots=True)
class FaceBoxes:
    """Faces that were detected in an image, with coordinates in pixels of the image.

    Attributes
    ----------
    boxes : array, (faces, 4)
        Left, top, right and bottom edges. A box may extend beyond the image.
    scores : array, (faces,)
        Scores in (0.7, 1], the highest first.
    points : array, (faces, 5, 2)
        Coordinates x and y of the eyes, the nose and the corners of the mouth. The left eye and the
        left corner of the mouth, as seen by the viewer, come first.
    """

    boxes: Floats
    scores: Floats
    points: Floats


NO_FACES = FaceBoxes(boxes=np.zeros((0, 4)), scores=np.zeros(0), points=np.zeros((0, 5, 2)))


@dataclass(frozen=True, slots=True)
class _Proposals:
    """Boxes of shape (n, 4), and their scores of shape (n,)."""

    boxes: Floats
    scores: Floats


def detect(image: Image.Image) -> FaceBoxes:
    """Detect the faces of an RGB image."""
    proposals = _proposals(image)
    refined = _refined(image, proposals)
    return _final(image, refined)


def _proposals(image: Image.Image) -> Floats:
    """Run the first network, and return the square boxes that it proposes."""
    smallest = max(SMALLEST, max(image.size) * SMALLEST_PART)
    scale = CELL / smallest
    levels = []
    while min(image.size) * scale >= CELL:
        levels.append(_proposals_of_level(image, scale))
        scale *= PYRAMID_FACTOR
    if not levels:
        return NO_FACES.boxes
    boxes = np.concatenate([level.boxes for level in levels])
    scores = np.concatenate([level.scores for level in levels])
    return _squares(boxes[_suppressed(boxes, scores, 0.7)])


def _proposals_of_level(image: Image.Image, scale: float) -> _Proposals:
    """Return the first network's proposals for the image at the given scale."""
    width, height = (int(length * scale + 1) for length in image.size)
    method = Image.Resampling.BOX if scale < 1 else Image.Resampling.BILINEAR
    layers = _networks()["pnet"]
    features = _standardized(image.resize((width, height), method))[None]
    features = _max_pool(_convolution(features, layers, "conv1"), 2)
    features = _convolution(features, layers, "conv2")
    features = np.moveaxis(_convolution(features, layers, "conv3")[0], 0, -1)
    scores = _face_probability(_dense(features, layers, "face"))
    y, x = np.nonzero(scores >= PROPOSAL_THRESHOLD)
    corners = np.stack([2 * x + 1, 2 * y + 1, 2 * x + CELL, 2 * y + CELL], axis=1)
    boxes = corners / scale
    chosen = _suppressed(boxes, scores[y, x], 0.5)
    corrections = _dense(features[y[chosen], x[chosen]], layers, "box")
    return _Proposals(boxes=_moved(boxes[chosen], corrections), scores=scores[y, x][chosen])


def _refined(image: Image.Image, boxes: Floats) -> Floats:
    """Run the second network, and return the boxes that it accepts, corrected and made square."""
    if not len(boxes):
        return boxes
    layers = _networks()["rnet"]
    features = _max_pool(_convolution(_crops(image, boxes, 24), layers, "conv1"), 3)
    features = _max_pool(_convolution(features, layers, "conv2"), 3)
    features = _flat(_convolution(features, layers, "conv3"))
    features = _activated_dense(features, layers)
    scores = _face_probability(_dense(features, layers, "face"))
    accepted = scores > REFINEMENT_THRESHOLD
    corrections = _dense(features[accepted], layers, "box")
    chosen = _suppressed(boxes[accepted], scores[accepted], 0.7)
    return _squares(_moved(boxes[accepted][chosen], corrections[chosen]))


def _final(image: Image.Image, boxes: Floats) -> FaceBoxes:
    """Run the third network, and return the faces that it accepts."""
    if not len(boxes):
        return NO_FACES
    layers = _networks()["onet"]
    features = _max_pool(_convolution(_crops(image, boxes, 48), layers, "conv1"), 3)
    features = _max_pool(_convolution(features, layers, "conv2"), 3)
    features = _max_pool(_convolution(features, layers, "conv3"), 2)
    features = _flat(_convolution(features, layers, "conv4"))
    features = _activated_dense(features, layers)
    scores = _face_probability(_dense(features, layers, "face"))
    accepted = scores > OUTPUT_THRESHOLD
    places = _dense(features[accepted], layers, "points")
    corrections = _dense(features[accepted], layers, "box")
    boxes = boxes[accepted]
    sides = boxes[:, 2:] - boxes[:, :2]
    points = np.stack([places[:, :5], places[:, 5:]], axis=2) * sides[:, None] + boxes[:, None, :2]
    boxes = _moved(boxes, corrections)
    chosen = _suppressed(boxes, scores[accepted], 0.7, of_smaller=True)
    return FaceBoxes(boxes=boxes[chosen], scores=scores[accepted][chosen], points=points[chosen])


@cache
def _networks() -> Mapping[str, Layers]:
    """Return the weights of the three networks, keyed by name."""
    networks: dict[str, dict[str, Floats32]] = {"pnet": {}, "rnet": {}, "onet": {}}
    with (
        as_file(files("askew.measure") / "data" / "mtcnn.npz") as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        for name in arrays.files:
            network, _, layer = name.partition(".")
            networks[network][layer] = arrays[name]
    return networks


def _standardized(image: Image.Image) -> Floats32:
    """Return the pixels as an array of shape (3, height, width), with values in [-1, 1]."""
    channels = np.asarray(image).transpose(2, 0, 1)
    return (channels.astype(np.float32, order="C") - np.float32(127.5)) / np.float32(128)


def _crops(image: Image.Image, boxes: Floats, side: int) -> Floats32:
    """Crop the image to each box, and resize the crops to side x side pixels.

    Pixels outside the image are black.
    """
    crops = np.empty((len(boxes), 3, side, side), dtype=np.float32)
    for index, box in enumerate(boxes):
        left, top, right, bottom = (round(float(edge)) for edge in box)
        crop = image.crop((left, top, max(right, left + 2), max(bottom, top + 2)))
        crops[index] = _standardized(crop.resize((side, side), Image.Resampling.BILINEAR))
    return crops


def _convolution(features: Floats32, layers: Layers, name: str) -> Floats32:
    """Apply a convolution without padding, and then a PReLU, to features.

    The features have the shape (n, channels, height, width).
    """
    weight = layers[f"{name}.weight"]
    filters, _, rows, columns = weight.shape
    windows = np.lib.stride_tricks.sliding_window_view(features, (rows, columns), axis=(2, 3))
    count, _, height, width = windows.shape[:4]
    patches = windows.transpose(0, 1, 4, 5, 2, 3).reshape(count, -1, height * width)
    sums = weight.reshape(filters, -1) @ patches
    sums += layers[f"{name}.bias"][:, None]
    activated = _activated(sums, layers[f"{name}.slope"][:, None])
    return activated.reshape(count, filters, height, width)


def _activated(sums: Floats32, slope: Floats32) -> Floats32:
    """Multiply negative sums by the slope of their channel (PReLU)."""
    negative = np.minimum(sums, 0)
    negative *= slope
    return np.asarray(np.maximum(sums, 0) + negative)


def _dense(features: Floats32, layers: Layers, name: str) -> Floats32:
    return np.asarray(features @ layers[f"{name}.weight"] + layers[f"{name}.bias"])


def _activated_dense(features: Floats32, layers: Layers) -> Floats32:
    return _activated(_dense(features, layers, "dense"), layers["dense.slope"])


def _flat(features: Floats32) -> Floats32:
    """Flatten features to shape (n, values), column by column, as in the networks' training."""
    return features.transpose(0, 3, 2, 1).reshape(len(features), -1)


def _max_pool(features: Floats32, size: int) -> Floats32:
    """Return the maxima of windows with a stride of 2.

    If the last window extends beyond the features, it is cropped.
    """
    height, width = (-(-(length - size) // 2) + 1 for length in features.shape[2:])
    bottom = max(2 * (height - 1) + size - features.shape[2], 0)
    right = max(2 * (width - 1) + size - features.shape[3], 0)
    if bottom or right:
        edges = ((0, 0), (0, 0), (0, bottom), (0, right))
        features = np.pad(features, edges, constant_values=-np.inf)
    rows = [features[:, :, start : start + 2 * height : 2][:, :, :height] for start in range(size)]
    maxima = _largest(rows)
    columns = [maxima[..., start : start + 2 * width : 2][..., :width] for start in range(size)]
    return _largest(columns)


def _largest(arrays: Sequence[Floats32]) -> Floats32:
    """Return the elementwise maximum of the arrays."""
    first, second, *others = arrays
    largest = np.maximum(first, second)
    for other in others:
        np.maximum(largest, other, out=largest)
    return largest


def _face_probability(logits: Floats32) -> Floats:
    """Return the softmax probability of the class "face", the second of two classes."""
    return np.asarray(1 / (1 + np.exp(np.float64(logits[..., 0]) - logits[..., 1])))


def _moved(boxes: Floats, corrections: Floats32) -> Floats:
    """Move the edges of a box by corrections, expressed as fractions of its width or height."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return np.asarray(boxes + corrections * np.tile(sides, 2))


def _squares(boxes: Floats) -> Floats:
    """Return, for each box, the square around its center whose side is the box's longer side."""
    half = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True) / 2
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    return np.concatenate([middle - half, middle + half], axis=1)


def _suppressed(
    boxes: Floats, scores: Floats, threshold: float, *, of_smaller: bool = False
) -> NDArray[np.intp]:
    """Return the indices of the boxes that remain after non-maximum suppression.

    The box with the highest score comes first.

    Parameters
    ----------
    boxes
        Boxes (n, 4).
    scores
        Scores (n,).
    threshold
        Maximum permitted overlap, as a fraction of the area.
    of_smaller
        If True, divide the overlap by the area of the smaller box instead of the area of the union.
    """
    order = np.argsort(-scores, kind="stable")
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2] + 1, 0)
    areas = sides[:, 0] * sides[:, 1]
    indices = []
    while len(order):
        best = order[0]
        rest = order[1:]
        indices.append(best)
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = np.maximum(high - low + 1, 0).prod(axis=1)
        if of_smaller:
            whole = np.minimum(areas[best], areas[rest])
        else:
            whole = areas[best] + areas[rest] - shared
        order = rest[shared <= threshold * whole]
    return np.array(indices, dtype=np.intp)
