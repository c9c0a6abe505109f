"""Index and journal complete each other after power failures, and housekeeping keeps both alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from askew.cli import run
from askew.errors import StoreError
from askew.models.base import Request
from askew.store.imagefile import EncodedPicture, encode
from askew.store.journal import Journal
from askew.store.locks import StoreLock
from askew.store.requests import PictureRequest
from askew.store.store import Store, opened_alone
from faults.doubles import PatternModel

COUNT = 12


def requests(first: int = 0, count: int = COUNT) -> list[PictureRequest]:
    numbers = range(first, first + count)
    return [PictureRequest(f"key{k}", "a nurse", k, "test/pattern") for k in numbers]


def images(wanted: list[PictureRequest]) -> list[EncodedPicture]:
    drawn = PatternModel().generate([Request(w.prompt, w.seed or 0) for w in wanted])
    encoded = [encode(image) for image in drawn]  # type: ignore[arg-type]
    return [image for image in encoded if isinstance(image, EncodedPicture)]


def fill(store: Store, wanted: list[PictureRequest], run_name: str = "run") -> None:
    store.plan_pictures(run_name, wanted)
    store.put_pictures(wanted, images(wanted), {})


def ids(store: Store, run_name: str = "run") -> list[str | None]:
    return [picture.id for picture in store.planned(run_name)]


@pytest.fixture
def after_power_cut(tmp_path: Path) -> Path:
    """Return a store whose index lost the last transactions, while files and journal are complete."""
    place = tmp_path / "store"
    with Store(place) as store:
        fill(store, requests(0))
    shutil.copytree(place, tmp_path / "before")
    with Store(place) as store:
        fill(store, requests(COUNT))
    for suffix in ("", "-wal", "-shm"):
        (place / f"index.sqlite{suffix}").unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "before" / "index.sqlite", place / "index.sqlite")
    return place


@pytest.mark.parametrize("create", [False, True])
def test_what_the_index_forgot_is_read_from_the_journal(
    after_power_cut: Path, create: bool
) -> None:
    with Store(after_power_cut, create=create) as store:
        assert len(ids(store)) == 2 * COUNT
        assert None not in ids(store)
        assert not store.faults()


def test_gc_keeps_what_the_index_forgot(after_power_cut: Path) -> None:
    before = len(list(after_power_cut.glob("pictures/*/*")))
    assert run(["store", "gc", str(after_power_cut), "--yes"]) == 0
    assert len(list(after_power_cut.glob("pictures/*/*"))) == before == 2 * COUNT


@pytest.mark.parametrize("ending", [b'\n0123456789abcdef ["pictures", [["k', b"\0" * 100])
def test_a_torn_line_is_cut_by_the_next_writer(after_power_cut: Path, ending: bytes) -> None:
    with (after_power_cut / "journal.jsonl").open("ab") as file:
        file.write(ending)
    with Store(after_power_cut) as store:
        fill(store, requests(2 * COUNT, 1))
        assert not store.faults()
    (after_power_cut / "index.sqlite").unlink()
    with Store(after_power_cut) as store:
        assert len(ids(store)) == 2 * COUNT + 1


def test_an_index_of_an_earlier_version_takes_what_the_journal_has(after_power_cut: Path) -> None:
    with Store(after_power_cut) as store:
        store.index._connection.execute("DELETE FROM meta WHERE name = 'journal'")
        store.index._connection.execute("DELETE FROM planned WHERE key = 'key3'")
    with Store(after_power_cut) as store:
        assert len(ids(store)) == 2 * COUNT
        assert not store.faults()


@pytest.mark.parametrize("left", [0, 1000])
def test_a_journal_that_lost_lines_is_completed_from_the_index(
    after_power_cut: Path, left: int
) -> None:
    with Store(after_power_cut) as store:
        journal = store.journal.path
    content = journal.read_bytes()
    journal.write_bytes(content[:left])
    with Store(after_power_cut, create=False) as store:
        assert "are missing from" in "".join(store.faults())
    with Store(after_power_cut) as store:
        assert not store.faults()
    (after_power_cut / "index.sqlite").unlink()
    with Store(after_power_cut) as store:
        assert len(ids(store)) == 2 * COUNT


def test_removals_are_in_the_journal_and_gc_shortens_it(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with Store(place) as store:
        fill(store, requests(0), "a")
        fill(store, requests(COUNT), "b")
        size = store.journal.size()
    with opened_alone(place) as store:
        store.forget("a")
    (place / "index.sqlite").rename(tmp_path / "lost.sqlite")
    with Store(place) as store:
        assert not ids(store, "a")
    assert run(["store", "gc", str(place), "--yes"]) == 0
    journal = Journal(place / "journal.jsonl")
    assert journal.size() < 0.6 * size
    (place / "index.sqlite").unlink()
    with Store(place) as store:
        assert len(ids(store, "b")) == COUNT
        assert not store.faults()
    assert run(["check", str(place), "--rebuild"]) == 0
    assert run(["check", str(place)]) == 0


def test_rebuild_forgets_images_that_are_gone(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with Store(place) as store:
        fill(store, requests(0))
    next(place.glob("pictures/*/*")).unlink()
    assert run(["check", str(place)]) == 1
    assert run(["check", str(place), "--rebuild"]) == 0
    assert run(["check", str(place)]) == 0
    with Store(place) as store:
        assert ids(store).count(None) == 1
        fill(store, requests(0))
        assert None not in ids(store)


@pytest.mark.parametrize("command", ["gc", "rm", "rebuild"])
def test_housekeeping_beside_a_run_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / ".askew"
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "plan.hash").write_text("run\n")
    arguments = {
        "gc": ["store", "gc", str(place), "--yes"],
        "rm": ["runs", "rm", str(folder), "--yes"],
        "rebuild": ["check", str(place), "--rebuild"],
    }
    with Store(place) as store:
        wanted = requests(0)
        store.put_pictures(wanted, images(wanted), {})
        assert run(arguments[command]) == 1
        assert "another askew command is using the store" in capsys.readouterr().err
        assert len(list(place.glob("pictures/*/*"))) == COUNT
        assert folder.is_dir()
    assert run(arguments[command]) == 0


def test_a_run_beside_housekeeping_waits_and_says_why(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with StoreLock(tmp_path, exclusive=True), pytest.raises(StoreError, match="command ends, then"):
        Store(tmp_path, timeout=0.1)
