"""Time and memory that recording attention adds to making images.

    python -m benchmarks.attention [--steps 20] [--pictures 4] [--repeats 3] [--network larger]

For the studio's pipeline, and a larger random UNet with 32 x 32 latents: the time of a recorded run
over the time of a bare run, and the peak memory that recording adds per image, in four steps and in
one, which must not grow with the steps. The limits apply to one attribution prompt. Two concepts
with the middle block are measured too, as `askew map` records them. One thread. Processor time
counts, because other programs on the machine do not change it; wall time is printed beside it.
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
"""Concepts that are recorded, by the name of the run."""


class Allocated(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Peak of the bytes of all tensors made within the context."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._users: dict[int, int] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._track(tensor)
        return result

    def _track(self, tensor: torch.Tensor) -> None:
        """Count a tensor once for each storage, which several tensors may share."""
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
    """Load the pipeline that askew ships."""
    return cast("Any", registry.model("studio")).pipeline


def larger() -> StableDiffusionPipeline:
    """Make a pipeline with random weights, 32 x 32 latents and the studio's tokenizer."""
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
    """Return a recorder for each concept; for several, with the middle block as in `askew map`."""
    concepts = WATCHED[watched]
    texts = [attribution_text(PROMPT, concept, WORD) for concept in concepts]
    return [AttentionMaps(pipe, text, middle=len(concepts) > 1) for text in texts]


def make(pipe: Any, steps: int, pictures: int, watched: str) -> tuple[float, float]:
    """Return the seconds of one call: processor time, and wall time."""
    noise = [torch.Generator().manual_seed(k) for k in range(pictures)]
    maps = watchers(pipe, watched)
    began = time.process_time(), time.perf_counter()
    with ExitStack() as stack:
        for recorder in maps:
            stack.enter_context(recorder)
        pipe(
            [PROMPT] * pictures,
            num_inference_steps=steps,
            generator=noise,
            guidance_scale=5.0,
            output_type="latent",
        )
    return time.process_time() - began[0], time.perf_counter() - began[1]


def peak(work: Callable[[], object]) -> int:
    """Return the peak memory of some work in bytes."""
    gc.collect()
    with Allocated() as allocated:
        work()
    return int(allocated.peak)


def extra_memory(pipe: Any, steps: int, pictures: int, watched: str) -> float:
    """Return the megabytes per image that recording adds at the peak."""
    bare, more = (peak(partial(make, pipe, steps, pictures, kind)) for kind in ("bare", watched))
    return (more - bare) / pictures / 1e6


def report(name: str, steps: int, pictures: int, repeats: int) -> None:
    """Measure one network and print its block.

    Runs take turns, and the fastest of each kind counts.
    """
    pipe = NETWORKS[name]()
    size = pipe.unet.config.sample_size
    tokens = len(watchers(pipe, "one")[0].tokens)
    print(f"{name}, {size} x {size} latents: {pictures} images, {steps} steps, {tokens} tokens")
    for watched in ("one", "two"):
        _report_memory(pipe, pictures, watched)
    rounds = []
    for _ in range(repeats):
        rounds.append({kind: make(pipe, steps, pictures, kind) for kind in WATCHED})
    for watched in ("one", "two"):
        for k, clock in enumerate(("processor", "clock")):
            bare = min(times["bare"][k] for times in rounds)
            recorded = min(times[watched][k] for times in rounds)
            limit = " (at most 1.15)" if (watched, clock) == ("one", "processor") else ""
            ratio = recorded / bare
            print(
                f"  {watched:4} {clock:9}{bare:.2f} s bare, {recorded:.2f} s recorded, "
                f"ratio {ratio:.3f}{limit}",
                flush=True,
            )


def _report_memory(pipe: Any, pictures: int, watched: str) -> None:
    one_step = extra_memory(pipe, 1, pictures, watched)
    four_steps = extra_memory(pipe, 4, pictures, watched)
    limit = " (at most 2)" if watched == "one" else ""
    print(
        f"  {watched:4} memory   {four_steps:.2f} MB per image at the peak{limit} in four steps, "
        f"{one_step:.2f} in one",
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
    parser.add_argument("--network", choices=NETWORKS, help="measure only this network")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    for name in [choice.network] if choice.network else NETWORKS:
        report(name, choice.steps, choice.pictures, choice.repeats)


if __name__ == "__main__":
    main()
