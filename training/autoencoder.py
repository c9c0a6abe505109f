"""Training of the studio's AutoencoderKL.

The network encodes an image of 128 x 128 pixels as 16 x 16 latents, and decodes these.

    python -m training.autoencoder --work DIR [--steps N] [--threads N]

It learns from drawings of uniformly random scenes. The loss contains the error of pixels, squared
(for colors) and absolute (for sharpness), and the error of their differences from neighboring
pixels. Face and signs have larger weights, since a few pixels there show emotion, age and
occupation. A small Kullback-Leibler term keeps the latents near a normal distribution. From step
--frozen-from on, the encoder is frozen, so that latents do not change while the decoder learns.
Checkpoints, losses and, at the end, a sheet of drawings and their reconstructions are written to
DIR; the same command resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from diffusers.image_processor import VaeImageProcessor
from diffusers.models.resnet import ResnetBlock2D
from diffusers.utils import make_image_grid
from PIL import Image
from torch import Tensor, nn

from askew.measure.studio import network_input
from training import checkpoints
from training.drawings import SIZE, Pixels, cached, uniform_scenes
from training.muon import Optimizers

LATENT_CHANNELS = 12
BATCH = 8
ADAM_RATE = 2e-3
SEED = 21
CHECKPOINT_EVERY = 250
KL_WEIGHT = 3e-4
FIRST_LOG_VARIANCE = -5.0
"""Log variance of the latents' noise at first, low enough to keep the image visible."""

SQUARED_WEIGHT = 4.0
EDGE_WEIGHT = 0.3
FACE = (slice(20, 80), slice(38, 90))
FACE_WEIGHT = 4.0
SIGNS = (slice(88, 128), slice(4, 104))
SIGNS_WEIGHT = 2.0
"""Weights of the pixels in the rows and columns of the face and of the signs."""


def create(widths: tuple[int, int, int, int] = (32, 32, 64, 96)) -> AutoencoderKL:
    """Create the untrained network, which has only convolutions and halves the size three times."""
    model = AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=widths,
        layers_per_block=1,
        latent_channels=LATENT_CHANNELS,
        norm_num_groups=8,
        mid_block_add_attention=False,
        sample_size=SIZE,
    )
    for block in (module for module in model.modules() if isinstance(module, ResnetBlock2D)):
        nn.init.zeros_(block.conv2.weight)  # every block starts as the identity
    nn.init.zeros_(model.quant_conv.weight[LATENT_CHANNELS:])
    nn.init.constant_(model.quant_conv.bias[LATENT_CHANNELS:], FIRST_LOG_VARIANCE)
    return model


def pixel_weights() -> Tensor:
    """Return the weights of pixels with mean 1: (1, 1, 128, 128)."""
    weights = torch.ones(1, 1, SIZE, SIZE)
    weights[..., *FACE] = FACE_WEIGHT
    weights[..., *SIGNS] = SIGNS_WEIGHT
    return weights / weights.mean()


def batch(drawings: Pixels, step: int) -> Tensor:
    """Return the images of a step: (8, 3, 128, 128) in [-1, 1]."""
    rng = np.random.default_rng([SEED, step])
    index = np.sort(rng.choice(len(drawings), BATCH, replace=False))
    return network_input(drawings[index]).contiguous()


def reconstruction_error(wanted: Tensor, got: Tensor, weights: Tensor) -> Tensor:
    """Return the error of pixels, plus the weighted error of differences between neighbors.

    The error of a pixel is absolute plus squared; the error of differences is absolute.
    """
    error = got - wanted
    pixel = ((error.abs() + SQUARED_WEIGHT * error.square()) * weights).mean()
    down = ((error[..., 1:, :] - error[..., :-1, :]).abs() * weights[..., 1:, :]).mean()
    right = ((error[..., 1:] - error[..., :-1]).abs() * weights[..., 1:]).mean()
    return pixel + EDGE_WEIGHT * (down + right)


def train(
    work: Path, steps: int, frozen_from: int, decay: int, rate: float, pictures: int, processes: int
) -> Path:
    """Train, checkpointing to `work`, and save fp16 weights and configuration to `work`/vae."""
    torch.manual_seed(SEED)
    model = create()
    seeds = range(SEED * pictures, (SEED + 1) * pictures)
    drawings = cached(
        work / f"drawings-{SEED}-{pictures}.npy", uniform_scenes(pictures, SEED), seeds, processes
    )
    optimizers = Optimizers([model], rate, ADAM_RATE)
    path = work / "vae.pt"
    first = 0
    state = checkpoints.load(path)
    if state:
        first = state["step"]
        model.load_state_dict(state["model"])
        optimizers.restore(state["optimizers"])
    weights = pixel_weights()
    log = checkpoints.Log(path.with_suffix(".jsonl"))
    for step in range(first, steps):
        error, divergence = losses(
            model, batch(drawings, step), weights, step, frozen=step >= frozen_from
        )
        (error + KL_WEIGHT * divergence).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizers.step(checkpoints.warm_stable_decay(step, steps, decay))
        log(step, error=error.item(), divergence=divergence.item())
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == steps:
            state = {
                "step": step + 1,
                "model": model.state_dict(),
                "optimizers": optimizers.state(),
            }
            checkpoints.save(path, state)
    sheet(model, drawings).save(work / "vae.png")
    return finish(model, drawings, work / "vae")


def losses(
    model: AutoencoderKL, pictures: Tensor, weights: Tensor, step: int, frozen: bool
) -> tuple[Tensor, Tensor]:
    """Return the reconstruction error from sampled latents, and the mean KL divergence of latents."""
    noise = torch.Generator().manual_seed(step)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.set_grad_enabled(not frozen):
            latent = model.encode(pictures).latent_dist
        got = model.decode(latent.sample(noise)).sample
    divergence = latent.kl().mean() / latent.mean[0].numel()
    return reconstruction_error(pictures, got.float(), weights), divergence


@torch.no_grad()
def sheet(model: AutoencoderKL, drawings: Pixels) -> Image.Image:
    """Draw a row of drawings above the same drawings after encoding and decoding."""
    pictures = batch(drawings, 0)
    back = model.decode(model.encode(pictures).latent_dist.mode()).sample
    images = VaeImageProcessor().postprocess(torch.cat([pictures, back]))
    grid: Image.Image = make_image_grid(images, rows=2, cols=BATCH)
    return grid


@torch.no_grad()
def finish(model: AutoencoderKL, drawings: Pixels, out: Path) -> Path:
    """Save with the scale that gives latents unit spread."""
    means = [model.encode(batch(drawings, step)).latent_dist.mean for step in range(32)]
    model.register_to_config(scaling_factor=round(1 / float(torch.cat(means).std()), 4))
    model.half().save_pretrained(out)
    return out


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument(
        "--frozen-from", type=int, default=1600, help="step from which only the decoder learns"
    )
    parser.add_argument("--decay", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.03, help="learning rate of Muon")
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = train(
        options.work,
        steps=options.steps,
        frozen_from=options.frozen_from,
        decay=options.decay,
        rate=options.rate,
        pictures=options.pictures,
        processes=options.threads,
    )
    print(folder)


if __name__ == "__main__":
    main()
