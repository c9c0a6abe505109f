"""LoRA weights and learned words change images as plain diffusers does, and change the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import StableDiffusionPipeline
from diffusers.utils import convert_state_dict_to_kohya
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from safetensors.torch import load_file, save_file

from askew.errors import AskewError, UsageError
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel
from slow_cases import quick_only

Saved = Callable[[str], Path]
REQUESTS = [Request("a photo of a nurse", 5), Request("a chef", 2**62)]
FAMILY = "stable-diffusion"


def plain(tiny: Saved) -> Any:
    pipeline = StableDiffusionPipeline.from_pretrained(tiny(FAMILY), use_safetensors=True)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def plain_images(pipeline: Any, prompts: tuple[str, str] | None = None) -> np.ndarray:
    images = []
    for request, prompt in zip(REQUESTS, prompts or (r.prompt for r in REQUESTS), strict=True):
        generator = torch.Generator("cpu").manual_seed(request.seed)
        output = pipeline(prompt, generator=generator, num_inference_steps=2)
        images.append(np.asarray(output.images[0], dtype=int))
    return np.stack(images)


def model(tiny: Saved, **settings: Any) -> DiffusersModel:
    return DiffusersModel(tiny(FAMILY), num_inference_steps=2, batch_size=1, **settings)


def images_of(tiny_model: DiffusersModel, requests: list[Request] | None = None) -> np.ndarray:
    images = tiny_model.generate(requests or REQUESTS)
    return np.stack([np.asarray(image, dtype=int) for image in images])


@pytest.fixture(scope="module")
def loras(tiny: Saved, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return random LoRA weights of a UNet in the layouts of diffusers and of kohya."""
    folder = tmp_path_factory.mktemp("loras")
    files = {}
    for name, seed in (("first", 1), ("second", 2)):
        pipeline = plain(tiny)
        pipeline.unet.add_adapter(
            LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_v"], init_lora_weights=False)
        )
        layers = get_peft_model_state_dict(pipeline.unet)
        rng = torch.Generator().manual_seed(seed)
        drawn = {key: torch.randn(value.shape, generator=rng) for key, value in layers.items()}
        pipeline.save_lora_weights(folder / name, unet_lora_layers=drawn)
        files[name] = folder / name / "pytorch_lora_weights.safetensors"
    kohya = convert_state_dict_to_kohya(load_file(files["first"]))
    files["kohya"] = folder / "kohya.safetensors"
    save_file(
        {key.replace("unet.", "lora_unet_", 1): value for key, value in kohya.items()},
        files["kohya"],
    )
    return files


@pytest.mark.filterwarnings("ignore:Already found a `peft_config`")
@pytest.mark.parametrize("layout", quick_only(["kohya"], ["first", "kohya"]))
def test_images_are_those_of_plain_diffusers(
    layout: str, tiny: Saved, loras: dict[str, Path]
) -> None:
    reference = plain(tiny)
    reference.load_lora_weights(loras[layout].parent, weight_name=loras[layout].name)
    reference.set_adapters(reference.get_active_adapters(), [0.5])
    changed = images_of(model(tiny, lora=f"{loras[layout]}:0.5"))
    assert (changed == plain_images(reference)).all()
    assert np.abs(changed - images_of(model(tiny))).max() >= 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Already found a `peft_config`")
def test_several_weights_add_up_and_change_the_key(tiny: Saved, loras: dict[str, Path]) -> None:
    first = loras["first"]
    second = loras["second"]
    reference = plain(tiny)
    for name, file in (("a", first), ("b", second)):
        reference.load_lora_weights(file.parent, weight_name=file.name, adapter_name=name)
    reference.set_adapters(["a", "b"], [0.8, -0.3])
    both = model(tiny, lora=f"{first}:0.8,{second}:-0.3")
    assert (images_of(both) == plain_images(reference)).all()
    settings = [
        both.settings["lora"],
        model(tiny, lora=f"{first}:0.8,{second}").settings["lora"],
        model(tiny, lora=str(first)).settings["lora"],
        model(tiny, lora=str(second)).settings["lora"],
    ]
    assert len(set(settings)) == 4
    assert str(first.parent) not in str(settings)
    assert "lora" not in model(tiny).settings


@pytest.mark.slow
def test_a_learned_word_is_read_as_plain_diffusers_reads_it(tiny: Saved, tmp_path: Path) -> None:
    width = plain(tiny).text_encoder.config.hidden_size
    rng = torch.Generator().manual_seed(3)
    file = tmp_path / "style.safetensors"
    save_file({"<style>": torch.randn(2, width, generator=rng)}, file)
    reference = plain(tiny)
    reference.load_textual_inversion(load_file(file))
    prompts = ("a nurse, <style>", "a <style> chef")
    requests = [Request(prompt, r.seed) for prompt, r in zip(prompts, REQUESTS, strict=True)]
    learned = model(tiny, textual_inversion=str(file))
    assert (images_of(learned, requests) == plain_images(reference, prompts)).all()
    assert (images_of(learned, requests) != images_of(model(tiny), requests)).any()
    named = model(tiny, textual_inversion=f"{file}:<mine>")
    assert learned.settings["textual_inversion"] != named.settings["textual_inversion"]


def test_faults_are_errors_of_one_sentence(
    tiny: Saved, loras: dict[str, Path], tmp_path: Path
) -> None:
    first = loras["first"]
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(first.read_bytes()[:40])
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(first.read_bytes()[:-100])
    other = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(2)}, other)
    pickled = tmp_path / "lora.ckpt"
    pickled.write_bytes(b"pickle")
    wide = tmp_path / "wide.safetensors"
    tensors = load_file(first)
    save_file({key: value.repeat(2, 2) for key, value in tensors.items()}, wide)
    cases = {
        f"{tmp_path / 'absent.safetensors'}:0.8": "is not a file",
        f"{first}:much": "must be a number",
        f"{first}:0": "must be a number other than 0",
        f"{first},{first}:0.5": "twice",
        f"{first},,": "empty entry",
        str(broken): "damaged",
        str(cut): "damaged",
        str(other): "contains no LoRA weights",
        str(pickled): "safetensors",
        str(wide): "does not fit",
    }
    for text, message in cases.items():
        with pytest.raises(AskewError, match=message):
            model(tiny, lora=text).generate(REQUESTS[:1])
    word = tmp_path / "word.safetensors"
    save_file({"<word>": torch.zeros(5)}, word)
    with pytest.raises(UsageError, match="does not fit"):
        model(tiny, textual_inversion=str(word)).generate(REQUESTS[:1])
    save_file({"a": torch.zeros(32)}, word)
    with pytest.raises(UsageError, match="choose another"):
        model(tiny, textual_inversion=f"{word}:a").generate(REQUESTS[:1])
    with pytest.raises(UsageError, match="does not support -M textual_inversion"):
        DiffusersModel(tiny("pixart"), textual_inversion=str(word))
