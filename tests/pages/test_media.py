"""Images in pages: small, complete, and with maps at the right place."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from askew.findings import PictureSet
from askew.pages import media
from askew.pages.blocks import HeatOverlay, MaskOverlay


class Album:
    """Images in memory; each name except "gone" has an image."""

    def picture(self, name: str) -> Image.Image | None:
        return None if name == "gone" else Image.new("RGB", (300, 200), (200, 30, 30))

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return {}


def opened(uri: str | None) -> Image.Image:
    assert uri
    assert uri.startswith("data:image/webp;base64,")
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def test_a_small_copy_keeps_its_shape() -> None:
    assert opened(media.thumbnail(Image.new("RGBA", (300, 200)))).size == (112, 75)


def test_a_row_numbers_its_images_and_leaves_gaps() -> None:
    row = media.picture_row(Album(), ["a", None, "gone", "b"], "a nurse", 3, "seed 0", 1)
    assert [shot.image is None for shot in row.shots] == [False, True, False]
    assert [shot.image and media.data_uri(shot.image) is None for shot in row.shots] == [
        False,
        None,
        True,
    ]
    assert [shot.alt for shot in row.shots] == [f"Image {k} of a nurse" for k in (1, 2, 3)]
    assert (row.note, row.series) == ("images 1 to 3 of 4; seed 0", 1)


def test_a_set_is_named_by_its_value() -> None:
    image_set = PictureSet("nurse", "gender", "male", "a male nurse", 2, {}, ("a", "b"), (1, 2))
    row = media.set_row(Album(), image_set, 12, seed=0)
    assert (row.label, row.note) == ("Male", "all 2 images; “a male nurse”; run seed 0")
    initial = PictureSet("nurse", None, None, "nurse", 2, {}, ("a", "b"), (1, 2))
    assert media.set_row(Album(), initial, 12).label == "Baseline images"


@pytest.mark.parametrize(
    ("initial", "others", "shown"),
    [(1, 8, (100, 12)), (1, 26, (100, 12)), (60, 0, (2, 12)), (60, 420, (2, 0))],
)
def test_a_page_stays_small(initial: int, others: int, shown: tuple[int, int]) -> None:
    assert media.allowance(initial, others) == shown


def drawn(overlay: HeatOverlay | MaskOverlay) -> NDArray[np.float64]:
    """Return the pixels of a gray image under an overlay."""
    copy = media.overlay_copy(Image.new("RGB", (64, 64), "grey"), overlay, media.OVERLAY)
    return np.asarray(Image.open(io.BytesIO(copy)).convert("RGB"), dtype=float)


def test_heat_is_bright_where_the_map_is_high() -> None:
    map = np.zeros((8, 8))
    map[:, 4:] = 1.0
    pixels = drawn(HeatOverlay(map))
    left = pixels[:, :40].mean((0, 1))
    right = pixels[:, -40:].mean((0, 1))
    assert right[0] > left[0] + 60  # from violet to yellow
    assert right[1] > left[1] + 60


def test_a_flat_map_is_dark_everywhere() -> None:
    assert float(np.ptp(drawn(HeatOverlay(np.ones((8, 8))))[..., 1])) < 6


def test_masks_show_both_words_and_their_overlap() -> None:
    a = np.zeros((4, 4), dtype=bool)
    b = np.zeros((4, 4), dtype=bool)
    a[:, :2] = True
    b[:, 1:3] = True
    pixels = drawn(MaskOverlay(a, b))
    only_a, both, only_b, neither = (
        pixels[:, k * 36 + 9 : k * 36 + 27].mean((0, 1)) for k in range(4)
    )
    assert only_a[0] > only_a[2]  # orange
    assert only_b[2] > only_b[0]  # blue
    assert both[1] > both[2] + 30  # yellow
    assert np.ptp(neither) < 12  # gray


def test_300_images_without_structure_fit_in_a_page_of_3_mb() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (512, 512, 3), dtype=np.uint8)
    assert 300 * len(media.thumbnail(Image.fromarray(pixels))) < 2_700_000
