"""Requirements for all registered mitigations. A new mitigation needs a line in CASES."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from askew import registry
from askew.errors import UsageError
from askew.measure.studio import StudioEmbedder
from askew.mitigations import base as mitigation
from askew.mitigations.base import Mitigation
from askew.mitigations.iti_gen import encode_tokens, encoder_digest
from askew.mitigations.steering import Steering
from askew.models.base import Model, Request
from askew.types import Missing

NURSE = "a photo of a nurse"
EVEN = {"gender": {"male": 0.5, "female": 0.5}}
PARTS = [
    {"text": f"a photo of a {value} nurse", "weight": 0.5, "says": {"gender": value}}
    for value in EVEN["gender"]
]

CASES: dict[str, Mapping[str, object]] = {
    "cads": {},
    "entanglement": {"targets": EVEN, "scale": 10.0},
    "fair-diffusion": {"targets": EVEN},
    "guidance": {"scale": 3.0},
    "intermit": {"targets": EVEN, "prompts": [NURSE], "steps": ["gender"]},
    "iti-gen": {
        "targets": EVEN,
        "tokens": {"gender": encode_tokens(np.ones((2, 3, 128), np.float32))},
        "width": 128,
    },
    "negative-prompt": {"words": "a female person"},
    "prompts": {"targets": EVEN, "policies": [{"prompt": NURSE, "parts": PARTS}]},
}
REQUESTS = [Request(NURSE, seed, number) for number, seed in enumerate((5, 2**62))]


def load(name: str) -> Mitigation:
    learned = (
        {"encoder": encoder_digest(StudioEmbedder().text_tower()[0].text_model)}
        if name == "iti-gen"
        else {}
    )
    return mitigation.parse_mitigation({"method": name, **CASES[name], **learned}, name)


@pytest.fixture(scope="module")
def plain() -> Model:
    """Return a model without any mitigation. Wrapping leaves it as it was."""
    model = registry.model("studio", num_inference_steps=2)
    assert isinstance(model, Model)
    return model


@pytest.fixture(scope="module")
def untouched(plain: Model) -> list[Image.Image | Missing]:
    """Return images of the plain model, made before it is wrapped."""
    return plain.generate(REQUESTS)


def apart(images: list[Any], other_images: list[Any]) -> float:
    return max(
        float(np.abs(np.asarray(a, int) - np.asarray(b, int)).max())
        for a, b in zip(images, other_images, strict=True)
    )


def test_every_registered_mitigation_has_a_case() -> None:
    assert {*registry.providers("mitigation")} == {*CASES}


@pytest.mark.parametrize("name", CASES)
def test_the_file_contains_the_complete_mitigation(name: str, tmp_path: Path) -> None:
    technique = load(name).with_digest()
    file = tmp_path / "m.toml"
    file.write_text(technique.to_toml())
    again = mitigation.load_mitigation(file)
    assert (again, again.fingerprint, again.method) == (technique, technique.fingerprint, name)
    assert again.cost >= 1
    with pytest.raises(UsageError, match="nonsense"):
        mitigation.parse_mitigation({**technique.model_dump(), "nonsense": 1}, "m.toml")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_images_depend_on_the_request_only_and_differ_from_plain_ones(
    name: str, plain: Model, untouched: list[Image.Image | Missing]
) -> None:
    technique = load(name)
    model = technique.wrap(plain)
    assert isinstance(model, Model)
    assert model.settings == {**plain.settings, "mitigation": technique.fingerprint}
    together = model.generate(REQUESTS)
    sent = pickle.loads(pickle.dumps(model))
    assert apart(together, [sent.generate([request])[0] for request in REQUESTS[::-1]][::-1]) <= 1
    assert apart(together, untouched) > 1
    assert plain.generate(REQUESTS) == untouched, "the plain model is left as it was"


@pytest.mark.parametrize("name", CASES)
def test_questions_are_about_the_targets(name: str) -> None:
    technique = load(name)
    for requested in map(technique.requested_values, REQUESTS):
        assert all(value in technique.targets[axis] for axis, value in requested.items())


@pytest.mark.parametrize("name", [name for name in CASES if isinstance(load(name), Steering)])
def test_a_model_without_an_accessible_network_is_refused_by_name(name: str) -> None:
    with pytest.raises(
        UsageError,
        match=f"{name} works inside a diffusion network, but studio/planted does not provide",
    ):
        load(name).wrap(registry.model("studio/planted"))
