"""The report of attention maps, from scores of maps that were made up: several models, and what is missing."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from askew.methods.biasmap import FLAT, Masking, PairMaps, gradient_scores, joint_scores, no_scores, pair_scores
from askew.methods.biasmap_summary import add_q, changes, overall
from askew.parts.scoring import Scoring
from askew.planning.map import axes_of, plan_map
from askew.report.map_page import render_maps
from askew.report.map_table import maps_table
from askew.results.file import write_json
from askew.stats.risk import risk_difference
from askew.types import Missing
from benchmarks.planted_overlap import planted_maps

WORDS = ("nurse", "chef", "pilot")
CONCEPTS = ("gender", "race", "cat", "ship")
LAYERS = {"down-1-attentions-1": 16, "mid-1-attentions-1": 8, "up-1-attentions-1": 16}
SCORING = Scoring("studio", draws=50)
GAP = Missing("blank_image", "the model made no usable picture of this prompt")


def made_up(model: str, word: str, concept: str) -> PairMaps:
    rng = np.random.default_rng([len(model), WORDS.index(word), CONCEPTS.index(concept)])
    layers = {name: np.stack(planted_maps(4, 0.6, rng, side)) for name, side in LAYERS.items()}
    if (word, concept) == ("chef", "gender"):
        layers = {name: np.ones_like(maps) for name, maps in layers.items()}
    elif word == "chef":
        layers["down-1-attentions-1"][:, 0] = 1.0
    return PairMaps(model, f"a {word}", concept, word, layers, (0, 1, 2, 3))


def scores(model: str, word: str, parts: dict[str, list[Any]], absent: str) -> None:
    if word == absent:
        parts["pairs"] += [no_scores(model, f"a {word}", concept, word, GAP) for concept in CONCEPTS]
    else:
        maps = [made_up(model, word, concept) for concept in CONCEPTS]
        entries = [pair_scores(one, Masking(), SCORING) for one in maps]
        parts["pairs"] += entries
        parts["intersections"] += joint_scores(maps, Masking(), SCORING)
        parts["gradient"].append(gradient_scores(entries, {c: 0.1 * k for k, c in enumerate(CONCEPTS)}, SCORING))
    for axis in ("gender", "ethnicity"):
        estimate = GAP if word == absent else risk_difference(3, 1, 4)
        parts["risk_difference"].append({"prompt": f"a {word}", "model": model, "axis": axis, "instrument": "studio",
                                         "groups": ["x", "y"], "counts": {}, "estimate": estimate})  # fmt: skip
    pictures = [None if word == absent else f"{model}-{word}-{k}" for k in range(4)]
    parts["sets"].append({"prompt": f"a {word}", "axis": None, "value": None, "text": f"a {word}", "n": 4,
                          "missing": {"blank_image": 4} if word == absent else {}, "pictures": pictures,
                          "seeds": [0, 1, 2, 3], "model": model})  # fmt: skip


@cache
def written(models: tuple[str, ...], words: tuple[str, ...] = WORDS, absent: str = "pilot", **settings: Any) -> str:
    """results.json as text."""
    parts: dict[str, list[Any]] = {
        name: [] for name in ("sets", "pairs", "risk_difference", "intersections", "gradient")
    }
    for model in models:
        for word in words:
            scores(model, word, parts, absent)
    sets, axis_of = parts.pop("sets"), axes_of(CONCEPTS)
    pairs, risks = parts["pairs"], parts["risk_difference"]
    section = {**parts, "overall": overall(pairs, risks, axis_of, 0.95),
               "changes": changes(pairs, risks, axis_of, models, 0.95)}  # fmt: skip
    add_q(section)
    plan = plan_map([], concepts=CONCEPTS, professions=words, models=models, images=4, **settings)
    names = [{"name": model, "revision": "", "settings": {}} for model in models]
    return json.dumps({"askew": "0", "plan": plan.model_dump(mode="json"), "plan_hash": plan.hash, "warnings": [],
                       "environment": {"packages": {}}, "model": names[0], "models": names, "instruments": {},
                       "sets": sets, "biasmap": _plain(section)})  # fmt: skip


def _plain(section: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(write_json(Path(folder) / "one.json", section).read_text())


def page(text: str) -> str:
    def picture(name: str) -> Image.Image:
        return Image.new("RGB", (32, 32), (90, 120, 150))

    def maps(concept: str, prompt: str, model: str, picture: str) -> PairMaps:
        word = prompt.removeprefix("a ")
        found = made_up(model, word, concept)
        return PairMaps(model, prompt, concept, word, {n: m[:, :1] for n, m in found.layers.items()}, (0,))

    return render_maps(json.loads(text), picture, maps, Masking())


def table(text: str) -> str:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(maps_table(json.loads(text)))
    return console.export_text()


@pytest.mark.parametrize("models", [("one",), ("one", "other")])
def test_what_is_missing_is_named_with_its_reason(models: tuple[str, ...]) -> None:
    text = written(models)
    said = page(text)
    assert "made no usable picture of this prompt" in said
    assert "has no place that is high" in said
    assert "nan" not in said
    assert "1 picture missing" not in said  # of a block alone: the whole map of that picture is there
    shown = " ".join(table(text).split())
    assert f"Missing: gender with chef, by one: an error occurred ({FLAT.detail})" in shown
    assert shown.count("Missing: ") == 5 * len(models)
    assert "2 missing)" in shown  # of three prompts, for gender


def test_every_model_has_every_table() -> None:
    said = page(written(("one", "other")))
    for part in ("block", "layer"):
        for model in ("one", "other"):
            assert said.count(f"Overlap by {part}, from input to output, by {model}") == len(CONCEPTS)
    assert said.count("by block and prompt; in brackets intervals</caption>") == 2 * len(CONCEPTS)
    assert "“gender”: other less one, by block" in said
    assert "(chance 0." in said


def test_the_mean_has_the_q_of_its_family() -> None:
    results = json.loads(written(("one",)))
    for entry in results["biasmap"]["overall"]:
        if entry["corrected"].get("p") is not None:
            assert entry["corrected"]["q"] >= entry["corrected"]["p"]
    assert "q is p" not in table(json.dumps(results))


def test_one_prompt_alone() -> None:
    text = written(("one",), words=("nurse",))
    assert page(text).count('<figure class="overlay">') == 4 * len(CONCEPTS)
    assert "Missing:" not in table(text)


@pytest.mark.parametrize(
    ("settings", "said", "unsaid"),
    [
        ({}, "it is read as if “and gender” followed", "DAAM"),
        ({"definition": "daam"}, "cuts it off below 0", "OVAM"),
        ({"branch": "uncond"}, "the unconditional image", "DAAM"),
    ],
)
def test_the_method_is_that_of_the_plan(settings: dict[str, str], said: str, unsaid: str) -> None:
    shown = page(written(("one",), words=("nurse",), **settings))
    assert said in shown
    assert unsaid not in shown.split('id="method"')[1].split('id="plan"')[0]


def test_the_page_is_html() -> None:
    import html5lib

    html5lib.HTMLParser(strict=True).parse(BytesIO(page(written(("one", "other"))).encode()))
