"""Settings that would change nothing are refused; settings of distilled models come from files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import tiny_pipelines
from askew.errors import UsageError
from askew.messages import message_listener
from askew.models.base import Model, Request
from askew.models.diffusers import create
from askew.models.diffusers.editing import DiffusersEditor
from askew.models.diffusers.model import DiffusersModel
from askew.models.diffusers.recommended import RECOMMENDED, recommended_settings
from askew.models.diffusers.settings import parameters
from askew.parts.sources.groups import paper_settings

Saved = Callable[[str], Path]
SCHNELL = "black-forest-labs/FLUX.1-schnell"


@pytest.mark.parametrize(
    ("family", "given", "says"),
    [
        (
            "flux",
            {"negative_prompt": "blurred"},
            "negative_prompt has no effect unless guidance is above 1",
        ),
        (
            "flux",
            {"true_cfg_scale": 4.0},
            "true_cfg_scale has no effect without a negative prompt",
        ),
        (
            "flux",
            {"negative_prompt_2": "blurred", "true_cfg_scale": 4.0},
            "has no effect without a negative prompt",
        ),
        (
            "stable-diffusion",
            {"eta": 0.5},
            "eta has no effect with this model's scheduler; choose a scheduler.*scheduler=DDIM",
        ),
        (
            "stable-diffusion",
            {"negative_prompt": "blurred", "guidance_scale": 1.0},
            "has no effect unless guidance",
        ),
        (
            "stable-diffusion",
            {"guidance_rescale": 0.7, "guidance_scale": 0.0},
            "has no effect unless guidance",
        ),
        (
            "stable-diffusion-xl",
            {"negative_prompt_2": "blurred"},
            "has no effect without a negative prompt",
        ),
        (
            "stable-diffusion-3",
            {"skip_layer_guidance_scale": 3.0},
            "has no effect because askew cannot set the layers",
        ),
        ("stable-diffusion-3", {"mu": 0.75}, "mu has no effect because this model's scheduler"),
    ],
)
def test_a_setting_that_changes_nothing_is_refused(
    tiny: Saved, family: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        DiffusersModel(tiny(family), **given)


@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("flux", {"negative_prompt": "blurred", "true_cfg_scale": 4.0}),
        ("stable-diffusion", {"eta": 0.5, "scheduler": "DDIM"}),
        ("stable-diffusion", {"negative_prompt": "blurred"}),
        ("stable-diffusion-3", {"negative_prompt_2": "blurred"}),
        ("kandinsky", {"negative_prompt": "blurred"}),
        ("qwen-image", {"negative_prompt": "blurred"}),
    ],
)
def test_a_setting_that_changes_images_is_accepted(
    tiny: Saved, family: str, given: dict[str, Any]
) -> None:
    assert given.keys() <= DiffusersModel(tiny(family), **given).settings.keys()


def test_a_setting_that_does_not_affect_edits_is_refused(tiny: Saved) -> None:
    with pytest.raises(UsageError, match="editing: eta has no effect"):
        DiffusersEditor(DiffusersModel(tiny("stable-diffusion")), {"eta": 0.5})


OTHER_VALUES: dict[type, Callable[[Any], Any]] = {
    bool: lambda default: not default,
    int: lambda default: (default or 1) + 1,
    float: lambda default: (default or 0.5) + 0.25,
    str: lambda default: "blurred",
}
"""A function from the default of a setting to another value, by type."""
OF_THE_MOMENT = {"denoising_end", "clip_skip", "max_sequence_length", "original_inference_steps"}
"""Settings that change images only at some values, or that these tiny networks cannot use."""


def picture(folder: Path, **given: Any) -> np.ndarray:
    (image,) = DiffusersModel(folder, num_inference_steps=2, **given).generate(
        [Request("a photo of a nurse", 1)]
    )
    assert isinstance(image, Image.Image)
    return np.asarray(image)


@pytest.mark.parametrize("family", ["stable-diffusion", "stable-diffusion-xl"])
def test_skipping_layers_of_the_text_encoder_changes_the_image(tiny: Saved, family: str) -> None:
    folder = tiny(family)
    assert not np.array_equal(picture(folder, clip_skip=1), picture(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["stable-diffusion", "stable-diffusion-xl", "stable-diffusion-3", "flux"]
)
def test_every_setting_of_a_family_changes_its_images_or_is_refused(
    tiny: Saved, family: str
) -> None:
    folder = tiny(family)
    plain = picture(folder)
    silent = []
    known = parameters(type(tiny_pipelines.FAMILIES[family]()))
    for name in known.keys() - OF_THE_MOMENT - {"height", "width", "num_inference_steps"}:
        try:
            changed = picture(folder, **{name: OTHER_VALUES[known[name].kind](known[name].default)})
        except UsageError as error:
            if "has no effect" not in str(error):
                raise
        else:
            if np.array_equal(changed, plain):
                silent.append(name)
    assert silent == []


def folder_with(folder: Path, index: dict[str, Any], **parts: dict[str, Any]) -> str:
    folder.mkdir()
    (folder / "model_index.json").write_text(json.dumps(index))
    for name, config in parts.items():
        (folder / name).mkdir()
        file = "scheduler_config.json" if name == "scheduler" else "config.json"
        (folder / name / file).write_text(json.dumps(config))
    return str(folder)


EULER = {"_class_name": "EulerDiscreteScheduler", "timestep_spacing": "trailing"}
SD_TURBO = "stabilityai/sd-turbo"
TURBO = {"sample_size": 64, "cross_attention_dim": 2048}


@pytest.mark.parametrize(
    ("index", "parts", "settings"),
    [
        ({"_name_or_path": SCHNELL}, {}, RECOMMENDED[SCHNELL].settings),
        (
            {"_class_name": "FluxPipeline"},
            {"transformer": {"guidance_embeds": False}},
            RECOMMENDED[SCHNELL].settings,
        ),
        ({"_class_name": "FluxPipeline"}, {"transformer": {"guidance_embeds": True}}, {}),
        ({}, {"scheduler": EULER, "unet": TURBO}, RECOMMENDED[SD_TURBO].settings),
        (
            {},
            {"scheduler": EULER, "unet": TURBO | {"cross_attention_dim": 1024}},
            RECOMMENDED[SD_TURBO].settings,
        ),
        (
            {"_name_or_path": "me/my-turbo"},
            {"scheduler": EULER, "unet": TURBO},
            RECOMMENDED[SD_TURBO].settings,
        ),
        (
            {"_name_or_path": "sd2-community/base"},
            {"scheduler": EULER, "unet": TURBO | {"cross_attention_dim": 1024}},
            {},
        ),
        (
            {"_name_or_path": "out/step500"},
            {"scheduler": EULER, "unet": TURBO},
            RECOMMENDED[SD_TURBO].settings,
        ),
        ({}, {"scheduler": EULER, "unet": TURBO | {"sample_size": 128}}, {}),
        ({}, {"scheduler": EULER, "unet": TURBO | {"cross_attention_dim": 768}}, {}),
        ({}, {"scheduler": EULER | {"rescale_betas_zero_snr": True}, "unet": TURBO}, {}),
        ({}, {"scheduler": EULER | {"timestep_spacing": "leading"}, "unet": TURBO}, {}),
        ({}, {"unet": {"time_cond_proj_dim": 256}}, {"num_inference_steps": 4}),
    ],
)
def test_settings_of_distilled_models_are_recognized_by_their_files(
    tmp_path: Path, index: dict[str, Any], parts: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert recommended_settings(folder_with(tmp_path / "mine", index, **parts)) == settings
    assert recommended_settings(SD_TURBO) == {"num_inference_steps": 1, "guidance_scale": 0.0}


KLEIN = {"_class_name": "Flux2KleinPipeline", "is_distilled": True}


def opened(folder: str, **given: Any) -> Model:
    """Return the model of a folder as a user names it. Its weights are never needed."""
    save_file({"weight": torch.zeros(1)}, Path(folder) / "empty.safetensors")
    return create(folder, **given)


def test_a_distilled_pipeline_has_its_settings_and_no_guidance(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "klein", KLEIN)
    of_makers = {"num_inference_steps": 4, "guidance_scale": 1.0}
    assert opened(folder).settings.items() >= of_makers.items()
    with pytest.raises(UsageError, match=r"guidance_scale has no effect because .* is distilled"):
        opened(folder, guidance_scale=4.0)
    base = folder_with(tmp_path / "base", KLEIN | {"is_distilled": False})
    assert opened(base, guidance_scale=5.0).settings["guidance_scale"] == 5.0


@pytest.mark.parametrize(
    ("name", "given", "word"),
    [
        ("my-SDXL-Lightning", {}, "Lightning"),
        ("style-turbo", {}, "turbo"),
        ("style-turbo", {"num_inference_steps": 4}, ""),
        ("style", {}, ""),
    ],
)
def test_the_name_of_an_unknown_distilled_model_is_reported(
    name: str, given: dict[str, Any], word: str, tmp_path: Path
) -> None:
    folder = folder_with(tmp_path / name, {"_class_name": "StableDiffusionXLPipeline"})
    sentences: list[str] = []
    with message_listener(sentences.append):
        opened(folder, **given)
    assert len(sentences) == bool(word)
    for sentence in sentences:
        assert f"contains {word!r}" in sentence
        assert "askew uses num_inference_steps=50 and guidance_scale=5.0" in sentence


@pytest.mark.parametrize("family", ["sdxl", "sd-turbo", "sd"])
def test_settings_of_the_paper_are_for_stable_diffusion_1_and_2(
    family: str, tmp_path: Path
) -> None:
    kind = "StableDiffusionXLPipeline" if family == "sdxl" else "StableDiffusionPipeline"
    folder = folder_with(tmp_path / family, {"_class_name": kind})
    paper = {"num_inference_steps": 100, "guidance_scale": 8.5}
    given = paper_settings(f"diffusers/{folder}", paper, {})
    assert given == (paper if family == "sd" else {})


def test_a_refiner_is_refused_as_a_model(tmp_path: Path) -> None:
    index = {
        "_class_name": "StableDiffusionXLImg2ImgPipeline",
        "requires_aesthetics_score": True,
        "text_encoder": [None, None],
        "unet": ["diffusers", "UNet2DConditionModel"],
    }
    folder = folder_with(tmp_path / "refiner", index, unet={})
    save_file({"weight": torch.zeros(1)}, Path(folder) / "unet" / "model.safetensors")
    with pytest.raises(UsageError, match=r"is a refiner.*use the base model, such as"):
        DiffusersModel(folder)


def test_stable_diffusion_3_may_be_saved_without_t5(tmp_path: Path) -> None:
    whole = tiny_pipelines.stable_diffusion_3()
    parts = whole.components | {"text_encoder_3": None, "tokenizer_3": None}
    d.StableDiffusion3Pipeline(**parts).save_pretrained(tmp_path / "sd3")
    model = DiffusersModel(tmp_path / "sd3", num_inference_steps=1)
    assert model.pipeline.text_encoder_3 is None
    assert isinstance(model.generate([Request("a photo of a nurse", 1)])[0], Image.Image)
