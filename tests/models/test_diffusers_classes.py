"""Every pipeline class of diffusers makes images from a prompt, or is refused with the reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import diffusers
import pytest

from askew.errors import UsageError
from askew.models.diffusers.model import DiffusersModel
from hostile_text import is_one_sentence
from text_to_image import ACCEPTED

REASONS = {
    "LTXPipeline": "it makes videos",
    "WanPipeline": "it makes videos",
    "LattePipeline": "it makes videos",
    "LTXI2VLongMultiPromptPipeline": "it makes videos",
    "AudioLDM2Pipeline": "it makes sound",
    "StableAudio3Pipeline": "it makes sound",
    "StableDiffusionControlNetPipeline": "it needs a control image for each prompt",
    "StableDiffusionXLAdapterPipeline": "it needs a control image for each prompt",
    "FluxControlPipeline": "it needs a control image for each prompt",
    "FluxFillPipeline": "it needs an input image",
    "StableDiffusionUpscalePipeline": "it needs an input image",
    "IFSuperResolutionPipeline": "it needs an input image",
    "KandinskyV22PriorPipeline": "it produces only the input for a decoder",
    "StableDiffusionAttendAndExcitePipeline": "it needs token_indices besides the prompt",
    "StableDiffusionLDM3DPipeline": "it makes images with depth maps",
    "OnnxStableDiffusionPipeline": "its networks are in the ONNX format",
    "ShapEPipeline": "it makes three-dimensional objects",
    "LLaDA2Pipeline": "it makes text",
    "DiTPipeline": "it takes no prompt",
}
"""Reasons of well-known classes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    (folder / "empty.safetensors").touch()
    return folder


def named(folder: Path, name: str) -> Path:
    """Return a folder of a pipeline of a class, which has no parts."""
    (folder / "model_index.json").write_text(json.dumps({"_class_name": name}))
    return folder


def all_classes() -> list[str]:
    """Return the names of all pipeline classes, with stand-ins for classes that lack a package."""
    names = re.findall(r"\w+Pipeline(?:Safe|Legacy)?\b", " ".join(dir(diffusers)))
    return [name for name in names if isinstance(getattr(diffusers, name, None), type)]


def refusal(folder: Path, name: str) -> str:
    """Return the sentence that refuses a class, empty if it is accepted."""
    try:
        family = DiffusersModel(named(folder, name)).pipeline_class
    except UsageError as error:
        return str(error)
    return "" if family.__name__ in ACCEPTED | {"StableDiffusionPipelineSafe"} else "unlisted"


def test_each_class_is_accepted_or_refused_with_the_reason(folder: Path) -> None:
    names = all_classes()
    assert len(names) > 200
    sentences = {name: refusal(folder, name) for name in names}
    assert sum(sentence == "" for sentence in sentences.values()) >= len(ACCEPTED)
    for name, sentence in sentences.items():
        assert not sentence or f"is a {name}, which" in sentence, name
        assert is_one_sentence(UsageError(sentence))


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_states_what_a_class_makes_or_needs(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"from only a prompt: {REASONS[name]}"):
        DiffusersModel(named(folder, name))


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_text_to_image_classes_are_accepted(folder: Path, name: str) -> None:
    assert DiffusersModel(named(folder, name)).pipeline_class.__name__ == name


def test_a_class_that_lacks_a_package_names_it(folder: Path) -> None:
    stand_ins = [name for name in all_classes() if hasattr(getattr(diffusers, name), "_backends")]
    if "AudioDiffusionPipeline" not in stand_ins:
        pytest.skip("librosa is installed")
    with pytest.raises(UsageError, match="not installed: pip install librosa"):
        DiffusersModel(named(folder, "AudioDiffusionPipeline"))


def test_weights_for_inpainting_are_refused(copy: Path) -> None:
    file = copy / "unet" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"in_channels": 9}))
    with pytest.raises(UsageError, match=r"its UNet takes 9 channels, but .* images have 4"):
        DiffusersModel(copy)
