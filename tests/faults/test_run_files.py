"""Every file of a run has a checksum, and only files of a run are removed with it."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from askew.cli import run
from askew.errors import UsageError
from askew.method import load
from askew.mitigations.base import load_mitigation
from slow_cases import quick_only

AUDIT = (
    "audit,a nurse,--model,studio/planted,--images,2,--axes,gender,--bootstrap-samples,100,--run"
).split(",")
MITIGATE = (
    "mitigate,a photo of a nurse,--model,studio/planted,--axes,gender,--monitor,gender,"
    "--technique,prompts,--images,4,--eval-images,4,--bootstrap-samples,100,--run"
).split(",")
SUMS = "SHA256SUMS"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an audit, a mitigation and their store."""
    folder = tmp_path_factory.mktemp("runs")
    assert run([*AUDIT, str(folder / "audit")]) == 0
    assert run([*MITIGATE, str(folder / "mitigate")]) == 0
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def check_fails(folder: Path, capsys: pytest.CaptureFixture[str], sentence: str) -> None:
    capsys.readouterr()
    assert run(["check", str(folder)]) == 1
    assert sentence in capsys.readouterr().err


def command_of(folder: Path) -> list[str]:
    return [*(AUDIT if folder.name == "audit" else MITIGATE), str(folder)]


@pytest.mark.parametrize("name", ["audit", "mitigate"])
def test_every_file_of_a_run_is_listed(place: Path, name: str) -> None:
    lines = (place / name / SUMS).read_text().splitlines()
    assert sorted(line.split("  ")[1] for line in lines) == sorted(
        contents(place / name).keys() - {SUMS}
    )


@pytest.mark.parametrize("name", ["audit", "mitigate"])
def test_a_flipped_bit_in_any_file_of_a_run_is_named_and_mended(
    place: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / name
    whole = contents(folder)
    rng = random.Random(0)
    for file, data in whole.items():
        if file == SUMS:
            continue
        bit = rng.randrange(8 * len(data))
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        (folder / file).write_bytes(flipped)
        check_fails(folder, capsys, str(folder / file))
        (folder / file).write_bytes(data)
    for file in ("report.html", *(file for file in whole if file.startswith("mitigation-"))):
        (folder / file).write_bytes(b"")
        check_fails(folder, capsys, f"{folder / file} has changed")
        assert run(command_of(folder)) == 0
        assert contents(folder).keys() == whole.keys()
        assert (folder / "results.json").read_bytes() == whole["results.json"]
        assert (folder / file).stat().st_size > 0.9 * len(whole[file])
        assert run(["check", str(folder)]) == 0


@pytest.mark.parametrize(
    "lines", quick_only([None, "results.json"], [None, "", "plan.toml", "results.json"])
)
def test_absent_sums_and_absent_lines_are_faults(
    place: Path, lines: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lines` are the name of the file whose line is removed; all lines for an empty text."""
    folder = place / "audit"
    sums = folder / SUMS
    if lines is None:
        sums.unlink()
    else:
        left_lines = [line for line in sums.read_text().splitlines() if lines not in line]
        sums.write_text("".join(f"{line}\n" for line in left_lines))
    sentence = f"{SUMS} is gone" if lines is None else f"is not listed in {SUMS}"
    check_fails(folder, capsys, sentence)
    with pytest.raises(UsageError, match=sentence):
        load(folder)
    assert run(["runs", str(place)]) == 0
    assert "damaged" in capsys.readouterr().out
    assert run([*AUDIT, str(folder)]) == 0
    assert run(["check", str(folder)]) == 0


def test_a_damaged_report_is_written_by_report_and_its_checksum_too(place: Path) -> None:
    folder = place / "audit"
    (folder / "report.html").write_text("")
    assert run(["report", str(folder)]) == 0
    assert (folder / "report.html").stat().st_size > 1000
    assert run(["check", str(folder)]) == 0


def test_a_mitigation_contains_its_digest(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = place / "mitigate" / "mitigation-prompts.toml"
    intact = load_mitigation(source)
    data = source.read_bytes()
    copy = tmp_path / "copy.toml"
    rng = random.Random(0)
    for bit in rng.sample(range(8 * len(data)), 60):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        copy.write_bytes(flipped)
        with suppress(UsageError):
            assert load_mitigation(copy) == intact
    changed = data.replace(b"0.5", b"0.25", 1).replace(b"0.5", b"0.75", 1)
    assert changed != data
    copy.write_bytes(changed)
    audit = [*AUDIT, str(tmp_path / "run"), "--mitigation", str(copy)]
    assert run(audit) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert f"{copy} has changed since askew wrote it: its digest differs" in error
    lines = [line for line in changed.splitlines() if not line.startswith(b"digest")]
    copy.write_bytes(b"\n".join(lines))
    assert load_mitigation(copy) != intact


def test_files_of_the_user_stay_when_a_run_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run was made in the folder of a thesis, with --run ."""
    thesis = tmp_path / "thesis"
    (thesis / "figures").mkdir(parents=True)
    names = ["thesis.tex", "plan.toml.txt", "mitigation-notes.toml", "a.part", "figures/1.png"]
    for name in names:
        (thesis / name).write_text("mine")
    monkeypatch.chdir(thesis)
    assert run([*AUDIT, "."]) == 0
    (thesis / f".{'0' * 16}.part").write_text("incomplete")
    capsys.readouterr()
    assert run(["runs", "rm", "."]) == 0
    assert "thesis.tex" in capsys.readouterr().out
    assert (thesis / "plan.toml").exists()
    assert run(["runs", "rm", ".", "--yes"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        ". remains, because askew did not write a.part, figures, mitigation-notes.toml, plan.toml.txt"
        in out
    )
    left = sorted(str(path.relative_to(thesis)) for path in thesis.rglob("*") if path.is_file())
    assert left == sorted(names)
    assert run(["runs", "rm", ".", "--yes"]) == 2


def test_a_run_is_removed_with_its_mitigations_and_damaged_files(place: Path) -> None:
    folder = place / "mitigate"
    (folder / "report.html").write_text("")
    assert run(["check", str(folder), "--repair"]) == 0
    assert (folder / "report.html.damaged").exists()
    assert run([*MITIGATE, str(folder)]) == 0
    assert run(["runs", "rm", str(folder), "--yes"]) == 0
    assert not os.path.lexists(folder)


def test_a_link_in_a_run_is_removed_and_its_target_stays(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.html"
    target.write_text("mine")
    report = place / "audit" / "report.html"
    report.unlink()
    report.symlink_to(target)
    assert run(["runs", "rm", str(place / "audit"), "--yes"]) == 0
    assert target.read_text() == "mine"
    assert not (place / "audit").exists()


def test_an_interrupted_removal_is_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process ended after it had removed the files, before it removed the folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    assert run(["runs", "rm", str(folder), "--yes"]) == 0
    assert "which is empty" in " ".join(capsys.readouterr().out.split())
    assert not folder.exists()
