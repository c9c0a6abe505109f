"""Time and memory that watching attention adds to making pictures.

    python benchmarks/attention.py [--steps 20] [--pictures 4] [--repeats 3] [--shape larger]

For a UNet of the studio's shape, and a larger one with 32 x 32 latents, both random: the time of a run under watch over
that of the bare run beside it, and the memory at the peak that watching adds per picture, in four steps and in one: it
must not grow with them. One thread; the attribution prompt has 12 tokens. Processor time counts, which other
programs on the machine do not change; wall time stands beside it.
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

PROMPT = "a photo of a nurse"
ATTRIBUTION = f"{PROMPT} and gender"

SHAPES: dict[str, dict[str, Any]] = {
    "studio": {"sample_size": 16, "block_out_channels": (64, 96, 128),
               "attention_head_dim": (2, 3, 4), "norm_num_groups": 16},
    "larger": {"sample_size": 32, "block_out_channels": (96, 192, 288),
               "attention_head_dim": (4, 8, 12), "norm_num_groups": 32},
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
        unet=UNet2DConditionModel(**settings).eval(), scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make(pipe: Any, steps: int, pictures: int, watched: bool) -> tuple[float, float]:
    """Seconds that one call takes: of processor time, and on the clock."""
    noise = [torch.Generator().manual_seed(k) for k in range(pictures)]
    context: AbstractContextManager[object] = AttentionMaps(pipe, ATTRIBUTION) if watched else nullcontext()
    began = time.process_time(), time.perf_counter()
    with context:
        pipe([PROMPT] * pictures, num_inference_steps=steps, generator=noise, guidance_scale=5.0, output_type="latent")
    return time.process_time() - began[0], time.perf_counter() - began[1]


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


def report(name: str, steps: int, pictures: int, repeats: int) -> None:
    """Measure one UNet and print its block. Runs take turns, and the fastest of each kind counts."""
    pipe, size = pipeline(SHAPES[name]), SHAPES[name]["sample_size"]
    tokens = len(AttentionMaps(pipe, ATTRIBUTION).tokens)
    print(f"{name}, {size} x {size} latents: {pictures} pictures, {steps} steps, {tokens} tokens")
    few, many = (extra_memory(pipe, n, pictures) for n in (1, 4))
    print(f"  memory   {many:.2f} MB a picture at the peak (at most 2) in four steps, {few:.2f} in one", flush=True)
    rounds = [[make(pipe, steps, pictures, watched) for watched in (False, True)] for _ in range(repeats)]
    for k, what in enumerate(("processor", "clock")):
        bare, watched = (min(times[k] for times in kind) for kind in zip(*rounds, strict=True))
        most = " (at most 1.15)" if what == "processor" else ""
        print(f"  {what:9}{bare:.2f} s bare, {watched:.2f} s watched, ratio {watched / bare:.3f}{most}", flush=True)


def main() -> None:
    """Print one block per UNet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shape", choices=SHAPES, help="one UNet alone")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    for name in [choice.shape] if choice.shape else SHAPES:
        report(name, choice.steps, choice.pictures, choice.repeats)


if __name__ == "__main__":
    main()
