"""Maps stored as vectors, and the attribution prompt of a pair of words."""

from __future__ import annotations

import numpy as np
import pytest

from askew.measure.attention import attribution_text, decode_maps, encode_maps


def test_maps_are_restored_from_vectors() -> None:
    rng = np.random.default_rng(0)
    layers = {
        "down-1": rng.random((3, 4, 8, 6), dtype=np.float32),
        "mid-1": rng.random((3, 4, 2, 2), dtype=np.float32),
    }
    vectors = []
    for k in range(3):
        vectors.append(encode_maps({name: maps[k] for name, maps in layers.items()}))
    rows = np.stack(vectors)
    decoded = decode_maps(rows)
    assert list(decoded) == list(layers)
    for name, maps in layers.items():
        np.testing.assert_array_equal(decoded[name], maps)


def test_the_concept_is_appended_to_the_prompt() -> None:
    assert (
        attribution_text("a photo of a nurse", "gender", "nurse") == "a photo of a nurse and gender"
    )
    assert attribution_text("a photo of a Nurse", "race", "nurse") == "a photo of a Nurse and race"
    assert (
        attribution_text("a photo of a nurse", "ethnicity", "race")
        == "a photo of a nurse and ethnicity and race"
    )


@pytest.mark.parametrize(
    ("against", "held"),
    [("art", False), ("artist", True), ("an artist", True), ("ARTIST", True), ("tist.", False)],
)
def test_a_part_of_a_word_is_not_that_word(against: str, held: bool) -> None:
    added = "" if held else f" and {against}"
    assert (
        attribution_text("the face of an artist.", "gender", against)
        == f"the face of an artist. and gender{added}"
    )
