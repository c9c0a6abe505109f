"""Names with markup, emoji codes and control characters are printed as text, on every terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from askew.cli import run
from askew.commands import runs_list
from askew.console import NeutralConsole, write
from askew.run.progress import Event, Terminal

CONTROLS = "a\x9b2J\u202eb"


class TerminalStream(io.StringIO):
    """A stream that counts as a terminal."""

    def isatty(self) -> bool:
        return True


def audit_command(folder: Path, prompt: str, run_folder: Path) -> list[str]:
    """Write labeled images into a new folder, and return the command that audits them."""
    folder.mkdir(parents=True)
    rows = []
    for number in range(4):
        pixels = np.random.default_rng(number).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{prompt},{'MF'[number % 2]}\n")
    (folder / "manifest.csv").write_text("file,prompt,gender\n" + "".join(rows), encoding="utf-8")
    model = f"folder/{folder}"
    return ["audit", "--model", model, "--bootstrap-samples", "100", "--run", str(run_folder)]


def test_a_name_with_markup_ends_no_run_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stream = TerminalStream()
    monkeypatch.setattr(sys, "stderr", stream)
    assert run(audit_command(Path("[/x] [red]y :x:"), "nurse", Path("run"))) == 0
    assert "[/x] [red]y :x:" in stream.getvalue()


def test_the_bars_show_names_and_notes_as_they_are() -> None:
    stream = TerminalStream()
    terminal = Terminal(stream)
    for kind in ("started", "batch", "finished"):
        event = Event(kind, "pictures", "[/x] [red]y :x:", done=1, total=2, note="[/n] :x:")  # type: ignore[arg-type]
        terminal(event)
    assert "[/x] [red]y :x:" in stream.getvalue()
    assert "[/n] :x:" in stream.getvalue()


@pytest.mark.parametrize("console", [NeutralConsole, Console])
def test_names_of_runs_are_listed_as_they_are(console: type[Console], tmp_path: Path) -> None:
    command = audit_command(tmp_path / "images", "nurse", tmp_path / "runs" / "[red]:x:[")
    assert run(command) == 0
    stream = io.StringIO()
    console(width=200, file=stream).print(runs_list(tmp_path / "runs"))
    assert "[red]:x:[" in stream.getvalue()


@pytest.mark.parametrize("command", [("report", "--json"), ("export", "--format", "json")])
def test_json_on_a_terminal_has_no_control_characters(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(audit_command(tmp_path / "images", CONTROLS, tmp_path / "run")) == 0
    name, *options = command
    terminal = TerminalStream()
    pipe = io.StringIO()
    for stream in (terminal, pipe):
        monkeypatch.setattr(sys, "stdout", stream)
        assert run([name, str(tmp_path / "run"), *options]) == 0
    assert "\x9b" not in terminal.getvalue()
    assert "\u202e" not in terminal.getvalue()
    assert CONTROLS in json.dumps(json.loads(pipe.getvalue()), ensure_ascii=False)


def test_a_text_is_written_to_a_pipe_exactly() -> None:
    terminal = TerminalStream()
    pipe = io.StringIO()
    write(CONTROLS, terminal)
    write(CONTROLS, pipe)
    assert terminal.getvalue() == "a\ufffd2J\ufffdb"
    assert pipe.getvalue() == CONTROLS
