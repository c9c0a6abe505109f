"""`askew edit` on `openai/MODEL`: edits of a served model equal the direct edits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import askew
from askew.errors import ServerError, UnknownName, UsageError
from askew.hosted import KEY_VARIABLE, OPENAI_KEY_VARIABLE
from askew.models.base import REPORT, EditRequest, Restorer
from askew.models.editors import editor_of
from askew.models.openai import HostedEditor, create
from askew.models.openai_images import as_large_as
from askew.models.planted import PlantedModel
from askew.serve.edits import EditForm
from askew.serve.forms import read_form
from askew.serve.replies import BadRequest
from askew.types import Missing
from served_models import served, served_model

EDIT = EditRequest(
    picture=Image.effect_noise((12, 8), 50).convert("RGB"),
    prompt="a photo of a doctor",
    strength=0.25,
    seed=2**62 + 1,
)


class TintingModel(PlantedModel):
    """A model that edits by blending an image with a color of prompt and seed."""

    def editor(self, settings: Mapping[str, Any]) -> TintingModel:
        return self

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        if min(strengths) < 0.1:
            raise UsageError("a strength below 0.1 leaves no step")

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        return [self._tinted(request) for request in requests]

    def _tinted(self, request: EditRequest) -> Image.Image:
        color = (len(request.prompt) % 256, request.seed % 251, request.seed % 239)
        tint = Image.new("RGB", request.picture.size, color)
        return Image.blend(request.picture, tint, request.strength)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(OPENAI_KEY_VARIABLE, raising=False)


def hosted_editor(url: str, **settings: Any) -> HostedEditor:
    return create("m", url=url, revision="1", seeded=True).editor(settings)


def edited(editor: Any, request: EditRequest = EDIT) -> Image.Image | Missing:
    (image,) = editor.edit([request])
    return image


def test_a_served_edit_equals_the_direct_edit() -> None:
    direct = edited(TintingModel())
    assert isinstance(direct, Image.Image)
    with served_model(TintingModel()) as server:
        hosted = edited(hosted_editor(server.url, send_strength=True))
    assert isinstance(hosted, Image.Image)
    assert hosted.size == (12, 8)
    assert hosted.tobytes() == direct.tobytes()
    assert "original" in hosted.info[REPORT]


def test_the_strength_is_sent_on_request_only() -> None:
    is_sent = []
    with served_model(TintingModel()) as server:
        for settings in ({}, {"send_strength": True}):
            edited(hosted_editor(server.url, **settings))
            is_sent.append(b'name="strength"' in b"".join(server.bodies))
    assert is_sent == [False, True]


def test_strengths_that_are_not_sent_are_a_usage_error() -> None:
    editor = hosted_editor("http://127.0.0.1:9/v1")
    editor.check((8, 8), [1.0])
    for strengths in ([0.5], [0.5, 1.0]):
        with pytest.raises(UsageError, match=r"--strengths 1, or --edit-arg send_strength=true"):
            editor.check((8, 8), strengths)
    hosted_editor("http://127.0.0.1:9/v1", send_strength=True).check((8, 8), [0.5])


def test_the_strength_and_the_fields_identify_an_edit_but_not_the_images_of_the_model() -> None:
    model = create("m", revision="1", size="8x8")
    editor = model.editor({"send_strength": True, "input_fidelity": "high"})
    assert editor.settings == {"size": "8x8", "input_fidelity": "high", "send_strength": True}
    assert model.settings == {"size": "8x8"}
    assert not isinstance(editor, Restorer)
    with pytest.raises(UnknownName, match="input_fidelty"):
        model.editor({"input_fidelty": "high"})


def test_a_refused_edit_is_missing() -> None:
    with served_model(TintingModel(), "refuse:doctor") as server:
        assert edited(hosted_editor(server.url)) == Missing(
            "refused", "the content filter refused this prompt"
        )


def test_the_answer_is_checked_as_for_images() -> None:
    with served_model(TintingModel(), "garbage") as server, pytest.raises(ServerError):
        edited(hosted_editor(server.url, send_strength=True))


def test_a_model_that_cannot_edit_and_a_refused_strength_are_errors() -> None:
    with served() as server, pytest.raises(ServerError, match="studio/planted cannot edit"):
        edited(hosted_editor(server.url))
    with served_model(TintingModel()) as server:
        editor = hosted_editor(server.url, send_strength=True)
        with pytest.raises(ServerError, match="leaves no step"):
            edited(editor, replace(EDIT, strength=0.01))


def test_edits_get_the_size_of_the_input_image_unless_they_have_another_shape() -> None:
    image = Image.new("RGB", (64, 64))
    image.info[REPORT] = {"created": 1}
    resized = as_large_as(image, (32, 32), "http://host")
    assert resized.size == (32, 32)
    assert resized.info[REPORT] == {"created": 1}
    with pytest.raises(ServerError, match=r"64 x 64 pixels for an image of 32 x 48.*--resize 64"):
        as_large_as(image, (32, 48), "http://host")


def test_mitigations_and_models_without_an_editor_are_named() -> None:
    with pytest.raises(UsageError, match="--model openai/MODEL"):
        editor_of(PlantedModel(), {})


def form(*fields: tuple[str, str], boundary: str = "b") -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; name="
    parts = [f'{head}"{name}"\r\n\r\n{text}\r\n' for name, text in fields]
    return ("".join(parts) + f"--{boundary}--\r\n").encode()


def test_a_form_keeps_the_bytes_of_its_fields() -> None:
    fields = read_form('multipart/form-data; boundary="b"', form(("a", "x\r\n--\n y"), ("b", "")))
    assert fields == {"a": b"x\r\n--\n y", "b": b""}


def test_a_large_file_of_a_form_is_read() -> None:
    content = bytes(range(256)) * 8_000
    body = form(("image", "@")).replace(b'"image"', b'"image"; filename="a.png"')
    fields = read_form("multipart/form-data; boundary=b", body.replace(b"@", content))
    assert fields == {"image": content}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", form(("a", "b"))),
        ("multipart/form-data; boundary=b", form(("a", "b"))[:-6]),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", form(*[("a", "b")] * 100)),
        ("multipart/form-data; boundary=b", form(("a", "b")).replace(b"name", b"other")),
        ("multipart/form-data; boundary=\xff", form(("a", "b"))),
        ("multipart/form-data; boundary=b", form(("prompt", "x"))),
        ("multipart/form-data; boundary=b", form(("image", "x"))),
        ("multipart/form-data; boundary=b", form(("image", "x"), ("mask", "x"))),
        ("multipart/form-data; boundary=b", form(("image", "x"), ("n", "2"))),
    ],
)
def test_forms_that_cannot_be_read_are_bad_requests(content_type: str, body: bytes) -> None:
    with pytest.raises(BadRequest):
        EditForm.read(content_type, body)


@pytest.mark.slow
def test_edits_of_the_served_studio_equal_its_direct_edits(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "edit_prompts": {"a": ["doctor", "nurse"]},
        "strengths": [0.5, 1.0],
        "images": 2,
        "axes": ["gender"],
        "sources": "studio/planted",
        "bootstrap_samples": 100,
    }
    direct = askew.edit(
        "man, woman",
        model="studio",
        model_args={"batch_size": 1},
        run=tmp_path / "direct",
        **options,
    )
    with served("studio") as server:
        hosted = askew.edit(
            "man, woman",
            model="openai/studio",
            model_url=server.url,
            model_args={"seeded": True, "revision": "1"},
            edit_args={"send_strength": True},
            run=tmp_path / "hosted",
            **options,
        )
    sets = []
    for run in (direct, hosted):
        results = json.loads(run.numbers.read_text(encoding="utf-8"))
        sets.append([s["pictures"] for s in results["sets"] if s["axis"] != "encode-decode"])
        assert len(sets[-1]) == 2 * (1 + 4)
    assert sets[0] == sets[1]
    entry = results["editing"][0]
    assert entry["floor"]["detail"] == "the autoencoder of the model is not accessible"
    assert 0 <= entry["gender_change"]["value"] <= 1
    assert any("is not accessible" in warning for warning in hosted.warnings)
