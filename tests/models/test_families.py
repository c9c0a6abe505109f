"""Check the table of commands that work with each family of diffusers pipelines, on tiny pipelines.

If a family starts or stops supporting a command, write the table:

    pytest tests/models/test_families.py -m slow --record
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from askew.errors import UsageError
from askew.measure.attention import AttentionMaps
from askew.measure.denoising import Denoiser, class_errors, noise_of
from askew.models.base import EditRequest, Request
from askew.models.diffusers.editing import DiffusersEditor
from askew.models.diffusers.model import DiffusersModel

FILE = Path(__file__).parents[2] / "docs" / "reference" / "families.md"
NAMES = {
    "stable-diffusion": "Stable Diffusion 1, 2",
    "stable-diffusion-xl": "Stable Diffusion XL",
    "playground": "Playground 2.5",
    "latent-consistency": "LCM",
    "stable-diffusion-3": "Stable Diffusion 3, 3.5",
    "flux": "Flux",
    "chroma": "Chroma",
    "qwen-image": "Qwen-Image",
    "auraflow": "AuraFlow",
    "lumina-2": "Lumina 2",
    "z-image": "Z-Image",
    "pixart": "PixArt-α",
    "pixart-sigma": "PixArt-Σ",
    "sana": "Sana",
    "sana-sprint": "Sana-Sprint",
    "kandinsky-2-1": "Kandinsky 2.1",
    "kandinsky": "Kandinsky 2.2",
    "kandinsky-3": "Kandinsky 3",
    "flux-2-klein": "FLUX.2 klein",
    "ovis-image": "Ovis-Image",
    "bria": "Bria 3",
    "fibo": "FIBO",
    "krea-2": "Krea 2",
    "hidream": "HiDream-I1",
    "hunyuan-image": "HunyuanImage 2.1",
    "deepfloyd": "DeepFloyd IF",
    "latent-diffusion": "Latent Diffusion",
    "stable-diffusion-pag": "Stable Diffusion 1, 2 with PAG",
    "stable-diffusion-xl-pag": "Stable Diffusion XL with PAG",
    "stable-diffusion-3-pag": "Stable Diffusion 3 with PAG",
    "pixart-sigma-pag": "PixArt-Σ with PAG",
    "sana-pag": "Sana with PAG",
}
SIDE = 64
HEAD = """# Families of diffusers pipelines

This table shows which commands support which family of models. We tested the commands with tiny pipelines that have
random weights. "no" means that the command stops with an error before it generates an image. askew accepts other
pipeline classes from diffusers, such as FIBO 2 and Kandinsky 5.0, but no test generates images with these classes.
`pytest tests/models/test_families.py -m slow --record` writes this page.

| family | images | maps (`askew map`) | edits (`askew edit`) | classes (`askew classify`) |
| --- | --- | --- | --- | --- |
"""


def pictures(model: DiffusersModel) -> None:
    (image,) = model.generate([Request("a photo of a nurse", 1)])
    assert isinstance(image, Image.Image)


def maps(model: DiffusersModel) -> None:
    with AttentionMaps(model.pipeline, "a photo of a nurse and gender") as maps:
        pictures(model)
    assert np.isfinite(maps.aggregate()).all()


def edits(model: DiffusersModel) -> None:
    editor = DiffusersEditor(model, {})
    source = Image.effect_noise((SIDE, SIDE), 80).convert("RGB")
    editor.check(source.size, (0.5,))
    for image in (
        *editor.edit([EditRequest(source, "a photo of a nurse", 0.5, 1)]),
        *editor.encode_decode([source]),
    ):
        assert isinstance(image, Image.Image)


def classes(model: DiffusersModel) -> None:
    # Flux uses the size given here; its default of 128 would be slow
    model.pipeline.default_sample_size = 16
    denoiser = Denoiser(model.pipeline, ("a nurse", "a doctor"))
    latents = denoiser.latents([Image.effect_noise((SIDE, SIDE), 80)])
    noise = torch.stack([noise_of(1, 1, denoiser.shape)])
    assert np.isfinite(
        class_errors(model.pipeline, latents, ("a nurse", "a doctor"), (500,), noise)
    ).all()


TRIED: tuple[Callable[[DiffusersModel], None], ...] = (pictures, maps, edits, classes)


def row(family: str, folder: Path) -> str:
    """Return the row of a family, whose tiny pipeline is in this folder."""
    settings: dict[str, Any] = {"num_inference_steps": 2, "height": SIDE, "width": SIDE}
    if family.startswith(("pixart", "sana")):
        settings["use_resolution_binning"] = False  # otherwise they work on a million pixels
    model = DiffusersModel(folder, **settings)
    works = []
    for tried in TRIED:
        # any other failure fails the test: no cell may state that a family breaks
        try:
            tried(model)
        except UsageError:
            works.append("no")
        else:
            works.append("yes")
    return f"| {NAMES[family]} | {' | '.join(works)} |\n"


@pytest.mark.parametrize("family", ["stable-diffusion", "z-image", "fibo", "krea-2"])
def test_a_row_states_what_a_family_supports(family: str, tiny: Callable[[str], Path]) -> None:
    assert row(family, tiny(family)) in FILE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_states_what_each_family_supports(
    tiny: Callable[[str], Path], pytestconfig: pytest.Config
) -> None:
    text = HEAD + "".join(row(family, tiny(family)) for family in NAMES)
    if pytestconfig.getoption("--record"):
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text
