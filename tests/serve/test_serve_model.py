"""`askew serve-model`, asked by the official client."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys

import openai
import pytest
from PIL import Image, ImageChops

from askew import registry
from askew.errors import UsageError
from askew.models.base import Model, Request
from askew.serve.app import OWNER
from askew.serve.command import serve_model
from askew.serve.faults import FAULTS, Fault, FaultDraws
from served_models import served

PROMPT = "a photo of a nurse"


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=10)


def image_of(answer: openai.types.ImagesResponse, number: int = 0) -> Image.Image:
    assert answer.data
    data = answer.data[number].b64_json
    assert data is not None
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def test_seeds_give_the_images_of_the_model() -> None:
    model = registry.model("studio/planted")
    assert isinstance(model, Model)
    with served() as server:
        answer = client(server.url).images.generate(
            model="any", prompt=PROMPT, n=2, extra_body={"seed": 2**63 - 9}
        )
    for number in range(2):
        (expected,) = model.generate([Request(PROMPT, 2**63 - 9 + number)])
        assert isinstance(expected, Image.Image)
        assert ImageChops.difference(image_of(answer, number), expected).getbbox() is None


def test_images_without_a_seed_are_new() -> None:
    with served() as server:
        asked = client(server.url).images
        answers = [asked.generate(model="any", prompt=PROMPT) for _ in range(2)]
    assert ImageChops.difference(image_of(answers[0]), image_of(answers[1])).getbbox() is not None


def test_the_list_of_models_names_the_model() -> None:
    with served() as server:
        (listed,) = client(server.url).models.list()
        retrieved = client(server.url).models.retrieve("studio/planted")
    assert (listed.id, listed.owned_by) == ("studio/planted", OWNER)
    assert retrieved.id == listed.id


@pytest.mark.parametrize(
    "body", [{"n": 11}, {"n": "many"}, {"seed": -1}, {"response_format": "url"}, {"stream": True}]
)
def test_requests_that_are_not_served_are_errors(body: dict[str, object]) -> None:
    with served() as server, pytest.raises(openai.BadRequestError):
        client(server.url).images.generate(model="any", prompt=PROMPT, extra_body=body)


def test_refusals_concern_prompts_with_the_word_only() -> None:
    with served("studio/planted", "refuse:female") as server:
        asked = client(server.url).images
        asked.generate(model="any", prompt="a photo of a male nurse")
        with pytest.raises(openai.BadRequestError) as caught:
            asked.generate(model="any", prompt="a photo of a female nurse")
    assert caught.value.code == "moderation_blocked"


def test_rewritten_prompts_are_reported_and_used() -> None:
    model = registry.model("studio/planted")
    assert isinstance(model, Model)
    with served("studio/planted", "rewrite:female") as server:
        answer = client(server.url).images.generate(
            model="any", prompt=PROMPT, extra_body={"seed": 5}
        )
    assert answer.data
    assert answer.data[0].revised_prompt == f"{PROMPT}, female"
    (expected,) = model.generate([Request(f"{PROMPT}, female", 5)])
    assert isinstance(expected, Image.Image)
    assert ImageChops.difference(image_of(answer), expected).getbbox() is None


@pytest.mark.parametrize(
    ("fault", "status"), [("429", 429), ("500", 500), ("401", 401), ("quota", 429)]
)
def test_faults_with_a_status(fault: str, status: int) -> None:
    with served("studio/planted", fault) as server, pytest.raises(openai.APIStatusError) as caught:
        client(server.url).images.generate(model="any", prompt=PROMPT)
    assert caught.value.status_code == status


def test_a_repeated_request_has_the_same_refusal() -> None:
    draws = FaultDraws([Fault.parse("refuse=0.5"), Fault.parse("429=0.5")])
    refused = []
    busy = []
    for seed in [*range(200)] * 2:
        kinds = [fault.kind for fault in draws.draw(PROMPT, seed)]
        refused.append("refuse" in kinds)
        busy.append("429" in kinds)
    assert refused[:200] == refused[200:]
    assert 60 < sum(refused[:200]) < 140
    assert busy[:200] != busy[200:]


@pytest.mark.parametrize("text", ["=0.5", "refuse=2", "refuse=some", "explode"])
def test_faults_that_cannot_be_read_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        Fault.parse(text)


def test_every_fault_has_a_description() -> None:
    assert all(FAULTS.values())
    assert {Fault.parse(kind).kind for kind in FAULTS} == set(FAULTS)


def test_a_folder_cannot_be_served(tmp_path: object) -> None:
    with pytest.raises(UsageError):
        serve_model(f"folder/{tmp_path}")


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "askew", "serve-model", "studio/planted", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = line.split(" at ")[1].split(". ")[0]
        (listed,) = client(url).models.list()
        process.terminate()
        assert process.wait(20) == 0
    assert json.loads(listed.model_dump_json())["id"] == "studio/planted"


def chat(url: str, *parts: dict[str, object]) -> openai.types.chat.ChatCompletion:
    messages = [{"role": "user", "content": list(parts)}]
    return client(url).chat.completions.create(model="any", messages=messages)  # type: ignore[call-overload, no-any-return]


QUESTIONS = '{"q1": {"question": "What is the gender?", "options": ["male", "female"]}}'


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([{"type": "text", "text": QUESTIONS}], "cannot be read"),
        ([{"type": "text", "text": "hello"}], "cannot be read"),
        (
            [
                {"type": "text", "text": QUESTIONS},
                {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}},
            ],
            "not a data URI",
        ),
        (
            [
                {"type": "text", "text": QUESTIONS},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
            "cannot be read",
        ),
    ],
)
def test_requests_for_labels_that_cannot_be_read_are_errors(
    parts: list[dict[str, object]], words: str
) -> None:
    with served() as server, pytest.raises(openai.BadRequestError, match=words):
        chat(server.url, *parts)


def test_wrong_labels_fall_on_the_word_at_the_rate_and_are_repeated() -> None:
    draws = FaultDraws([Fault.parse("mislabel:female=0.3")])
    for label, rate in {"female": 0.3, "male": 0.0}.items():
        outcomes = [bool(draws.draw(label, seed)) for seed in range(400)]
        assert outcomes == [bool(draws.draw(label, seed)) for seed in range(400)]
        assert abs(sum(outcomes) / 400 - rate) < 0.07
