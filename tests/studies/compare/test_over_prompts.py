"""Runs of many prompts with few images each are compared over all prompts together."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import askew
from askew.cli import run
from askew.errors import CheckFailed
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import find_axis
from askew.stats.exchange import exchange_test
from askew.stats.paired_sets import PairedSets
from askew.studies.compare.command import load_comparison
from askew.studies.compare.findings import ALL_PROMPTS, ScoreDifference
from askew.studies.compare.over_prompts import RunsOverPrompts
from askew.studies.compare.score import ComparedRun, score
from askew.types import Estimate, Missing, Picture, Prompt

SCORING = Scoring("truth", draws=100)
GENDER = find_axis("gender")
Labels = Sequence[Sequence[str | None]]
"""Labels of the images of each prompt. None is a missing label."""


def run_of(name: str, labels: Labels, *, seeds: bool = True) -> ComparedRun:
    sets = {}
    for number, of_prompt in enumerate(labels):
        prompt = f"job {number}"
        pictures = tuple(
            Picture(f"{name} {number} {k}", "", prompt, k if seeds else None)
            for k in range(len(of_prompt))
        )
        answers = tuple(label or Missing("not_asked") for label in of_prompt)
        captions = (Missing("not_asked"),) * len(of_prompt)
        sets[prompt] = [
            ObservedSet(Prompt(prompt), pictures, {"truth": {"gender": answers}}, captions)
        ]
    return ComparedRun(name, name, sets)


def plans_of(labels: Labels) -> list[PromptPlan]:
    return [
        PromptPlan(text=f"job {number}", axes=(AxisPlan.of(GENDER, ()),))
        for number in range(len(labels))
    ]


def compared(first: Labels, second: Labels, *, seeds: bool = True) -> tuple[ScoreDifference, ...]:
    runs = (run_of("a", first, seeds=seeds), run_of("b", second, seeds=seeds))
    return score(runs, plans_of(first), ("truth",), SCORING)


def p_over_prompts(first: Labels, second: Labels) -> float:
    """Return the p of the distance between two runs in all prompts."""
    runs = RunsOverPrompts(
        names=("a", "b"),
        sets=(run_of("a", first).sets, run_of("b", second).sets),
        prompts=plans_of(first),
        scoring=SCORING,
    )
    p = estimate(together(runs.differences("truth"))["run_distance"]).p
    assert p is not None
    return p


def together(entries: Sequence[ScoreDifference]) -> dict[str, ScoreDifference]:
    """Return the entries of all prompts by their value, or by their score."""
    return {entry.value or entry.score: entry for entry in entries if entry.prompts}


def estimate(entry: ScoreDifference) -> Estimate:
    assert isinstance(entry.difference, Estimate)
    return entry.difference


@pytest.mark.parametrize("seeds", [True, False])
def test_an_image_of_each_of_14_prompts_shows_a_difference(seeds: bool) -> None:
    entries = compared([["male"]] * 14, [["female"]] * 14, seeds=seeds)
    of_all = together(entries)
    tested = of_all["run_distance"]
    assert tested.prompt == ALL_PROMPTS
    assert tested.prompts == 14
    assert estimate(tested).q == estimate(tested).p == pytest.approx(0.5**14)
    assert estimate(of_all["female"]).value == 1
    assert of_all["female"].of_runs is not None
    assert [share.value for share in of_all["female"].of_runs] == [0, 1]
    assert {estimate(e).q for e in entries if not e.prompts and e.score == "share"} == {1.0}


def test_prompts_of_which_a_run_has_no_label_are_left_out() -> None:
    first = [["male", None]] * 8 + [[None, None]]
    second = [["female", "female"]] * 7 + [[None, None], ["male", "male"]]
    of_all = together(compared(first, second))
    assert of_all["male"].prompts == 7
    assert estimate(of_all["male"]).n == 7 + 14
    assert estimate(of_all["male"]).missing == 8 + 2 + 2


def test_too_few_prompts_have_no_row_because_no_exchange_is_significant() -> None:
    assert not together(compared([["male"] * 4] * 5, [["female"] * 4] * 5))
    assert together(compared([["male"] * 4] * 6, [["female"] * 4] * 6))


def test_prompts_whose_axis_has_other_values_are_not_counted_together() -> None:
    runs = [run_of("a", [["male"]] * 9), run_of("b", [["female"]] * 9)]
    axis = AxisPlan.of(GENDER, ())
    wider = axis.model_copy(update={"values": (*axis.values, "nonbinary")})
    plans = [
        PromptPlan(text=f"job {number}", axes=(wider if number < 2 else axis,))
        for number in range(9)
    ]
    of_all = together(score(runs, plans, ("truth",), SCORING))
    assert of_all["run_distance"].prompts == 7
    assert set(of_all) == {"male", "female", "run_distance"}


LABELS = st.lists(
    st.lists(st.sampled_from(["male", "female"]), min_size=2, max_size=2), min_size=6, max_size=9
)


@settings(max_examples=3)
@given(LABELS, st.randoms(use_true_random=False))
def test_swapped_runs_give_the_opposite(labels: list[list[str]], random: Random) -> None:
    others = [list(of_prompt) for of_prompt in labels]
    random.shuffle(others)
    forth = together(compared(labels, others))
    back = together(compared(others, labels))
    for name, entry in forth.items():
        other = back[name]
        assert estimate(other).p == estimate(entry).p
        assert estimate(other).q == estimate(entry).q
        if entry.of_runs:
            assert other.of_runs == entry.of_runs[::-1]
            assert estimate(other).value == pytest.approx(-estimate(entry).value)
        swapped = entry.swapped()
        assert swapped.swapped() == replace(entry, difference=swapped.swapped().difference)


def test_one_image_per_prompt_is_the_exchange_of_pairs_of_seeds() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, size=(2, 20))
    values = ["male", "female"]
    entries = compared([[values[k]] for k in first], [[values[k]] for k in second])
    sets = PairedSets.of(np.eye(2)[second], np.eye(2)[first], range(20), range(20))
    assert estimate(together(entries)["run_distance"]).p == pytest.approx(exchange_test(sets).p)


@pytest.mark.slow
def test_equal_populations_rarely_differ_and_others_do() -> None:
    """Two images of each of 24 prompts, by models that differ in no prompt, or by 30 points."""
    rng = np.random.default_rng(7)
    significant = dict.fromkeys([0.0, 0.35], 0)
    runs = 50
    for change in significant:
        for _ in range(runs):
            shares = rng.beta(6, 4, size=(24, 1)).clip(change, 1)
            before = np.where(rng.random((24, 2)) < shares, "male", "female").tolist()
            after = np.where(rng.random((24, 2)) < shares - change, "male", "female").tolist()
            significant[change] += p_over_prompts(before, after) < 0.05
    assert significant[0.0] / runs <= 0.14
    assert significant[0.35] / runs > 0.8


def finished_audit(folder: Path, name: str, genders: Sequence[str]) -> Path:
    """Audit two images of each of 12 prompts, whose labels are given for prompts."""
    images = folder / name
    images.mkdir()
    rows = []
    for prompt, gender in enumerate(genders):
        for number in range(2):
            pixels = np.random.default_rng([len(name), prompt, number]).integers(0, 256, (8, 8, 3))
            file = f"{prompt}-{number}.png"
            Image.fromarray(pixels.astype(np.uint8)).save(images / file)
            rows.append({"file": file, "prompt": f"a photo of job {prompt}", "gender": gender})
    with (images / "manifest.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run_folder = folder / f"run of {name}"
    command = ["audit", "--model", f"folder/{images}", "--vqa", "labels", "--run", str(run_folder)]
    assert run([*command, "--bootstrap-samples", "100"]) == 0
    return run_folder


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> askew.Comparison:
    """A comparison of two images of men in each of 12 prompts, and of women in ten of them."""
    folder = tmp_path_factory.mktemp("prompts")
    men = finished_audit(folder, "men", ["male"] * 12)
    women = finished_audit(folder, "women", ["female"] * 10 + ["male"] * 2)
    return askew.compare(men, women, names="men,women", output=folder / "comparison")


def test_the_headline_and_the_table_name_all_prompts(comparison: askew.Comparison) -> None:
    text = " ".join(comparison.markdown().split())
    assert (
        "women differs significantly from men in all 12 prompts together on perceived gender."
        in text
    )
    assert "The difference in all 12 prompts together is on perceived gender:" in text
    assert "(83 %, 20 of 24, against 0 %, 0 of 24)" in text
    page = comparison.report.read_text()
    assert "All prompts together" in page
    assert "12 prompts" in page
    assert "13 prompts" not in page


def test_results_have_the_row_and_conditions_hold_for_it(comparison: askew.Comparison) -> None:
    difference = comparison.difference("share", "gender", "female", prompt=ALL_PROMPTS)
    assert isinstance(difference, Estimate)
    assert difference.value == pytest.approx(20 / 24)
    entries = json.loads(comparison.results.read_text())
    row = next(entry for entry in entries if entry["prompts"] and entry["value"] == "female")
    assert row["prompts"] == 12
    assert [share["value"] for share in row["of_runs"]] == pytest.approx([0, 20 / 24])
    folders = [finished.folder for finished in comparison.runs.values()]
    with pytest.raises(CheckFailed, match="all prompts together"):
        askew.compare(*folders, output=comparison.folder, fail_if=["share.q < 0.05"])


def test_a_loaded_comparison_has_the_same_page(comparison: askew.Comparison) -> None:
    page = comparison.report.read_bytes()
    assert load_comparison(comparison.folder).write().report.read_bytes() == page
