"""askew mine, on the planted model and with the lexicon as prompt generator."""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import askew
from askew.cli import run as command
from askew.errors import RunError, UsageError
from askew.methods.mine import METHOD
from askew.methods.mine.gather import prompt_writer
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.size import search_work
from askew.models.planted import PlantedModel
from askew.prompts.axes import catalogue
from askew.prompts.lexicon import LexiconWriter
from askew.store.store import Store
from local_llm import prompts, says, serving
from local_server import Reply
from recorded_runs import in_file

BLUE = MinePlan(
    objective="color:lightskyblue",
    iterations=4,
    population=4,
    selected=1,
    mutations=2,
    images=2,
    top=2,
    bootstrap_samples=100,
)
LEARNED = BLUE.model_copy(update={"selection": "learned"})
SKEW = MinePlan(
    topic="people",
    axes=("gender", "age"),
    iterations=4,
    population=4,
    selected=1,
    mutations=2,
    images=3,
    eval_images=4,
    top=2,
    bootstrap_samples=100,
)
UNTIL = SKEW.model_copy(update={"until": "decided", "eval_images": 24})
CONVERGING = MinePlan(
    objective=BLUE.objective,
    iterations=4,
    population=9,
    selected=3,
    mutations=2,
    images=4,
    runs=8,
    top=2,
    bootstrap_samples=100,
    random_search=False,
    selection="learned",
)


def content(folder: Path) -> dict[str, Any]:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return {name: value for name, value in results.items() if name != "environment"}


@pytest.fixture(scope="module")
def blue(tmp_path_factory: pytest.TempPathFactory) -> askew.MiningResult:
    folder = tmp_path_factory.mktemp("mine")
    return METHOD.run(BLUE, run=folder / "run", store=folder / "store")


def test_the_record_is_the_lowest_loss_so_far(blue: askew.MiningResult) -> None:
    history = in_file(blue)["minethegap"]["history"]
    lowest = []
    for entry in history:
        lowest.append(min(prompt["score"] for prompt in entry["prompts"]))
    assert [entry["best_so_far"] for entry in history] == list(accumulate(lowest, min))


@pytest.mark.slow
def test_mutations_come_nearer_to_a_color_than_random_prompts(tmp_path: Path) -> None:
    history = in_file(METHOD.run(CONVERGING, run=tmp_path / "run", store=tmp_path / "store"))[
        "minethegap"
    ]["history"]
    losses: dict[tuple[int, str], list[float]] = defaultdict(list)
    for entry in history:
        for prompt in entry["prompts"] if entry["iteration"] else ():
            losses[entry["run"], prompt["origin"]].append(prompt["score"])
    nearer = [
        np.mean(losses[run, "random"]) - np.mean(losses[run, "mutation"])
        for run in range(CONVERGING.runs)
    ]
    assert stats.ttest_1samp(nearer, 0).confidence_interval(0.95).low > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan", [BLUE, LEARNED, SKEW, UNTIL], ids=["score", "learned", "skew", "until"]
)
def test_a_stopped_search_ends_as_if_it_had_not_been_stopped(
    plan: MinePlan, tmp_path: Path
) -> None:
    whole = METHOD.run(plan, run=tmp_path / "whole", store=tmp_path / "first")
    for budget in (14,):
        with pytest.raises(RunError, match="Repeat the command to continue"):
            METHOD.run(plan, run=tmp_path / "run", store=tmp_path / "store", budget=budget)
    again = METHOD.run(plan, run=tmp_path / "run", store=tmp_path / "store")
    assert content(again.folder) == content(whole.folder)
    with Store(whole.store) as first, Store(again.store) as second:
        assert len(first.planned(plan.hash)) == len(second.planned(plan.hash))


def test_no_image_is_generated_twice(blue: askew.MiningResult) -> None:
    before = content(blue.folder)
    again = METHOD.run(BLUE, run=blue.folder, store=blue.store, budget=0)
    assert content(again.folder) == before


def test_compare_names_the_command_for_searches(
    blue: askew.MiningResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = shutil.copytree(blue.folder, tmp_path / "twin")
    assert command(["compare", str(blue.folder), str(twin)]) == 2
    assert "`askew rank --mined` compares runs of `askew mine`" in capsys.readouterr().err


def test_the_report_holds_the_prompts_and_their_images(blue: askew.MiningResult) -> None:
    page = blue.write_report().read_text(encoding="utf-8")
    assert all(prompt in page for prompt in blue.prompts)
    assert page.count("data:image/webp") >= 2 * BLUE.images
    assert "Comparison with random search" in page


def test_the_command_prints_a_table_and_refuses_nonsense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "--objective",
        "color:black",
        "--iterations",
        "2",
        "--population",
        "3",
        "--selected",
        "1",
        "--images",
        "2",
        "--top",
        "1",
        "--no-random-search",
        "--run",
        str(tmp_path / "run"),
    ]
    assert command(["mine", *options]) == 0
    assert "come closest to color:black" in " ".join(capsys.readouterr().out.split())
    assert command(["mine", "--words", "eight"]) == 2
    assert command(["mine", "--model", f"folder/{tmp_path}"]) in (1, 2)
    assert command(["mine", "--dry-run", "--iterations", "10"]) == 0
    counted = capsys.readouterr().out
    assert "at most 240" in counted
    assert "people with the largest skew of perceived gender" in " ".join(counted.split())


def test_a_topic_without_open_axes_is_refused_before_an_image_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leaves the value of perceived gender open"):
        askew.mine(topic="a female nurse", population=5, selected=2, run=tmp_path / "run")
    assert not list((tmp_path / ".askew").rglob("*.png"))


def test_an_unknown_objective_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is one of: skew, eq1"):
        askew.mine(objective="beauty", iterations=1, run=tmp_path / "run")


@pytest.mark.slow
def test_bias_is_mined_and_explained(tmp_path: Path) -> None:
    result = askew.mine(
        objective="eq1",
        iterations=2,
        population=5,
        images=6,
        random_search=True,
        run=tmp_path / "run",
        selected=2,
        variations=8,
        top=2,
        bootstrap_samples=200,
        vqa="studio",
    )
    section = in_file(result)["minethegap"]
    first = section["best"][0]
    assert set(first["missed_visual_concepts"]) <= set(first["variations"])
    assert first["held_out_score"]["null"] is not None
    assert first["held_out_score"]["q"] is not None
    assert section["missed"]["prompts"] >= 1
    assert all(entry["is_read"] for entry in section["best"])
    assert isinstance(result.difference(), askew.Estimate)


def test_an_objective_may_be_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_objective.py").write_text(
        "def width(prompt, pictures):\n    return len(prompt)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    options = [
        "--iterations",
        "1",
        "--population",
        "2",
        "--selected",
        "1",
        "--images",
        "2",
        "--top",
        "1",
    ]
    assert (
        command(
            [
                "mine",
                "--objective",
                "own_objective:width",
                *options,
                "--run",
                "run",
                "--store",
                "store",
            ]
        )
        == 0
    )
    assert "own_objective:width" in " ".join(capsys.readouterr().out.split())


def by_language_model(number: int, content: dict[str, Any]) -> Reply:
    """Answer as the lexicon would with the request's seed; refuse variations of some prompts."""
    request = content["messages"][-1]["content"]
    is_variation = "It leaves much open" in request
    if is_variation and sum(request.encode()) % 4 == 0:
        return says("", refusal="no")
    count = content["response_format"]["json_schema"]["schema"]["properties"]["prompts"]["maxItems"]
    if is_variation:
        return prompts(
            *LexiconWriter().write("variations", request.split('"')[1], count, seed=content["seed"])
        )
    return prompts(*LexiconWriter().write("random prompts", "", count, seed=content["seed"]))


@pytest.mark.slow
def test_a_search_by_a_language_model_continues_at_another_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused requests do not end the search, and a finished search sends no request again."""
    sizes = {
        "objective": "eq1",
        "iterations": 3,
        "population": 4,
        "selected": 1,
        "images": 5,
        "variations": 5,
        "top": 2,
        "bootstrap_samples": 100,
    }
    with serving(by_language_model) as first, serving(by_language_model) as second:
        plans = [
            MinePlan(llm="openai/m", llm_args={"url": server.url}, **sizes)
            for server in (first, second)
        ]
        whole = METHOD.run(plans[0], run=tmp_path / "whole", store=tmp_path / "first")
        asked = len(first.requests)
        with pytest.raises(RunError, match="Repeat the command to continue"):
            METHOD.run(plans[0], run=tmp_path / "run", store=tmp_path / "store", budget=30)
        capsys.readouterr()
        again = METHOD.run(plans[1], run=tmp_path / "run", store=tmp_path / "store", progress=True)
        assert len(first.requests) + len(second.requests) == 2 * asked
    assert second.requests
    assert f"openai/m: {len(second.requests)} calls" in capsys.readouterr().err
    assert without_addresses(again.folder) == without_addresses(whole.folder)
    assert in_file(whole)["minethegap"]["best"]


def without_addresses(folder: Path) -> dict[str, Any]:
    results = content(folder)
    return {**results, "plan": {**results["plan"], "llm_args": None}}


@pytest.mark.parametrize(
    ("name", "writer"),
    [("studio/planted", "lexicon/studio"), ("elsewhere/planted", "lexicon/elsewhere")],
)
def test_the_lexicon_uses_only_words_of_the_model(name: str, writer: str) -> None:
    model = PlantedModel()
    model.name = name
    lexicon = prompt_writer(MinePlan(), model)
    assert lexicon.fingerprint.startswith(writer)
    assert not any(
        model.unknown_words(prompt) for prompt in lexicon.write("random prompts", "", 5, seed=0)
    )


def test_the_bound_of_a_search() -> None:
    work = search_work(MinePlan(objective="eq1", iterations=10), PlantedModel())
    assert work.prompts == 150 + 9 * 10  # random search shares the prompts that mining injects
    assert work.pictures == work.embeddings == 240 * 15 + 2 * 5 * 15 + 2 * 5 * 15
    # a variation may state any of these words
    details = [1 + len(entry.axis.questions) for entry in catalogue().values()]
    assert (work.questions, work.vqa_calls) == (5 * (15 + 15) * sum(details), 5 * 2 * len(details))
    red = search_work(MinePlan(iterations=10, vqa="studio", objective="color:red"), PlantedModel())
    assert (red.questions, red.vqa_calls, red.embeddings) == (0, 0, 0)


def test_progress_reports_every_prompt_and_the_best_so_far(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "--objective",
        "color:blue",
        "--iterations",
        "1",
        "--population",
        "2",
        "--selected",
        "1",
        "--images",
        "2",
        "--top",
        "1",
        "--no-random-search",
        "--run",
        str(tmp_path / "run"),
    ]
    assert command(["mine", *options]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(event["kind"], event["done"], event["total"]) for event in events] == [
        ("started", 0, 3),
        ("batch", 1, 3),
        ("batch", 2, 3),
        ("batch", 3, 3),
        ("finished", 3, 3),
    ]
    assert "mining, iteration 1/1; best 0." in events[2]["note"]


def test_a_condition_that_holds_ends_with_3(
    blue: askew.MiningResult, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [
        "--plan",
        str(blue.folder / "plan.toml"),
        "--run",
        str(blue.folder),
        "--store",
        str(blue.store),
    ]
    assert command(["mine", *where, "--fail-if", "held_out_score < 0"]) == 0
    assert command(["mine", *where, "--fail-if", "held_out_score > 0"]) == 3
    assert f"{blue.prompts[0]!r}, {BLUE.objective}: held_out_score.value is" in " ".join(
        capsys.readouterr().err.split()
    )
    assert command(["mine", *where, "--fail-if", "mad > 0"]) == 2


def test_a_changed_objective_is_evaluated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    plan = MinePlan(
        objective="changing:loss",
        iterations=1,
        population=2,
        selected=1,
        images=2,
        top=1,
        random_search=False,
    )
    scores = []
    for value in (1.0, 1.0, 25.0):
        (tmp_path / "changing.py").write_text(f"def loss(prompt, pictures):\n    return {value}\n")
        sys.modules.pop("changing", None)
        score = METHOD.run(plan, run=tmp_path / "run", store=tmp_path / "store").score()
        scores.append(score.value if isinstance(score, askew.Estimate) else None)
    assert scores == [1.0, 1.0, 25.0]


@pytest.mark.parametrize(
    "extra", [["--topic", "people"], ["--seed", "1"], ["--no-random-search"], ["--model", "studio"]]
)
def test_options_with_a_plan_are_refused(
    extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["mine", "--plan", "plan.toml", *extra]) == 2
    assert "--plan contains everything that determines the results" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_plan_runs_from_its_file_if_it_names_no_code(
    blue: askew.MiningResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--run", str(tmp_path / "run"), "--store", str(blue.store), "--budget", "0"]
    assert command(["mine", "--plan", str(blue.folder / "plan.toml"), *where]) == 0
    assert content(tmp_path / "run") == content(blue.folder)
    (tmp_path / "code.toml").write_text(MinePlan(objective="os:getcwd").to_toml(), encoding="utf-8")
    assert command(["mine", "--plan", str(tmp_path / "code.toml")]) == 2
    assert "must not make askew run code" in " ".join(capsys.readouterr().err.split())
