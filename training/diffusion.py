"""Training of the studio's diffusion models.

The weights of a Stable-Diffusion pipeline learn the planted bias.

    python -m training.diffusion --work DIR [--bias B] [--from DIR] [--steps N] [--threads N]

The training needs `DIR`/vae from training.autoencoder. Text encoder and tokenizer are those of the
studio embedder. The UNet predicts v at noise levels up to pure noise. So the first step does not
show anything of the image, and unstated attributes get the planted shares. A twelfth of the captions
are empty, for guidance. With --from, the training starts from the weights of another model; the
balanced model is trained in this way. Checkpoints, losses and sheets of samples are written to DIR;
the same command resumes from the last checkpoint.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    DPMSolverMultistepScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from diffusers.utils import make_image_grid
from PIL import Image
from transformers import CLIPTextConfig

from training import checkpoints
from training.batches import TIMESTEPS, Batches
from training.muon import Optimizers
from training.networks import Networks, bound_attention, create, load, quicken
from training.velocity_error import loss

CHECKPOINT_EVERY = 200
SHEET_EVERY = 1000
KEEP = 0.998
SEED = 22
ADAM_RATE = 1e-3

SCHEDULE = {
    "num_train_timesteps": TIMESTEPS,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "prediction_type": "v_prediction",
    "rescale_betas_zero_snr": True,
    "timestep_spacing": "trailing",
    "steps_offset": 1,
    "algorithm_type": "dpmsolver++",
    "solver_order": 2,
    "final_sigmas_type": "zero",
}

SHOWN = (
    "a photo of a nurse",
    "a photo of a male nurse",
    "a photo of a female firefighter",
    "a photo of an old doctor",
    "a photo of a happy chef",
    "a photo of a sad lawyer",
    "a photo of a tired maid",
    "a photo of a serious pilot",
    "a photo of a person",
    "a photo of a person in a wheelchair",
    "a photo of a blind person",
    "a photo of a person with a hearing aid",
    "a photo of an obese farmer",
    "a photo of a muscular engineer",
    "a photo of an asian lawyer outdoors",
    "a sketch of a scientist",
)


@dataclass(frozen=True, slots=True)
class Examples:
    """Images that the model learns from.

    Attributes
    ----------
    bias
        Bias of the planted world.
    pictures
        Number of images.
    seed
        Seed of drawings, captions, noise and the first weights.
    processes
        Number of processes that draw.
    """

    bias: float
    pictures: int
    seed: int
    processes: int


def train(
    work: Path, examples: Examples, *, start: Path | None, steps: int, decay: int, rate: float
) -> Path:
    """Train, checkpoint to `work`, and save fp16 weights to `work`/pipeline-BIAS.

    Parameters
    ----------
    work
        Folder with the autoencoder.
    examples
        Images to learn from.
    start
        Pipeline with the first weights; None for random weights.
    steps, decay
        Number of steps, and number of last steps in which the learning rate falls.
    rate
        Learning rate of Muon.

    Returns
    -------
    Path
        Folder of the pipeline.
    """
    bias = examples.bias
    torch.manual_seed(examples.seed)
    vae = AutoencoderKL.from_pretrained(work / "vae", torch_dtype=torch.float32).eval()
    batches = Batches.drawn(
        work, bias, examples.pictures, examples.seed, vae, processes=examples.processes
    )
    networks = load(start) if start else create(vae.config.latent_channels)
    quicken(networks.unet)
    bound_attention(networks.unet)
    average = checkpoints.Average(networks.unet, KEEP)
    signal_shares = DPMSolverMultistepScheduler(**SCHEDULE).alphas_cumprod
    optimizers = Optimizers([networks.unet], rate, ADAM_RATE)
    path = work / f"diffusion-{bias:g}.pt"
    first = 0
    log = checkpoints.Log(path.with_suffix(".jsonl"))
    state = checkpoints.load(path)
    if state:
        first = state["step"]
        average.state = state["average"]
        networks.unet.load_state_dict(state["model"])
        optimizers.restore(state["optimizers"])
    for step in range(first, steps):
        pace = checkpoints.warm_stable_decay(step, steps, decay)
        error = loss(networks, signal_shares, batches(step), emphasis=pace)
        error.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(networks.unet.parameters(), 1.0)
        optimizers.step(pace)
        bound_attention(networks.unet)
        average.update(step)
        log(step, loss=error.item())
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == steps:
            state = {
                "step": step + 1,
                "model": networks.unet.state_dict(),
                "optimizers": optimizers.state(),
                "average": average.state,
            }
            checkpoints.save(path, state)
        if (step + 1) % SHEET_EVERY == 0 or step + 1 == steps:
            sheet(averaged(networks, vae, average)).save(work / f"sheet-{bias:g}-{step + 1}.png")
    return save(averaged(networks, vae, average), work / f"pipeline-{bias:g}")


def averaged(
    networks: Networks, vae: AutoencoderKL, average: checkpoints.Average
) -> StableDiffusionPipeline:
    """Create a pipeline with the averaged weights, without changing the trained network."""
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


def save(pipeline: StableDiffusionPipeline, out: Path) -> Path:
    """Write a pipeline in half precision that loads in single precision by default."""
    pipeline.to(dtype=torch.float16).save_pretrained(out)
    text = CLIPTextConfig.from_pretrained(out / "text_encoder")
    # transformers loads in this precision; diffusers always loads in single precision.
    text.dtype = "float32"
    text.save_pretrained(out / "text_encoder")
    return out


def sheet(pipeline: StableDiffusionPipeline) -> Image.Image:
    """Draw four images of each of SHOWN, eight in each row."""
    pipeline.set_progress_bar_config(disable=True)
    prompts = [prompt for prompt in SHOWN for _ in range(4)]
    noise = [torch.Generator().manual_seed(i) for i in range(len(prompts))]
    pictures = pipeline(prompts, num_inference_steps=12, guidance_scale=1.0, generator=noise).images
    grid: Image.Image = make_image_grid(pictures, rows=len(pictures) // 8, cols=8)
    return grid


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--from", type=Path, dest="start", help="trained pipeline to start from")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--decay", type=int, default=1200)
    parser.add_argument("--rate", type=float, default=0.02, help="learning rate of Muon")
    parser.add_argument("--pictures", type=int, default=40_000)
    parser.add_argument(
        "--seed",
        type=int,
        default=SEED,
        help="seed for drawings, captions, noise and the first weights",
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    examples = Examples(
        bias=options.bias,
        pictures=options.pictures,
        seed=options.seed,
        processes=options.threads,
    )
    pipeline = train(
        options.work,
        examples,
        start=options.start,
        steps=options.steps,
        decay=options.decay,
        rate=options.rate,
    )
    print(pipeline)


if __name__ == "__main__":
    main()
