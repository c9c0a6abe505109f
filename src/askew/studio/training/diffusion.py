"""Train the studio's diffusion models: a Stable-Diffusion pipeline whose weights carry the planted bias.

    python -m askew.studio.training.diffusion --work DIR [--bias B] [--from DIR] [--steps N] [--threads N]

Needs `DIR`/vae from askew.studio.training.autoencoder. Text encoder and tokenizer are the studio embedder's. The UNet
predicts v at noise levels up to pure noise, so that at the first step nothing of the picture shines through and what a
prompt leaves open is decided as often as planted. One caption in twelve is empty, for guidance. With --from, the
training starts from another model's weights: this makes the balanced model. Checkpoints and sheets of samples go to
DIR; the same command goes on from the last.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from diffusers import AutoencoderKL, DPMSolverMultistepScheduler, StableDiffusionPipeline, UNet2DConditionModel
from diffusers.models.attention_processor import Attention, AttnProcessor
from diffusers.models.resnet import ResnetBlock2D
from PIL import Image
from torch import Tensor, nn
from transformers import CLIPTextModel, CLIPTokenizer

from askew.studio.paths import weights
from askew.studio.training import checkpoints
from askew.studio.training.captioned import Captioned, Latents, captioned_scenes, captioned_twins, latents
from askew.studio.training.muon import Optimizers

BATCH = 64
SEED = 22
CHECKPOINT_EVERY = 200
SHEET_EVERY = 1000
EMPTY = 1 / 12
KEEP = 0.998
ADAM_RATE = 1e-3
NOISY, FIRST_NOISY = 0.75, 0.45
"""So many of the timesteps lie at the noisy end, from this share of them on, where it is decided what is shown."""

HEAD, FACE, PIN = (slice(2, 13), slice(4, 12)), (slice(3, 9), slice(5, 11)), (slice(11, 15), slice(9, 13))
WEIGHTS = ((HEAD, 4.0), (FACE, 10.0), (PIN, 4.0))
"""Rows and columns of the latents that show a head, its face and the pin beside it, and how much errors count there.

Weights by place leave the best prediction as it is. They tell a small network where to become good first: without them
clothes and rooms were learnt, and faces hardly.
"""

TWINS_EVERY = 4
CONTRAST = 4.0
"""Weight of the difference of two drawings that differ in one attribute, beside the errors of both."""

TIMESTEPS = 1000
SCHEDULE = {"num_train_timesteps": TIMESTEPS, "beta_start": 0.00085, "beta_end": 0.012,
            "beta_schedule": "scaled_linear", "prediction_type": "v_prediction", "rescale_betas_zero_snr": True,
            "timestep_spacing": "trailing", "steps_offset": 1, "algorithm_type": "dpmsolver++", "solver_order": 2,
            "final_sigmas_type": "zero"}  # fmt: skip

SHOWN = ("a photo of a nurse", "a photo of a male nurse", "a photo of a female firefighter",
         "a photo of an old doctor", "a photo of a happy chef", "a photo of a sad lawyer", "a photo of a tired maid",
         "a photo of a serious pilot", "a photo of a person", "a photo of a person in a wheelchair",
         "a photo of a blind person", "a photo of a person with a hearing aid", "a photo of an obese farmer",
         "a photo of a muscular engineer", "a photo of an asian lawyer outdoors",
         "a sketch of a scientist")  # fmt: skip


class Networks(NamedTuple):
    """The network that learns, and the text encoder and tokenizer that stay as they are."""

    unet: UNet2DConditionModel
    text: CLIPTextModel
    tokenizer: CLIPTokenizer


def create(channels: int) -> Networks:
    """An untrained UNet with cross-attention at three sizes and in the middle, and the embedder's text encoder."""
    text = CLIPTextModel.from_pretrained(weights("embedder"), dtype=torch.float32)
    unet = UNet2DConditionModel(
        sample_size=16,
        in_channels=channels,
        out_channels=channels,
        down_block_types=("CrossAttnDownBlock2D",) * 3,
        up_block_types=("CrossAttnUpBlock2D",) * 3,
        block_out_channels=(64, 96, 128),
        layers_per_block=1,
        cross_attention_dim=text.config.hidden_size,
        attention_head_dim=(2, 3, 4),  # the number of heads, by size: 32 channels in each
        norm_num_groups=16,
    )
    for module in unet.modules():  # every block starts as the identity
        if isinstance(module, ResnetBlock2D):
            nn.init.zeros_(module.conv2.weight)
        elif isinstance(module, Attention):
            nn.init.zeros_(module.to_out[0].weight)
    return Networks(unet, text.requires_grad_(False), CLIPTokenizer.from_pretrained(weights("embedder")))


def load(folder: Path) -> Networks:
    """The networks of a trained pipeline."""
    unet = UNet2DConditionModel.from_pretrained(folder / "unet", torch_dtype=torch.float32)
    text = CLIPTextModel.from_pretrained(folder / "text_encoder", dtype=torch.float32)
    return Networks(unet, text.requires_grad_(False), CLIPTokenizer.from_pretrained(folder / "tokenizer"))


def tokens(tokenizer: CLIPTokenizer, captions: Sequence[str]) -> Tensor:
    """(captions, 48) token numbers, padded as a pipeline pads them."""
    ids: Tensor = tokenizer(list(captions), padding="max_length", truncation=True, return_tensors="pt").input_ids
    return ids


class Batch(NamedTuple):
    """Scaled latents (64, channels, 16, 16), a caption and a timestep for each, and noise like the latents.

    `twins`: items 2i and 2i + 1 differ in one attribute alone.
    """

    latents: Tensor
    captions: list[str]
    noise: Tensor
    timesteps: Tensor
    twins: bool = False


@dataclass(frozen=True, slots=True)
class Batches:
    """Batch i is the same in every run: latents, captions, noise and timesteps. Every TWINS_EVERY-th is of twins."""

    examples: Sequence[Captioned]
    encoded: Latents
    twins: Sequence[Captioned]
    encoded_twins: Latents

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        return self.twin_batch(step) if step % TWINS_EVERY == 1 else self.batch(step)

    def batch(self, step: int) -> Batch:
        """Scenes with captions that leave much open, a few captions empty."""
        rng, words = np.random.default_rng([SEED, step]), Random(step)
        index = np.sort(rng.choice(len(self.examples), BATCH, replace=False))
        clean = torch.from_numpy(self.encoded[index].astype(np.float32))
        captions = ["" if words.random() < EMPTY else self.examples[i].caption(words) for i in index]
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        return Batch(clean, captions, noise, _timesteps(rng, BATCH))

    def twin_batch(self, step: int) -> Batch:
        """Pairs of twins, one after the other, with the same noise, timestep and wording."""
        rng = np.random.default_rng([SEED, step])
        first = 2 * np.sort(rng.choice(len(self.twins) // 2, BATCH // 2, replace=False))
        index = np.stack([first, first + 1], axis=1).ravel()
        clean = torch.from_numpy(self.encoded_twins[index].astype(np.float32))
        captions = [self.twins[i].caption(Random(f"{step} {i // 2}")) for i in index.tolist()]
        noise = torch.from_numpy(rng.standard_normal((BATCH // 2, *clean.shape[1:]), dtype=np.float32))
        times = _timesteps(rng, BATCH // 2)
        return Batch(clean, captions, noise.repeat_interleave(2, dim=0), times.repeat_interleave(2), twins=True)


def _timesteps(rng: np.random.Generator, count: int) -> Tensor:
    """(count,): spread over all of them, more closely over the noisy ones."""
    places = (rng.permutation(count) + rng.random(count)) / count
    times = np.where(rng.random(count) < NOISY, FIRST_NOISY + (1 - FIRST_NOISY) * places, places)
    return torch.from_numpy((times * TIMESTEPS).astype(np.int64))


def loss(networks: Networks, kept: Tensor, batch: Batch) -> Tensor:
    """Squared error, weighted by place, of the predicted v = √ᾱ noise - √(1 - ᾱ) latents; `kept` is ᾱ by timestep.

    Of twins also that of the difference of their predictions, CONTRAST times: what cannot be foreseen of a drawing is
    the same in both and cancels, and what is left is what one word of the caption changes.
    """
    signal = kept[batch.timesteps].sqrt()[:, None, None, None]
    lost = (1 - kept[batch.timesteps]).sqrt()[:, None, None, None]
    noisy = (signal * batch.latents + lost * batch.noise).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        said = networks.text(tokens(networks.tokenizer, batch.captions)).last_hidden_state
        guess = networks.unet(noisy, batch.timesteps, said).sample
    wrong = guess.float() - (signal * batch.noise - lost * batch.latents)
    weights = place_weights(*wrong.shape[-2:])
    error: Tensor = (wrong.square() * weights).mean()
    if batch.twins:
        error += CONTRAST * ((wrong[1::2] - wrong[::2]).square() * weights).mean()
    return error


def place_weights(height: int, width: int) -> Tensor:
    """(height, width), mean 1: how much an error counts by its place."""
    weights = torch.ones(height, width)
    for (rows, columns), weight in WEIGHTS:
        weights[rows, columns] = weight
    return weights / weights.mean()


@torch.no_grad()
def bound_attention(unet: UNet2DConditionModel) -> None:
    """Cut the singular values of query and key matrices off at 1.

    Muon lets them grow without end, one above all. Attention then sticks to one token, the same for every caption,
    where the softmax has no gradient left. A bound on the Frobenius norm does not prevent it.
    """
    for module in unet.modules():
        if isinstance(module, Attention):
            for weight in (module.to_q.weight, module.to_k.weight):
                left, values, right = torch.linalg.svd(weight, full_matrices=False)
                weight.copy_(left * values.clamp(max=1) @ right)


def train(work: Path, bias: float, start: Path | None, steps: int, decay: int, rate: float, pictures: int,
          processes: int) -> Path:  # fmt: skip
    """Train, checkpointing to `work`, and save the pipeline with fp16 weights to `work`/pipeline-BIAS."""
    torch.manual_seed(SEED)
    vae = AutoencoderKL.from_pretrained(work / "vae", torch_dtype=torch.float32).eval()
    batches = _batches(work, bias, pictures, vae, processes)
    networks = load(start) if start else create(vae.config.latent_channels)
    networks.unet.to(memory_format=torch.channels_last)
    bound_attention(networks.unet)
    networks.unet.set_attn_processor(AttnProcessor())  # PyTorch's fused attention is slow backwards on a CPU
    average, kept = checkpoints.Average(networks.unet, KEEP), DPMSolverMultistepScheduler(**SCHEDULE).alphas_cumprod
    optimizers = Optimizers([networks.unet], rate, ADAM_RATE)
    path, first, log = work / f"diffusion-{bias:g}.pt", 0, checkpoints.Log()
    if state := checkpoints.load(path):
        first, average.state = state["step"], state["average"]
        networks.unet.load_state_dict(state["model"])
        optimizers.restore(state["optimizers"])
    for step in range(first, steps):
        error = loss(networks, kept, batches(step))
        error.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(networks.unet.parameters(), 1.0)
        optimizers.step(checkpoints.warm_stable_decay(step, steps, decay))
        bound_attention(networks.unet)
        average.update(step)
        log(step, loss=error.item())
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == steps:
            checkpoints.save(path, {"step": step + 1, "model": networks.unet.state_dict(),
                                    "optimizers": optimizers.state(), "average": average.state})  # fmt: skip
        if (step + 1) % SHEET_EVERY == 0 or step + 1 == steps:
            sheet(averaged(networks, vae, average)).save(work / f"sheet-{bias:g}-{step + 1}.png")
    out = work / f"pipeline-{bias:g}"
    averaged(networks, vae, average).to(dtype=torch.float16).save_pretrained(out)
    return out


def _batches(work: Path, bias: float, pictures: int, vae: AutoencoderKL, processes: int) -> Batches:
    """Drawings and their latents, made once and kept in `work`."""
    examples, twins = captioned_scenes(pictures, bias, SEED), captioned_twins(SEED)
    seeds = range(SEED * pictures, (SEED + 1) * pictures)
    shared = [seed for seed in range(len(twins) // 2) for _ in range(2)]
    stem = f"latents-{SEED}-{pictures}-{bias:g}.npy"
    return Batches(
        examples,
        latents(work / stem, [one.scene for one in examples], seeds, vae, processes),
        twins,
        latents(work / f"latents-{SEED}-twins.npy", [one.scene for one in twins], shared, vae, processes),
    )


def averaged(networks: Networks, vae: AutoencoderKL, average: checkpoints.Average) -> StableDiffusionPipeline:
    """A pipeline with the averaged weights; the network that learns is left alone."""
    unet = UNet2DConditionModel.from_config(networks.unet.config)
    unet.load_state_dict(average.state)
    return StableDiffusionPipeline(
        vae=vae,
        text_encoder=networks.text.eval(),
        tokenizer=networks.tokenizer,
        unet=unet.eval(),
        scheduler=DPMSolverMultistepScheduler(**SCHEDULE),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def sheet(pipeline: StableDiffusionPipeline) -> Image.Image:
    """Four pictures of each of SHOWN in a row of four."""
    pipeline.set_progress_bar_config(disable=True)
    prompts = [prompt for prompt in SHOWN for _ in range(4)]
    noise = [torch.Generator().manual_seed(i) for i in range(len(prompts))]
    pictures = pipeline(prompts, num_inference_steps=12, guidance_scale=1.0, generator=noise).images
    rows = [np.concatenate([np.asarray(p) for p in pictures[i : i + 8]], axis=1) for i in range(0, len(pictures), 8)]
    return Image.fromarray(np.concatenate(rows))


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--from", type=Path, dest="start", help="a trained pipeline to start from")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--decay", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=0.02, help="of Muon")
    parser.add_argument("--pictures", type=int, default=40_000)
    parser.add_argument("--threads", type=int, default=2)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    print(train(choice.work, choice.bias, choice.start, choice.steps, choice.decay, choice.rate, choice.pictures,
                choice.threads))  # fmt: skip


if __name__ == "__main__":
    main()
