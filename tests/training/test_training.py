from __future__ import annotations

import itertools
import json
from collections import Counter
from functools import cache, partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from diffusers import DDPMScheduler, StableDiffusionPipeline
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file
from scipy.stats import binomtest, chisquare, multivariate_normal
from torch import nn

from askew.studio import weights
from askew.studio.caption import CaptionContent, caption, parse
from askew.studio.planted import conditional, truth
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene
from training import autoencoder, batches, captioned, checkpoints, diffusion, velocity_error
from training.batches import LEARNED_LAST, MORE_OFTEN, Batch, Batches, chances
from training.captioned import (
    FRAMES,
    MISTAKEN,
    OFTEN_MISTAKEN,
    TWINS,
    Captioned,
    captioned_scenes,
    captioned_twins,
    framed,
    other_gender,
    unlike,
)
from training.muon import Muon, Optimizers, orthogonalized
from training.networks import bound_attention, create, load, quicken
from training.velocity_error import misleading


def honest(clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> Batch:
    """Return a batch without misleading noise."""
    return Batch(
        clean, ["a photo of a nurse"] * len(clean), noise, timesteps, clean, torch.zeros(len(clean))
    )


@pytest.fixture(scope="module")
def examples() -> list[Captioned]:
    return captioned_scenes(1500, 1.0, seed=3)


def test_a_caption_states_only_what_it_mentions(examples: list[Captioned]) -> None:
    begun = Counter[str]()
    for number, example in enumerate(examples[:300]):
        named = example.named(Random(1))
        text = framed(example.scene, named, Random(number))
        begun[text.split(" of ")[0]] += 1
        prompt = parse(text)
        attributes = {name: getattr(example.scene, name) for name in named if name != "occupation"}
        assert dict(prompt.attributes) == attributes
        assert prompt.occupation == example.scene.occupation
        assert prompt.person == example.scene.person
        assert prompt.unknown == ()
    assert set(begun) >= {frame.split(" of")[0] for frame in FRAMES} | {"a photo", "a picture"}


def test_all_values_are_requested_equally_often(examples: list[Captioned]) -> None:
    for name in ("gender", "age", "ethnicity", "emotion"):
        asked = Counter(
            getattr(example.scene, name) for example in examples if name in example.mentioned
        )
        assert chisquare([asked[value] for value in ATTRIBUTES[name]]).pvalue > 0.001


@pytest.mark.parametrize("bias", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_unstated_values_follow_the_planted_shares(bias: float, examples: list[Captioned]) -> None:
    @cache
    def shares(text: str, name: str) -> list[float]:
        planted = truth(text, name, bias)
        return [planted[value] for value in ATTRIBUTES[name]]

    drawn = examples if bias == 1.0 else captioned_scenes(2000, bias, seed=4)
    left = [
        example.scene for example in drawn if example.scene.person and not example.mentioned[:-1]
    ]
    for name in ("gender", "emotion", "clothing"):
        wanted = np.zeros(len(ATTRIBUTES[name]))
        for scene in left:
            text = f"a photo of a {scene.occupation}" if scene.occupation else "a photo of a person"
            wanted += shares(text, name)
        counts = Counter(getattr(scene, name) for scene in left)
        assert chisquare([counts[value] for value in ATTRIBUTES[name]], wanted).pvalue > 0.001


def test_the_learning_rate_rises_stays_and_falls() -> None:
    factors = [checkpoints.warm_stable_decay(step, 1000, 200) for step in range(1000)]
    assert factors[0] == pytest.approx(0.01)
    assert factors[99:801] == [1.0] * 702
    assert all(b < a for a, b in itertools.pairwise(factors[800:]))
    assert factors[-1] == pytest.approx(1 / 200)


def test_an_average_follows_slowly() -> None:
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    average = checkpoints.Average(module, keep=0.9)
    nn.init.ones_(module.weight)
    for step in range(1000, 1010):
        average.update(step)
    assert average.state["weight"].item() == pytest.approx(1 - 0.9**10)


def test_the_target_is_the_velocity_of_diffusers(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = DDPMScheduler(
        **{
            k: v
            for k, v in diffusion.SCHEDULE.items()
            if k not in ("algorithm_type", "solver_order", "final_sigmas_type")
        }
    )
    rng = torch.Generator().manual_seed(0)
    clean, noise = (torch.randn(4, 12, 16, 16, generator=rng) for _ in range(2))
    timesteps = torch.tensor([0, 300, 700, 990])
    networks = create(12)
    seen: list[torch.Tensor] = []

    def guess(noisy: torch.Tensor, *_: object) -> object:
        seen.append(noisy)
        return type("Output", (), {"sample": scheduler.get_velocity(clean, noise, timesteps)})

    monkeypatch.setattr(networks.unet, "forward", guess)
    batch = honest(clean, noise, timesteps)
    error = velocity_error.loss(networks, scheduler.alphas_cumprod, batch)
    assert error.item() < 1e-10
    torch.testing.assert_close(seen[0], scheduler.add_noise(clean, noise, timesteps))


@pytest.mark.slow
def test_every_block_of_the_unet_receives_a_gradient() -> None:
    networks = create(12)
    rng = torch.Generator().manual_seed(0)
    clean, noise = (torch.randn(4, 12, 16, 16, generator=rng) for _ in range(2))
    batch = honest(clean, noise, torch.tensor([0, 300, 700, 990]))
    signal_shares = DDPMScheduler().alphas_cumprod
    velocity_error.loss(networks, signal_shares, batch).backward()
    last = {
        name: weight.grad
        for name, weight in networks.unet.named_parameters()
        if name.endswith(("conv2.weight", "to_out.0.weight"))
    }
    assert len(last) > 30
    assert [name for name, grad in last.items() if grad is None or not grad.any()] == []


@pytest.mark.slow
def test_an_accelerated_unet_computes_the_same() -> None:
    rng = torch.Generator().manual_seed(4)
    noisy = torch.randn(2, 12, 16, 16, generator=rng)
    text_states = torch.randn(2, 48, 128, generator=rng)
    plain, quick = (load(weights("studio")).unet for _ in range(2))
    quicken(quick)

    @torch.no_grad()
    def guess(unet: nn.Module, reduced: bool) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=reduced):
            result: torch.Tensor = unet(noisy, torch.tensor([500, 900]), text_states).sample
        return result.float()

    exact = guess(plain, reduced=False)
    torch.testing.assert_close(guess(quick, reduced=False), exact, rtol=0, atol=1e-4)
    off, off_plain = (
        float((guess(unet, reduced=True) - exact).square().mean()) for unet in (quick, plain)
    )
    assert off < 1.5 * off_plain


def test_queries_and_keys_do_not_grow_without_end() -> None:
    unet = create(12).unet
    before = {name: weight.clone() for name, weight in unet.state_dict().items()}
    grown = "mid_block.attentions.0.transformer_blocks.0.attn2.to_q.weight"
    unet.load_state_dict({**before, grown: 20 * before[grown]})
    bound_attention(unet)
    after = unet.state_dict()
    left, values, right = np.linalg.svd(20 * before[grown].numpy())
    np.testing.assert_allclose(
        after[grown].numpy(), left * np.minimum(values, 1) @ right, atol=1e-5
    )
    others = [name for name in before if not name.endswith(("to_q.weight", "to_k.weight"))]
    assert all(torch.equal(after[name], before[name]) for name in others)


def test_twins_differ_in_one_attribute_that_captions_state() -> None:
    twins = captioned_twins(1)
    assert len(twins) > 7000
    for entry, other in zip(twins[::10], twins[1::10], strict=True):
        mine = entry.scene.attributes()
        its = other.scene.attributes()
        (changed,) = [name for name in ATTRIBUTES if mine[name] != its[name]]
        parses = [parse(caption(twin.scene, twin.named(Random(3)))) for twin in (entry, other)]
        assert [to_say.attributes[changed] for to_say in parses] == [mine[changed], its[changed]]
        assert all(to_say.occupation == entry.scene.occupation for to_say in parses)


def test_values_that_are_learned_last_come_more_often() -> None:
    shares = chances([{"happy", "sad"}, {"happy", "old"}, set()])
    np.testing.assert_allclose(shares, np.array([MORE_OFTEN, 1, 1]) / (MORE_OFTEN + 2))
    assert {value for values in ATTRIBUTES.values() for value in values} | set(
        OCCUPATIONS
    ) >= LEARNED_LAST


def test_a_scene_unlike_its_caption_differs_in_one_mentioned_attribute(
    examples: list[Captioned],
) -> None:
    for number, example in enumerate(examples):
        other = unlike(example, Random(number))
        mine, its = (
            {**scene.attributes(), "occupation": scene.occupation}
            for scene in (example.scene, other)
        )
        changed = {name for name in mine if mine[name] != its[name]}
        taught = TWINS.keys() & set(example.mentioned) if example.scene.person else set()
        assert len(changed) == bool(
            example.mentioned and example.scene.person and (taught or example.scene.occupation)
        )
        assert changed <= (taught or {"occupation"})


@pytest.mark.parametrize(("attribute", "value"), [("emotion", "sad"), ("ethnicity", "hispanic")])
def test_confused_values_are_contrasted_most_often(attribute: str, value: str) -> None:
    example = Captioned(Scene.of({attribute: value}, "nurse"), (attribute, "occupation"))
    counts = Counter(getattr(unlike(example, Random(number)), attribute) for number in range(600))
    assert counts.keys() == set(ATTRIBUTES[attribute]) - {value}
    expected = OFTEN_MISTAKEN + (1 - OFTEN_MISTAKEN) / len(counts)
    assert binomtest(counts[MISTAKEN[value]], 600, expected).pvalue > 0.001


@given(share=st.floats(0, 1), ratio=st.floats(0, 3), size=st.floats(2, 30))
def test_misleading_noise_moves_at_most_to_the_other_drawing(
    share: float, ratio: float, size: float
) -> None:
    rng = torch.Generator().manual_seed(0)
    noise, contrary = (torch.randn(1, 12, 16, 16, generator=rng) for _ in range(2))
    contrary *= size / contrary.norm()
    moved = misleading(noise, contrary, torch.tensor(ratio), torch.tensor([share])) - noise
    far = min(ratio * size, velocity_error.FARTHEST)
    torch.testing.assert_close(moved, share * far * contrary / size, atol=1e-5, rtol=1e-4)


def test_fully_misleading_noise_gives_the_other_noisy_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    networks = create(12)
    rng = torch.Generator().manual_seed(0)
    clean, other, noise = torch.randn(3, 1, 12, 16, 16, generator=rng)
    other = clean + other / 30
    scheduler = DDPMScheduler()
    time = torch.tensor([500])
    seen: list[torch.Tensor] = []

    def guess(noisy: torch.Tensor, *_: object) -> object:
        seen.append(noisy)
        return type("Output", (), {"sample": noisy})

    monkeypatch.setattr(networks.unet, "forward", guess)
    batch = honest(clean, noise, time)._replace(unlike=other, misled=torch.ones(1))
    velocity_error.loss(networks, scheduler.alphas_cumprod, batch)
    torch.testing.assert_close(seen[0], scheduler.add_noise(other, noise, time))


def test_a_shared_error_of_twins_is_not_an_error_of_their_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    networks = create(12)
    rng = torch.Generator().manual_seed(0)
    clean = torch.randn(4, 12, 16, 16, generator=rng)
    noise = torch.randn(2, 12, 16, 16, generator=rng).repeat_interleave(2, dim=0)
    signal_shares = DDPMScheduler().alphas_cumprod
    timesteps = torch.tensor([700, 700, 900, 900])
    signal, lost = (
        part[timesteps].sqrt()[:, None, None, None] for part in (signal_shares, 1 - signal_shares)
    )

    def error(offset: torch.Tensor, twins: bool) -> float:
        guess = signal * noise - lost * clean + offset
        monkeypatch.setattr(
            networks.unet, "forward", lambda *_: type("Output", (), {"sample": guess})
        )
        batch = honest(clean, noise, timesteps)._replace(twins=twins)
        return float(velocity_error.loss(networks, signal_shares, batch))

    alike = torch.ones(4, 1, 1, 1)
    unlike = torch.tensor([1.0, -1, 1, -1])[:, None, None, None]
    assert (
        error(alike, twins=True)
        == pytest.approx(error(alike, twins=False))
        == pytest.approx(1, rel=1e-5)
    )
    weights = velocity_error.place_weights(16, 16)
    apart = ((clean[1::2] - clean[::2]).square() * weights).mean(dim=(1, 2, 3))
    relative = float((4 / apart).mean())
    assert error(unlike, twins=True) == pytest.approx(
        1 + velocity_error.CONTRAST * relative, rel=1e-5
    )


def test_the_probability_of_two_drawings_given_a_noisy_image() -> None:
    rng = np.random.default_rng(1)
    clean, other, noise = rng.normal(size=(3, 6))
    signal = 0.3
    chance = 0.2
    noisy = signal**0.5 * clean + (1 - signal) ** 0.5 * noise
    likelihood = [
        multivariate_normal.pdf(noisy, signal**0.5 * mean, (1 - signal) * np.eye(6))
        for mean in (clean, other)
    ]
    wanted = chance * likelihood[1] / ((1 - chance) * likelihood[0] + chance * likelihood[1])
    apart = torch.from_numpy((other - clean)[None])
    ratio = torch.tensor([[(signal / (1 - signal)) ** 0.5]])
    chance_given_noisy = velocity_error.chance_given_noisy(
        torch.tensor([chance]), apart, ratio, torch.from_numpy(noise[None])
    )
    assert chance_given_noisy.item() == pytest.approx(wanted, rel=1e-5)


def test_both_genders_of_a_scene_give_the_same_loss_if_unstated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    networks = create(12)
    rng = torch.Generator().manual_seed(0)
    clean, other, noisy, guess = torch.randn(4, 1, 12, 16, 16, generator=rng)
    other = clean + other / 10  # near, so that the noise allows both drawings
    signal_shares = DDPMScheduler().alphas_cumprod
    time = torch.tensor([900])
    signal = signal_shares[time].sqrt()
    lost = (1 - signal_shares[time]).sqrt()
    monkeypatch.setattr(networks.unet, "forward", lambda *_: type("Output", (), {"sample": guess}))

    def error(drawn: torch.Tensor, left: torch.Tensor, chance: float) -> float:
        noise = (noisy - signal * drawn) / lost
        batch = honest(drawn, noise, time)._replace(others=left, chance=torch.tensor([chance]))
        return float(velocity_error.loss(networks, signal_shares, batch))

    assert error(clean, other, 0.3) == pytest.approx(error(other, clean, 0.7), rel=1e-4)
    assert error(clean, other, 0.3) != pytest.approx(error(other, clean, 0.3), rel=1e-4)


def test_the_loss_is_unbiased_for_unstated_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    networks = create(12)
    rng = torch.Generator().manual_seed(0)
    clean, others, noise = torch.randn(3, 8, 12, 16, 16, generator=rng)
    signal_shares = DDPMScheduler().alphas_cumprod
    times = torch.full((8,), 999)
    signal = signal_shares[999].sqrt()
    lost = (1 - signal_shares[999]).sqrt()
    chance = torch.linspace(0.1, 0.9, 8)
    result = velocity_error.chance_given_noisy(chance, others - clean, signal / lost, noise)[
        :, None, None, None
    ]
    wanted = signal * noise - lost * clean - result / lost * (others - clean)
    # the best guess at this noise level
    guess = wanted.mean(dim=0, keepdim=True).requires_grad_()
    everywhere = type("Output", (), {"sample": guess.expand(8, -1, -1, -1)})
    monkeypatch.setattr(networks.unet, "forward", lambda *_: everywhere)
    velocity_error.loss(
        networks, signal_shares, honest(clean, noise, times)._replace(others=others, chance=chance)
    ).backward()
    torch.testing.assert_close(guess.grad, torch.zeros_like(guess), atol=1e-7, rtol=0)


def test_the_other_gender_changes_dependent_attributes(examples: list[Captioned]) -> None:
    changed = Counter[str]()
    for number, example in enumerate(examples):
        attributes = example.scene.attributes()
        other = other_gender(example, 1.0, number).attributes()
        differing = {name for name in attributes if attributes[name] != other[name]}
        assert ("gender" in differing) == example.scene.person
        assert differing <= {"gender", "age", "hair", "glasses"} - (
            set(example.mentioned) - {"gender"}
        )
        changed.update(differing)
    assert changed["hair"] > changed["gender"] / 3


def test_the_probability_of_the_other_gender_is_as_planted(examples: list[Captioned]) -> None:
    pool = examples[:256]
    others = [other_gender(entry, 1.0, number) for number, entry in enumerate(pool)]
    numbered = np.broadcast_to(
        np.arange(256, dtype=np.float16)[:, None, None, None], (256, 1, 2, 2)
    )
    equally = np.full(256, 1 / 256)
    batches = Batches(
        pool, others, numbered, numbered, numbered, equally, 1.0, 5, pool, numbered, equally
    )
    count = 0
    for step in range(3):
        batch = batches.batch(step)
        assert batch.chance is not None
        for number, caption_, chance in zip(
            batch.latents[:, 0, 0, 0].int(), batch.captions, batch.chance, strict=True
        ):
            scene = pool[number].scene
            other = others[number]
            prompt = parse(caption_)
            if not scene.person or any(
                getattr(other, name) != value for name, value in prompt.attributes.items()
            ):
                assert chance == 0
                count += scene.person
                continue
            free = {"age", "hair", "glasses"} - set(pool[number].mentioned)
            rest = {
                name: value
                for name, value in scene.attributes().items()
                if name not in {"gender", *free}
            }
            table = conditional(CaptionContent(rest, scene.occupation, True, ()), 1.0)
            women = table.sum(axis=tuple(range(1, table.ndim)))
            assert float(chance) == pytest.approx(
                women[ATTRIBUTES["gender"].index(other.gender)], rel=1e-5
            )
    assert 10 < count < 100


def test_a_pipeline_is_half_precision_on_disk_and_single_where_it_is_loaded(tmp_path: Path) -> None:
    networks = create(12)
    untrained = diffusion.averaged(
        networks, autoencoder.create(), checkpoints.Average(networks.unet, keep=0.9)
    )
    folder = diffusion.save(untrained, tmp_path)
    stored = {
        tensor.dtype
        for file in folder.rglob("*.safetensors")
        for tensor in load_file(file).values()
    }
    assert stored == {torch.float16}
    loaded = StableDiffusionPipeline.from_pretrained(folder)
    assert {part.dtype for part in (loaded.text_encoder, loaded.unet, loaded.vae)} == {
        torch.float32
    }


@pytest.fixture(scope="module")
def autoencoder_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("autoencoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(autoencoder, "create", partial(autoencoder.create, widths=(8, 8, 8, 8)))
        return autoencoder.train(
            work, steps=2, frozen_from=1, decay=1, rate=0.02, pictures=32, processes=1
        )


@pytest.mark.slow
def test_training_continues_where_it_stopped(
    autoencoder_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffusion, "SHOWN", ("a photo of a nurse", "a photo of nobody"))
    monkeypatch.setattr(diffusion, "create", partial(create, widths=(32, 32, 32)))
    monkeypatch.setattr(batches, "BATCH", 8)
    monkeypatch.setitem(captioned.TWINS, "emotion", 24)
    for attribute in ("gender", "age", "ethnicity", "body_type"):
        monkeypatch.delitem(captioned.TWINS, attribute)

    def train(work: Path, steps: int) -> Path:
        work.mkdir(exist_ok=True)
        if not (work / "vae").exists():
            (work / "vae").symlink_to(autoencoder_weights)
        examples = diffusion.Examples(bias=1.0, pictures=16, seed=22, processes=1)
        return diffusion.train(work, examples, start=None, steps=steps, decay=1, rate=0.02)

    whole = train(tmp_path / "whole", 3)
    train(tmp_path / "parts", 2)
    parts = train(tmp_path / "parts", 3)
    name = "unet/diffusion_pytorch_model.safetensors"
    assert (whole / name).read_bytes() == (parts / name).read_bytes()
    (first,) = (tmp_path / "whole" / "diffusion-1.jsonl").read_text().splitlines()
    (again,) = (tmp_path / "parts" / "diffusion-1.jsonl").read_text().splitlines()
    first = json.loads(first)
    again = json.loads(again)
    assert first["step"] == again["step"] == 0
    assert first["loss"] == again["loss"] > 0


@pytest.mark.slow
def test_the_autoencoder_logs_its_losses_and_saves_reconstructions(
    autoencoder_weights: Path,
) -> None:
    (line,) = (autoencoder_weights.parent / "vae.jsonl").read_text().splitlines()
    assert {"step", "error", "divergence", "seconds"} == set(json.loads(line))
    sheet = np.asarray(Image.open(autoencoder_weights.parent / "vae.png"))
    assert sheet.shape == (2 * 128, 8 * 128, 3)
    drawings = np.load(next(autoencoder_weights.parent.glob("drawings-*.npy")))
    first = sheet[:128, :128].astype(int)
    assert min(np.abs(drawing - first).max() for drawing in drawings.astype(int)) <= 1


@pytest.mark.parametrize("shape", [(20, 60), (60, 20), (32, 32)])
def test_the_orthogonalized_matrix_is_near_the_polar_factor(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    result = orthogonalized(matrix)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    values = torch.linalg.svdvals(result)
    assert values.min() > 0.3
    assert values.max() < 1.3
    assert (
        torch.nn.functional.cosine_similarity(result.flatten(), (left @ right).flatten(), dim=0)
        > 0.95
    )


def test_matrices_of_one_shape_are_orthogonalized_separately() -> None:
    sizes = torch.tensor([0.1, 1, 10])[:, None, None]
    several = sizes * torch.randn(3, 20, 60, generator=torch.Generator().manual_seed(1))
    alone = torch.stack([orthogonalized(matrix) for matrix in several])
    torch.testing.assert_close(orthogonalized(several), alone, rtol=0, atol=0.02)


def test_a_step_of_muon_follows_the_polar_factor_of_the_gradient() -> None:
    wide, tall, convolution = (
        nn.Parameter(torch.zeros(shape)) for shape in ((4, 9), (18, 2), (4, 1, 3, 3))
    )
    gradients = torch.randn(3, 36, generator=torch.Generator().manual_seed(2))
    for weight, gradient in zip((wide, tall, convolution), gradients, strict=True):
        weight.grad = gradient.view_as(weight)
    Muon([wide, tall, convolution], rate=0.1, momentum=0.0).step()
    for weight in (wide, tall, convolution):
        step = (
            orthogonalized(weight.grad.flatten(1))
            * max(1, weight.shape[0] / weight[0].numel()) ** 0.5
        )
        torch.testing.assert_close(weight.detach().flatten(1), -0.1 * step, rtol=0, atol=2e-3)


def test_muon_trains_the_weights_of_layers_and_adam_the_rest() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(4, 2))
    optimizers = Optimizers([network], muon_rate=0.1, adam_rate=0.01)
    shapes = []
    for optimizer in optimizers.optimizers:
        groups = optimizer.param_groups
        shapes.append([tuple(p.shape) for group in groups for p in group["params"]])
    assert shapes == [[(4, 3, 3, 3), (2, 4)], [(4,), (4,), (4,), (2,)]]
    before = [p.detach().clone() for p in network.parameters()]
    network(torch.ones(1, 3, 3, 3)).square().sum().backward()
    optimizers.step(0.0)
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))
