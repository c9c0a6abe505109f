"""Time and memory that watching attention adds to making pictures.

    python -m benchmarks.attention [--steps 20] [--pictures 4] [--repeats 3] [--network larger]

For the studio's own pipeline, and a larger random UNet with 32 x 32 latents: the time of a run
under watch over that of the bare run beside it, and the memory at the peak that watching adds per
picture, in four steps and in one: it must not grow with them. Once for one attribution prompt, to
which the limits apply, and once for two concepts at a time with the middle block, as `askew map`
watches. One thread. Processor time counts, which other programs on the machine do not change; wall
time stands beside it.
"""

from __future__ import annotations

import argparse
import gc
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from askew import registry
from askew.measure.attention import AttentionMaps, AttentionRecorder, attribution_text
from askew.studio import weights

PROMPT = "a photo of a nurse"
WORD = "nurse"
WATCHED: dict[str, tuple[str, ...]] = {"bare": (), "one": ("gender",), "two": ("gender", "race")}
"""Concepts that are looked for, by the name of the run."""


class Allocated(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The largest sum of bytes of all tensors that live at one time, of those made while it is on."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._users: dict[int, int] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, torch.Tensor):
                self._track(tensor)
        return made

    def _track(self, tensor: torch.Tensor) -> None:
        """Several tensors may look at one place."""
        place = tensor.untyped_storage().data_ptr()
        size = tensor.untyped_storage().nbytes()
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


def studio() -> Any:
    """The pipeline that askew ships."""
    return cast("Any", registry.model("studio")).pipeline


def larger() -> StableDiffusionPipeline:
    """A pipeline with random weights and 32 x 32 latents; the tokenizer is the studio's."""
    torch.manual_seed(0)
    tokenizer = CLIPTokenizer.from_pretrained(weights("embedder"))
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
        )
    ).eval()
    unet = UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(96, 192, 288),
        attention_head_dim=(4, 8, 12),
        norm_num_groups=32,
        layers_per_block=1,
        in_channels=4,
        out_channels=4,
        cross_attention_dim=64,
        down_block_types=("CrossAttnDownBlock2D",) * 3,
        up_block_types=("CrossAttnUpBlock2D",) * 3,
    )
    pipe = StableDiffusionPipeline(
        vae=AutoencoderKL(block_out_channels=(8,), norm_num_groups=4),
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet.eval(),
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


NETWORKS: dict[str, Callable[[], Any]] = {"studio": studio, "larger": larger}


def watchers(pipe: Any, watched: str) -> list[AttentionRecorder]:
    """One per concept; of several as in `askew map`, which reads the middle block too."""
    concepts = WATCHED[watched]
    texts = [attribution_text(PROMPT, concept, WORD) for concept in concepts]
    return [AttentionMaps(pipe, text, middle=len(concepts) > 1) for text in texts]


def make(pipe: Any, steps: int, pictures: int, watched: str) -> tuple[float, float]:
    """Seconds that one call takes: of processor time, and on the clock."""
    noise = [torch.Generator().manual_seed(k) for k in range(pictures)]
    maps = watchers(pipe, watched)
    began = time.process_time(), time.perf_counter()
    with ExitStack() as stack:
        for one in maps:
            stack.enter_context(one)
        pipe(
            [PROMPT] * pictures,
            num_inference_steps=steps,
            generator=noise,
            guidance_scale=5.0,
            output_type="latent",
        )
    return time.process_time() - began[0], time.perf_counter() - began[1]


def peak(work: Callable[[], object]) -> int:
    """Bytes at the peak."""
    gc.collect()
    with Allocated() as allocated:
        work()
    return int(allocated.peak)


def extra_memory(pipe: Any, steps: int, pictures: int, watched: str) -> float:
    """Megabytes per picture that watching adds at the peak."""
    bare, more = (peak(partial(make, pipe, steps, pictures, kind)) for kind in ("bare", watched))
    return (more - bare) / pictures / 1e6


def report(name: str, steps: int, pictures: int, repeats: int) -> None:
    """Measure one network and print its block. Runs take turns, and the fastest of each kind
    counts.
    """
    pipe = NETWORKS[name]()
    size = pipe.unet.config.sample_size
    tokens = len(watchers(pipe, "one")[0].tokens)
    print(f"{name}, {size} x {size} latents: {pictures} pictures, {steps} steps, {tokens} tokens")
    for watched in ("one", "two"):
        few, many = (extra_memory(pipe, n, pictures, watched) for n in (1, 4))
        most = " (at most 2)" if watched == "one" else ""
        print(
            f"  {watched:4} memory   {many:.2f} MB a picture at the peak{most} in four steps, {few:.2f} in one",
            flush=True,
        )
    rounds = [{kind: make(pipe, steps, pictures, kind) for kind in WATCHED} for _ in range(repeats)]
    for watched in ("one", "two"):
        for k, what in enumerate(("processor", "clock")):
            bare, more = (min(times[kind][k] for times in rounds) for kind in ("bare", watched))
            most = " (at most 1.15)" if (watched, what) == ("one", "processor") else ""
            print(
                f"  {watched:4} {what:9}{bare:.2f} s bare, {more:.2f} s watched, ratio {more / bare:.3f}{most}",
                flush=True,
            )


def main() -> None:
    """Print one block per network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--network", choices=NETWORKS, help="one alone")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    for name in [choice.network] if choice.network else NETWORKS:
        report(name, choice.steps, choice.pictures, choice.repeats)


if __name__ == "__main__":
    main()
