"""An image of a diffusers pipeline depends only on the model, the prompt, the seed and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image

import tiny_pipelines
from askew.errors import ModelError, UsageError
from askew.models.base import Request, Setting, progress_listener
from askew.models.diffusers import model as diffusers_model
from askew.models.diffusers.model import DiffusersModel
from askew.run.base import encoded
from askew.store.imagefile import EncodedPicture
from askew.types import Missing
from slow_cases import quick_only

Saved = Callable[[str], Path]

SMALL: dict[str, Setting] = {"height": 32, "width": 32}
UNBINNED: dict[str, Setting] = {**SMALL, "use_resolution_binning": False}
SETTINGS: dict[str, dict[str, Setting]] = {
    "auraflow": SMALL,
    "chroma": SMALL,
    "flux": SMALL,
    "flux-stochastic": SMALL,
    "kandinsky": {**SMALL, "prior_num_inference_steps": 2},
    "kandinsky-3": {"height": 64, "width": 64},
    "pixart": UNBINNED,
    "pixart-sigma": UNBINNED,
    "qwen-image": SMALL,
    "sana": UNBINNED,
    "sana-sprint": UNBINNED,
}
GUIDED: dict[str, dict[str, Setting]] = {"flux": {"true_cfg_scale": 3.0}}
"""Further settings that a family needs before a negative prompt has an effect."""

QUICK = {"flux-stochastic", "stable-diffusion"}
"""A transformer that adds noise, and a UNet."""

PROMPTS = ("a photo of a nurse", "a chef", "a photo of an old doctor in a hospital")
REQUESTS = [Request(PROMPTS[k % 3], 100 + k // 3) for k in range(8)]


def model(tiny: Saved, family: str, **settings: Any) -> DiffusersModel:
    return DiffusersModel(
        tiny(family), **{"num_inference_steps": 2, **SETTINGS.get(family, {}), **settings}
    )


def arrays(pictures: Sequence[Image.Image | Missing]) -> np.ndarray:
    assert all(isinstance(picture, Image.Image) for picture in pictures), pictures
    return np.stack([np.asarray(picture, dtype=int) for picture in pictures])


def in_batches(tiny_model: DiffusersModel, size: int) -> np.ndarray:
    parts = [REQUESTS[:4][start : start + size] for start in range(0, 4, size)]
    return np.concatenate([arrays(tiny_model.generate(part)) for part in parts])


@pytest.mark.parametrize("family", quick_only(QUICK, tiny_pipelines.FAMILIES))
def test_images_are_the_same_whatever_the_batch(tiny: Saved, family: str) -> None:
    tiny_model = model(tiny, family, batch_size=4)
    together = in_batches(tiny_model, 4)
    torch.manual_seed(1)  # the state of the global generator must not matter
    assert np.abs(in_batches(tiny_model, 3) - together).max() <= 1
    torch.manual_seed(2)
    assert np.abs(in_batches(model(tiny, family, batch_size=1), 1) - together).max() <= 1
    by_prompt = together[0] - together[1]
    by_seed = together[0] - together[3]
    assert np.abs(by_prompt).max() >= 5
    assert np.abs(by_seed).max() >= 5


@pytest.mark.parametrize(
    "family",
    quick_only(
        ["stable-diffusion"],
        [
            family
            for family in tiny_pipelines.FAMILIES
            if family not in ("sana-sprint", "latent-consistency")
        ],
    ),
)
def test_a_negative_prompt_changes_every_image_of_a_batch_alike(tiny: Saved, family: str) -> None:
    guided = {"guidance_scale": 4.0, **GUIDED.get(family.removesuffix("-stochastic"), {})}
    if family == "qwen-image":
        del guided["guidance_scale"]
    with_it = model(
        tiny, family, batch_size=4, negative_prompt="low quality, bad quality", **guided
    )
    together = arrays(with_it.generate(REQUESTS[:3]))
    alone = np.concatenate([arrays(with_it.generate([request])) for request in REQUESTS[:3]])
    assert np.abs(together - alone).max() <= 1
    guided.pop("true_cfg_scale", None)  # which needs a negative prompt
    without = model(tiny, family, **guided)
    without.__dict__["pipeline"] = with_it.pipeline
    assert (
        np.abs(together - arrays(without.generate(REQUESTS[:3]))).max(axis=(1, 2, 3)) >= 2
    ).all()


@pytest.mark.parametrize(
    "family",
    quick_only(["stable-diffusion"], ["stable-diffusion", "sdxl-turbo", "stable-diffusion-3"]),
)
def test_images_equal_those_of_the_pipeline(tiny: Saved, family: str) -> None:
    bare = diffusers.DiffusionPipeline.from_pretrained(tiny(family))
    bare.set_progress_bar_config(disable=True)
    generator = torch.Generator("cpu").manual_seed(REQUESTS[0].seed)
    expected = bare(REQUESTS[0].prompt, generator=generator, num_inference_steps=2).images[0]
    (image,) = model(tiny, family).generate(REQUESTS[:1])
    assert np.abs(arrays([image]) - arrays([expected])).max() == 0


@pytest.mark.slow
def test_a_sampler_that_adds_noise_uses_the_generator_of_the_image(tiny: Saved) -> None:
    """Two images of one batch with the same seed get the same noise, unlike with a global
    generator.
    """
    twins = [REQUESTS[0], REQUESTS[1], REQUESTS[0]]
    for family in ("sdxl-turbo", "flux-stochastic"):
        first, _, last = arrays(model(tiny, family, batch_size=3).generate(twins))
        assert np.abs(first - last).max() <= 1
    noisy, plain = (
        arrays(
            model(tiny, "sdxl-turbo", num_inference_steps=4, scheduler=kind).generate(REQUESTS[:1])
        )
        for kind in ("EulerAncestralDiscrete", "EulerDiscrete")
    )
    assert np.abs(noisy - plain).max() >= 5


@pytest.mark.slow
def test_noise_without_a_generator_is_detected_and_its_images_are_made_singly(
    tiny: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffusers_model, "_draws_noise", lambda part: False)
    tiny_model = model(tiny, "flux-stochastic", batch_size=4)
    reported: list[int] = []
    with progress_listener(reported.append):
        together = in_batches(tiny_model, 4)
    assert reported == [1] * 4
    torch.manual_seed(5)
    assert np.abs(in_batches(model(tiny, "flux-stochastic", batch_size=1), 1) - together).max() <= 1


def test_the_global_generators_are_left_as_they_were(tiny: Saved) -> None:
    tiny_model = model(tiny, "flux-stochastic")
    tiny_model.pipeline  # noqa: B018 - loading may draw
    before = torch.get_rng_state()
    tiny_model.generate(REQUESTS[:2])
    assert torch.equal(torch.get_rng_state(), before)
    assert "step" not in vars(tiny_model.pipeline.scheduler)


@pytest.mark.parametrize("family", quick_only(QUICK, tiny_pipelines.FAMILIES))
def test_rounding_on_the_device_gives_equal_images(
    family: str, tiny: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_model = model(tiny, family, **SETTINGS.get(family, {}))
    images = arrays(tiny_model.generate(REQUESTS[:2]))
    monkeypatch.setattr(diffusers_model, "LEFT_ON_DEVICE", frozenset())
    assert np.array_equal(arrays(tiny_model.generate(REQUESTS[:2])), images)


class MemoryHungryPipeline:
    """A pipeline that runs out of memory with more than `limit` prompts at once."""

    def __init__(self, pipeline: Any, limit: int, error: Exception) -> None:
        self.components = pipeline.components
        self.sizes: list[int] = []
        self._pipeline = pipeline
        self._limit = limit
        self._error = error

    def __call__(self, **arguments: Any) -> Any:
        self.sizes.append(len(arguments["prompt"]))
        if len(arguments["prompt"]) > self._limit:
            raise self._error
        return self._pipeline(**arguments)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        pytest.param(
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(MemoryError(), marks=pytest.mark.slow),
    ],
)
def test_a_batch_that_is_too_large_is_halved_until_it_fits(tiny: Saved, error: Exception) -> None:
    tiny_model = model(tiny, "stable-diffusion", batch_size=8, num_inference_steps=1, **SMALL)
    expected = arrays(tiny_model.generate(REQUESTS))
    greedy = MemoryHungryPipeline(tiny_model.pipeline, 2, error)
    tiny_model.__dict__["pipeline"] = greedy
    assert np.abs(arrays(tiny_model.generate(REQUESTS)) - expected).max() <= 1
    assert greedy.sizes == [8, 4, 2, 2, 2, 2]
    greedy.sizes.clear()
    reported: list[int] = []
    with progress_listener(reported.append):
        tiny_model.generate(REQUESTS)
    assert greedy.sizes == reported == [2, 2, 2, 2]
    assert tiny_model.batch_size == 8, "the slices of a run must stay the same"


def test_the_error_of_an_image_too_large_for_memory_names_a_remedy(tiny: Saved) -> None:
    tiny_model = model(tiny, "stable-diffusion", batch_size=2)
    tiny_model.__dict__["pipeline"] = MemoryHungryPipeline(tiny_model.pipeline, 0, MemoryError())
    with pytest.raises(
        ModelError, match=r"needs more memory for one image than cpu has.* -M height"
    ):
        tiny_model.generate(REQUESTS[:2])


@pytest.mark.parametrize(
    ("family", "given", "says"),
    [
        ("stable-diffusion-3", {"max_sequence_length": 513}, "cannot be greater than 512"),
        ("stable-diffusion-3", {"height": 33, "width": 33}, "divisible by"),
        (
            "stable-diffusion",
            {"clip_skip": 50},
            "clip_skip=50, .*; change or omit the setting",
        ),
        (
            "stable-diffusion",
            {"num_inference_steps": 2000, "scheduler": "DDIM"},
            "cannot be larger than",
        ),
    ],
)
def test_a_setting_that_the_pipeline_refuses_is_named(
    tiny: Saved, family: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=rf"does not work with one of its settings \(.*{says}"):
        model(tiny, family, **given).generate(REQUESTS[:2])


def test_other_failures_are_not_reported_as_a_lack_of_memory(tiny: Saved) -> None:
    tiny_model = model(tiny, "stable-diffusion")
    tiny_model.__dict__["pipeline"] = MemoryHungryPipeline(
        tiny_model.pipeline, 0, ValueError("something else")
    )
    with pytest.raises(ValueError, match="something else"):
        tiny_model.generate(REQUESTS[:2])


@pytest.mark.parametrize(
    ("family", "says"),
    quick_only(
        [("flat", "single")],
        [("all hidden", "safety"), ("not a number", "float32"), ("flat", "single")],
    ),
)
def test_an_image_that_shows_nothing_is_missing(tiny: Saved, family: str, says: str) -> None:
    for image in model(tiny, family).generate(REQUESTS[:2]):
        picture = encoded(image)
        assert isinstance(picture, Missing)
        assert picture.reason == "blank_image"
        assert says in picture.detail


def test_each_image_is_checked_for_a_single_color_once(
    tiny: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    getextrema = Image.Image.getextrema

    def counted(image: Image.Image) -> Any:
        sizes.append(image.size)
        return getextrema(image)

    monkeypatch.setattr(Image.Image, "getextrema", counted)
    images = model(tiny, "stable-diffusion").generate(REQUESTS[:2])
    assert [isinstance(encoded(image), EncodedPicture) for image in images] == [True, True]
    assert sizes == [image.size for image in images if isinstance(image, Image.Image)]


def test_a_safety_checker_hides_no_acceptable_image(tiny: Saved) -> None:
    images = arrays(model(tiny, "none hidden").generate(REQUESTS[:2]))
    assert (
        np.abs(images - arrays(model(tiny, "stable-diffusion").generate(REQUESTS[:2]))).max() == 0
    )


def test_nothing_is_written_to_the_terminal(tiny: Saved, capfd: pytest.CaptureFixture[str]) -> None:
    tiny_model = model(tiny, "all hidden")
    capfd.readouterr()  # the output of saving the pipeline
    tiny_model.generate(REQUESTS[:1])
    assert capfd.readouterr() == ("", "")
