"""A mitigation is a file with a hash that applies to any model and is part of every image's key."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import askew
from askew import registry
from askew.errors import UnknownName, UsageError
from askew.mitigations import base as mitigation
from askew.mitigations import open_model
from askew.mitigations.prompts import Policy, PolicyPart, PromptPolicy
from askew.models.base import Request
from askew.run.work import wanted_pictures
from askew.store.keys import picture_seed

NURSE = "a photo of a nurse"
HALVES = Policy(
    prompt=NURSE,
    parts=(
        PolicyPart(text="a photo of a male nurse", weight=0.5, says={"gender": "male"}),
        PolicyPart(text="a photo of a female nurse", weight=0.5, says={"gender": "female"}),
    ),
)


@pytest.fixture
def policy() -> PromptPolicy:
    return PromptPolicy(targets={"gender": {"male": 0.5, "female": 0.5}}, policies=(HALVES,))


@pytest.fixture
def file(policy: PromptPolicy, tmp_path: Path) -> Path:
    path = tmp_path / "mitigation.toml"
    path.write_text(policy.to_toml())
    return path


def test_a_mitigation_is_read_back_as_it_was_written(policy: PromptPolicy, file: Path) -> None:
    again = askew.load_mitigation(file)
    assert again == policy
    assert again.fingerprint == policy.fingerprint


@pytest.mark.parametrize(("images", "off"), [(2, 0), (48, 0), (96, 0), (7, 1)])
def test_a_quota_gives_each_part_its_share(policy: PromptPolicy, images: int, off: int) -> None:
    requests = [Request(NURSE, picture_seed(0, NURSE, k), k) for k in range(images)]
    asked = Counter(policy.requested_values(request)["gender"] for request in requests)
    assert abs(asked["male"] - asked["female"]) <= off
    thirds = Policy(
        prompt=NURSE, parts=tuple(PolicyPart(text=f"{k}", weight=1 / 3) for k in range(3))
    )
    uneven = policy.model_copy(update={"policies": (thirds,)})
    drawn = Counter(uneven.draw(NURSE, request.seed, request.number) for request in requests)
    assert all(abs(drawn[str(k)] - images / 3) < 3 for k in range(3))


def test_the_rule_independent_draws_images_independently(policy: PromptPolicy) -> None:
    free = policy.model_copy(update={"rule": "independent"})
    drawn = [free.draw(NURSE, picture_seed(0, NURSE, k), k) for k in range(400)]
    assert 160 < Counter(drawn)["a photo of a male nurse"] < 240
    assert drawn[0] == free.draw(NURSE, picture_seed(0, NURSE, 0))


def test_every_command_can_measure_a_mitigated_model(file: Path) -> None:
    plain = registry.model("studio/planted")
    mitigated = open_model("studio/planted", {"mitigation": str(file)})
    wanted = wanted_pictures(mitigated, [NURSE], 8, 0)
    assert {picture.key for picture in wanted}.isdisjoint(
        picture.key for picture in wanted_pictures(plain, [NURSE], 8, 0)
    )
    requests = [Request(picture.prompt, picture.seed or 0, picture.number) for picture in wanted]
    together = mitigated.generate(requests)
    assert together == [mitigated.generate([request])[0] for request in requests]
    texts = [mitigated.stack.mitigations[0].part_for(request).text for request in requests]
    assert together == plain.generate(
        [Request(text, request.seed) for text, request in zip(texts, requests, strict=True)]
    )
    other = [Request("a photo of a chef", 5, 0)]
    assert mitigated.generate(other) == plain.generate(other)
    assert pickle.loads(pickle.dumps(mitigated)).generate(requests) == together


def test_another_mitigation_never_reuses_an_image(policy: PromptPolicy) -> None:
    uneven = HALVES.model_copy(
        update={
            "parts": tuple(
                part.model_copy(update={"weight": weight})
                for part, weight in zip(HALVES.parts, (0.25, 0.75), strict=True)
            )
        }
    )
    other = policy.model_copy(update={"policies": (uneven,)})
    model = registry.model("studio/planted")
    keys = []
    for technique in (policy, other):
        wanted = wanted_pictures(technique.wrap(model), [NURSE], 4, 0)
        keys.append({picture.key for picture in wanted})
    assert keys[0].isdisjoint(keys[1])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"targets": {"gender": {"male": 0.5, "female": 0.6}}},
            "sum to 1.1; shares must be at least 0 and sum to 1",
        ),
        (
            {"targets": {"gender": {"male": 1.0}}},
            "contain only 1 value; give shares of at least two values",
        ),
        ({"rule": "sometimes"}, "rule"),
        ({"policies": []}, "policies"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_invalid_file_is_an_error_of_one_sentence(
    policy: PromptPolicy, change: dict[str, object], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        mitigation.parse_mitigation(
            policy.model_dump(mode="json") | change, "the mitigation m.toml"
        )


def test_files_that_are_not_mitigations_are_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the mitigation"):
        askew.load_mitigation(tmp_path / "absent.toml")
    with pytest.raises(UsageError, match="does not state its method"):
        mitigation.parse_mitigation({}, "m.toml")
    with pytest.raises(UnknownName, match="mitigation 'prompt'"):
        mitigation.parse_mitigation({"method": "prompt"}, "m.toml")
    with pytest.raises(UsageError, match=r"sum to 0\.5; they must sum to 1"):
        Policy.checked({"prompt": NURSE, "parts": [HALVES.parts[0].model_dump()]}, "m.toml")
    with pytest.raises(
        UsageError,
        match="this policy does not apply to 'a photo of a chef'; it applies to: 'a photo of a nurse'",
    ):
        askew.load_mitigation(file).draw("a photo of a chef", 0)


@pytest.mark.parametrize("command", [askew.edit, askew.classify])
def test_models_that_a_mitigation_would_not_change_are_refused(
    command: Callable[..., object], file: Path, tmp_path: Path
) -> None:
    refused = r"a mitigation changes .*images that studio .*; .* -M mitigation"
    with pytest.raises(UsageError, match=refused):
        command(
            model="studio", model_args={"mitigation": str(file)}, images=2, run=tmp_path / "run"
        )


def test_existing_images_are_not_mitigated(file: Path, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    (tmp_path / "manifest.csv").write_text("file,prompt\na.png,a nurse\n")
    with pytest.raises(UsageError, match="contains existing images"):
        open_model(f"folder/{tmp_path}", {"mitigation": str(file)})


def test_a_mitigated_model_is_loaded_once_in_each_process(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model("studio/planted", {"mitigation": str(file)})
    task = pickle.dumps(model)
    monkeypatch.setattr(registry, "_LOADED", {})  # like a worker that has not loaded anything yet
    first = pickle.loads(task)
    second = pickle.loads(task)
    assert first.model is second.model
    assert first.stack == model.stack
    assert first.settings == model.settings
