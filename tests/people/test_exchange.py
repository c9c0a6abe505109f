"""Answers leave a study and come back unchanged."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from askew.cli import run
from askew.people.exchange import import_answers, label_studio_config, label_studio_tasks
from askew.people.folder import StudyFolder
from askew.people.records import CANNOT_TELL, PREFER_NOT
from askew.people.results import study_results
from planted_raters import answers, planted_study

EXPORTS = Path(__file__).parent / "label_studio"


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    rng = np.random.default_rng(3)
    folder, truth = planted_study(tmp_path / "study", rng, images=40, labeled=24, raters=4)
    empty = copytree(folder.path, tmp_path / "empty")
    assert empty.is_dir()
    first, *others = answers(folder, truth, rng)
    folder.write_answers([replace(first, answer=(CANNOT_TELL,)), *others])
    return StudyFolder.opened(folder.path)


@pytest.mark.parametrize(
    ("name", "output"),
    [("label-studio", "tasks"), ("csv", "answers.csv"), ("jsonl", "answers.jsonl")],
)
def test_a_round_trip_gives_the_same_answers_and_results(
    study: StudyFolder,
    name: str,
    output: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / output
    options = ["--format", name, "--output", str(target)]
    assert run(["study", "export", str(study.path), *options]) == 0
    empty = tmp_path / "empty"
    file = target / "tasks.json" if target.is_dir() else target
    assert run(["study", "import", str(empty), str(file), "--format", name]) == 0
    assert "from 4 raters" in capsys.readouterr().out
    again = StudyFolder.opened(empty)
    assert again.answers() == study.answers()
    assert study_results(again).findings == study_results(study).findings


def test_results_of_mturk_are_imported_without_names_of_workers(
    study: StudyFolder, tmp_path: Path
) -> None:
    rows = []
    for answer in study.answers().values():
        rows.append(
            {
                "WorkerId": f"A{answer.rater}SECRET",
                "AssignmentStatus": "Approved",
                "Input.item": answer.item,
                "Answer.answer": answer.answer[0],
                "WorkTimeInSeconds": "4",
            }
        )
    rows.append({**rows[0], "WorkerId": "SPAMMER", "AssignmentStatus": "Rejected"})
    file = tmp_path / "batch.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    empty = StudyFolder.opened(tmp_path / "empty")
    imported = import_answers(empty, "mturk", file)
    assert len(imported) == len(rows) - 1
    assert len({answer.rater for answer in imported}) == 4
    for path in empty.path.glob("*.*"):
        assert b"SECRET" not in path.read_bytes()
    assert study_results(StudyFolder.opened(empty.path)).findings.included.raters == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,item,answer\na,i00001,male\n", "Name the column with --rater-column"),
        ("rater,item,answer\na,i99999,male\n", "which is not an item of the study"),
        ("rater,item,answer\na,ITEM,other\n", "is not an option. The options are: male, female"),
    ],
)
def test_faulty_tables_are_refused(
    study: StudyFolder, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(text.replace("ITEM", next(iter(study.items))))
    before = study.all_answers()
    raters = study.raters()
    assert run(["study", "import", str(study.path), str(file)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert study.all_answers() == before
    assert study.raters() == raters


@pytest.mark.parametrize("name", ["export.json", "export-min.json", "export.csv"])
def test_exports_of_label_studio_are_imported(
    study: StudyFolder, tmp_path: Path, name: str
) -> None:
    """Import files that label-studio-sdk 2.1.2 made: its annotations, through its Converter."""
    empty = StudyFolder.opened(tmp_path / "empty")
    imported = import_answers(empty, "label-studio", EXPORTS / name)
    by_rater: dict[str, list[str]] = {}
    for answer in imported:
        by_rater.setdefault(answer.rater, []).append(answer.answer[0])
    first, other = by_rater.values()
    assert first == ["male", CANNOT_TELL, "male", "female", "male", "male"]
    assert other == ["female", "female", "male", "female", PREFER_NOT, "female"]
    assert [answer.seconds for answer in imported][:3] == [1.5, 1.75, 2.0]
    assert empty.raters()[0].id in by_rater  # the first annotator is the first rater


def test_label_studio_gets_no_label_of_an_instrument(study: StudyFolder) -> None:
    text = json.dumps(label_studio_tasks(study))
    assert "planted" not in text
    assert "stratum" not in text


def test_all_choices_of_the_tasks_are_in_the_interface(study: StudyFolder) -> None:
    config = label_studio_config(study)
    chosen = set()
    for task in label_studio_tasks(study):
        for annotation in task["annotations"]:
            chosen.update(annotation["result"][0]["value"]["choices"])
    assert "I cannot tell" in chosen
    assert [choice for choice in chosen if f'<Choice value="{choice}"/>' not in config] == []
