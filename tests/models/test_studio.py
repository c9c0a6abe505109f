"""The embedded diffusion models, loaded by plain diffusers code and by askew."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from typing import cast

import numpy as np
import pytest
import torch
from diffusers import StableDiffusionPipeline
from numpy.typing import NDArray
from PIL import Image

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.measure.studio import StudioVQA
from askew.models.base import Request
from askew.models.studio import StudioModel
from askew.parts.survey.instruments import unknown_words
from askew.studio import NETWORKS, weights
from askew.studio.caption import parse
from askew.studio.scene import ATTRIBUTES
from askew.types import Missing
from benchmarks.captions import phrase

LARGEST = 40e6
MODELS = ("studio", "studio/balanced")


def pixels(images: list[Image.Image | Missing]) -> NDArray[np.uint8]:
    assert not any(isinstance(image, Missing) for image in images)
    return np.stack([np.asarray(image) for image in images])


@pytest.fixture(scope="module")
def studio() -> StudioModel:
    return cast(StudioModel, registry.model("studio"))


@pytest.mark.parametrize("name", ["studio", "balanced"])
def test_it_is_a_stable_diffusion_pipeline_of_the_promised_layout(name: str) -> None:
    pipeline = StableDiffusionPipeline.from_pretrained(weights(name))
    assert {network.dtype for network in (pipeline.text_encoder, pipeline.unet, pipeline.vae)} == {
        torch.float32
    }
    assert all("CrossAttn" in kind for kind in pipeline.unet.config.down_block_types)
    assert len(pipeline.unet.config.down_block_types) == 3
    assert pipeline.unet.config.mid_block_type == "UNetMidBlock2DCrossAttn"
    assert pipeline.vae.config.latent_channels >= 8
    pipeline.set_progress_bar_config(disable=True)
    image = pipeline("a photo of a nurse", num_inference_steps=2, guidance_scale=1.0).images[0]
    assert image.size == (128, 128)


@pytest.mark.slow
def test_plain_diffusers_makes_the_same_image() -> None:
    model = cast(StudioModel, registry.model("studio", num_inference_steps=4))
    pipeline = StableDiffusionPipeline.from_pretrained(weights("studio"))
    pipeline.set_progress_bar_config(disable=True)
    noise = torch.Generator().manual_seed(5)
    bare = pipeline("a photo of a pilot", generator=noise, **model.settings).images[0]
    (image,) = model.generate([Request("a photo of a pilot", 5)])
    assert np.abs(np.asarray(bare, int) - pixels([image])[0]).max() <= 1


def test_the_weights_are_small_half_precision_and_safe() -> None:
    files = [file for name in NETWORKS for file in weights(name).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < LARGEST
    assert {file.suffix for file in files} == {".json", ".safetensors"}


def values_shown(images: list[Image.Image | Missing], attribute: str) -> NDArray[np.str_]:
    """Return the value of an attribute that each image shows."""
    vqa = StudioVQA()
    return np.array(vqa.read(vqa.embedder.embed_pixels(pixels(images)), attribute))


PROMPTS = (
    "a photo of a happy male nurse indoors",
    "A color photograph of an african-american woman, headshot, high-quality.",
    "a photo of young nurses",
    "a photo of a young slim blind nurse",
    "a photo of men",
    "a photo of an old tired female mechanic outdoors",
    "a photo of a muscular nurse in a wheelchair",
)
QUICK = {("studio", PROMPTS[0])}
"""The prompt that states several values: two images; other words and plurals are slow tests."""


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in product(MODELS, PROMPTS)
    ],
)
def test_images_show_all_values_of_a_prompt(name: str, prompt: str) -> None:
    count = 2 if (name, prompt) in QUICK else 4
    images = cast(StudioModel, registry.model(name)).generate(
        [Request(prompt, seed) for seed in range(count)]
    )
    for attribute, value in parse(prompt).attributes.items():
        assert np.mean(values_shown(images, attribute) == value) >= 0.75, value


WEAK = {
    ("studio", "disability"): {"hearing aid"},
    ("studio/balanced", "disability"): {"fit"},
    ("studio/balanced", "emotion"): {"serious"},
}
"""Values that images of nurses show too seldom. `studio` warns about its value;
docs/reference/studio.md lists all.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "attribute", ["gender", "age", "emotion", "environment", "body_type", "disability"]
)
def test_images_show_each_value_of_a_prompt(name: str, attribute: str) -> None:
    model = cast(StudioModel, registry.model(name))
    shown = {}
    for value in ATTRIBUTES[attribute]:
        prompt = phrase(attribute, value).replace("person", "nurse")
        images = model.generate([Request(prompt, seed) for seed in range(12)])
        shown[value] = np.mean(values_shown(images, attribute) == value)
    print(shown)
    assert {value for value, share in shown.items() if share < 0.75} == WEAK.get(
        (name, attribute), set()
    )


def gender_gap(model: StudioModel) -> float:
    """Return the share of women among nurses minus the share among construction workers."""
    roles = ("nurse", "construction worker")
    images = model.generate(
        [Request(f"a photo of a {role}", seed) for role in roles for seed in range(8)]
    )
    women = values_shown(images, "gender") == "female"
    return float(women[:8].mean() - women[8:].mean())


@pytest.mark.slow
def test_occupations_are_biased_as_planted_and_less_in_the_balanced_model(
    studio: StudioModel,
) -> None:
    planted = gender_gap(studio)
    assert planted > 0.3
    assert abs(gender_gap(cast(StudioModel, registry.model("studio/balanced")))) < planted


@pytest.mark.parametrize(("user_value", "policy"), [(None, "passive"), ("active", "active")])
def test_idle_threads_sleep_unless_the_user_sets_another_policy(
    user_value: str | None, policy: str
) -> None:
    code = """if True:
        import os, sys
        from askew import registry
        class Watch:
            def find_spec(self, name, *_):
                if name == "torch":
                    print(os.environ["OMP_WAIT_POLICY"], flush=True)
                    os._exit(0)
        sys.meta_path.insert(0, Watch())
        registry.model("studio").pipeline"""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"PYTHONPATH": ":".join(sys.path)} | (
        {} if user_value is None else {"OMP_WAIT_POLICY": user_value}
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{policy}\n"


def test_unknown_words_are_named(studio: StudioModel) -> None:
    assert studio.unknown_words("a photo of a nurse juggling") == ["juggling"]
    assert studio.unknown_words("a photo of an old nurse") == []


def test_words_that_images_seldom_show_are_named(studio: StudioModel) -> None:
    assert studio.unheard_words("a photo of welders in a room") == ["welders"]
    assert studio.unheard_words("a photo of a room") == ["room"]
    assert studio.unheard_words("a photo of women and nurses outside") == []
    sentences = unknown_words(studio, ["a photo of a nurse", "a photo of attorneys juggling"])
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        "studio ignores these words because it does not know them",
        "studio renders these words in fewer than 90 % of images",
    ]


def test_errors_name_valid_settings() -> None:
    with pytest.raises(UnknownName, match="studio/balanced"):
        registry.model("studio/balancd")
    with pytest.raises(UsageError, match="num_inference_steps"):
        registry.model("studio", num_inference_steps=0)
