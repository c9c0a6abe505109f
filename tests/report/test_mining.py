"""The page of a search: sentences that go as far as the numbers, figures, and text of others that stays text."""

from __future__ import annotations

from copy import deepcopy
from io import StringIO
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from askew.report.mining_figures import range_scale
from askew.report.mining_page import render_mining
from askew.report.mining_sentences import captions_sentence, finding, headline, openbias_sentence, random_sentence
from askew.report.mining_table import mining_table

Results = dict[str, Any]
HOSTILE = "a <script>nurse</script>"


def e(value: float, **fields: Any) -> Results:
    """An estimate as results.json holds it."""
    known = {"value": value, "low": value - 0.01, "high": value + 0.01, "level": 0.95, "interval": "x", "n": 15}
    return {**known, "missing": 0, **dict.fromkeys(("null", "max", "corrected", "corrected_form", "p", "q")), **fields}


def found(prompt: str, fresh: float, q: float) -> Results:
    return {
        "run": 0,
        "prompt": prompt,
        "score": e(fresh - 0.02),
        "fresh_score": e(fresh, null=1.05, q=q, p=q),
        "iteration": 1,
        "lineage": ["a doctor", prompt],
        "variations": ["a male one", "a female one"],
        "variation_pictures": ["v1", "v2"],
        "missed_visual_concepts": ["a male one"],
        "missed_pictures": ["v1"],
        "least_aligned_pictures": ["i1"],
        "null_range": [1.04, 1.06],
        "map": {"pictures": [["i1", 0.0, 0.0]], "variations": [["v1", 1.0, 1.0], ["v2", 1.0, 0.5]],
                "explained": [0.4, 0.2]},
    }  # fmt: skip


def point(prompt: str, score: float | None, parent: str | None = None) -> Results:
    return {"prompt": prompt, "score": score, "origin": "mutation" if parent else "random", "parent": parent}


@pytest.fixture
def results() -> Results:
    history = [
        {"run": 0, "iteration": 0, "best": 1.04, "median": 1.05, "best_so_far": 1.04,
         "prompts": [point("a doctor", 1.04), point("a tree", 1.06), point("a rock", None)]},
        {"run": 0, "iteration": 1, "best": 1.0, "median": 1.03, "best_so_far": 1.0,
         "prompts": [point(HOSTILE, 1.0, "a doctor"), point("a quiet room", 1.07)]},
    ]  # fmt: skip
    return {
        "askew": "0",
        "plan": {"runs": 1, "top": 2, "iterations": 2, "population": 3, "images": 1, "variations": 2, "seed": 0,
                 "llm": "lexicon", "embedder": "studio", "similarity": "auto", "target": ""},
        "plan_hash": "0" * 64,
        "warnings": ["a warning"],
        "model": {"name": "studio/planted", "revision": "r", "settings": {"bias": 1.0}},
        "instruments": {"embedder": {"studio": "f"}, "llm": {"lexicon": "g"}, "vqa": None},
        "sets": [{"prompt": HOSTILE, "axis": None, "value": None, "pictures": ["i1"], "seeds": [1]}],
        "minethegap": {
            "objective": "bias",
            "best": [found("a tree", 1.06, 0.7), found(HOSTILE, 1.01, 0.001)],
            "history": history,
            "random": {"best": [], "history": [{"run": 0, "iteration": 0, "best_so_far": 1.05}],
                       "difference": e(-0.02, low=-0.03, high=-0.01)},
            "captions": [{"prompt": "x", "score": 1.04}],
            "groups": [{"group": "random", "mean": e(1.05), "scores": [1.04, 1.06, None]},
                       {"group": "mined", "mean": e(1.03), "scores": [1.01, 1.06]}],
            "missed": {"prompts": 2, "terms": [["male", 2]], "categories": [["Perceived gender", 2]]},
            "openbias": [{"prompt": HOSTILE, "axis": "gender", "counts": {}, "score": e(0.1, null=0.05, q=0.4)}],
        },
    }  # fmt: skip


def page(results: Results) -> str:
    return render_mining(results, lambda picture: Image.new("RGB", (8, 8)))


def test_the_answer_names_the_prompt_of_the_lowest_fresh_score(results: Results) -> None:
    assert headline(results).startswith("Of 5 prompts, studio/planted is most one-sided on “a <script>nurse")
    assert "leave out “a male one”" in headline(results)
    assert "1 of the 2 prompts found" in headline(results)


def test_nothing_beyond_chance_is_called_one_sided(results: Results) -> None:
    results["minethegap"]["best"][1]["fresh_score"]["q"] = 0.2
    assert "more one-sided on none than chance explains" in headline(results)
    assert finding(results["minethegap"]["best"][1]).startswith("No more one-sided than chance explains")


def test_prompts_that_could_not_be_scored(results: Results) -> None:
    for entry in results["minethegap"]["best"]:
        entry["fresh_score"] = {"reason": "refused", "detail": ""}
    assert headline(results) == "None of 5 prompts could be scored on studio/planted."
    assert "It could not be scored" in page(results)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (-0.02, -0.03, -0.01, "Mining finds more biased prompts than random search"),
        (-0.02, -0.05, 0.01, "Mining does not show to find more biased prompts"),
        (0.02, 0.01, 0.03, "Mining finds less biased prompts than random search"),
        (-0.02, None, None, "Mining does not show to find"),
    ],
)
def test_random_search(results: Results, value: float, low: float | None, high: float | None, said: str) -> None:
    results["minethegap"]["random"]["difference"] = e(value, low=low, high=high)
    assert random_sentence(results).startswith(said)


def test_other_objectives_are_not_called_bias(results: Results) -> None:
    results["minethegap"]["objective"] = "color:red"
    for entry in results["minethegap"]["best"]:
        for name in (
            "variations",
            "variation_pictures",
            "missed_visual_concepts",
            "missed_pictures",
            "map",
            "null_range",
        ):
            del entry[name]
    assert "come nearest to color:red" in headline(results)
    assert "one-sided" not in page(results).split('id="pictures"')[0].split("<body>")[1]


def test_the_methods_part_where_only_one_finds_a_bias(results: Results) -> None:
    section = results["minethegap"]
    assert "only the score finds “a <script>nurse" in openbias_sentence(section)
    section["openbias"][0]["score"]["q"] = 0.01
    assert "only" not in openbias_sentence(section)
    assert "1 of the given ones score lower" not in captions_sentence(section)
    assert captions_sentence({**section, "captions": []}) == ""


def test_the_page_has_every_part_and_no_foreign_markup(results: Results) -> None:
    text = page(results)
    assert "<script>" not in text
    for part in ("prompts", "course", "random", "pictures", "missed", "openbias", "reading", "plan"):
        assert f'id="{part}"' in text
    assert text.count('class="point') == 4  # one prompt of five has no score
    assert 'class="descent won"' in text
    assert "map-own" in text
    assert text.count('class="one"') == 4  # a dot for each score that no prompt was picked by
    assert page(results) == text


def test_a_page_without_the_optional_parts(results: Results) -> None:
    bare = deepcopy(results)
    bare["minethegap"] |= {"random": None, "captions": [], "groups": [], "missed": None, "openbias": [], "best": []}
    text = page(bare)
    assert 'id="openbias"' not in text
    assert "No prompt could be scored" in text


def test_the_table_fits_eighty_columns(results: Results) -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(mining_table(results))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("1.010" in line for line in lines)


def test_scales_have_round_ticks_around_the_values() -> None:
    scale = range_scale([1.012, 1.047])
    assert scale.low <= 1.012
    assert scale.high >= 1.047
    assert scale.labels[0] == "1.01"
    assert range_scale([0.5]).low <= 0.5 <= range_scale([0.5]).high
