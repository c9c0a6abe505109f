"""Compare the time of a plain training step of the studio's diffusion model with a faster step.

    python -m benchmarks.training_step [--steps 5] [--threads 1]

A step is a forward and a backward pass of the UNet in bfloat16 with channels last, on 64 images, and
a step of Muon. Plain and quickened steps take turns, after a step of each that does not count. The
script prints wall seconds of a step, and the ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from torch.optim import Optimizer

from askew.studio import weights
from training.batches import BATCH
from training.muon import Muon, Optimizers
from training.networks import load, quicken

RATE = 1e-4


def plain() -> tuple[UNet2DConditionModel, Sequence[Optimizer]]:
    """Return the network without fused attention, and an optimizer for each matrix."""
    unet = load(weights("studio")).unet.to(memory_format=torch.channels_last)
    unet.set_attn_processor(AttnProcessor())
    inner, others = Optimizers([unet], RATE, RATE).optimizers
    optimizers = [Muon([weight], RATE) for weight in inner.param_groups[0]["params"]]
    return unet, [*optimizers, others]


def quickened() -> tuple[UNet2DConditionModel, Sequence[Optimizer]]:
    """Return the network and the optimizers of the training."""
    unet = load(weights("studio")).unet
    quicken(unet)
    return unet, Optimizers([unet], RATE, RATE).optimizers


def seconds(unet: UNet2DConditionModel, optimizers: Sequence[Optimizer]) -> float:
    """Return the wall seconds of a step."""
    noisy = torch.randn(BATCH, 12, 16, 16).contiguous(memory_format=torch.channels_last)
    text_states = torch.randn(BATCH, 48, unet.config.cross_attention_dim)
    times = torch.randint(0, 1000, (BATCH,))
    start = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16):
        guess = unet(noisy, times, text_states).sample
    guess.float().square().mean().backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - start


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    networks = {"plain": plain(), "quickened": quickened()}
    rounds = []
    for _ in range(options.steps + 1):
        rounds.append([seconds(*network) for network in networks.values()])
    medians = dict(zip(networks, np.median(rounds[1:], axis=0), strict=True))
    for name, median in medians.items():
        print(f"{name:<10} {median:.2f} s per step")
    print(f"ratio      {medians['plain'] / medians['quickened']:.2f}")


if __name__ == "__main__":
    main()
