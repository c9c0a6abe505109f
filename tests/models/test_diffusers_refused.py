"""Errors for folders that are not pipelines, are incomplete or damaged, or could run code."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from safetensors.torch import load_file, save_file

from askew import errors, registry
from askew.errors import ModelError, UsageError
from askew.models.base import Request
from askew.models.diffusers.loading import weights_bytes
from askew.models.diffusers.model import DiffusersModel
from askew.types import Missing
from hostile_text import VALUES, at_most_a_second, is_one_sentence

Saved = Callable[[str], Path]
Weights = dict[str, torch.Tensor]

UNET = "unet/diffusion_pytorch_model.safetensors"
TEXT_ENCODER = "text_encoder/model.safetensors"


def edit(folder: Path, **entries: Any) -> None:
    index = folder / "model_index.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | entries))


def refusal(folder: Path | str, **given: Any) -> str:
    with pytest.raises(UsageError) as caught:
        DiffusersModel(folder, **given)
    return str(caught.value)


def change_weights(file: Path, change: Callable[[Weights], Weights]) -> None:
    save_file(change(load_file(file)), file, metadata={"format": "pt"})


def test_pickles_are_refused(copy: Path) -> None:
    weights = copy / "vae" / "diffusion_pytorch_model.safetensors"
    torch.save(load_file(weights), weights.with_suffix(".bin"))
    weights.unlink()
    text = refusal(copy)
    assert f"the vae of {str(copy)!r} has no weights in the safetensors format" in text
    assert "save_pretrained" in text


def test_code_of_a_repository_is_refused_and_not_run(copy: Path) -> None:
    (copy / "unet" / "mine.py").write_text("raise SystemExit('was run')")
    edit(copy, unet=["mine", "MyUNet"])
    assert "code from its own repository for unet" in refusal(copy)
    edit(copy, unet=["diffusers", "UNet2DConditionModel"], _class_name=["pipeline", "MyPipeline"])
    assert "code from its own repository for the pipeline" in refusal(copy)


def test_weights_of_a_variant_need_its_name(copy: Path) -> None:
    weights = copy / "unet" / "diffusion_pytorch_model.safetensors"
    weights.rename(weights.with_name("diffusion_pytorch_model.fp16.safetensors"))
    assert "-M variant=fp16" in refusal(copy)
    fp16_model = DiffusersModel(copy, variant="fp16", num_inference_steps=2)
    assert fp16_model.settings["variant"] == "fp16"
    assert not isinstance(fp16_model.generate([Request("a nurse", 1)])[0], Missing)


def test_errors_of_other_folders_describe_a_pipeline(copy: Path, tmp_path: Path) -> None:
    assert "there is no folder" in refusal(tmp_path / "nowhere")
    assert "contains no model_index.json" in refusal(copy / "unet")
    assert "safetensors" in refusal(copy / "vae" / "config.json")
    edit(copy, _class_name="PipelineOfTheFuture")
    assert "try a newer version of diffusers" in refusal(copy)
    edit(copy, _class_name="StableDiffusionUpscalePipeline")
    assert "cannot generate images from only a prompt: it needs an input image" in refusal(copy)


def test_a_damaged_index_is_named(copy: Path) -> None:
    (copy / "model_index.json").write_text("{")
    with pytest.raises(ModelError, match=r"model_index.json .* is damaged"):
        DiffusersModel(copy)


def test_damaged_weights_are_named(copy: Path) -> None:
    weights = copy / "unet" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"weights .* are damaged"):
        DiffusersModel(copy).pipeline  # noqa: B018


def test_a_decoder_without_its_prior_is_incomplete(tiny: Saved, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny("kandinsky"), tmp_path / "decoder"))
    index = json.loads((folder / "model_index.json").read_text())
    decoder_index = {part: value for part, value in index.items() if not part.startswith("prior_")}
    (folder / "model_index.json").write_text(
        json.dumps(decoder_index | {"_class_name": "KandinskyV22Pipeline"})
    )
    with pytest.raises(UsageError, match="parts of a KandinskyV22CombinedPipeline are missing"):
        DiffusersModel(folder).pipeline  # noqa: B018


@pytest.mark.parametrize("file", [UNET, TEXT_ENCODER])
def test_absent_weights_are_not_invented(copy: Path, file: str) -> None:
    lost = sorted(load_file(copy / file))[-1]
    change_weights(
        copy / file, lambda weights: {name: weights[name] for name in weights if name != lost}
    )
    part = Path(file).parent
    says = rf"the {part} of .* does not contain all weights, .* {re.escape(lost)}; give a complete"
    with pytest.raises(UsageError, match=says):
        DiffusersModel(copy).pipeline  # noqa: B018


def in_older_names(weights: Weights) -> Weights:
    """Rename weights as in the first Stable Diffusion: attention of the autoencoder, one more
    buffer.
    """
    older = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}

    def rename(name: str) -> str:
        for new, old in older.items():
            name = name.replace(new, old) if "attentions" in name else name
        return name

    return {rename(name): weight for name, weight in weights.items()}


def test_weights_with_older_names_are_complete(tiny: Saved, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny("all hidden"), tmp_path / "older"))
    change_weights(folder / "vae" / Path(UNET).name, in_older_names)
    positions = {"text_model.embeddings.position_ids": torch.arange(77)[None]}
    change_weights(
        folder / TEXT_ENCODER,
        lambda all_: {f"text_model.{k}": v for k, v in all_.items()} | positions,
    )
    change_weights(
        folder / "safety_checker" / "model.safetensors",
        lambda weights: {
            k.replace("vision_model.", "vision_model.vision_model."): v for k, v in weights.items()
        },
    )
    assert DiffusersModel(folder).pipeline


def test_weights_in_several_files_are_complete(copy: Path, tmp_path: Path) -> None:
    DiffusersModel(copy).pipeline.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    assert len(list((tmp_path / "shards" / "unet").glob("*.safetensors"))) > 1
    assert DiffusersModel(tmp_path / "shards").pipeline
    next((tmp_path / "shards" / "unet").glob("*-00002-of-*")).unlink()
    assert "lacks some weights of its unet" in refusal(tmp_path / "shards")


@pytest.mark.parametrize(
    ("gone", "says"),
    [
        ("unet", "lacks the folder of its unet"),
        ("scheduler", "lacks the folder of its scheduler"),
        ("tokenizer", "lacks the folder of its tokenizer"),
        ("tokenizer/tokenizer.json", "lacks the vocabulary of its tokenizer"),
        (UNET, "has no weights in the safetensors format"),
    ],
)
def test_a_part_without_its_files_is_named(copy: Path, gone: str, says: str) -> None:
    path = copy / gone
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert says in refusal(copy)


@pytest.mark.parametrize("name", ["logging", "__version__"])
def test_an_unknown_pipeline_class_is_refused(copy: Path, name: str) -> None:
    edit(copy, _class_name=name)
    assert f"is a {name}, which diffusers " in refusal(copy)


@pytest.mark.parametrize(
    ("component", "kind"),
    [
        ("unet", ["diffusers", "UNetOfTheFuture"]),
        ("text_encoder", ["transformers", "CLIPOfTheFuture"]),
        ("scheduler", ["diffusers", "logging"]),
        ("scheduler", ["diffusers", "SchedulerOfTheFuture"]),
    ],
)
def test_a_part_of_an_unknown_class_is_named(copy: Path, component: str, kind: list[str]) -> None:
    edit(copy, **{component: kind})
    assert (
        f"the {component} of {str(copy)!r} is a {kind[1]}, which the installed {kind[0]}"
        in refusal(copy)
    )
    assert "does not know" in refusal(copy, scheduler="DDIM")


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("unet/config.json", r"the unet of .* cannot be loaded by diffusers .*config file"),
        (
            "text_encoder/config.json",
            r"the text_encoder of .* cannot be loaded by diffusers .*JSON",
        ),
        ("tokenizer/tokenizer.json", r"cannot be loaded by diffusers"),
        ("scheduler/scheduler_config.json", r"cannot be loaded by diffusers .*config file"),
    ],
)
@pytest.mark.parametrize("scheduler", ["", "DDIM"])
def test_a_damaged_file_is_named(copy: Path, file: str, says: str, scheduler: str) -> None:
    (copy / file).write_text("{")
    with pytest.raises(UsageError, match=says):
        DiffusersModel(copy, scheduler=scheduler).pipeline  # noqa: B018


def test_a_damaged_tokenizer_is_named_before_the_pipeline_is_loaded(copy: Path) -> None:
    (copy / "tokenizer" / "tokenizer.json").write_text("{")
    with pytest.raises(UsageError, match=r"the tokenizer of .* cannot be loaded by diffusers"):
        DiffusersModel(copy).unknown_words("a photo of a nurse " * 10)


@pytest.mark.parametrize("file", [UNET, TEXT_ENCODER])
def test_weights_of_another_shape_are_named(copy: Path, file: str) -> None:
    change_weights(copy / file, lambda all_: {k: torch.cat([v, v]) for k, v in all_.items()})
    with pytest.raises(
        UsageError, match=rf"the {Path(file).parent} of .* with an unexpected shape, such as "
    ):
        DiffusersModel(copy).pipeline  # noqa: B018


def test_a_lack_of_memory_while_loading_is_not_reported_as_damage(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
        )

    monkeypatch.setattr(diffusers.UNet2DConditionModel, "from_pretrained", too_large)
    with pytest.raises(ModelError, match="not enough memory"):
        DiffusersModel(copy).pipeline  # noqa: B018


@pytest.mark.parametrize("name", ["name", "location", "defaults"])
def test_arguments_that_are_not_settings_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"multiple values for .*{name}"):
        registry.model("diffusers/somebody/something", **{name: "x"})


def test_a_scheduler_names_the_package_that_it_needs(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        diffusers,
        "DPMSolverSDEScheduler",
        type("DPMSolverSDEScheduler", (), {"_backends": ["torch", "no_such_package"]}),
    )
    text = refusal(copy, scheduler="DPMSolverSDE")
    assert "-M scheduler=DPMSolverSDE needs a package that is not installed" in text
    assert text.endswith("pip install no_such_package")


@pytest.mark.parametrize("family", ["stable-diffusion", "stable-diffusion-xl"])
def test_a_tokenizer_without_its_length_is_found_before_weights_are_loaded(
    family: str, tiny: Saved, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny(family), tmp_path / "copy")
    last = sorted(folder.glob("tokenizer*"))[-1] / "tokenizer_config.json"
    config = json.loads(last.read_text())
    config.pop("model_max_length")
    last.write_text(json.dumps(config))
    with pytest.raises(UsageError, match=rf"{last.parent.name}/.* has no model_max_length"):
        DiffusersModel(folder).generate([Request("a photo of a nurse", 1)])


@pytest.mark.parametrize("value", ["nested lists", "nested objects", "open lists", "5,000 digits"])
@pytest.mark.parametrize(
    "file",
    ["model_index.json", "unet/config.json", "tokenizer/tokenizer_config.json"],
)
def test_hostile_configurations_are_refused(copy: Path, file: str, value: str) -> None:
    entries = json.loads((copy / file).read_text())
    entries["added"] = "PLACE"
    (copy / file).write_text(json.dumps(entries).replace('"PLACE"', VALUES[value]))
    with at_most_a_second(), pytest.raises((UsageError, ModelError)) as caught:
        DiffusersModel(copy).pipeline  # noqa: B018
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("value", VALUES)
def test_hostile_headers_of_weights_are_refused(copy: Path, value: str) -> None:
    header = f'{{"a": {VALUES[value]}}}'.encode()
    (copy / UNET).write_bytes(struct.pack("<Q", len(header)) + header)
    with at_most_a_second(), pytest.raises(ModelError, match="header cannot be read") as caught:
        weights_bytes(copy / UNET, torch.float32)
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("size", [4, 50, 1000])
def test_cut_weights_are_named_before_they_are_loaded(copy: Path, size: int) -> None:
    (copy / UNET).write_bytes((copy / UNET).read_bytes()[:size])
    with pytest.raises(ModelError, match=r"unet.*\.safetensors are damaged.*Delete the file"):
        DiffusersModel(copy).generate([Request("a nurse", 1)])


def test_a_network_that_needs_accelerate_names_it(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copy / "unet" / "config.json"
    quantized = {"quantization_config": {"quant_method": "bitsandbytes"}}
    config.write_text(json.dumps(json.loads(config.read_text()) | quantized))
    assert DiffusersModel(copy)
    monkeypatch.setattr(errors, "find_spec", lambda package: None)
    text = refusal(copy)
    assert text.startswith("loading the unet of")
    assert "needs the package 'accelerate'" in text
    assert "pip install '.[offload]'" in text
