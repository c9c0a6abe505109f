"""`--vqa openai/MODEL`: labels of a server, its quirks and its faults; by real local requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askew import registry
from askew.errors import ServerError, UsageError
from askew.hosted import KEY_VARIABLE, OPENAI_KEY_VARIABLE
from askew.measure.base import CAPTION, PERSON
from askew.measure.labeling import UNDECIDED
from askew.measure.openai import URL_VARIABLE, HostedVQA, create
from askew.messages import message_listener
from askew.prompts.axes import find_axis
from askew.store.files import sha256
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import Missing, Picture, Question
from local_llm import fails, says, serving
from local_server import Reply
from served_models import served

GENDER = find_axis("gender").questions[0]
AGE = find_axis("age").questions[0]
FEMALE = '{"q1": "female"}'


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (KEY_VARIABLE, OPENAI_KEY_VARIABLE, URL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    folder = tmp_path_factory.mktemp("drawn")
    records = []
    for number, gender in enumerate(["female", "male", "female"]):
        path = folder / f"{number}.png"
        draw(Scene(gender=gender, occupation="nurse"), number).save(path)
        records.append(Picture(sha256(path.read_bytes()), str(path), "a nurse", None))
    return records


def labeler(url: str, **settings: Any) -> HostedVQA:
    return create("m", url=url, revision="1", **settings)


def ask(url: str, picture: Picture, question: Question = GENDER, **settings: Any) -> str | Missing:
    ((answer,),) = labeler(url, **settings).answer([picture], [question])
    return answer


def answered(
    pictures: list[Picture],
    reply: Callable[[int, dict[str, Any]], Reply],
    **settings: Any,
) -> tuple[str | Missing, list[dict[str, Any]]]:
    """Return the answer about the first image, and the requests of the server."""
    with serving(reply) as server:
        answer = ask(server.url, pictures[0], **settings)
    return answer, server.requests


def test_served_labels_are_those_of_the_studio_one_by_one_and_together(
    pictures: list[Picture],
) -> None:
    questions = [GENDER, AGE, CAPTION, PERSON]
    direct = registry.vqa("studio").answer(pictures, questions)
    with served() as server:
        one_by_one = labeler(server.url)
        assert one_by_one.answer(pictures, questions) == direct
        assert len(server.bodies) == 4 * len(pictures) == one_by_one.calls(questions) * 3
        together = labeler(server.url, together=8)
        assert together.answer(pictures, questions) == direct
        assert len(server.bodies) == 6 * len(pictures)
        assert together.calls(questions) == 2  # the caption has a call of its own
    assert together.separate is not None
    assert together.separate.fingerprint == one_by_one.fingerprint != together.fingerprint
    assert one_by_one.separate is None


def test_a_request_has_the_image_the_schema_and_no_more(pictures: list[Picture]) -> None:
    answer, (request,) = answered(pictures, lambda *_: says(FEMALE), size=64, detail="low")
    assert answer == "female"
    assert request.keys() == {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "seed",
        "response_format",
    }
    assert request["response_format"]["json_schema"]["strict"] is True
    text, image = request["messages"][1]["content"]
    assert GENDER.text in text["text"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert image["image_url"]["detail"] == "low"


def test_content_may_be_a_list_of_parts_after_a_lone_end_of_reasoning(
    pictures: list[Picture],
) -> None:
    parts = [{"type": "text", "text": "male? </think>"}, {"type": "text", "text": FEMALE}]
    body = json.dumps({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]})
    answer, _ = answered(pictures, lambda *_: Reply(body.encode()))
    assert answer == "female"


def test_without_a_system_role_the_instruction_precedes_the_image(pictures: list[Picture]) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        has_system = content["messages"][0]["role"] == "system"
        return fails(400, "the system role is not supported") if has_system else says(FEMALE)

    answer, requests = answered(pictures, reply)
    assert answer == "female"
    (message,) = requests[-1]["messages"]
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "text", "image_url"]
    assert message["content"][0]["text"] == requests[0]["messages"][0]["content"]


@pytest.mark.parametrize("status", [400, 422, 500, 503])
def test_a_server_without_schemas_is_asked_without_them_at_once(
    pictures: list[Picture], status: int
) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        if "response_format" in content:
            return fails(status, "response_format is not supported by this model")
        return says(f"It is {FEMALE}")

    answer, requests = answered(pictures, reply)
    assert answer == "female"
    kinds = [request.get("response_format", {}).get("type") for request in requests]
    assert kinds == ["json_schema", "json_object", None]


def test_a_server_may_want_max_completion_tokens_and_its_own_temperature(
    pictures: list[Picture],
) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        if "max_tokens" in content:
            return fails(400, "use max_completion_tokens in place of max_tokens")
        if "temperature" in content:
            return fails(400, "temperature does not support 0.0 with this model")
        return says(FEMALE)

    answer, requests = answered(pictures, reply, max_tokens=77)
    assert answer == "female"
    assert requests[-1]["max_completion_tokens"] == 77


def test_what_a_server_rejected_is_not_sent_again(pictures: list[Picture]) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        return fails(400, "unknown field seed") if "seed" in content else says(FEMALE)

    with serving(reply) as server:
        labeler(server.url).answer(pictures, [GENDER])
    assert ["seed" in request for request in server.requests] == [True, False, False, False]


@pytest.mark.parametrize(
    ("reply", "reason", "words"),
    [
        (says("", refusal="I cannot say"), "refused", "I cannot say"),
        (says("", reason="content_filter"), "refused", ""),
        (says('{"q1": "fema', reason="length"), "unparseable", "cut off"),
        (says("certainly!"), "unparseable", "certainly!"),
        (says('{"q1": "woman"}'), "unparseable", "not one of the options"),
        (says('{"q1": "cannot tell"}'), "cannot_tell", "cannot tell"),
    ],
)
def test_each_kind_of_missing_label_has_its_reason(
    pictures: list[Picture], reply: Reply, reason: str, words: str
) -> None:
    answer, requests = answered(pictures, lambda *_: reply)
    assert isinstance(answer, Missing)
    assert answer.reason == reason
    assert words in answer.detail
    assert len(requests) == 1


def test_a_refusal_by_the_filter_of_the_server_is_missing_with_its_words(
    pictures: list[Picture],
) -> None:
    with served("studio/planted", "refuse:gender") as server:
        assert ask(server.url, pictures[0]) == Missing(
            "refused", "the content filter refused this prompt"
        )
        assert ask(server.url, pictures[0], AGE) != Missing(
            "refused", "the content filter refused this prompt"
        )


def test_a_model_without_any_readable_answer_is_given_up(pictures: list[Picture]) -> None:
    with serving(lambda *_: says("I see no image")) as server:
        with pytest.raises(ServerError, match=r"none of the first 10 answers.*I see no image"):
            labeler(server.url).answer(pictures * 20, [GENDER])
        assert len(server.requests) == 10


def test_one_readable_answer_shows_that_the_model_can_label(pictures: list[Picture]) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        return says(FEMALE if number == 3 else "what?")

    with serving(reply) as server:
        rows = labeler(server.url).answer(pictures * 10, [GENDER])
    assert [row[0] == "female" for row in rows].count(True) == 1


def test_a_model_that_cannot_tell_is_not_given_up(pictures: list[Picture]) -> None:
    with serving(lambda *_: says("cannot tell")) as server:
        assert labeler(server.url).answer(pictures * 5, [GENDER]) == [[UNDECIDED]] * 15


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("quota", r"429: you exceeded your current quota .*no money left"),
        ("401", rf"401: the key is invalid.*{KEY_VARIABLE}"),
        ("half", "not JSON"),
        ("large", "more than 32 MB"),
        ("type", "not JSON: '<!doctype html>"),
        ("redirect", "redirects to"),
    ],
)
def test_a_fault_that_another_attempt_would_not_repair_is_an_error_at_once(
    pictures: list[Picture], fault: str, words: str
) -> None:
    with served("studio/planted", fault) as server:
        with pytest.raises(ServerError, match=words):
            ask(server.url, pictures[0])
        assert len(server.bodies) == 1


@pytest.mark.slow
def test_a_slow_drip_ends_at_the_deadline(pictures: list[Picture]) -> None:
    with (
        served("studio/planted", "drip") as server,
        pytest.raises(ServerError, match=r"did not complete its answer within 2\.5 s"),
    ):
        ask(server.url, pictures[0], timeout=0.5)


def test_too_many_requests_waits_and_says_so(pictures: list[Picture]) -> None:
    sentences: list[str] = []

    def reply(number: int, content: dict[str, Any]) -> Reply:
        return fails(429, "slow down", Retry_After="0.1") if number < 2 else says(FEMALE)

    with serving(reply) as server:
        with message_listener(sentences.append):
            assert ask(server.url, pictures[0]) == "female"
        assert len(server.requests) == 3
    assert sentences[0] == f"{server.url} answered 429; attempt 2 of 6 follows in 0.1 s"


def test_the_key_comes_from_the_environment_and_follows_no_redirect(
    pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary")
    with serving(lambda *_: says(FEMALE)) as elsewhere:
        redirect = Reply(b"", 307, {"Location": f"{elsewhere.url}/chat/completions"})
        with serving(lambda *_: redirect) as server:
            with pytest.raises(ServerError, match="redirects to"):
                ask(server.url, pictures[0])
            assert server.headers[0]["authorization"] == "Bearer canary"
        assert not elsewhere.requests


def test_openais_key_goes_to_openai_only(
    pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPENAI_KEY_VARIABLE, "canary")
    with serving(lambda *_: says(FEMALE)) as server:
        ask(server.url, pictures[0])
    assert "authorization" not in server.headers[0]


def test_the_address_may_come_from_the_environment(
    pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda *_: says(FEMALE)) as server:
        monkeypatch.setenv(URL_VARIABLE, server.url)
        vqa = create("m")
        assert vqa.answer(pictures[:1], [GENDER]) == [["female"]]
    assert "revision=20" in vqa.fingerprint


def test_the_fingerprint_names_what_can_change_an_answer_only() -> None:
    url = "http://127.0.0.1:1/v1"
    first = labeler(url, concurrency=2, timeout=3.0)
    assert first.fingerprint == labeler("http://127.0.0.1:2/v1").fingerprint
    for settings in ({"size": 64}, {"together": 2}, {"temperature": 1.0}, {"detail": "low"}):
        assert labeler(url, **settings).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"size": 1}, "size is 1"),
        ({"together": 0}, "together is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"detail": "fine"}, "low, high or auto"),
        ({"url": "localhost"}, "not a server address"),
    ],
)
def test_impossible_settings_are_usage_errors(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        create("m", **settings)


def test_the_model_must_be_named() -> None:
    with pytest.raises(UsageError, match="--vqa openai/MODEL"):
        registry.vqa("openai")


def test_records_name_the_image_and_do_not_contain_it(
    pictures: list[Picture], tmp_path: Path
) -> None:
    with serving(lambda *_: says(FEMALE)) as server:
        logged = labeler(server.url).logged_answers(pictures[0], [GENDER, GENDER])
    assert logged.answers == ["female", "female"]
    ((key, record),) = logged.records.items()
    text = json.dumps(record)
    assert len(key) == 64
    assert "base64" not in text
    assert pictures[0].id in text
    assert GENDER.text in text
    assert record["answer"]["text"] == FEMALE
    assert (record["answer"]["prompt_tokens"], record["answer"]["completion_tokens"]) == (10, 5)


def test_threads_can_share_an_instrument(pictures: list[Picture]) -> None:
    results: list[Any] = []
    with serving(lambda *_: says(FEMALE)) as server:
        vqa = labeler(server.url)
        threads = [
            threading.Thread(target=lambda: results.append(vqa.answer(pictures, [GENDER])))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [[["female"]] * 3] * 4
