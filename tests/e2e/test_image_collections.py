"""Audits of collections as they come from the field: signs, copies, damaged and unused files."""

from __future__ import annotations

from pathlib import Path

import pytest

from image_collections import audit_collection, labeled_rows, noise_image, save_collection

SCALE = [-2, -2, -2, -1, -1, 1]


@pytest.mark.parametrize("alias", [["--alias=-1=female"], ["--alias", "-1=female"]])
def test_labels_of_one_and_minus_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], alias: list[str]
) -> None:
    rows = labeled_rows("Male", [1] * 4 + [-1] * 16)
    model = save_collection(tmp_path, rows)
    options = ["--label", "gender=Male", "--alias", "1=male", *alias]
    audited = audit_collection(tmp_path / "run", capsys, model, *options)
    assert audited.counts("gender") == {"male": 4, "female": 16}


def test_a_scale_from_minus_two_to_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_collection(tmp_path, labeled_rows("mood", SCALE * 5))
    audited = audit_collection(tmp_path / "run", capsys, model, "--label", "mood=mood")
    assert audited.counts("mood") == {"-2": 15, "-1": 10, "1": 5}


def test_ranges_are_shown_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_collection(tmp_path, labeled_rows("years", ["0-2", "3-9", "20-29"] * 3))
    audited = audit_collection(tmp_path / "run", capsys, model, "--label", "years=years")
    assert audited.counts("years") == {"0-2": 3, "3-9": 3, "20-29": 3}
    assert "3-9" in audited.text


def test_copies_of_an_image_are_one_observation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = labeled_rows("gender", ["female"] * 24)
    model = save_collection(tmp_path, rows)
    for row in rows:
        noise_image(7).save(tmp_path / str(row["file"]))
    audited = audit_collection(tmp_path / "run", capsys, model)
    assert (
        "some images are identical and count once: 1 distinct of 24 images of 'p'" in audited.text
    )
    (entry,) = audited.results["shares"]
    assert entry["counts"] == {"male": 0, "female": 1}
    assert entry["missing"] == {}
    assert entry["verdict"]["q"] > 0.05
    (image_set,) = audited.results["sets"]
    assert (image_set["n"], image_set["copies"], len(image_set["pictures"])) == (1, 23, 1)


def test_copies_count_once_in_each_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = labeled_rows("gender", ["male"] * 24)
    for number, row in enumerate(rows):
        row["condition"] = "plain" if number < 12 else "asked"
    model = save_collection(tmp_path, rows)
    for number, row in enumerate(rows):
        noise_image(number % 4).save(tmp_path / str(row["file"]))
    options = ["--baseline-condition", "plain"]
    audited = audit_collection(tmp_path / "run", capsys, model, *options)
    assert [entry["counts"]["male"] for entry in audited.results["shares"]] == [4, 4]
    assert "4 distinct of 12 images of 'p', 4 distinct of 12 images of 'p, asked'" in audited.text
