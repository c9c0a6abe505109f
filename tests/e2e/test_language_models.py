"""Audits planned by a language model; the model answers by rote, over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askew.cli import run
from askew.errors import ServerError, UsageError
from askew.method import read_plan
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.store.store import Completions
from local_llm import Reply, fails, says, serving

PROMPT = "a nurse at work"
VALUES = {"gender": ("female", "male"), "light": ("dim", "bright")}


def answer(number: int, content: dict[str, Any]) -> Reply:
    """Free words in the first steps, then the axes that were spoken of."""
    if "response_format" not in content:
        return says("Gender and light: a female nurse at work, a male nurse at work, and so on.")
    axes = [
        {
            "name": name,
            "kind": "societal",
            "counterfactuals": [{"value": v, "prompt": f"{PROMPT}, {v}"} for v in values],
        }
        for name, values in VALUES.items()
    ]
    return says(json.dumps({"axes": axes}))


def plan(store: Path, told: list[str], **settings: Any) -> Plan:
    """A plan as `askew audit` makes it."""
    wanted = {"model": "studio/planted", "axes": ["gender", "light"], "llm": "openai/m", **settings}
    return survey_plan([PROMPT], cache=Completions(store), tell=told.append, **wanted)


def test_an_audit_is_planned_once_and_then_from_the_store(tmp_path: Path) -> None:
    told: list[str] = []
    with serving(answer) as server:
        first = plan(tmp_path, told, llm_args={"url": server.url})
        assert len(server.requests) == 2
        assert plan(tmp_path, told, llm_args={"url": server.url}).hash == first.hash
        assert len(server.requests) == 2
    assert told[0].startswith("openai/m: 2 calls, 0 answers from the store")
    assert told[1].startswith("openai/m: 0 calls, 2 answers from the store")
    (planned,) = first.prompts
    assert [axis.name for axis in planned.axes] == ["gender", "light"]
    assert planned.axes[1].counterfactuals == {"dim": f"{PROMPT}, dim", "bright": f"{PROMPT}, bright"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"llm_args": {"url": "localhost"}}, "no address"),
        ({"llm": "lexicon", "llm_args": {"url": "http://localhost:1/v1"}}, "url"),
        ({"llm_args": {"colour": 1}}, "colour"),
        ({"llm": "openai"}, "which model"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        plan(tmp_path, [], **settings)


def test_a_server_that_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    refusing = serving(lambda number, content: fails(401, "who are you?"))
    with refusing as server, pytest.raises(ServerError, match="who are you"):
        plan(tmp_path / "store", [], llm_args={"url": server.url})
    assert not (tmp_path / "store").exists()


def test_several_prompts_are_planned_at_once_and_in_order(tmp_path: Path) -> None:
    prompts = [f"{PROMPT} in town {k}" for k in range(6)]
    with serving(answer) as server:
        planned = survey_plan(
            prompts, model="studio/planted", axes=["gender"], llm="openai/m", llm_args={"url": server.url}
        )
        assert len(server.requests) == 12
    assert [prompt.text for prompt in planned.prompts] == prompts


@pytest.mark.slow
def test_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(answer) as server:
        command = ["axes", PROMPT, "--axes", "gender,light", "--llm", "openai/m", "--llm-url", server.url,
                   "--store", str(tmp_path / "store"), "--to", str(tmp_path / "plan.toml")]  # fmt: skip
        assert run(command) == 0
    assert "2 calls" in capfd.readouterr().err
    assert [axis.name for axis in read_plan(tmp_path / "plan.toml").prompts[0].axes] == ["gender", "light"]
