"""Train the studio embedder, a small CLIPModel, on drawings and captions.

    python -m training.embedder --work DIR [--steps N] [--threads N]

First the text tower learns what captions state. Each value of each attribute has a code, and the
codes are orthogonal. The embedding of a caption learns to point to the sum of the codes of the
values that the caption mentions. Then the text tower is frozen. If it kept learning, it would give
the same embedding to two values that the image embeddings do not yet distinguish, and they would
never become distinct.

The vision tower learns from two losses on every batch. The first compares each image with a wording
of every value of an attribute, by cross-entropy; a wording per attribute fits the image. The second
compares images with captions of scenes by a sigmoid loss, in which a caption fits every image that
shows all that the caption states. Checkpoints are written to DIR; the same command resumes from the
last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

from askew.measure.studio import network_input
from askew.studio.caption import NO_OCCUPATION, NOBODY, caption, wordings
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, OF_ANY_SCENE, Scene
from training import checkpoints
from training.drawings import SIZE, Pixels, cached, twins, uniform_scenes
from training.tokenizer import LENGTH, train_tokenizer

BATCH = 64
WHOLE_CAPTIONS = 24
TEXT_BATCH = 192
TEXT_STEPS = 400
SEED = 20
CHECKPOINT_EVERY = 250
EMPHASIS_FROM = 1000
EMPHASIS = {"disability": 4.0, "hair": 2.0, "occupation": 2.0}
"""Weights of attributes that are visible in the smallest regions, after the others are learned."""

TWINS_FROM = 1250
TWINS = 3000
TWIN_VALUES = {"disability": ("fit", "hearing aid"), "hair": ("short", "bald")}
"""Values in which pairs of drawings differ. From TWINS_FROM on, pairs are half of every batch."""

DECAY = 800

FIRST_LOGIT_SCALE = 30.0
POSITION_SCALE = 0.3
"""Spread of the first position vectors: enough to distinguish patches before attention learns."""

PERSON = "person"
VALUES = {**ATTRIBUTES, "occupation": (*OCCUPATIONS, NO_OCCUPATION), PERSON: (PERSON, NOBODY)}

NO_VALUE = -100
"""Index that cross-entropy ignores."""

Index = np.ndarray[tuple[int], np.dtype[np.int64]]


def config(tokenizer: CLIPTokenizer) -> CLIPConfig:
    """Return the configuration, a vision transformer and a shallow text transformer."""
    start = tokenizer.bos_token_id
    end = tokenizer.eos_token_id
    return CLIPConfig(
        projection_dim=128,
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 128,
            "intermediate_size": 512,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "max_position_embeddings": LENGTH,
            "projection_dim": 128,
            "bos_token_id": start,
            "eos_token_id": end,
            "pad_token_id": end,
        },
        vision_config={
            "hidden_size": 160,
            "intermediate_size": 640,
            "num_hidden_layers": 5,
            "num_attention_heads": 5,
            "image_size": SIZE,
            "patch_size": 16,
            "projection_dim": 128,
        },
    )


def targets(scenes: Sequence[Scene]) -> dict[str, Tensor]:
    """Return the index of the value of each scene by attribute; -100 where there is no person."""
    columns = {}
    for name, values in VALUES.items():
        columns[name] = torch.tensor([_place(values, _value(scene, name)) for scene in scenes])
    return columns


def _place(values: Sequence[str], value: str | None) -> int:
    return NO_VALUE if value is None else values.index(value)


def _value(scene: Scene, name: str) -> str | None:
    if name == PERSON:
        return PERSON if scene.person else NOBODY
    if not scene.person and name not in OF_ANY_SCENE:
        return None
    return getattr(scene, name) or NO_OCCUPATION


def _wordings(name: str, value: str) -> list[str]:
    if name != PERSON:
        return wordings(name, value)
    if value == PERSON:
        return ["a photo of a person", "a picture of a person"]
    return ["a photo of an empty scene", "a photo of nobody", "a picture of an empty scene"]


def _groups() -> list[tuple[str, str]]:
    """Return all pairs of attribute and value."""
    return [(name, value) for name, values in VALUES.items() for value in values]


class Drawings(NamedTuple):
    """Scenes and their images (scenes, 128, 128, 3)."""

    scenes: list[Scene]
    pixels: Pixels


class Batch(NamedTuple):
    """Images with indices of their values, a wording per value, and captions with their matches."""

    pictures: Tensor
    shown: dict[str, Tensor]
    singles: list[str]
    captions: list[str]
    fits: Tensor


class Words:
    """Unit vectors of texts by a frozen text tower; vectors of single values are computed once."""

    def __init__(self, model: CLIPModel, tokenizer: CLIPTokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer
        wordings_of_values: set[str] = set()
        for name, value in _groups():
            wordings_of_values.update(_wordings(name, value))
        texts = sorted(wordings_of_values)
        self.known = dict(zip(texts, self.embed(texts), strict=True))

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors: (texts, width)."""
        tokens = self.tokenizer(list(texts), padding=True, return_tensors="pt")
        return F.normalize(self.model.get_text_features(**tokens).pooler_output, dim=-1)

    def __call__(self, batch: Batch) -> Tensor:
        """Return vectors of single values, followed by those of captions: (texts, width)."""
        singles = torch.stack([self.known[text] for text in batch.singles])
        return torch.cat([singles, self.embed(batch.captions)])


class Batches:
    """Random batches of images with targets and captions, the same in every run."""

    def __init__(self, drawings: Drawings, twins: Drawings) -> None:
        self.drawings = drawings
        self.twins = twins
        self.targets = targets([*drawings.scenes, *twins.scenes])
        self.groups = _groups()

    def choose(self, step: int, rng: np.random.Generator) -> Index:
        """Return numbers of drawings, and from step TWINS_FROM as many numbers of twins.

        Twins are numbered after the other drawings.
        """
        first = len(self.drawings.scenes)
        if step < TWINS_FROM:
            return rng.choice(first, BATCH, replace=False)
        pairs = rng.choice(len(self.twins.scenes) // 2, BATCH // 4, replace=False) * 2
        singles = rng.choice(first, BATCH // 2, replace=False)
        return np.concatenate([singles, first + pairs, first + pairs + 1])

    def pictures(self, index: Index, rng: np.random.Generator) -> Tensor:
        """Return images (n, 3, 128, 128) with slightly varied brightness and contrast."""
        first = len(self.drawings.scenes)
        parts = (
            self.drawings.pixels[index[index < first]],
            self.twins.pixels[index[index >= first] - first],
        )
        block = network_input(np.concatenate(parts))
        changes = rng.uniform((0.85, -0.1), (1.15, 0.1), (len(index), 2))
        gain, offset = changes.T.reshape(2, -1, 1, 1, 1).astype(np.float32)
        return block * torch.from_numpy(gain) + torch.from_numpy(offset)

    def __call__(self, step: int) -> Batch:
        """Return the batch of a step."""
        rng = np.random.default_rng([SEED, step])
        words = Random(step)
        index = self.choose(step, rng)
        rows = torch.from_numpy(index)
        shown = {name: column[rows] for name, column in self.targets.items()}
        singles = [words.choice(_wordings(name, value)) for name, value in self.groups]
        captions = []
        fits = []
        for position in range(WHOLE_CAPTIONS):
            scene = self.drawings.scenes[int(index[position])]
            mentioned = _mentioned(scene, words)
            captions.append(caption(scene, mentioned, words))
            alike = [shown[name] == shown[name][position] for name in [*mentioned, PERSON]]
            fits.append(torch.stack(alike).all(dim=0))
        return Batch(self.pictures(index, rng), shown, singles, captions, torch.stack(fits, dim=1))


def teach_text(model: CLIPModel, tokenizer: CLIPTokenizer, scenes: Sequence[Scene]) -> None:
    """Train the text tower to map a caption to the sum of the codes of its values."""
    groups = _groups()
    basis = torch.linalg.qr(torch.randn(model.config.projection_dim, model.config.projection_dim)).Q
    codes = dict(zip(groups, basis, strict=False))
    parameters = [*model.text_model.parameters(), *model.text_projection.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 2e-3, total_steps=TEXT_STEPS, pct_start=0.1
    )
    for step in range(TEXT_STEPS):
        words = Random(f"text {step}")
        captions, wanted = _text_batch(scenes, codes, words)
        tokens = tokenizer(captions, padding=True, return_tensors="pt")
        texts = model.get_text_features(**tokens).pooler_output
        loss = 1 - F.cosine_similarity(texts, torch.stack(wanted)).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step + 1 == TEXT_STEPS:
            print(json.dumps({"text step": step, "loss": loss.item()}), flush=True)


def _text_batch(
    scenes: Sequence[Scene], codes: Mapping[tuple[str, str], Tensor], words: Random
) -> tuple[list[str], list[Tensor]]:
    """Return captions of scenes and of single values, with the sums of their codes."""
    captions = []
    wanted = []
    for scene in words.sample(scenes, TEXT_BATCH // 2):
        mentioned = _mentioned(scene, words)
        captions.append(caption(scene, mentioned, words))
        values = [(name, _value(scene, name)) for name in [*mentioned, PERSON]]
        parts = [codes[name, value] for name, value in values if value]
        wanted.append(torch.stack(parts).sum(dim=0))
    for name, value in words.choices(list(codes), k=TEXT_BATCH // 2):
        captions.append(words.choice(_wordings(name, value)))
        implies_person = name not in (*OF_ANY_SCENE, PERSON)
        wanted.append(codes[name, value] + codes[PERSON, PERSON] * implies_person)
    return captions, wanted


def _mentioned(scene: Scene, words: Random) -> list[str]:
    """Choose one to five visible attributes that a caption mentions."""
    names = [*ATTRIBUTES, "occupation"] if scene.person else sorted(OF_ANY_SCENE)
    if scene.occupation is None and scene.person:
        names.remove("occupation")
    return words.sample(names, words.randint(1, min(5, len(names))))


def losses(
    model: CLIPModel, batch: Batch, texts: Tensor, shift: Tensor, emphasis: Mapping[str, float]
) -> tuple[Tensor, Tensor]:
    """Return the weighted mean cross-entropy over attributes, and the sigmoid loss of captions."""
    with torch.autocast("cpu", torch.bfloat16):
        seen = model.get_image_features(pixel_values=batch.pictures).pooler_output
    vectors = F.normalize(seen.float(), dim=-1)
    logits = model.logit_scale.exp().clamp(max=100) * vectors @ texts.T
    parts = []
    start = 0
    for name, values in VALUES.items():
        cross_entropy = F.cross_entropy(logits[:, start : start + len(values)], batch.shown[name])
        parts.append(emphasis.get(name, 1.0) * cross_entropy)
        start += len(values)
    sign = batch.fits.float() * 2 - 1
    share = batch.fits.float().mean()
    balance = torch.where(batch.fits, 1.0, share / (1 - share))
    whole = -(balance * F.logsigmoid(sign * (logits[:, start:] - shift))).sum() / balance.sum()
    return torch.stack(parts).mean(), whole


def create(tokenizer: CLIPTokenizer) -> CLIPModel:
    """Create the untrained network."""
    model = CLIPModel(config(tokenizer))
    positions = model.vision_model.embeddings.position_embedding.weight
    torch.nn.init.normal_(positions, std=POSITION_SCALE)
    torch.nn.init.constant_(model.logit_scale, math.log(FIRST_LOGIT_SCALE))
    return model


def _emphasis(step: int) -> Mapping[str, float]:
    """Return the weights of attributes at a step, where they are not 1."""
    return EMPHASIS if step >= EMPHASIS_FROM else {}


def train(work: Path, steps: int, rate: float, pictures: int, processes: int) -> Path:
    """Train, checkpoint to `work`, and save weights and tokenizer to `work`/embedder."""
    torch.manual_seed(SEED)
    out = work / "embedder"
    tokenizer = train_tokenizer(out)
    model = create(tokenizer)
    shift = torch.nn.Parameter(torch.tensor(8.0))
    learning = [
        *model.vision_model.parameters(),
        *model.visual_projection.parameters(),
        model.logit_scale,
        shift,
    ]
    optimizer = torch.optim.AdamW(learning, lr=rate, betas=(0.9, 0.98), weight_decay=0.05)
    batches = Batches(*draw_all(work, pictures, processes))
    path = work / "embedder.pt"
    first = 0
    state = checkpoints.load(path)
    if state:
        first = state["step"]
        shift.data = state["shift"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    else:
        teach_text(model, tokenizer, batches.drawings.scenes)
    words = Words(model, tokenizer)
    log = checkpoints.Log(path.with_suffix(".jsonl"))
    for step in range(first, steps):
        optimizer.param_groups[0]["lr"] = rate * checkpoints.warm_stable_decay(step, steps, DECAY)
        batch = batches(step)
        single, whole = losses(model, batch, words(batch), shift, _emphasis(step))
        optimizer.zero_grad()
        (single + 0.25 * whole).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        log(step, single=single.item(), whole=whole.item())
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == steps:
            state = {
                "step": step + 1,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "shift": shift.data,
            }
            checkpoints.save(path, state)
    model.half().save_pretrained(out)
    return out


def draw_all(work: Path, pictures: int, processes: int) -> tuple[Drawings, Drawings]:
    """Return drawings of uniform scenes and of pairs of twins, which `work` stores."""
    scenes = uniform_scenes(pictures, SEED)
    seeds = [SEED * pictures + i for i in range(pictures)]
    pairs: list[Scene] = []
    for name, values in TWIN_VALUES.items():
        pairs += twins(TWINS, SEED, name, values)
    pair_seeds = [SEED * pictures - 1 - i // 2 for i in range(len(pairs))]
    pixels = cached(work / f"drawings-{SEED}-{pictures}.npy", scenes, seeds, processes)
    pair_pixels = cached(work / f"twins-{SEED}-{TWINS}.npy", pairs, pair_seeds, processes)
    return Drawings(scenes=scenes, pixels=pixels), Drawings(scenes=pairs, pixels=pair_pixels)


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3200)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--pictures", type=int, default=40_000)
    parser.add_argument("--threads", type=int, default=2)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    print(train(choice.work, choice.steps, choice.rate, choice.pictures, choice.threads))


if __name__ == "__main__":
    main()
