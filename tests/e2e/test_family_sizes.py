"""The number of tests on a page is the number of tests in the family of its q-values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from image_collections import audit_collection, save_collection


@pytest.mark.parametrize(
    ("labeled", "images", "tests"),
    [(4, 8, 4), (2, 8, 2), (1, 8, 1), (4, 3, 1)],
    ids=["all labeled", "two without labels", "one labeled", "too few images"],
)
def test_only_tested_sets_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], labeled: int, images: int, tests: int
) -> None:
    """Sets without labels, and sets of too few images, are not in the family."""
    rows = []
    for condition in range(4):
        for number in range(images):
            label = ["male", "female"][number % 2] if condition < labeled else ""
            rows.append(
                {
                    "file": f"{condition}-{number}.png",
                    "prompt": "p",
                    "condition": f"c{condition}",
                    "gender": label,
                }
            )
    model = save_collection(tmp_path, rows)
    audited = audit_collection(
        tmp_path / "run", capsys, model, "--baseline-condition", "c0", "--axes", "gender"
    )
    verdicts = [entry["verdict"] for entry in audited.results["shares"] if entry["verdict"]]
    assert {verdict["tests"] for verdict in verdicts} == {tests}
    notes = re.findall(r"verdicts are \((\d+) tests\)", " ".join(audited.text.split()))
    assert notes == ([str(tests)] if tests > 1 else [])
