"""An edit depends only on the model, the image, the prompt, the strength and the seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from askew.errors import ModelError, UsageError
from askew.models.base import EditRequest, progress_listener
from askew.models.diffusers import create
from askew.models.diffusers.editing import DiffusersEditor
from askew.models.diffusers.model import DiffusersModel
from askew.models.editors import editor_of
from askew.models.planted import PlantedModel
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import Missing
from slow_cases import quick_only

Saved = Callable[[str], Path]

FAMILIES = ("stable-diffusion", "stable-diffusion-xl", "stable-diffusion-3")
SIDE = 32
SOURCES = [
    draw(Scene(gender=gender), seed).resize((SIDE, SIDE))
    for gender, seed in (("male", 1), ("female", 2))
]


def editor(tiny: Saved, family: str, **settings: Any) -> DiffusersEditor:
    return DiffusersEditor(
        DiffusersModel(tiny(family), batch_size=4), {"num_inference_steps": 4, **settings}
    )


def requests() -> list[EditRequest]:
    prompts = ("a photo of a doctor", "a photo of a maid")
    strengths = (0.5, 1.0)
    return [
        EditRequest(SOURCES[k % 2], prompts[k // 2 % 2], strengths[k // 4], 7 + k % 3)
        for k in range(8)
    ]


def arrays(pictures: Sequence[Image.Image | Missing]) -> np.ndarray:
    assert all(isinstance(picture, Image.Image) for picture in pictures), pictures
    return np.stack([np.asarray(picture, dtype=int) for picture in pictures])


@pytest.mark.parametrize(
    "family",
    quick_only(["stable-diffusion"], FAMILIES),
)
def test_edits_are_the_same_whatever_the_batch(tiny: Saved, family: str) -> None:
    tiny_editor = editor(tiny, family)
    wanted = requests()
    reported: list[int] = []
    with progress_listener(reported.append):
        together = arrays(tiny_editor.edit(wanted))
    assert sum(reported) == 8
    assert together.shape == (8, SIDE, SIDE, 3)
    torch.manual_seed(1)  # the state of the global generator must not matter
    alone = np.concatenate([arrays(tiny_editor.edit([request])) for request in reversed(wanted)])[
        ::-1
    ]
    assert np.abs(alone - together).max() <= 1


@pytest.mark.parametrize("family", quick_only(["stable-diffusion-3"], FAMILIES))
def test_edits_depend_on_every_part_of_the_request(tiny: Saved, family: str) -> None:
    tiny_editor = editor(tiny, family, guidance_scale=7.5)
    base = requests()[0]
    others = [
        EditRequest(SOURCES[1], base.prompt, base.strength, base.seed),
        EditRequest(base.picture, "a photo of a maid", base.strength, base.seed),
        EditRequest(base.picture, base.prompt, 1.0, base.seed),
        EditRequest(base.picture, base.prompt, base.strength, base.seed + 1),
    ]
    edits = arrays(tiny_editor.edit([base, *others]))
    assert (np.abs(edits[1:] - edits[0]).max(axis=(1, 2, 3)) >= 2).all()


@pytest.mark.parametrize(
    "family",
    [
        "flux",
        "sana-sprint",
        *(
            pytest.param(family, marks=pytest.mark.slow)
            for family in ("latent-consistency", "qwen-image", "kandinsky")
        ),
    ],
)
def test_every_supported_family_edits_and_restores_images(tiny: Saved, family: str) -> None:
    side = 64
    steps = 2 if family == "sana-sprint" else 4  # it accepts no other number
    # otherwise it works on a million pixels
    small = {"use_resolution_binning": False} if family == "sana-sprint" else {}
    tiny_editor = editor(tiny, family, num_inference_steps=steps, **small)
    picture = SOURCES[0].resize((side, side))
    tiny_editor.check((side, side), (0.5, 1.0))
    base = EditRequest(picture, "a photo of a doctor", 0.5, 7)
    others = [
        EditRequest(SOURCES[1].resize((side, side)), base.prompt, 0.5, 7),
        EditRequest(picture, base.prompt, 0.5, 8),
        base,
    ]
    first, *rest = arrays(tiny_editor.edit([base, *others]))
    assert first.shape == (side, side, 3)
    assert [np.abs(edit - first).max() > 1 for edit in rest] == [True, True, False]
    back = arrays(tiny_editor.encode_decode([picture, picture]))
    assert back.shape == (2, side, side, 3)
    np.testing.assert_array_equal(*back)


@pytest.mark.parametrize("family", FAMILIES)
def test_encoding_and_decoding_draws_no_noise_and_keeps_the_size(tiny: Saved, family: str) -> None:
    tiny_editor = editor(tiny, family)
    back = arrays(tiny_editor.encode_decode(SOURCES))
    assert back.shape == (2, SIDE, SIDE, 3)
    torch.manual_seed(3)
    np.testing.assert_array_equal(arrays(tiny_editor.encode_decode(SOURCES[:1])), back[:1])


def test_settings_of_the_model_apply_to_edits_unless_others_are_given(tiny: Saved) -> None:
    model = DiffusersModel(
        tiny("stable-diffusion"), guidance_scale=3.0, num_inference_steps=9, scheduler="DDIM"
    )
    settings_of_edits = DiffusersEditor(model, {"num_inference_steps": 5}).settings
    assert (
        settings_of_edits["guidance_scale"],
        settings_of_edits["num_inference_steps"],
        settings_of_edits["scheduler"],
    ) == (
        3.0,
        5,
        "DDIMScheduler",
    )
    with pytest.raises(UsageError, match="strenght"):
        DiffusersEditor(model, {"strenght": 0.5})


def test_errors_of_edits_name_settings_that_would_work(tiny: Saved) -> None:
    tiny_editor = editor(tiny, "stable-diffusion")
    tiny_editor.check((32, 48), (0.5, 1.0))
    with pytest.raises(UsageError, match="--resize 32"):
        tiny_editor.check((33, 32), (0.5,))
    with pytest.raises(UsageError, match="num_inference_steps=6"):
        tiny_editor.check((32, 32), (0.2,))
    with pytest.raises(
        UsageError,
        match=r"studio/planted generates images only from prompts.*askew edit --model studio",
    ):
        editor_of(PlantedModel(), {})
    with pytest.raises(UsageError, match="These families can edit: Stable Diffusion 1, 2, XL"):
        editor_of(create(str(tiny("pixart"))), {})


class MemoryHungryPipeline:
    """A pipeline that runs out of memory with more than `limit` prompts at once."""

    def __init__(self, pipeline: Any, limit: int) -> None:
        self.components = pipeline.components
        self.sizes = list[int]()
        self._pipeline = pipeline
        self._limit = limit

    def __call__(self, **arguments: Any) -> Any:
        self.sizes.append(len(arguments["prompt"]))
        if self.sizes[-1] > self._limit:
            raise MemoryError
        return self._pipeline(**arguments)


@pytest.mark.slow
def test_a_lack_of_memory_halves_the_batch_and_is_an_error_for_one_edit(tiny: Saved) -> None:
    tiny_editor = editor(tiny, "stable-diffusion")
    plain = arrays(tiny_editor.edit(requests()[:4]))
    whole = tiny_editor.pipeline
    tiny_editor.pipeline = greedy = MemoryHungryPipeline(whole, 2)
    assert np.abs(arrays(tiny_editor.edit(requests()[:4])) - plain).max() <= 1
    assert greedy.sizes == [4, 2, 2]
    tiny_editor.pipeline = MemoryHungryPipeline(whole, 0)
    with pytest.raises(
        ModelError,
        match=r"needs more memory for one edit than cpu has: use -M offload=model.*--resize 256",
    ):
        tiny_editor.edit(requests()[:1])


def test_sides_are_multiples_of_the_patches_of_a_transformer(tiny: Saved) -> None:
    tiny_editor = editor(tiny, "stable-diffusion-3")
    factor = tiny_editor.pipeline.vae_scale_factor
    tiny_editor.check((3 * factor, 4 * factor), (1.0,))
    tiny_editor.pipeline.transformer.register_to_config(patch_size=2)
    tiny_editor.check((2 * factor, 4 * factor), (1.0,))
    with pytest.raises(UsageError, match=f"be multiples of {2 * factor}; .*--resize {2 * factor}$"):
        tiny_editor.check((3 * factor, 4 * factor), (1.0,))
