from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from askew.report.thumbnails import SIDE, Allowance, data_uri, grid


def decode(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1])))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK"])
def test_any_kind_of_image_becomes_a_small_one(mode: str) -> None:
    small = decode(data_uri(Image.new(mode, (640, 320))))
    assert small.format == "WEBP"
    assert small.size == (SIDE, SIDE // 2)


def test_small_images_stay_as_they_are() -> None:
    assert decode(data_uri(Image.new("RGB", (20, 30)))).size == (20, 30)


def test_a_grid_keeps_the_place_of_pictures_that_are_absent() -> None:
    shown = grid({"pictures": ["a", None, "gone", "b"]}, lambda k: None if k == "gone" else Image.new("RGB", (4, 4)), 3)
    assert shown is not None
    assert [(c.number, c.uri is not None) for c in shown.cells] == [(1, True), (2, False), (3, False)]
    assert shown.planned == 4


def test_no_set_and_no_pictures_give_no_grid() -> None:
    assert grid(None, lambda _: None, 3) is None
    assert grid({"pictures": []}, lambda _: None, 3) is None


def test_a_default_audit_shows_all_initial_pictures_and_a_dozen_of_each_other_set() -> None:
    allowance = Allowance.of(1, 26)
    assert allowance.initial >= 48
    assert allowance.strip == 12


@pytest.mark.parametrize(("initial", "others"), [(0, 0), (10, 0), (11, 286), (300, 9000)])
def test_many_sets_show_fewer_pictures_each_but_always_some(initial: int, others: int) -> None:
    allowance = Allowance.of(initial, others)
    assert allowance.initial >= 6
    assert 4 <= allowance.strip <= 12
