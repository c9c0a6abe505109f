"""Time and memory that watching attention adds to making pictures.

    python benchmarks/attention.py [--steps 20] [--pictures 4] [--repeats 3]

For a UNet of the studio's shape, and a larger random one with 32 x 32 latents: the time of a run under watch over that
of the bare run beside it, the memory at the peak that watching adds per picture, and the same at a quarter of the
steps: it must not grow with them. One thread; the attribution prompt has 12 tokens.
"""

from __future__ import annotations

import argparse
import gc
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from askew.measure.attention import AttentionMaps
from askew.studio.paths import weights

PROMPT = "a photo of the face of a nurse"
ATTRIBUTION = f"{PROMPT} and gender"

SHAPES: dict[str, dict[str, Any]] = {
    "studio's shape, 16 x 16 latents": {"sample_size": 16, "block_out_channels": (64, 96, 128),
                                        "attention_head_dim": (2, 3, 4), "norm_num_groups": 16},
    "larger, 32 x 32 latents": {"sample_size": 32, "block_out_channels": (128, 256, 384),
                                "attention_head_dim": (4, 8, 12), "norm_num_groups": 32, "layers_per_block": 2},
}  # fmt: skip


class Allocated(TorchDispatchMode):
    """The largest sum of bytes of all tensors that live at one time, of those made while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._users: dict[int, int] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, torch.Tensor):
                self._track(tensor)
        return made

    def _track(self, tensor: torch.Tensor) -> None:
        """Several tensors may look at one place."""
        place, size = tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()
        known = self._users.get(place, 0)
        self._users[place] = known + 1
        self.now += 0 if known else size
        self.peak = max(self.peak, self.now)
        weakref.finalize(tensor, self._forget, place, size)

    def _forget(self, place: int, size: int) -> None:
        self._users[place] -= 1
        if not self._users[place]:
            del self._users[place]
            self.now -= size


def pipeline(shape: dict[str, Any]) -> StableDiffusionPipeline:
    """A pipeline with random weights; tokenizer as the studio's, a text encoder of its width."""
    torch.manual_seed(0)
    tokenizer = CLIPTokenizer.from_pretrained(weights("embedder"))
    text = CLIPTextModel(CLIPTextConfig(vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64,
                                        num_hidden_layers=1, num_attention_heads=2)).eval()  # fmt: skip
    settings = {"layers_per_block": 1, "in_channels": 4, "out_channels": 4, "cross_attention_dim": 64,
                "down_block_types": ("CrossAttnDownBlock2D",) * 3,
                "up_block_types": ("CrossAttnUpBlock2D",) * 3} | shape  # fmt: skip
    pipe = StableDiffusionPipeline(
        vae=AutoencoderKL(block_out_channels=(8,), norm_num_groups=4), text_encoder=text, tokenizer=tokenizer,
        unet=UNet2DConditionModel(**settings).eval(), scheduler=DDIMScheduler(), safety_checker=None,
        feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make(pipe: Any, steps: int, pictures: int, watched: bool) -> float:
    """Seconds of processor time that one call takes, which other programs on the machine do not change."""
    noise = [torch.Generator().manual_seed(k) for k in range(pictures)]
    context: AbstractContextManager[object] = AttentionMaps(pipe, ATTRIBUTION) if watched else nullcontext()
    began = time.process_time()
    with context:
        pipe([PROMPT] * pictures, num_inference_steps=steps, generator=noise, guidance_scale=5.0, output_type="latent")
    return time.process_time() - began


def peak(work: Callable[[], object]) -> int:
    """Bytes at the peak."""
    gc.collect()
    with Allocated() as allocated:
        work()
    return allocated.peak


def extra_memory(pipe: Any, steps: int, pictures: int) -> float:
    """Megabytes per picture that watching adds at the peak."""
    bare, watched = (peak(partial(make, pipe, steps, pictures, watched)) for watched in (False, True))
    return (watched - bare) / pictures / 1e6


def main() -> None:
    """Print one block per UNet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    choice = parser.parse_args()
    torch.set_num_threads(1)
    for name, shape in SHAPES.items():
        pipe = pipeline(shape)
        make(pipe, 1, choice.pictures, watched=True)
        rounds = [[make(pipe, choice.steps, choice.pictures, watched) for watched in (False, True)]
                  for _ in range(choice.repeats)]  # fmt: skip
        bare, watched = (min(times) for times in zip(*rounds, strict=True))
        few, all_of_them = (extra_memory(pipe, n, choice.pictures) for n in (max(choice.steps // 4, 1), choice.steps))
        tokens = len(AttentionMaps(pipe, ATTRIBUTION).tokens)
        print(f"{name}: {choice.pictures} pictures, {choice.steps} steps, {tokens} tokens")
        print(f"  time     {bare:.2f} s bare, {watched:.2f} s watched, ratio {watched / bare:.3f} (at most 1.15)")
        print(f"  memory   {all_of_them:.2f} MB a picture at the peak (at most 2), {few:.2f} at a quarter of the steps")


if __name__ == "__main__":
    main()
