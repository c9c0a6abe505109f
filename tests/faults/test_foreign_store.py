"""A store or a run from another person changes and reads no file outside, and starts no process."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.cli import run
from askew.errors import StoreError
from askew.store.completions import Completions
from askew.store.entries import JOURNAL_MAGIC
from askew.store.imagefile import opened
from askew.store.journal import Journal
from askew.store.rows import checksum
from askew.store.store import ABANDONED, Store

COMMAND = (
    "audit,a photo of a nurse,--model,studio/planted,--images,2,--axes,gender,"
    "--bootstrap-samples,100,--run"
).split(",")
SECRET = b"the only copy of a thesis"
MOST_SECONDS = 10.0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run and its store."""
    folder = tmp_path_factory.mktemp("finished")
    assert run([*COMMAND, str(folder / "run")]) == 0
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder, into which an attacker may write."""
    shutil.copytree(finished, tmp_path / "received")
    return tmp_path / "received"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return a folder of the user, which no command may change."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").write_bytes(SECRET)
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "private.png")
    old = time.time() - 2 * ABANDONED
    for file in folder.iterdir():
        os.utime(file, (old, old))
    before = contents(folder)
    yield folder
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*")}


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def sql(place: Path, *statements: str) -> None:
    with sqlite3.connect(place / ".askew" / "index.sqlite") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def point_to(place: Path, name: str, suffix: str) -> None:
    """Let all image rows of the index name a file, with the right checksums."""
    with sqlite3.connect(place / ".askew" / "index.sqlite") as connection:
        for row in connection.execute("SELECT * FROM pictures").fetchall():
            changed = (row[0], name, suffix, *row[3:-1])
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT OR REPLACE INTO pictures VALUES ({marks})",
                (*changed, checksum("pictures", changed)),
            )
    connection.close()


def journal_of_the_user(place: Path, home: Path) -> None:
    """Let the journal, which replaces a lost index, name a file of the user as an image."""
    (place / ".askew" / "index.sqlite").unlink()
    journal = Journal(place / ".askew" / "journal.jsonl")
    name = f"../../../../{home.name}/thesis"
    journal.append("pictures", [["k", name, ".tex", None, "", "a nurse", 1, "m", None]])
    journal.append("planned", [["r", "s", "k"]])


def hot_journal(place: Path, home: Path) -> None:
    """Let SQLite find an interrupted transaction of several files, one of which it would delete."""
    name = os.fsencode(home / "thesis.tex")
    total = sum(name) & 0xFFFFFFFF
    tail = b"".join(number.to_bytes(4, "big") for number in (len(name), total))
    header = JOURNAL_MAGIC + bytes(504)
    lock_page = (0x40000000 // 4096 + 1).to_bytes(4, "big")
    (place / ".askew" / "index.sqlite-journal").write_bytes(
        header + lock_page + name + tail + JOURNAL_MAGIC
    )


def endless_view(place: Path, home: Path) -> None:
    sql(
        place,
        "ALTER TABLE planned RENAME TO other",
        "CREATE VIEW planned AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        "SELECT n AS run, n AS slot, n AS key, n AS sum FROM c",
    )


def link_of(name: str) -> Callable[[Path, Path], None]:
    return lambda place, home: replace_by_link(place / ".askew" / name, home)


def file_link_of(name: str) -> Callable[[Path, Path], None]:
    return lambda place, home: replace_by_link(place / name, home / "thesis.tex")


def pipe_of(name: str) -> Callable[[Path, Path], None]:
    def make(place: Path, home: Path) -> None:
        (place / name).unlink(missing_ok=True)
        os.mkfifo(place / name)

    return make


def link_an_image(place: Path, home: Path) -> None:
    image = next((place / ".askew" / "pictures").glob("*/*"))
    replace_by_link(image, home / "private.png")


def link_a_subfolder(place: Path, home: Path) -> None:
    replace_by_link(next((place / ".askew" / "pictures").glob("*")), home)


ATTACKS: dict[str, Callable[[Path, Path], object]] = {
    **{f"a link {n}": link_of(n) for n in ("incoming", "quarantine", "pictures", "completions")},
    **{
        f"a link {name}": file_link_of(name)
        for name in (
            ".askew/index.sqlite",
            ".askew/index.sqlite-wal",
            ".askew/journal.jsonl",
            ".askew/turns.lock",
            ".askew/users.lock",
            "run/results.json",
            "run/report.html",
            "run/SHA256SUMS",
            "run/plan.hash",
            "run/opened.json",
        )
    },
    **{
        f"a pipe {name}": pipe_of(name)
        for name in (
            ".askew/index.sqlite",
            ".askew/journal.jsonl",
            ".askew/users.lock",
            ".askew/incoming/.0000000000000000.part",
            ".askew/quarantine/pipe",
            "run/results.json",
            "run/SHA256SUMS",
            "run/plan.hash",
            "run/plan.toml",
            "run/opened.json",
        )
    },
    "a link in place of an image": link_an_image,
    "a link in place of a folder of images": link_a_subfolder,
    "an index that names a file of the user": lambda place, home: point_to(
        place, f"../../../../{home.name}/private", ".png"
    ),
    "a journal that names a file of the user": journal_of_the_user,
    "an interrupted transaction": hot_journal,
    "an endless view": endless_view,
    "a trigger": lambda place, home: sql(
        place, "CREATE TRIGGER t AFTER INSERT ON planned BEGIN DELETE FROM planned; END"
    ),
}


FAST = {
    "a link incoming",
    "a link run/results.json",
    "a pipe run/plan.toml",
    "a journal that names a file of the user",
    "an interrupted transaction",
    "an endless view",
}
CASES = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow, id=name) for name in ATTACKS
]


@pytest.mark.parametrize("attack", CASES)
def test_a_foreign_store_changes_and_shows_no_file_of_the_user(
    attack: str, place: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ATTACKS[attack](place, home)
    store = str(place / ".askew")
    commands = [
        ["check", str(place / "run")],
        ["check", store],
        ["report", str(place / "run")],
        ["runs", str(place)],
        ["store", "gc", store, "--yes"],
        [*COMMAND, str(place / "run")],
        ["check", store, "--rebuild"],
        ["store", "gc", store, "--yes"],
        ["runs", "rm", str(place / "run"), "--yes"],
    ]
    for command in commands:
        begun = time.monotonic()
        code = run(command)
        assert time.monotonic() - begun < MOST_SECONDS
        output = "".join(capsys.readouterr())
        assert code in (0, 1, 2)
        assert "Traceback" not in output
        assert "thesis of" not in output
        assert (home / "thesis.tex").read_bytes() == SECRET
    report = place / "run" / "report.html"
    assert not report.exists() or SECRET not in report.read_bytes()


def test_a_link_in_a_store_is_refused_by_name(place: Path, home: Path) -> None:
    replace_by_link(place / ".askew" / "completions" / "ab", home)
    with pytest.raises(StoreError, match="completions/ab must be a folder, not a link"):
        Store(place / ".askew")
    with pytest.raises(StoreError, match="completions/ab must be a folder, not a link"):
        Completions(place / ".askew")


def test_only_incomplete_files_of_askew_are_removed(place: Path) -> None:
    incoming = place / ".askew" / "incoming"
    names = [".0123456789abcdef.part", "notes.txt", "thesis.tex"]
    for name in names:
        (incoming / name).write_bytes(b"x")
        os.utime(incoming / name, (0, 0))
    Store(place / ".askew").close()
    assert sorted(file.name for file in incoming.iterdir()) == names[1:]


def test_an_image_of_another_format_is_not_opened(tmp_path: Path) -> None:
    """PostScript would start Ghostscript."""
    file = tmp_path / "a.png"
    file.write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    with pytest.raises(OSError, match="cannot identify"):
        opened(file)


def test_an_image_of_too_many_pixels_is_not_opened(tmp_path: Path) -> None:
    Image.new("1", (9000, 9000)).save(tmp_path / "a.png")
    begun = time.monotonic()
    with pytest.raises(OSError, match="more than the limit"):
        opened(tmp_path / "a.png")
    assert time.monotonic() - begun < 1


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(OSError, match="not a regular file"):
        opened(tmp_path / "a.png")


def test_a_manifest_that_is_a_pipe_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "manifest.csv")
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    arguments = ["audit", "--model", f"folder/{tmp_path}", "--run", str(tmp_path / "run")]
    assert run(arguments) == 2
    assert "not a regular file" in capsys.readouterr().err
