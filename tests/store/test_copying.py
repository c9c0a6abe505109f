"""A copy of a store has everything, with the times of the files, and continues after a stop."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import BRIGHT, BrightVQA, MeanEmbedder, PatternModel, small_plan

from askew.cli import run
from askew.errors import StoreError, UsageError
from askew.run.live import LiveRun
from askew.store import network
from askew.store.copying import copy_store
from askew.store.store import Store
from askew.types import Picture


def filled(folder: Path, texts: list[str]) -> list[Picture]:
    """Fill a store with images, answers and vectors."""
    with Store(folder) as store:
        live = LiveRun(folder.parent / "run", store, small_plan())
        rows = live.pictures(PatternModel(), texts, 4, 0)
        pictures = [item for row in rows.values() for item in row if isinstance(item, Picture)]
        live.ask(BrightVQA(), pictures, [BRIGHT])
        live.read(MeanEmbedder(), pictures)
        return pictures


def content(folder: Path) -> dict[str, list[object]]:
    with Store(folder, create=False) as store:
        assert store.faults() == []
        tables = ("pictures", "planned", "answers", "reports", "vectors")
        return {
            table: sorted(store.index_of(table).intact_rows(table), key=repr) for table in tables
        }


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "pictures").rglob("*.png")}


def test_a_copy_is_equal_and_needs_no_second_look(tmp_path: Path) -> None:
    old = tmp_path / "old"
    new = tmp_path / "new"
    pictures = filled(old, ["a nurse", "refuse this"])
    for path in (old / "pictures").rglob("*.png"):
        os.utime(path, ns=(10**18, 10**18 + 7))
    with Store(old) as store:
        store.index.remove("pictures", "id", [])
    report = copy_store(old, new)
    assert (report.files, report.existing, report.damaged) == (len(pictures), 0, [])
    assert content(new) == content(old)
    assert times(new) == times(old)
    assert '"device"' in (new / "journal.jsonl").read_text()
    again = copy_store(old, new)
    assert (again.files, again.existing, again.rows) == (0, len(pictures), 0)


def test_a_stopped_copy_is_a_store_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    new = tmp_path / "new"
    filled(old, ["a nurse"])
    copyfile = shutil.copyfile
    copied = []

    def stopping(*arguments: Path, **options: bool) -> object:
        if len(copied) == 2:
            raise KeyboardInterrupt
        copied.append(arguments)
        return copyfile(*arguments, **options)

    monkeypatch.setattr(shutil, "copyfile", stopping)
    with pytest.raises(KeyboardInterrupt):
        copy_store(old, new)
    monkeypatch.undo()
    assert content(new)["pictures"] == []
    assert not list(new.rglob("*.part"))
    assert copy_store(old, new).existing == 2
    assert content(new) == content(old)


def test_a_copy_joins_two_stores(tmp_path: Path) -> None:
    old = tmp_path / "old"
    new = tmp_path / "new"
    names = {picture.id for picture in filled(old, ["a nurse", "a pilot"])}
    names |= {picture.id for picture in filled(new, ["a pilot", "a doctor"])}
    before = content(new)
    copy_store(old, new)
    after = content(new)
    assert {row[1] for row in after["pictures"]} == names  # type: ignore[index]
    assert all(row in after[table] for table, rows in before.items() for row in rows)
    np.testing.assert_equal(len(after["vectors"]), len(names))


def test_damaged_images_are_not_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old"
    new = tmp_path / "new"
    picture, *_ = filled(old, ["a nurse"])
    Path(picture.path).write_bytes(b"garbage")
    assert run(["store", "copy", str(old), str(new)]) == 1
    assert f"1 damaged image not copied: {picture.id}.png" in capsys.readouterr().err
    with Store(new) as store:
        assert store.known_files([picture.id]) == {}
        assert store.faults() == []


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a store"):
        copy_store(tmp_path, tmp_path / "new")
    filled(tmp_path / "old", ["a nurse"])
    with pytest.raises(UsageError, match="are the same store"):
        copy_store(tmp_path / "old", tmp_path / "old")


MOUNTS = r"""/dev/vda / ext4 rw 0 0
server:/home {home} nfs4 rw 0 0
/dev/sdb {home}/scratch\040disk ext4 rw 0 0
lustre@tcp:/data {home}/scratch\040disk/data lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("store", "nfs4"),
        ("scratch disk/store", None),
        ("scratch disk/data/a/b", "lustre"),
        ("../elsewhere", None),
        ("../home2", None),
    ],
)
def test_a_store_on_a_network_file_system_is_refused(
    folder: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    table = tmp_path / "mounts"
    table.write_text(MOUNTS.format(home=home))
    monkeypatch.setattr(network, "MOUNTS", table)
    if kind is None:
        Store(home / folder).close()
        return
    with pytest.raises(StoreError, match=rf"{kind} at .*--store /tmp/askew.*--shard 1/4"):
        Store(home / folder)
    assert not (home / folder).exists()
    Store(home / folder, create=False).close()
