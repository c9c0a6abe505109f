"""`hf/PROVIDER/MODEL`: images through the client of Hugging Face, from a local endpoint."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from askew.errors import ServerError, UsageError
from askew.hosted import KEY_VARIABLE
from askew.messages import message_listener
from askew.models.base import Request
from askew.models.hf import TOKEN_VARIABLE, InferenceModel, create
from askew.models.planted import PlantedModel
from askew.types import Missing
from local_llm import fails, serving
from local_server import Reply, dripping
from served_models import planted_reply

PROMPT = "a photo of a nurse"


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def hosted(url: str, **settings: Any) -> InferenceModel:
    return create("endpoint/m", url=url, revision="1", **settings)


def image_of(model: InferenceModel) -> Image.Image | Missing:
    (image,) = model.generate([Request(PROMPT, 2**32 + 7)])
    return image


def test_fields_and_seeds_are_sent() -> None:
    with serving(lambda number, content: planted_reply(content)) as server:
        image = image_of(hosted(server.url, seeded=True, width=64))
        parameters = server.requests[0]["parameters"]
    (expected,) = PlantedModel().generate([Request(PROMPT, 7)])
    assert isinstance(image, Image.Image)
    assert isinstance(expected, Image.Image)
    assert image.tobytes() == expected.tobytes()
    assert (parameters["seed"], parameters["width"]) == (7, 64)


def test_without_seeds_no_seed_is_sent() -> None:
    with serving(lambda number, content: planted_reply(content)) as server:
        model = hosted(server.url)
        image_of(model)
        assert "seed" not in server.requests[0].get("parameters", {})
    assert not model.seeded


def test_too_many_requests_waits_and_says_so() -> None:
    sentences: list[str] = []
    with (
        serving(
            lambda number, content: (
                fails(429, "slow down", Retry_After="0.1") if number < 1 else planted_reply(content)
            )
        ) as server,
        message_listener(sentences.append),
    ):
        assert isinstance(image_of(hosted(server.url)), Image.Image)
    assert sentences == ["hf/endpoint/m answered 429; attempt 2 of 6 follows in 0.1 s"]


def test_a_refusal_is_missing_with_the_words_of_the_server() -> None:
    reply = Reply(b'{"error": "flagged by moderation"}', 400, {"Content-Type": "application/json"})
    with serving(lambda number, content: reply) as server:
        image = image_of(hosted(server.url))
    assert isinstance(image, Missing)
    assert image.reason == "refused"
    assert "flagged by moderation" in image.detail


@pytest.mark.parametrize("status", [401, 402, 404])
def test_other_errors_stop_at_once_without_the_token(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "hf_canary")
    with serving(lambda number, content: fails(status, "no, hf_canary")) as server:
        with pytest.raises(ServerError) as caught:
            image_of(hosted(server.url))
        assert len(server.requests) == 1
    assert "hf_canary" not in str(caught.value)


def test_the_token_of_hugging_face_goes_to_no_other_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "hf_canary")
    with serving(lambda number, content: planted_reply(content)) as server:
        image_of(hosted(server.url))
        assert "hf_canary" not in str(server.headers)


def test_garbage_is_an_error() -> None:
    with (
        serving(lambda number, content: Reply(b"not an image")) as server,
        pytest.raises(ServerError, match="hf/endpoint/m"),
    ):
        image_of(hosted(server.url))


def image_file(format: str, side: int = 8) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB" if format == "EPS" else "1", (side, side)).save(buffer, format)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (image_file("EPS"), "formats: PNG, JPEG, WEBP"),
        (image_file("PNG", 9000), "exceed the limit"),
    ],
)
def test_images_that_would_harm_are_not_decoded(
    content: bytes, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostScript would start Ghostscript, and 81 million pixels would fill the memory."""

    def decode(image: Image.Image) -> None:
        raise AssertionError(f"{image.format} was decoded")

    monkeypatch.setattr("PIL.EpsImagePlugin.EpsImageFile.load", decode)
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", decode)
    reply = Reply(content, headers={"Content-Type": "image/png"})
    with (
        serving(lambda number, content: reply) as server,
        pytest.raises(ServerError, match=fault),
    ):
        image_of(hosted(server.url))


def test_an_answer_that_arrives_too_slowly_ends_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The deadline ends before the timeout, so that a busy machine causes no silence."""
    monkeypatch.setattr("askew.models.hf.DEADLINE", 0.05)
    with (
        dripping() as url,
        pytest.raises(ServerError, match=r"did not complete its answer within 0.5 s"),
    ):
        image_of(hosted(url, timeout=10))


def test_a_provider_needs_a_token() -> None:
    with pytest.raises(UsageError, match=TOKEN_VARIABLE):
        image_of(create("fal-ai/owner/model"))


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("fal-ai", {}, "hf/PROVIDER/MODEL"),
        ("fal-ai/m", {"concurrency": 0}, "concurrency is 0"),
        ("fal-ai/m", {"widht": 64}, "Did you mean 'width'"),
    ],
)
def test_impossible_settings_are_usage_errors(
    name: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        create(name, **settings)
