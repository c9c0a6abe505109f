"""Drawings as the studio's networks take them, in training and afterwards."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def network_input(pixels: NDArray[np.uint8]) -> Tensor:
    """Pictures (pictures, height, width, 3) from 0 to 255 as (pictures, 3, height, width) from -1 to 1."""
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
