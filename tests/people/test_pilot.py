"""Label studies in two stages: a pilot, and as many further images as its labels require."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import askew
from askew import registry
from askew.cli import run
from askew.errors import UsageError
from askew.people.extend import add_second_stage, extend_study, planned_extension
from askew.people.folder import SECOND_ITEMS_FILE, SOURCES_FILE, StudyFolder
from askew.people.records import AnswerRecord
from askew.people.results import study_results
from askew.stats.stages import StagedLabels
from askew.types import Estimate, Picture, Question
from planted_raters import answers, planted_pilot
from study_folders import links_of, served

PRECISION = 0.06


def lines_of(captured: pytest.CaptureFixture[str]) -> str:
    output = captured.readouterr()
    return " ".join((output.out + output.err).split())


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audits") / "runs" / "nurse"
    return askew.audit(
        "a photo of a person",  # the model draws both values for this prompt
        model="studio/planted",
        images=60,
        axes=["gender"],
        counterfactuals="none",
        embedder="none",
        bootstrap_samples=100,
        run=folder,
    ).folder


@pytest.fixture
def pilot(audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> StudyFolder:
    """Return a new study with a pilot."""
    options = ["--precision", str(PRECISION), "--pilot", "10", "--output", str(tmp_path / "study")]
    assert run(["study", "new", "label", "--from", str(audit), *options]) == 0
    text = lines_of(capsys)
    assert "a pilot with 20 of 60 images in 2 strata. The second stage adds about" in text
    assert "this is the first of two stages" in text
    return StudyFolder.opened(tmp_path / "study")


def answer_all(folder: StudyFolder) -> StudyFolder:
    """Answer all questions with the instrument's labels, but some images with the other value."""
    answered = folder.answers()
    labels = {entry.id: entry.labels["gender"]["studio"] for entry in folder.frame}
    for rater in folder.raters():
        for name in rater.items:
            item = folder.items[name]
            given = item.expected or labels[item.images[0]]
            if item.expected is None and int(item.images[0][:2], 16) < 20:
                given = next(value for value in item.options if value != given)
            if (rater.id, name) not in answered:
                folder.append(AnswerRecord(rater.id, name, 1, (given,), seconds=2.0))
    return StudyFolder.opened(folder.path)


def content_of(path: Path) -> Mapping[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


ANNOUNCEMENT = b"Your link may show more questions later."


def test_a_study_is_extended_while_it_is_served(
    pilot: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(pilot.path)
    token = links_of(pilot)["r001"]
    with served(pilot) as client:
        assert ANNOUNCEMENT in client.get(f"/s/{token}").body
        for rater in pilot.raters():
            pilot.consent(rater.id)
        answer_all(pilot)
        assert client.get(f"/s/{token}").headers["location"] == f"/s/{token}/done"
        assert ANNOUNCEMENT in client.get(f"/s/{token}/done").body
        assert run(["study", "extend", study]) == 0
        location = client.get(f"/s/{token}").headers["location"]
        assert location.rpartition("/")[2] not in pilot.items
        assert client.get(location).status == 200
        answer_all(StudyFolder.opened(pilot.path))
        assert ANNOUNCEMENT not in client.get(f"/s/{token}/done").body
    assert run(["study", "extend", study]) == 2
    assert "already has a second stage" in lines_of(capsys)


def test_a_dry_run_writes_nothing_and_an_extension_keeps_the_pilot(
    pilot: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(pilot.path)
    assert run(["study", "extend", study]) == 2
    assert "60 of 60 answers are missing, from r001, r002 and r003" in lines_of(capsys)
    answer_all(pilot)
    before = content_of(pilot.path)
    assert run(["study", "extend", study, "--dry-run"]) == 0
    planned = lines_of(capsys)
    assert "nothing was written" in planned
    assert content_of(pilot.path) == before
    assert run(["study", "extend", study]) == 0
    assert planned[: planned.index(" nothing")] in lines_of(capsys)
    after = content_of(pilot.path)
    pilot_files = [name for name in before if "raters" not in name]
    assert [after[name] for name in pilot_files] == [before[name] for name in pilot_files]


@pytest.fixture
def extended(pilot: StudyFolder) -> StudyFolder:
    """Return a study whose two stages are answered."""
    extend_study(answer_all(pilot))
    return answer_all(StudyFolder.opened(pilot.path))


def new_images(folder: StudyFolder) -> list[str]:
    """Return the ids of the images that the second stage added."""
    return [item.images[0] for item in folder.second_items if item.role == "item"]


def test_the_results_of_two_stages_name_both(
    extended: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    second = new_images(extended)
    asked = {item.images[0] for item in extended.items.values() if item.role == "item"}
    assert len(asked) == 20 + len(second)
    assert all(extended.image(image).is_file() for image in second)
    capsys.readouterr()
    assert run(["study", "results", str(extended.path)]) == 0
    text = lines_of(capsys)
    assert f"(20 in the pilot, {len(second)} in the second stage). The planned precision is" in text
    assert "The sample has two stages" in text
    findings = study_results(extended).findings
    (shares,) = findings.included.shares
    assert shares.reached
    assert (shares.pilot, shares.labeled) == (20, 20 + len(second))
    share = shares.shares["female"]
    assert isinstance(share, Estimate)
    assert share.interval == StagedLabels.METHOD
    assert not findings.warnings


def test_labels_of_the_second_stage_are_answers_of_the_instrument(extended: StudyFolder) -> None:
    vqa = registry.vqa(f"study/{extended.path}")
    question = Question("?", ("male", "female"), "gender")
    added = Picture(new_images(extended)[0], "p", "p")
    assert vqa.answer([added], [question])[0][0] in question.options


def test_a_second_stage_is_deterministic_and_completed_after_an_interruption(
    pilot: StudyFolder, tmp_path: Path
) -> None:
    folder = answer_all(pilot)
    shutil.copytree(folder.path, tmp_path / "copy")
    extend_study(folder)
    # the copy is interrupted after it has written its items, and a rater changes an answer
    copy = StudyFolder.opened(tmp_path / "copy")
    copy.write_second_items(planned_extension(copy).items)
    copy = StudyFolder.opened(tmp_path / "copy")
    copy.append(replace(copy.all_answers()[0], seconds=3.0))
    extend_study(copy)
    for name in (SECOND_ITEMS_FILE, "raters.jsonl"):
        assert (copy.path / name).read_bytes() == (folder.path / name).read_bytes()
    with pytest.raises(UsageError, match="already has a second stage"):
        extend_study(StudyFolder.opened(copy.path))


def test_a_moved_run_is_named_with_from(
    pilot: StudyFolder, audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(answer_all(pilot).path)
    (pilot.path / SOURCES_FILE).unlink()
    assert run(["study", "extend", study]) == 2
    assert "Name the runs of the study with --from" in lines_of(capsys)
    moved = tmp_path / "moved"
    shutil.copytree(audit, moved / "renamed")
    arguments = ["study", "extend", study, "--from", str(moved / "renamed")]
    assert run([*arguments, "--store", str(audit.parent / ".askew")]) == 0
    assert "The second stage adds" in lines_of(capsys)


def test_a_pilot_needs_a_label_study_with_a_precision(
    audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--from", str(audit), "--output", str(tmp_path / "study")]
    for options, message in (
        (["rate", "--pilot", "50"], "--pilot applies only to label studies"),
        (["label", "--pilot", "50", "--images", "9"], "Use --precision with --pilot"),
        (["label", "--pilot", "3"], "--pilot is 3; it must be 10 or more"),
        (["label", "--pilot", "10", "--from", str(audit)], "share images"),
    ):
        assert run(["study", "new", *options, *more]) == 2
        assert message in lines_of(capsys)
    assert run(["study", "new", "label", *more]) == 0
    assert run(["study", "extend", str(tmp_path / "study")]) == 2
    assert "has no pilot" in lines_of(capsys)


def test_a_pilot_that_is_precise_enough_needs_no_second_stage(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    folder, truth = planted_pilot(tmp_path, rng, raters=5, pilot=60, precision=0.2)
    folder.write_answers(answers(folder, truth, rng))
    extension = extend_study(folder)
    text = " ".join(extension.lines())
    assert "No further images are needed for a half-width of 0.2" in text
    assert "the pilot is enough" in text
    assert not (folder.path / SECOND_ITEMS_FILE).exists()
    results = study_results(StudyFolder.opened(folder.path)).findings
    assert results.included.shares[0].reached
    assert not results.warnings


def test_raters_who_withdrew_or_are_excluded_get_no_new_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    folder, truth = planted_pilot(tmp_path, rng, raters=4, pilot=40)
    folder.write_answers(answers(folder, truth, rng, always_first=("r002",)))
    folder.withdraw("r003")
    folder = StudyFolder.opened(folder.path)
    extension = planned_extension(folder)
    # an item needs three raters, but only two remain
    assert set(extension.orders) == {"r001", "r004", "r005"}
    assert "(1 new)" in " ".join(extension.lines())
    add_second_stage(extension)
    extended = StudyFolder.opened(folder.path)
    assert extended.withdrawn() == 1
    by_id = {rater.id: rater for rater in extended.raters()}
    before = {rater.id: rater for rater in folder.raters()}
    assert by_id["r002"] == before["r002"]
    assert by_id["r001"].items[: len(before["r001"].items)] == before["r001"].items
    assert by_id["r001"].token == before["r001"].token
    second = {item.id for item in extended.second_items}
    assert len(set(by_id["r001"].items)) == len(by_id["r001"].items)
    assert {extended.items[name].role for name in second} == {"item", "check", "repeat"}
    # another process extended the study, which this process has opened before
    with pytest.raises(UsageError, match="another process"):
        add_second_stage(extension)


def test_missing_answers_are_counted_without_raters_who_withdrew(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    folder, truth = planted_pilot(tmp_path, rng, raters=3, pilot=10)
    records = answers(folder, truth, rng)
    folder.write_answers([record for record in records if record.rater != "r002"])
    with pytest.raises(UsageError, match="20 of 60 answers are missing, from r002"):
        planned_extension(folder)
    folder.withdraw("r002")
    assert planned_extension(StudyFolder.opened(folder.path)).items


def test_a_study_in_two_stages_holds_the_planted_share(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    folder, truth = planted_pilot(tmp_path, rng, images=900, share=0.3, raters=9, pilot=50)
    folder.write_answers(answers(folder, truth, rng, error=0.03, bias=0.0))
    assert "askew study extend" in study_results(folder).findings.warnings[0]
    add_second_stage(planned_extension(StudyFolder.opened(folder.path)))
    folder = StudyFolder.opened(folder.path)
    folder.write_answers(answers(folder, truth, rng, error=0.03, bias=0.0))
    (shares,) = study_results(folder).findings.included.shares
    assert shares.reached
    assert 100 < shares.labeled < 260
    share = shares.shares["female"]
    assert isinstance(share, Estimate)
    assert share.low is not None
    assert share.high is not None
    assert share.low <= np.mean([value == "female" for value in truth.values()]) <= share.high
