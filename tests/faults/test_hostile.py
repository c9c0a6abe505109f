"""Foreign files, names and texts are refused or shown as text, and never cause a traceback."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from askew.cli import run
from askew.plan import read_plan
from askew.store.imagefile import LIMIT_VARIABLE, EncodedPicture, read
from askew.types import Missing
from processes import SOURCE, fork
from slow_cases import quick_only

SMALL = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8))


def header_of(side: int, path: Path) -> None:
    """Return a PNG whose header states a large size, with almost no data."""
    ihdr = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", ihdr), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def pixel_bomb(path: Path) -> None:
    """Write an image of 81 million pixels in a few kilobytes."""
    Image.new("1", (9000, 9000)).save(path)


def text_bomb(path: Path) -> None:
    texts = PngImagePlugin.PngInfo()
    for k in range(80):
        texts.add_text(f"t{k}", "x" * 1_000_000, zip=True)
    SMALL.save(path, pnginfo=texts)


def cut(path: Path) -> None:
    SMALL.save(path)
    path.write_bytes(path.read_bytes()[:-40])


BOMBS: dict[str, Callable[[Path], object]] = {
    "a header of 30,000": lambda path: header_of(30_000, path),
    "a header of 9,000": lambda path: header_of(9_000, path),
    "pixels": pixel_bomb,
    "texts": text_bomb,
    "cut": cut,
    "no file": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
}
MEASURED = """
import resource, sys
from pathlib import Path
from askew.store.imagefile import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(read(Path(sys.argv[1])))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("bomb", quick_only(list(BOMBS)[:2], BOMBS))
def test_a_bomb_is_refused_at_once(bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    BOMBS[bomb](path)
    begun = time.monotonic()
    reading = read(path)
    assert time.monotonic() - begun < 1
    assert isinstance(reading, Missing)
    assert "bomb.png" in reading.detail
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path], env=environment, capture_output=True, text=True
    )
    assert int(done.stdout.split()[-1]) < 200, done.stdout + done.stderr


def test_the_limit_can_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SMALL.save(tmp_path / "a.png")
    assert isinstance(read(tmp_path / "a.png"), EncodedPicture)
    monkeypatch.setenv(LIMIT_VARIABLE, "255")
    assert "16×16 pixels exceed the limit of 255" in str(read(tmp_path / "a.png"))


def label_audit(folder: Path, label: str, name: str = "a.png") -> list[str]:
    """Return a command that audits labels, one of which is foreign text."""
    folder.mkdir()
    for k in range(4):
        Image.fromarray(np.roll(np.asarray(SMALL), k, 0)).save(folder / f"{k}.png")
    rows = "".join(f"{k}.png,nurse,{'MF'[k % 2]}\n" for k in range(4))
    (folder / "manifest.csv").write_text(
        f"file,prompt,gender\n{rows}{name},nurse,{label}\n", encoding="utf-8"
    )
    return [
        "audit",
        "--model",
        f"folder/{folder}",
        "--bootstrap-samples",
        "100",
        "--run",
        str(folder.parent / "run"),
    ]


@pytest.mark.parametrize(
    ("label", "name"), [("\x1b[31mred\x1b]0;title\x07", "0.png"), ("M", "\x1b[2Jgone.png")]
)
def test_a_terminal_follows_no_codes_in_foreign_text(label: str, name: str, tmp_path: Path) -> None:
    output = fork(label_audit(tmp_path / "pictures", label, name)).communicate()
    assert "\x1b" not in "".join(output)
    assert "\x07" not in "".join(output)


@pytest.mark.parametrize("command", ["audit", "interact", "mine", "edit", "classify"])
def test_a_deeply_nested_plan_is_an_error_of_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    assert (
        run([command, "--plan", str(tmp_path / "plan.toml"), "--run", str(tmp_path / "run")]) == 2
    )
    assert "cannot be read as TOML" in capsys.readouterr().err


ODD = {
    "a long name of a run": ["audit", "a nurse", "--model", "studio/planted", "--run", "x" * 300],
    "a long name of a store": [
        "audit",
        "a nurse",
        "--model",
        "studio/planted",
        "--store",
        "x" * 300,
        "--run",
        "run",
    ],
    "a long name of a plan": ["audit", "--plan", "x" * 300],
    "a long name of a folder": ["audit", "--model", "folder/" + "x" * 300],
    "a surrogate in a prompt": [
        "audit",
        "a nurse \udcff",
        "--model",
        "studio/planted",
        "--run",
        "run",
    ],
    "a surrogate in a concept": [
        "map",
        "a nurse",
        "--concept",
        "gender\udcff",
        "--against",
        "nurse",
        "--run",
        "run",
    ],
    "a run that is a file": ["check", __file__],
    "a run that is nothing": ["check", "y" * 300],
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_names_are_errors_of_one_sentence(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if "surrogate" in odd:  # a text that a real stream cannot carry
        process = fork(ODD[odd])
        _, err = process.communicate()
        code = process.returncode
    else:
        code = run(ODD[odd])
        err = capsys.readouterr().err
    assert code in (1, 2), err
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if line.startswith("askew: ")]
    assert len(lines) == 1, err


def test_a_zero_byte_in_a_manifest_is_refused_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(label_audit(tmp_path / "pictures", "M", "a\0.png")) == 2
    assert "line 6" in capsys.readouterr().err


@pytest.mark.slow
def test_a_prompt_of_a_megabyte_is_stored_exactly_and_shown_shortened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = "a photo of a nurse " + " ".join(f"{'w' * 60}{k}" for k in range(16_000))
    (tmp_path / "prompts.txt").write_text(prompt, encoding="utf-8")
    arguments = [
        "audit",
        "--prompts",
        str(tmp_path / "prompts.txt"),
        "--model",
        "studio/planted",
        "--images",
        "2",
        "--axes",
        "gender",
        "--bootstrap-samples",
        "100",
        "--run",
        str(tmp_path / "run"),
    ]
    assert len(prompt) > 1_000_000
    assert run(arguments) == 0
    output = capsys.readouterr()
    assert len(output.out + output.err) < 10_000
    assert read_plan(tmp_path / "run" / "plan.toml").prompts[0].text == prompt  # type: ignore[attr-defined]
