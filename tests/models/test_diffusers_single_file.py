"""Single checkpoint files give the images of the pipeline that they were written from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers import StableDiffusionPipeline
from safetensors.torch import load_file, save_file

import ldm_layout
from askew import registry
from askew.errors import AskewError, UsageError
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel

Saved = Callable[[str], Path]
REQUESTS = [Request("a photo of a nurse", 5), Request("a chef", 2**62)]
FAMILY = "stable-diffusion"


def images(model: DiffusersModel) -> np.ndarray:
    return np.stack([np.asarray(image, dtype=int) for image in model.generate(REQUESTS)])


@pytest.fixture(scope="module")
def checkpoint(tiny: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("single") / "tuned.safetensors"
    ldm_layout.write(
        StableDiffusionPipeline.from_pretrained(tiny(FAMILY), use_safetensors=True), path
    )
    return path


@pytest.fixture(scope="module")
def config(tiny: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the configurations and tokenizer of a pipeline, without its weights."""
    folder = tmp_path_factory.mktemp("config")
    for file in tiny(FAMILY).rglob("*"):
        if file.is_file() and file.suffix != ".safetensors":
            copy = folder / file.relative_to(tiny(FAMILY))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    return folder


def test_token_embeddings_are_those_of_the_pipeline(
    tiny: Saved, checkpoint: Path, config: Path
) -> None:
    expected = DiffusersModel(tiny(FAMILY)).token_embeddings()
    embeddings = DiffusersModel(checkpoint, config=str(config)).token_embeddings()
    assert expected is not None
    assert embeddings is not None
    assert torch.equal(embeddings, expected)


def test_images_are_those_of_the_pipeline(tiny: Saved, checkpoint: Path, config: Path) -> None:
    single = DiffusersModel(checkpoint, config=str(config), num_inference_steps=2)
    folder = DiffusersModel(tiny(FAMILY), num_inference_steps=2)
    assert (images(single) == images(folder)).all()
    assert single.settings == folder.settings
    assert single.revision != folder.revision
    assert single.pipeline.safety_checker is None


def test_the_key_changes_with_the_file(checkpoint: Path, config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    weights = load_file(checkpoint)
    save_file({**weights, "alpha": torch.zeros(1)}, other)
    revisions = [
        registry.model(f"diffusers/{file}", config=str(config)).revision
        for file in (checkpoint, other)
    ]
    assert len(set(revisions)) == 2


def test_faults_are_errors_of_one_sentence(
    tiny: Saved, checkpoint: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given = {"config": str(config), "num_inference_steps": 2}
    weights = load_file(checkpoint)
    lacking = tmp_path / "lacking.safetensors"
    parts = {k: v for k, v in weights.items() if not k.startswith("cond_stage_model")}
    save_file(parts, lacking)
    with pytest.raises(UsageError, match=r"no weights for a CLIPTextModel.*-M config=FOLDER"):
        images(DiffusersModel(lacking, **given))
    absent = tmp_path / "absent.safetensors"
    for end in (
        "time_embed.0.bias",
        "middle_block.0.in_layers.2.weight",
        "q_proj.weight",
        "q.bias",
    ):
        key = next(k for k in weights if k.endswith(end))
        save_file({k: v for k, v in weights.items() if k != key}, absent)
        with pytest.raises(UsageError, match="does not contain all weights that"):
            images(DiffusersModel(absent, **given))
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(checkpoint.read_bytes()[:40])
    unknown = tmp_path / "unknown.safetensors"
    save_file({"weight": torch.zeros(2)}, unknown)
    pickled = tmp_path / "model.ckpt"
    pickled.write_bytes(b"pickle")
    cases = [
        (broken, {}, "damaged"),
        (unknown, {}, "cannot recognize the layout.*-M config=ID"),
        (pickled, {}, "safetensors"),
        (checkpoint, {}, "-M config=FOLDER"),
        (checkpoint, {"revision": "main", **given}, "has no revision"),
        (checkpoint, {"variant": "fp16", **given}, "-M variant"),
        (checkpoint, {"config": str(tmp_path / "absent")}, "there is no folder"),
        (tiny(FAMILY), given, "omit -M config"),
    ]
    for path, settings, message in cases:
        with pytest.raises(AskewError, match=message):
            DiffusersModel(path, **settings)
