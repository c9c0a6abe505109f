"""Digests of the files of a folder: remembered for unchanged files, and never for edited files."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import askew
from askew.errors import ManifestError
from askew.models import file_memory, folder
from askew.models.file_memory import FileDigest, FileMemory, remember_files
from askew.store import store as stores
from askew.store.files import sha256
from askew.store.store import Store

LABELS = ("female", "male", "female")


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust files as soon as they are written, since a test does not wait."""
    monkeypatch.setattr(file_memory, "FRESH", -(10**18))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    place = tmp_path / "images"
    place.mkdir()
    lines = ["file,prompt,gender"]
    for k, label in enumerate(LABELS):
        draw(place / f"{k}.png", k)
        lines.append(f"{k}.png,a nurse,{label}")
    (place / "manifest.csv").write_text("\n".join(lines))
    return place


def draw(path: Path, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def counted(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[object]:
    """Return a list to which each call of a function adds its last argument."""
    calls: list[object] = []
    real: Callable[..., Any] = getattr(place, name)

    def spy(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments[-1])
        return real(*arguments, **named)

    monkeypatch.setattr(place, name, spy)
    return calls


def looked_up(known: Mapping[str, FileDigest]) -> FileMemory:
    def lookup(paths: Sequence[str]) -> Mapping[str, FileDigest]:
        return {path: known[path] for path in paths if path in known}

    return FileMemory(lookup)


@pytest.mark.usefixtures("trusting")
def test_unchanged_files_are_not_read_a_second_time(tmp_path: Path) -> None:
    file = tmp_path / "0.png"
    file.write_bytes(b"first")
    first = looked_up({})
    assert first.digests([file]) == {file: sha256(b"first")}
    second = looked_up(first.new)
    assert second.digests([file]) == {file: sha256(b"first")}
    assert list(first.new) == [str(file)]
    assert second.new == {}


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("restores_time", [False, True])
def test_edited_files_are_read_even_with_their_old_size_and_time(
    tmp_path: Path, restores_time: bool
) -> None:
    file = tmp_path / "0.png"
    file.write_bytes(b"first")
    first = looked_up({})
    first.digests([file])
    status = file.stat()
    file.write_bytes(b"other")
    if restores_time:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert looked_up(first.new).digests([file]) == {file: sha256(b"other")}


@pytest.mark.usefixtures("trusting")
def test_replaced_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "0.png"
    file.write_bytes(b"first")
    first = looked_up({})
    first.digests([file])
    new = tmp_path / "new"
    new.write_bytes(b"other")
    status = file.stat()
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(file)
    assert looked_up(first.new).digests([file]) == {file: sha256(b"other")}


def test_files_changed_in_the_last_seconds_are_not_remembered(tmp_path: Path) -> None:
    file = tmp_path / "0.png"
    file.write_bytes(b"first")
    memory = looked_up({})
    assert memory.digests([file]) == {file: sha256(b"first")}
    assert memory.new == {}


def test_special_and_absent_files_have_no_digest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    paths = [tmp_path / "pipe.png", tmp_path / "absent.png", tmp_path]
    assert looked_up({}).digests(paths) == {}


def test_inner_contexts_share_the_outer_memory() -> None:
    with remember_files(lambda paths: {}) as outer, remember_files(lambda paths: {}) as inner:
        assert inner is outer
    assert file_memory.file_memory() is not outer


@pytest.mark.usefixtures("trusting")
def test_a_store_remembers_digests(tmp_path: Path) -> None:
    digest = FileDigest(size=1, modified=2, changed=3, inode=2**63 - 1, digest="ab" * 32)
    with Store(tmp_path / "store") as store:
        store.put_digests({"/ä": digest, "/\udcff": digest})
    with Store(tmp_path / "store", create=False) as store:
        assert store.digests(["/ä", "/b", "/\udcff"]) == {"/ä": digest}
        assert not store.faults()


@pytest.mark.usefixtures("trusting")
def test_a_repeated_audit_reads_only_edited_files(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = askew.audit(model=f"folder/{images}")
    hashed = counted(monkeypatch, FileMemory, "_read")
    decoded = counted(monkeypatch, stores, "read")
    opened = counted(monkeypatch, folder, "_opened")
    (first.folder / "results.json").unlink()
    again = askew.audit(model=f"folder/{images}")
    assert again.findings.sets == first.findings.sets
    assert hashed == []
    assert decoded == []
    assert len(opened) == 1

    draw(images / "1.png", 9)
    edited = askew.audit(model=f"folder/{images}")
    assert hashed == [images / "1.png"]
    ids = edited.findings.sets[0].pictures
    assert ids[1] == sha256((images / "1.png").read_bytes())
    assert (ids[0], ids[2]) == (
        again.findings.sets[0].pictures[0],
        again.findings.sets[0].pictures[2],
    )


def test_each_folder_is_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(40):
        place = tmp_path / "images" / f"prompt {k % 2}"
        place.mkdir(parents=True, exist_ok=True)
        draw(place / f"{k}.png", k)
    resolved = counted(monkeypatch, os.path, "realpath")
    collection = folder.create(str(tmp_path / "images"))
    assert len(collection.pictures()) == 40
    assert len(resolved) < 10


def test_the_search_for_cycles_continues_after_a_folder_is_opened(images: Path) -> None:
    with file_memory.without_cycle_search():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert folder.create(str(images)).revision
    with pytest.raises(ManifestError):
        folder.create(str(images / "absent"))
    assert gc.isenabled()
