"""Semantic guidance, CADS and the baselines, by diffusers' pipeline and plain formulas."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler
from diffusers.pipelines.deprecated.semantic_stable_diffusion.pipeline_semantic_stable_diffusion import (
    SemanticStableDiffusionPipeline,
)

import tiny_pipelines
from askew import registry
from askew.errors import UsageError
from askew.mitigations.cads import CADS, Guidance, NegativePrompt, anneal
from askew.mitigations.entanglement import Entanglement
from askew.mitigations.fair_diffusion import FairDiffusion
from askew.mitigations.steering import Steering
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel

PROMPT = "a photo of a nurse"
EVEN = {"gender": {"male": 0.5, "female": 0.5}}
HOW = {"num_inference_steps": 6, "guidance_scale": 5.0, "output_type": "latent"}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return ddim_pipeline()


def ddim_pipeline() -> Any:
    tiny = tiny_pipelines.stable_diffusion()
    tiny.scheduler = DDIMScheduler.from_config(tiny.scheduler.config)
    tiny.set_progress_bar_config(disable=True)
    return tiny


def latents(
    pipeline: Any, steering: Steering | None, requests: list[Request], **how: Any
) -> np.ndarray:
    generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
    with steering.steer(pipeline, requests) if steering else nullcontext():
        output = pipeline(
            [request.prompt for request in requests], generator=generators, **(HOW | how)
        ).images
    return np.asarray(output)


def test_fair_diffusion_equals_the_semantic_guidance_of_diffusers() -> None:
    # a pixel that reaches the quantile by less than the rounding errors is edited or not by chance
    pipeline = ddim_pipeline().to(torch.float64)
    steering = FairDiffusion(targets=EVEN, warm_up=1 / 3)
    request = Request(PROMPT, 7, 0)
    asked = steering.requested_values(request)["gender"]
    parts = {
        name: pipeline.components[name]
        for name in ("vae", "text_encoder", "tokenizer", "unet", "scheduler")
    }
    oracle = SemanticStableDiffusionPipeline(**parts, safety_checker=None, feature_extractor=None)
    oracle.set_progress_bar_config(disable=True)
    expected = oracle(
        PROMPT,
        generator=torch.Generator("cpu").manual_seed(7),
        **HOW,
        editing_prompt=["male person", "female person"],
        edit_guidance_scale=4.0,
        edit_threshold=0.95,
        reverse_editing_direction=[asked != "male", asked != "female"],
        edit_warmup_steps=2,
        edit_momentum_scale=0.5,
        edit_mom_beta=0.6,
    ).images
    edited = latents(pipeline, steering, [request])
    assert np.abs(edited - np.asarray(expected)).max() < 1e-12
    assert np.abs(edited - latents(pipeline, None, [request])).max() > 1e-3


def test_a_mitigation_without_changes_changes_nothing(pipeline: Any) -> None:
    requests = [Request(PROMPT, 3, 0), Request("a photo of a chef", 4, 1)]
    plain = latents(pipeline, None, requests)
    for steering in (FairDiffusion(targets=EVEN, scale=0), CADS(begin=1)):
        assert np.array_equal(latents(pipeline, steering, requests), plain), steering.method
    assert np.allclose(latents(pipeline, Guidance(scale=5.0), requests), plain, atol=1e-5)
    assert "forward" not in vars(pipeline.unet)


@pytest.mark.parametrize(
    "steering", [FairDiffusion(targets=EVEN), CADS()], ids=lambda technique: technique.method
)
def test_an_image_does_not_depend_on_its_batch(pipeline: Any, steering: Steering) -> None:
    requests = [Request(PROMPT, 10 + k, k) for k in range(3)]
    together = latents(pipeline, steering, requests)
    alone = np.concatenate([latents(pipeline, steering, [request]) for request in requests])
    assert np.abs(together - alone).max() < 1e-4
    assert np.abs(together - latents(pipeline, None, requests)).max() > 1e-3


def test_cads_follows_its_formula() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(2, 3, size=(2, 5, 4))
    n = rng.normal(size=(2, 5, 4))
    annealed = anneal(torch.tensor(y), torch.tensor(n), 0.3, 0.25, 0.8).numpy()
    for row, noise, annealed_row in zip(y, n, annealed, strict=True):
        noised = np.sqrt(0.3) * row + 0.25 * np.sqrt(0.7) * noise
        scaled = (noised - noised.mean()) / noised.std(ddof=1) * row.std(ddof=1) + row.mean()
        assert annealed_row == pytest.approx(0.8 * scaled + 0.2 * noised, abs=1e-6)
    assert [CADS().gamma(step, 10) for step in (0, 1, 2, 4)] == pytest.approx([0, 0, 1 / 3, 1])


def test_the_baselines_equal_settings_of_the_pipeline(pipeline: Any) -> None:
    requests = [Request(PROMPT, 5, 0)]
    assert np.allclose(
        latents(pipeline, Guidance(scale=2.0), requests),
        latents(pipeline, None, requests, guidance_scale=2.0),
        atol=1e-5,
    )
    negative = latents(pipeline, None, requests, negative_prompt=["male person"])
    assert np.allclose(
        latents(pipeline, NegativePrompt(words="male person"), requests), negative, atol=1e-5
    )


def test_a_user_s_pipeline_can_be_steered(pipeline: Any) -> None:
    steering = FairDiffusion(targets=EVEN)
    generators = [torch.Generator("cpu").manual_seed(k) for k in (5, 6)]
    applied = steering.apply(pipeline)
    assert applied.unet is pipeline.unet
    images = applied([PROMPT, PROMPT], generator=generators, **HOW).images
    requests = [Request(PROMPT, 5, 0), Request(PROMPT, 6, 1)]
    assert np.array_equal(np.asarray(images), latents(pipeline, steering, requests))


def test_a_steered_model_is_sent_to_workers() -> None:
    model = FairDiffusion(targets=EVEN).wrap(registry.model("studio"))
    again = pickle.loads(pickle.dumps(model))
    assert (again.settings, again.dtype) == (model.settings, model.dtype)


def test_semantic_guidance_of_a_transformer_follows_its_formula() -> None:
    """With random weights, the first step after warm-up agrees with four separate evaluations."""
    torch.manual_seed(0)
    pipeline = tiny_pipelines.stable_diffusion_3()
    asked = [Request(PROMPT, 7, 0), Request("a photo of a chef", 8, 0)]
    pipeline.set_progress_bar_config(disable=True)
    how = {"num_inference_steps": 1, "guidance_scale": 5.0, "output_type": "latent"}

    def steered_latents(
        steering: Steering | None, requests: list[Request], **more: Any
    ) -> torch.Tensor:
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        with steering.steer(pipeline, requests) if steering else nullcontext():
            return pipeline(
                [request.prompt for request in requests], generator=generators, **how, **more
            ).images

    def velocity(text: str) -> torch.Tensor:
        """Return the velocity of the first image's noise, by one step without guidance."""
        noise = torch.randn((1, 4, 16, 16), generator=torch.Generator("cpu").manual_seed(7))
        out = pipeline(
            text, generator=torch.Generator("cpu").manual_seed(7), **{**how, "guidance_scale": 1.0}
        ).images
        return noise - out  # one step from pure noise to a clean image

    steering = FairDiffusion(targets=EVEN, warm_up=0, momentum=0)
    value = steering.requested_values(asked[0])["gender"]
    none = velocity("")
    plain = velocity(PROMPT)
    total = none + 5 * (plain - none)
    for candidate in EVEN["gender"]:
        edit = 4.0 * (velocity(f"{candidate} person") - none)
        least = torch.quantile(edit.abs().flatten(2), 0.95, dim=2)[..., None, None]
        total += torch.where(edit.abs() >= least, edit, 0) * (1 if candidate == value else -1)
    noise = torch.randn((1, 4, 16, 16), generator=torch.Generator("cpu").manual_seed(7))
    assert (steered_latents(steering, asked)[:1] - (noise - total)).abs().max() < 1e-4
    assert (
        steered_latents(steering, asked)[:1] - steered_latents(None, asked)[:1]
    ).abs().max() > 1e-3
    assert torch.equal(
        steered_latents(FairDiffusion(targets=EVEN, scale=0), asked), steered_latents(None, asked)
    )
    assert "forward" not in vars(pipeline.transformer)


def test_models_that_cannot_be_steered_are_refused_by_name(pipeline: Any, tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="needs guidance; set a guidance_scale above 1"):
        latents(pipeline, CADS(), [Request(PROMPT, 1, 0)], guidance_scale=1.0)
    with pytest.raises(UsageError, match="needs words"):
        latents(pipeline, NegativePrompt(), [Request(PROMPT, 1, 0)])
    flux = DiffusersModel(tiny_pipelines.save("flux", tmp_path / "flux"))
    with pytest.raises(
        UsageError, match="1, 2, XL and 3, but not on the FluxPipeline of diffusers/"
    ):
        CADS().wrap(flux)
    with pytest.raises(
        UsageError, match="1, 2, XL and 3, but not on the FluxPipeline of diffusers/"
    ):
        FairDiffusion(targets=EVEN).wrap(flux)
    with pytest.raises(
        UsageError,
        match="entanglement works on pipelines of Stable Diffusion 1, 2 and XL, but not on the StableDiffusion3",
    ):
        Entanglement(targets=EVEN).apply(tiny_pipelines.stable_diffusion_3())(PROMPT)
    with pytest.raises(
        UsageError,
        match="studio/planted does not provide access to a network; use --technique prompts",
    ):
        CADS().wrap(registry.model("studio/planted"))
