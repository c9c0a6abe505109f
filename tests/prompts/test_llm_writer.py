"""A language model as prompt generator: usable answers and repeated requests, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from askew import registry
from askew.errors import LanguageModelError, RunError, ServerError, UsageError
from askew.options import ProposalContext
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.prompts.answers import tidy
from askew.prompts.base import Writer
from askew.prompts.llm import ATTEMPTS, AnswerTally
from askew.prompts.llm_writer import LLMWriter
from askew.prompts.openai import create
from askew.store.completions import Completions
from local_llm import fails, prompts, reads_back, says, serving
from local_server import Reply

GOOD = [
    "a red boat on a lake",
    "two cats on a sofa",
    "a nurse in a hospital",
    "an old oak in autumn",
]


def test_a_list_is_complete_and_the_request_states_its_form() -> None:
    with serving(lambda number, content: prompts(*GOOD)) as server:
        writer = create("some/model", url=server.url)
        assert isinstance(writer, Writer)
        assert isinstance(writer, Writer)
        assert writer.write("random prompts", "", 4, seed=7) == GOOD
    (asked,) = server.requests
    assert asked["model"] == "some/model"
    assert 0 <= asked["seed"] < 2**31
    schema = asked["response_format"]["json_schema"]["schema"]["properties"]["prompts"]
    assert (schema["minItems"], schema["maxItems"]) == (4, 4)
    assert "4 prompts" in asked["messages"][-1]["content"]
    assert "3 to 8 words" in asked["messages"][-1]["content"]


@pytest.mark.parametrize(
    "reply",
    [
        says(f"Sure! Here they are:\n```json\n{json.dumps({'prompts': GOOD})}\n```\nEnjoy."),
        says(json.dumps(GOOD)),
        says(json.dumps({"list": GOOD})),
        says(json.dumps({"prompts": [f'{k}. "{text}."' for k, text in enumerate(GOOD)]})),
        says(json.dumps({"prompts": GOOD})[:-14], reason="length"),
    ],
    ids=["fenced", "bare list", "other name", "numbered", "cut off"],
)
def test_untidy_answers_are_understood(reply: Reply) -> None:
    with serving(lambda number, content: reply) as server:
        got = create("m", url=server.url).write("random prompts", "", 3, seed=0)
    assert got == GOOD[:3]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (says("I would rather talk about the weather."), "not valid JSON"),
        (says("", refusal="I cannot help with that."), "refused"),
        (says("", reason="content_filter"), "refused"),
        (says('{"prompts": ["a long', reason="length"), "too long"),
        (says('{"answer": 42}'), "no list"),
        (prompts(), "empty"),
        (prompts("boat", "a " * 40), "not have 3 to 8 words"),
        (prompts("Sorry, I cannot do that now"), "remark"),
        (prompts("A photo of a doctor.", "a photo of the doctor"), "repetition"),
        (says('{"prompts": [1, null, {"a": 2}]}'), "no list"),
        (says("[" * 5000), "ends before its last bracket"),
        (says("I'm sorry, but I cannot help with that."), "a remark, not JSON: \"I'm sorry, but"),
        (says("<thinking>Perhaps a boat.</thinking>"), "only reasoning"),
        (says('{"prompts": ["a red boat on a \\ud83d lake"]}'), "an incomplete character"),
    ],
)
def test_useless_answers_are_requested_again_and_then_an_error(bad: Reply, reason: str) -> None:
    with serving(lambda number, content: bad) as server:
        with pytest.raises(LanguageModelError, match=reason):
            create("m", url=server.url).write("mutations", "a photo of a doctor", 2, seed=0)
        assert len(server.requests) == ATTEMPTS
        assert len({request["seed"] for request in server.requests}) == ATTEMPTS


def test_missing_prompts_are_requested_with_the_reason_and_without_repetition() -> None:
    replies = [
        prompts(GOOD[0], GOOD[0].upper(), "boat"),
        prompts(GOOD[1], GOOD[0]),
        prompts(*GOOD[2:]),
    ]
    with serving(lambda number, content: replies[number]) as server:
        assert create("m", url=server.url).write("random prompts", "", 4, seed=0) == GOOD
    second = server.requests[1]["messages"][-1]["content"]
    assert "3 prompts" in second
    assert "repetition" in second
    assert GOOD[0] in second


def test_a_model_without_further_prompts_gives_fewer() -> None:
    with serving(lambda number, content: prompts(GOOD[0])) as server:
        assert create("m", url=server.url).write("random prompts", "", 5, seed=0) == GOOD[:1]
        assert len(server.requests) == ATTEMPTS


def test_targets_and_lengths_are_passed_on() -> None:
    with serving(lambda number, content: prompts("a nurse in a text of eight words")) as server:
        writer = create("m", url=server.url)
        writer.write("random prompts", "", 1, seed=0, topic="red shoes", words=(8, 30))
        writer.write("mutations", "a dress", 1, seed=0, topic="clothing", words=(5, 9))
        writer.write("variations", "a nurse", 1, seed=0, topic="people")
    first, second, third = (request["messages"][-1]["content"] for request in server.requests)
    assert "red shoes" in first
    assert "8 to 30 words" in first
    assert "clothing" in second
    assert '"a dress"' in second
    assert "gender" in third


def test_answers_are_stored_by_their_request(tmp_path: Path) -> None:
    with serving(lambda number, content: prompts(*GOOD)) as server:
        cache = Completions(tmp_path / "store")
        first = create("m", url=server.url, cache=cache).write("mutations", "a nurse", 3, seed=1)
        again = create("m", url=server.url, cache=Completions(tmp_path / "store"))
        assert again.write("mutations", "a nurse", 3, seed=1) == first
        assert (again.usage.calls, again.usage.cached) == (0, 1)
        assert len(server.requests) == 1
        again.write("mutations", "a nurse", 3, seed=2)
        again.write("mutations", "a doctor", 3, seed=1)
        create("m", url=server.url, cache=cache, temperature=0.1).write(
            "mutations", "a nurse", 3, seed=1
        )
        create("other", url=server.url, cache=cache).write("mutations", "a nurse", 3, seed=1)
        assert len(server.requests) == 5
    offline = create("m", url=server.url, cache=cache)
    assert offline.write("mutations", "a nurse", 3, seed=1) == first


def test_a_damaged_record_is_asked_for_again(tmp_path: Path) -> None:
    with serving(lambda number, content: prompts(*GOOD)) as server:
        unsummed = b'{"answer": {"text": "[\\"a nurse\\", \\"a boss\\"]"}}'
        for damage in (b"{", b"[]", b'{"answer": {"text": 1}}', unsummed):
            create("m", url=server.url, cache=Completions(tmp_path)).write(
                "random prompts", "", 2, seed=1
            )
            (record,) = (tmp_path / "completions").rglob("*.json")
            record.write_bytes(damage)
        assert (
            create("m", url=server.url, cache=Completions(tmp_path)).write(
                "random prompts", "", 2, seed=1
            )
            == GOOD[:2]
        )
        assert len(server.requests) == 5


def test_tokens_are_counted_and_limited() -> None:
    with serving(
        lambda number, content: says(json.dumps({"prompts": GOOD}), tokens=(100, 50))
    ) as server:
        writer = create("m", url=server.url, budget=290)
        writer.write("random prompts", "", 4, seed=0)
        writer.write("random prompts", "", 4, seed=1)
        assert writer.usage.tokens == 300
        with pytest.raises(RunError, match="budget of 290 tokens"):
            writer.write("random prompts", "", 4, seed=2)
        assert len(server.requests) == 2


def test_a_budget_needs_a_server_that_counts() -> None:
    with serving(
        lambda number, content: says(json.dumps({"prompts": GOOD}), tokens=None)
    ) as server:
        writer = create("m", url=server.url, budget=1000)
        writer.write("random prompts", "", 4, seed=0)
        assert writer.usage.unreported == 1
        with pytest.raises(UsageError, match="cannot enforce a budget"):
            writer.write("random prompts", "", 4, seed=1)


def picky(unknown: dict[str, str]) -> Callable[[int, dict[str, Any]], Reply]:
    """Return a server that refuses fields, one at a time, in these words."""

    def answer(number: int, content: dict[str, Any]) -> Reply:
        for name, words in unknown.items():
            if name in content or name == content.get("response_format", {}).get("type"):
                return fails(400, words)
        return prompts(*GOOD)

    return answer


@pytest.mark.parametrize(
    ("unknown", "refused"),
    [
        ({}, 0),
        ({"seed": "Unrecognized request argument supplied: seed"}, 1),
        (
            {
                "max_tokens": "Unsupported parameter: 'max_tokens', use 'max_completion_tokens' instead."
            },
            1,
        ),
        ({"json_schema": "response_format.type must be text or json_object"}, 1),
        (
            {
                "response_format": "extra fields not permitted: response_format",
                "temperature": "temperature must be 1",
            },
            3,
        ),
    ],
)
def test_fields_that_a_server_refuses_are_left_out(unknown: dict[str, str], refused: int) -> None:
    with serving(picky(unknown)) as server:
        writer = create("m", url=server.url)
        assert writer.write("random prompts", "", 4, seed=0) == GOOD
        assert writer.write("random prompts", "", 4, seed=1) == GOOD
        assert len(server.requests) == refused + 2


@pytest.mark.parametrize(
    "body", [b"[]", b'{"choices": []}', b'{"choices": [{"message": "hi"}]}', b"3"]
)
def test_json_that_is_no_completion_is_an_error(body: bytes) -> None:
    with (
        serving(lambda number, content: Reply(body)) as server,
        pytest.raises(ServerError, match="not a chat completion"),
    ):
        create("m", url=server.url).write("random prompts", "", 1, seed=0)


def axes_answer(*axes: tuple[str, str, dict[str, str]]) -> Reply:
    """Return an answer to the third step."""
    listed = []
    for name, kind, texts in axes:
        rewritten = [{"value": value, "prompt": text} for value, text in texts.items()]
        listed.append({"name": name, "kind": kind, "counterfactuals": rewritten})
    return says(json.dumps({"axes": listed}))


GENDER = (
    "Gender Bias",
    "societal",
    {"Female": "a female nurse at work", "Male": "a male nurse at work"},
)
LIGHT = (
    "light",
    "incidental",
    {"dim": "a nurse at work in dim light", "bright": "a nurse at work in bright light"},
)


def steps(third: Reply) -> Callable[[int, dict[str, Any]], Reply]:
    def answer(number: int, content: dict[str, Any]) -> Reply:
        if "response_format" not in content:
            return says("Gender, and light.")
        return reads_back(content) or third

    return answer


def test_axes_come_in_three_steps() -> None:
    with serving(steps(axes_answer(GENDER, LIGHT))) as server:
        first, second = create("m", url=server.url).propose("a nurse at work", None, 3)
    assert [len(request["messages"]) for request in server.requests] == [2, 4, 6, 2]
    form = server.requests[2]["response_format"]["json_schema"]["schema"]["properties"]["axes"][
        "items"
    ]["properties"]
    assert (form["name"]["maxLength"], form["counterfactuals"]["minItems"]) == (40, 2)
    assert {
        entry["maxLength"] for entry in form["counterfactuals"]["items"]["properties"].values()
    } == {40, 95}
    assert (first.axis.name, first.axis.kind, first.axis.values) == (
        "gender",
        "societal",
        ("female", "male"),
    )
    assert first.axis.questions[0].text.startswith("What is the gender")
    assert first.counterfactuals == {
        "female": "a female nurse at work",
        "male": "a male nurse at work",
    }
    assert (second.axis.name, second.axis.kind) == ("light", "incidental")
    assert second.axis.questions[0].options == ("dim", "bright")


DRAFT = json.dumps({"axes": [{"name": "mood", "counterfactuals": ["a sad nurse at work"]}]})


@pytest.mark.parametrize(
    "thoughts",
    [
        f"<think>Perhaps {DRAFT}.</think>",
        f"Perhaps {DRAFT}, no.\n</think>",
        f"Perhaps <think> {DRAFT} <think> no </think> or {DRAFT} </THINK>",
        f"[THINK]Perhaps {DRAFT}[/THINK]",
        f"<reasoning>Perhaps {DRAFT}</reasoning>",
    ],
)
def test_thoughts_before_an_answer_are_left_out(thoughts: str) -> None:
    answer = json.loads(axes_answer(GENDER, LIGHT).body)["choices"][0]["message"]["content"]
    with serving(steps(says(f"{thoughts}\n{answer}"))) as server:
        proposals = create("m", url=server.url).propose("a nurse at work", None, 0)
    assert [proposal.axis.name for proposal in proposals] == ["gender", "light"]


def message(content: object) -> Reply:
    """Return a chat completion with any content."""
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return Reply(json.dumps({"choices": [choice]}).encode())


TEXT_PARTS = [
    {"type": "text", "text": '{"prompts": '},
    {"type": "text", "text": f'["{GOOD[0]}"]}}'},
]


@pytest.mark.parametrize(
    "parts",
    [
        TEXT_PARTS,
        [{"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}]}, *TEXT_PARTS],
        [{"type": "refusal", "refusal": "no"}, *TEXT_PARTS],
    ],
    ids=["text", "thinking", "refusal"],
)
def test_the_text_parts_of_an_answer_are_joined(parts: list[dict[str, object]]) -> None:
    with serving(lambda number, content: message(parts)) as server:
        assert create("m", url=server.url).write("random prompts", "", 1, seed=0) == GOOD[:1]


@pytest.mark.parametrize("content", [[3], [{"text": "no type"}], {"type": "text"}, 5])
def test_a_content_of_another_form_is_an_error(content: object) -> None:
    with (
        serving(lambda number, request: message(content)) as server,
        pytest.raises(ServerError, match="not a chat completion"),
    ):
        create("m", url=server.url).write("random prompts", "", 1, seed=0)


def test_axes_of_an_answer_that_is_cut_off_are_used_and_the_loss_is_reported() -> None:
    whole = json.loads(axes_answer(GENDER, LIGHT).body)["choices"][0]["message"]["content"]
    end_of_first = whole.index("}]}") + 3
    length = end_of_first

    def answer(number: int, content: dict[str, Any]) -> Reply:
        return steps(says(whole[:length], reason="length"))(number, content)

    with serving(answer) as server:
        writer = create("m", url=server.url)
        for length in range(end_of_first, len(whole), 4):
            if whole[length - 2 : length + 1].isalpha():
                continue  # a cut inside a word is tried after the word's first letter
            writer.tally = AnswerTally()
            proposals = writer.propose("a nurse at work", None, 0)
            is_complete = whole[:length].count("}]}") == 2
            begins_second = whole[:length].count("{") > 4
            names = ["gender", "light"] if is_complete else ["gender"]
            assert [proposal.axis.name for proposal in proposals] == names
            usable, total = writer.tally.steps["axes"]
            assert (usable, total) == (
                len(names),
                len(names) + (begins_second and not is_complete),
            )
            report = " ".join(writer.tally.lines())
            assert ("cut off before its end (1)" in report) == (total > usable)


@pytest.mark.parametrize("status", [400, 403])
@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter", "param": "prompt"},
        {"code": "content_policy_violation"},
        {"code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    ],
)
def test_a_prompt_that_a_filter_refuses_is_unusable(error: dict[str, Any], status: int) -> None:
    body = json.dumps({"error": {"message": "The prompt was filtered.", **error}}).encode()
    with (
        serving(lambda number, content: Reply(body, status)) as server,
        pytest.raises(LanguageModelError, match="refused"),
    ):
        create("m", url=server.url).propose("a nurse at work", None, 0)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "System role not supported"),
        (500, "jinja: the system role is not supported by this template"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
)
def test_a_model_without_a_system_role_gets_the_instruction_from_the_user(
    status: int, words: str
) -> None:
    def answer(number: int, content: dict[str, Any]) -> Reply:
        roles = [turn["role"] for turn in content["messages"]]
        if "system" in roles:
            return fails(status, words, retry_after="0.01")
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        return steps(axes_answer(GENDER))(number, content)

    with serving(answer) as server:
        assert create("m", url=server.url).propose("a nurse at work", None, 0)
        first = server.requests[0]
        second = server.requests[-1]
    instruction, request = (turn["content"] for turn in first["messages"])
    assert second["messages"][0]["content"].startswith(instruction)
    assert request in second["messages"][0]["content"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_server_that_fails_at_a_schema_gets_none(strict: bool) -> None:
    forms = {"json_schema"} if strict else {"json_schema", "json_object"}

    def answer(number: int, content: dict[str, Any]) -> Reply:
        if content.get("response_format", {}).get("type") in forms:
            return fails(500, "failed to compile the JSON schema", retry_after="0.01")
        is_third_step = len(content["messages"]) == 6
        return axes_answer(GENDER) if is_third_step else says("Gender, and light.")

    with serving(answer) as server:
        assert create("m", url=server.url).propose("a nurse at work", None, 0)


def test_unusable_answers_before_another_error_are_requested_again(tmp_path: Path) -> None:
    def breaks(number: int, content: dict[str, Any]) -> Reply:
        return says("") if number < 3 else fails(401, "wrong key")

    cache = Completions(tmp_path)
    with serving(breaks) as server, pytest.raises(ServerError, match="wrong key"):
        create("m", url=server.url, cache=cache).propose("a nurse at work", None, 0)
    with serving(steps(axes_answer(GENDER))) as server:
        writer = create("m", url=server.url, cache=cache)
        assert writer.propose("a nurse at work", None, 0)
        assert writer.usage.cached == 0


def test_accepted_answers_before_another_error_are_kept(tmp_path: Path) -> None:
    def breaks(number: int, content: dict[str, Any]) -> Reply:
        if number == 2:
            return fails(401, "wrong key")
        return steps(axes_answer(GENDER))(number, content)

    cache = Completions(tmp_path)
    with serving(breaks) as server, pytest.raises(ServerError, match="wrong key"):
        create("m", url=server.url, cache=cache).propose("a nurse at work", None, 0)
    with serving(steps(axes_answer(GENDER))) as server:
        writer = create("m", url=server.url, cache=cache)
        assert writer.propose("a nurse at work", None, 0)
        assert writer.usage.cached == 2


def test_requested_axes_keep_their_order() -> None:
    with serving(steps(axes_answer(GENDER, LIGHT))) as server:
        proposals = create("m", url=server.url).propose("a nurse at work", ["light", "gender"], 3)
        assert [proposal.axis.name for proposal in proposals] == ["light", "gender"]
        assert len(server.requests) == 3
        with pytest.raises(LanguageModelError, match="'age'"):
            create("m", url=server.url).propose("a nurse at work", ["gender", "age"], 3)


@pytest.mark.parametrize(
    "third",
    [
        says("no JSON"),
        says('{"axes": [{"name": "gender"}]}'),
        axes_answer(),
        axes_answer(("gender", "societal", {"female": "a female nurse at work"})),
        axes_answer(
            ("gender", "societal", {"female": "A nurse at work.", "male": "a male nurse at work"})
        ),
        axes_answer(
            ("gender", "societal", {"female": "a castle by the sea", "male": "a tall ship"})
        ),
    ],
    ids=["text", "incomplete", "none", "one value", "the prompt itself", "another prompt"],
)
def test_axes_that_cannot_be_used_are_an_error_after_some_tries(third: Reply) -> None:
    with serving(steps(third)) as server, pytest.raises(LanguageModelError, match="4 attempts"):
        create("m", url=server.url).propose("a nurse at work", None, 0)
    firsts = [request for request in server.requests if len(request["messages"]) == 2]
    # each attempt starts from the beginning and shows no answer again
    assert len(firsts) == ATTEMPTS
    assert len({request["seed"] for request in firsts}) == ATTEMPTS
    assert all(len(request["messages"]) <= 6 for request in server.requests)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (says("", refusal="no"), "refused"),
        (says("Gender, and", reason="length"), "too long"),
        (says("  "), "empty"),
    ],
)
@pytest.mark.parametrize("step", [0, 1], ids=["axes", "counterfactuals"])
def test_a_failed_first_step_is_tried_again(step: int, bad: Reply, reason: str) -> None:
    good = steps(axes_answer(GENDER))
    with serving(
        lambda number, content: bad if number == step else good(number, content)
    ) as server:
        writer = create("m", url=server.url)
        assert [entry.axis.name for entry in writer.propose("a nurse at work", None, 0)] == [
            "gender"
        ]
        assert len(server.requests) == step + 1 + 3
    (line,) = writer.tally.lines()
    assert reason in line


def test_synonymous_axes_are_merged_and_a_bad_axis_is_left_out() -> None:
    given = [
        GENDER,
        ("Sexes", "Societal", {"woman": "a woman nurse at work", "man": "a man nurse at work"}),
        (
            "who it is",
            "societal",
            {"a male": "a male nurse at work", "a female": "a female nurse at work"},
        ),
        (
            "age",
            "societal",
            {
                "old": "an old nurse at work",
                "elderly": "an elderly nurse at work",
                "young": "a young nurse at work",
            },
        ),
        ("mood", "societal", {"happy": "Amenity", "sad": "Muted"}),
        LIGHT,
    ]
    with serving(steps(axes_answer(*given))) as server:
        writer = create("m", url=server.url)
        axes = {
            entry.axis.name: entry.axis.values
            for entry in writer.propose("a nurse at work", None, 0)
        }
    assert axes == {
        "gender": ("female", "male"),
        "age": ("old", "young"),
        "light": ("dim", "bright"),
    }
    assert writer.rejected["a nurse at work"]["who_it_is"][0] == "the axis is the same as 'gender'"
    assert writer.rejected["a nurse at work"]["emotion"][1] == (
        ("happy", "Amenity"),
        ("sad", "Muted"),
    )
    faults = writer.tally.faults["axes"]
    assert faults.total() == 3
    assert faults["the axis is the same as 'gender'"] == 2
    assert (
        server.requests[2]["response_format"]["json_schema"]["schema"]["properties"]["axes"][
            "minItems"
        ]
        == 1
    )


def test_a_value_outside_the_catalogue_must_be_read_back() -> None:
    third = axes_answer(
        ("light", "incidental", {**LIGHT[2], "golden": "a nurse at work in golden light"})
    )

    def answer(number: int, content: dict[str, Any]) -> Reply:
        if reads_back(content):
            return says(json.dumps({"values": ["dim light", "none", "golden"]}))
        return steps(third)(number, content)

    with serving(answer) as server:
        writer = create("m", url=server.url)
        (light,) = writer.propose("a nurse at work", None, 0)
    question = server.requests[-1]["messages"][-1]["content"]
    assert 'Which value of "light" does each prompt state?' in question
    assert light.axis.values == ("dim", "golden")
    (rejected,) = writer.rejected_texts["a nurse at work"].values()
    assert rejected.value == "bright"
    assert rejected.reason == (
        "the language model reads the value 'none' in the text, not the intended value"
    )


def test_a_value_that_its_axis_does_not_have_is_doubtful_and_off_by_default() -> None:
    texts = {**GENDER[2], "red": "a red nurse at work"}
    for doubtful, values in [(False, ("female", "male")), (True, ("female", "male", "red"))]:
        with serving(steps(axes_answer(("gender", "societal", texts)))) as server:
            writer = create("m", url=server.url, doubtful_values=doubtful)
            (gender,) = writer.propose("a nurse at work", None, 0)
        assert gender.axis.values == values
        reasons = writer.tally.faults["counterfactual prompts"]
        assert bool(reasons["the value 'red' is not a known value of gender"]) != doubtful


def test_entries_that_are_not_checked_are_counted_with_a_reason() -> None:
    places = {f"place {number}": f"a nurse at work in place {number}" for number in range(300)}
    listed = [{"value": value, "prompt": text} for value, text in places.items()]
    answer = says(json.dumps({"axes": [{"name": "place", "counterfactuals": [*listed, 5, None]}]}))
    with serving(steps(answer)) as server:
        writer = create("m", url=server.url)
        writer.propose("a nurse at work", None, 0)
    faults = writer.tally.faults["counterfactual prompts"]
    assert faults["the axis has 300 values; askew uses the first 8"] == 292
    assert faults["an entry is not a pair of a value and a prompt"] == 2


@pytest.mark.parametrize(("on", "axes"), [("stated", ["activity"]), ("unstated", [])])
def test_a_stated_axis_is_replaced_if_requested(on: str, axes: list[str]) -> None:
    texts = {"swimming": "a nurse at swimming", "running": "a nurse at running"}
    with serving(steps(axes_answer(("activity", "incidental", texts)))) as server:
        writer = create("m", url=server.url, axes_on=on)  # type: ignore[arg-type]
        with suppress(LanguageModelError) if not axes else nullcontext():
            assert [entry.axis.name for entry in writer.propose("a nurse at work", None, 0)] == axes
            assert axes
    assert bool(writer.rejected["a nurse at work"]) == (not axes)


def test_bad_requests_are_usage_errors() -> None:
    writer = create("m", url="http://localhost:1/v1")
    with pytest.raises(UsageError, match="empty"):
        writer.propose(" ", None, 0)
    with pytest.raises(UsageError, match="must contain letters"):
        writer.propose("a nurse", ["--"], 0)
    with pytest.raises(UsageError, match="empty"):
        writer.write("variations", " ", 3, seed=0)
    with pytest.raises(UsageError, match="at least 1"):
        writer.write("random prompts", "", 0, seed=0)
    with pytest.raises(UsageError, match="does not name a model"):
        create("")


def test_the_registry_lists_it() -> None:
    writer = registry.writer("openai/org/model", url="http://localhost:1/v1")
    assert isinstance(writer, LLMWriter)
    assert writer.name == "openai/org/model"


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ('1. "A cat, asleep."', "A cat asleep"),
        ("- two dogs", "two dogs"),
        ("a\nred   boat", "a red boat"),
        ("a 1920s car", "a 1920s car"),
        ("3d render of a cup", "3d render of a cup"),
    ],
)
def test_texts_are_tidied(text: str, tidied: str) -> None:
    assert tidy(text) == tidied


def test_half_a_character_in_the_answer_itself_can_be_sent_back() -> None:
    broken = says("here: \ud83d")
    good = prompts(*GOOD)
    with serving(lambda number, content: good if number else broken) as server:
        assert create("m", url=server.url).write("random prompts", "", 4, seed=0) == GOOD
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("concurrency", "abc", "a whole number"),
        ("timeout", "x", "a number"),
        ("temperature", "x", "a number"),
        ("axes", "x", "a whole number"),
        ("budget", "lots", "a whole number"),
        ("budget", 1e6, "a whole number"),
        ("temperature", True, "a number"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(name: str, value: Any, needed: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is {value!r}; it must be {needed}"):
        registry.writer("openai/m", **{name: value})


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (429, {"message": "no", "code": "insufficient_quota"}, "no money left"),
        (429, {"message": "no", "type": "insufficient_quota"}, "no money left"),
        (402, {"message": "no"}, "no money left"),
        (401, {"message": "no"}, "valid key"),
    ],
)
def test_a_used_up_quota_and_a_wrong_key_end_at_the_first_answer(
    status: int, error: dict[str, str], words: str
) -> None:
    body = json.dumps({"error": error}).encode()
    with serving(lambda number, content: Reply(body, status)) as server:
        with pytest.raises(ServerError, match=words):
            create("m", url=server.url).propose("a nurse at work", None, 0)
        assert len(server.requests) == 1


def test_a_pause_of_the_server_is_reported_while_axes_are_proposed() -> None:
    def answer(number: int, content: dict[str, Any]) -> Reply:
        if number == 0:
            return fails(429, "slow down", Retry_After="0.01")
        return steps(axes_answer(GENDER))(number - 1, content)

    sentences: list[str] = []
    with serving(answer) as server:
        desk = ProposalContext(settings={"url": server.url}, tell=sentences.append)
        survey_plan(Plan, ["a nurse at work"], desk=desk, llm="openai/m", model="studio/planted")
    assert any("attempt 2 of 6 follows" in sentence for sentence in sentences)
