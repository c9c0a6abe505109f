"""Time of a training step of the studio's diffusion model as PyTorch comes, over that of a quickened one.

    python benchmarks/training.py [--steps 5] [--threads 1]

A step is a forward and a backward pass of the UNet in bfloat16 with channels last, on 64 pictures, and one of Muon.
Plain and quickened steps take turns, after one of each that does not count. Prints wall seconds of a step, and the
ratio.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor

from askew.studio.paths import weights
from askew.studio.training.batches import BATCH
from askew.studio.training.muon import Muon, Optimizers, orthogonalised
from askew.studio.training.networks import load, quicken

RATE = 1e-4


class OneByOne(Muon):
    """Muon that takes one matrix at a time."""

    @torch.no_grad()
    def step(self, closure: object = None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                ahead = self._ahead(weight, group["momentum"])
                size = max(1.0, ahead.shape[0] / ahead.shape[1]) ** 0.5
                weight.sub_(orthogonalised(ahead).view_as(weight), alpha=group["lr"] * size)


def plain() -> tuple[UNet2DConditionModel, Optimizers]:
    """The network as it comes, but for fused attention, with one matrix after another."""
    unet = load(weights("studio")).unet.to(memory_format=torch.channels_last)
    unet.set_attn_processor(AttnProcessor())
    optimizers = Optimizers([unet], RATE, RATE)
    inner, others = optimizers.optimizers
    optimizers.optimizers = (OneByOne(inner.param_groups[0]["params"], RATE), others)
    return unet, optimizers


def quickened() -> tuple[UNet2DConditionModel, Optimizers]:
    """As the training has it."""
    unet = load(weights("studio")).unet
    quicken(unet)
    return unet, Optimizers([unet], RATE, RATE)


def seconds(unet: UNet2DConditionModel, optimizers: Optimizers) -> float:
    """Wall seconds of one step."""
    noisy = torch.randn(BATCH, 12, 16, 16).contiguous(memory_format=torch.channels_last)
    said, times = torch.randn(BATCH, 48, unet.config.cross_attention_dim), torch.randint(0, 1000, (BATCH,))
    begun = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16):
        guess = unet(noisy, times, said).sample
    guess.float().square().mean().backward()
    optimizers.step(1.0)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    both = {"plain": plain(), "quickened": quickened()}
    taken = [[seconds(*one) for one in both.values()] for _ in range(choice.steps + 1)][1:]
    middle = dict(zip(both, np.median(taken, axis=0), strict=True))
    for name, time_taken in middle.items():
        print(f"{name:<10} {time_taken:.2f} s a step")
    print(f"ratio      {middle['plain'] / middle['quickened']:.2f}")


if __name__ == "__main__":
    main()
