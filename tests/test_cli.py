"""The command line: each command and option has help and documentation, and help imports little."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest
from cyclopts import App
from rich.table import Table

from askew.cli import application, commands, documentation, first_line, run, show
from askew.studio.planted import NAMES as NAMES_OF_AXES
from tools import cli_reference

NAMES = [
    name
    for name, function in commands()
    if find_spec(function.partition(".")[0]) and function.startswith("askew.")
]


def app_of(name: str) -> App:
    app = application()
    for part in name.split():
        app = app[part]
    return app


def options(name: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a command and their help."""
    documented = inspect.getdoc(app_of(name).default_command) or ""
    for argument in app_of(name).assemble_argument_collection():
        if argument.show and argument.names and argument.names[0].startswith("-"):
            description = re.search(
                rf"^{argument.field_info.name}\n    (\S.*)", documented, re.MULTILINE
            )
            yield (
                argument.names[0],
                argument.parameter.help or (description[1] if description else ""),
            )


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help(name: str) -> None:
    assert "Example" in (inspect.getdoc(app_of(name).default_command) or "")
    assert [option for option, text in options(name) if not text] == []


def test_the_reference_page_is_generated_from_the_commands() -> None:
    written = cli_reference.FILE.read_text(encoding="utf-8")
    assert written == cli_reference.text(), "write it anew: python tools/cli_reference.py"


@pytest.mark.parametrize("name", NAMES)
def test_the_list_of_commands_repeats_the_docstring(name: str) -> None:
    module, _, function = dict(commands())[name].partition(":")
    documented = inspect.getdoc(getattr(import_module(module), function)) or ""
    assert first_line(dict(commands())[name]) == documented.partition("\n")[0] != ""


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_examples_of_the_docstring(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*name.split(), "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    description = re.split(
        r"\n\n(?=[A-Z]\w*\n-+\n)(?!Examples)", documentation(dict(commands())[name])
    )[0]
    examples = re.findall(r"`(askew [^`]+)`", description)
    assert examples
    assert [text for text in examples if " ".join(text.split()) not in shown] == []


@pytest.mark.parametrize("group", ["runs", "store", "studio"])
def test_help_describes_subcommands(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name in NAMES:
        if name.startswith(f"{group} "):
            line = first_line(dict(commands())[name]).replace("`", "")
            assert f"{name.split()[1]} {line.removesuffix('.')}" in shown


def test_help_groups_options_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--help"]) == 0
    titles = re.findall("^╭─ (.*?) ─", capsys.readouterr().out, re.MULTILINE)
    assert titles == [
        "Parameters",
        "Model",
        "Instruments",
        "Your own images",
        "Statistics",
        "Run",
    ]


def test_the_truth_of_every_axis_is_shown_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studio", "truth"]) == 0
    lines = capsys.readouterr().out.splitlines()
    axes = [line for line in lines if not line.startswith(" ")]
    assert axes == list(NAMES_OF_AXES)
    assert "  male             0.500" in lines


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name")
    table.add_row("gender=male:x: [red]")
    show(table)
    assert "gender=male:x: [red]" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    heavy = {"numpy", "scipy", "torch", "transformers", "diffusers", "pydantic", "openai", "PIL"}
    code = (
        f"import sys; from askew.cli import run; run({arguments!r}); "
        f"print('heavy:', *sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy:"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-command"], "no-such-command"),
        (["check"], "run"),
        (["studio", "path", "embedder", "more"], "more"),
        (["studio", "truth", "a nurse", "--bias", "much"], "much"),
        (["studio", "truth", "a nurse", "--no-such-option"], "--no-such-option"),
        (["check", "no/such/folder"], "no/such/folder"),
        (["serve", "no/such/folder"], "creates the folder runs"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert words.lower() in captured.err.lower()
    assert captured.err.startswith("askew: ")
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_completion_can_be_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out
