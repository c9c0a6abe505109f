"""Audits planned by a scripted language model over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from askew import cli
from askew.cli import run
from askew.errors import LanguageModelError, ServerError, UsageError
from askew.hosted import KEY_VARIABLE
from askew.models.base import Setting
from askew.options import ProposalContext
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan, read_plan
from askew.store.completions import Completions
from local_llm import LocalLLM, fails, reads_back, says, serving
from local_server import Reply

PROMPT = "a nurse at work"
VALUES = {"gender": ("female", "male"), "light": ("dim", "bright")}


def answer(number: int, content: dict[str, Any]) -> Reply:
    """Return free text in the first steps, then the axes that the text mentions."""
    if "response_format" not in content:
        return says("Gender and light: a female nurse at work, a male nurse at work, and so on.")
    values_read = reads_back(content)
    if values_read:
        return values_read
    prompt = re.findall(r'"(.*?)"', content["messages"][1]["content"])[0]
    axes = []
    for name, values in VALUES.items():
        rewritten = [{"value": value, "prompt": f"{prompt}, {value}"} for value in values]
        axes.append({"name": name, "kind": "societal", "counterfactuals": rewritten})
    return says(json.dumps({"axes": axes}))


def plan(
    store: Path, notes: list[str], writer: Mapping[str, Setting] | None = None, **settings: Any
) -> Plan:
    """Return a plan as `askew audit` makes it."""
    desk = ProposalContext(writer or {}, Completions(store), notes.append)
    wanted = {"model": "studio/planted", "axes": ["gender", "light"], "llm": "openai/m", **settings}
    return survey_plan(Plan, [PROMPT], desk=desk, **wanted)


def test_an_audit_is_planned_once_and_then_from_the_store(tmp_path: Path) -> None:
    notes: list[str] = []
    with serving(answer) as server:
        first = plan(tmp_path, notes, {"url": server.url})
        assert len(server.requests) == 3
        assert plan(tmp_path, notes, {"url": server.url}).hash == first.hash
        assert len(server.requests) == 3
    assert notes[0].startswith("openai/m: 3 calls, 0 answers from the store")
    assert notes[1].startswith("openai/m: 0 calls, 3 answers from the store")
    (planned,) = first.prompts
    assert [axis.name for axis in planned.axes] == ["gender", "light"]
    assert planned.axes[1].counterfactuals == {
        "dim": f"{PROMPT}, dim",
        "bright": f"{PROMPT}, bright",
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"writer": {"url": "localhost"}}, "not a server address"),
        ({"llm": "lexicon", "writer": {"url": "http://localhost:1/v1"}}, "url"),
        ({"writer": {"colour": 1}}, "colour"),
        ({"llm": "openai"}, "does not name a model"),
    ],
)
def test_wrong_settings_are_errors(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        plan(tmp_path, [], **settings)


def test_a_server_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    refusing = serving(lambda number, content: fails(401, "who are you?"))
    with refusing as server, pytest.raises(ServerError, match="who are you"):
        plan(tmp_path / "store", [], {"url": server.url})
    assert not (tmp_path / "store").exists()


def test_several_prompts_are_planned_at_once_and_in_order(tmp_path: Path) -> None:
    prompts = [f"{PROMPT} in town {k}" for k in range(6)]
    with serving(answer) as server:
        planned = survey_plan(
            Plan,
            prompts,
            model="studio/planted",
            axes=["gender"],
            llm="openai/m",
            desk=ProposalContext({"url": server.url}),
        )
        assert len(server.requests) == 12
    assert [prompt.text for prompt in planned.prompts] == prompts


TWELVE = [
    f"{PROMPT} in a {place}"
    for place in (
        "park",
        "city",
        "village",
        "forest",
        "school",
        "church",
        "museum",
        "library",
        "garden",
        "castle",
        "desert",
        "hotel",
    )
]


def useless_for(*words: str) -> Callable[[int, dict[str, Any]], Reply]:
    """Return a function that answers nonsense where a prompt has one of these words."""

    def reply(number: int, content: dict[str, Any]) -> Reply:
        if "response_format" in content and any(
            word in content["messages"][1]["content"] for word in words
        ):
            texts = [{"value": "male", "prompt": "Amenity"}, {"value": "female", "prompt": "Muted"}]
            return says(
                json.dumps(
                    {"axes": [{"name": "gender", "kind": "societal", "counterfactuals": texts}]}
                )
            )
        return answer(number, content)

    return reply


def axes_command(server: LocalLLM, store: Path, *more: str) -> list[str]:
    return [
        "plan",
        *TWELVE,
        "--llm",
        "openai/m",
        "--llm-url",
        server.url,
        "--store",
        str(store),
        *more,
    ]


def test_one_failing_prompt_of_twelve_is_named_and_the_rest_planned(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "plan.toml"
    with serving(useless_for("desert")) as server:
        assert run(axes_command(server, tmp_path / "store", "--output", str(place))) == 0
    errors = capfd.readouterr().err
    assert "1 of 12 prompts, which are left out" in errors
    assert f"{TWELVE[10]!r}: openai/m gave no usable answer" in errors
    # four for each good prompt, and four times three for the failing prompt
    assert "56 calls" in errors
    assert (
        "44 of 52 counterfactual prompts could be used; reasons for rejection: the text does not "
        "state its value (8)" in errors
    )
    assert [prompt.text for prompt in read_plan(place).prompts] == [
        text for text in TWELVE if text != TWELVE[10]
    ]
    written = place.read_text()
    assert f'# "{TWELVE[10]}", axis gender, rejected: the text does not state its value' in written
    assert '#   "male" = "Amenity"' in written


def test_an_audit_stops_if_a_prompt_fails(tmp_path: Path) -> None:
    notes: list[str] = []
    with serving(useless_for("desert")) as server:
        desk = ProposalContext({"url": server.url}, Completions(tmp_path), notes.append)
        with pytest.raises(
            LanguageModelError,
            match=r"1 of 12 prompts: 'a nurse at work in a desert'.*--output plan.toml",
        ):
            survey_plan(Plan, TWELVE, llm="openai/m", desk=desk, model="studio/planted")
    assert "56 calls" in notes[0]


def test_only_unusable_answers_are_requested_again(tmp_path: Path) -> None:
    with serving(useless_for("desert")) as server:
        assert run(axes_command(server, tmp_path)) == 0
    with serving(answer) as server:  # the same command with a better server
        assert run(axes_command(server, tmp_path)) == 0
        assert len(server.requests) == 4
        assert all("desert" in request["messages"][1]["content"] for request in server.requests)


def test_a_server_without_usable_answers_is_an_error_with_its_cost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(useless_for(PROMPT)) as server:
        assert run(axes_command(server, tmp_path)) == 1
    errors = capfd.readouterr().err
    assert "144 calls" in errors
    assert TWELVE[0] in errors


def test_the_report_counts_usable_answers_by_step(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli.out, "_width", 160)
    with serving(useless_for("desert")) as server:
        assert run(axes_command(server, tmp_path, "--report")) == 0
    table = capfd.readouterr().out
    assert re.search(r"answers in JSON\s+15\s+15\s+100%", table)
    assert re.search(r"counterfactual prompts\s+44\s+52\s+85%", table)
    assert run(["plan", PROMPT, "--report"]) == 2


def test_the_first_step_is_asked_whatever_a_model_suggests(tmp_path: Path) -> None:
    with serving(answer) as server:
        survey_plan(
            Plan,
            ["a sailor"],
            model="studio",
            llm="openai/m",
            desk=ProposalContext({"url": server.url}),
        )
    assert "Along which axes" in server.requests[0]["messages"][1]["content"]
    assert len(server.requests) == 4


def test_a_suggestion_that_does_not_fit_a_prompt_is_ignored() -> None:
    machine, nurse = survey_plan(Plan, ["an arcade machine", "a nurse"], model="studio").prompts
    assert {"gender", "age"}.isdisjoint(axis.name for axis in machine.axes)
    assert [axis.name for axis in nurse.axes] == ["gender", "age", "ethnicity"]


@pytest.mark.parametrize(
    ("on", "words"), [("stated", "exchanged"), ("all", "and also"), ("unstated", "leaves it open")]
)
def test_axes_may_be_stated_in_the_prompt(on: str, words: str) -> None:
    with serving(answer) as server:
        survey_plan(
            Plan,
            ["a sailor"],
            llm="openai/m",
            desk=ProposalContext({"url": server.url, "axes_on": on}),
            model="studio/planted",
        )
    assert words in server.requests[0]["messages"][1]["content"]


def test_the_lexicon_varies_what_a_prompt_states() -> None:
    stated = ProposalContext({"axes_on": "stated"})
    (planned,) = survey_plan(
        Plan, ["Indian astronauts"], model="studio/planted", desk=stated
    ).prompts
    by_name = {axis.name: axis.counterfactuals for axis in planned.axes}
    assert by_name["nationality"]["nigerian"] == "Nigerian astronauts"
    assert "gender" not in by_name
    both = ProposalContext({"axes_on": "all"})
    (everything,) = survey_plan(
        Plan, ["Indian astronauts"], model="studio/planted", desk=both
    ).prompts
    assert {"gender", "nationality"} <= {axis.name for axis in everything.axes}


@pytest.mark.slow
def test_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(answer) as server:
        command = [
            "plan",
            PROMPT,
            "--axes",
            "gender,light",
            "--llm",
            "openai/m",
            "--llm-url",
            server.url,
            "--store",
            str(tmp_path / "store"),
            "--output",
            str(tmp_path / "plan.toml"),
        ]
        assert run(command) == 0
    assert "3 calls" in capfd.readouterr().err
    assert [axis.name for axis in read_plan(tmp_path / "plan.toml").prompts[0].axes] == [
        "gender",
        "light",
    ]


@pytest.mark.parametrize("fails_at", [0, 1, 99])
def test_a_key_is_in_no_file_and_goes_only_to_its_host(
    fails_at: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    canary = "canary-5d1f"
    monkeypatch.setenv(KEY_VARIABLE, canary)

    def reply(number: int, content: dict[str, Any]) -> Reply:
        if number == fails_at:
            return Reply(f"who is {canary}?".encode(), 307, {"Location": f"{other.url}/{canary}"})
        return answer(number, content)

    with serving(answer) as other, serving(reply) as server:
        code = run(
            [
                "audit",
                PROMPT,
                "--model",
                "studio/planted",
                "--axes",
                "gender,light",
                "--images",
                "2",
                "--bootstrap-samples",
                "100",
                "--llm",
                "openai/m",
                "--llm-url",
                server.url,
                "--run",
                str(tmp_path / "run"),
                "--log",
                str(tmp_path / "log.jsonl"),
            ]
        )
        assert code == (0 if fails_at == 99 else 1)
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {canary}"}
        assert other.requests == []
    captured = capsys.readouterr()
    assert canary not in captured.out + captured.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5 or code
    assert not [path for path in files if canary.encode() in path.read_bytes()]
