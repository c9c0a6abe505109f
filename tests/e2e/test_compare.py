"""`askew compare` on the studio world at two biases, and on existing images by three models."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.cli import run
from askew.store.files import add_sums, changed_files
from askew.studies.compare.comparison import FILES
from askew.studies.compare.findings import SCORES
from recorded_runs import in_file

PROMPT = "a photo of a mechanic"
SMALL = [
    "--model",
    "studio/planted",
    "--images",
    "12",
    "--axes",
    "gender",
    "--bootstrap-samples",
    "100",
]


def audit(folder: Path, bias: float, *more: str, prompts: tuple[str, ...] = (PROMPT,)) -> Path:
    assert run(["audit", *prompts, *SMALL, "-M", f"bias={bias}", "--run", str(folder), *more]) == 0
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs at bias 1 and 0, each with its store."""
    folder = tmp_path_factory.mktemp("compared")
    return audit(folder / "one" / "biased", 1.0), audit(folder / "other" / "fair", 0.0)


@pytest.fixture(scope="module")
def comparison(
    runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> askew.Comparison:
    return askew.compare(*runs, output=tmp_path_factory.mktemp("comparison"))


def test_results_are_strict_json_and_there_is_a_page(comparison: askew.Comparison) -> None:
    entries: list[dict[str, Any]] = json.loads(comparison.results.read_text(encoding="utf-8"))
    assert {e["score"] for e in entries} == set(SCORES)
    assert {tuple(e["runs"]) for e in entries} == {
        ("studio/planted bias=1.0", "studio/planted bias=0.0")
    }
    assert comparison.report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_planted_difference_is_significant(comparison: askew.Comparison) -> None:
    share = comparison.difference("share", "gender", "female")
    assert isinstance(share, askew.Estimate)
    assert share.low is not None
    assert share.low > 0
    assert share.interval == "Newcombe, paired"
    biased, fair = (run.share("gender", "female") for run in comparison.runs.values())
    assert isinstance(biased, askew.Estimate)
    assert isinstance(fair, askew.Estimate)
    assert share.value == pytest.approx(fair.value - biased.value)
    mad = comparison.difference("mad", "gender")
    assert isinstance(mad, askew.Estimate)
    assert mad.value < 0


def test_images_of_the_same_seed_are_pairs(comparison: askew.Comparison) -> None:
    sets = [in_file(run)["sets"] for run in comparison.runs.values()]
    assert [s["seeds"] for s in sets[0]] == [s["seeds"] for s in sets[1]]
    assert comparison.warnings == []
    assert 'class="aligned small"' in comparison.report.read_text(encoding="utf-8")


def test_the_same_command_gives_the_same_bytes_in_80_columns(
    runs: tuple[Path, Path],
    comparison: askew.Comparison,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["compare", *map(str, runs), "--output", str(tmp_path)]) == 0
    *table, last = capsys.readouterr().out.strip().splitlines()
    assert last == f"report: {tmp_path / 'comparison.html'}"
    assert max(map(len, table)) <= 80
    assert (tmp_path / "comparison.json").read_bytes() == comparison.results.read_bytes()
    assert (tmp_path / "comparison.html").read_bytes() == comparison.report.read_bytes()


def test_by_default_results_lie_beside_the_first_run_and_names_can_be_given(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *map(str, runs), "--names", "old,new", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert entries[0]["runs"] == ["old", "new"]
    (folder,) = runs[0].parent.glob("comparison-*")
    assert sorted(path.name for path in folder.iterdir()) == [
        "SHA256SUMS",
        "comparison.html",
        "comparison.json",
        "comparison.toml",
    ]
    assert changed_files(folder, FILES) == {}


def test_it_is_shown_and_exported_again(
    runs: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(os.path.commonpath(runs))
    biased, fair = (os.path.relpath(folder) for folder in runs)
    assert run(["compare", biased, fair, "--output", "again", "--names", "old,new"]) == 0
    first = capsys.readouterr().out
    page = Path("again", "comparison.html").read_bytes()
    Path("again", "comparison.html").unlink()
    assert run(["report", "again"]) == 0
    assert capsys.readouterr().out == first
    assert Path("again", "comparison.html").read_bytes() == page
    assert run(["export", "again", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    entries = json.loads(Path("again", "comparison.json").read_text())
    assert [(row["score"], row["axis"], row["value"]) for row in rows] == [
        (e["score"], e["axis"], e["difference"]["value"]) for e in entries
    ]
    assert {(row["method"], row["model"]) for row in rows} == {("compare", "new minus old")}
    assert run(["export", "again", "--format", "markdown"]) == 0
    assert "## new differs significantly from old on perceived gender." in capsys.readouterr().out
    assert run(["check", "again"]) == 0
    numbers = Path("again", "comparison.json").read_text()
    Path("again", "comparison.json").write_text(numbers.replace("0", "1", 1))
    assert run(["report", "again"]) == 2
    assert "comparison.json has changed: its SHA-256 differs" in capsys.readouterr().err
    assert run(["check", "again"]) == 1
    assert "comparison.json has changed" in capsys.readouterr().err
    Path("again", "comparison.json").write_text('[{"score": "mad"}]')
    add_sums(Path("again"), FILES)
    assert run(["report", "again"]) == 2
    assert "comparison.json: 0.prompt" in capsys.readouterr().err
    Path("again", "SHA256SUMS").write_text("")
    assert run(["report", "again"]) == 2
    assert "comparison.toml is not listed in SHA256SUMS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "code", "message"),
    [
        (
            "share.low > 0",
            3,
            "gender, female, studio/planted bias=0.0 minus studio/planted bias=1.0: share.low is",
        ),
        ("gender: mad.low > 0", 0, ""),
        ("accuracy < 1", 2, "unknown score 'accuracy'. Known names: mad, cas, wasserstein"),
    ],
)
def test_a_condition_on_differences_decides_the_exit_code(
    runs: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    condition: str,
    code: int,
    message: str,
) -> None:
    command = ["compare", *map(str, runs), "--output", str(tmp_path), "--fail-if", condition]
    assert run(command) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_its_estimates_are_a_table(comparison: askew.Comparison) -> None:
    assert len(comparison.frame()) == len(comparison.entries)


def test_it_shows_itself_in_a_notebook(comparison: askew.Comparison) -> None:
    assert "Gender" in comparison._repr_html_()


def test_the_error_names_the_axis_that_was_not_compared(comparison: askew.Comparison) -> None:
    with pytest.raises(askew.AskewError, match="axis 'age'"):
        comparison.difference("mad", "age")


@pytest.fixture(scope="module")
def odd(runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders and options that cannot be compared with the first run."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "empty").mkdir()
    shutil.copytree(runs[1], folder / "unfinished")
    (folder / "unfinished" / "results.json").unlink()
    fewer = audit(folder / "fewer", 0.0, "--images", "6")
    return {
        "good": str(runs[0]),
        "fair": str(runs[1]),
        "same": os.path.join(runs[0].parent, ".", runs[0].name),
        "empty": str(folder / "empty"),
        "unfinished": str(folder / "unfinished"),
        "fewer": str(fewer),
        "store": str(folder / "nowhere"),
        "absent": str(folder / "absent"),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{good}"], "two or more runs"),
        (["{good}", "{same}"], "are the same run"),
        (["{good}", "{absent}"], "there is no run folder"),
        (["{good}", "{empty}"], "is not a run folder: it contains no plan.toml"),
        (["{good}", "{unfinished}"], "name the folder of a finished run"),
        (["{good}", "{fewer}"], "images is 6 instead of 12"),
        (["{good}", "{fair}", "--names", "one"], "2 runs need 2 different names"),
        (["{good}", "{fair}", "--names", "one,one"], "2 runs need 2 different names"),
        (["{good}", "{fair}", "--store", "{store}"], "does not contain the answers"),
        (["{good}"] * 7, "at most 6"),
    ],
)
def test_wrong_usage_gives_a_clear_error(
    odd: dict[str, str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["compare", *(argument.format(**odd) for argument in arguments)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_runs_are_compared_on_the_prompts_that_they_share(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    prompts = ("a photo of a nurse", PROMPT)
    more = audit(runs[1].parent / "more", 0.0, "--embedder", "none", prompts=prompts)
    comparison = askew.compare(runs[0], more, output=tmp_path)
    assert {entry.prompt for entry in comparison.entries} == {PROMPT}
    (warning,) = comparison.warnings
    left_out = f"askew leaves out prompts of {more}, because not all runs have them"
    assert warning == f"{left_out}: 'a photo of a nurse'"


def test_a_run_under_two_names_gets_a_warning(runs: tuple[Path, Path], tmp_path: Path) -> None:
    copy = shutil.copytree(runs[0], runs[0].parent / "copy")
    comparison = askew.compare(runs[0], copy, output=tmp_path)
    assert "so there are no differences" in comparison.warnings[0]
    for entry in comparison.entries:
        assert isinstance(entry.difference, askew.Estimate)
        assert (entry.difference.value, entry.difference.p) == (0.0, 1.0)


@pytest.mark.slow
def test_the_diffusion_models_in_the_box_differ_as_they_were_trained_to(tmp_path: Path) -> None:
    runs = [
        askew.audit(
            "a photo of a nurse",
            model=model,
            axes=["gender"],
            images=12,
            embedder="none",
            bootstrap_samples=100,
            run=tmp_path / model.replace("/", "-"),
        ).folder
        for model in ("studio", "studio/balanced")
    ]
    share = askew.compare(*runs).difference("share", "gender", "male")
    assert isinstance(share, askew.Estimate)
    assert share.interval == "Newcombe, paired"
    assert share.low is not None
    assert share.low > 0, "a balanced model shows more perceived men among nurses"


@pytest.mark.slow
def test_three_models_of_existing_images(shared: Path, tmp_path: Path) -> None:
    people = shared / "data" / "generated-people"
    models = ("flux_dev", "sdxl_turbo", "dall_e_3")
    runs = [
        askew.audit(
            model=f"folder/{people}",
            manifest=people / "labels.csv",
            vqa="labels",
            embedder="none",
            bootstrap_samples=100,
            run=tmp_path / model,
            model_args={
                "prompt_column": "occupation",
                "baseline_condition": "baseline",
                "condition": "condition",
                "label": "gender=gender",
                "where": f"model={model}",
            },
            aliases={"both": "missing:several_people"},
        ).folder
        for model in models
    ]
    comparison = askew.compare(*runs)
    assert list(comparison.runs) == list(models)
    assert "independent" in comparison.warnings[0]
    assert len({entry.runs for entry in comparison.entries}) == 3
    pair = ("sdxl_turbo", "dall_e_3")
    share = comparison.difference("share", "gender", "female", prompt="athlete", runs=pair)
    assert isinstance(share, askew.Estimate)
    first, second = (comparison.runs[name].share("gender", "female", "athlete") for name in pair)
    assert isinstance(first, askew.Estimate)
    assert isinstance(second, askew.Estimate)
    assert share.value == pytest.approx(second.value - first.value)
    assert share.interval == "Newcombe"
    gap = comparison.difference(
        "share", "gender", "female", prompt="swe", set_name="condition: controlled"
    )
    assert isinstance(gap, askew.Estimate)
    assert gap.missing > 0
