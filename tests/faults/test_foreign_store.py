"""A store or a run from another person changes and reads no file outside, and starts no process."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.cli import run
from askew.errors import AskewError, StoreError
from askew.plan import read_plan
from askew.store.cells import Cells
from askew.store.completions import Completions
from askew.store.entries import JOURNAL_MAGIC
from askew.store.files import listed_files, sha256, write_sums
from askew.store.imagefile import damage, opened
from askew.store.journal import Journal
from askew.store.rows import checksum
from askew.store.store import ABANDONED, Store
from faults.test_hostile import header_of, pixel_bomb, text_bomb
from faults.watch import Watch

COMMAND = (
    "audit,a photo of a nurse,--model,studio/planted,--images,2,--axes,gender,"
    "--bootstrap-samples,100,--run"
).split(",")
SECRET = b"the only copy of a thesis"
MOST_SECONDS = 10.0
"""CPU time of a command."""

HANGING = 120
"""Seconds after which a command counts as hanging, also on a busy machine."""

HUGE = 40 * 2**30
"""Size of a file without content."""

RUNS = ("run", "run2")
FOREIGN_MODEL = "a model in the folder of the user"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two finished runs and their store."""
    folder = tmp_path_factory.mktemp("finished")
    assert run([*COMMAND, str(folder / "run")]) == 0
    shutil.copytree(folder / "run", folder / "run2")
    return folder


@pytest.fixture(scope="module")
def watch() -> Watch:
    """Return a watch, after what Python itself starts only once."""
    platform.processor()
    return Watch()


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
        cells = Cells(connection)
        for stored in connection.execute("SELECT * FROM pictures").fetchall():
            row = cells.read("pictures", stored)
            changed = (row[0], name, suffix, *row[3:-1])
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT OR REPLACE INTO pictures VALUES ({marks})",
                (*cells.stored("pictures", [changed])[0], checksum("pictures", changed)),
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


def an_image(place: Path) -> Path:
    return next((place / ".askew" / "pictures").glob("*/*"))


def link_an_image(place: Path, home: Path) -> None:
    replace_by_link(an_image(place), home / "private.png")


def replaced_file(place: Path, name: str) -> Path:
    """Return the path of a file, or of an image for an empty name, after the file is removed."""
    path = place / name if name else an_image(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def device_of(name: str) -> Callable[[Path, Path], None]:
    """Put an endless device in place of a file."""

    def make(place: Path, home: Path) -> None:
        path = replaced_file(place, name)
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.stat("/dev/zero").st_rdev)
        except OSError:
            pytest.skip("only the administrator makes devices")

    return make


def endless_link_of(name: str) -> Callable[[Path, Path], None]:
    return lambda place, home: replaced_file(place, name).symlink_to("/dev/zero")


def image_pipe(place: Path, home: Path) -> None:
    os.mkfifo(replaced_file(place, ""))


def huge_file_of(name: str) -> Callable[[Path, Path], None]:
    """Let a file state a size that no memory can hold."""

    def make(place: Path, home: Path) -> None:
        path = place / name if name else an_image(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.truncate(HUGE)

    return make


def list_again(place: Path) -> None:
    """Let the checksums of the runs fit."""
    for name in RUNS:
        write_sums(place / name, listed_files(place / name))


def image_of(write: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    """Let a file with a correct SHA-256 stand for all images of the store and the runs."""

    def make(place: Path, home: Path) -> None:
        file = place / "image.png"
        write(file)
        name = sha256(file.read_bytes())
        names = [image.stem for image in (place / ".askew" / "pictures").glob("*/*")]
        point_to(place, name, ".png")
        path = place / ".askew" / "pictures" / name[:2] / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        file.rename(path)
        for folder in RUNS:
            results = place / folder / "results.json"
            text = results.read_text()
            for known in names:
                text = text.replace(known, name)
            results.write_text(text)
        list_again(place)

    return make


def postscript(path: Path) -> None:
    path.write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n"
        "(thesis.tex) (w) file closefile\n%%EOF\n"
    )


def model_named(name: Callable[[Path], str]) -> Callable[[Path, Path], None]:
    """Let the plans and the results of the runs name another model."""

    def make(place: Path, home: Path) -> None:
        for folder in RUNS:
            plan = place / folder / "plan.toml"
            results = place / folder / "results.json"
            model = json.dumps(name(home))
            plan.write_text(plan.read_text().replace('"studio/planted"', model))
            results.write_text(results.read_text().replace('"studio/planted"', model))
            with suppress(AskewError):
                (place / folder / "plan.hash").write_text(f"{read_plan(plan).hash}\n")
        list_again(place)

    return make


def link_a_subfolder(place: Path, home: Path) -> None:
    replace_by_link(next((place / ".askew" / "pictures").glob("*")), home)


ATTACKS: dict[str, Callable[[Path, Path], object]] = {
    **{f"a link {n}": link_of(n) for n in ("incoming", "quarantine", "pictures", "completions")},
    **{
        f"a link {name}": file_link_of(name)
        for name in (
            ".askew/index.sqlite",
            ".askew/index.sqlite-wal",
            ".askew/vectors.sqlite",
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
    **{
        f"{kind} {name}": attack(name)
        for name in (
            "",
            ".askew/index.sqlite",
            ".askew/journal.jsonl",
            ".askew/turns.lock",
            f".askew/completions/ab/{'ab' * 32}.json",
            f".askew/iti-gen/{'ab' * 32}",
            ".askew/quarantine/image.png",
            "run/results.json",
            "run/plan.toml",
            "run/plan.hash",
            "run/SHA256SUMS",
            "run/opened.json",
            "run/report.html",
        )
        for kind, attack in (
            ("a device", device_of),
            ("a link to a device", endless_link_of),
            ("a huge file", huge_file_of),
        )
    },
    "a pipe in place of an image": image_pipe,
    "PostScript": image_of(postscript),
    "a bomb of pixels": image_of(pixel_bomb),
    "a bomb of texts": image_of(text_bomb),
    "a bomb of a header": image_of(lambda path: header_of(30_000, path)),
    FOREIGN_MODEL: model_named(lambda home: f"folder/{home}"),
    "markup": model_named(lambda home: "studio/[/x][link=file:///etc/passwd]\x1b[2J:x:"),
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
    "a journal that names a file of the user",
    "an endless view",
    "PostScript",
}
QUICK = {"a link run/results.json", "a journal that names a file of the user"}
CASES = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow, id=name) for name in ATTACKS
]


def commands(place: Path) -> Iterator[list[str]]:
    """Yield commands that read or change a store or its runs."""
    store = str(place / ".askew")
    first = str(place / "run")
    yield ["check", first]
    yield ["check", store]
    yield ["report", first]
    for form in ("csv", "json", "markdown", "png"):
        yield ["export", first, "--format", form, "--output", str(place / f"export.{form}")]
    yield ["runs", str(place)]
    yield ["compare", first, str(place / "run2"), "--output", str(place / "comparison")]
    yield ["sensitivity", first, "--repeats", "1"]
    yield ["store", "gc", store]
    yield ["store", "gc", store, "--yes"]
    yield [*COMMAND, first]
    yield ["check", first, "--repair"]
    yield ["check", store, "--rebuild"]
    yield ["store", "gc", store, "--yes"]
    yield ["runs", "rm", first, "--yes"]


@contextmanager
def end_in_time() -> Iterator[None]:
    """Assert that a command ends soon, and interrupt a command that hangs."""

    def give_up(*_: object) -> None:
        raise AssertionError("the command hangs")

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANGING)
    begun = time.process_time()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert time.process_time() - begun < MOST_SECONDS


@pytest.mark.parametrize("attack", CASES)
def test_a_foreign_store_reads_changes_and_shows_no_file_of_the_user(
    attack: str, place: Path, home: Path, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    ATTACKS[attack](place, home)
    allowed = [place]
    if attack not in FAST:
        import matplotlib
        from matplotlib import font_manager  # noqa: F401

        allowed += [Path(matplotlib.get_cachedir()), Path(matplotlib.get_configdir())]
    for command in commands(place):
        if attack in FAST and "png" in command:
            continue
        if attack == FOREIGN_MODEL and "sensitivity" in command:
            continue  # it opens the model of the plan, as a new run would
        with watch.within(allowed), end_in_time():
            code = run(command)
        assert watch.faults == [], command
        output = "".join(capsys.readouterr())
        assert code in (0, 1, 2), command
        assert "Traceback" not in output
        assert "thesis of" not in output
        assert "\x1b[2J" not in output
        assert (home / "thesis.tex").read_bytes() == SECRET
    for file in (*place.glob("*.*"), *place.glob("*/*.html")):
        if stat.S_ISREG(file.lstat().st_mode) and file.stat().st_size < HUGE:
            assert SECRET not in file.read_bytes()


def test_the_watch_sees_files_and_processes(watch: Watch, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    inside.mkdir()
    outside.write_text("x")
    (inside / "link").symlink_to(outside)
    with watch.within([inside]):
        (inside / "file").write_text("x")
        assert watch.faults == []
        (inside / "link").read_text()
        outside.unlink()
        os.system("true")
    assert [fault.split()[0] for fault in watch.faults] == ["open", "os.remove", "os.system"]


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
    with pytest.raises(OSError, match="exceed the limit"):
        opened(tmp_path / "a.png")
    assert time.monotonic() - begun < 1


def test_the_damage_of_a_link_is_named_and_its_target_is_not_opened(
    watch: Watch, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    Image.new("1", (8, 8)).save(tmp_path / "private.png")
    (inside / "a.png").symlink_to(tmp_path / "private.png")
    with watch.within([inside]):
        assert damage(inside / "a.png").endswith("a.png is a link")
        with pytest.raises(OSError, match="it is a link"):
            opened(inside / "a.png")
    assert watch.faults == []


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
