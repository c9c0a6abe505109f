"""askew compare of two classifications and of two edits, on the same and on other input images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.cli import run
from askew.studies.compare_downstream.comparison import TaskComparison

GROUPS = "man, woman"
TARGETS = {"first": ["mechanic", "plumber"], "second": ["nurse", "secretary"]}

pytestmark = pytest.mark.slow


def classified(folder: Path, name: str, model: str = "studio", seed: int = 0) -> Path:
    askew.classify(
        GROUPS,
        model,
        sources="studio/planted",
        images=4,
        samples=(1, 2),
        targets=TARGETS,
        bootstrap_samples=200,
        seed=seed,
        run=folder / name,
        store=folder / "store",
    )
    return folder / name


def edited(folder: Path, name: str, model: str) -> Path:
    askew.edit(
        GROUPS,
        model,
        sources="studio/planted",
        images=4,
        axes=["gender", "age"],
        edit_prompts={"jobs": ["nurse", "chef"]},
        strengths=(1.0,),
        edit_args={"num_inference_steps": 2},
        bootstrap_samples=200,
        run=folder / name,
        store=folder / "store",
    )
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three classifications and two edits in one store."""
    folder = tmp_path_factory.mktemp("tasks")
    classified(folder, "base")
    classified(folder, "balanced", "studio/balanced")
    classified(folder, "other", seed=1)
    edited(folder, "edits", "studio")
    edited(folder, "balanced-edits", "studio/balanced")
    return folder


def compared(folder: Path, *names: str) -> TaskComparison:
    store = folder / "store"
    result = askew.compare(*(folder / name for name in names), store=store, names=names)
    assert isinstance(result, TaskComparison)
    return result


def decisions(folder: Path, run_name: str, group: str) -> np.ndarray:
    """Decisions of a group with two samples, by a plain loop over the errors in results.json."""
    section = json.loads((folder / run_name / "results.json").read_text())["classification"]
    (errors,) = [
        e
        for e in section["errors"]
        if (e["group"], e["samples"], len(e["classes"])) == (group, 2, 4)
    ]
    rows = []
    for a, b, c, d in errors["values"]:
        rows.append([a < c, a < d, b < c, b < d])
    return np.array(rows, dtype=float)


def cell_of(content: Any, group: str) -> Any:
    (cell,) = [e for e in content["editing"] if e["group"] == group]
    return cell


def mean_change(earlier: list[float | None], later: list[float | None]) -> float:
    """Return the mean difference of the images that both runs measured."""
    pairs = zip(earlier, later, strict=True)
    return float(np.mean([y - x for x, y in pairs if x is not None and y is not None]))


def test_the_same_input_images_are_pairs(folder: Path) -> None:
    result = compared(folder, "base", "balanced")
    for entry in result.entries:
        assert entry.pairs == (8 if entry.other_group else 4)
    later, earlier = (decisions(folder, name, "man") for name in ("balanced", "base"))
    assert result.difference("association", "man").value == pytest.approx(
        later.mean() - earlier.mean()
    )
    of_women = [decisions(folder, name, "woman").mean() for name in ("balanced", "base")]
    assert result.difference("differential", "man", other_group="woman").value == pytest.approx(
        (later.mean() - of_women[0]) - (earlier.mean() - of_women[1])
    )
    assert {entry.score for entry in result.entries} == {"association", "differential", "accuracy"}
    assert all(entry.difference.q >= entry.difference.p for entry in result.entries)
    assert "compares them image by image" in result.page.detail
    assert result.report.read_text().startswith("<!DOCTYPE html>")


def test_other_input_images_are_independent_and_the_order_changes_only_signs(folder: Path) -> None:
    result = compared(folder, "base", "other")
    back = compared(folder, "other", "base")
    assert {entry.pairs for entry in result.entries} == {0}
    assert "independent sets" in result.page.detail
    for forward, backward in zip(result.entries, back.entries, strict=True):
        assert forward.difference.value == pytest.approx(-backward.difference.value)
        assert forward.difference.p == backward.difference.p


def test_edits_are_compared_by_their_stored_labels(folder: Path) -> None:
    result = compared(folder, "edits", "balanced-edits")
    findings = [
        json.loads((folder / name / "results.json").read_text())
        for name in ("edits", "balanced-edits")
    ]
    for group in ("man", "woman"):
        rates: list[Any] = []
        for content in findings:
            rates.append(cell_of(content, group)["gender_change"]["value"])
        entry = next(e for e in result.entries if (e.score, e.group) == ("gender_change", group))
        assert [score.value for score in entry.of_runs] == pytest.approx(rates)
        assert entry.difference.value == pytest.approx(rates[1] - rates[0])
        assert entry.pairs == 4
        changes = [cell_of(content, group)["ita_changes"] for content in findings]
        tone = next(e for e in result.entries if (e.score, e.group) == ("ita_change", group))
        assert tone.difference.value == pytest.approx(mean_change(*changes))
        assert tone.pairs == 4
        assert tone.difference.q >= tone.difference.p > 0
    assert {e.score for e in result.entries} == {
        "gender_contrast",
        "gender_change",
        "axis_change",
        "ita_change",
    }


def test_a_comparison_is_shown_again_and_wrong_runs_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = compared(folder, "base", "balanced")
    page = result.report.read_text()
    assert run(["report", str(result.folder), "--store", str(folder / "store")]) == 0
    assert result.report.read_text() == page
    both = ["compare", str(folder / "base"), str(folder / "edits")]
    assert run(both) == 2
    assert "Give runs of the same method" in capsys.readouterr().err
    again = ["compare", str(folder / "base"), str(folder / "balanced"), "--fail-if"]
    assert run([*again, "association > -1"]) == 3
    assert run([*again, "mad > 1"]) == 2


def test_a_damaged_image_is_named(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    result = compared(tmp_path / "copy", "edits", "balanced-edits")
    assert not result.image_warnings
    shown = next(name for name in result.runs["edits"].findings.sets[0].pictures if name)
    (file,) = (tmp_path / "copy" / "store" / "pictures").rglob(f"{shown}*")
    file.write_bytes(b"damaged")
    again = compared(tmp_path / "copy", "edits", "balanced-edits")
    assert any(shown in warning for warning in again.image_warnings)
