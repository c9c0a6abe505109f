"""The page and the table of a classification say what its results say, whatever is missing."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from askew.methods.classification import classification, true_classes
from askew.methods.decisions import Question, Readings
from askew.parts.scoring import Scoring
from askew.plans.classification import ClassificationPlan
from askew.report.classification_figures import curve_legend, left_out
from askew.report.classification_page import render_classification
from askew.report.classification_reading import ClassificationReading
from askew.report.classification_sentences import truth_sentence
from askew.report.classification_table import classification_table
from askew.results.file import write_results

GROUPS = ("caucasian man", "caucasian woman", "african-american man", "african-american woman")
PICTURES = 24


def readings(groups: tuple[str, ...], classes: tuple[str, ...], samples: int | None, lean: float) -> Readings:
    """Men's pictures fit the first half of the classes better, women's the second."""
    rng = np.random.default_rng(4)
    errors = {}
    for group in groups:
        side = np.repeat([-1.0, 1.0], [len(classes) // 2, len(classes) - len(classes) // 2])
        side = side * rng.uniform(0.2, 1.6, len(classes)) * (-1 if "woman" in group else 1)
        errors[group] = (rng.normal(size=(PICTURES, len(classes), 1)) + lean * side[None, :, None]).astype(np.float32)
    return Readings("studio" if samples is None else "denoising", samples, classes, errors)


def make_results(groups: tuple[str, ...] = GROUPS, bias: float | None = 1.0) -> dict[str, Any]:
    """Results as a run would write them, read back from JSON by the caller."""
    plan = ClassificationPlan.checked({"groups": groups, "images": PICTURES, "samples": (1, 10, 40)})
    truth = true_classes(groups, plan.classes, {})
    question = Question(plan.targets, truth, bias)
    targets = [
        readings(groups, plan.target_classes, n, lean) for n, lean in ((1, 0.2), (10, 0.6), (40, 1.0), (None, 1.2))
    ]
    labels = [readings(groups, plan.classes, n, lean) for n, lean in ((1, 0.3), (10, 1.0), (40, 2.0), (None, 3.0))]
    section = classification(targets, labels, question, Scoring("denoising", draws=100))
    stages = {"stages": [[10, 5]], "evaluations": 3000, "evaluations_full": 4000, "saving": 0.25}
    section |= {"neutrality": [], "pruning": stages, "errors": []}
    return {
        "askew": "0", "plan": plan.model_dump(mode="json"), "plan_hash": plan.hash, "environment": {"packages": {}},
        "warnings": ["<b>"],
        "model": {"name": "studio", "revision": "1", "settings": {}}, "instruments": {"vqa": None, "embedder": None},
        "sets": [
            {"prompt": g, "axis": None, "value": None, "text": g, "n": PICTURES, "missing": {},
             "pictures": [f"{g} {k}" for k in range(PICTURES)], "seeds": list(range(PICTURES))}
            for g in groups
        ],
        "classification": section,
    }  # fmt: skip


def colour(picture: str) -> Image.Image:
    return Image.new("RGB", (16, 16), (len(picture) * 9 % 255, 80, 120))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_results(tmp_path_factory.mktemp("run"), make_results()).read_text())
    return found


def text_of(results: dict[str, Any]) -> str:
    console = Console(width=80, record=True, file=None)
    with console.capture() as captured:
        console.print(classification_table(results))
    return captured.get()


def test_the_page_gives_answer_plot_pictures_and_method(results: dict[str, Any]) -> None:
    page = render_classification(results, colour)
    order = [
        'class="answer"',
        'class="curve"',
        'id="pictures"',
        'id="pairs"',
        'id="accuracy"',
        'id="truth"',
        'id="method"',
    ]
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)
    assert "“all male”" in page
    # association and accuracy by noise samples; nothing is right of all men together
    assert page.count('<polyline class="run-') == (2 + len(GROUPS)) + len(GROUPS)
    assert "Without a line" not in page
    assert page.count("<img ") == len(GROUPS) * PICTURES
    assert "<li>&lt;b&gt;</li>" in page
    assert "25 % saved" in page
    assert "Share of the planted differences" in page
    assert "planted difference shown" in page
    assert render_classification(results, colour) == page


def test_every_skewed_pair_is_listed_and_no_other(results: dict[str, Any]) -> None:
    page = render_classification(results, colour)
    entries = [e for e in results["classification"]["pairs"] if e["classifier"] == "denoising"]
    for group, (a, b) in product(GROUPS, {(e["a"], e["b"]) for e in entries}):
        skewed = next(e["skewed"] for e in entries if (e["group"], e["a"], e["b"]) == (group, a, b))
        assert (f"<title>{group}: {a} or {b}</title>" in page) == skewed


def test_the_table_fits_80_columns_and_follows_the_page(results: dict[str, Any]) -> None:
    text = text_of(results)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.index("chooses the") < text.index("association") < text.index("differences between groups")
    assert "rank correlation" in " ".join(text.split())


def test_what_was_planted_is_shown_by_samples_and_missing_truth_is_said(results: dict[str, Any]) -> None:
    reading = ClassificationReading(results)
    shown = {(e["group_x"], e["group_y"]) for e in reading.truths()}
    listed = [(e["group_x"], e["group_y"], e["samples"]) for e in reading.truths_by_samples()]
    assert sorted(listed, key=str) == sorted(((*pair, n) for pair in shown for n in (1, 10, 40, None)), key=str)
    undecided = {**reading.truths()[0], "pairs": [], "spearman": {"reason": "not_asked", "detail": ""}}
    assert "not every pair of classes was decided" in truth_sentence(undecided)
    fair = {**undecided, "planted": 0.0, "pairs": [{"a": "a", "b": "b", "planted": 0.0, "measured": 0.1}]}
    assert "measured +10 points on average" in truth_sentence(fair)


def test_one_group_has_an_association_and_no_difference(tmp_path: Any) -> None:
    alone = json.loads(write_results(tmp_path, make_results(GROUPS[:1], bias=None)).read_text())
    page = render_classification(alone, lambda picture: None)
    assert "without a lean it would be half" in page
    assert 'id="truth"' not in page
    assert "without a lean" in " ".join(text_of(alone).split())


def test_the_curve_shows_all_men_and_all_women_and_says_whom_it_leaves_out(tmp_path: Any) -> None:
    groups = tuple(f"{origin} {gender}" for origin in ("caucasian", "asian", "indian") for gender in ("man", "woman"))
    results = json.loads(write_results(tmp_path, make_results(groups)).read_text())
    reading = ClassificationReading(results)
    names = [name for _, name in curve_legend(reading, "association")]
    assert names == ["all male", "all female", *groups[:4]]
    assert [name for _, name in curve_legend(reading, "accuracy")] == list(groups[:4])
    assert left_out(reading) == list(groups[4:])
    page = render_classification(results, lambda picture: None)
    assert "Without a line, for want of colours: indian man and indian woman." in page
