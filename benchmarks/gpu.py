"""Measure askew on a GPU with networks of full size and random weights.

    python -m benchmarks.gpu [--only "SD 1.5,SDXL"] [--folder /dev/shm] [--tiny]

For each pipeline: the seconds of loading; images per second of a bare loop over the pipeline, and
of a run, which encodes, checks and stores them; the ratio of the two; the share of the time in
which the GPU was idle; and the time and peak memory of recording attention maps, relative to the
same call without them. Then classification by denoising error against a loop over pairs, and images
per second of a VQA model and of an embedder. The tables are Markdown.

Without a GPU the script says so and ends, unless --tiny is given, which runs tiny networks on the
CPU, to test the script.
"""

from __future__ import annotations

import argparse
import gc
import platform
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import diffusers
import torch
from diffusers import StableDiffusionPipeline
from PIL import Image

from askew import registry
from askew.measure.attention import AttentionMaps, attribution_text
from askew.measure.denoising import Denoiser, noise_of
from askew.models.base import Model, Request
from askew.models.diffusers.model import DiffusersModel
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan
from askew.prompts.axes import find_axis
from askew.prompts.given import prompt_of
from askew.run.live import LiveRun
from askew.store.keys import picture_seed
from askew.store.store import Store
from askew.types import Picture
from benchmarks.classification import CLASSES, METHODS, PAIRS, SAMPLES
from benchmarks.full_networks import PIPELINES, save, save_blip, save_clip

PROMPT = "a photo of a nurse"
WORD = "nurse"
CONCEPT = "gender"
AXES = ("gender", "age", "ethnicity", "body_type", "emotion", "clothing", "environment")


@dataclass(frozen=True)
class Setup:
    """Number of images, and settings of the pipeline's call."""

    images: int
    settings: dict[str, Any]


SETUPS = {
    "SD 1.5": Setup(64, {"num_inference_steps": 20}),
    "SDXL": Setup(16, {"num_inference_steps": 20}),
    "SD 3.5 Medium": Setup(16, {"num_inference_steps": 20}),
    "FLUX.1": Setup(8, {"num_inference_steps": 20}),
    "Qwen-Image": Setup(8, {"num_inference_steps": 10}),
}
TINY = Setup(2, {"num_inference_steps": 2, "height": 64, "width": 64})


@dataclass
class Usage:
    """Wall seconds of some work, and readings of how busy the GPU was, in percent."""

    seconds: float = 0.0
    readings: list[int] = field(default_factory=list)

    def idle(self) -> str:
        """Return the share of the time in which the GPU was idle."""
        if not self.readings:
            return "–"
        return f"{1 - sum(self.readings) / len(self.readings) / 100:.1%}"


def on_gpu() -> bool:
    """Check whether this machine has a GPU of NVIDIA."""
    return torch.cuda.is_available()


def wait() -> None:
    """Wait until the GPU has finished."""
    if on_gpu():
        torch.cuda.synchronize()


@contextmanager
def used() -> Iterator[Usage]:
    """Measure the work of a context."""
    usage = Usage()
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(usage, ended))
    wait()
    sampler.start()
    start = time.perf_counter()
    try:
        yield usage
        wait()
        usage.seconds = time.perf_counter() - start
    finally:
        ended.set()
        sampler.join()


def _sample(usage: Usage, ended: threading.Event) -> None:
    """Read the GPU's utilization ten times a second, if NVIDIA's library is installed."""
    while on_gpu() and not ended.wait(0.1):
        try:
            usage.readings.append(torch.cuda.utilization())
        except (ImportError, RuntimeError):
            return


def bare(model: DiffusersModel, images: int) -> None:
    """Generate images as a script would: batch by batch, in memory."""
    seeds = [picture_seed(0, PROMPT, k) for k in range(images)]
    for i in range(0, images, model.batch_size):
        part = seeds[i : i + model.batch_size]
        noise = [torch.Generator().manual_seed(seed) for seed in part]
        model.pipeline([PROMPT] * len(part), generator=noise, **model.settings)


def stored(model: Model, images: int, folder: Path) -> list[Picture]:
    """Generate the same images in a run, which stores them."""
    plan = survey_plan(Plan, [PROMPT], axes=["gender"], model=model.name, images=images)
    with Store(folder / "store") as store:
        outcomes = LiveRun(folder / "run", store, plan).pictures(model, [PROMPT], images, 0)
        return [outcome for outcome in outcomes[PROMPT] if isinstance(outcome, Picture)]


def pipeline_row(name: str, folder: Path, tiny: bool) -> str:
    """Return the row of a pipeline."""
    setup = TINY if tiny else SETUPS[name]
    images = setup.images
    steps = setup.settings["num_inference_steps"]
    device = "cuda" if on_gpu() else "cpu"
    save(name, folder / "pipeline", device, tiny)
    free_memory()
    model = DiffusersModel(folder / "pipeline", **setup.settings)
    with used() as loading:
        model.pipeline.set_progress_bar_config(disable=True)
    model.generate([Request(PROMPT, k) for k in range(min(images, model.batch_size))])
    with used() as loop:
        bare(model, images)
    with used() as run:
        count = len(stored(cast(Model, model), images, folder))
    cells = [
        name,
        f"{loading.seconds:.1f} s",
        f"{model.batch_size}",
        f"{steps}",
        f"{images / loop.seconds:.2f}",
        f"{count / run.seconds:.2f}",
        f"{loop.seconds / run.seconds * count / images:.3f}",
        f"{loop.idle()} / {run.idle()}",
        *capture_cells(model, steps),
    ]
    return row(cells)


def capture_cells(model: DiffusersModel, steps: int) -> list[str]:
    """Return time and peak memory of recording attention, relative to a call without it."""
    count = min(4, model.batch_size)
    record(model, count, 1, True)
    times = {}
    peaks = {}
    for recorded in (False, True):
        if on_gpu():
            torch.cuda.reset_peak_memory_stats()
        with used() as usage:
            record(model, count, steps, recorded)
        times[recorded] = usage.seconds
        peaks[recorded] = torch.cuda.max_memory_allocated() if on_gpu() else 0
    memory = f"{peaks[True] / peaks[False]:.3f}" if peaks[False] else "–"
    return [f"{times[True] / times[False]:.3f}", memory]


def record(model: DiffusersModel, count: int, steps: int, recorded: bool) -> None:
    """Generate images, and record the attention of a concept if `recorded` is true."""
    noise = [torch.Generator().manual_seed(k) for k in range(count)]
    settings = {**model.settings, "num_inference_steps": steps}
    with ExitStack() as stack:
        if recorded:
            text = attribution_text(PROMPT, CONCEPT, WORD)
            stack.enter_context(AttentionMaps(model.pipeline, text))
        model.pipeline([PROMPT] * count, generator=noise, output_type="latent", **settings)


def classification_row(folder: Path, tiny: bool) -> str:
    """Return the row of classification by denoising error."""
    device = "cuda" if on_gpu() else "cpu"
    save("SD 1.5", folder / "pipeline", device, tiny)
    dtype = torch.bfloat16 if on_gpu() else torch.float32
    pipe = StableDiffusionPipeline.from_pretrained(folder / "pipeline", torch_dtype=dtype)
    pipe.to(device)
    images = noise_images(1 if tiny else 8, 512)
    prompts = [prompt_of(word, "a photo of {}") for word in CLASSES]
    shape = Denoiser(pipe, prompts).shape
    noise = torch.stack([noise_of(seed, SAMPLES, shape) for seed in range(len(images))])
    seconds = []
    decisions = []
    METHODS[1](pipe, images[:1], prompts, noise[:1])  # the first call is slower
    for method in METHODS:
        with used() as usage:
            decisions.append(method(pipe, images, prompts, noise))
        seconds.append(usage.seconds)
    evaluations = len(images) * len(CLASSES) * SAMPLES
    return row(
        [
            f"{len(images)} images, {len(PAIRS)} pairs, {SAMPLES} samples",
            f"{seconds[0]:.1f} s",
            f"{seconds[1]:.1f} s",
            f"{seconds[0] / seconds[1]:.1f}",
            f"{evaluations / seconds[1]:.0f}",
            f"{(decisions[0] == decisions[1]).mean():.3f}",
        ]
    )


def instrument_rows(folder: Path, tiny: bool) -> Iterator[str]:
    """Yield the rows of a VQA model and an embedder, over images of 1,024 x 1,024 pixels."""
    device = "cuda" if on_gpu() else "cpu"
    count = 2 if tiny else 128
    pictures = []
    for k, image in enumerate(noise_images(count, 64 if tiny else 1024)):
        path = folder / f"{k}.png"
        image.save(path, compress_level=1)
        pictures.append(Picture(str(k), str(path), PROMPT, k))
    questions = [question for axis in AXES for question in find_axis(axis).questions]
    vqa = registry.vqa(f"transformers/{save_blip(folder / 'blip', device, tiny)}")
    vqa.answer(pictures[:2], questions[:1])
    for asked in (1, 4, len(questions)):
        with used() as usage:
            vqa.answer(pictures, questions[:asked])
        yield row(
            [
                f"BLIP-VQA base, {asked} questions",
                f"{count / usage.seconds:.1f}",
                f"{asked * count / usage.seconds:.1f}",
                usage.idle(),
            ]
        )
    name = f"clip/{save_clip(folder / 'clip', device, tiny)}"
    embedder = registry.embedder(name)
    embedder.embed_pictures(pictures[:1])
    with used() as usage:
        embedder.embed_pictures(pictures)
    yield row(["CLIP ViT-L/14", f"{count / usage.seconds:.1f}", "–", usage.idle()])


def noise_images(count: int, side: int) -> list[Image.Image]:
    """Return images of random pixels."""
    torch.manual_seed(0)
    pixels = torch.randint(0, 256, (count, side, side, 3), dtype=torch.uint8, device="cpu")
    return [Image.fromarray(image.numpy()) for image in pixels]


def free_memory() -> None:
    """Let go of memory that nothing uses."""
    gc.collect()
    if on_gpu():
        torch.cuda.empty_cache()


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterator[str]) -> None:
    """Print a Markdown table, each row when it is known."""
    print()
    print(row(head))
    print(row(["---"] * len(head)), flush=True)
    for line in rows:
        print(line, flush=True)


def in_folder(place: Path | None, work: Callable[[Path], str]) -> str:
    """Return a row that is measured in a temporary folder; an error takes its place."""
    folder = Path(tempfile.mkdtemp(dir=place))
    try:
        return work(folder)
    except (RuntimeError, ValueError) as error:
        return row([f"failed: {type(error).__name__}: {str(error)[:300]}"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        free_memory()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join([*PIPELINES, "classification", "instruments"]))
    parser.add_argument(
        "--folder", type=Path, help="folder in which weights are written [default: /tmp]"
    )
    parser.add_argument("--tiny", action="store_true", help="use tiny networks, on a GPU or a CPU")
    options = parser.parse_args(arguments)
    if not on_gpu() and not options.tiny:
        print("no GPU: nothing was measured (--tiny tests the script on the CPU)")
        return
    chosen = options.only.split(",")
    device = torch.cuda.get_device_name() if on_gpu() else "CPU, tiny networks"
    print(
        f"{device}; torch {torch.__version__}, diffusers {diffusers.__version__}, "
        f"Python {platform.python_version()}"
    )
    pipelines = [name for name in PIPELINES if name in chosen]
    if pipelines:
        head = ["pipeline", "loading", "batch", "steps", "bare, images/s", "run, images/s"]
        head += ["ratio", "GPU idle, bare / run", "maps: time", "maps: memory"]
        rows = (
            in_folder(options.folder, lambda f, n=name: pipeline_row(n, f, options.tiny))  # type: ignore[misc]
            for name in pipelines
        )
        table(head, rows)
    if "classification" in chosen:
        head = ["classification", "by pair", "by class", "times faster", "evaluations/s", "alike"]
        table(
            head,
            iter([in_folder(options.folder, lambda f: classification_row(f, options.tiny))]),
        )
    if "instruments" in chosen:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            head = ["instrument", "images/s", "answers/s", "GPU idle"]
            table(head, instrument_rows(Path(folder), options.tiny))


if __name__ == "__main__":
    main()
