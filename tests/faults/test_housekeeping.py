"""Runs are listed, and files that no run needs are deleted only after they were listed."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.cli import run
from askew.errors import StoreError
from askew.method import load
from askew.models.file_memory import FileDigest
from askew.store.files import sha256
from askew.store.store import Store

COMMAND = [
    "audit",
    "a nurse",
    "--model",
    "studio/planted",
    "--axes",
    "gender",
    "--bootstrap-samples",
    "100",
    "--images",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs on one store; the second run needs more images."""
    folder = tmp_path_factory.mktemp("runs")
    for images in (2, 4):
        assert run([*COMMAND, str(images), "--run", str(folder / f"run{images}")]) == 0
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"


def files(place: Path) -> int:
    return len(list((place / ".askew" / "pictures").glob("*/*")))


def test_runs_are_listed_with_their_state(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run4" / "results.json").write_text("{}")
    assert run(["runs", str(place)]) == 0
    first, second = sorted(
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("run") and "audit" in line
    )
    assert "finished" in first
    assert "damaged" in second


def test_names_of_runs_are_listed_in_full(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "audit-" + "a-photo-of-" * 8 + "a-nurse"
    (place / "run4").rename(place / name)
    assert run(["runs", str(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "…" not in "".join(lines)
    assert name in "".join(line[:40].strip() for line in lines)


def test_files_that_no_run_needs_are_deleted_and_the_rest_stays(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(place / ".askew")
    before = files(place)
    assert run(["store", "gc", store, "--yes"]) == 0
    assert files(place) == before, "both runs need all"
    assert run(["runs", "rm", str(place / "run4")]) == 0
    assert "would remove" in capsys.readouterr().out
    assert (place / "run4").exists()
    assert run(["runs", "rm", str(place / "run4"), "--yes"]) == 0
    assert not (place / "run4").exists()
    assert run(["store", "gc", store]) == 0
    assert files(place) == before, "it was only said"
    assert run(["store", "gc", store, "--yes"]) == 0
    assert files(place) == before // 2
    assert run(["check", str(place / "run2")]) == 0
    assert load(place / "run2").findings.sets[0].n == 2


def test_nothing_is_deleted_from_a_damaged_store(place: Path) -> None:
    with Store(place / ".askew") as store:
        store.index._connection.execute("UPDATE planned SET key = 'x'")
        with pytest.raises(StoreError, match="Repair it first"):
            store.unneeded()


def test_digests_of_changed_and_deleted_files_are_forgotten(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("same", "changed", "gone")]
    for file in files:
        file.write_bytes(b"content")
        os.utime(file, ns=(1, 1))
    with Store(tmp_path / "store") as store:
        digests = {}
        for file in files:
            status = file.stat()
            digests[str(file)] = FileDigest(
                size=status.st_size,
                modified=status.st_mtime_ns,
                changed=status.st_ctime_ns,
                inode=status.st_ino,
                digest=sha256(b"content"),
            )
        store.put_digests(digests)
        assert len(store.digests(map(str, files))) == 3
    files[1].write_bytes(b"other")
    files[2].unlink()
    assert run(["store", "gc", str(tmp_path / "store"), "--yes"]) == 0
    with Store(tmp_path / "store") as store:
        assert list(store.digests(map(str, files))) == [str(files[0])]


@pytest.mark.slow
def test_housekeeping_lists_no_tables(tmp_path: Path) -> None:
    """Memory stays far below that of the rows of a store."""
    with Store(tmp_path) as store:
        keys = [sha256(b"%d" % number) for number in range(4_000)]
        rows = [(key, key, ".png", None, "", "a nurse", 1, "model", None) for key in keys]
        with store.index.transaction():
            store.index.record("pictures", rows)
            store.index.record("planned", [("run", key, key) for key in keys])
        del rows
        tracemalloc.start()
        assert store.unneeded() == (frozenset(), [])
        store.free((), ())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 3_000_000


def test_another_plan_is_refused_with_the_difference(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COMMAND, "3", "--run", str(place / "run2")]) == 2
    assert "(images is 2 in that plan and 3 in this plan)" in capsys.readouterr().err


def test_many_missing_images_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """More images are blank in one condition than in the other."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    rows = ["file,prompt,condition,gender"]
    rng = np.random.default_rng(0)
    for k in range(40):
        blank = k % 2 and k < 32
        pixels = (
            np.full((9, 9, 3), k, np.uint8) if blank else rng.integers(0, 256, (9, 9, 3), np.uint8)
        )
        Image.fromarray(pixels).save(folder / f"{k}.png")
        rows.append(f"{k}.png,nurse,{('initial', 'other')[k % 2]},{'MF'[k // 2 % 2]}")
    (folder / "manifest.csv").write_text("\n".join(rows))
    assert (
        run(
            [
                "audit",
                "--model",
                f"folder/{folder}",
                "--bootstrap-samples",
                "100",
                "--run",
                str(tmp_path / "run"),
            ]
        )
        == 0
    )
    err = capsys.readouterr().err
    assert "16 of 40 images are missing (16 blank_image)" in err
    assert "'nurse, other' (16 of 20)" in err
