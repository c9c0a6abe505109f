"""Each technique, on each family of pipelines, for images and for attention maps.

It composes, or a sentence refuses it before any image.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import askew
from askew.cli import run
from askew.errors import UsageError
from askew.measure.attention.reader import AttentionReader, decode_maps, watching
from askew.mitigations.fair_diffusion import FairDiffusion
from askew.mitigations.iti_gen import check_encoder
from askew.models.diffusers.model import DiffusersModel
from mitigations.techniques import (
    FAMILIES,
    GENDER,
    NETWORK_TECHNIQUES,
    NURSE,
    REQUESTS,
    TECHNIQUES,
    pipeline,
    technique,
)
from slow_cases import quick_only
from text_to_image import ACCEPTED

REFUSED = {
    (
        "entanglement",
        "stable-diffusion-3",
    ): "entanglement works on pipelines of Stable Diffusion 1, 2 and XL, but",
    ("iti-gen", "stable-diffusion-xl"): "iti-gen works only with a single text encoder, but",
    (
        "iti-gen",
        "stable-diffusion-3",
    ): "iti-gen works on pipelines of Stable Diffusion 1, 2 and XL, but",
}
"""Beginnings of the sentences that refuse a technique on a family."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DiffusersModel]:
    folder = tmp_path_factory.mktemp("families")
    opened = {}
    for family in FAMILIES:
        pipeline(family).save_pretrained(folder / family)
        opened[family] = DiffusersModel(folder / family, num_inference_steps=3)
    return opened


def maps_of(model: Any, images_out: list[Any] | None = None) -> np.ndarray:
    """The maps of gender and nurse in all layers, a row for each image."""
    numbers = {request.seed: request.number for request in REQUESTS}
    reader = AttentionReader(model, NURSE, ["gender"], "nurse", "ovam", "cond", numbers)
    with watching(model, reader) as maps:
        images = model.generate(REQUESTS)
    if images_out is not None:
        images_out += images
    return np.stack([maps[request] for request in REQUESTS])


@pytest.mark.parametrize("family", quick_only(FAMILIES[:1], FAMILIES))
@pytest.mark.parametrize("name", quick_only(["entanglement", "iti-gen"], TECHNIQUES))
def test_it_composes_or_is_refused(
    name: str, family: str, models: dict[str, DiffusersModel]
) -> None:
    plain = models[family]
    value = technique(name, plain.pipeline.text_encoder)
    if (name, family) in REFUSED:
        with pytest.raises(UsageError, match=REFUSED[name, family]):
            value.wrap(plain)
        return
    model = value.wrap(plain)
    images = model.generate(REQUESTS)
    assert images != plain.generate(REQUESTS)
    watched: list[Any] = []
    maps = maps_of(model, watched)
    assert watched == images, "maps change no image"
    for layer in decode_maps(maps).values():
        assert np.isfinite(layer).all()
        assert (layer > 0).any()
    assert np.abs(maps - maps_of(plain)).max() > 1e-6


@pytest.mark.parametrize("family", quick_only(FAMILIES[:1], FAMILIES))
def test_maps_are_of_the_prompt_and_not_of_edits(
    family: str, models: dict[str, DiffusersModel]
) -> None:
    """Edits with nearly no effect leave the maps as they are, though their rows are evaluated."""
    plain = models[family]
    weak = FairDiffusion(targets=GENDER, scale=1e-6).wrap(plain)
    assert maps_of(weak) == pytest.approx(maps_of(plain), rel=1e-3, abs=1e-4)


STEERED = {"StableDiffusionPipeline", "StableDiffusionXLPipeline", "StableDiffusion3Pipeline"}
"""Classes whose steered images the tests above make."""


@pytest.mark.parametrize("name", NETWORK_TECHNIQUES)
def test_all_other_classes_of_diffusers_are_refused(
    name: str, models: dict[str, DiffusersModel]
) -> None:
    value = technique(name, models["stable-diffusion"].pipeline.text_encoder)
    assert {"KandinskyCombinedPipeline", "IFPipeline", "LDMTextToImagePipeline"} < ACCEPTED
    for class_name in sorted(ACCEPTED - STEERED):
        with pytest.raises(UsageError, match=rf"{name}.* {class_name} of X.*; use --technique"):
            value.check_class(getattr(diffusers, class_name), " of X")


def test_a_network_that_takes_the_guidance_as_an_input_is_refused(
    tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(tiny("stable-diffusion"), tmp_path / "copy"))
    file = copy / "unet" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"time_cond_proj_dim": 8}))
    with pytest.raises(UsageError, match=r"the UNet of .* takes the guidance scale as an input"):
        technique("cads").wrap(DiffusersModel(copy))


def test_an_unknown_text_encoder_is_refused_before_any_image(tmp_path: Path) -> None:
    tokens = technique("iti-gen", pipeline("stable-diffusion").text_encoder)
    pipeline("stable-diffusion").save_pretrained(tmp_path / "sd")
    model = tokens.model_copy(update={"encoder": "0" * 16}).wrap(
        DiffusersModel(tmp_path / "sd", num_inference_steps=3)
    )
    with pytest.raises(UsageError, match="were learned with a text encoder that differs from"):
        model.generate(REQUESTS)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, r"'studio' \(\d+ tokens of width 128, float32\), but the text encoder of diffusers/"),
        ({"textual_inversion": "words"}, "-M textual_inversion adds words to the text encoder"),
    ],
)
def test_mitigate_refuses_an_unknown_text_encoder_before_any_image(
    settings: dict[str, str], reason: str, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    if settings:
        words = tmp_path / "words.safetensors"
        save_file({"<rose>": torch.ones(32)}, words)
        settings = {"textual_inversion": str(words)}
    folder = tiny("stable-diffusion")
    with pytest.raises(UsageError, match=reason):
        askew.mitigate(
            NURSE,
            model=f"diffusers/{folder}",
            model_args=settings,
            axes="gender",
            techniques="iti-gen",
            embedder="studio",
            vqa="studio",
            run=tmp_path / "run",
            store=tmp_path / "store",
        )
    assert not [*tmp_path.rglob("*.png")]


def test_a_dry_run_refuses_an_unknown_text_encoder(
    tiny: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["mitigate", NURSE, "--technique", "iti-gen", "--axes", "gender", "--dry-run"]
    command += ["--embedder", "studio", "--vqa", "studio", "--run", str(tmp_path / "run")]
    command += ["--store", str(tmp_path / "store"), "--model"]
    assert run([*command, f"diffusers/{tiny('stable-diffusion')}"]) == 2
    assert "has different token embeddings" in capsys.readouterr().err
    assert run([*command, "studio"]) == 0


def test_the_token_embeddings_are_read_without_the_pipeline(
    models: dict[str, DiffusersModel],
) -> None:
    model = DiffusersModel(models["stable-diffusion"].repository.name)
    embeddings = model.token_embeddings()
    assert embeddings is not None
    assert "pipeline" not in vars(model)
    encoder = model.pipeline.text_encoder
    assert torch.equal(embeddings, encoder.get_input_embeddings().weight)
    assert model.encoder_is_here
    check_encoder(model, encoder.get_input_embeddings().weight, "clip/the-same")
