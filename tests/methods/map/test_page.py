"""The page of attention maps, from planted maps: several models, and missing scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO, StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from askew.findings import FORMAT, Environment, Head, Identity, Instruments, PictureSet, with_q
from askew.measure.attention import encode_maps
from askew.methods.map import METHOD
from askew.methods.map.changes import changes, overall
from askew.methods.map.findings import (
    BiasMap,
    ConceptPair,
    MapFile,
    MapFindings,
    RiskDifference,
    family,
)
from askew.methods.map.maps import PairMaps
from askew.methods.map.plan import axes_of, plan_map
from askew.methods.map.score import gradient, pair
from askew.pages import html, terminal
from askew.pages.blocks import Page, ValueChart
from askew.parts.scoring import Scoring
from askew.stats.differences import risk_difference
from askew.stats.overlap import mask
from askew.types import Missing, Picture
from benchmarks.planted_overlap import planted_maps
from pages import test_browser as browser

WORDS = ("nurse", "chef", "pilot")
CONCEPTS = ("gender", "race", "cat", "ship")
LAYERS = {"down-1-attentions-1": 16, "mid-1-attentions-1": 8, "up-1-attentions-1": 16}
SCORING = Scoring("studio", draws=50)
COSINES = {concept: 0.1 * k for k, concept in enumerate(CONCEPTS)}
GAP = Missing("blank_image", "the model generated no usable image of this prompt")


@cache
def made_up(model: str, word: str, concept: str) -> PairMaps:
    rng = np.random.default_rng([len(model), WORDS.index(word), CONCEPTS.index(concept)])
    layers = {name: np.stack(planted_maps(4, 0.6, rng, side)) for name, side in LAYERS.items()}
    if (word, concept) == ("chef", "gender"):
        layers = {name: np.ones_like(maps) for name, maps in layers.items()}
    elif word == "chef":
        layers["down-1-attentions-1"][:, 0] = 1.0
    return PairMaps(model, prompt_of(word), concept, word, layers, (0, 1, 2, 3))


class PlantedMedia:
    """Images of one color, with planted maps."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (32, 32), (90, 120, 150))

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        model, word = fingerprint.split("-")
        maps_of_word = [made_up(model, word, concept) for concept in CONCEPTS]
        layers = {}
        for name in LAYERS:
            layers[name] = np.concatenate([maps.layers[name][:, 0] for maps in maps_of_word])
        return dict.fromkeys(names, encode_maps(layers))


def prompt_of(word: str) -> str:
    return f"A photo of the face of a {word}"


def planted_pairs(model: str, word: str) -> list[ConceptPair]:
    maps = [made_up(model, word, concept) for concept in CONCEPTS]
    return [pair(maps_of_concept, mask, SCORING) for maps_of_concept in maps]


def missing_pairs(model: str, word: str) -> list[ConceptPair]:
    return [
        ConceptPair(prompt_of(word), model, concept, word, *[GAP] * 4, {}, None, None, (), (), ())
        for concept in CONCEPTS
    ]


def planted_risks(model: str, word: str, absent: bool) -> list[RiskDifference]:
    estimate = GAP if absent else risk_difference(3, 1, 4)
    counts = dict.fromkeys("xy", 0) if absent else {"x": 3, "y": 1}
    missing = {"blank_image": 4} if absent else {}
    return [
        RiskDifference(
            prompt_of(word), model, axis, "studio", ("x", "y"), counts, estimate, missing
        )
        for axis in ("gender", "ethnicity")
    ]


def planted_set(model: str, word: str, absent: bool) -> PictureSet:
    pictures: list[Picture | Missing] = [Missing("blank_image")] * 4
    if not absent:
        pictures = [Picture(f"{k}", "", prompt_of(word), k) for k in range(4)]
    return PictureSet.of(prompt_of(word), pictures, model=model)


@cache
def planted_findings(
    models: tuple[str, ...], words: tuple[str, ...] = WORDS, absent: str = "pilot", **settings: Any
) -> MapFindings:
    """Findings of planted maps; the word `absent` has no image."""
    pairs = []
    gradients = []
    risks = []
    for model, word in product(models, words):
        if word == absent:
            pairs += missing_pairs(model, word)
        else:
            entries = planted_pairs(model, word)
            pairs += entries
            gradients.append(gradient(model, prompt_of(word), word, COSINES, entries, SCORING))
        risks += planted_risks(model, word, word == absent)
    axis_of = axes_of(CONCEPTS)
    section = BiasMap(
        tuple(pairs),
        tuple(risks),
        overall(pairs, risks, axis_of, 0.95),
        changes(pairs, risks, axis_of, models, 0.95),
        tuple(gradients),
    )
    plan = plan_map([], concepts=CONCEPTS, professions=words, models=models, images=4, **settings)
    identities = tuple(Identity(model, "", {}) for model in models)
    sets = [planted_set(model, word, word == absent) for model, word in product(models, words)]
    machine = Environment("3", "here", {}, None, 1, None, "now")
    head = Head(
        FORMAT,
        "0",
        1,
        plan,
        plan.hash,
        machine,
        (),
        identities[0],
        Instruments({"studio": "1"}),
        tuple(sets),
    )
    files = tuple(
        MapFile(model, prompt_of(word), f"{model}-{word}") for model, word in product(models, words)
    )
    return head.into(MapFindings, models=identities, maps=files, biasmap=with_q(section, family))


@cache
def document(*arguments: Any, **settings: Any) -> Page:
    """Return the page of `planted_findings` with these arguments."""
    return METHOD.page(planted_findings(*arguments, **settings), PlantedMedia())


@cache
def page(*arguments: Any, **settings: Any) -> str:
    return html.page(document(*arguments, **settings))


def table(*arguments: Any, **settings: Any) -> str:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal.screen(document(*arguments, **settings)))
    return console.export_text()


@pytest.mark.parametrize("models", [("one",), ("one", "other")])
def test_what_is_missing_is_named_with_its_reason(models: tuple[str, ...]) -> None:
    text = page(models)
    assert "generated no usable image of this prompt" in text
    assert "is constant, so it has no mask" in text
    assert not re.search(r"\bnan\b", text)
    shown = " ".join(table(models).split())
    assert "is constant, so it has no mask" in shown
    assert "2 missing)" in shown  # of three prompts, for gender


def test_the_method_tells_how_maps_were_made() -> None:
    for definition, map_of in (("ovam", "K′ᵀ"), ("output", "softmax(oₓ o_cᵀ)")):
        assert map_of in page(("one",), definition=definition)


def test_every_model_has_its_rows_and_lines() -> None:
    text = page(("one", "other"))
    for model in ("one", "other"):
        assert f"nurse, {model}" in text
    assert "“gender”: other minus one" in text


def test_the_page_begins_with_what_was_seen() -> None:
    first, *_ = document(("one", "other")).sections
    gender, ethnicity = (block for block in first.blocks if isinstance(block, ValueChart))
    assert (gender.caption, ethnicity.caption) == (
        "Perceived gender by prompt",
        "Perceived ethnicity by prompt",
    )
    assert [(group.group, group.label, group.n) for group in gender.groups] == [
        (word, model, 0 if word == "pilot" else 4) for word in WORDS for model in ("one", "other")
    ]
    assert [value.count for value in gender.groups[0].values] == [3, 1]
    assert "RD 0.41" in gender.groups[0].verdict
    assert "none of 4 labeled: image is blank 4" in page(("one", "other"))


def test_one_prompt_alone() -> None:
    shares = document(("one",), words=("nurse",)).sections[0].blocks[0]
    assert isinstance(shares, ValueChart)
    assert [group.label for group in shares.groups] == ["Perceived gender", "Perceived ethnicity"]
    assert page(("one",), words=("nurse",)).count(": masks of both words") == 4 * len(CONCEPTS) + 1
    assert "no missing images" in table(("one",), words=("nurse",))


def test_every_picture_says_what_it_is() -> None:
    text = page(("one", "other"))
    assert "<img" in text
    assert text.count("<img") == text.count('alt="Image ')


@pytest.mark.parametrize(
    ("settings", "text", "absent"),
    [
        ({}, "is encoded as if it followed", "unconditional branch"),
        ({"branch": "uncond"}, "unconditional branch", "attention outputs"),
    ],
)
def test_the_method_is_that_of_the_plan(settings: dict[str, str], text: str, absent: str) -> None:
    shown = page(("one",), words=("nurse",), **settings)
    assert text in shown
    assert absent not in shown


def test_the_page_is_html() -> None:
    import html5lib

    html5lib.HTMLParser(strict=True).parse(BytesIO(page(("one", "other")).encode()))


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_sticks_out_of_the_page(width: int, tmp_path: Path) -> None:
    (measured,) = browser.measure([(page(("one", "other")), width)], tmp_path)
    assert [measured[name] for name in ("width", "scrolled", "small", "narrow", "cut")] == [
        width,
        0,
        [],
        [],
        [],
    ]
