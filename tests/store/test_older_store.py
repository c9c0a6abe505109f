"""An index of an earlier version, in which all cells are texts, is rewritten or read."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.errors import StoreError
from askew.models.base import Request
from askew.store.imagefile import EncodedPicture, encode
from askew.store.index import OLDER_DEFINITIONS, OLDER_SCHEMA
from askew.store.journal import _sum_of
from askew.store.keys import picture_key
from askew.store.locks import StoreLock
from askew.store.requests import PictureRequest
from askew.store.rows import JOURNALED, TABLES, checksum
from askew.store.store import Store
from askew.types import Missing, Question
from faults.doubles import PatternModel

COLOR = Question("Which color is it?", ("red", "blue"), "color")
RUN = "5" * 64
READER = "reader@1 size=224"


def fill(place: Path) -> None:
    wanted = [
        PictureRequest(picture_key("m", "1", {}, "a nurse", k), "a nurse", k, "m") for k in range(5)
    ]
    drawn = PatternModel().generate([Request(w.prompt, w.seed or 0) for w in wanted])
    encoded = [encode(image) for image in drawn]  # type: ignore[arg-type]
    images = [image for image in encoded if isinstance(image, EncodedPicture)]
    outcomes: list[EncodedPicture | Missing] = [*images[:4], Missing("refused", "by the filter")]
    with Store(place) as store:
        store.plan_pictures(RUN, wanted)
        stored = store.put_pictures(wanted, outcomes, {"device": "cpu"})
        ids = [picture.id for picture in stored if not isinstance(picture, Missing)]
        store.put_answers(
            "vqa@1", ids, [COLOR], [["red"], ["blue"], [Missing("cannot_tell")], ["red"]]
        )
        store.put_vectors(READER, {name: np.ones(3, np.float32) * k for k, name in enumerate(ids)})
        store.put_reports({"0" * 64: {"cost": 1.5}})


def content(place: Path, create: bool = False) -> dict[str, Any]:
    """Return all rows of a store, by table."""
    with Store(place, create=create) as store:
        return {
            table: sorted(map(repr, store.index_of(table).intact_rows(table))) for table in TABLES
        }


def make_older(place: Path) -> None:
    """Write index and journal as the earlier version wrote them."""
    with Store(place, create=False) as store:
        rows = {table: list(store.index_of(table).intact_rows(table)) for table in TABLES}
    for file in place.glob("*.sqlite*"):
        file.unlink()
    lines = []
    for table in JOURNALED:
        text = json.dumps([table, rows[table], {"device": "cpu"}], sort_keys=True)
        lines.append(f"\n{_sum_of(text)} {text}")
    (place / "journal.jsonl").write_text("".join(lines))
    with closing(sqlite3.connect(place / "index.sqlite")) as index:
        index.execute("PRAGMA journal_mode = WAL")
        for definition, name in OLDER_DEFINITIONS.items():
            if name != "files":  # the earliest version had no such table
                index.execute(definition)
        for table, of_table in rows.items():
            for row in of_table:
                marks = ", ".join("?" * (len(row) + 1))
                index.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, checksum(table, row)))
        index.execute("INSERT INTO meta VALUES ('schema', ?)", (OLDER_SCHEMA,))
        size = (place / "journal.jsonl").stat().st_size
        index.execute("INSERT INTO meta VALUES ('journal', ?)", (size,))
        index.commit()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    fill(tmp_path / "store")
    return tmp_path / "store"


def test_an_older_index_is_rewritten_with_all_rows(place: Path) -> None:
    before = content(place)
    assert all(before[table] for table in TABLES if table != "files")
    make_older(place)
    with Store(place) as store:
        (note,) = store.notes
        assert "was written by an earlier version of askew. Its index was rewritten" in note
        assert not store.faults()
    assert content(place) == before
    with Store(place) as store:
        assert store.notes == []


def test_looking_at_an_older_store_changes_nothing(place: Path) -> None:
    before = content(place)
    make_older(place)
    files = {file.name: file.read_bytes() for file in place.glob("*.*") if file.suffix != ".lock"}
    assert content(place) == before
    after = {file.name: file.read_bytes() for file in place.glob("*.*") if file.suffix != ".lock"}
    assert {name: after[name] for name in files if "-shm" not in name} == {
        name: data for name, data in files.items() if "-shm" not in name
    }


def test_rows_that_only_the_older_journal_has_are_kept(place: Path) -> None:
    before = content(place)
    make_older(place)
    with closing(sqlite3.connect(place / "index.sqlite")) as index:
        index.execute("DELETE FROM answers")
        index.commit()
    assert content(place, create=True) == before


def test_an_older_index_in_use_is_not_rewritten(place: Path) -> None:
    make_older(place)
    before = (place / "index.sqlite").read_bytes()
    with StoreLock(place), pytest.raises(StoreError, match=r"another askew command.* is using"):
        Store(place, timeout=0.1)
    assert (place / "index.sqlite").read_bytes() == before


def test_an_interrupted_rewriting_is_repeated(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends before the new index gets the name of the old one."""
    before = content(place)
    make_older(place)
    replace = Path.replace

    def killed(file: Path, target: Path) -> Path:
        if target.name == "index.sqlite":
            raise KeyboardInterrupt
        return replace(file, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            Store(place)
    assert content(place, create=True) == before
    assert os.listdir(place / "incoming") == []


def test_bytes_per_image(place: Path, tmp_path: Path) -> None:
    """Ten answers about an image take less than 1,500 bytes in index and journal."""
    ids = [f"{number:064x}" for number in range(1000)]
    questions = [Question(f"Which color is part {k}?", ("red", "blue"), f"{k}") for k in range(10)]
    with Store(tmp_path / "many") as store:
        store.put_answers("vqa@" + "1" * 60, ids, questions, [["red"] * 10 for _ in ids])
    names = ("index.sqlite", "journal.jsonl")
    sizes = [(tmp_path / "many" / name).stat().st_size for name in names]
    assert sum(sizes) / len(ids) < 1500
