"""Random flipped bits in any file of runs and their store: no result changes unseen."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from askew.cli import run
from askew.errors import AskewError
from askew.method import load
from askew.mitigations import iti_gen
from askew.models import file_memory
from askew.store.completions import Completions
from askew.store.rows import TABLES
from askew.store.states import StateFile
from askew.store.store import Store
from faults.test_states import learn

KEY = "ab" * 32
RECORD = {"text": "a nurse in a red coat", "model": "m"}
RUNS = ("audit", "mitigate", "images")
QUICK = 6
"""Number of flips in a quick run. A slow run flips 150 bits."""

MENTIONS = {
    "index.sqlite": "index",
    "index.sqlite-wal": "index",
    "SHA256SUMS": "is incomplete or damaged",
}
"""Words by which `check` names a file, where it does not name its path."""


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each run by the name of its folder."""
    planted = ["a photo of a nurse", "--model", "studio/planted", "--bootstrap-samples", "100"]
    images = ["--model", f"folder/{folder / 'images of nurses'}", "--bootstrap-samples", "100"]
    technique = ["--technique", "prompts", "--images", "4", "--eval-images", "4"]
    each = {
        "audit": ["audit", *planted, "--axes", "gender", "--images", "4"],
        "mitigate": ["mitigate", *planted, "--axes", "gender", "--monitor", "gender", *technique],
        "images": ["audit", *images, "--axes", "gender"],
    }
    return {name: [*words, "--run", str(folder / name)] for name, words in each.items()}


def write_images(folder: Path) -> None:
    folder.mkdir()
    lines = ["file,prompt,gender"]
    for k in range(4):
        pixels = np.random.default_rng(k).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{k}.png")
        lines.append(f"{k}.png,a nurse,{('female', 'male')[k % 2]}")
    (folder / "manifest.csv").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with three runs and their store, in which a test may damage one file."""
    folder = tmp_path_factory.mktemp("runs")
    write_images(folder / "images of nurses")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iti_gen, "EPOCHS", 2)
        patch.setattr(file_memory, "FRESH", -(10**18))
        for words in commands(folder).values():
            assert run(words) == 0
        store = folder / ".askew"
        Completions(store).put_completion(KEY, RECORD)
        learn(StateFile(store / "iti-gen" / KEY))
        yield folder


def damageable(place: Path) -> list[Path]:
    """Return all files of the runs and the store that have content."""
    files = [file for name in (*RUNS, ".askew") for file in (place / name).rglob("*")]
    return sorted(file for file in files if file.is_file() and file.stat().st_size)


def flip(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def findings(place: Path) -> dict[str, Any]:
    """Return the findings of each run; None for a run that is refused."""
    loaded: dict[str, Any] = {}
    for name in RUNS:
        try:
            loaded[name] = load(place / name).findings
        except AskewError:
            loaded[name] = None
    return loaded


def stored(place: Path) -> dict[str, Any]:
    """Return everything that a store gives to a command, without damaged parts."""
    content: dict[str, Any] = {}
    with Store(place / ".askew", create=False) as store:
        for table in TABLES:
            content |= {(table, *row): True for row in store.index_of(table).intact_rows(table)}
        for line in store.journal.lines():
            content["journal", line.text] = line.is_intact
        rows = store.index.intact_rows("pictures")
        content |= {row[0]: store.pictures([row[0]]) for row in rows}
    content["completion"] = dict(Completions(place / ".askew").completion(KEY) or {})
    content["state"] = StateFile(place / ".askew" / "iti-gen" / KEY)._intact_content()
    return content


def named_faults(place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the faults that `check` names in the runs and the store; empty if there are none."""
    capsys.readouterr()
    codes = [run(["check", str(place / name)]) for name in (*RUNS, ".askew")]
    text = capsys.readouterr().err
    assert set(codes) <= {0, 1, 2}
    assert "Traceback" not in text
    return text if any(codes) else ""


def damaged_copy(place: Path, seed: int, tmp_path: Path) -> tuple[Path, Path]:
    """Return a copy of a folder, and its file in which one bit is flipped.

    Each file is as likely as each other file, except images, of which there are many.
    """
    copy = tmp_path / "runs"
    shutil.copytree(place, copy)
    rng = random.Random(seed)
    files = damageable(copy)
    images = [file for file in files if "pictures" in file.parts]
    others = [file for file in files if file not in images]
    file = rng.choice([*others, rng.choice(images)])
    flip(file, rng)
    return copy, file


SEEDS = [
    *range(QUICK),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, 150)),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flipped_bit_is_named_or_changes_nothing(
    seed: int, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, file = damaged_copy(place, seed, tmp_path)
    named = named_faults(copy, capsys)
    if named:
        assert MENTIONS.get(file.name, file.name) in named, (file, named)
    else:
        assert stored(copy) == moved(stored(place), place, copy), file
    before = findings(place)
    assert None not in before.values()
    for name, result in findings(copy).items():
        assert result is None or result == before[name], (file, name)
        assert result is not None or named, (file, name)


def moved(content: dict[str, Any], old: Path, new: Path) -> dict[str, Any]:
    """Return content with paths of images in another folder."""
    replaced = dict(content)
    for key, outcomes in content.items():
        if isinstance(key, str) and isinstance(outcomes, dict) and key in outcomes:
            picture = outcomes[key]
            replaced[key] = {key: replace(picture, path=picture.path.replace(str(old), str(new)))}
    return replaced


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_a_command_repeated_after_a_flip_gives_the_same_results(
    seed: int, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If need be after the repairs that the errors advise."""
    copy, file = damaged_copy(place, seed, tmp_path)
    words = commands(copy)
    words["images"] = [
        word.replace(str(copy / "images of"), str(place / "images of")) for word in words["images"]
    ]
    if any(run(command) for command in words.values()):
        run(["check", str(copy / ".askew"), "--rebuild"])
        for name in RUNS:
            run(["check", str(copy / name), "--repair"])
        for command in words.values():
            assert run(command) == 0, (file, capsys.readouterr().err)
    before = findings(place)
    for name, result in findings(copy).items():
        assert result is not None, (file, name)
        assert replace(result, environment=before[name].environment) == before[name], (file, name)


def test_a_damaged_plan_is_written_a_second_time(place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "runs"
    shutil.copytree(place, copy)
    plan = copy / "audit" / "plan.toml"
    whole = plan.read_bytes()
    plan.write_bytes(whole.replace(b"images = 4", b"images = 5"))
    assert run(commands(copy)["audit"]) == 0
    assert plan.read_bytes() == whole
    assert run(["check", str(copy / "audit")]) == 0
