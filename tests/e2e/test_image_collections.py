"""Audits of collections as they come from the field: signs, copies, damaged and unused files."""

from __future__ import annotations

from pathlib import Path

import pytest

from image_collections import audit_collection, labeled_rows, save_collection

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
