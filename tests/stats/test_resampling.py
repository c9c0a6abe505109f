"""Maps at another size."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from askew.stats.resampling import bilinear


@pytest.mark.parametrize(("old", "new"), [((4, 4), (16, 16)), ((3, 5), (7, 11)), ((8, 8), (3, 4)), ((1, 1), (2, 3))])
def test_it_is_what_pytorch_does(old: tuple[int, int], new: tuple[int, int]) -> None:
    maps = np.random.default_rng(0).random((2, 3, *old))
    expected = F.interpolate(torch.from_numpy(maps), new, mode="bilinear", align_corners=False)
    np.testing.assert_allclose(bilinear(maps, new), expected.numpy(), rtol=1e-12)
