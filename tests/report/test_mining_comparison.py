"""The page and table of a comparison of searches, and those of a study of a search's parts."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from askew.report.mining_comparison import MiningComparisonReading, headline, own_sentence, similarity_sentence
from askew.report.mining_comparison_page import render_mining_comparison
from askew.report.mining_comparison_table import mining_comparison_table
from askew.report.mining_study import mining_study_table, write_mining_study

Results = dict[str, Any]
HOSTILE = "a <script>nurse</script>"
SCORES = {"one": {"one": {HOSTILE: 1.0, "b": 1.02}, "other": {"c": 1.1}},
          "other": {"one": {HOSTILE: 1.2, "b": 1.1}, "other": {"c": 1.0}}}  # fmt: skip


def e(value: float, **fields: Any) -> Results:
    """An estimate as results.json holds it."""
    known = {"value": value, "low": value - 0.01, "high": value + 0.01, "level": 0.95, "interval": "x", "n": 3}
    return {**known, "missing": 0, **dict.fromkeys(("null", "max", "corrected", "corrected_form", "p", "q")), **fields}


@pytest.fixture
def results() -> Results:
    matrix = [
        {"model": m, "mined_for": s, "score": e(sum(p.values()) / len(p)), "prompts": [list(x) for x in p.items()]}
        for m, sets in SCORES.items()
        for s, p in sets.items()
    ]
    return {
        "askew": "0",
        "plan": {
            "conditions": [{"name": name, "model": "studio/planted", "model_args": {}} for name in SCORES],
            "sets": [{"name": n, "condition": n, "prompts": [{"text": t} for t in SCORES["one"][n]]} for n in SCORES],
            "vary": "", "images": 1, "embedder": "studio", "seed": 1,
        },
        "plan_hash": "0" * 64,
        "warnings": [],
        "instruments": {"embedder": {"studio": "f"}},
        "sets": [{"model": m, "prompt": HOSTILE, "pictures": ["i"], "seeds": [1]} for m in SCORES],
        "mining_comparison": {
            "matrix": matrix,
            "ranking": [{"model": "one", "score": e(1.04)}, {"model": "other", "score": e(1.1)}],
            "differences": [
                {"models": ["one", "other"], "mined_for": None, "difference": e(0.06, null=0.0, p=0.01, q=0.02)},
                {"models": ["one", "other"], "mined_for": "one", "difference": e(0.14, null=0.0, p=0.2, q=0.2)},
                {"models": ["one", "other"], "mined_for": "other", "difference": {"reason": "error", "detail": "x"}},
            ],
            "similarity": [{"of": a, "among": b, "cosine": e(0.9 if a == b else 0.5)} for a in SCORES for b in SCORES],
        },
    }  # fmt: skip


def text_of(printed: Any) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(printed)
    return console.export_text()


def test_the_answer_goes_as_far_as_the_difference(results: Results) -> None:
    said = headline(MiningComparisonReading(results))
    assert "Over 3 mined prompts, one is the most one-sided of 2" in said
    assert "differ by 0.060, more than chance explains (q = 0.020)" in said
    results["mining_comparison"]["differences"][0]["difference"]["q"] = 0.3
    assert "no more than chance explains" in headline(MiningComparisonReading(results))


def test_models_that_score_lowest_on_their_own_prompts_are_named(results: Results) -> None:
    assert own_sentence(MiningComparisonReading(results)).startswith("2 of 2 models score lowest on the prompts mined")
    results["mining_comparison"]["matrix"][0]["score"]["value"] = 2.0
    assert own_sentence(MiningComparisonReading(results)).startswith("1 of 2 models")
    results["plan"]["vary"] = "bias"
    assert own_sentence(MiningComparisonReading(results)) == ""


def test_similarity_in_a_sentence(results: Results) -> None:
    entries = results["mining_comparison"]["similarity"]
    assert "at a cosine of 0.500." in similarity_sentence(entries, "given prompts")
    given = [*entries, {"of": "given prompts", "among": "one", "cosine": e(0.2)}]
    assert "at 0.200." in similarity_sentence(given, "given prompts")
    assert similarity_sentence([], "given prompts") == ""


def test_the_page_shows_every_score_and_no_foreign_markup(results: Results) -> None:
    page = render_mining_comparison(results, lambda picture: Image.new("RGB", (8, 8)))
    assert "<script>" not in page
    assert page.count('class="one"') == 2 * 6  # in the ranking and in the matrix
    assert page.count("data:image/webp") == 2
    assert "could be scored" not in page
    assert page == render_mining_comparison(results, lambda picture: Image.new("RGB", (8, 8)))


def test_a_varied_setting_keeps_the_order_of_its_values(results: Results) -> None:
    results["plan"]["vary"] = "guidance_scale"
    results["mining_comparison"]["ranking"].reverse()
    reading = MiningComparisonReading(results)
    assert [entry["model"] for entry in reading.ranking] == ["one", "other"]
    assert "guidance scale" in render_mining_comparison(results, lambda picture: None)


def test_a_comparison_in_which_nothing_could_be_scored(results: Results) -> None:
    section, missing = results["mining_comparison"], {"reason": "refused", "detail": ""}
    for entry in (*section["matrix"], *section["ranking"]):
        entry["score"] = missing
        entry["prompts"] = [[text, None] for text, _ in entry.get("prompts", ())]
    section["differences"] = [{**entry, "difference": missing} for entry in section["differences"]]
    page = render_mining_comparison(results, lambda picture: None)
    assert "No prompt could be scored" in page
    assert "Fewer than two models could be scored" in page
    assert "Fewer than two models" in text_of(mining_comparison_table(results))


def test_the_table_fits_eighty_columns(results: Results) -> None:
    text = text_of(mining_comparison_table(results))
    assert max(map(len, text.splitlines())) <= 80
    assert "0.060 [0.050, 0.070]" in text


def size(population: int, difference: Results | None) -> Results:
    curve = [{"iteration": k, "mean": 1.05 - k / 100, "error": 0.01} for k in range(3)]
    selected = population // 3
    return {"population": population, "selected": selected, "mutations": 2, "random": selected, "fresh": e(1.02),
            "by_run": [1.01, 1.03], "found": e(1.0), "difference": difference, "curve": curve}  # fmt: skip


def test_a_study_is_judged_by_what_was_planted(tmp_path: Path) -> None:
    paper, halves = (
        size(15, None),
        {"missed_concepts": e(0.5), "least_aligned": {"missing": "error", "detail": "equal"}},
    )
    study = {
        "plan": {"model": "studio/planted", "runs": 2, "iterations": 3, "images": 4},
        "ranking": {"images": 8, "prompts": [{}, {}, {}], "quantiles": [
            {"quantile": 0.0, "score": e(0.7), "corrected": e(0.2), **halves},
            {"quantile": 0.25, "score": e(0.3), "corrected": e(0.6), **halves},
        ]},
        "sizes": [paper, size(9, e(0.01, p=0.01, q=0.01))],
        "random": {"difference": e(-0.02, low=-0.03, high=-0.01), "curve": paper["curve"]},
    }  # fmt: skip
    text = " ".join(text_of(mining_study_table(study)).split())
    assert "best by what was planted at alpha 0.25" in text
    assert "one differs from the paper's on fresh seeds: 9: 3 × 2 + 3 random." in text
    assert "Mining finds lower losses than random search" in text
    write_mining_study(study, tmp_path / "study.html")
    written = (tmp_path / "study.html").read_text(encoding="utf-8")
    assert written.count("<polygon") == 4  # two populations; mined and random
    study["random"]["difference"] = e(-0.02, low=-0.05, high=0.01)
    assert "does not show to find other losses" in " ".join(text_of(mining_study_table(study)).split())
