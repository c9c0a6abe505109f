"""Commands of README, tutorial and how-tos are valid, and print the output that is shown."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from askew import registry
from askew.cli import application, run
from askew.studies.compare.findings import SCORES
from askew.studies.compare_downstream.findings import scores_of
from processes import SOURCE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]

RUN = {
    "README.md": r"^make audit",
    "tutorial.md": r"askew(?! --help)|python -",
    "many-prompts.md": r"cat > prompts\.txt|--prompts prompts\.txt",
    "attention-maps.md": r"--images 12",
    "compare-models.md": r"askew compare runs/(biased runs/fair|studio runs/balanced|flux_dev .*)$",
    "interactions.md": r'^askew interact "a photo of a nurse" --model studio/planted$',
    "editing.md": r"--images 24",
    "classification.md": r"--samples 4",
    "mine-prompts.md": r"--iterations 2",
    "mitigate.md": r"--images 48|--mitigation ",
    "use-in-ci.md": r"askew",
    "how-many-images.md": r"^askew power",
}
"""Blocks that run here, by page. Other blocks need a hub, a server, foreign images or hours."""

QUICK = ("how-many-images.md",)
"""Pages whose blocks need no image and print the same despite rounding errors of networks."""

SHELL = """
set -e
make() { if [ "$1" = audit ]; then askew audit "a photo of a nurse" --model studio; fi; }
. () { :; }
ollama() { :; }
askew() { printf "%s\\0" "$@" >> "$RECORD"; printf "\\1\\0" >> "$RECORD"; }
python() { "$PYTHON" "$@"; }
"""


@dataclass(frozen=True)
class Block:
    """Commands of a page, and the output that the page shows for them."""

    page: Path
    script: str
    shown: str


def blocks(page: Path) -> Iterator[Block]:
    """Return the fenced shell blocks of a page, each with the text block that follows."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    following = [*fences, ("", "")][1:]
    for (kind, script), (next_kind, shown) in zip(fences, following, strict=True):
        if kind == "sh":
            yield Block(page, script, shown if next_kind == "text" else "")


def inline(page: Path) -> Iterator[str]:
    """Return commands with options within sentences."""
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for span in re.findall(r"`(askew [^`]+)`", text):
        if " --" in span:
            yield " ".join(span.split())


def recorded(script: str, folder: Path, python: str = "true") -> list[list[str]]:
    """Return the arguments of each `askew` that a script would call, as the shell reads them."""
    record = folder / "record"
    record.write_text("", encoding="utf-8")
    env = {"RECORD": str(record), "PYTHON": python, "PYTHONPATH": str(SOURCE)}
    subprocess.run(["bash", "-c", SHELL + script], cwd=folder, env=env, check=True)
    calls = record.read_text(encoding="utf-8").split("\1\0")
    return [call.split("\0")[:-1] for call in calls if call]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_valid(page: Path, tmp_path: Path) -> None:
    scripts = [block.script for block in blocks(page)] + ["\n".join(inline(page))]
    calls = [call for script in scripts for call in recorded(script, tmp_path)]
    assert calls
    app = application()
    for call in calls:
        if not call[0].startswith("--"):
            app.parse_args(call, exit_on_error=False, print_error=False)


PLANNED = ("audit", "interact", "map", "mine", "edit", "classify", "mitigate", "rank")
"""Commands that have a dry run."""

COUNTED = {"README.md", "tutorial.md"}
"""Pages whose commands are counted by the quick suite. Every page is parsed."""
ELSEWHERE = re.compile(
    r"(diffusers|folder|transformers|clip|openai|study)/|--(preset|masks)|"
    r"--(mined|baseline-run|compared-run|reference|mitigated|mitigation|plan) \S*runs/"
)
"""Names in commands that are not available here: weights, a server, foreign images, long runs."""

FILES = {
    "prompts.txt": "".join(
        f"a photo of a {role}\n"
        for role in ("nurse", "mechanic", "chef", "pilot", "doctor", "teacher")
    ),
    "users.txt": "a photo of an old nurse in a hospital, 8k, trending on artstation\n",
    "bls-2022.csv": "occupation,women\nnurse,0.9\nmechanic,0.1\n",
    "mymodule.py": "def darkness(prompt, pictures):\n    return 0.0\n",
}
"""Files that the pages assume."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(path, marks=() if path.name in COUNTED else pytest.mark.slow) for path in PAGES],
    ids=lambda page: page.name,
)
def test_commands_that_can_run_here_are_counted(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow tests below run some commands to their end; the other commands are planned and
    counted.
    """
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    assert run(["plan", "a photo of a chef", "--axes", "gender,age", "--output", "plan.toml"]) == 0
    for call in (call for block in blocks(page) for call in recorded(block.script, tmp_path)):
        if call[0] in PLANNED and not ELSEWHERE.search(" ".join(call)):
            assert run([*call, "--dry-run"]) == 0, f"{call}: {capsys.readouterr().err}"
            assert ("packs" if "--shard" in call else "images") in capsys.readouterr().out


def runnable(page: Path) -> list[Block]:
    """Return the blocks of a page that run here."""
    return [
        block for block in blocks(page) if re.search(RUN[page.name], block.script, re.MULTILINE)
    ]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page.name in QUICK else pytest.mark.slow)
        for page in PAGES
        if page.name in RUN
    ],
    ids=lambda page: page.name,
)
def test_commands_print_the_output_that_is_shown(
    page: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if page.name == "compare-models.md":
        people: Path = request.getfixturevalue("shared") / "data" / "generated-people"
        Path("images").symlink_to(people)
        shutil.copy(people / "labels.csv", ".")
    for block in runnable(page):
        for call in recorded(block.script, tmp_path, sys.executable):
            assert run(call) == (3 if "--fail-if" in call else 0), capsys.readouterr().err
        captured = capsys.readouterr()
        output = (captured.out + captured.err).replace("\N{NO-BREAK SPACE}", " ")
        printed = iter([line.rstrip() for line in output.splitlines()])
        for line in filter(None, map(str.rstrip, block.shown.splitlines())):
            assert line in printed, (
                f"{page.name} shows {line!r}, which is not printed (in this order)"
            )
    if page.name == "use-in-ci.md":
        assert all(Path(name).stat().st_size for name in ("scores.csv", "summary.md"))


def test_conditions_shown_for_pipelines_are_valid() -> None:
    text = (DOCS / "how-to" / "use-in-ci.md").read_text(encoding="utf-8")
    conditions = re.findall(r'`"([\w: .-]+ [<>]=? [\d.]+)"`', text)
    assert len(conditions) == 8
    for condition in conditions:
        registry.named("method", "edit" if "gender_change" in condition else "audit").conditions(
            condition
        )
    for command, scores in re.findall(r"^\| `askew (\w+)` \| (.*) \|$", text, re.MULTILINE):
        for score in re.findall(r"`(\w+)`", scores):
            if command == "compare":
                assert score in {*SCORES, *scores_of("classify"), *scores_of("edit")}
            else:
                registry.named("method", command).conditions(f"{score} > 1")


def test_the_lexicon_writes_the_prompts_that_are_shown() -> None:
    text = (DOCS / "how-to" / "language-models.md").read_text(encoding="utf-8")
    block = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0]
    writer = registry.writer("lexicon")
    shown = re.findall(r"^writer\.(\w+)\((.*)\)\n((?:# .*\n)+)", block, re.MULTILINE)
    assert shown
    for name, given, comment in shown:
        expected = ast.literal_eval(re.sub(r"^# ", "", comment, flags=re.MULTILINE))
        call = ast.parse(f"f({given})", mode="eval").body
        assert isinstance(call, ast.Call)
        positional = [ast.literal_eval(argument) for argument in call.args]
        named = {str(argument.arg): ast.literal_eval(argument.value) for argument in call.keywords}
        assert getattr(writer, name)(*positional, **named) == expected
