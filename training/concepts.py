"""Training of attention tokens for concepts that no training caption of the studio contains.

    python -m training.concepts --work DIR [--steps N] [--threads N]

"gender" and "race" state no value, so no drawing shows their meaning, and textual inversion (see
`training.nouns`) has nothing to learn from. Instead, a vector learns where to look: the attention of
"<gender>" in "a photo of a nurse and <gender>" learns to fit the region of the drawing that contains
all evidence of gender (`benchmarks.evidence`). All networks and all known vectors are frozen. Only
attribution prompts contain these tokens, so no image of any prompt changes.
DIR/concepts.safetensors is the installed file with the vectors.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from diffusers import AutoencoderKL, DPMSolverMultistepScheduler
from numpy.typing import NDArray
from safetensors.torch import save_file
from tokenizers import AddedToken
from torch import Tensor
from torch.nn import functional

from askew.measure.attention.unet import cross_attention
from askew.measure.studio import network_input
from askew.studio import CONCEPT_VECTORS, CONCEPTS, concept_token, weights
from askew.studio.scene import ATTRIBUTES, Scene
from benchmarks.evidence import evidence
from training import checkpoints
from training.captioned import Captioned, captioned_scenes, framed
from training.diffusion import SCHEDULE
from training.drawings import cached
from training.networks import Networks, load, tokens

SCENES = 384
SEED = 45
BATCH = 24
RATE = 0.05
"""Learning rate of Adam, in units of the spread of the vectors."""

FIRST = 100
"""First of 1,000 timesteps; an image of the studio has its first step at 999."""

SIDE = 16
"""Side of the largest maps."""


class Batch(NamedTuple):
    """Noisy latents with timesteps, captions, and regions (concepts, drawings, 16, 16)."""

    noisy: Tensor
    timesteps: Tensor
    captions: list[str]
    regions: Tensor


class Batches:
    """Batches by step; batch i is the same in every run."""

    def __init__(self, work: Path, processes: int) -> None:
        vae = AutoencoderKL.from_pretrained(
            weights("studio") / "vae", torch_dtype=torch.float32
        ).eval()
        people = [
            example for example in captioned_scenes(2 * SCENES, 0.0, SEED) if example.scene.person
        ]
        self.examples = people[:SCENES]
        scenes = [example.scene for example in self.examples]
        drawings = cached(work / "pixels.npy", scenes, range(SCENES), processes)
        self.latents = torch.cat(
            [encode(vae, part) for part in np.array_split(drawings, SCENES // BATCH)]
        )
        self.regions = regions(work / "regions.npy", scenes)
        self.kept = DPMSolverMultistepScheduler(**SCHEDULE).alphas_cumprod

    def __call__(self, step: int) -> Batch:
        """Return the batch of a step."""
        rng = np.random.default_rng([SEED, step])
        words = Random(step)
        index = rng.choice(SCENES, BATCH, replace=False)
        clean = self.latents[index]
        spread = FIRST + (1000 - FIRST) * (rng.permutation(BATCH) + rng.random(BATCH)) / BATCH
        timesteps = torch.from_numpy(spread.astype(np.int64))
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        signal = self.kept[timesteps][:, None, None, None]
        return Batch(
            noisy=signal.sqrt() * clean + (1 - signal).sqrt() * noise,
            timesteps=timesteps,
            captions=[captioned(self.examples[k], words) for k in index],
            regions=torch.from_numpy(self.regions[:, index]),
        )


@torch.inference_mode()
def encode(vae: AutoencoderKL, drawings: NDArray[np.uint8]) -> Tensor:
    """Return scaled latent means (drawings, channels, 16, 16).

    Without autocast, because many CPUs compute bfloat16 ten times as slowly as float32.
    """
    means: Tensor = vae.encode(network_input(np.array(drawings))).latent_dist.mean
    scale: float = vae.config.scaling_factor
    return means * scale


def captioned(example: Captioned, words: Random) -> str:
    """Write a caption that does not state the values of the concepts."""
    silent = set(CONCEPTS.values())
    return framed(
        example.scene, [name for name in example.named(words) if name not in silent], words
    )


def regions(path: Path, scenes: Sequence[Scene]) -> NDArray[np.float32]:
    """Return the share of evidence in each cell (concepts, drawings, 16, 16), stored in a file."""
    if not path.exists():
        rows = []
        for attribute in dict.fromkeys(CONCEPTS.values()):
            masks = [evidence(scene, seed, attribute) for seed, scene in enumerate(scenes)]
            rows.append(shares(np.stack(masks)))
        np.save(path, np.stack(rows))
    known: NDArray[np.float32] = np.load(path)
    return known


def shares(masks: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the share of each cell of a map that a mask covers."""
    n, height, width = masks.shape
    cells = masks.reshape(n, SIDE, height // SIDE, SIDE, width // SIDE)
    return np.asarray(cells.mean(axis=(2, 4)), dtype=np.float32)


class Queries:
    """Queries of the cross-attention layers during one call of a UNet, without the middle block."""

    def __init__(self, networks: Networks) -> None:
        self._networks = networks
        self._layers = dict(cross_attention(_Pipe(networks.unet), middle=False))
        self._queries: dict[str, Tensor] = {}
        for name, layer in self._layers.items():
            layer.attention.to_q.register_forward_hook(partial(self._keep, name))

    def _keep(self, name: str, _module: Any, _args: Any, output: Tensor) -> None:
        self._queries[name] = output

    @torch.no_grad()
    def record(self, batch: Batch) -> None:
        """Predict from the noisy latents, given the captions, and keep all queries."""
        states = encoded(self._networks, batch.captions)
        self._networks.unet(batch.noisy, batch.timesteps, states)

    def maps(self, texts: Sequence[str], word: str) -> Tensor:
        """Return the maps of a word (drawings, 16, 16), summed over heads and layers.

        As in `askew.measure.attention`, each pixel divides its attention among the tokens of its
        text. Padding has no share.
        """
        ids = tokens(self._networks.tokenizer, texts)
        states = self._networks.text(ids).last_hidden_state
        end = self._networks.tokenizer.eos_token_id
        padding = torch.cumsum(ids == end, dim=1) - (ids == end).long() > 0
        chosen = ids == self._networks.tokenizer.convert_tokens_to_ids(word)
        total = torch.zeros(len(ids), SIDE, SIDE)
        for name, layer in self._layers.items():
            queries = self._queries[name]
            heads = layer.attention.heads
            keys = by_head(layer.attention.to_k(states), heads)
            scores = by_head(queries, heads) @ keys.mT * layer.attention.scale
            scores = scores.masked_fill(padding[:, None, None], -torch.inf)
            weight = (scores.softmax(dim=-1) * chosen[:, None, None]).sum(dim=(1, 3))
            side = round(weight.shape[1] ** 0.5)
            square = weight.reshape(len(ids), 1, side, side)
            total = total + resized(square)[:, 0]
        return total


class _Pipe(NamedTuple):
    """Pipeline of which only the UNet matters."""

    unet: Any


def by_head(states: Tensor, heads: int) -> Tensor:
    """Divide the channels of states (rows, n, channels) among heads: (rows, heads, n, width)."""
    return states.reshape(*states.shape[:2], heads, -1).transpose(1, 2)


def resized(maps: Tensor) -> Tensor:
    """Resize maps (n, 1, h, w) to the largest size, as `askew map` does."""
    return functional.interpolate(maps, (SIDE, SIDE), mode="bilinear", align_corners=False)


def encoded(networks: Networks, texts: Sequence[str]) -> Tensor:
    """Encode texts, with padding."""
    states: Tensor = networks.text(tokens(networks.tokenizer, texts)).last_hidden_state
    return states


def misfit(maps: Tensor, regions: Tensor) -> Tensor:
    """Return 1 minus the mean correlation of maps with regions, each (drawings, 16, 16)."""
    x = maps.flatten(1)
    y = regions.flatten(1)
    x = x - x.mean(dim=1, keepdim=True)
    y = y - y.mean(dim=1, keepdim=True)
    return 1 - functional.cosine_similarity(x, y, dim=1).mean()


@torch.no_grad()
def extend(networks: Networks) -> None:
    """Give each attribute of CONCEPTS a token, whose first vector is the mean of its values."""
    tokenizer = networks.tokenizer
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in learned().values()])
    networks.text.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    table = networks.text.get_input_embeddings().weight
    for attribute, word in learned().items():
        values = " ".join(ATTRIBUTES[attribute])
        known = tokenizer(values, add_special_tokens=False).input_ids
        table[tokenizer.convert_tokens_to_ids(word)] = table[known].mean(dim=0)


def learned() -> dict[str, str]:
    """Return the token of each attribute of CONCEPTS."""
    words: dict[str, str] = {}
    for concept, attribute in CONCEPTS.items():
        words.setdefault(attribute, concept_token(concept))
    return words


def learn(networks: Mapping[str, Networks], work: Path, steps: int, processes: int) -> Tensor:
    """Return the vectors of the attributes, learned with the UNets of all models in turn."""
    first = next(iter(networks.values()))
    table: torch.nn.Parameter = first.text.get_input_embeddings().weight
    numbers = first.tokenizer.convert_tokens_to_ids(list(learned().values()))
    for model in networks.values():
        model.text.set_input_embeddings(first.text.get_input_embeddings())
    table.requires_grad_(True)
    known = torch.ones(len(table), dtype=torch.bool)
    known[numbers] = False
    optimizer = torch.optim.Adam([table])
    rate = RATE * float(table[known].detach().std())
    batches = Batches(work, processes)
    queries = [Queries(model) for model in networks.values()]
    log = checkpoints.Log(work / "concepts.jsonl", interval=10)
    for step in range(steps):
        batch = batches(step)
        layers = queries[step % len(queries)]
        layers.record(batch)
        errors = []
        for word, region in zip(learned().values(), batch.regions, strict=True):
            texts = [f"{caption.rstrip('.')} and {word}" for caption in batch.captions]
            errors.append(misfit(layers.maps(texts, word), region))
        (table.grad,) = torch.autograd.grad(torch.stack(errors).sum(), [table])
        table.grad[known] = 0
        optimizer.param_groups[0]["lr"] = rate * min(1.0, 2 * (steps - step) / steps)
        optimizer.step()
        log(step, **dict(zip(learned(), (error.item() for error in errors), strict=True)))
    return table[numbers].detach()


def main() -> None:
    """Learn from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--threads", type=int, default=1)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    choice.work.mkdir(parents=True, exist_ok=True)
    networks = {name: load(weights(name)) for name in ("studio", "balanced")}
    for model in networks.values():
        model.unet.requires_grad_(False)
        extend(model)
    table = learn(networks, choice.work, choice.steps, choice.threads)
    vectors = dict(zip(learned(), table, strict=True))
    rows = {concept: vectors[attribute].half().clone() for concept, attribute in CONCEPTS.items()}
    save_file(rows, choice.work / CONCEPT_VECTORS.name)


if __name__ == "__main__":
    main()
