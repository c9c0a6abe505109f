"""`openai/MODEL`: images of a server, its faults, and what it reports; by real local requests."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from askew.errors import ServerError, UsageError
from askew.hosted import KEY_VARIABLE, OPENAI_KEY_VARIABLE
from askew.messages import message_listener
from askew.models.base import REPORT, Request
from askew.models.openai import HostedModel, create
from askew.models.planted import PlantedModel
from askew.types import Missing
from local_llm import fails, serving
from local_server import Reply
from served_models import served

PROMPT = "a photo of a nurse"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(OPENAI_KEY_VARIABLE, raising=False)


def hosted(url: str, **settings: Any) -> HostedModel:
    return create("m", url=url, revision="1", **settings)


def image_of(model: HostedModel, seed: int = 7, prompt: str = PROMPT) -> Image.Image | Missing:
    (image,) = model.generate([Request(prompt, seed)])
    return image


def picture(image_format: str = "PNG", size: int = 8) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((size, size), 50).convert("RGB").save(buffer, image_format)
    return buffer.getvalue()


def sends(data: bytes, **fields: object) -> Reply:
    """Return an answer with one image."""
    entry = {"b64_json": base64.b64encode(data).decode()}
    content = {"created": 1_790_000_000, "data": [entry], **fields}
    return Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})


def drawn(seed: int) -> bytes:
    (image,) = PlantedModel().generate([Request(PROMPT, seed)])
    assert isinstance(image, Image.Image)
    return image.tobytes()


@pytest.mark.parametrize("seed", [7, 2**63 - 1])
def test_a_seed_is_sent_in_full(seed: int) -> None:
    with served() as server:
        image = image_of(hosted(server.url, seeded=True), seed)
    assert isinstance(image, Image.Image)
    assert image.tobytes() == drawn(seed)


def test_seed_bits_shorten_the_seed_and_enter_the_settings() -> None:
    with served() as server:
        model = hosted(server.url, seeded=True, seed_bits=32)
        image = image_of(model, 2**40 + 5)
    assert isinstance(image, Image.Image)
    assert image.tobytes() == drawn(5)
    assert model.settings == {"seed_bits": 32}


def test_without_seeds_no_seed_is_sent() -> None:
    with serving(lambda number, content: sends(picture())) as server:
        model = hosted(server.url, size="512x512", num_inference_steps=4, field_cfg=2)
        image_of(model)
    assert not model.seeded
    fields = {"size": "512x512", "num_inference_steps": 4, "cfg": 2}
    assert server.requests == [{"model": "m", "n": 1, "prompt": PROMPT, **fields}]


def test_the_address_and_the_calls_at_once_do_not_identify_an_image() -> None:
    first = hosted("http://127.0.0.1:1/v1", concurrency=2, timeout=3.0)
    second = hosted("http://127.0.0.1:2/v1", seeded=False)
    assert (first.name, first.revision) == (second.name, second.revision)
    assert first.settings == second.settings


def test_the_revision_is_the_month() -> None:
    revision = create("m", url="http://127.0.0.1:1/v1").revision
    assert len(revision) == len("2026-11")


def test_the_report_of_the_server_is_kept() -> None:
    usage = {"total_tokens": 9, "input_tokens": 4, "output_tokens": 5}
    data = picture()
    reply = sends(data, usage=usage)
    content = json.loads(reply.body)
    content["data"][0]["revised_prompt"] = "a smiling\nnurse \ud800"
    named = {**reply.headers, "x-request-id": "req-1"}
    reply = Reply(json.dumps(content).encode(), headers=named)
    with serving(lambda number, request: reply) as server:
        image = image_of(hosted(server.url))
    assert isinstance(image, Image.Image)
    report = image.info[REPORT]
    assert report["revised_prompt"] == "a smiling nurse ?"
    assert (report["tokens"], report["created"]) == (9, 1_790_000_000)
    assert report["request_id"] == "req-1"
    assert len(report["original"]) == 64


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "WEBP"])
def test_three_formats_are_read(image_format: str) -> None:
    with serving(lambda number, content: sends(picture(image_format))) as server:
        assert isinstance(image_of(hosted(server.url)), Image.Image)


def test_a_refusal_is_missing_with_the_words_of_the_server() -> None:
    with served("studio/planted", "refuse") as server:
        assert image_of(hosted(server.url)) == Missing(
            "refused", "the content filter refused this prompt"
        )
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("quota", r"429: you exceeded your current quota .*no money left"),
        ("401", rf"401: the key is invalid.*{KEY_VARIABLE}"),
        ("half", "not JSON"),
        ("garbage", "no image in one of these formats"),
        ("large", "more than 32 MB"),
        ("type", "not JSON: '<!doctype html>"),
        ("redirect", "redirects to"),
        ("address", "askew opens only https addresses on port 443"),
        ("drip", r"did not complete its answer within 0\.5 s"),
    ],
)
def test_a_fault_that_another_attempt_would_not_repair_is_an_error_at_once(
    fault: str, words: str
) -> None:
    with served("studio/planted", fault) as server:
        with pytest.raises(ServerError, match=words):
            image_of(hosted(server.url, timeout=0.1 if fault == "drip" else 20.0))
        assert len(server.bodies) == 1


@pytest.mark.parametrize("image_format", ["GIF", "BMP", "TIFF"])
def test_other_formats_are_errors(image_format: str) -> None:
    with (
        serving(lambda number, content: sends(picture(image_format))) as server,
        pytest.raises(ServerError, match="formats: PNG, JPEG, WEBP"),
    ):
        image_of(hosted(server.url))


@pytest.mark.parametrize(
    "content",
    [[], {}, {"data": []}, {"data": "x"}, {"data": [1]}, {"data": [{"b64_json": "§"}]}, None],
)
def test_json_that_is_no_answer_is_an_error(content: object) -> None:
    reply = Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})
    with (
        serving(lambda number, request: reply) as server,
        pytest.raises(ServerError, match=r"sent no image|not JSON"),
    ):
        image_of(hosted(server.url))


def test_a_truncated_image_is_an_error() -> None:
    with (
        serving(lambda number, content: sends(picture()[:-40])) as server,
        pytest.raises(ServerError, match="sent no image"),
    ):
        image_of(hosted(server.url))


def test_too_many_requests_waits_and_says_so() -> None:
    sentences: list[str] = []
    with serving(
        lambda number, content: (
            fails(429, "slow down", Retry_After="0.1") if number < 2 else sends(picture())
        )
    ) as server:
        with message_listener(sentences.append):
            assert isinstance(image_of(hosted(server.url)), Image.Image)
        assert len(server.requests) == 3
    assert sentences == [
        f"{server.url} answered 429; attempt 2 of 6 follows in 0.1 s",
        f"{server.url} answered 429; attempt 3 of 6 follows in 0.1 s",
    ]


def test_a_pause_of_hours_is_an_error_at_once() -> None:
    with serving(lambda number, content: fails(429, "later", Retry_After="7200")) as server:
        with pytest.raises(ServerError, match="429: later"):
            image_of(hosted(server.url))
        assert len(server.requests) == 1


def test_a_storm_of_server_errors_ends_after_some_attempts() -> None:
    with serving(lambda number, content: fails(500, "out of order", Retry_After="0")) as server:
        with pytest.raises(ServerError, match=r"500: out of order \(6 attempts"):
            image_of(hosted(server.url))
        assert len(server.requests) == 6


def test_a_server_that_hangs_is_asked_twice() -> None:
    with served("studio/planted", "hang") as server:
        with pytest.raises(ServerError, match=r"within 0\.2 s \(2 attempts\)"):
            image_of(hosted(server.url, timeout=0.2))
        assert len(server.bodies) == 2


def test_a_redirect_does_not_get_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    with serving(lambda number, content: sends(picture())) as other:
        elsewhere = Reply(b"", 307, {"Location": f"{other.url}/images/generations"})
        with (
            serving(lambda number, content: elsewhere) as server,
            pytest.raises(ServerError, match="redirects to") as caught,
        ):
            image_of(hosted(server.url))
        assert server.headers[0]["authorization"] == "Bearer canary-key"
        assert other.requests == []
    assert "canary-key" not in str(caught.value)


def test_a_key_in_a_refusal_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    body = {"error": {"message": "no, canary-key", "code": "content_policy_violation"}}
    reply = Reply(json.dumps(body).encode(), 400, {"Content-Type": "application/json"})
    with serving(lambda number, content: reply) as server:
        assert image_of(hosted(server.url)) == Missing("refused", "no, ***")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"concurrency": 0}, "concurrency is 0"),
        ({"seed_bits": 64}, "seed_bits is 64"),
        ({"timeout": 0.0}, "greater than 0"),
        ({"url": "somewhere"}, "not a server address"),
        ({"concurency": 8}, "Did you mean 'concurrency'"),
    ],
)
def test_impossible_settings_are_usage_errors(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        create("m", **settings)


def test_a_model_without_a_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="openai/MODEL"):
        create("")
