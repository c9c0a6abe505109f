"""Damage to a store or a run never changes results: it is named, repaired, and redone."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from askew.cli import run
from askew.errors import RunError
from askew.methods.audit import METHOD as AUDIT
from askew.methods.audit.gather import AuditGathered
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import survey_plan
from askew.run.base import Run
from askew.store.index import TABLES
from askew.store.store import Store
from slow_cases import quick_only

COMMAND = (
    "audit,a photo of a nurse,--model,studio/planted,--images,4,--axes,gender,"
    "--bootstrap-samples,100,--run"
).split(",")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run and its store."""
    folder = tmp_path_factory.mktemp("finished")
    assert run([*COMMAND, str(folder / "run")]) == 0
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder for a test to damage."""
    shutil.copytree(finished, tmp_path / "copy")
    return tmp_path / "copy"


DAMAGED_IMAGES = {"cut": b"\x89PNG\r\n\x1a\n\0", "empty": b"", "a text": b"no image"}


@pytest.mark.parametrize("damage", DAMAGED_IMAGES)
def test_a_damaged_image_is_an_empty_cell_and_a_warning(
    place: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "run"
    image = next((place / ".askew" / "pictures").rglob("*.png"))
    image.write_bytes(DAMAGED_IMAGES[damage])
    cells = (folder / "report.html").read_text().count("<img")
    capsys.readouterr()
    assert run(["report", str(folder)]) == 0
    error = capsys.readouterr().err
    assert "warning: the page does not show 1 damaged image" in error
    assert str(image) in error
    assert f"askew check {folder} --repair" in error
    page = (folder / "report.html").read_text()
    assert page.count("<img") < cells
    assert "is missing" in page
    assert run(["export", str(folder), "--format", "markdown"]) == 0


def numbers(folder: Path) -> str:
    """Return results.json without the place and time of the run."""
    document = json.loads((folder / "run" / "results.json").read_text())
    del document["environment"]
    return json.dumps(document)


def edit(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))


def sql(place: Path, statement: str, file: str = "index.sqlite") -> None:
    with sqlite3.connect(place / ".askew" / file) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


def fourth_image(place: Path) -> Path:
    return sorted((place / ".askew" / "pictures").glob("*/*"))[3]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a picture flipped": lambda p: fourth_image(p).write_bytes(
        fourth_image(p).read_bytes()[:-9] + b"x" * 9
    ),
    "a picture cut": lambda p: fourth_image(p).write_bytes(fourth_image(p).read_bytes()[:99]),
    "a picture gone": lambda p: fourth_image(p).unlink(),
    "all answers female": lambda p: sql(
        p, "UPDATE answers SET answer = 'female' WHERE answer = 'male'"
    ),
    "an answer that is no option": lambda p: sql(
        p, "UPDATE answers SET answer = 'bemale' WHERE answer = 'female'"
    ),
    "all pictures one": lambda p: sql(p, "UPDATE pictures SET id = (SELECT max(id) FROM pictures)"),
    "a planned row gone": lambda p: sql(
        p,
        "DELETE FROM planned WHERE key IN (SELECT key FROM pictures WHERE id = (SELECT max(id) FROM pictures))",
    ),
    "a vector cut": lambda p: sql(
        p, "UPDATE vectors SET vector = substr(vector, 1, 99)", "vectors.sqlite"
    ),
    "a name changed": lambda p: sql(p, "UPDATE names SET name = name || '!'"),
    "results gone": lambda p: (p / "run" / "results.json").unlink(),
    "results empty": lambda p: (p / "run" / "results.json").write_text("{}"),
    "a number edited": lambda p: edit(
        p / "run" / "results.json",
        lambda t: t.replace('"value":0.', '"value":0.1', 1).replace(
            '"value": 0.', '"value": 0.1', 1
        ),
    ),
    "a later version": lambda p: edit(
        p / "run" / "results.json",
        lambda t: t.replace('"askew": "0', '"askew": "99', 1).replace(
            '"askew":"0', '"askew":"99', 1
        ),
    ),
    "the plan edited": lambda p: edit(
        p / "run" / "plan.toml", lambda t: t.replace("images = 4", "images = 5")
    ),
    "the plan no TOML": lambda p: (p / "run" / "plan.toml").write_text("images = ["),
}
QUICK = (
    "a picture flipped",
    "all answers female",
    "a planned row gone",
    "a vector cut",
    "a number edited",
    "the plan edited",
)
"""Damage of each kind of file and table."""


@pytest.mark.parametrize("damage", quick_only(QUICK, DAMAGE))
def test_damage_is_named_and_repaired_and_only_that_is_redone(
    damage: str, finished: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(place / "run")]) == 0
    DAMAGE[damage](place)
    assert run(["check", str(place / "run")]) == 1
    err = capsys.readouterr().err
    assert "is incomplete or damaged" in err
    assert len(err.splitlines()) > 2
    assert run(["check", str(place / "run"), "--repair"]) == 0
    assert run([*COMMAND, str(place / "run")]) == 0
    assert numbers(place) == numbers(finished)
    assert run(["check", str(place / "run")]) == 0


def test_a_damaged_row_is_never_a_result(finished: Path, place: Path) -> None:
    """Without a repair, the same command ends with the same numbers."""
    DAMAGE["all answers female"](place)
    DAMAGE["a vector cut"](place)
    (place / "run" / "results.json").unlink()
    assert run([*COMMAND, str(place / "run")]) == 0
    assert numbers(place) == numbers(finished)


def test_an_edited_number_is_not_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGE["a number edited"](place)
    assert run(["report", str(place / "run")]) == 2
    assert "has changed: its SHA-256 differs" in capsys.readouterr().err


@pytest.mark.parametrize("state", quick_only(["overwritten"], ["gone", "empty", "overwritten"]))
def test_answers_survive_the_loss_of_the_index(
    state: str, finished: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the index, no image is generated and no question asked twice; only vectors are
    redone.
    """
    store = place / ".askew"
    for file in store.glob("index.sqlite*"):
        file.write_bytes(b"no database" * 500) if state == "overwritten" else file.write_bytes(b"")
        if state == "gone":
            file.unlink()
    (place / "run" / "results.json").unlink()
    if state == "overwritten":
        assert run([*COMMAND, str(place / "run")]) == 1
        assert "askew check" in capsys.readouterr().err
        assert run(["check", str(store), "--rebuild"]) == 0
    assert run([*COMMAND, str(place / "run"), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"images +(\d+) \(\1 stored, 0 left\)", out), out
    assert re.search(r"questions +\d+ \(0 left\)", out), out
    assert run([*COMMAND, str(place / "run")]) == 0
    assert numbers(place) == numbers(finished)


def test_the_record_of_an_image_is_read_without_the_index(place: Path) -> None:
    result = {}
    for line in (place / ".askew" / "journal.jsonl").read_text().split("\n"):
        table, rows, texts, about = json.loads(line.partition(" ")[2] or "[0,0,0,0]")
        if table == "pictures":
            bias = about["made_by"]["bias"]
            result |= {row[1]: (texts[row[5]], row[6], texts[row[7]], bias) for row in rows}
    assert result.keys() == {path.stem for path in (place / ".askew" / "pictures").glob("*/*")}
    assert {row[2:] for row in result.values()} == {("studio/planted", 1.0)}


@pytest.mark.parametrize("seed", quick_only(range(4), range(60)))
def test_a_flipped_bit_changes_no_result(seed: int, finished: Path, place: Path) -> None:
    """For any bit of the index, the same command gives the same numbers, if need be after
    --rebuild.
    """
    index = place / ".askew" / "index.sqlite"
    data = bytearray(index.read_bytes())
    rng = random.Random(seed)
    used = [k for k, byte in enumerate(data) if byte]
    data[rng.choice(used)] ^= 1 << rng.randrange(8)
    index.write_bytes(data)
    (place / "run" / "results.json").unlink()
    if run([*COMMAND, str(place / "run")]):
        assert run(["check", str(place / ".askew"), "--rebuild"]) == 0
        assert run([*COMMAND, str(place / "run")]) == 0
    assert numbers(place) == numbers(finished)


def test_damage_that_sqlite_cannot_quote_is_reported_in_one_sentence(
    finished: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = place / ".askew" / "index.sqlite"
    index.write_bytes(index.read_bytes().replace(b"CREATE TABLE meta", b"CR\xefATE TABLE meta"))
    (place / "run" / "results.json").unlink()
    assert run([*COMMAND, str(place / "run")]) == 1
    assert "has a damaged index" in capsys.readouterr().err
    assert run(["check", str(place / ".askew")]) == 1
    assert run(["check", str(place / ".askew"), "--rebuild"]) == 0
    assert run([*COMMAND, str(place / "run")]) == 0
    assert numbers(place) == numbers(finished)


def test_a_torn_line_of_the_journal_costs_nothing(place: Path) -> None:
    journal = place / ".askew" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert run(["check", str(place / ".askew")]) == 1
    assert run(["check", str(place / ".askew"), "--rebuild"]) == 0
    assert run(["check", str(place / ".askew")]) == 0
    (place / ".askew" / "index.sqlite").unlink()
    with Store(place / ".askew") as store:
        counts = {table: len(list(store.index_of(table).all_rows(table))) for table in TABLES}
    assert all(counts[table] for table in ("pictures", "planned", "answers")), counts


def test_a_run_ends_only_if_every_planned_image_is_stored_or_missing(tmp_path: Path) -> None:
    def gather(plan: AuditPlan, live: Run) -> AuditGathered:
        gathered = AUDIT.gather(plan, live)
        sql(tmp_path, "DELETE FROM pictures WHERE key = (SELECT min(key) FROM pictures)")
        return gathered

    plan = survey_plan(
        AuditPlan,
        ["a photo of a nurse"],
        axes=["gender"],
        images=4,
        model="studio/planted",
        bootstrap_samples=100,
    )
    with pytest.raises(
        RunError, match="1 of 12 planned images are neither stored nor recorded as missing"
    ):
        replace(AUDIT, gather=gather).run(plan, run=tmp_path / "run")
    assert not (tmp_path / "run" / "results.json").exists()
    assert run([*COMMAND, str(tmp_path / "run")]) == 0
