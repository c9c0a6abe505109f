"""Denoising errors by a plain loop with diffusers' noise schedules; conversions; refusals."""

from __future__ import annotations

from inspect import signature
from types import SimpleNamespace
from typing import Any

import diffusers as d
import numpy as np
import pytest
import torch
from PIL import Image

from askew.errors import ModelError, UnknownName, UsageError
from askew.measure.denoising import Denoiser, class_errors, noise_of, timesteps
from askew.measure.denoising_networks import DenoisingNetwork, to_epsilon
from slow_cases import quick_only
from tiny_pipelines import FAMILIES

PROMPTS = ("a portrait of a nurse.", "a portrait of a mechanic.", "a portrait of a plumber.")
AT = (50, 450, 999)
SHAPE = (4, 16, 16)


def pipeline(family: str, **schedule: Any) -> Any:
    """Return a tiny random pipeline whose noise schedule states what its UNet predicts."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        pipe = FAMILIES[family]()
    if schedule:
        pipe.scheduler = d.DDIMScheduler.from_config(pipe.scheduler.config, **schedule)
    pipe.set_progress_bar_config(disable=True)
    return pipe


@pytest.fixture(scope="module")
def plain() -> Any:
    return pipeline("stable-diffusion")


@pytest.fixture(scope="module")
def latents() -> torch.Tensor:
    return torch.randn((2, *SHAPE), generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def noise() -> torch.Tensor:
    return torch.stack([noise_of(seed, len(AT), SHAPE) for seed in (1, 2)])


@torch.inference_mode()
def by_loop(pipe: Any, latents: torch.Tensor, noise: torch.Tensor, more: Any = None) -> np.ndarray:
    """Compute each evaluation separately; diffusers adds noise and converts predictions."""
    schedule = d.DDIMScheduler.from_config(pipe.scheduler.config)
    errors = np.zeros((len(latents), len(PROMPTS), len(AT)))
    for i, k, j in np.ndindex(*errors.shape):
        encoded = pipe.encode_prompt(
            PROMPTS[k], device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False
        )
        clean = latents[i : i + 1]
        drawn = noise[i, j : j + 1]
        noisy = schedule.add_noise(clean, drawn, torch.tensor([AT[j]]))
        conditions = {"added_cond_kwargs": more(encoded)} if more else {}
        output = pipe.unet(noisy, AT[j], encoder_hidden_states=encoded[0], **conditions).sample
        alpha_bar = schedule.alphas_cumprod[AT[j]]
        if schedule.config.prediction_type == "v_prediction":
            output = alpha_bar**0.5 * output + (1 - alpha_bar) ** 0.5 * noisy
        errors[i, k, j] = ((output - drawn) ** 2).mean()
    return errors


def test_timesteps_are_the_midpoints_of_equal_parts() -> None:
    assert timesteps(10) == list(range(50, 1000, 100))
    assert timesteps(1) == [500]
    assert timesteps(100)[:3] == [5, 15, 25]
    assert len(timesteps(3)) == 3
    with pytest.raises(UsageError, match="1 to 1000"):
        timesteps(1001)


def test_more_samples_begin_with_the_same_noise() -> None:
    assert torch.equal(noise_of(7, 3, SHAPE), noise_of(7, 10, SHAPE)[:3])
    assert not torch.equal(noise_of(7, 3, SHAPE), noise_of(8, 3, SHAPE))


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"prediction_type": "v_prediction"},
        {"prediction_type": "v_prediction", "rescale_betas_zero_snr": True},
    ],
)
def test_errors_agree_with_a_plain_loop(
    schedule: dict[str, Any], latents: torch.Tensor, noise: torch.Tensor
) -> None:
    pipe = pipeline("stable-diffusion", **schedule)
    errors = class_errors(pipe, latents, PROMPTS, AT, noise)
    assert errors.shape == (2, 3, 3)
    np.testing.assert_allclose(errors, by_loop(pipe, latents, noise), rtol=2e-4, atol=1e-6)
    assert np.ptp(errors[:, :, :2], axis=1).min() > 0  # the text matters


@pytest.mark.parametrize("limit", quick_only([3], [3, 0]))
def test_the_batch_is_halved_when_memory_runs_out(
    limit: int,
    plain: Any,
    latents: torch.Tensor,
    noise: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = class_errors(plain, latents, PROMPTS, AT, noise)
    denoiser = Denoiser(plain, PROMPTS, batch_size=16)
    evaluate = denoiser._network.noise_in
    sizes: list[int] = []

    def limited(clean: torch.Tensor, *others: Any) -> torch.Tensor:
        sizes.append(len(clean))
        if len(clean) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return evaluate(clean, *others)

    monkeypatch.setattr(denoiser._network, "noise_in", limited)
    if not limit:
        with pytest.raises(ModelError, match="not enough memory on cpu for one evaluation"):
            denoiser.errors(latents, AT, noise)
        return
    errors = denoiser.errors(latents, AT, noise)
    assert sizes == [16, 8, 4, *[2] * 9]
    np.testing.assert_allclose(errors, wanted, rtol=1e-5)


def test_classes_share_the_transfer_of_an_image_and_a_sample(
    plain: Any, latents: torch.Tensor, noise: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    denoiser = Denoiser(plain, PROMPTS)
    transferred: list[tuple[int, ...]] = []
    transfer = torch.Tensor.to

    def counted(tensor: torch.Tensor, *where: Any, **more: Any) -> torch.Tensor:
        if where == (denoiser.pipe._execution_device,) and tensor.ndim == 4:
            transferred.append(tuple(tensor.shape))
        return transfer(tensor, *where, **more)

    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "to", counted)
        denoiser.errors(latents, AT, noise)
    pairs = len(latents) * len(AT)
    assert transferred[:2] == [(pairs, *SHAPE)] * 2


def test_at_pure_noise_all_classes_have_equal_errors_in_v_prediction(
    latents: torch.Tensor, noise: torch.Tensor
) -> None:
    pipe = pipeline("stable-diffusion", prediction_type="v_prediction", rescale_betas_zero_snr=True)
    assert pipe.scheduler.alphas_cumprod[999] == 0
    assert class_errors(pipe, latents, PROMPTS, [999], noise[:, :1]).max() == 0


def test_a_network_distilled_with_guidance_runs_without_guidance(
    latents: torch.Tensor, noise: torch.Tensor
) -> None:
    """At guidance_scale 1 the network receives the same input as in a call of the pipeline."""
    pipe = pipeline("latent-consistency")
    calls = []
    pipe.unet.register_forward_pre_hook(lambda _, __, named: calls.append(named), with_kwargs=True)
    pipe(PROMPTS[0], num_inference_steps=1, guidance_scale=1.0, output_type="latent")
    class_errors(pipe, latents, PROMPTS, AT, noise)
    guidance, *ours = (named["timestep_cond"] for named in calls)
    assert ours
    assert all(torch.equal(row, guidance.expand_as(row)) for row in ours)


def test_sdxl_receives_pooled_text_and_size(latents: torch.Tensor, noise: torch.Tensor) -> None:
    pipe = pipeline("stable-diffusion-xl")

    def conditions(encoded: Any) -> dict[str, torch.Tensor]:
        return {"text_embeds": encoded[2], "time_ids": torch.tensor([[32.0, 32, 0, 0, 32, 32]])}

    assert Denoiser(pipe, PROMPTS).pixels == (32, 32)
    errors = class_errors(pipe, latents, PROMPTS, AT, noise)
    np.testing.assert_allclose(
        errors, by_loop(pipe, latents, noise, conditions), rtol=2e-4, atol=1e-6
    )


@pytest.mark.parametrize("zero_snr", [False, True])
@pytest.mark.parametrize("kind", ["epsilon", "v_prediction", "sample"])
def test_a_perfect_network_has_no_error(
    kind: str, zero_snr: bool, latents: torch.Tensor, noise: torch.Tensor
) -> None:
    schedule = d.DDIMScheduler(prediction_type=kind, rescale_betas_zero_snr=zero_snr)
    for t in (0, 500, 998):
        at = torch.tensor([t])
        drawn = noise[:1, 0]
        noisy = schedule.add_noise(latents[:1], drawn, at)
        velocity = schedule.get_velocity(latents[:1], drawn, at)
        output = {"epsilon": drawn, "v_prediction": velocity, "sample": latents[:1]}[kind]
        guess = to_epsilon(output, noisy, schedule.alphas_cumprod[at][:, None, None, None], kind)
        torch.testing.assert_close(guess, drawn, rtol=1e-3, atol=1e-3)


@torch.inference_mode()
def sd3_velocity(pipe: Any, noisy: torch.Tensor, at: int, prompt: str) -> torch.Tensor:
    hidden, _, pooled, _ = pipe.encode_prompt(
        prompt, prompt, prompt, do_classifier_free_guidance=False
    )
    return pipe.transformer(
        hidden_states=noisy,
        timestep=torch.tensor([float(at)]),
        encoder_hidden_states=hidden,
        pooled_projections=pooled,
    ).sample


@torch.inference_mode()
def flux_velocity(pipe: Any, noisy: torch.Tensor, at: int, prompt: str) -> torch.Tensor:
    hidden, pooled, text_ids = pipe.encode_prompt(prompt, prompt)
    _, channels, height, width = noisy.shape
    output = pipe.transformer(
        hidden_states=pipe._pack_latents(noisy, 1, channels, height, width),
        timestep=torch.tensor([at / 1000]),
        guidance=torch.ones(1),
        encoder_hidden_states=hidden,
        pooled_projections=pooled,
        txt_ids=text_ids,
        img_ids=pipe._prepare_latent_image_ids(1, height // 2, width // 2, "cpu", torch.float32),
    ).sample
    scale = pipe.vae_scale_factor
    return pipe._unpack_latents(output, height * scale, width * scale, scale)


@torch.inference_mode()
def auraflow_velocity(pipe: Any, noisy: torch.Tensor, at: int, prompt: str) -> torch.Tensor:
    hidden, *_ = pipe.encode_prompt(prompt, do_classifier_free_guidance=False)
    return pipe.transformer(
        noisy, encoder_hidden_states=hidden, timestep=torch.tensor([at / 1000])
    ).sample


@torch.inference_mode()
def sana_velocity(pipe: Any, noisy: torch.Tensor, at: int, prompt: str) -> torch.Tensor:
    instruction = signature(d.SanaPipeline.__call__).parameters["complex_human_instruction"].default
    hidden, mask, *_ = pipe.encode_prompt(prompt, False, complex_human_instruction=instruction)
    return pipe.transformer(
        noisy,
        encoder_hidden_states=hidden,
        encoder_attention_mask=mask,
        timestep=torch.tensor([float(at)]),
    ).sample


@pytest.mark.parametrize(
    ("family", "velocity", "channels"),
    [
        ("stable-diffusion-3", sd3_velocity, 4),
        ("flux", flux_velocity, 1),
        pytest.param("auraflow", auraflow_velocity, 4, marks=pytest.mark.slow),
        pytest.param("sana", sana_velocity, 4, marks=pytest.mark.slow),
    ],
)
def test_flow_matching_errors_agree_with_a_plain_loop(
    family: str, velocity: Any, channels: int
) -> None:
    """diffusers' scheduler mixes in the noise and gives the clean image of a velocity."""
    pipe = pipeline(family)
    pipe.default_sample_size = 16  # Flux uses the size given here; its default of 128 would be slow
    shape = Denoiser(pipe, PROMPTS).shape
    assert shape[0] == channels
    clean = torch.randn((2, *shape), generator=torch.Generator().manual_seed(5))
    drawn = torch.stack([noise_of(seed, 2, shape) for seed in (1, 2)])
    at = (250, 750)
    schedule = d.FlowMatchEulerDiscreteScheduler()
    errors = class_errors(pipe, clean, PROMPTS, at, drawn)
    wanted = np.zeros((2, 3, 2))
    for i, k, j in np.ndindex(*wanted.shape):
        x = clean[i : i + 1]
        noise = drawn[i, j : j + 1]
        noisy = schedule.scale_noise(x, torch.tensor([float(at[j])]), noise)
        sigma = at[j] / 1000
        picture = noisy - sigma * velocity(pipe, noisy, at[j], PROMPTS[k])
        wanted[i, k, j] = (((noisy - (1 - sigma) * picture) / sigma - noise) ** 2).mean()
    np.testing.assert_allclose(errors, wanted, rtol=1e-3, atol=1e-5)
    assert np.ptp(errors, axis=1).min() > 0  # the text matters


def test_a_perfect_velocity_has_no_error(latents: torch.Tensor, noise: torch.Tensor) -> None:
    clean = latents[:1]
    drawn = noise[:1, 0]

    class Perfect(DenoisingNetwork):
        total = 1000

        def __init__(self) -> None:
            self._network = SimpleNamespace(dtype=torch.float32)

        def _velocity(self, *_: Any) -> torch.Tensor:
            return drawn - clean

    for at in (0, 300, 1000):
        predicted = Perfect().noise_in(clean, drawn, torch.tensor([at]), ())
        torch.testing.assert_close(predicted, drawn, rtol=1e-5, atol=1e-5)


def test_errors_do_not_depend_on_the_batch_or_other_classes(
    plain: Any, latents: torch.Tensor, noise: torch.Tensor
) -> None:
    whole = class_errors(plain, latents, PROMPTS, AT, noise)
    np.testing.assert_allclose(
        class_errors(plain, latents, PROMPTS, AT, noise, batch_size=4), whole, rtol=1e-4
    )
    alone = class_errors(plain, latents[1:], PROMPTS[2:], AT, noise[1:])
    np.testing.assert_allclose(alone[0, 0], whole[1, 2], rtol=1e-4)


def test_losses(plain: Any, latents: torch.Tensor, noise: torch.Tensor) -> None:
    squared, absolute, huber = (
        class_errors(plain, latents, PROMPTS, AT, noise, loss) for loss in ("l2", "l1", "huber")
    )
    assert (absolute**2 <= squared + 1e-6).all()
    assert (huber <= squared / 2 + 1e-6).all()
    assert (huber <= absolute).all()
    with pytest.raises(UnknownName, match="huber, l1, l2"):
        class_errors(plain, latents, PROMPTS, AT, noise, "l3")


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P"])
def test_images_of_any_mode_and_size_become_posterior_means(plain: Any, mode: str) -> None:
    picture = Image.effect_noise((40, 32), 80).convert(mode)
    encoded = Denoiser(plain, PROMPTS).latents([picture])
    cut = picture.convert("RGB").crop((4, 0, 36, 32))
    pixels = torch.from_numpy(np.asarray(cut, dtype=np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
    with torch.inference_mode():
        mean = plain.vae.encode(pixels).latent_dist.mean * plain.vae.config.scaling_factor
    torch.testing.assert_close(encoded, mean, rtol=1e-4, atol=1e-4)


def test_unsupported_pipelines_are_refused(
    plain: Any, latents: torch.Tensor, noise: torch.Tensor
) -> None:
    with pytest.raises(UsageError, match=r"takes latents of shape \(images, 4, 16, 16\)"):
        class_errors(plain, latents[:, :3], PROMPTS, AT, noise)
    with pytest.raises(UsageError, match="the noise has the shape"):
        class_errors(plain, latents, PROMPTS, AT[:2], noise)
    with pytest.raises(UsageError, match="0 to 999"):
        class_errors(plain, latents, PROMPTS, (1, 2, 1000), noise)
    with pytest.raises(
        UsageError,
        match=r"EDMDPMSolverMultistepScheduler .*Playground 2\.5\) cannot classify: .*; choose Stable",
    ):
        class_errors(pipeline("playground"), latents, PROMPTS, AT, noise)
    with pytest.raises(
        UsageError, match=r"PixArtAlphaPipeline cannot classify.*Flux, AuraFlow and Sana with"
    ):
        class_errors(pipeline("pixart"), latents, PROMPTS, AT, noise)


def test_an_autoencoder_returns_to_half_precision_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = pipeline("stable-diffusion-xl")
    pipe.vae.register_to_config(force_upcast=True)
    pipe.vae.half()

    def fail(pixels: torch.Tensor) -> None:
        assert pixels.dtype == torch.float32
        raise torch.OutOfMemoryError

    monkeypatch.setattr(pipe.vae, "encode", fail)
    with pytest.raises(torch.OutOfMemoryError):
        Denoiser(pipe, PROMPTS).latents([Image.new("RGB", (32, 32))])
    assert pipe.vae.dtype == torch.float16
