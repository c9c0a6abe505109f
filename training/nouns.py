"""Training of nouns that no training caption of the studio contains (man, boy, people, nurses).

    python -m training.nouns --work DIR [--steps N] [--threads N]

Every noun becomes a separate token. A noun with the meaning of a known word gets the vector of that
word (SAME). Only the vectors of the other nouns are learned (textual inversion: Gal et al., ICLR
2023, arXiv 2208.01618). The network of `studio` is frozen. For "a photo of an old man" it learns to
predict the same as for "a photo of an old male person". So images of prompts without these nouns do
not change. `studio/balanced` and the embedder have the same text encoder and get the same vectors.
DIR/studio, DIR/balanced and DIR/embedder are the installed folders with these vectors.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

import numpy as np
import torch
from diffusers import AutoencoderKL, DPMSolverMultistepScheduler
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer
from torch import Tensor

from askew.prompts.vocabulary import article
from askew.studio import NETWORKS, weights
from askew.studio.scene import OCCUPATIONS
from training import checkpoints
from training.captioned import Captioned, captioned_scenes, framed, latents
from training.diffusion import SCHEDULE
from training.networks import Networks, load, quicken, tokens

SAME = {
    "human": "person",
    "individual": "person",
    "adult": "person",
    "gentleman": "man",
    "lady": "woman",
    "somebody": "people",
    "someone": "people",
    "indoor": "indoors",
    "inside": "indoors",
    "outdoor": "outdoors",
    "outside": "outdoors",
}

PEOPLE = {
    "man": "male person",
    "woman": "female person",
    "boy": "young male person",
    "girl": "young female person",
    "men": "male person",
    "women": "female person",
    "people": "person",
}
"""Nouns whose vectors are learned, with their meanings."""

PLURALS = {
    f"{name}s": name
    for o in OCCUPATIONS.values()
    for name in (o.name, *o.aliases)
    if not name.endswith("s") and "-" not in name
}
"""Occupations by plural; the last word is the token."""

MEANINGS = {**PEOPLE, **PLURALS}
BARE = frozenset((*PLURALS, "men", "women", "people"))
"""Nouns without an article."""

SCENES = 512
SEED = 26
BATCH = 32
RATE = 0.03
"""Learning rate of Adam, in units of the spread of the vectors."""

FIRST = 400
"""First of 1,000 timesteps; at earlier timesteps the noisy image still shows its content."""


TABLE = "text_model.embeddings.token_embedding.weight"


class Batch(NamedTuple):
    """Noisy latents with timesteps, captions with nouns, and the same captions in known words."""

    noisy: Tensor
    timesteps: Tensor
    nouns: list[str]
    known: list[str]


class Batches:
    """Batches by step; batch i is the same in every run.

    The latents of each second item belong to another scene than the caption's. So the network
    cannot infer from the image the meaning that it must learn from the noun.
    """

    def __init__(self, work: Path, processes: int) -> None:
        vae = AutoencoderKL.from_pretrained(
            weights("studio") / "vae", torch_dtype=torch.float32
        ).eval()
        people = [
            example for example in captioned_scenes(2 * SCENES, 1.0, SEED) if example.scene.person
        ][:SCENES]
        self.scenes = people
        self.latents = latents(
            work / "latents.npy",
            [example.scene for example in people],
            range(SCENES),
            vae,
            processes,
        )
        self.kept = DPMSolverMultistepScheduler(**SCHEDULE).alphas_cumprod

    def __call__(self, step: int) -> Batch:
        """Return the batch of a step.

        Each third batch is pure noise, since the first sampling step decides most.
        """
        rng = np.random.default_rng([SEED, step])
        words = Random(step)
        index = rng.choice(SCENES, BATCH, replace=False)
        pairs = [worded(self.scenes[i], words) for i in index]
        shown = np.where(np.arange(BATCH) % 2, index, np.roll(index, 2))
        clean = torch.from_numpy(self.latents[shown].astype(np.float32))
        spread = FIRST + (1000 - FIRST) * (rng.permutation(BATCH) + rng.random(BATCH)) / BATCH
        timesteps = (
            torch.from_numpy(spread.astype(np.int64)) if step % 3 else torch.full((BATCH,), 999)
        )
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        signal = self.kept[timesteps][:, None, None, None]
        noisy = (signal.sqrt() * clean + (1 - signal).sqrt() * noise).contiguous(
            memory_format=torch.channels_last
        )
        return Batch(noisy, timesteps, *map(list, zip(*pairs, strict=True)))


def worded(example: Captioned, words: Random) -> tuple[str, str]:
    """Write a caption with a noun, and the same caption in known words."""
    noun = words.choice(list(words.choice((PEOPLE, PLURALS))))
    silent = {"occupation", "gender"} if noun in PEOPLE else {"occupation"}
    silent |= {"age"} if noun in ("boy", "girl") else set()
    text = framed(
        example.scene, [name for name in example.named(words) if name not in silent], words
    )
    head, before, after = cast(
        "re.Match[str]", re.fullmatch(r"(.* of )an? (.*)person(.*)", text)
    ).groups()
    new = f"{before}{noun}"
    known = f"{before}{MEANINGS[noun]}"
    return (
        f"{head}{new if noun in BARE else f'{article(new)} {new}'}{after}",
        f"{head}{article(known)} {known}{after}",
    )


def learn(networks: Networks, work: Path, steps: int, processes: int) -> None:
    """Fit the vectors of MEANINGS by squared prediction error, then copy the vectors of SAME."""
    embedding = networks.text.get_input_embeddings()
    numbers = networks.tokenizer.convert_tokens_to_ids
    table: torch.nn.Parameter = embedding.weight.requires_grad_(True)
    fixed = torch.ones(len(table), dtype=torch.bool)
    fixed[[numbers(token(noun)) for noun in MEANINGS]] = False
    optimizer = torch.optim.Adam([table])
    batches = Batches(work, processes)
    log = checkpoints.Log(work / "nouns.jsonl", interval=10)
    rate = RATE * float(table[fixed].detach().std())
    for step in range(steps):
        batch = batches(step)
        with torch.no_grad():
            wanted = predicted(networks, batch, batch.known)
        error = (predicted(networks, batch, batch.nouns) - wanted).square().mean()
        (table.grad,) = torch.autograd.grad(error, [table])
        table.grad[fixed] = 0
        optimizer.param_groups[0]["lr"] = rate * min(1.0, 2 * (steps - step) / steps)
        optimizer.step()
        log(step, error=error.item())
    with torch.no_grad():
        for noun, known in SAME.items():
            table[numbers(noun)] = table[numbers(known if known in MEANINGS else f"{known}</w>")]


def predicted(networks: Networks, batch: Batch, captions: list[str]) -> Tensor:
    """Predict from the noisy latents, given the captions."""
    with torch.autocast("cpu", torch.bfloat16):
        text_states = networks.text(tokens(networks.tokenizer, captions)).last_hidden_state
        guess: Tensor = networks.unet(batch.noisy, batch.timesteps, text_states).sample
    return guess.float()


@torch.no_grad()
def extend(networks: Networks) -> None:
    """Give each noun a token, whose first vector is the mean of the words of its meaning."""
    tokenizer = networks.tokenizer
    text = networks.text
    tokenizer.add_tokens(added())
    text.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    table = text.get_input_embeddings().weight
    for noun, meaning in MEANINGS.items():
        known = tokenizer(
            meaning if noun in PEOPLE else token(meaning), add_special_tokens=False
        ).input_ids
        table[tokenizer.convert_tokens_to_ids(token(noun))] = table[known].mean(dim=0)


def token(noun: str) -> str:
    """Return the last word."""
    return noun.split()[-1]


def added() -> list[AddedToken]:
    """Return the tokens in order; they match text in any case."""
    return [
        AddedToken(noun, single_word=True, normalized=True)
        for noun in dict.fromkeys(map(token, (*MEANINGS, *SAME)))
    ]


def save(networks: Networks, name: str, work: Path) -> None:
    """Write the installed folder of a network to `work`/`name`, with tokens and vectors."""
    out = work / name
    shutil.copytree(weights(name), out, dirs_exist_ok=True)
    text, words = (out, out) if name == "embedder" else (out / "text_encoder", out / "tokenizer")
    table = networks.text.get_input_embeddings().weight.detach().half()
    file = text / "model.safetensors"
    save_file({**load_file(file), TABLE: table}, file, metadata={"format": "pt"})
    file.chmod(0o644)
    known = Tokenizer.from_file(str(words / "tokenizer.json"))
    known.add_tokens(added())
    known.save(str(words / "tokenizer.json"))
    config = text / "config.json"
    config.write_text(re.sub(r'("vocab_size": )\d+', rf"\g<1>{len(table)}", config.read_text()))


def main() -> None:
    """Learn from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--threads", type=int, default=2)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    networks = load(weights("studio"))
    quicken(networks.unet.requires_grad_(False))
    extend(networks)
    learn(networks, choice.work, choice.steps, choice.threads)
    for name in NETWORKS:
        save(networks, name, choice.work)


if __name__ == "__main__":
    main()
