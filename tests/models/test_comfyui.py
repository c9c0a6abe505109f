"""`comfyui/ADDRESS`: images of a workflow, by real requests to a local server of its interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from askew.errors import ServerError, UsageError
from askew.hosted import KEY_VARIABLE, LARGEST
from askew.messages import message_listener
from askew.models import comfyui_server
from askew.models.base import Request
from askew.models.comfyui import ComfyModel, create
from askew.models.planted import PlantedModel
from local_comfy import WORKFLOW, Fault, comfy
from local_server import Reply

PROMPT = "a photo of a nurse"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setattr(comfyui_server, "FIRST_WAIT", 0.01)
    monkeypatch.setattr("askew.hosted.FIRST_PAUSE", 0.01)


def model_at(url: str, **settings: Any) -> ComfyModel:
    given = {"workflow": str(WORKFLOW), "prompt_node": 6, "seed_node": 3, **settings}
    return create(url, **given)


def image_of(model: ComfyModel, seed: int = 7) -> Image.Image:
    (image,) = model.generate([Request(PROMPT, seed)])
    assert isinstance(image, Image.Image)
    return image


def test_prompt_and_seed_reach_their_nodes_and_nothing_else_changes() -> None:
    (expected,) = PlantedModel().generate([Request(PROMPT, 2**63 - 1)])
    assert isinstance(expected, Image.Image)
    with comfy() as server:
        assert image_of(model_at(server.url), 2**63 - 1).tobytes() == expected.tobytes()
    (sent,) = server.workflows
    nodes = json.loads(WORKFLOW.read_text(encoding="utf-8"))
    nodes["6"]["inputs"]["text"] = PROMPT
    nodes["3"]["inputs"]["seed"] = 2**63 - 1
    assert sent == nodes


def test_the_workflow_identifies_an_image_without_its_prompt_seed_form_and_address(
    tmp_path: Path,
) -> None:
    def settings_of(**changes: Any) -> dict[str, Any]:
        nodes = json.loads(WORKFLOW.read_text(encoding="utf-8"))
        for name, value in changes.items():
            node = "6" if name == "text" else "3"
            nodes[node]["inputs"][name] = value
        path = tmp_path / "workflow.json"
        path.write_text(json.dumps(nodes), encoding="utf-8")
        return dict(model_at("http://127.0.0.1:9", workflow=str(path)).settings)

    first = dict(model_at("http://127.0.0.1:8").settings)
    assert first == settings_of() == settings_of(seed=9, text="a dog")
    assert first != settings_of(cfg=8)
    assert first["prompt_node"] == "6.text"


def test_without_a_seed_node_images_are_not_repeated() -> None:
    with comfy() as server:
        model = model_at(server.url, seed_node="")
        image_of(model)
    assert not model.seeded
    assert server.workflows[0]["3"]["inputs"]["seed"] == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"workflow": ""}, "-M workflow=FILE"),
        ({"prompt_node": ""}, "-M prompt_node=6"),
        ({"prompt_node": 66}, "no node '66'.*3, 4, 5"),
        ({"prompt_node": 4}, "CheckpointLoaderSimple.*prompt_node=4.INPUT.*ckpt_name"),
        ({"prompt_node": "6.clip"}, "no free input 'clip'"),
        ({"seed_node": "6"}, "seed_node=6.INPUT"),
        ({"workflow": "absent.json"}, "absent.json"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
def test_impossible_settings_are_usage_errors(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        model_at("http://127.0.0.1:9", **settings)


@pytest.mark.parametrize("content", ["{}", "[]", '{"nodes": []}', "{", '{"3": {"inputs": {}}}'])
def test_other_files_are_usage_errors(content: str, tmp_path: Path) -> None:
    path = tmp_path / "workflow.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="the workflow"):
        model_at("http://127.0.0.1:9", workflow=str(path))


@pytest.mark.parametrize("url", ["", "ftp://host", "http://user:canary@host:bad"])
def test_bad_addresses_are_usage_errors(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        model_at(url)
    assert "canary" not in str(caught.value)


def at(path: str, reply: Reply, times: int = 10**9) -> Fault:
    """Return a fault that replaces the first replies at a path."""
    left = [times]

    def fault(place: str, number: int) -> Reply | None:
        if not place.startswith(path) or not left[0]:
            return None
        left[0] -= 1
        return reply

    return fault


def entry(**fields: Any) -> Reply:
    return Reply(json.dumps({"0": fields}).encode())


IMAGE = {"filename": "0.png", "subfolder": "", "type": "output"}
FAULTS: dict[str, tuple[Fault, str]] = {
    "refused": (at("/prompt", Reply(b'{"error": "bad node"}', 400)), "400: .*bad node"),
    "key": (at("/prompt", Reply(b"no", 401)), "ASKEW_API_KEY"),
    "not queued": (at("/prompt", Reply(b"{}")), "did not queue"),
    "no JSON": (at("/prompt", Reply(b"<html>")), "not JSON"),
    "nested": (at("/prompt", Reply(b"[" * 100_000)), "levels of nesting"),
    "a list": (at("/prompt", Reply(b"[]")), "not an object"),
    "failed": (
        at("/history", entry(status={"status_str": "error", "messages": ["out of memory"]})),
        "workflow failed.*out of memory",
    ),
    "no image": (at("/history", entry(outputs={}, status={"completed": True})), "made 0 images"),
    "two images": (
        at("/history", entry(outputs={"9": {"images": [IMAGE, IMAGE]}})),
        "2 images instead of one.*output_node",
    ),
    "odd outputs": (at("/history", entry(outputs={"9": {"images": "x"}})), "made 0 images"),
    "garbage": (at("/view", Reply(b"garbage")), "sent no image"),
    "svg": (at("/view", Reply(b"<svg xmlns='http://www.w3.org/2000/svg'/>")), "sent no image"),
    "large": (at("/view", Reply(b" " * (LARGEST + 1))), "more than 32 MB"),
    "redirect": (
        at("/view", Reply(b"", 302, {"Location": "http://169.254.169.254/"})),
        "redirects to",
    ),
    "broken": (at("/history", Reply(b"no", 500)), "answered 500"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    fault, words = FAULTS[name]
    with comfy(fault) as server:
        with pytest.raises(ServerError, match=words) as caught:
            image_of(model_at(server.url))
        assert server.requests[0][1]["authorization"] == "Bearer canary-key"
    assert "canary" not in str(caught.value)
    assert len(server.workflows) <= 1


def test_a_temporary_failure_is_repeated_and_reported() -> None:
    sentences: list[str] = []
    with comfy(at("/", Reply(b"busy", 503), times=2)) as server:
        with message_listener(sentences.append):
            image_of(model_at(server.url))
        assert len(server.workflows) == 1
    assert [sentence.partition("answered ")[2][:3] for sentence in sentences] == ["503", "503"]


@pytest.mark.parametrize(("asked", "waits"), [("0.05", True), ("500", False)])
def test_a_stated_pause_is_kept_unless_it_is_too_long(asked: str, waits: bool) -> None:
    sentences: list[str] = []
    busy = Reply(b"busy", 429, headers={"Retry-After": asked})
    with comfy(at("/prompt", busy, times=1)) as server, message_listener(sentences.append):
        if waits:
            image_of(model_at(server.url))
        else:
            with pytest.raises(ServerError, match="answered 429: busy"):
                image_of(model_at(server.url))
    follows = [sentence.partition("follows in ")[2] for sentence in sentences]
    assert follows == (["0.1 s"] if waits else [])


def test_an_image_that_takes_too_long_is_an_error() -> None:
    with comfy() as server:
        server.unfinished = 10**9
        with pytest.raises(
            ServerError, match=r"did not generate an image within 0.2 s.*-M timeout"
        ):
            image_of(model_at(server.url, timeout=0.2))


def test_a_server_that_is_not_running_is_an_error() -> None:
    with comfy() as server:
        pass
    with pytest.raises(ServerError, match="is the server running"):
        image_of(model_at(server.url))
