"""Evidence packs: another person can check them, and every change is reported."""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from askew.commands import check, export
from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE
from askew.run.annotations import add_annotations, corrected_label
from askew.store.files import SUMS_FILE, replace_sum, write_sums
from askew.studies.evidence import EVIDENCE_FILE, LABELS_FILE, NEEDED


@pytest.fixture(scope="module")
def pack(made_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    runs = Path(shutil.copytree(made_runs, folder / "runs"))
    image = next((runs / ".askew" / "pictures").rglob("*.png")).stem
    add_annotations(runs / "labeled", [corrected_label(image, "gender", "female")])
    export(runs / "labeled", format="evidence", output=folder / "pack")
    export(runs / "labeled", format="evidence", output=folder / "pack.zip")
    return folder / "pack"


def copied(pack: Path, folder: Path) -> Path:
    return Path(shutil.copytree(pack, folder / "pack"))


def test_a_pack_is_checked_without_its_run(pack: Path) -> None:
    for path in (pack, pack.with_suffix(".zip")):
        assert "is intact: 12 images, 0 missing" in str(check(path))
    assert {*NEEDED, SUMS_FILE, "annotations.jsonl", "images"} == {
        path.name for path in pack.iterdir()
    }
    with (pack / LABELS_FILE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["instrument"] for row in rows} == {"labels", "studio"}
    assert len(rows) == 24
    assert {row["by_hand"] for row in rows} == {"", "female"}
    assert "Limits" in (pack / "method.md").read_text(encoding="utf-8")


def test_seeds_are_texts_whose_digits_no_program_rounds(made_runs: Path, tmp_path: Path) -> None:
    export(made_runs / "nurse", format="evidence", output=tmp_path / "pack")
    sets = json.loads((tmp_path / "pack" / RESULTS_FILE).read_text(encoding="utf-8"))["sets"]
    seeds = {}
    for image_set in sets:
        seeds.update(zip(image_set["pictures"], image_set["seeds"], strict=True))
    with (tmp_path / "pack" / LABELS_FILE).open(newline="", encoding="utf-8") as file:
        written = {row["image"]: row["seed"] for row in csv.DictReader(file)}
    assert max(int(seed) for seed in seeds.values()) > 2**53
    assert written == {image: f"'{seed}" for image, seed in seeds.items()}


def damage_image(folder: Path) -> None:
    file = next((folder / "images").iterdir())
    file.write_bytes(file.read_bytes() + b"x")


def remove_image(folder: Path) -> None:
    next((folder / "images").iterdir()).unlink()


def change_results(folder: Path) -> None:
    path = folder / "results.json"
    path.write_text(path.read_text(encoding="utf-8").replace("female", "femalx"), encoding="utf-8")


def change_labels_with_sums(folder: Path) -> None:
    path = folder / LABELS_FILE
    path.write_text(
        path.read_text(encoding="utf-8").replace(",male,", ",female,"), encoding="utf-8"
    )
    replace_sum(path)


def remove_labels_with_sums(folder: Path) -> None:
    (folder / LABELS_FILE).unlink()
    write_sums(folder, [name for name in NEEDED if name != LABELS_FILE])


def link_image(folder: Path) -> None:
    file = next((folder / "images").iterdir())
    target = folder.parent / file.name
    file.rename(target)
    file.symlink_to(target)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (damage_image, "its SHA-256 differs"),
        (remove_image, "is gone"),
        (change_results, "results.json has changed"),
        (change_labels_with_sums, "images labeled 'male' where"),
        (remove_labels_with_sums, "labels.csv is gone"),
        (link_image, "is gone"),
    ],
)
def test_a_change_is_reported(
    pack: Path, tmp_path: Path, change: Callable[[Path], None], words: str
) -> None:
    folder = copied(pack, tmp_path)
    change(folder)
    with pytest.raises(AskewError, match=words):
        check(folder)


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/etc/x", "images/../x", "images/x.png", ".hidden"]
)
def test_a_zip_with_other_entries_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "x")
        archive.writestr(EVIDENCE_FILE, "{}")
    with pytest.raises(AskewError, match="is not an evidence pack"):
        check(path)
    assert [file.name for file in tmp_path.iterdir()] == ["pack.zip"]


def test_an_existing_output_is_kept(pack: Path) -> None:
    with pytest.raises(UsageError, match="already exists"):
        export(pack.parent / "runs" / "labeled", format="evidence", output=pack)
    with pytest.raises(UsageError, match="--output"):
        export(pack.parent / "runs" / "labeled", format="evidence")
