"""Entanglement guidance: masks and gradient by plain sums and finite differences, and refusals."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler

import askew
import tiny_pipelines
from askew import registry
from askew.errors import UsageError
from askew.measure.attention import AttentionMaps
from askew.mitigations import base as mitigation
from askew.mitigations.entanglement import Entanglement, soft_iou, soft_mask
from askew.mitigations.fair_diffusion import FairDiffusion
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel
from askew.types import Estimate

EVEN = {"gender": {"male": 0.5, "female": 0.5}}
REQUESTS = [Request("a photo of a nurse", 10 + k, k) for k in range(2)]


@pytest.fixture(scope="module")
def pipeline() -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tiny = tiny_pipelines.stable_diffusion()
    tiny.scheduler = DDIMScheduler.from_config(tiny.scheduler.config)
    tiny.set_progress_bar_config(disable=True)
    return tiny


def latents(
    pipeline: Any, steering: Entanglement | None, requests: list[Request], scale: float = 5.0
) -> np.ndarray:
    generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
    with steering.steer(pipeline, requests) if steering else nullcontext():
        output = pipeline(
            [request.prompt for request in requests],
            generator=generators,
            num_inference_steps=3,
            guidance_scale=scale,
            output_type="latent",
        )
    return np.asarray(output.images)


def plain_mask(map: np.ndarray) -> np.ndarray:
    """Compute Sinkhorn's rounds with sums and products."""
    n = len(map)
    ones = int(len(map) * 0.3)
    kernel = np.exp(-((map[:, None] - np.array([0.0, 1.0])) ** 2) / 0.01)
    rows = np.ones(n)
    for _ in range(20):
        sides = np.array([n - ones, ones]) / n / (kernel * rows[:, None]).sum(axis=0)
        rows = 1 / n / (kernel * sides).sum(axis=1)
    return n * kernel[:, 1] * rows * sides[1]


def scaled(map: np.ndarray) -> np.ndarray:
    return (map - map.min()) / (map.max() - map.min())


def plain_iou(maps: np.ndarray) -> float:
    a, b = (plain_mask(scaled(map.ravel().astype(float))) for map in maps)
    return float((a * b).sum() / (a + b - a * b).sum())


def test_masks_and_their_overlap_agree_with_plain_sums() -> None:
    maps = np.random.default_rng(0).random((2, 6, 10)) * 3
    a, b = (soft_mask(torch.tensor(map)) for map in maps)
    assert a.numpy().ravel() == pytest.approx(plain_mask(scaled(maps[0].ravel())), abs=1e-6)
    assert float(soft_iou(a, b)) == pytest.approx(plain_iou(maps), abs=1e-6)
    published = soft_mask(torch.tensor(maps[0]), "code").numpy()
    assert published == pytest.approx(np.array([plain_mask(row) for row in maps[0]]), abs=1e-6)


def test_the_guidance_follows_its_formula(pipeline: Any) -> None:
    """The change of the conditional half agrees with finite differences along random directions."""
    rng = torch.Generator().manual_seed(3)
    steering = Entanglement(targets=EVEN, scale=2.0)
    text = REQUESTS[0].prompt
    pipeline.unet.double(), pipeline.text_encoder.double()
    pipeline.scheduler.set_timesteps(4)
    pipeline._guidance_scale = 5.0
    t = pipeline.scheduler.timesteps[1]
    x = torch.randn(1, 4, 16, 16, generator=rng, dtype=torch.double)
    words = torch.cat(pipeline.encode_prompt(text, "cpu", 1, True)[::-1])

    def network(x: Any) -> Any:
        return pipeline.unet(torch.cat([x, x]), t, encoder_hidden_states=words).sample

    def overlap(x: Any) -> float:
        pipeline.scheduler.timesteps = pipeline.scheduler.timesteps.clone()
        with AttentionMaps(pipeline, f"{text} and gender") as maps:
            network(x)
        return plain_iou(np.stack([maps.word("gender")[0], maps.word("nurse")[0]]))

    with torch.no_grad():
        plain = network(x)
        with steering.steer(pipeline, REQUESTS[:1]):
            added = (network(x) - plain).detach()
        assert not added[0].any()
        left = float(pipeline.scheduler.alphas_cumprod[t])
        gradient = added[1] * 5.0 / 2.0 / (1 - left) ** 0.5
        along = gradient / gradient.norm()
        slope = (overlap(x + 3e-3 * along) - overlap(x - 3e-3 * along)) / 6e-3
    pipeline.unet.float(), pipeline.text_encoder.float()
    assert float(gradient.norm()) == pytest.approx(min(slope, 1.0), rel=0.02)


@pytest.mark.slow
def test_images_are_independent_and_a_scale_of_zero_changes_nothing(pipeline: Any) -> None:
    steering = Entanglement(targets=EVEN, scale=10)
    plain = latents(pipeline, None, REQUESTS)
    together = latents(pipeline, steering, REQUESTS)
    alone = np.concatenate([latents(pipeline, steering, [request]) for request in REQUESTS])
    assert np.abs(together - alone).max() < 1e-3
    assert np.abs(together - plain).max() > 1e-3
    assert np.array_equal(latents(pipeline, Entanglement(targets=EVEN, scale=0), REQUESTS), plain)
    assert not np.array_equal(
        latents(pipeline, steering.model_copy(update={"interval_steps": 2}), REQUESTS), together
    )


@pytest.mark.slow
def test_maps_of_a_steered_model_can_be_computed(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(Entanglement(targets=EVEN, interval_steps=4).to_toml())
    how = {
        "model": "studio",
        "images": 2,
        "mitigation": file,
        "model_args": {"num_inference_steps": 4},
    }
    result = askew.map(
        "a photo of a nurse", concept="gender", against="nurse", run=tmp_path / "run", **how
    )
    assert (
        result.findings.models[0].settings["mitigation"] == askew.load_mitigation(file).fingerprint
    )
    assert isinstance(result.miou("gender"), Estimate)


@pytest.mark.slow
def test_maps_of_stored_images_can_be_computed(tmp_path: Path) -> None:
    """Fair Diffusion assigns values to images by number, so that redrawn images are equal."""
    file = tmp_path / "m.toml"
    file.write_text(FairDiffusion(targets=EVEN).to_toml())
    how = {
        "model": "studio",
        "images": 4,
        "mitigation": file,
        "model_args": {"num_inference_steps": 4},
    }
    askew.audit(
        "a photo of a nurse", axes="gender", bootstrap_samples=100, run=tmp_path / "audit", **how
    )
    result = askew.map(
        "a photo of a nurse", concept="gender", against="nurse", run=tmp_path / "map", **how
    )
    assert isinstance(result.miou("gender"), Estimate)


@pytest.mark.slow
def test_it_separates_the_maps_of_words_on_the_studio() -> None:
    model = registry.model("studio", num_inference_steps=6)
    overlaps = []
    for wrapped in (
        model,
        mitigation.parse_mitigation({"method": "entanglement", "targets": EVEN}, "m.toml").wrap(
            model
        ),
    ):
        with AttentionMaps(model.pipeline, "a photo of a nurse and gender") as maps:
            wrapped.generate(REQUESTS)
        overlaps.append(
            [
                plain_iou(np.stack(pair))
                for pair in zip(maps.word("gender"), maps.word("nurse"), strict=True)
            ]
        )
    assert np.mean(overlaps[1]) < np.mean(overlaps[0]) - 0.1


def test_unsupported_models_are_refused_by_name(pipeline: Any, tmp_path: Any) -> None:
    with pytest.raises(
        UsageError,
        match="contains no known occupation; use --technique-arg against=WORD to name the word",
    ):
        latents(pipeline, Entanglement(targets=EVEN), [Request("a photo of a house", 1, 0)])
    with pytest.raises(UsageError, match="entanglement needs guidance"):
        latents(pipeline, Entanglement(targets=EVEN), REQUESTS, scale=1.0)
    flux = DiffusersModel(tiny_pipelines.save("flux", tmp_path / "flux"))
    with pytest.raises(
        UsageError,
        match="entanglement works on pipelines of Stable Diffusion 1, 2 and XL, but not on the Flux",
    ):
        Entanglement(targets=EVEN).wrap(flux)
    scheduler = pipeline.scheduler
    pipeline.scheduler = DDIMScheduler.from_config(scheduler.config, prediction_type="sample")
    try:
        with pytest.raises(
            UsageError, match="predicts noise or velocity, not sample of DDIMScheduler"
        ):
            latents(pipeline, Entanglement(targets=EVEN), REQUESTS)
    finally:
        pipeline.scheduler = scheduler
