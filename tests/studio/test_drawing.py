"""The studio drawings: reproducible, complete, distinct, and with true masks of their evidence."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from askew.studio.drawing import draw, draw_with_masks
from askew.studio.drawing.palette import SKIN_LIGHTNESS, skin
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene
from benchmarks.evidence import evidence
from slow_cases import quick_only


def random_scene(number: int) -> Scene:
    source = random.Random(number)
    chosen = {name: source.choice(values) for name, values in ATTRIBUTES.items()}
    if chosen["disability"] == "blind":
        chosen["glasses"] = "no glasses"
    return Scene(**chosen, occupation=source.choice([None, *OCCUPATIONS]))


def pixels(scene: Scene, seed: int) -> np.ndarray:
    return np.asarray(draw(scene, seed)).astype(np.int16)


def test_a_drawing_is_a_small_rgb_image_of_scene_and_seed():
    scene = random_scene(1)
    picture = draw(scene, 7)
    assert (picture.size, picture.mode) == ((128, 128), "RGB")
    assert picture.tobytes() == draw(scene, 7).tobytes()
    assert picture.tobytes() != draw(scene, 8).tobytes()


def test_large_seeds_are_accepted():
    assert draw(Scene(), 2**63 - 1).tobytes() != draw(Scene(), 2**62).tobytes()


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_every_value_changes_the_image_in_every_style(attribute: str):
    for number, style in itertools.product(range(3), ATTRIBUTES["style"]):
        base = replace(random_scene(number), style=style, disability="fit", occupation=None)
        drawn = [
            pixels(replace(base, **_allowed(base, attribute, value)), number)
            for value in ATTRIBUTES[attribute]
        ]
        for entry, other in itertools.combinations(drawn, 2):
            assert (np.abs(entry - other).max(axis=2) > 24).sum() >= 30


def _allowed(base: Scene, attribute: str, value: str) -> dict[str, str]:
    return {"glasses": "no glasses", attribute: value} if value == "blind" else {attribute: value}


@pytest.mark.slow
def test_every_occupation_with_every_style_can_be_drawn():
    for occupation, style in itertools.product(OCCUPATIONS, ATTRIBUTES["style"]):
        assert draw(Scene(occupation=occupation, style=style), 3).size == (128, 128)


@pytest.mark.parametrize("number", range(8))
def test_masks_belong_to_the_same_image_and_are_consistent(number: int):
    scene = random_scene(number)
    drawing = draw_with_masks(scene, number)
    masks = drawing.masks
    assert drawing.image.tobytes() == draw(scene, number).tobytes()
    assert all(mask.shape == (128, 128) and mask.dtype == bool for mask in masks.values())
    assert not (masks["face"] & ~masks["head"]).any()
    assert not (masks["hair"] & ~masks["head"]).any()
    for entry, other in itertools.combinations(("head", "clothes", "pin", "backdrop"), 2):
        assert not (masks[entry] & masks[other]).any()
    assert masks["face"].sum() > 700
    assert masks["pin"].sum() > 90
    assert masks["hair"].any() == (scene.hair != "bald")


def test_the_skin_mask_contains_skin_color():
    scene = Scene(ethnicity="hispanic", style="color")
    drawing = draw_with_masks(scene, 5)
    inside = np.asarray(drawing.image)[drawing.masks["skin"]].astype(int)
    assert (np.diff(np.median(inside, axis=0)) < -15).all()  # red over green over blue


def test_a_card_is_fully_visible_and_only_with_an_occupation():
    assert not draw_with_masks(Scene(), 1).masks["sign"].any()
    lawyer = Scene(occupation="lawyer", disability="wheelchair", hair="long")
    assert draw_with_masks(lawyer, 1).masks["sign"].sum() > 1000


def test_an_empty_scene_shows_only_environment_and_style():
    empty = Scene(person=False)
    other = replace(
        empty, gender="male", age="old", ethnicity="black", occupation="nurse", hair="bald"
    )
    assert draw(empty, 4).tobytes() == draw(other, 4).tobytes()
    assert draw(empty, 4).tobytes() != draw(replace(empty, environment="outdoors"), 4).tobytes()
    assert draw_with_masks(empty, 4).masks["backdrop"].all()


@pytest.mark.parametrize("attribute", quick_only(["gender", "age"], ATTRIBUTES))
def test_covering_the_evidence_makes_all_values_look_the_same(attribute: str):
    for number in range(3):
        scene = replace(random_scene(number), disability="fit", glasses="no glasses")
        region = evidence(scene, number, attribute)
        for value in ATTRIBUTES[attribute]:
            changed = replace(scene, **{attribute: value})
            assert (pixels(changed, number)[~region] == pixels(scene, number)[~region]).all()
            assert (evidence(changed, number, attribute) == region).all()


@pytest.mark.parametrize(
    ("attribute", "part", "share"),
    [
        ("emotion", "head", 0.3),
        ("environment", "backdrop", 1.0),
        ("age", "head", 0.5),
        ("glasses", "head", 0.2),
    ],
)
def test_evidence_is_small(attribute: str, part: str, share: float):
    scene = Scene(style="color")
    region = evidence(scene, 2, attribute)
    assert region.mean() <= share
    grown = np.asarray(
        Image.fromarray(draw_with_masks(scene, 2).masks[part]).resize((32, 32)).resize((128, 128))
    )
    assert (region & grown).sum() > 0.75 * region.sum()


def test_evidence_of_the_occupation_covers_card_and_headwear():
    scene = random_scene(2)
    region = evidence(scene, 2, "occupation")
    for name in ("chef", "nurse", "construction worker", "lawyer"):
        sign = draw_with_masks(replace(scene, occupation=name), 2).masks["sign"]
        assert (sign & region).sum() > 0.97 * sign.sum()


def test_evidence_of_an_unknown_attribute_is_refused():
    with pytest.raises(ValueError, match="possible: gender"):
        evidence(Scene(), 0, "height")


@pytest.mark.parametrize("style", quick_only(["color"], ATTRIBUTES["style"]))
def test_signs_differ_from_each_other_in_every_style(style: str):
    cards = []
    for occupation in OCCUPATIONS:
        drawing = draw_with_masks(Scene(occupation=occupation, style=style), 0)
        cards.append(np.asarray(drawing.image.convert("L"), dtype=float)[93:122, 9:37].ravel())
    for entry, other in itertools.combinations(range(len(cards)), 2):
        assert np.abs(cards[entry] - cards[other]).mean() > 12, (
            list(OCCUPATIONS)[entry],
            list(OCCUPATIONS)[other],
        )


def test_pins_differ_from_each_other_without_color():
    for style in ("greyscale", "sketch"):
        drawn = [
            pixels(Scene(ethnicity=value, style=style, hair="bald"), 0)[:, :, 0]
            for value in SKIN_LIGHTNESS
        ]
        pin = draw_with_masks(Scene(ethnicity="white"), 0).masks["pin"]
        for entry, other in itertools.combinations(drawn, 2):
            assert np.abs(entry - other)[pin].mean() > 20


def test_skin_tones_span_the_range_evenly_and_overlap():
    ranges = sorted(SKIN_LIGHTNESS.values(), reverse=True)
    steps = -np.diff([sum(bounds) / 2 for bounds in ranges])
    assert np.ptp(steps) < 0.1 * steps.mean()
    assert all(upper[0] < lower[1] for upper, lower in itertools.pairwise(ranges))


def test_lines_are_equally_visible_on_dark_and_light_skin():
    def luminance(color: tuple[int, int, int]) -> float:
        linear = [
            (v / 255 / 12.92) if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in color
        ]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    for lightness in range(30, 92, 3):
        tone = skin(float(lightness))
        contrast = (luminance(tone["base"]) + 0.05) / (luminance(tone["line"]) + 0.05)
        assert contrast > 1.6
        assert (
            luminance(tone["light"])
            > luminance(tone["base"])
            > luminance(tone["shade"])
            > luminance(tone["deep"])
        )


def test_skin_has_the_requested_lightness():
    color = pytest.importorskip("skimage.color")
    for lightness in (32.0, 50.0, 70.0, 90.0):
        measured = color.rgb2lab(np.array([[skin(lightness)["base"]]]) / 255.0)[0, 0, 0]
        assert measured == pytest.approx(lightness, abs=1.0)
