"""Sources of diffusers pipelines, refusals with their reasons, and settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from askew import errors, registry
from askew.errors import MissingPackage, ModelError, UsageError
from askew.models.base import Model, Request
from askew.models.diffusers import create, loading, settings
from askew.models.diffusers.loading import DeviceSetup, free_bytes, weights_bytes
from askew.models.diffusers.model import DiffusersModel
from askew.models.diffusers.recommended import RECOMMENDED, recommended_settings
from askew.parts.survey.cut_prompts import check_values_received
from askew.parts.survey.instruments import unknown_words
from askew.plan import AxisPlan, PromptPlan
from askew.presets import presets
from askew.prompts.axes import find_axis
from slow_cases import quick_only

Saved = Callable[[str], Path]

SIZE = {"height": 64, "width": 48}


def test_a_folder_is_named_after_the_slash(tiny: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny("stable-diffusion")
    monkeypatch.chdir(folder.parent)
    names = [f"diffusers/{folder}", f"diffusers/./{folder.name}", f"diffusers/{folder.name}"]
    models = [registry.model(name) for name in names]
    assert all(isinstance(model, Model) for model in models)
    assert [model.name for model in models] == names
    assert len({model.revision for model in models}) == 1


def test_nothing_is_loaded_before_an_image_is_requested(tiny: Saved) -> None:
    model = DiffusersModel(tiny("stable-diffusion"))
    assert "pipeline" not in vars(model)
    assert isinstance(model.pipeline, diffusers.StableDiffusionPipeline)
    assert model.pipeline is model.pipeline


def test_the_revision_follows_the_weights_and_the_configuration(copy: Path) -> None:
    first = DiffusersModel(copy).revision
    weights = copy / "unet" / "diffusion_pytorch_model.safetensors"
    changed = {name: tensor + 1e-3 for name, tensor in load_file(weights).items()}
    save_file(changed, weights, metadata={"format": "pt"})
    second = DiffusersModel(copy).revision
    config = copy / "scheduler" / "scheduler_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"beta_start": 0.5}))
    assert len({first, second, DiffusersModel(copy).revision}) == 3


def test_settings_contain_only_what_changes_the_image(tiny: Saved) -> None:
    folder = tiny("stable-diffusion")
    plain = DiffusersModel(folder, device="cpu", dtype="float32", batch_size=2, offload="none")
    assert plain.settings == {"guidance_scale": 7.5, "num_inference_steps": 50}
    assert (plain.device, plain.dtype, plain.batch_size) == ("cpu", "float32", 2)
    given = DiffusersModel(
        folder, guidance_scale=3, negative_prompt="blurry", scheduler="DDIM", **SIZE
    )
    assert given.settings == {
        "guidance_scale": 3.0,
        "height": 64,
        "negative_prompt": "blurry",
        "num_inference_steps": 50,
        "scheduler": "DDIMScheduler",
        "width": 48,
    }
    assert type(given.settings["guidance_scale"]) is float
    assert type(given.pipeline.scheduler) is diffusers.DDIMScheduler


def test_a_user_s_settings_override_recommended_ones(copy: Path) -> None:
    index = copy / "model_index.json"
    of_schnell = {"_name_or_path": "black-forest-labs/FLUX.1-schnell"}
    index.write_text(json.dumps(json.loads(index.read_text()) | of_schnell))
    model = DiffusersModel(copy, defaults=None, guidance_scale=2)
    assert model.settings == {"num_inference_steps": 4, "guidance_scale": 2.0}


def test_pipelines_accept_their_recommended_settings() -> None:
    assert recommended_settings("stabilityai/sdxl-turbo") == {
        "num_inference_steps": 1,
        "guidance_scale": 0.0,
    }
    assert recommended_settings("somebody/else") == {}
    paper = {
        name: dict(recommendation.biasconnect)
        for name, recommendation in RECOMMENDED.items()
        if recommendation.biasconnect is not None
    }
    assert paper["black-forest-labs/FLUX.1-dev"] == {
        "num_inference_steps": 30,
        "guidance_scale": 3.5,
    }
    assert paper["playgroundai/playground-v2.5-1024px-aesthetic"] == {
        "num_inference_steps": 50,
        "guidance_scale": 3.0,
    }
    assert paper["kandinsky-community/kandinsky-2-2-decoder"] == {
        "negative_prompt": "low quality, bad quality"
    }
    assert len(paper) == 5
    of_presets = {preset.model.removeprefix("diffusers/") for preset in presets().values()}
    assert len(of_presets & RECOMMENDED.keys()) > 5
    for name in of_presets & RECOMMENDED.keys():
        assert RECOMMENDED[name].download_gb > 1
        assert RECOMMENDED[name].memory_gb > 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"gidance_scale": 3}, "Did you mean 'guidance_scale'.*num_inference_steps.*scheduler"),
        ({"prompt": "a nurse"}, "unknown setting 'prompt'"),
        (
            {"num_inference_steps": "many"},
            "num_inference_steps is 'many'; it must be a whole number",
        ),
        ({"num_inference_steps": 2.5}, "must be a whole number"),
        ({"num_inference_steps": True}, "must be a whole number"),
        ({"num_inference_steps": 0}, "must be at least 1"),
        ({"guidance_scale": float("nan")}, "must be a number"),
        (
            {"scheduler": "FlowMatchEulerDiscrete"},
            "unknown scheduler .*DDIMScheduler.*EulerAncestralDiscreteScheduler",
        ),
        (
            {"height": 64},
            "height is given without width; give both, as in -M height=512 -M width=512",
        ),
        ({"width": 64}, "width is given without height"),
        ({"height": 32, "width": 33}, "width is 33; it must be a multiple of 8, such as 32"),
        ({"height": 4, "width": 32}, "height is 4; it must be a multiple of 8, such as 8"),
        ({"offload": "always"}, "unknown offload 'always'.*model"),
        ({"device": "tpu"}, "no device 'tpu'; it has: .*cpu"),
        ({"dtype": "int8"}, "unknown dtype 'int8'.*float32"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"revision": "main"}, "omit -M revision"),
        ({"variant": "fp16"}, "no weights for the variant 'fp16'"),
    ],
)
def test_errors_explain_settings_that_cannot_be_used(
    tiny: Saved, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        DiffusersModel(tiny("stable-diffusion"), **given)


@pytest.mark.parametrize("family", ["fibo", "krea-2"])
def test_sizes_that_a_family_would_round_or_refuse_are_errors(tiny: Saved, family: str) -> None:
    with pytest.raises(UsageError, match="width is 72; it must be a multiple of 16, such as 64"):
        DiffusersModel(tiny(family), height=64, width=72)


def test_offloading_needs_its_package_except_on_a_cpu(
    tiny: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    for device in ("cuda", "mps"):
        with monkeypatch.context() as patched:
            patched.setattr(loading, "choose_device", torch.device)
            with pytest.raises(MissingPackage, match=r"'\.\[offload\]'"):
                DeviceSetup.of(device, "float32", True)
    on_cpu = DiffusersModel(
        tiny("stable-diffusion"), offload=True, device="cpu", num_inference_steps=1
    )
    assert isinstance(on_cpu.generate([Request("a nurse", 1)])[0], Image.Image)


class RecordingModule:
    """A module that records the device it is moved to."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def to(self, device: torch.device) -> None:
        self.calls.append(("to", str(device)))

    def enable_model_cpu_offload(self, device: torch.device) -> None:
        self.calls.append(("model", str(device)))

    def enable_sequential_cpu_offload(self, device: torch.device) -> None:
        self.calls.append(("sequential", str(device)))


@pytest.mark.parametrize(
    ("device", "offload", "call"),
    [
        ("cuda:1", "none", "to"),
        ("cuda:1", "model", "model"),
        ("cuda", "sequential", "sequential"),
    ],
)
def test_offloading_calls_the_pipeline_s_method(device: str, offload: str, call: str) -> None:
    placed = RecordingModule()
    DeviceSetup(torch.device(device), torch.float32, offload).take(placed)
    assert placed.calls == [(call, device)]


def test_prompts_that_are_not_cleaned_are_recorded(
    tiny: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DiffusersModel(tiny("sana")).settings["clean_caption"] is False
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    assert DiffusersModel(tiny("pixart")).settings["clean_caption"] is False
    with pytest.raises(UsageError, match="pip install beautifulsoup4 ftfy"):
        DiffusersModel(tiny("pixart"), clean_caption=True)
    monkeypatch.setattr(settings, "find_spec", lambda name: object())
    assert DiffusersModel(tiny("pixart")).settings["clean_caption"] is True


def test_a_family_that_only_the_general_loader_supports(tiny: Saved) -> None:
    model = DiffusersModel(tiny("sana-sprint"), batch_size=4)
    assert type(model.pipeline) is diffusers.SanaSprintPipeline


def test_memory_is_checked_before_loading(tiny: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny("stable-diffusion")
    model = DiffusersModel(folder)
    models = [
        part for part in model.pipeline.components.values() if isinstance(part, torch.nn.Module)
    ]
    expected = sum(weight.numel() * 4 for part in models for weight in part.parameters())
    files = list(folder.rglob("*.safetensors"))
    assert sum(weights_bytes(file, torch.float32) for file in files) == expected
    assert sum(weights_bytes(file, torch.bfloat16) for file in files) == expected // 2
    monkeypatch.setattr(loading, "free_bytes", lambda device: expected - 1)
    with pytest.raises(
        ModelError,
        match=r"not enough memory .* in float32, but .* free \(cpu\); .* -M dtype=bfloat16",
    ):
        DiffusersModel(folder).pipeline  # noqa: B018
    monkeypatch.setattr(loading, "free_bytes", lambda device: expected)
    assert DiffusersModel(folder).pipeline


def test_the_container_s_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "CGROUP", tmp_path)
    assert free_bytes(torch.device("cpu")) > 1e6
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text(
        "anon 300\nfile 650\ninactive_file 500\nactive_file 100\n"
    )
    assert free_bytes(torch.device("cpu")) == 2600, "what the kernel keeps of files gives way"
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes(torch.device("cpu")) > 1e6


def test_words_beyond_the_limit_of_the_text_encoder_are_named(tiny: Saved) -> None:
    long = "a photo of a nurse " + "and so on " * 10 + "zebra"
    for family in ("stable-diffusion", "stable-diffusion-xl"):
        model = DiffusersModel(tiny(family))
        assert model.unknown_words("a photo of a nurse") == []
        assert model.unknown_words(long)[-1] == "zebra"
        seen = len(long.split()) - len(model.unknown_words(long))
        assert len("".join(long.split()[:seen])) <= 75 < len("".join(long.split()[: seen + 2]))
    assert DiffusersModel(tiny("stable-diffusion-3")).unknown_words(long) == []


@pytest.mark.parametrize("family", ["flux", "qwen-image"])
def test_words_beyond_the_limit_of_t5_and_qwen_are_named(family: str, tiny: Saved) -> None:
    model = DiffusersModel(tiny(family), max_sequence_length=100)
    long = "a photo of a nurse " + "and so on " * 20
    assert model.unknown_words(long + "zebra")[-1] == "zebra"
    words = long.split()
    received = len(words) - len(model.unknown_words(long))

    if family == "qwen-image":
        # In its template, each letter is a token of the tiny tokenizer.
        model.pipeline.prompt_template_encode = "{}"
        model.pipeline.prompt_template_encode_start_idx = 0

    def encoded(place: int, letter: str) -> torch.Tensor:
        word = letter * len(words[place])
        text = " ".join([*words[:place], word, *words[place + 1 :]])
        with torch.no_grad():
            parts = model.pipeline.encode_prompt(prompt=[text], max_sequence_length=100)[:2]
        return torch.cat([part.flatten() for part in parts if part is not None])

    assert 10 < received < len(words) - 10
    assert torch.equal(encoded(received + 1, "x"), encoded(received + 1, "y"))
    assert not torch.equal(encoded(received - 1, "x"), encoded(received - 1, "y"))


TEMPLATES = {
    "z-image": 100,
    "sana": 100,
    "lumina-2": 256,
    "flux-2-klein": 100,
    "ovis-image": 256,
    "krea-2": 300,
    "fibo": 100,
    "kandinsky-3": None,
    "deepfloyd": None,
    "hidream": 100,
    "hunyuan-image": None,
}
"""Value of max_sequence_length of families with a template around the prompt, an unknown tokenizer,
or a fixed limit (None).
"""


@pytest.mark.parametrize("family", quick_only(["z-image", "sana"], TEMPLATES))
def test_words_that_no_text_encoder_receives_are_named(family: str, tiny: Saved) -> None:
    settings: dict[str, Any] = {"num_inference_steps": 1, "height": 64, "width": 64}
    if TEMPLATES[family] is not None:
        settings["max_sequence_length"] = TEMPLATES[family]
    if family == "sana":
        settings["use_resolution_binning"] = False
    model = DiffusersModel(tiny(family), **settings)
    long = "a photo of a nurse " + "and so on " * (150 if family == "hunyuan-image" else 60)
    assert model.unknown_words(long + "zebra")[-1] == "zebra"
    words = long.split()
    received = len(words) - len(model.unknown_words(long))
    inputs: list[list[int]] = []

    def keep(_: Any, arguments: Any, named: Any) -> None:
        ids = named["input_ids"] if named.get("input_ids") is not None else arguments[0]
        inputs.append(ids.flatten().tolist())

    for name, part in model.pipeline.components.items():
        if "text_encoder" in name:
            part.register_forward_pre_hook(keep, with_kwargs=True)

    def received_tokens(place: int) -> list[list[int]]:
        """Return the tokens that the loaded networks receive if a word is replaced."""
        inputs.clear()
        changed = [*words[:place], "x" * len(words[place]), *words[place + 1 :]]
        model.generate([Request(" ".join(changed), 1)])
        return list(inputs)

    whole = received_tokens(len(words) - 1)
    assert 2 < received < len(words) - 10
    assert received_tokens(received) == whole
    assert received_tokens(received - 2) != whole


def test_values_beyond_the_limit_are_refused_before_any_image(tiny: Saved) -> None:
    model = create(str(tiny("stable-diffusion")), num_inference_steps=1)
    long = "a photo of a nurse " + "and so on " * 10
    gender = find_axis("gender")

    def plan(texts: dict[str, str]) -> PromptPlan:
        return PromptPlan.of(long, [AxisPlan.of(gender, texts)])

    late = {value: f"{long}, who is {value}" for value in gender.values}
    with pytest.raises(
        UsageError, match="cannot show the values of gender because it cuts off two prompts"
    ):
        check_values_received(model, [plan(late)])
    early = {value: long.replace("a nurse", f"a {value} nurse") for value in gender.values}
    check_values_received(model, [plan(early)])
    (warning,) = unknown_words(model, [long])
    assert "cuts these words off the end of prompts" in warning
    assert "does not know" not in warning
